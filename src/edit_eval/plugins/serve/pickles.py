"""Reads pickles of four trainers safely, without calling any callable they name.

A pickle is a program that names callables and calls them. Here the names that those trainers' clients send map to
inert classes of ours, which only keep their arguments; any other name is refused. What a program allocates, and how
long it runs, is bounded by the opener that reads it (`opening.py`).
"""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

from edit_eval.errors import PictureError

MOST_ITEMS = 100_000
"""Most items of an array of texts."""
LARGEST_KEY = 1 << 31
"""Numbers below it have hashes that differ."""


class RefusedPickle(Exception):
    """A pickle that is refused; the message tells the client why."""


class _Inert:
    def __new__(cls, *arguments: Any, **named: Any) -> _Inert:
        made = super().__new__(cls)
        made.arguments = arguments
        made.state = None
        return made

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Does nothing: `__new__` has kept the arguments."""

    arguments: tuple[Any, ...]
    state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Dtype(_Inert):
    """A NumPy dtype."""

    @property
    def code(self) -> str:
        """Type code without byte order: `U12`, `O`, ..."""
        given = self.arguments[0] if self.arguments else ""
        return given.lstrip("<>=|") if isinstance(given, str) else ""

    @property
    def codec(self) -> str:
        """Encoding of its texts."""
        order = self.state[1] if isinstance(self.state, tuple) and len(self.state) > 1 else "<"
        return "utf-32-be" if order == ">" else "utf-32-le"


class Array(_Inert):
    """A NumPy array of texts or objects."""

    def texts(self) -> list[Any]:
        """Returns the items of a one-dimensional array. Raises `RefusedPickle`."""
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
    """Creates an `Array`. A class, like all of `KNOWN`, since a pickle could set attributes on a function."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        return Array()


class RawPicture(_Inert):
    """A Pillow image, as raw pixels."""

    def file(self, name: str) -> bytes:
        """Returns the image as a PPM or PGM file. Raises `PictureError`."""
        from PIL import Image

        state = self.state
        if not isinstance(state, list | tuple) or len(state) < 5:
            raise PictureError(f"{name}: a picture without pixels")
        mode, size, data = state[1], state[2], state[4]
        bands = {"RGB": 3, "RGBA": 4, "L": 1}.get(mode) if isinstance(mode, str) else None
        shape = isinstance(size, tuple | list) and len(size) == 2 and all(isinstance(side, int) for side in size)
        if bands is None or not shape or not isinstance(data, bytes):
            called = mode[:20] if isinstance(mode, str) else "?"  # nested lists could expand without end
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
"""Names that clients send, with the inert classes that replace them."""


class _Unpickler(pickle._Unpickler):
    """Python's own unpickler, the slow one: in it the keys of dictionaries can be looked at before they are hashed.

    To hash a tuple of two tuples of two tuples ... takes for ever, and so do keys that all have the same hash.
    """

    stack: list[Any]
    dispatch: ClassVar = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        try:
            return KNOWN[module, name]
        except KeyError:
            raise RefusedPickle(f"refused: {module}.{name}"[:200]) from None

    def persistent_load(self, name: Any) -> Any:
        raise RefusedPickle("refused: a persistent id")


def _with_plain_keys(code: bytes, keys: slice) -> None:
    """Has an opcode that puts keys into a dictionary refuse all but texts, bytes and small numbers."""
    load: Any = pickle._Unpickler.dispatch[code[0]]

    def load_checked(unpickler: Any) -> None:
        for key in unpickler.stack[keys]:
            if not (type(key) in (str, bytes) or (type(key) is int and abs(key) < LARGEST_KEY)):
                raise RefusedPickle(f"refused: a dictionary with keys of {type(key).__name__}")
        load(unpickler)

    _Unpickler.dispatch[code[0]] = load_checked


def _refuse_set(unpickler: Any) -> None:
    raise RefusedPickle("refused: a set")


_with_plain_keys(pickle.SETITEM, slice(-2, -1))
_with_plain_keys(pickle.SETITEMS, slice(None, None, 2))
_with_plain_keys(pickle.DICT, slice(None, None, 2))
for _code in (pickle.EMPTY_SET, pickle.FROZENSET, pickle.ADDITEMS):
    _Unpickler.dispatch[_code[0]] = _refuse_set


def read_pickle(data: bytes) -> Any:
    """Reads a pickle: dictionaries, lists, texts, bytes, numbers, and the classes above. Raises `RefusedPickle`."""
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except RefusedPickle:
        raise
    except Exception as error:  # an unpickler raises nearly anything
        raise RefusedPickle(f"refused: not a pickle that can be read ({type(error).__name__})") from error
