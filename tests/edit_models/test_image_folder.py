"""Edits made elsewhere: found by the sample's id and by nothing else."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from pydantic import ValidationError

from edit_eval.edit_models.contract import FINISHED, Finished, SampleNames
from edit_eval.edit_models.image_folder import ImageFolder
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.pictures import check_edit, open_picture
from edit_eval.run import evaluate
from edit_requests import request
from own_components import adapter_of
from small_benchmark import configuration, sample_id, write_benchmark

EDITS = Path(__file__).parents[3] / "shared" / "data" / "five_dimensions_mini" / "edits_en"


def found(folder: Path, *ids: str) -> Finished:
    return ImageFolder.match_edits(ImageFolder.Parameters(str(folder)), SampleNames(ids))


def edit(folder: Path, sample_id: str) -> Image.Image:
    """As a worker makes it: from the file that was found."""
    there = found(folder, sample_id)
    path, digest = there.files[sample_id]
    source, steps = Image.new("RGB", (8, 8), "white"), list[tuple[int, int]]()
    asked = request(source, sample_id=sample_id)
    asked = replace(asked, pictures={**asked.pictures, FINISHED: open_picture(path, digest=digest)})
    edited = ImageFolder(ImageFolder.Parameters(str(folder))).edit(asked, lambda step, of: steps.append((step, of)))
    assert steps == [(1, 1)]
    return edited


def lacking(folder: Path, sample_id: str, *others: str) -> str:
    """Why a sample has no edit, beside a sample that has one."""
    put(folder / "there.png")
    return found(folder, "there", sample_id, *others).lacking[sample_id]


def put(path: Path, colour: str = "red") -> None:
    Image.new("RGB", (8, 8), colour).save(path, {".jpg": "JPEG", ".jpeg": "JPEG", ".jfif": "JPEG"}.get(path.suffix))


@pytest.mark.skipif(not EDITS.is_dir(), reason="the five real items are not here")
def test_a_real_models_edits() -> None:
    for path in EDITS.iterdir():
        edited = edit(EDITS, path.stem)
        assert edited.tobytes() == open_picture(path).tobytes()
        assert check_edit(edited, Image.new("RGB", edited.size)) == ()


@pytest.mark.parametrize("suffix", ["png", "jpg", "jpeg", "jfif", "webp", "PNG"])
def test_suffixes(tmp_path: Path, suffix: str) -> None:
    put(tmp_path / f"v1.5_a.{suffix}")
    assert edit(tmp_path, "v1.5_a").getpixel((0, 0))[0] > 200


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
def test_both_forms_of_unicode(tmp_path: Path, form: str, other: str) -> None:
    put(tmp_path / f"{unicodedata.normalize(form, 'café_が')}.png")
    assert edit(tmp_path, unicodedata.normalize(other, "café_が")).size == (8, 8)


def test_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "edits" / "deep").mkdir(parents=True)
    for path in (tmp_path / "x.png", tmp_path / "edits" / "deep" / "y.png", tmp_path / "edits" / ".x.png"):
        put(path)
    (tmp_path / "edits" / "linked").symlink_to(tmp_path, target_is_directory=True)
    hostile = ("../x", "../deep_y", str(tmp_path / "x"), "x", "*", "x\0", "..", "", "x\ny", "linked/x")
    for _ in ("in folders below alone", "beside others"):
        there = found(tmp_path / "edits", "deep/y", *hostile)
        assert set(there.files) == {"deep/y"}
        assert set(there.lacking) == set(hostile)
        assert not any("\n" in reason for reason in there.lacking.values())
        put(tmp_path / "edits" / "z.png")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    said = lacking(tmp_path, "b")
    assert re.fullmatch(r"no edit of sample 'b' in .* \(\.png, \.jpg, \.jpeg, \.jfif, \.webp\)", said)
    put(tmp_path / "7.png")
    assert lacking(tmp_path, "00007").endswith(": did you mean 7.png?")
    assert found(tmp_path, "there", "00007").left == ("7.png",)


def test_two_for_one_sample_and_one_for_two(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    put(tmp_path / "a.jpg")
    assert lacking(tmp_path, "a").endswith(": a.jpg and a.png are both called so")
    (tmp_path / "a.jpg").unlink()
    assert lacking(tmp_path, "x/a", "y/a").endswith(": a.png is claimed by x/a and y/a")


def test_edits_that_are_called_otherwise_are_likely_ones_until_they_are_told(tmp_path: Path) -> None:
    for name in ("there.png", "Cat.png", "dog-1.png", "grid.png"):
        put(tmp_path / name)
    ids = ("there", "cat", "dog", "fish")
    some = found(tmp_path, *ids)
    assert some.likely == {"cat": "Cat.png", "dog": "dog-1.png"}
    assert some.words == (
        "1 of 4 edits; missing: cat (there is Cat.png), dog (there is dog-1.png), fish; not used: grid.png"
    )
    told = ImageFolder.match_edits(ImageFolder.Parameters(str(tmp_path), dict(some.likely)), SampleNames(ids))
    assert {of: Path(path).name for of, (path, _) in told.files.items()} == {"there": "there.png", **some.likely}
    assert (list(told.lacking), told.left) == (["fish"], ("grid.png",))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"bird": "Cat.png"}, "files: no sample is called bird"),
        ({"cat": "cat.png"}, "files: there is no picture cat.png in "),
        ({"cat": "Cat.png", "dog": "Cat.png"}, "files: Cat.png is the edit of two samples"),
    ],
)
def test_what_is_told_of_files_must_be_there(tmp_path: Path, files: dict[str, str], said: str) -> None:
    put(tmp_path / "Cat.png")
    with pytest.raises(ConfigurationError, match=f"^{said}"):
        ImageFolder.match_edits(ImageFolder.Parameters(str(tmp_path), files), SampleNames(["cat", "dog"]))


def test_a_damaged_picture(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    os.truncate(tmp_path / "a.png", 40)
    with pytest.raises(PictureError, match=r"a\.png"):
        edit(tmp_path, "a")


def test_no_folder(tmp_path: Path) -> None:
    (tmp_path / "edits").mkdir()
    with pytest.raises(ConfigurationError, match=r"there is no folder .*edit; did you mean .*edits\?"):
        found(tmp_path / "edit", "a")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        found(tmp_path / "file", "a")
    with pytest.raises(ConfigurationError, match="no pictures"):
        found(tmp_path, "a")


def test_an_edit_is_known_by_its_bytes_and_nothing_else(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    put(tmp_path / "b.png", "blue")

    def digests() -> dict[str, str]:
        return {name: digest for name, (_, digest) in found(tmp_path, "a", "b").files.items()}

    first = digests()
    os.utime(tmp_path / "a.png", (1, 1))
    put(tmp_path / "overview.png", "green")
    (tmp_path / "b.png").rename(tmp_path / "b.PNG")
    assert digests() == first
    data = bytearray((tmp_path / "a.png").read_bytes())
    data[-1] ^= 1
    (tmp_path / "a.png").write_bytes(data)  # the same size
    assert digests()["a"] != first["a"]
    assert digests()["b"] == first["b"]


def test_parameters_as_the_configuration_makes_them() -> None:
    adapter = adapter_of(ImageFolder)
    assert adapter.validate_python({"folder": "x"}) == ImageFolder.Parameters("x")
    with pytest.raises(ValidationError):
        adapter.validate_python({"folder": "x", "folders": "y"})


TREES = {
    "gedit": ("fullset/subject-add/en/a1.png", "subject-add_en_a1"),
    "gedit in Chinese": ("fullset/subject-add/cn/a1.png", "subject-add_zh_a1"),
    "imgedit": ("1082.png", "1082"),
    "kris": ("multi-element_composition/3.png", "multi-element_composition_3"),
    "risebench": ("images/temporal_reasoning/temporal_reasoning_7.jpg", "temporal_reasoning_7"),
    "unireditbench": ("maze/12.png", "maze_12"),
    "omnicontext": ("fullset/scene_object/k-9.png", "k-9"),
    "wiseedit": ("WiseEdit_Complex_2/en/4.png", "WiseEdit_Complex_2_4"),
}


@pytest.mark.parametrize("name", TREES)
def test_the_tree_that_a_benchmarks_own_scripts_expect(name: str, tmp_path: Path) -> None:
    path, sample_id = TREES[name]
    for other in (path, path.replace("1", "2").replace("3", "4").replace("7", "8").replace("9", "6")):
        (tmp_path / other).parent.mkdir(parents=True, exist_ok=True)
        put(tmp_path / other, "red" if other == path else "blue")
    (tmp_path / ".cache").mkdir()
    put(tmp_path / ".cache" / "a1.png")
    if name == "gedit":
        put(tmp_path / "fullset/subject-add/en/a1_SRCIMG.png", "white")
    assert edit(tmp_path, sample_id).getpixel((0, 0))[0] > 200


def test_a_key_that_two_task_types_share_has_an_edit_for_each(tmp_path: Path) -> None:
    for task, colour in (("subject-remove", "red"), ("subject-replace", "blue")):
        (tmp_path / "fullset" / task / "en").mkdir(parents=True)
        put(tmp_path / "fullset" / task / "en" / "ae3b.png", colour)
    assert edit(tmp_path, "subject-remove_en_ae3b").getpixel((0, 0)) == (255, 0, 0)
    assert edit(tmp_path, "subject-replace_en_ae3b").getpixel((0, 0)) == (0, 0, 255)
    both = found(tmp_path, "subject-remove_en_ae3b", "subject-replace_en_ae3b").files
    assert len({path for path, _ in both.values()}) == 2
    assert "subject-remove/en/ae3b.png and fullset/subject-replace" in found(tmp_path, "ae3b").lacking["ae3b"]


def test_beside_others_a_picture_in_a_folder_below_has_its_whole_path_for_a_name(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    put(tmp_path / "old" / "b.png")
    assert lacking(tmp_path, "b")
    assert found(tmp_path, "there", "old/b").files.keys() == {"there", "old/b"}


def test_a_folder_without_the_first_pictures_is_judged_by_the_others(tmp_path: Path) -> None:
    """A pilot tries the first of each category: what nobody can make is known before, and is no failure of a model."""
    write_benchmark(tmp_path, 12)
    edits = tmp_path / "edits"
    edits.mkdir()
    for number in range(7, 12):
        put(edits / f"{sample_id(number)}.png")
    settings = configuration(tmp_path, evaluation={"min_coverage": 0})
    settings["diffusion_model"] = {"type": "image_folder", "params": {"folder": str(edits)}}
    run = evaluate(settings, run_dir=tmp_path / "run", report=False)
    statuses = Counter(row.status.value for row in run.results.judgements)
    assert statuses == {"ok": 5, "edit_missing": 7}
    assert run.results.telemetry.device_failures == ()
    with pytest.raises(ConfigurationError, match="a finished edit needs its file"):
        evaluate(settings, run_dir=tmp_path / "run", report=False, retry=["edit_missing"])
