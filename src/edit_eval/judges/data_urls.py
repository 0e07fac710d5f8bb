"""Pictures as a chat server is shown them: encoded once for all questions about them."""

from __future__ import annotations

import base64
import threading
import weakref
from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from edit_eval.endpoints.client import png, scaled
from edit_eval.pictures import pixel_digest

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_KEPT = 64 * 2**20
"""Characters of data URLs that are kept for further questions: some 30 pairs of 1024 x 1024."""


class DataUrls:
    """Pictures as PNGs in data URLs, nothing that a server would fetch. For any number of threads.

    Those that were sent last are kept by their pixels: to encode a picture takes ten times as long as to know it again,
    and every question about a pair, in every reading, shows the same two.
    """

    def __init__(self, max_pixels: int | None = None) -> None:
        """A picture of a larger area than `max_pixels` is scaled down to it."""
        self._max_pixels = max_pixels
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Future[str]] = OrderedDict()
        self._length = 0
        self._digests: dict[int, tuple[weakref.ref[Image], Any, str]] = {}
        """By the id of a read-only picture: itself, what it held, and its digest."""

    def of(self, picture: Image) -> str:
        """The picture's data URL; a thread that wants one that another is making waits for it."""
        key = self._digest(picture)
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            else:
                mine = self._kept[key] = Future()
        if known is not None:
            return known.result()
        try:
            data = base64.b64encode(png(scaled(picture, self._max_pixels)))
        except BaseException as error:
            with self._lock:
                del self._kept[key]
            mine.set_exception(error)
            raise
        mine.set_result(url := "data:image/png;base64," + data.decode("ascii"))
        with self._lock:
            self._length += len(url)
            while self._length > MOST_KEPT and (oldest := next(iter(self._kept.values()))).done():
                self._length -= len(oldest.result())
                self._kept.popitem(last=False)
        return url

    def _digest(self, picture: Image) -> str:
        """The digest of a picture's pixels. A read-only one is known again by itself: who paints on it, with Pillow,
        makes it another."""
        if not picture.readonly:
            return pixel_digest(picture)
        place = id(picture)
        known = self._digests.get(place)
        if known is not None and known[0]() is picture and known[1] is picture.im:
            return known[2]
        digest = pixel_digest(picture)
        gone = weakref.ref(picture, lambda _: self._digests.pop(place, None))
        self._digests[place] = gone, picture.im, digest
        return digest
