"""What is asked: here, that whoever waits for a benchmark sees how far its reading is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from PIL import Image

from edit_eval import asking, experiment
from edit_eval.changes import list_changes
from edit_eval.config.loading import load_configuration
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.plugins.preparation import requests as preparation
from edit_eval.protocols.derived import DerivedScores
from edit_eval.records import model_title
from edit_eval.text import pluralize
from faults.faulty_runs import Ears
from small_benchmark import configuration, write_benchmark


class Reader(Ears):
    """Hears how far the benchmark has been read."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, ...]] = []

    def reading(self, *so_far: int) -> None:
        self.heard.append(so_far)

    def has_read(self) -> None:
        self.heard.append(())


def test_the_first_reading_of_a_benchmark_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "READ_IN_SILENCE", 0.0)
    size = write_benchmark(tmp_path, 60, size=(200, 200)).stat().st_size
    read = load_configuration(configuration(tmp_path))
    reader = Reader()
    asking.load_samples(read, reader)
    *told, over = reader.heard
    assert over == ()
    assert [items for items, _, _ in told] == list(range(1, 61))
    assert {of for _, _, of in told} == {size}
    positions = [position for _, position, _ in told]
    assert positions == sorted(positions)
    assert 0 < positions[0] < size / 2
    assert positions[-1] == size


def test_a_reading_that_fails_is_over_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "READ_IN_SILENCE", 0.0)
    path = write_benchmark(tmp_path, 5)
    path.write_text(path.read_text("utf-8")[:-40], "utf-8")
    reader = Reader()
    with pytest.raises(ConfigurationError, match="was cut off"):
        asking.load_samples(load_configuration(configuration(tmp_path)), reader)
    assert reader.heard[-1] == ()


def test_a_row_that_is_taken_out_moves_the_others(tmp_path: Path) -> None:
    """A sample's seed counts its row: who takes a row out of a table makes, and pays for, what is below it again."""
    path = write_benchmark(tmp_path, 6)
    read = load_configuration(configuration(tmp_path))
    whole = asking.make_experiment(read, asking.load_samples(read))
    rows = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(rows[:2] + rows[3:], ensure_ascii=False), "utf-8")
    less = asking.make_experiment(read, asking.load_samples(read))
    first, *others = list_changes(whole, less)
    assert first.startswith("3 samples have another place in the benchmark, and so another seed")
    assert others == ["samples 6 -> 5"]
    chosen = load_configuration(configuration(tmp_path), limit=1)
    few = asking.make_experiment(chosen, asking.load_samples(chosen))
    assert [str(difference) for difference in list_changes(less, few)] == ["samples 5 -> 3"], "a filter moves nothing"


def test_what_the_benchmark_has_noted_is_said(tmp_path: Path) -> None:
    rows = {str(number): {"id": "1.jpg", "prompt": "Add it.", "edit_type": "Add"} for number in range(12)}
    (tmp_path / "basic_edit.json").write_text(json.dumps(rows))
    Image.new("RGB", (8, 8)).save(tmp_path / "1.jpg")
    about = {"type": "imgedit", "data_path": str(tmp_path), "cache_dir": str(tmp_path / "cache")}
    data = asking.load_samples(load_configuration(configuration(tmp_path) | {"benchmark": about}))
    assert data.about["licence"]
    slips = [note for note in data.notes if note.startswith("sample '0': edit_type 'Add' is taken as 'add'")]
    assert [note[-52:] for note in slips] == ["(likewise 11 samples: '1', '2', '3', '4', '5' and 6 more)"[-52:]]


@pytest.mark.parametrize("verb", ["plan", "examine"])
def test_whoever_reads_the_benchmark_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    monkeypatch.setattr(asking, "READ_IN_SILENCE", 0.0)
    write_benchmark(tmp_path, 4)
    file = tmp_path / "configuration.yaml"
    file.write_text(yaml.safe_dump(configuration(tmp_path)), "utf-8")
    getattr(preparation, verb)(file)
    assert "reading the benchmark: 1 sample (" in capsys.readouterr().err


