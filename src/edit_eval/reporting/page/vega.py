"""Vega, which draws the page's charts, as one script; made once for each version and kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

import altair
import vl_convert

from edit_eval.pictures import write_durably
from edit_eval.user_cache import cache_folder

_BEGIN = "window.vegaEmbed = vegaEmbed; dispatchEvent(new Event('vega'));"
_NO_CACHE = (OSError, ValueError, RuntimeError)
"""What a cache may raise that is not there, is no text, or is in the home of somebody who has none."""


@cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, with the version of Vega-Lite that Altair writes for.

    To bundle them takes more than a second of computing, so the bundle is kept in the user's cache, under the versions
    that decide it. A cache that cannot be read or written, or that is damaged, costs that second and nothing else.
    """
    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    version = wanted if wanted in known else known[-1]
    bundle = _kept(version)
    if bundle is None:
        bundle = vl_convert.javascript_bundle(_BEGIN, vl_version=version)
        _keep(bundle, version)
    return "(() => {\n" + bundle.replace("\r\n", "\n").replace("</script", "<\\/script") + "\n})();"


def _kept(version: str) -> str | None:
    """The bundle that is in the cache, if it is as it was written."""
    try:
        digest, _, bundle = _file(version).read_bytes().decode().partition("\n")
    except _NO_CACHE:
        return None
    return bundle if digest == _digest(bundle) else None


def _keep(bundle: str, version: str) -> None:
    with contextlib.suppress(*_NO_CACHE):
        write_durably(f"{_digest(bundle)}\n{bundle}".encode(), _file(version))


def _file(version: str) -> Path:
    """Named by all that decides the bundle."""
    key = _digest(f"{metadata.version('vl-convert-python')} {version} {_BEGIN}")
    return cache_folder() / "page" / f"vega-lite-{version}-{key[:12]}.js"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
