"""Pictures as they are sent: encoded once, whoever asks, and no more of them kept than there is room for."""

from __future__ import annotations

import base64
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.pictures import open_picture, pixel_digest, write_png
from edit_eval.plugins.endpoints.in_worker import chat_endpoint
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import DataUrls


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The sizes of the pictures that were encoded."""
    sizes: list[tuple[int, int]] = []
    save = Image.Image.save

    def counted(picture: Image.Image, *where: Any, **how: Any) -> None:
        sizes.append(picture.size)
        save(picture, *where, **how)

    monkeypatch.setattr(Image.Image, "save", counted)
    return sizes


def picture(number: int, side: int = 16) -> Image.Image:
    return Image.new("RGB", (side, side), (number, 40, 60))


def decoded(url: str) -> Image.Image:
    start, _, data = url.partition(",")
    assert start == "data:image/png;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_equal_pictures_are_encoded_once_and_others_are_told_apart(encoded: list[tuple[int, int]]) -> None:
    urls = DataUrls()
    first, again, other = urls.url_of(picture(1)), urls.url_of(picture(1)), urls.url_of(picture(2))
    assert first is again
    assert [decoded(url).getpixel((0, 0)) for url in (first, other)] == [(1, 40, 60), (2, 40, 60)]
    assert len(encoded) == 2


def test_a_read_only_picture_is_known_by_itself_until_somebody_paints_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    monkeypatch.setattr(chat_endpoint, "pixel_digest", lambda image: counted.append(image) or pixel_digest(image))
    urls, shown = DataUrls(), picture(1)
    shown.readonly = 1
    assert urls.url_of(shown) is urls.url_of(shown)
    assert len(counted) == 1
    shown.putpixel((0, 0), (7, 7, 7))
    assert decoded(urls.url_of(shown)).getpixel((0, 0)) == (7, 7, 7)
    again = shown.copy()
    again.readonly = 1
    assert urls.url_of(again) is urls.url_of(shown)
    del again, shown
    counted.clear()
    assert not urls._digests


def test_threads_that_want_the_same_at_the_same_time_have_it_made_once(encoded: list[tuple[int, int]]) -> None:
    urls, together = DataUrls(), threading.Barrier(8)

    def one(_: int) -> str:
        together.wait()
        return urls.url_of(picture(3, 512))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(8)))) == 1
    assert encoded == [(512, 512)]


def test_a_larger_picture_is_scaled_down_and_known_again(encoded: list[tuple[int, int]]) -> None:
    urls = DataUrls(64)
    assert decoded(urls.url_of(picture(1))).size == (8, 8)
    urls.url_of(picture(1))
    assert encoded == [(8, 8)]


def test_the_oldest_are_let_go(monkeypatch: pytest.MonkeyPatch, encoded: list[tuple[int, int]]) -> None:
    urls = DataUrls()
    monkeypatch.setattr(chat_endpoint, "MOST_KEPT", int(2.5 * len(urls.url_of(picture(0)))))
    for number in (1, 0, 2, 0, 1):  # 1 is the oldest when 2 comes
        urls.url_of(picture(number))
    assert len(encoded) == 4


def test_one_that_cannot_be_encoded_fails_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    urls = DataUrls()
    with monkeypatch.context() as broken:
        broken.setattr(chat_endpoint, "png", lambda picture: 1 // 0)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                urls.url_of(picture(1))
    assert decoded(urls.url_of(picture(1))).size == (16, 16)


def written(tmp_path: Path, number: int) -> Image.Image:
    """An edit as a worker opens it."""
    write_png(picture(number), tmp_path / f"{number}.png")
    return open_picture(tmp_path / f"{number}.png", keep_file=True)


def test_an_edit_is_sent_as_its_file_which_has_the_same_bytes(tmp_path: Path, encoded: list[tuple[int, int]]) -> None:
    edit = written(tmp_path, 1)
    encoded.clear()
    sent = DataUrls().url_of(edit)
    assert not encoded
    assert sent == DataUrls().url_of(picture(1))


def test_what_is_not_that_picture_any_more_is_encoded(tmp_path: Path, encoded: list[tuple[int, int]]) -> None:
    painted, copied, large = (written(tmp_path, number) for number in (1, 2, 3))
    encoded.clear()
    painted.putpixel((0, 0), (7, 7, 7))
    urls = DataUrls()
    assert decoded(urls.url_of(painted)).getpixel((0, 0)) == (7, 7, 7)
    assert decoded(urls.url_of(copied.copy())).getpixel((0, 0)) == (2, 40, 60)
    assert decoded(DataUrls(64).url_of(large)).size == (8, 8)
    assert len(encoded) == 3
