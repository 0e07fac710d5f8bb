"""bench/gpu.py: the whole program with tiny models on the CPU, what it needs to run, and what it counts."""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH, SOURCES = ROOT / "bench", ROOT / "src"
PROGRAM = sorted(BENCH.glob("gpu*.py"))
LAYERS = (
    *("workers", "testing", "edit_models", "judges", "benchmarks", "scenes", "endpoints", "pretrained"),
    "guests/metrics",
)
REFUSED = ("pydantic", "typer", "rich", "yaml", "scipy", "altair", "jinja2", "filelock", "psutil", "openai")

# Found by every Python that the program starts. transformers may have these libraries; ours may not ask for them.
REFUSAL = f"""
import sys
class Refusal:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in {REFUSED!r}:
            return None
        frame = sys._getframe(1)
        while "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        asked = frame.f_code.co_filename
        if asked.startswith(({str(SOURCES)!r}, {str(BENCH)!r})):
            raise ImportError(f"{{asked}} asks for {{name}}")
sys.meta_path.insert(0, Refusal)
"""


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which our code can import none of what is not to be there."""
    folder = tmp_path_factory.mktemp("refusal")
    (folder / "sitecustomize.py").write_text(REFUSAL)
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    sys.path.insert(0, str(BENCH))
    yield
    sys.path.remove(str(BENCH))


def module(name: str) -> Any:
    return importlib.import_module(name)


class TestNeeds:
    def test_nothing_but_torch_transformers_diffusers_and_pillow(self, refusing: dict[str, str]) -> None:
        pytest.importorskip("transformers")
        names = [f"edit_eval.{name}" for name in ("records", "errors", "privacy", "pictures")]
        for layer in LAYERS:
            paths = (SOURCES / "edit_eval" / layer).rglob("*.py")
            names.extend(".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths)
        code = (
            "import importlib, sys\n"
            f"sys.path[:0] = [{str(SOURCES)!r}, {str(BENCH)!r}]\n"
            f"for name in {[*names, *(path.stem for path in PROGRAM)]!r}:\n"
            "    importlib.import_module(name)\n"
            "try:\n    import edit_eval.config.sections\nexcept ImportError as error:\n    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=refusing, timeout=200)
        assert done.returncode == 0, done.stderr[-600:]
        assert "asks for" in done.stdout  # the refusal works

    def test_syntax_of_python_3_10(self) -> None:
        paths = [*PROGRAM, *(path for layer in LAYERS for path in (SOURCES / "edit_eval" / layer).rglob("*.py"))]
        assert len(paths) > 20
        for path in paths:
            ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 10))


@pytest.fixture(scope="module")
def run(refusing: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the program prints and what it keeps, of the parts that run in workers."""
    pytest.importorskip("diffusers")
    out, printed = tmp_path_factory.mktemp("out") / "gpu.json", io.StringIO()
    arguments = ["--size", "tiny", "--device", "cpu", "--images", "2", "--batches", "2", "--json", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("PYTHONPATH", refusing["PYTHONPATH"])
        status = module("gpu").main([*arguments, "--parts", "edit,judge,together,unload"])
    kept = json.loads(out.read_text())
    assert status == 0, kept["failed"]
    return json.loads(printed.getvalue()), kept


@pytest.mark.real_models
@pytest.mark.models
class TestProgram:
    def test_figures(self, run: tuple[dict[str, Any], dict[str, Any]]) -> None:
        figures = run[0]["figures"]
        assert set(figures) == {
            "seconds_per_image_50_steps",
            "over_floor",
            "idle_ms_between_images",
            "judge_pairs_per_second",
            "resident_gib",
        }
        assert all(value > 0 for value in figures.values())

    def test_times_add_up(self, run: tuple[dict[str, Any], dict[str, Any]]) -> None:
        edit = run[1]["edit"]
        assert edit["images"] == 2
        assert edit["idle"] == pytest.approx(edit["before"] + edit["between"] + edit["after"], rel=0.5)
        assert 6 * edit["forward"] <= edit["loop"] * 1.5  # 3 steps of 2 forwards
        inside = edit["encode"] + edit["vae_encode"] + edit["loop"] + edit["vae_decode"]
        assert 0.3 * 1000 * edit["image"] < inside < 1.5 * 1000 * edit["image"]
        assert edit["image_50"] == pytest.approx(edit["image"] + 47 * edit["step"] / 1000)
        assert edit["loop"] == pytest.approx(3 * edit["step"] + edit["first_step"], rel=0.5)

    def test_the_judge_says_a_whole_score_in_every_way(self, run: tuple[dict[str, Any], dict[str, Any]]) -> None:
        ways = run[1]["judge"]["ways"]
        assert set(ways) == set(module("gpu").JUDGE_WAYS)
        for batches in ways.values():
            assert set(batches) == {"2"}
            assert batches["2"]["steps"] == 5  # "7.500" and its end, of which the prompt gives the first
        assert run[1]["failed"] == {}
        assert {"editor", "judge_worker"} == set(run[1]["unload"])

    def test_tables(self, run: tuple[dict[str, Any], dict[str, Any]]) -> None:
        results = {**copy.deepcopy(run[1]), "attention": {"native": 3.0, "_flash_9": "ValueError: no such kernel"}}
        results["gelu"] = {"behind": 2.0, "within": 2.1}
        results["judge"]["ways"]["edit-eval"]["32"] = {"halved_to": 16}
        text = module("gpu_tables").tables_of(results)
        assert "| 32 | did not fit: halved to 16 |" in text
        assert module("gpu_tables").figures_of(results) == {**run[0]["figures"]}
        assert "| an edit | edit-eval | floor |" in text
        assert "* _flash_9: ValueError" in text
        assert "GELU behind the product: 2.000 ms a layer; within it: 2.100 ms" in text
        assert "The judge: shared prefix" in text
        assert "| unloading the judge, s |" in text

    def test_a_part_that_fails_is_named_and_the_others_go_on(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "out.json"
        arguments = ["--size", "tiny", "--device", "cpu", "--json", "--parts", "edit,together,unload"]
        arguments += ["--canvas", "512", "--out", str(out)]  # less than the pipeline can do
        assert module("gpu").main(arguments) == 1
        failed = json.loads(out.read_text())["failed"]
        assert set(failed) == {"edit", "together"}
        assert "at least 1024 are needed" in failed["edit"]
        assert "needs a part that edits" in failed["together"]
        assert json.loads(capsys.readouterr().out) == {"figures": {}}


@pytest.mark.real_models
@pytest.mark.models
class TestChildren:
    """The other two processes' work, in this one."""

    def test_stock_loop(self, tmp_path: Path) -> None:
        pytest.importorskip("diffusers")
        from PIL import Image

        models, children = module("gpu_models"), module("gpu_children")
        edit, _ = models.write_folders(tmp_path / "models", module("gpu_architectures").architecture("tiny"))
        source = tmp_path / "source.png"
        Image.effect_noise((96, 64), 50).convert("RGB").save(source)
        tasks = [
            {
                "pictures": [{"path": str(source)}],
                "instruction": "red",
                "seed": seed,
                "output": str(tmp_path / f"{seed}.png"),
            }
            for seed in range(2)
        ]
        settings = {
            "folder": str(edit),
            "device": "cpu",
            "dtype": "float32",
            "canvas": 4096,
            "steps": 2,
            "marks": str(tmp_path / "marks"),
            "tasks": tasks,
            "attention": ["native", "_flash_3"],
        }
        found: dict[str, Any] = {}
        children.stock(settings, found.update)
        assert found["peak"] == 0
        assert {"torch", "diffusers", "transformers", "gpu"} == set(found["versions"])
        marks = [json.loads(line) for line in (tmp_path / "marks").read_text().splitlines()]
        assert len(marks[1]["networks"]["forward"]) == 4
        assert {"encode", "vae_encode", "vae_decode"} < set(marks[1]["networks"])
        assert found["auto"] == "native"
        assert found["attention"]["native"] > 0
        assert isinstance(found["attention"]["_flash_3"], str)  # no such kernel on a CPU
        assert Image.open(tasks[1]["output"]).size == (64, 64)

    def test_loads(self, tmp_path: Path) -> None:
        pytest.importorskip("diffusers")
        children = module("gpu_children")
        settings = {"device": "cpu", "dtype": "bfloat16", "size": "tiny", "layers": None, "load_layers": 2}
        found: dict[str, Any] = {}
        children.loads({**settings, "scratch": str(tmp_path)}, found.update)
        assert set(found) == {"edit", "judge"}
        for one in found.values():
            small, large = one["points"][1:]
            assert 0 < small["bytes"] < large["bytes"]
            assert one["bytes"] == pytest.approx(large["bytes"], rel=0.25)  # the tiny models have two layers
            assert one["seconds"] is None or one["seconds"] > 0


@pytest.mark.real_models
@pytest.mark.models
def test_a_judge_with_and_without_inputs_made_ahead(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(module("gpu_judge_ahead"), "ROUNDS", 1)
    arguments = ["--compute", "0.1", "--rows", "1", "--side", "64", "--json"]
    assert module("gpu_judge_ahead").main(arguments) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["ahead"] > 0.1
    assert figures["in_turn"] > 0.1
    assert figures["speedup"] == pytest.approx(figures["in_turn"] / figures["ahead"], abs=0.01)


class TestTime:
    """A GPU is lent for minutes: what is late is left out, and what was found is kept."""

    def bench(self, monkeypatch: pytest.MonkeyPatch, takes: dict[str, float], budget: float = 540.0) -> Any:
        """A bench whose parts take so many seconds, or up to their deadline, of a clock that is set by hand."""
        gpu = module("gpu")
        clock = [0.0]
        monkeypatch.setattr(gpu.time, "monotonic", lambda: clock[0])
        bench = gpu.Bench.__new__(gpu.Bench)
        bench.arguments = gpu.parse(["--budget", str(budget)])
        bench.began, bench.editor, bench.judge_worker = 0.0, None, None
        bench.results = {"failed": {}}
        monkeypatch.setattr(bench, "import_early", lambda names: None)

        def part(name: str) -> None:
            end = clock[0] + takes.get(name, gpu.EXPECTED[name])
            clock[0] = min(end, bench.deadline)
            if end > bench.deadline:
                raise gpu.WorkerFailed("its part's time is over")

        for name in gpu.EXPECTED:
            monkeypatch.setattr(bench, name, partial(part, name))
        return bench

    def test_one_that_hangs_leaves_the_later_ones_their_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = self.bench(monkeypatch, {"stock": 1e9})
        bench.do(list(module("gpu").EXPECTED))
        assert list(bench.results["failed"]) == ["stock"]
        assert bench.results["seconds"]["stock"] > module("gpu").EXPECTED["stock"]
        assert sum(bench.results["seconds"].values()) <= 540

    def test_one_that_comes_too_late_is_not_begun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = self.bench(monkeypatch, {"switches": 1e9}, budget=330)
        bench.do(list(module("gpu").EXPECTED))
        failed = bench.results["failed"]
        assert "its part's time is over" in failed["switches"]
        assert "its part's time is over" in failed["judge"]  # begun, with more than half of its time
        assert failed["loads"] == "not begun: 0 s of the budget are left"

    def test_switches_are_measured_without_those_that_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = module("gpu")
        bench = self.bench(monkeypatch, {})
        monkeypatch.undo()
        bench.deadline = gpu.time.monotonic() + 60
        tried: list[dict[str, Any]] = []

        def edit_with(name: str, chosen: dict[str, Any]) -> None:
            tried.append(dict(chosen))
            if chosen.get("fused_gelu"):
                raise gpu.WorkerFailed("LoadError: fused_gelu: this GPU's outcome is 0.3 apart")
            if chosen.get("compile"):
                raise gpu.WorkerFailed("Failed to find C compiler")
            if len(chosen) == 1:
                raise gpu.WorkerFailed("no luck")

        monkeypatch.setattr(bench, "edit_with", edit_with)
        bench.switches()
        assert [(one.get("compile", False), one.get("fused_gelu", False)) for one in tried] == [
            (True, True),
            (True, False),
            (False, False),
        ]
        assert set(bench.results["failed"]) == {"compile", "fused_gelu"}
        assert bench.results["failed"]["compile"] == "Failed to find C compiler"
        assert bench.results["switched_on"] == tried[-1]
        monkeypatch.setattr(bench, "chosen_switches", lambda: {"shared_prefix": True})
        with pytest.raises(gpu.WorkerFailed, match="no luck"):  # nothing left that it could be
            bench.switches()
        monkeypatch.setattr(bench, "chosen_switches", lambda: {"compile": True})
        bench.deadline = 0.0
        with pytest.raises(gpu.WorkerFailed, match="C compiler"):  # nobody is to blame for the time
            bench.switches()

    def test_the_gelu_is_where_it_was_faster(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = self.bench(monkeypatch, {})
        assert bench.chosen_switches()["fused_gelu"]
        bench.results["gelu"] = {"behind": 2.0, "within": 1.9}
        assert bench.chosen_switches()["fused_gelu"]
        bench.results["gelu"] = {"behind": 2.0, "within": 2.1}
        assert "fused_gelu" not in bench.chosen_switches()

    def test_what_a_child_said_before_it_ended_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = module("gpu")
        bench = self.bench(monkeypatch, {})
        monkeypatch.undo()
        bench.scratch, bench.deadline = tmp_path, gpu.time.monotonic() + 60
        (tmp_path / "stock.out").write_text('{"peak": 3}\n{"attention": {"native": 1.0}}\n{"attenti')
        said: dict[str, Any] = {}
        (tmp_path / "gpu_children.py").write_text("raise KeyError('broken')")
        monkeypatch.setattr(gpu, "HERE", tmp_path)
        with pytest.raises(gpu.WorkerFailed, match="KeyError"):
            bench.child("stock", {}, said)
        assert said == {"peak": 3, "attention": {"native": 1.0}}

    def test_a_driver_that_does_not_answer_is_no_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = module("gpu_worker")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(worker.WorkerFailed, match="nvidia-smi does not say how much memory is taken"):
            worker.memory_used("cuda:0")


class TestWork:
    """The counts, against those made by hand for the published configurations."""

    def test_edit(self) -> None:
        full = module("gpu_architectures").ARCHITECTURES["full"]
        work = module("gpu_work")
        assert work.picture_tokens(1024 * 1024) == 8192
        assert work.edit_forward(full["transformer"], 8192, 1401) == pytest.approx(198.2e12, rel=0.001)
        both = 2 * work.encode_prompt(full["encoder"], 74 * 74, 100)
        assert both == pytest.approx(54e12, rel=0.1)

    def test_judge(self) -> None:
        full = module("gpu_architectures").ARCHITECTURES["full"]
        work = module("gpu_work")
        assert work.vision_tower(full["judge"]["vision"], 4096, False) == pytest.approx(5.45e12, rel=0.01)
        assert work.judgement(full["judge"], 1, 4096, 856) == pytest.approx(17.1e12, rel=0.03)
        assert work.judgement(full["judge"], 2, 4096, 1300) == pytest.approx(33.6e12, rel=0.05)
        for rows, gigabytes in ((1, 6.1), (4, 15.6), (16, 39.8), (256, 60.4)):
            assert work.mixture_step_bytes(full["judge"]["text"], rows) == pytest.approx(gigabytes * 1e9, rel=0.05)

    def test_layers_are_cut_at_full_width(self) -> None:
        cut = module("gpu_architectures").architecture("full", 2)
        assert cut["transformer"]["num_layers"] == cut["judge"]["text"]["num_hidden_layers"] == 2
        assert cut["judge"]["text"]["hidden_size"] == 2048
        assert module("gpu_architectures").ARCHITECTURES["full"]["transformer"]["num_layers"] == 60
