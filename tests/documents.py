"""Documents as a reader of their JSON has them."""

from __future__ import annotations

import json
from typing import Any

from edit_eval.reporting.documents import encode_document


def plain(document: Any) -> Any:
    """Returns a document as what `--json` prints of it is read."""
    return json.loads(encode_document(document))
