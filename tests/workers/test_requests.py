"""What a model is handed: the right pictures, shown as asked, each opened once."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.errors import PictureError, UnreadableError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.pictures import GREY, get_kept_file, open_picture, pixel_digest, png, write_png
from edit_eval.workers import requests
from edit_eval.workers.messages import Message
from edit_eval.workers.requests import OpenedPictures, open_edit_request, open_judge_requests, with_own_pictures
from workers.started_worker import request


def written(path: Path, size: tuple[int, int], colour: tuple[int, int, int]) -> Path:
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.fixture
def edit(tmp_path: Path) -> Path:
    return written(tmp_path / "edit.png", (80, 20), (9, 8, 7))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def view(name: str, path: Path, *steps: list[Any], **more: Any) -> Message:
    known = more or {"digest": digest(path)}
    return {"name": name, "path": str(path), **known, "steps": list(steps)}


def opened(*asked: Message) -> JudgeRequest:
    """The one request that shows these views."""
    (judge_request,) = open_judge_requests([{**request(Path("none"), Path("none")), "pictures": list(asked)}])
    assert isinstance(judge_request, JudgeRequest), judge_request
    return judge_request


def test_a_request_has_all_that_was_told_in_order(source: Path, edit: Path) -> None:
    told = {"form": "json", "question": "SC", "seed": 3, "edit_seed": 1, "repeat": 2, "reading": 4}
    (judge_request,) = open_judge_requests([request(source, edit, **told)])
    assert isinstance(judge_request, JudgeRequest)
    assert {name: getattr(judge_request, name) for name in told} == told
    assert (judge_request.sample_id, judge_request.edit_model, judge_request.category) == (
        "edit",
        "painter",
        "physical",
    )
    assert {name: picture.size for name, picture in judge_request.pictures.items()} == {
        "source": (40, 30),
        "edit": (80, 20),
    }
    (turned,) = open_judge_requests([{**request(source, edit), "pictures": request(source, edit)["pictures"][::-1]}])
    assert isinstance(turned, JudgeRequest)
    assert list(turned.pictures) == ["edit", "source"]


def test_a_judge_that_replays_is_shown_nothing() -> None:
    assert opened().pictures == {}


def test_steps_are_applied_and_a_size_may_be_another_pictures(source: Path, edit: Path) -> None:
    like = ["like", {"path": str(source), "digest": digest(source)}]
    shown = opened(
        view("edit", edit, like),
        view("corner", edit, ["crop", 0, 0, 8, 10], ["longest", 5]),
        view("source", source, ["like", {"path": str(edit), "pixels": pixel_digest(Image.open(edit))}]),
    ).pictures
    sizes = {name: picture.size for name, picture in shown.items()}
    assert sizes == {"edit": (40, 30), "corner": (4, 5), "source": (80, 20)}


def test_a_blank_is_grey_in_the_size_of_another(source: Path, edit: Path) -> None:
    blank = {"blank_like": {"path": str(edit), "digest": digest(edit)}}
    shown = opened(
        {"name": "edit", **blank, "steps": []},
        {"name": "part", **blank, "steps": [["crop", 0, 0, 7, 7]]},
        view("source", source, ["like", blank]),
    ).pictures
    assert [picture.size for picture in shown.values()] == [(80, 20), (7, 7), (80, 20)]
    assert shown["edit"].getcolors() == [(1600, GREY)]


def test_a_crop_outside_of_the_picture_is_an_error(source: Path) -> None:
    with pytest.raises(PictureError, match="does not lie within the picture"):
        opened(view("edit", source, ["crop", 0, 0, 41, 30]))


def test_what_several_requests_show_is_opened_once(
    source: Path, edit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = written(tmp_path / "other.png", (30, 30), (1, 1, 1))
    monkeypatch.setattr(requests, "_PICTURES", OpenedPictures())  # it has the shared source, from another test
    seen: Counter[str] = Counter()

    def counted(path: str, **how: Any) -> Image.Image:
        seen[path] += 1
        return open_picture(path, **how)

    monkeypatch.setattr(requests, "open_picture", counted)
    small = [view("source", source, ["longest", 10], digest=""), view("again", source, digest="")]
    judge_requests = open_judge_requests(
        [{**request(source, edit), "pictures": small}, request(source, edit), request(source, other)]
    )
    first, second, third = (
        judge_request.pictures for judge_request in judge_requests if isinstance(judge_request, JudgeRequest)
    )
    assert seen == {str(source): 1, str(edit): 1, str(other): 1}
    assert first["source"].size == (10, 8)
    assert first["again"] is second["source"] is third["source"]
    own = with_own_pictures(judge_requests[1])
    own.pictures["source"].paste((0, 0, 0), (0, 0, 40, 30))
    assert third["source"].getpixel((0, 0)) == (10, 120, 60)


@pytest.mark.parametrize("damage", ["changed", "gone", "cut off"])
def test_an_edit_that_is_not_what_was_reported_is_told_and_the_others_are_shown(
    source: Path, edit: Path, damage: str
) -> None:
    asked = [request(source, edit), request(source, source), request(edit, source)]
    if damage == "gone":
        edit.unlink()
    else:
        data = edit.read_bytes()
        written(edit, (80, 20), (9, 8, 6)) if damage == "changed" else edit.write_bytes(data[:-20])
    asked[2]["pictures"].append({**asked[1]["pictures"][1], "steps": [["like", asked[0]["pictures"][1]]], "name": "x"})
    asked[2]["pictures"].pop(0)
    told, fine, lent = open_judge_requests(asked)
    assert isinstance(told, str)
    assert "edit.png" in told
    assert isinstance(fine, JudgeRequest)
    assert isinstance(lent, str), "its size was another"


def test_a_disk_that_fails_for_a_while_has_damaged_nothing(source: Path, edit: Path) -> None:
    asked = request(source, edit)
    edit.unlink()
    edit.symlink_to(edit)  # "too many levels of symbolic links": there is an answer, and it is no picture
    with pytest.raises(UnreadableError):
        open_judge_requests([asked])


def test_a_source_that_is_another_by_now_is_nobodys_edit(source: Path, edit: Path) -> None:
    with pytest.raises(UnreadableError, match="has changed since the run began"):
        opened(view("source", source, digest="0" * 64), view("edit", edit))


def test_an_edit_request_has_every_source(source: Path, edit: Path) -> None:
    pictures = [{"name": "source", "path": str(source), "digest": ""}, {"name": "source_2", "path": str(edit)}]
    task = {"pictures": pictures, "instruction": "join them", "seed": 5, "sample": "s"}
    edit_request = open_edit_request(task)
    assert [(name, picture.size) for name, picture in edit_request.pictures.items()] == [
        ("source", (40, 30)),
        ("source_2", (80, 20)),
    ]
    assert (edit_request.instruction, edit_request.seed, edit_request.sample_id) == ("join them", 5, "s")
    assert edit_request.source is edit_request.pictures["source"]
    with pytest.raises(UnreadableError, match="differ from those reported"):
        open_edit_request({**task, "pictures": [{**pictures[0], "pixels": "0" * 64}]})


def sent(file: Message, *, decode: bool = False) -> Any:
    """The picture that a judge is handed which passes files on."""
    asked = {**request(Path("none"), Path("none")), "pictures": [{"name": "edit", "steps": [], **file}]}
    (made,) = open_judge_requests([asked], decode=decode)
    return made.pictures["edit"] if isinstance(made, JudgeRequest) else made


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are decoded on opening."""
    names: list[str] = []

    def count(path: str, **how: Any) -> Image.Image:
        names.append(Path(path).name)
        return open_picture(path, **how)

    monkeypatch.setattr(requests, "open_picture", count)
    monkeypatch.setattr(requests, "_PICTURES", OpenedPictures())
    return names


