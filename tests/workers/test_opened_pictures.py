"""Pictures that several questions show: opened once, for as long as file and picture are what they were."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from edit_eval.errors import UnreadableError
from edit_eval.pictures import pixel_digest
from edit_eval.workers import requests
from edit_eval.workers.requests import File, OpenedPictures

RED, BLUE = (200, 30, 20), (20, 30, 200)


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> OpenedPictures:
    monkeypatch.setattr(requests, "SETTLED", -1.0)  # nobody waits until a file is old
    return OpenedPictures()


def written(path: Path, colour: tuple[int, int, int] = RED, side: int = 16) -> File:
    Image.new("RGB", (side, side), colour).save(path, "BMP")  # the same size, whatever the colour
    return File(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), "")


def test_a_picture_is_known_again(pictures: OpenedPictures, tmp_path: Path) -> None:
    file = written(tmp_path / "a")
    assert pictures.find_unchanged(file) is None
    assert pictures.open(file) is pictures.find_unchanged(file) is pictures.find_unchanged(file)
    assert pictures.find_unchanged(File(file.path, "", "")) is None, "nobody has checked it against this"


def test_a_file_that_was_changed_in_place_is_noticed(pictures: OpenedPictures, tmp_path: Path) -> None:
    file = written(tmp_path / "a")
    pictures.open(file)
    times = os.stat(file.path)
    written(tmp_path / "a", BLUE)
    os.utime(file.path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as if nothing had happened
    assert pictures.find_unchanged(file) is None
    with pytest.raises(UnreadableError, match="has changed since the run began"):
        pictures.open(file)


def test_another_file_in_its_place_and_none_are_noticed(pictures: OpenedPictures, tmp_path: Path) -> None:
    file = written(tmp_path / "a")
    first = pictures.open(file)
    os.replace(written(tmp_path / "b").path, file.path)
    assert pictures.find_unchanged(file) is None
    assert pictures.open(file) is not first
    os.remove(file.path)
    assert pictures.find_unchanged(file) is None


def test_an_edit_is_held_to_its_pixels(pictures: OpenedPictures, tmp_path: Path) -> None:
    path = written(tmp_path / "a").path
    file = File(path, "", pixel_digest(Image.open(path)))
    assert pictures.open(file) is pictures.find_unchanged(file)
    written(tmp_path / "a", BLUE)
    assert pictures.find_unchanged(file) is None
    with pytest.raises(UnreadableError, match="the pixels differ from those reported"):
        pictures.open(file)


def test_who_paints_on_one_does_not_paint_for_the_next(pictures: OpenedPictures, tmp_path: Path) -> None:
    file = written(tmp_path / "a")
    for paint in (
        lambda picture: picture.paste(BLUE, (0, 0, 4, 4)),
        lambda picture: picture.putpixel((0, 0), BLUE),
        lambda picture: ImageDraw.Draw(picture).point((0, 0), BLUE),
    ):
        picture = pictures.open(file)
        paint(picture)
        assert picture.getpixel((0, 0)) == BLUE
        assert pictures.find_unchanged(file) is None


def test_a_file_that_was_written_just_now_is_opened_again(tmp_path: Path) -> None:
    pictures, file = OpenedPictures(), written(tmp_path / "a")
    future = time.time_ns() + 10**10
    os.utime(file.path, ns=(future, future))
    pictures.open(file)
    assert pictures.find_unchanged(file) is None


def test_the_oldest_are_let_go(pictures: OpenedPictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_KEPT", int(2.5 * 16 * 16 * 4))
    files = [written(tmp_path / str(number)) for number in range(3)]
    for file in (files[0], files[1], files[0]):
        assert pictures.find_unchanged(file) or pictures.open(file)
    pictures.open(files[2])
    assert [pictures.find_unchanged(file) is not None for file in files] == [True, False, True]
    pictures.open(written(tmp_path / "large", side=64))
    assert not any(map(pictures.find_unchanged, files)), "one that is too large for all lets everything go"
