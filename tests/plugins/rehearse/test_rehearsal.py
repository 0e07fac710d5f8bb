"""A rehearsal with models that take no weights: what it finds, plants, and leaves behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_lines import Command, caller, one_error, yaml_file
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import Placement
from edit_eval.config.schema import ModelSection
from edit_eval.errors import RunDirectoryError
from edit_eval.files.user_cache import cache_folder
from edit_eval.plugins.preparation.fitting import PlacedModel, weights_of
from edit_eval.plugins.rehearse.in_worker.stand_in import cut_layers, write_holes
from edit_eval.plugins.rehearse.rehearsal import rehearse
from edit_eval.plugins.rehearse.results import FAULTS, OUTCOMES, Rehearsal, models_of
from edit_eval.plugins.rehearse.sheet import print_rehearsal
from edit_eval.plugins.rehearse.stand_ins import StandIns, stand_ins
from edit_eval.plugins.rehearse.start import RehearsedStart
from edit_eval.run import Run
from edit_eval.scheduling.tasks import Model
from fake_nvml import gpu, install
from judge_server import JudgeServer
from plugins.preparation.test_weights import model
from small_benchmark import configuration, write_benchmark

command = pytest.fixture(caller)
ROOT = Path(__file__).parents[3]
SIX = [f"cuda:{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)


def left_behind() -> list[Path]:
    return [*(cache_folder() / "rehearsals").glob("*"), *Path("runs").glob("*")]


def test_the_command_says_what_each_model_takes_and_leaves_nothing(command: Command, tmp_path: Path) -> None:
    write_benchmark(tmp_path, 6)
    Path("steady.py").write_text(
        "class Steady:\n    def __init__(self, parameters): pass\n    def load(self, devices): pass\n"
        "    def judge(self, requests): return ['Score: 5.000'] * len(requests)\n"
    )
    file = yaml_file(tmp_path, edit={"steps": 3}, reward_model={"class_path": "steady.py:Steady"})
    answer = command("rehearse", file, "--json")
    document = answer.document
    assert (answer.code, document["reasons"]) == (0, [])
    edits, judge = document["models"]
    assert (edits["model"], edits["loads"], edits["steps"]) == ("edit:testing", "as it is", 3)
    assert edits["unit"] > 0 < judge["unit"]
    assert edits["seen_peak"] > 1 << 20 < judge["seen_peak"], "the workers' own memory, on the CPU"
    assert edits["host_peak"] is None, "which is the host's"
    assert {digest["model"] for digest in document["digests"]} == {"edit:testing", "judge:Steady"}
    assert {digest["where"].partition(",")[0] for digest in document["digests"]} >= {"cpu:0", "cpu:1"}
    assert all(digest["equal"] for digest in document["digests"])
    assert document["plan"]["durations"]["edit:testing"]["source"] == "run rehearsal"
    assert document["faults"] is None
    assert left_behind() == []

    printed = command("rehearse", file, "--to", "evening.html")
    assert printed.code == 0
    page = Path("evening.html").read_text("utf-8")
    assert "edit:testing" in page
    assert "All clear: ready to run." in page
    one_error(command("rehearse", file, "--to", "evening.html"), 2, "already exists")
    one_error(command("rehearse", file, "--to", "evening.pdf"), 2, "--to evening.pdf: name a file that ends in")
    assert "5.00" not in printed.out + printed.err, "no score is shown"
    assert "edit:testing" in printed.out


def test_an_edit_that_is_not_the_same_again_is_told(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 4)
    moody = tmp_path / "moody.py"
    moody.write_text(
        "import os\nfrom PIL import Image\n"
        "class Moody:\n"
        "    def __init__(self, parameters): pass\n"
        "    def load(self, devices): pass\n"
        "    def edit(self, request, on_step): return Image.frombytes('RGB', (8, 8), os.urandom(192))\n"
    )
    plain = configuration(tmp_path)
    plain["diffusion_model"] = {"class_path": f"{moody}:Moody", "params": {"device_ids": "cpu:1"}}
    rehearsal = rehearse(plain)
    assert [digest.equal for digest in rehearsal.digests if digest.model.startswith("edit:")] == [False]
    assert rehearsal.reasons == []


def test_on_six_gpus_every_fault_costs_no_edit_and_no_judgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, *map(gpu, range(6)))
    write_benchmark(tmp_path, 24)
    on: dict[str, Any] = {"device_ids": [0, 1, 2, 3, 4, 5]}
    rehearsal = rehearse(configuration(tmp_path, edit=on, judge={**on, "batch_size": 3}), samples=24, faults=True)
    assert rehearsal.faults is not None
    by_name = {fault.fault: fault for fault in rehearsal.faults}
    assert list(by_name) == list(FAULTS)
    assert {fault.outcome for fault in rehearsal.faults} == {"made"}, rehearsal.faults
    assert all(fault.device in SIX for fault in rehearsal.faults)
    assert by_name["neighbour"].made_on in SIX
    assert any("SIGKILL" in note for note in by_name["killed"].notes)
    assert any("no step" in note for note in by_name["silent"].notes)
    assert by_name["silent"].made_on in SIX
    assert any("in parts of" in note for note in by_name["memory"].notes), "the batch was halved"
    assert rehearsal.reasons == []
    assert {place for model in rehearsal.models for place in model.devices} == set(SIX)
    assert all(model.host_peak and model.host_peak > 1 << 20 for model in rehearsal.models), (
        "of the host, beside the card"
    )
    assert {digest.where for digest in rehearsal.digests if digest.model == "edit:testing"} == {
        f"{device}, a fresh process" for device in SIX
    }


@pytest.mark.usefixtures("cold_workers")
def test_the_engines_memory_is_no_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, gpu(0))
    write_benchmark(tmp_path, 2)
    engine = bytearray(b"1") * (1 << 29)
    rehearsal = rehearse(configuration(tmp_path, edit={"device_ids": [0]}, judge={"device_ids": [0]}), samples=1)
    assert all(model.host_peak and model.host_peak < len(engine) for model in rehearsal.models)


def test_a_fault_that_costs_an_edit_is_a_reason_against_the_night(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 3)
    only = {"device_ids": "cpu:1"}
    rehearsal = rehearse(configuration(tmp_path, edit=only, judge=only), samples=1, faults=True)
    assert rehearsal.faults is not None
    lost = {fault.fault: fault.outcome for fault in rehearsal.faults}
    assert lost["memory"] == "no batch"
    assert "not planted" in lost.values(), "one sample is not enough"
    assert {outcome.partition(":")[0] for outcome in lost.values()} <= {*OUTCOMES, "made", "edit_failed"}
    assert len(rehearsal.reasons) == sum(outcome not in ("made", "no batch") for outcome in lost.values())


def test_models_that_fail_are_reasons_and_exit_3(command: Command, tmp_path: Path) -> None:
    write_benchmark(tmp_path, 2)
    file = yaml_file(tmp_path, edit={"fail_to_load": "no room for the weights"})
    answer = command("rehearse", file, "--json")
    document = answer.document
    assert answer.code == 3
    assert any("no room for the weights" in reason for reason in document["reasons"])
    assert document["plan"] is None
    assert left_behind() == []


def test_why_a_worker_was_retired_is_a_reason(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 4)
    Path("lame.py").write_text(
        "class Lame:\n    def __init__(self, parameters): pass\n"
        "    def load(self, devices):\n        try: open(__file__ + '.once', 'x')\n"
        "        except FileExistsError: return\n        raise RuntimeError('a lame leg')\n"
        "    def edit(self, request, on_step): return request.pictures['source'].copy()\n"
    )
    plain = configuration(tmp_path)
    plain["diffusion_model"] = {"class_path": "lame.py:Lame", "params": {"device_ids": "cpu:2"}}
    (reason,) = rehearse(plain, samples=4).reasons
    assert reason in {f"edit model Lame on cpu:{first}: RuntimeError: a lame leg" for first in range(2)}


def test_when_its_time_is_over_it_says_so(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 12)
    slow = {"device_ids": "cpu:1", "seconds": 1.0}
    rehearsal = rehearse(configuration(tmp_path, edit=slow), samples=12, minutes=0.05)
    assert "--minutes" in rehearsal.stopped
    assert rehearsal.reasons == [rehearsal.stopped]


def test_weights_of_which_nothing_is_known_ask_for_their_small_files(command: Command, tmp_path: Path) -> None:
    write_benchmark(tmp_path, 2)
    unknown = {"type": "transformers", "params": {"device_ids": "cpu:1", "model_name": "google/gemma-4-31B-it"}}
    file = yaml_file(tmp_path, reward_model=unknown)
    one_error(command("rehearse", file), 2, 'hf download google/gemma-4-31B-it --include "*.json"')


def test_what_a_stand_in_needs_is_named_with_the_line_that_installs_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "torch.py").write_text("raise ModuleNotFoundError('none', name='torch')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "absent"))
    write_benchmark(tmp_path, 2)
    file = yaml_file(tmp_path, reward_model={"type": "qwen3_vl", "params": {"device_ids": "cpu:1"}})
    ended = command("rehearse", file)
    one_error(ended, 2, "no model with random weights can be made: ModuleNotFoundError: ")
    assert "; install it: " in ended.err
    assert "edit-eval[" in ended.err


@pytest.mark.parametrize("verb", ["run", "rehearse"])
@pytest.mark.parametrize(
    ("half", "said"),
    [
        (lambda file: file.unlink(), "b.safetensors is missing"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "b.safetensors is cut off"),
        (lambda file: (file.unlink(), file.symlink_to("nowhere")), "b.safetensors is missing"),
    ],
)
def test_weights_that_are_half_here_are_named(
    verb: str, half: Callable[[Path], Any], said: str, command: Command, tmp_path: Path
) -> None:
    write_benchmark(tmp_path, 2)
    half(model(tmp_path / "judge", "a.safetensors", "b.safetensors") / "b.safetensors")
    judge = {"type": "transformers", "params": {"device_ids": "cpu:1", "model_name": str(tmp_path / "judge")}}
    one_error(command(verb, yaml_file(tmp_path, reward_model=judge)), 2, said)
    assert left_behind() == []


def test_what_it_writes_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal that was killed leaves a folder; nobody can read a score in it, and the next one deletes it."""

    write_benchmark(tmp_path, 2)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as if it had been killed
    rehearse(configuration(tmp_path))
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (left,) = (tmp_path / "xdg/edit-eval/rehearsals").iterdir()
    with pytest.raises(RunDirectoryError, match="not a run directory"):
        _ = Run(left / "first").results
    left = left.rename(left.with_name("4194999"))  # no such process
    rehearse(configuration(tmp_path))
    assert not left.exists()


