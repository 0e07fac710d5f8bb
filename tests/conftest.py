"""Fixtures for the whole house."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import itertools
import os
import re
import shutil
import signal
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

import registered_here
import warm_starts

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

# Before any library reads them: no test reaches for the network, and torch does not fight its neighbours for the cores.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")  # kernels for sizes that no other test has: 25 MB
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.pop("EDIT_EVAL_LANG", None)  # whoever runs the tests may read another language
os.environ["LC_ALL"] = "C.UTF-8"

warm_starts.install()

# Nothing that is collected is ever given up, so looking for garbage among it is a fifth of the time to collect it.
gc.disable()

# What tests write lasts no longer than they do, so it is in memory where there is room: there a sync costs nothing.
IN_MEMORY, ROOM = Path("/dev/shm"), 6 * 2**30
if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM < os.sysconf("SC_PAGE_SIZE") * os.sysconf(
    "SC_AVPHYS_PAGES"
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

# A shell has what it starts in the background ignore Ctrl-C, and every process under it would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault, and the same tree passes or fails the same way each time; `make chaos` looks further.
settings.register_profile("searching", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("searching"), derandomize=True)
settings.load_profile("steady")

TESTS = Path(__file__).parent

# Scenes and plug-ins come in by entry points.
registered_here.register()
_points = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
if {part.name for part in metadata.entry_points(group="edit_eval.components")} < _points["edit_eval.components"].keys():
    raise pytest.UsageError("pyproject.toml has entry points that are not installed; type `make .venv/.dev`")
ROOMS = ("torch", "combinations", "faults", ".", "bench", "execution", "workers", "judges", "reporting")
"""What takes long comes first, so that the processes of a parallel run end together; all other folders follow."""

LOADING = ("edit_models", "judges", "pretrained")
"""Of what imports torch, what needs most memory comes first: others draw reports, and what that takes is kept."""


def place_of(path: Path) -> int:
    return ROOMS.index(room(path)) if room(path) in ROOMS else len(ROOMS)


TARGETS = ("apis", "chaos", "cluster", "docs", "models", "proof", "sdks", "wheel")
"""Marks of what takes long and has a target of its own: it runs where its mark is asked for."""


@functools.cache
def room(path: Path) -> str:
    """The folder of a file of tests; of those that import torch, `torch`."""
    match = re.search(
        r"\btiny_(?:models|judges): Path|(?:importorskip|Late)\(\"(torch|diffusers|transformers)\"",
        path.read_text("utf-8"),
    )
    return "torch" if match else path.relative_to(TESTS).parts[0] if path.parent != TESTS else "."


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for target in TARGETS:
        if not re.search(rf"\b{target}\b", config.option.markexpr):
            long = {item for item in items if item.get_closest_marker(target)}
            items[:] = [item for item in items if item not in long]
            config.hook.pytest_deselected(items=long)
    for item in items:
        if item.get_closest_marker("chaos") or item.get_closest_marker("docs"):
            item.add_marker(pytest.mark.timeout(3600))  # long is what it is meant to be
    items.sort(key=lambda item: (place_of(item.path), item.path.parent.name not in LOADING, item.path))


def pytest_collection_finish() -> None:
    warm_starts.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What simulations found, design by design, where they were asked for."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    rows = [value for report in reports for name, value in report.user_properties if name == "simulated"]
    if rows and "chaos" in config.option.markexpr:
        terminalreporter.section("simulated: 95% intervals cover, tests at .05 call, power at `detectable`")
        terminalreporter.write_line("\n".join(sorted(rows)))


_seconds: dict[str, float] = defaultdict(float)
"""By files of tests, as far as they have run."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.partition("::")[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keeps how long whole files took, outside git: by this `make quick` knows what there is time for."""
    asked, cache = session.config.option, getattr(session.config, "cache", None)
    parts = asked.keyword or asked.markexpr or asked.maxfail or any("::" in path for path in session.config.args)
    if cache is not None and not parts and exitstatus in (0, 1) and not hasattr(session.config, "workerinput"):
        cache.set("seconds/files", cache.get("seconds/files", {}) | _seconds)


