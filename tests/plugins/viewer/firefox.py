"""Debian's Firefox, told what to do by its own protocol, WebDriver BiDi: playwright drives only its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PATIENCE = 60
"""Seconds for anything; a busy machine is no fault."""

PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.enabled": False,
}
"""It asks nobody for anything, and starts no process that no page needs."""


class Firefox:
    """One tab. `errors` has what pages threw or complained of."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.errors: list[str] = []
        self.tab = ""
        self._socket = socket
        self._numbers = itertools.count(1)

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Raises `AssertionError` where Firefox refuses."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            answer = await self._socket.receive_json(timeout=2 * PATIENCE)
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.errors.append(answer["params"]["text"])
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return dict(answer["result"])

    async def open(self, address: str) -> None:
        """Returns when the page is loaded."""
        await self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    async def value(self, expression: str) -> Any:
        """What an expression of JavaScript comes to, as JSON has it, as soon as that is true of anything."""
        waits = f"""(async () => {{
          const end = Date.now() + {PATIENCE} * 1000;
          for (;;) {{
            const found = {expression};
            if (found || Date.now() > end) return JSON.stringify(found || null);
            await new Promise((done) => {{ setTimeout(done, 20); }});
          }}
        }})()"""
        answer = await self.ask("script.evaluate", expression=waits, target={"context": self.tab}, awaitPromise=True)
        assert answer["type"] == "success", (expression, answer["exceptionDetails"]["text"], self.errors)
        value = json.loads(answer["result"]["value"])
        assert value is not None, (expression, self.errors)
        return value


@contextlib.asynccontextmanager
async def firefox(profile: Path) -> AsyncIterator[Firefox]:
    """A headless Firefox with a new profile, if there is one on this machine."""
    program = shutil.which("firefox-esr")
    if program is None:
        pytest.skip("Firefox is not installed")
    profile.mkdir()
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines))
    command = [program, "--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", str(profile)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        address = None
        async with asyncio.timeout(PATIENCE):
            while address is None:
                line = (await process.stderr.readline()).decode()
                assert line, "Firefox has ended"
                address = re.search(r"ws://\S+", line)
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{address[0]}/session", max_msg_size=0) as socket,
        ):
            started = Firefox(socket)
            await started.ask("session.new", capabilities={})
            await started.ask("session.subscribe", events=["log.entryAdded"])
            started.tab = (await started.ask("browsingContext.getTree"))["contexts"][0]["context"]
            yield started
            await started.ask("browser.close")
            async with asyncio.timeout(PATIENCE):
                await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