@pytest.mark.check
def test_of_a_run_in_rounds_the_first_edit_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    rehearsal = rehearse("examples/rounds.yaml")
    assert rehearsal.reasons == []
    assert {model.loads for model in rehearsal.models} == {"as it is"}, "classes of one's own"
    assert {digest.model for digest in rehearsal.digests} == {"edit:retoucher", "judge:colour"}
    assert all(digest.equal for digest in rehearsal.digests)


def test_layers_are_cut_and_one_of_each_kind_stays() -> None:
    config: dict[str, Any] = {
        "text_config": {"num_hidden_layers": 8, "layer_types": [*["linear"] * 3, "full"] * 2},
        "vision_config": {"depth": 6, "deepstack_visual_indexes": [1, 3, 5], "fullatt_block_indexes": [5]},
        "transformer": {"n_layers": 9, "n_refiner_layers": 2, "injection_layer_ids": [3, 6, 8]},
        "num_layers": 1,
    }
    assert cut_layers(config, 2) == 6 + 4 + 7
    assert config["text_config"] == {"num_hidden_layers": 2, "layer_types": ["linear", "full"]}
    assert config["vision_config"] == {"depth": 2, "deepstack_visual_indexes": [0, 1], "fullatt_block_indexes": [1]}
    assert config["transformer"] == {"n_layers": 2, "n_refiner_layers": 2, "injection_layer_ids": [0, 1]}
    assert config["num_layers"] == 1


