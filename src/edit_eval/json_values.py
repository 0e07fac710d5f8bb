"""Types of JSON, and of what comes as JSON or YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]  # noqa: UP007 (Python 3.10)
"""A value that JSON has. What we send or write is built as one, so that no Path, set or array gets into it."""
JsonObject = dict[str, Json]
"""An object that we send or write: the body of a request, a document."""
Unchecked = dict[str, Any]
"""A JSON object or YAML mapping as somebody gave it: a configuration's section, a server's answer, a row of a table.

Nothing is known about its values before whoever reads them has checked them.
"""
