"""A benchmark's masks go to edit models that take one: what arrives, in which keys it is, and who is told of it."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from edit_eval import evaluate
from edit_eval.asking import load_samples, make_experiment
from edit_eval.changes import list_changes
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.run import Run

MODEL = '''
from PIL import Image


class Painter:
    """Paints the mask red, and a cross where there is none; its edits are half as large, and a little flatter."""

    def __init__(self, parameters):
        pass

    @staticmethod
    def takes_mask(parameters):
        return True

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        edit = request.source
        if request.mask is None:
            edit.paste((0, 255, 0), (0, 0, 4, 4))
        else:
            assert (request.mask.mode, request.mask.size) == ("L", edit.size), request.mask
            edit.paste((255, 0, 0), request.mask)
        return edit.resize((edit.width // 2, round(edit.height / 2.05)), Image.Resampling.NEAREST)
'''
BLUE, RED, GREEN = (0, 0, 255), (255, 0, 0), (0, 255, 0)
BOX = (10, 8, 30, 24)
"""Where the first sample may change, of 80 x 64."""


def mask_of(box: tuple[int, int, int, int], size: tuple[int, int] = (80, 64)) -> Image.Image:
    mask = Image.new("L", size)
    mask.paste(255, box)
    return mask


def write_table(folder: Path, **masks: Image.Image | None) -> Path:
    """A table of pictures with these masks, by their samples' ids; `b2` follows `b`."""
    rows = []
    for place, (name, mask) in enumerate(masks.items()):
        follows = name[:-1] if name[-1] == "2" else ""
        if not follows:
            Image.new("RGB", (80, 64), (place, 0, 255)).save(folder / f"{name}.png")
        if mask is not None:
            mask.save(folder / f"{name}-mask.png")
        there = f"{name}-mask.png" if mask else ""
        rows.append({"id": name, "source": "" if follows else f"{name}.png", "mask": there, "follows": follows})
    with (folder / "table.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [*rows[0], "instruction"])
        table.writeheader()
        table.writerows({**row, "instruction": "paint"} for row in rows)
    (folder / "painter.py").write_text(MODEL)
    return folder / "table.csv"


def run(folder: Path, name: str = "run", *, judges: Any = None, **models: Any) -> Run:
    """The table's samples edited by the `painter`, and by further models."""
    where = {"device_ids": "cpu:1"}
    painter = {"class_path": str(folder / "painter.py:Painter"), "params": {**where, **models.pop("painter", {})}}
    configuration = {
        "benchmark": {"type": "table", "data_path": str(folder / "table.csv"), "cache_dir": str(folder / "cache")},
        "edit_models": {"painter": painter, **models},
        "judges": judges or {"pixels": {"type": "picture_metrics", "params": where}},
        "execution": {"progress": "none"},
    }
    return evaluate(configuration, run_dir=folder / name, report=False)


def edit_of(made: Run, sample: str, model: str = "painter") -> Image.Image:
    its = next(edit for edit in made.results.edits if (edit.sample_id, edit.edit_model) == (sample, model))
    assert its.image, its.reason
    with Image.open(Path(made.results.directory) / its.image) as picture:
        return picture.convert("RGB")


def red_box(picture: Image.Image) -> tuple[int, int, int, int] | None:
    return ImageChops.subtract(picture.getchannel("R"), picture.getchannel("B")).getbbox()


def test_a_mask_arrives_in_turns_too_and_what_is_outside_is_measured(tmp_path: Path) -> None:
    """The second turn's mask was made for the source; the edit before it is smaller, and a little flatter."""
    masks = {"a": mask_of(BOX), "b": mask_of(BOX, (40, 32)), "b2": mask_of((40, 0, 80, 64)), "c": None}
    write_table(tmp_path, **masks)
    testing = {"type": "testing", "params": {"device_ids": "cpu:1"}}
    made = run(tmp_path, testing=testing)
    assert red_box(edit_of(made, "a")) == (5, 4, 15, 12)
    assert red_box(edit_of(made, "b")) == (10, 8, 30, 23), "a smaller mask is scaled to the source"
    assert red_box(edit_of(made, "b2")) == (5, 0, 20, 15), "the right half, and what the first turn has painted"
    assert edit_of(made, "c").getpixel((0, 0)) == GREEN
    notes = " ".join(made.results.provenance.notes)
    assert "painter: it is given the masks of 3 of 4 samples" in notes
    assert "testing: it takes no mask, and is given none of the samples' 3" in notes
    outside = {j.sample_id: j.scores.get("l1_outside") for j in made.results.judgements if j.edit_model == "painter"}
    assert outside["a"] == pytest.approx(0, abs=0.01)
    assert outside["c"] is None


def test_rounds_get_the_mask_again(tmp_path: Path) -> None:
    write_table(tmp_path, a=mask_of(BOX))
    configuration = {
        "benchmark": {"type": "table", "data_path": str(tmp_path / "table.csv"), "cache_dir": str(tmp_path / "cache")},
        "edit_models": {"painter": {"class_path": str(tmp_path / "painter.py:Painter")}},
        "judges": {
            "critic": {"type": "testing", "protocol": {"answer": "reason_then_score"}},
            "pixels": {"type": "picture_metrics"},
        },
        "rounds": {"critic": "critic", "max": 2, "from": "last"},
        "evaluation": {"controls": 0},
        "execution": {"progress": "none"},
    }
    made = evaluate(configuration, run_dir=tmp_path / "run", devices="cpu:1", report=False)
    assert red_box(edit_of(made, "a")) == (5, 4, 15, 12)
    assert red_box(edit_of(made, "a", "painter@2")) == (2, 2, 7, 6)


def test_a_mask_is_in_the_keys_of_who_is_given_it_and_in_no_others(tmp_path: Path) -> None:
    testing = {"type": "testing", "params": {"device_ids": "cpu:1"}}

    def keys(name: str, **painter: Any) -> dict[tuple[str, str], str]:
        made = run(tmp_path, name, painter=painter, testing=testing)
        return {(edit.edit_model, edit.sample_id): edit.key for edit in made.results.edits}

    write_table(tmp_path, a=mask_of(BOX), b=None)
    with_mask, without = keys("with"), keys("without", mask="none")
    write_table(tmp_path, a=mask_of((0, 0, 9, 9)), b=None)
    other = keys("other")
    write_table(tmp_path, a=None, b=None)
    none = keys("none")
    changed = ("painter", "a")
    assert len({with_mask[changed], without[changed], other[changed]}) == 3
    assert none[changed] == without[changed], "a run of before there were masks goes on"
    for place in with_mask.keys() - {changed}:
        assert with_mask[place] == without[place] == other[place] == none[place]


def test_a_run_says_that_masks_are_given_now(tmp_path: Path) -> None:
    write_table(tmp_path, a=mask_of(BOX))
    before = run(tmp_path, painter={"mask": "none"}).experiment
    now = load_configuration(
        {
            "benchmark": {"type": "table", "data_path": str(tmp_path / "table.csv")},
            "edit_models": {"painter": {"class_path": str(tmp_path / "painter.py:Painter")}},
            "judges": {"pixels": {"type": "picture_metrics"}},
        }
    )
    experiment = make_experiment(now, load_samples(now))
    assert list_changes(before, experiment) == ["edit model painter: it is given the samples' masks"]
    assert before.makers != experiment.makers, "it is another rival"


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (Image.new("L", (80, 64)), "the mask is empty"),
        (mask_of((0, 0, 9, 9), (64, 64)), r"the mask has another shape \(64x64\) than the source \(80x64\)"),
    ],
)
def test_a_mask_that_says_nothing_fails_the_edit(mask: Image.Image, words: str, tmp_path: Path) -> None:
    write_table(tmp_path, a=mask_of(BOX), b=mask)
    edits = {edit.sample_id: edit for edit in run(tmp_path).results.edits}
    assert (edits["a"].status, edits["b"].status) == ("ok", "edit_failed")
    assert re.search(words, edits["b"].reason)


def test_required_refuses_who_takes_none_and_a_sample_without(tmp_path: Path) -> None:
    write_table(tmp_path, a=mask_of(BOX))
    required = {"mask": "required"}
    testing = {"type": "testing", "params": {"device_ids": "cpu:1", **required}}
    with pytest.raises(ConfigurationError, match=r"testing\.params\.mask: required, but testing takes no mask"):
        run(tmp_path, testing=testing)
    assert run(tmp_path, "all", painter=required).results.edits[0].status == "ok"
    write_table(tmp_path, a=mask_of(BOX), b=None)
    with pytest.raises(ConfigurationError, match=r"painter\.params\.mask: required, but sample 1 \(b\) has no mask"):
        run(tmp_path, "some", painter=required)
    with pytest.raises(ConfigurationError, match=r"mask: 'yes' is none of auto, required, none|'yes'"):
        run(tmp_path, "wrong", painter={"mask": "yes"})