def test_weights_are_holes(tmp_path: Path) -> None:
    from edit_eval.plugins.preparation.weights import measure_loaded_size
    from edit_eval.plugins.rehearse.in_worker.stand_in import _write_hole

    held = {"wide": ("BF16", [1 << 15, 1 << 15], 1 << 31), "bias": ("F32", [4], 16)}
    _write_hole(tmp_path / "model.safetensors", held)
    assert measure_loaded_size(tmp_path / "model.safetensors", "bfloat16") == (1 << 31) + 8
    assert (tmp_path / "model.safetensors").stat().st_blocks * 512 < 1 << 20
    assert callable(write_holes)


def test_a_server_is_asked_about_two_samples(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 6)
    plain = configuration(tmp_path, edit={"device_ids": "cpu:1"})
    with JudgeServer("Score: 7.500") as server:
        params = {"device_ids": "cpu:1", "model": "m", "base_url": server.base_url, "max_tokens": 32}
        plain["reward_model"] = {"type": "chat_endpoint", "params": params}
        rehearsal = rehearse(plain)
        asked = [request for request in server.asked if not request.is_canary]
    assert rehearsal.reasons == []
    assert [model.loads for model in rehearsal.models] == ["as it is", "server"]
    assert rehearsal.plan is not None
    assert len(asked) == 2 + 1, "two samples, and the first edit once more"
    assert all(digest.equal for digest in rehearsal.digests)


