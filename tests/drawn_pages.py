"""Pages as files: what is compressed in them is unpacked, so that a test sees all that a page says."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

_PACKED = re.compile(r'(<script type="application/zlib" id="data">)([^<]*)(?=</script>)')


def read_page(file: Path) -> str:
    """The text of a page on disk, its data unpacked."""
    return unpack_page(file.read_text("utf-8"))


def read_data(file: Path) -> dict[str, Any]:
    """The data of a page on disk; empty where it has none."""
    found = _PACKED.search(file.read_text("utf-8"))
    return unpack_data(found[2]) if found else {}


def read_file(file: Path) -> bytes:
    """The bytes of any file; of a page, with its data unpacked."""
    return unpack_page(file.read_bytes().decode("latin-1")).encode("latin-1")


def unpack_page(html: str) -> str:
    """The same of a page's text; of another text, nothing is changed. As JSON within a page, the data hold no `<`."""
    return _PACKED.sub(lambda found: f"{found[1]}{_escape(_inflate(found[2]))}", html)


def unpack_data(text: str) -> dict[str, Any]:
    """A page's data, of its element's text."""
    data: dict[str, Any] = json.loads(_inflate(text))
    return data


def _inflate(text: str) -> str:
    return zlib.decompress(base64.b64decode(text, validate=True)).decode()


def _escape(text: str) -> str:
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
