"""Edits made elsewhere: found by the sample's id and by nothing else."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from edit_eval.edit_models.image_folder import ImageFolder
from edit_eval.errors import ConfigurationError, LoadError, ModelError, PictureError
from edit_eval.pictures import check_edit, open_picture
from edit_models.tiny_edits import request

EDITS = Path(__file__).parents[3] / "shared" / "data" / "five_dimensions_mini" / "edits_en"


def loaded(folder: Path) -> ImageFolder:
    model = ImageFolder(ImageFolder.Parameters(str(folder)))
    model.load([])
    return model


def edit(model: ImageFolder, sample_id: str) -> Image.Image:
    source = Image.new("RGB", (8, 8), "white")
    steps: list[tuple[int, int]] = []
    edited = model.edit(request(source, sample_id=sample_id), lambda step, of: steps.append((step, of)))
    assert steps == [(1, 1)]
    return edited


def put(path: Path, colour: str = "red") -> None:
    Image.new("RGB", (8, 8), colour).save(path)


@pytest.mark.skipif(not EDITS.is_dir(), reason="the five real items are not here")
def test_a_real_models_edits() -> None:
    model = loaded(EDITS)
    for path in EDITS.iterdir():
        edited = edit(model, path.stem)
        assert edited.tobytes() == open_picture(path).tobytes()
        assert check_edit(edited, Image.new("RGB", edited.size)) == ()
    assert model.about()["pictures"] == "5"
    assert len(ImageFolder.revision(ImageFolder.Parameters(str(EDITS)))) == 64


@pytest.mark.parametrize("suffix", ["png", "jpg", "jpeg", "webp", "PNG"])
def test_suffixes(tmp_path: Path, suffix: str) -> None:
    put(tmp_path / f"v1.5_a.{suffix}")
    assert edit(loaded(tmp_path), "v1.5_a").getpixel((0, 0))[0] > 200


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
def test_both_forms_of_unicode(tmp_path: Path, form: str, other: str) -> None:
    put(tmp_path / f"{unicodedata.normalize(form, 'café_が')}.png")
    assert edit(loaded(tmp_path), unicodedata.normalize(other, "café_が")).size == (8, 8)


def test_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "edits" / "deep").mkdir(parents=True)
    for path in (tmp_path / "x.png", tmp_path / "edits" / "deep" / "y.png", tmp_path / "edits" / ".x.png"):
        put(path)
    (tmp_path / "edits" / "linked").symlink_to(tmp_path, target_is_directory=True)
    for beside in (False, True):  # with pictures in folders below alone, and beside them
        if beside:
            put(tmp_path / "edits" / "z.png")
        model = loaded(tmp_path / "edits")
        for hostile in ("../x", "deep/y", "../deep_y", str(tmp_path / "x"), "x", "*", "x\0", "..", "", "x\ny"):
            with pytest.raises(ModelError) as caught:
                edit(model, hostile)
            assert "\n" not in str(caught.value)


@given(st.text())
def test_any_id_is_a_picture_or_an_error(sample_id: str) -> None:
    with pytest.raises(ModelError):
        edit(ImageFolder(ImageFolder.Parameters("nowhere")), sample_id)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    with pytest.raises(ModelError, match=r"no edit of sample 'b' in .* \(\.png, \.jpg, \.jpeg, \.webp\)"):
        edit(loaded(tmp_path), "b")


def test_two_for_one_sample(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    put(tmp_path / "a.jpg")
    with pytest.raises(ModelError, match=r"more than one edit of sample 'a' in .*: a\.jpg, a\.png"):
        edit(loaded(tmp_path), "a")


def test_a_damaged_picture(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    os.truncate(tmp_path / "a.png", 40)
    with pytest.raises(PictureError, match=r"a\.png"):
        edit(loaded(tmp_path), "a")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        loaded(tmp_path / "none")
    (tmp_path / "edits").mkdir()
    with pytest.raises(ConfigurationError, match=r"there is no folder .*edit; did you mean .*edits\?"):
        ImageFolder.revision(ImageFolder.Parameters(str(tmp_path / "edit")))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        ImageFolder.revision(ImageFolder.Parameters(str(tmp_path / "file")))
    with pytest.raises(ConfigurationError, match="no pictures"):
        ImageFolder.revision(ImageFolder.Parameters(str(tmp_path)))


def test_the_revision_knows_names_and_contents_only(tmp_path: Path) -> None:
    def revision() -> str:
        return ImageFolder.revision(ImageFolder.Parameters(str(tmp_path)))

    put(tmp_path / "a.png")
    put(tmp_path / "b.png", "blue")
    first = revision()
    os.utime(tmp_path / "a.png", (1, 1))
    (tmp_path / "notes.txt").write_text("x")
    assert revision() == first
    seen = {first}
    data = bytearray((tmp_path / "a.png").read_bytes())
    data[-1] ^= 1
    (tmp_path / "a.png").write_bytes(data)  # the same size
    seen.add(revision())
    (tmp_path / "b.png").rename(tmp_path / "c.png")
    seen.add(revision())
    (tmp_path / "c.png").unlink()
    seen.add(revision())
    assert len(seen) == 4


def test_parameters_as_the_configuration_makes_them() -> None:
    adapter = TypeAdapter(ImageFolder.Parameters)
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
    assert edit(loaded(tmp_path), sample_id).getpixel((0, 0))[0] > 200
    assert len(ImageFolder.revision(ImageFolder.Parameters(str(tmp_path)))) == 64


def test_a_key_that_two_task_types_share_has_an_edit_for_each(tmp_path: Path) -> None:
    for task, colour in (("subject-remove", "red"), ("subject-replace", "blue")):
        (tmp_path / "fullset" / task / "en").mkdir(parents=True)
        put(tmp_path / "fullset" / task / "en" / "ae3b.png", colour)
    model = loaded(tmp_path)
    assert edit(model, "subject-remove_en_ae3b").getpixel((0, 0)) == (255, 0, 0)
    assert edit(model, "subject-replace_en_ae3b").getpixel((0, 0)) == (0, 0, 255)
    with pytest.raises(ModelError, match=r"subject-remove/en/ae3b\.png, fullset/subject-replace"):
        edit(model, "ae3b")


def test_folders_below_do_not_count_where_there_are_pictures(tmp_path: Path) -> None:
    put(tmp_path / "a.png")
    before = ImageFolder.revision(ImageFolder.Parameters(str(tmp_path)))
    (tmp_path / "old").mkdir()
    put(tmp_path / "old" / "b.png")
    assert ImageFolder.revision(ImageFolder.Parameters(str(tmp_path))) == before
    with pytest.raises(ModelError, match="no edit of sample"):
        edit(loaded(tmp_path), "b")