@pytest.mark.parametrize(("most", "missed"), [(53.0, False), (58.0, False), (61.0, True)])
def test_what_offloading_takes_of_the_host_is_printed_beside_its_prediction(
    most: float, missed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Qwen-Image-Edit: 53.7 GiB of weights on the host, and half a GiB of libraries."""
    parameters = {"model_name": "Qwen/Qwen-Image-Edit"}
    placement = Placement(offload="model")
    section = ModelSection(name="m", type="t", class_path="a:b", parameters=parameters, placement=placement)
    wanted = PlacedModel(
        Model.from_key("edit:m", (("cuda:0",),)), section, weights_of(section, {"HF_HOME": "/nowhere"})
    )
    seen: Any = {"model": "edit:m", "host": int(most * 2**30), "what": "loaded", "weights": {"cpu": 53 << 30}}
    first = RehearsedStart(wanted=[wanted], marks=[seen])
    made = StandIns(load_configuration("demo"), loads={"edit:m": "stand-in"})
    (model,) = models_of([wanted], made, first)
    rehearsal = Rehearsal("night", ("1",), None, 1.0, (model,), (), None, None, (), (), ())
    assert model.host_peak == int(most * 2**30)
    print_rehearsal(rehearsal)
    printed = capsys.readouterr().out
    rows = [line.split("  ") for line in printed.splitlines() if line.startswith("edit:m ")]
    (host,) = [[*filter(None, row)] for row in rows if "on the host" in row]
    assert [*map(str.strip, host)][-3:] == ["54.2 GiB", f"{most} GiB", {53.0: "-2%", 58.0: "+7%", 61.0: "+12%"}[most]]
    assert rehearsal.as_plain()["models"][0]["predicted_host"] == pytest.approx(54.2 * 2**30, rel=0.001)
    assert [str(reason) for reason in rehearsal.reasons if "of the host: 61.00 GiB" in reason] == list(
        rehearsal.reasons
    )
    assert bool(rehearsal.reasons) == missed


OWN = """from PIL import Image
from edit_eval.plugins.endpoints.in_worker.image_endpoint import ImageEndpoint
class Elsewhere:
    def __init__(self, parameters): pass
    @staticmethod
    def duration(parameters): return 12.5, 3.25, "its author"
    def examine(self, request): return self.edit(request, lambda *_: None)
    def load(self, devices): pass
    def about(self): return {"note": "half of an adapter fits"}
    def edit(self, request, on_step): return request.pictures["source"].copy()
class Mine(ImageEndpoint):
    pass
"""


def test_a_class_of_ones_own_is_rehearsed_by_what_it_says(command: Command, tmp_path: Path) -> None:
    write_benchmark(tmp_path, 2)
    (tmp_path / "own.py").write_text(OWN)
    own = {"class_path": f"{tmp_path / 'own.py'}:Elsewhere", "params": {"device_ids": "cpu:1"}}
    file = yaml_file(tmp_path, diffusion_model=own)
    answer = command("rehearse", file)
    assert answer.code == 0, answer.err
    (model,) = [
        model for model in command("rehearse", file, "--json").document["models"] if model["model"] == "edit:Elsewhere"
    ]
    assert model["loads"] == "as it is", "no server of ours is asked"
    assert (model["said_load"], model["said_unit"]) == (12.5, 3.25)
    assert model["unit"] < 3.25
    assert [line for line in answer.out.splitlines() if line.startswith("edit:Elsewhere") and "3.25 s" in line]
    assert "Said to take" in answer.out
    assert "half of an adapter fits" in answer.out


def test_one_that_is_made_of_a_server_of_ours_is_a_server(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 2)
    (tmp_path / "own.py").write_text(OWN)
    plain = configuration(tmp_path)
    params = {"device_ids": "cpu:1", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    plain["diffusion_model"] = {"class_path": f"{tmp_path / 'own.py'}:Mine", "params": params}
    made = stand_ins(load_configuration(plain), tmp_path / "models", None, [])
    assert made.loads == {"edit:Mine": "server", "judge:testing": "as it is"}
