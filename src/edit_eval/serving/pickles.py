"""Pickles of four trainers, read without anything of theirs being called.

A pickle is a program: it names callables and has them called. Here the names that those trainers' clients send stand
for inert classes of ours, which keep what they are given and do nothing; any other name is refused. A first pass over
the program sees that nothing in it allocates more than it brings along: the unpickler of CPython makes room for a memo
entry, or a byte array, of any size that it is told, before it looks whether the rest is there.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

from edit_eval.errors import PictureError

MOST_STEPS = 1_000_000
"""Of a program; a request of a thousand pairs has some twenty thousand."""
MOST_ITEMS = 100_000
"""Of an array of texts."""


class RefusedPickle(Exception):
    """A pickle that is not read; the text says why, for the client."""


class _Inert:
    def __new__(cls, *arguments: Any, **named: Any) -> _Inert:
        made = super().__new__(cls)
        made.arguments = arguments
        made.state = None
        return made

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Keeps nothing more."""

    arguments: tuple[Any, ...]
    state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Dtype(_Inert):
    """A NumPy dtype."""

    @property
    def code(self) -> str:
        """`U12`, `O`, ..., without the order of its bytes."""
        given = self.arguments[0] if self.arguments else ""
        return given.lstrip("<>=|") if isinstance(given, str) else ""

    @property
    def codec(self) -> str:
        """How its texts are encoded."""
        order = self.state[1] if isinstance(self.state, tuple) and len(self.state) > 1 else "<"
        return "utf-32-be" if order == ">" else "utf-32-le"


class Array(_Inert):
    """A NumPy array: of texts, or of objects."""

    def texts(self) -> list[Any]:
        """What is in it, of one dimension. Raises `RefusedPickle`."""
        state = self.state
        if len(self.arguments) == 4:  # `_frombuffer`: data, dtype, shape, order
            data, dtype, shape, _ = self.arguments
        elif isinstance(state, tuple) and len(state) == 5:
            _, shape, dtype, _, data = state
        else:
            raise RefusedPickle("an array without its contents")
        if not (isinstance(dtype, Dtype) and isinstance(shape, tuple) and len(shape) == 1):
            raise RefusedPickle("an array that is not one row")
        (count,) = shape
        if not isinstance(count, int) or not 0 <= count <= MOST_ITEMS:
            raise RefusedPickle("an array of too many items")
        if dtype.code[:1] == "O" and isinstance(data, list) and len(data) == count:
            return data
        if dtype.code[:1] == "U" and isinstance(data, bytes | bytearray) and dtype.code[1:].isdigit():
            size = 4 * int(dtype.code[1:])
            if len(data) != size * count:
                raise RefusedPickle("an array of another size than it says")
            cells = (bytes(data[place * size : (place + 1) * size]) for place in range(count))
            try:
                return [cell.decode(dtype.codec).rstrip("\0") for cell in cells]
            except UnicodeDecodeError as error:
                raise RefusedPickle("an array of texts that are none") from error
        raise RefusedPickle(f"an array of {dtype.code or 'nothing'}: only texts are read")


class _Reconstructed(_Inert):
    """What makes an array. A class, as all that a name stands for: to a function a pickle could attach attributes."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        return Array()


class RawPicture(_Inert):
    """A Pillow image: its pixels, as it was in memory."""

    def file(self, name: str) -> bytes:
        """The same as a PPM. Raises `PictureError`."""
        from PIL import Image

        state = self.state
        if not isinstance(state, list | tuple) or len(state) < 5:
            raise PictureError(f"{name}: a picture without pixels")
        mode, size, data = state[1], state[2], state[4]
        bands = {"RGB": 3, "RGBA": 4, "L": 1}.get(mode) if isinstance(mode, str) else None
        shape = isinstance(size, tuple | list) and len(size) == 2 and all(isinstance(one, int) for one in size)
        if bands is None or not shape or not isinstance(data, bytes):
            called = mode[:20] if isinstance(mode, str) else "?"  # a list of lists may have no end
            raise PictureError(f"{name}: a picture of mode {called}, and RGB, RGBA and L are taken")
        width, height = size
        if width < 1 or height < 1 or len(data) != width * height * bands:
            raise PictureError(f"{name}: {len(data)} bytes are no picture of {width} x {height}")
        if mode == "RGBA":
            from edit_eval.pictures import as_rgb

            data = as_rgb(Image.frombytes("RGBA", (width, height), data)).tobytes()
        return b"%s\n%d %d\n255\n%s" % (b"P5" if mode == "L" else b"P6", width, height, data)


KNOWN: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): Dtype,
    **{
        (f"numpy.{core}.{module}", name): stands
        for core in ("core", "_core")
        for module, name, stands in (("multiarray", "_reconstruct", _Reconstructed), ("numeric", "_frombuffer", Array))
    },
    ("PIL.Image", "Image"): RawPicture,
    ("PIL.PngImagePlugin", "PngImageFile"): RawPicture,
    ("PIL.JpegImagePlugin", "JpegImageFile"): RawPicture,
}
"""What clients name -> what stands for it."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return KNOWN[module, name]
        except KeyError:
            raise RefusedPickle(f"refused: {module}.{name}"[:200]) from None

    def persistent_load(self, name: Any) -> Any:
        raise RefusedPickle("refused: a persistent id")


def read_pickle(data: bytes) -> Any:
    """What a pickle holds: dictionaries, lists, texts, bytes, numbers, and the stand-ins above.

    Raises `RefusedPickle`.
    """
    steps = 0
    try:
        for code, argument, _ in pickletools.genops(data):  # raises for what is cut off, and makes no room for it
            steps += 1
            if steps > MOST_STEPS:
                raise RefusedPickle("refused: too long a program")
            if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(str(argument)) > steps:
                raise RefusedPickle("refused: a memo entry that does not come next")
        return _Unpickler(io.BytesIO(data)).load()
    except RefusedPickle:
        raise
    except Exception as error:  # an unpickler raises nearly anything
        raise RefusedPickle(f"refused: not a pickle that can be read ({type(error).__name__})") from error
