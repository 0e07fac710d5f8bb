"""Fixtures for the whole house."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import re
import shutil
import signal
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import forked_runs
import registered_here
import warm_starts

# Before any library reads them: no test reaches for the network, and torch does not fight its neighbours for the cores.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")  # kernels for sizes that no other test has: 25 MB
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # another has a thread, and tests run in forks
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


MANY = 100
"""Files of tests among which there are some of each kind: what nearly all need is then made once, before the forks."""

TARGETS = ("apis", "chaos", "check", "cluster", "docs", "models", "proof", "sdks", "wheel")
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
    seen: Counter[str] = Counter()
    for item in items:
        if (few := item.get_closest_marker("one_in")) and not any(map(item.get_closest_marker, TARGETS)):
            test = item.nodeid.partition("[")[0]
            if seen[test] % few.args[0]:
                item.add_marker("check")
            seen[test] += 1
    for target in TARGETS:
        asks = f"{target}|chaos" if target == "check" else target  # of which chaos has more
        if not re.search(rf"\b({asks})\b", config.option.markexpr):
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
    """What simulations found, design by design, and what all takes, where they were asked for."""
    if config.option.processor:
        terminalreporter.section("processor seconds")
        for which in (False, True):
            rows = sorted(((took, name) for name, took in _processor.items() if ("::" in name) is which), reverse=True)
            terminalreporter.write_line(f"{sum(took for took, _ in rows):8.1f} of {len(rows)}")
            terminalreporter.write_line("\n".join(f"{took:8.1f} {name}" for took, name in rows if took >= 0.05))
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    rows = [value for report in reports for name, value in report.user_properties if name == "simulated"]
    if rows and "chaos" in config.option.markexpr:
        terminalreporter.section("simulated: 95% intervals cover, tests at .05 call, power at `detectable`")
        terminalreporter.write_line("\n".join(sorted(rows)))


_seconds: dict[str, float] = defaultdict(float)
"""By files of tests, as far as they have run."""
_processor: dict[str, float] = defaultdict(float)
"""The same, and by tests: what they and their processes have computed."""
_before = 0.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    global _before
    report: Any = yield
    now = warm_starts.spent()
    report.processor, _before = now - (_before or now), now
    return report


def pytest_runtest_logreport(report: Any) -> None:
    file = report.nodeid.partition("::")[0]
    _seconds[file] += report.duration
    for name in (file, report.nodeid):
        _processor[name] += getattr(report, "processor", 0.0)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keeps how long whole files took, outside git: by this `make quick` knows what there is time for."""
    asked, cache = session.config.option, getattr(session.config, "cache", None)
    parts = asked.keyword or asked.markexpr or asked.maxfail or any("::" in path for path in session.config.args)
    if cache is not None and not parts and exitstatus in (0, 1) and not hasattr(session.config, "workerinput"):
        cache.set("seconds/files", cache.get("seconds/files", {}) | _seconds)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor", action="store_true", help="say which files and tests take most of the processor")
    parser.addoption("--forks", type=int, default=0, help="run files of tests in this many processes (forked_runs.py)")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.forks:
        warm_starts.begin()  # while tests are collected


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """With `--forks`: one process pays for torch, another writes the reports that many files read."""
    if not session.config.option.forks or session.config.option.collectonly or session.testsfailed:
        return None
    if len({item.path for item in session.items}) > MANY:
        warm_starts.prepare()
        warm_starts.read_texts()
        warm_starts.freeze()
    forked_runs.run(session, session.config.option.forks, _group_of)
    return True


def _group_of(items: list[pytest.Item]) -> str:
    """What a file of tests has in common with others that each process makes once; empty if it is little."""
    if room(items[0].path) == "torch":
        return "torch"
    if hasattr(getattr(items[0], "module", None), "list_nodes"):
        return "sources"
    wanted = {name for item in items for name in getattr(item, "fixturenames", ())}
    return "reports" if wanted & {"complete", "incomplete", "several", "three_scores", "browser"} else ""


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
def browser(pytestconfig: pytest.Config) -> Iterator[Any]:
    """A headless Chromium, if there is one here; of two, `make test` has the quick one and `make check` the other."""
    names = ["chromium-headless-shell", "chromium", "chromium-browser"]
    if "check" in pytestconfig.option.markexpr:
        names.reverse()
    chromium = next(filter(None, map(shutil.which, names)), None)
    playwright = pytest.importorskip("playwright.sync_api")
    if chromium is None:
        pytest.skip("Chromium is not installed: `apt-get install chromium`, or `chromium-headless-shell`")
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
