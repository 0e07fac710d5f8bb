"""`serve`: a judge that answers over HTTP until it is interrupted."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.serve.application import MOST_PAIRS, OnUnscored, make_app
from edit_eval.plugins.serve.doors import choose_doors
from edit_eval.plugins.serve.scoring import judges_of
from edit_eval.plugins.serve.service import GRACE_SECONDS, LEDGER_BYTES, SHARE_OF_SECOND, Service
from edit_eval.plugins.serve.watch import WINDOW
from edit_eval.plugins.web.guard import is_loopback
from edit_eval.reporting.remarks import examination_words
from edit_eval.store.run_folders import RUNS
from edit_eval.text import Text

try:
    from edit_eval.plugins.web.connections import fast_connection, raise_descriptor_limit
    from edit_eval.plugins.web.server import WebServer, address_of, listen, token_for
except ImportError as missing:
    raise ConfigurationError(
        Text("`serve` needs {}, which is not installed; `pip install 'edit-eval[serve]'` brings it", missing.name)
    ) from missing

PORT = 7861


def configuration_for(
    judge: str, *, only: str = "", devices: str | None = None, readings: int | None = None, language: str = ""
) -> Configuration:
    """Builds a service's configuration from `judge`, given as for `score`. Raises `ConfigurationError`."""
    judges, rest = judges_of(judge, devices or "auto")
    if only and only not in judges:
        raise ConfigurationError(Text("{}: there is no judge {}; there are {}", judge, only, judges))
    nowhere = "requests.csv"  # no such file: samples and edits come with requests
    return load_configuration(
        {
            **({"import_from": rest["import_from"]} if "import_from" in rest else {}),
            "benchmark": {"type": "table", "data_path": nowhere, "language": language or rest.get("language", "en")},
            "edit_models": {"client": {"type": "copy_source"}},
            "judges": {name: section for name, section in judges.items() if only in ("", name)},
            "evaluation": {"controls": 0, "min_coverage": 0.0, "readings": readings or rest.get("readings", 1)},
            "execution": {"pilot": False},
        },
        data_may_be_missing=True,
    ).model_copy(update={"name": "service"})


def serve(
    configuration: Configuration,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str = "",
    doors: Sequence[str] = (),
    on_unscored: OnUnscored = "error",
    ledger: Path | None = None,
    ledger_bytes: int = LEDGER_BYTES,
    root: Path | None = None,
    most_pairs: int = MOST_PAIRS,
    grace: float = GRACE_SECONDS,
    examinations: Path | None = None,
    examined: bool = False,
    window: int = WINDOW,
    second: str = "",
    share: float = SHARE_OF_SECOND,
    tell: Callable[[str], None] = print,
    command: Sequence[str] = (),
) -> None:
    """Serves until interrupted, then answers admitted pairs within `grace` seconds, and ends.

    Listens on loopback unless `host` says otherwise. With a `token` (`auto` generates one, as does another host),
    requests without it are refused. `tell` receives the address and all messages. With `examined`, a judge that
    has not passed an examination is refused. Raises `ConfigurationError` before anything is loaded, and what an engine
    raises.
    """
    _give_memory_back()
    raise_descriptor_limit()
    chosen = choose_doors(doors)
    token = token_for(host, token)
    if root is not None and not root.is_dir():
        raise ConfigurationError(Text("--root {}: no such folder", root))
    socket = listen(host, port)
    try:
        service = Service(
            configuration,
            ledger or RUNS / f"{configuration.name}-{socket.getsockname()[1]}",
            tell=tell,
            grace=grace,
            ledger_bytes=ledger_bytes,
            examinations=examinations,
            command=command,
            second=second,
            share=share,
        )
        for name, examination in service.load_examinations().items():
            known, passport = examination.document, examination_words(examination.document)
            if examined and known.ended != "passed":
                raise ConfigurationError(
                    Text("judge {}: {}; `edit-eval audit` examines it, or leave out --examined", name, passport)
                )
            tell(Text("judge {}: {}", name, passport))
        app = make_app(
            service,
            doors=chosen,
            on_unscored=on_unscored,
            token=token,
            anywhere=not is_loopback(host),
            root=root,
            most_pairs=most_pairs,
            window=window,
        )
        server = WebServer(app, connection=fast_connection())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, name="http", daemon=True)
        thread.start()
        address = address_of(host, socket.getsockname()[1])
        tell(Text("{}/v1/score", f"{address}/{token}" if token else address))
        for door in chosen:
            tell(Text("door {}: {}{}", door.name, f"{address}/{token}" if token else address, door.path))
        gc.collect()
        gc.freeze()  # else a full collection waits until garbage is a quarter of all imported objects
        try:
            service.run()
        finally:
            server.should_exit = True
            thread.join(10)
    finally:
        socket.close()


def _give_memory_back() -> None:
    """Makes glibc return the memory of finished requests; call it before starting threads.

    By default glibc keeps a heap for each of some ten threads, and after the first large body allocates all bodies and
    pictures there, where small long-lived objects keep the heaps from shrinking: a service grew by 10 MiB a minute.
    """
    arena_max, mmap_threshold = -8, -3  # <malloc.h>
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # another C library
    mallopt(arena_max, 2)
    mallopt(mmap_threshold, 1 << 19)
