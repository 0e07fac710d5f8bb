"""Tabs of one browser, opened once for many tests: a page in a new one takes twice the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

NO_IDLE = "window.requestIdleCallback = () => {}"
"""Keeps a report from drawing charts that nobody looks at, which is two thirds of what it costs to open it."""
VIEWPORT = {"width": 1280, "height": 900}


class Tabs:
    """What a test opens; `listeners`: for each event of a tab, what hears of it. All are given back in the end."""

    def __init__(self, browser: Any, listeners: dict[str, Callable[[Any], object]], script: str = "") -> None:
        """`script` runs in each page before its own."""
        self._browser = browser
        self._listeners = listeners
        self._script = script
        self._free: list[Any] = []
        self._taken: list[tuple[Any, bool]] = []

    def open(self, address: str, script: str | None = None, **options: Any) -> Any:
        """A tab at an address; one of its own with a script of its own, or options."""
        own = bool(options) or script is not None
        if self._free and not own:
            tab = self._free.pop()
        else:
            tab = self._browser.new_context(**{"viewport": VIEWPORT, **options}).new_page()
            tab.add_init_script(self._script if script is None else script)
        self._taken.append((tab, own))
        for event, hears in self._listeners.items():
            tab.on(event, hears)
        tab.goto(address)
        return tab

    def give_back(self) -> None:
        """As if they were new: nothing kept, nothing shown, nothing heard."""
        while self._taken:
            tab, own = self._taken.pop()
            if own or tab.is_closed() or len(tab.context.pages) > 1:
                tab.context.close()
                continue
            tab.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
            tab.goto("about:blank")
            tab.set_viewport_size(VIEWPORT)
            tab.emulate_media(media="null")
            for event, hears in self._listeners.items():
                tab.remove_listener(event, hears)
            self._free.append(tab)

    @contextmanager
    def of_a_test(self) -> Iterator[Callable[..., Any]]:
        """`open`, and afterwards all is given back."""
        try:
            yield self.open
        finally:
            self.give_back()