def test_a_benchmark_that_does_not_say_how_far_it_is_counts_its_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "READ_IN_SILENCE", 0.0)
    scenes = {"type": "scenes", "count": 2, "size": 128, "cache_dir": str(tmp_path)}
    reader = Reader()
    asking.load_samples(load_configuration(configuration(tmp_path) | {"benchmark": scenes}), reader)
    assert reader.heard == [(1, 0, 0), (2, 0, 0), ()]


def test_a_bad_sample_is_named_before_the_edit_that_it_lacks(tmp_path: Path) -> None:
    """What is wrong with the row is why nothing is called after it."""
    edits = tmp_path / "edits"
    edits.mkdir()
    Image.new("RGB", (8, 8)).save(edits / "1.png")
    table = tmp_path / "my.csv"
    table.write_text("image,prompt\nnowhere.jpg,Add it.\n")
    settings = configuration(tmp_path)
    settings["benchmark"] = {"type": "table", "data_path": str(table), "cache_dir": str(tmp_path / "cache")}
    settings["diffusion_model"] = {"type": "image_folder", "params": {"folder": str(edits)}}
    for bad, said in (
        ("error", r"my\.csv: line 2, .*there is no file 'nowhere\.jpg'"),
        ("skip", "no sample can be used"),
    ):
        settings["benchmark"]["on_bad_sample"] = bad
        loaded = load_configuration(settings)
        with pytest.raises(BenchmarkError, match=said):
            asking.make_experiment(loaded, asking.load_samples(loaded))


def test_edits_of_which_none_is_any_samples_are_refused(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 1)
    (tmp_path / "edits").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "edits" / "grid.png")
    settings = configuration(tmp_path)
    settings["diffusion_model"] = {"type": "image_folder", "params": {"folder": str(tmp_path / "edits")}}
    loaded = load_configuration(settings)
    with pytest.raises(ConfigurationError, match=r"^image_folder: no edit of sample .* in .*; it has grid\.png$"):
        asking.make_experiment(loaded, asking.load_samples(loaded))


def test_a_judge_of_the_edit_models_family_is_said_and_kept(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 1)
    settings = configuration(tmp_path)
    settings["diffusion_model"] = {"type": "qwen_image_edit"}
    settings["reward_model"] = {"type": "qwen3_vl", "params": {"model_name": "Qwen/Qwen2.5-VL-7B-Instruct"}}
    loaded = load_configuration(settings)
    made = asking.make_experiment(loaded, asking.load_samples(loaded))
    (note,) = (note for note in made.notes if "are both" in note)
    assert note.startswith("judge qwen3_vl and edit model qwen_image_edit are both Qwen2.5-VL: ")
    again = experiment.Experiment.from_record(json.loads(json.dumps(made.to_record(loaded.folder))), made.samples)
    assert note in again.notes


def test_a_registered_protocol_whose_module_has_moved_since_is_the_same(tmp_path: Path) -> None:
    """What an earlier edit-eval has recorded is read and asked again by its name; another class is not imported."""
    write_benchmark(tmp_path, 2)
    loaded = load_configuration(configuration(tmp_path))
    made = asking.make_experiment(loaded, asking.load_samples(loaded))
    plain = json.loads(json.dumps(made.to_record(loaded.folder)))
    [judge] = plain["judges"]
    judge["protocol"]["class_path"] = "edit_eval.before.module:Rubric"
    again = experiment.Experiment.from_record(plain, made.samples)
    assert again.is_same_evaluation(made)
    assert list_changes(again, made) == []
    judge["protocol"]["type"] = ""
    [absent] = experiment.Experiment.from_record(plain, made.samples).judges
    assert isinstance(absent.protocol, DerivedScores)
    assert "`--code FOLDER` names the folder" in absent.protocol.fault
    with pytest.raises(ConfigurationError, match="`duel` is not a kind of subject"):
        experiment.Experiment.from_record({**plain, "kinds": ["duel"]}, made.samples)


# The nouns, and what they are called.


def test_a_models_key_as_people_read_it() -> None:
    assert model_title("edit:testing") == "edit model testing"
    assert model_title("judge:a:b") == "judge a:b", "a name may hold a colon"


def test_numbers_of_things() -> None:
    assert [pluralize(number, "edit") for number in (0, 1, 2)] == ["0 edits", "1 edit", "2 edits"]