def pytest_configure_node(node: Any) -> None:
    """With `--dist loadfile` the first process has all that imports torch, and nothing else; one forks for all."""
    if node.config.getoption("dist") == "loadfile" and len(node.config.getoption("tx")) > 1:
        node.workerinput |= {"torch": node.gateway.id == "gw0", "forking": warm_starts.for_others()}


def pytest_configure(config: pytest.Config) -> None:
    if told := getattr(config, "workerinput", {}).get("forking"):
        warm_starts.by_another(told)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    mine = getattr(config, "workerinput", {}).get("torch")
    if mine is None or not collection_path.name.startswith("test_"):
        return None
    return ((room(collection_path) == "torch") != mine) or None


class Backwards(pytest.Dir):
    """A folder that is collected from its end."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed([*super().collect()])


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Every other process begins at the end: whatever pytest compiles for one of them, the other need not."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return Backwards.from_parent(parent, path=path) if int(number) % 2 else None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """With `--dist loadfile`: one process pays for torch, and each knows only the tests that it may be given."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        collection: list[str] | None

        def schedule(self) -> None:
            if self.collection is None:
                self.collection = list(dict.fromkeys(itertools.chain(*self.registered_collections.values())))
                for nodeid in self.collection:
                    self.workqueue.setdefault(self._split_scope(nodeid), {})[nodeid] = False
            for node in self.nodes:
                self._reschedule(node)

        def _assign_work_unit(self, node: Any) -> None:
            known = {self._split_scope(nodeid) for nodeid in self.registered_collections[node]}
            scope = next((scope for scope in self.workqueue if scope in known), None)
            if scope is None:
                return node.shutdown()
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)
            return self._reschedule(node)  # two are to be waiting

    return Scheduling(config, log)


_kept = 0.0


def _resident() -> float:
    """The memory that this process has, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.fixture(autouse=True)
def freed_is_given_back() -> Iterator[None]:
    """What tests have freed goes back to the system: models lie in circles, and torch has the C library keep all."""
    yield
    global _kept
    if "torch" in sys.modules and _resident() > _kept + 16:
        gc.collect()
        if not _kept:
            gc.freeze()  # the libraries themselves, so that the next look is a short one
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        _kept = _resident()


@pytest.fixture
def cold_workers() -> Iterator[None]:
    """Workers are started as a user's are, not forked."""
    with warm_starts.cold("worker"):
        yield


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the five tiny models, each under its name. Not to be written into: copy what is to be changed."""
    pytest.importorskip("diffusers")
    pytest.importorskip("transformers")
    from tiny_models import build

    folder = tmp_path_factory.mktemp("tiny_models")
    build(folder, ["qwen-image-edit", "qwen-image-edit-plus", "qwen3-vl", "qwen3-vl-moe", "qwen2.5-vl"])
    return folder


@pytest.fixture(scope="session")
def tiny_judges(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny judges of all families, each under its name. Not to be written into, either."""
    from tiny_judges import build_judges

    folder = tmp_path_factory.mktemp("tiny_judges")
    build_judges(folder)
    for name in ("qwen3-vl", "qwen3-vl-moe", "qwen2.5-vl"):
        (folder / name).symlink_to(tiny_models / name)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, if there is one on this machine."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def judge_agreement_data() -> Path:
    """What VIEScore published of its judges and raters."""
    directory = Path(__file__).resolve().parents[2] / "shared/data/judge_agreement"
    if not directory.is_dir():
        pytest.skip("the shared data is not here")
    return directory


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """`command("run", path, "--json")`: a command line, in this process (`command_lines.Command`)."""
    from command_lines import caller

    return caller(monkeypatch, capfd)