def test_a_file_whose_bytes_prove_its_pixels_is_passed_on_undecoded(tmp_path: Path, decoded: list[str]) -> None:
    made = write_png(Image.linear_gradient("L").convert("RGB"), tmp_path / "edit.png")
    file = {"path": made.path, "pixels": made.pixels, "digest": made.digest}
    picture = sent(file)
    assert (picture.size, png(picture), decoded) == ((256, 256), Path(made.path).read_bytes(), [])
    assert pixel_digest(picture) == made.pixels, "whoever asks for its pixels gets them"
    assert sent({"path": made.path, "digest": made.digest}).size == (256, 256)
    assert decoded == []
    assert (get_kept_file(sent(file, decode=True)) is not None, decoded) == (True, ["edit.png"]), "others need it"


@pytest.mark.parametrize("changed", ["other pixels", "other bytes", "truncated", "rotated", "palette", "gone"])
def test_a_file_with_other_bytes_is_decoded_and_told_by_its_pixels(
    tmp_path: Path, decoded: list[str], changed: str
) -> None:
    right, path = Image.linear_gradient("L").convert("RGB"), tmp_path / "edit.png"
    made = write_png(right, path)
    exif = Image.Exif()
    exif[0x0112] = 6
    if changed == "gone":
        path.unlink()
    elif changed == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    else:
        kinds: dict[str, tuple[Image.Image, dict[str, Any]]] = {
            "other pixels": (right.transpose(Image.Transpose.ROTATE_90), {}),
            "other bytes": (right, {"compress_level": 9}),
            "rotated": (right, {"exif": exif}),
            "palette": (right.quantize(8), {}),
        }
        picture, how = kinds[changed]
        picture.save(path, **how)
    digest_now = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else made.digest
    for digest in dict.fromkeys([made.digest, digest_now]):
        shown = sent({"path": str(path), "pixels": made.pixels, "digest": digest})
        if changed == "other bytes":
            assert pixel_digest(shown) == made.pixels
        elif changed == "other pixels" and digest == digest_now:
            assert shown.size == (256, 256), "these bytes were reported with these pixels"
        else:
            assert isinstance(shown, str), "the edit is not what was reported"


def test_a_file_whose_header_claims_too_much_is_left_to_who_refuses_it(tmp_path: Path, decoded: list[str]) -> None:
    path = tmp_path / "edit.png"
    made = write_png(Image.linear_gradient("L").convert("RGB"), path)
    data = bytearray(path.read_bytes())
    data[16:24] = (1 << 30).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    path.write_bytes(data)
    shown = sent({"path": str(path), "pixels": made.pixels, "digest": digest(path)})
    assert isinstance(shown, str), "the edit is not what was reported"
    assert decoded == ["edit.png"]
