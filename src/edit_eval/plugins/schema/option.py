"""What the schema adds to `init`: a configuration comes with its schema beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edit_eval.verbs.contract import VerbOption


class SchemaBeside(VerbOption):
    """Write the schema that editors use to complete and check the file."""

    @dataclass(frozen=True)
    class Parameters:
        """Whether it is wanted."""

        no_schema: bool = False
        """Do not write the schema that editors use to complete and check the file."""

    def write_files(self, parameters: Parameters, **given: Any) -> Sequence[Path]:
        """Writes it beside the new file, and the line that names it into that."""
        if parameters.no_schema:
            return ()
        from edit_eval.plugins.schema.files import write_config_schema

        return [write_config_schema(given["file"])]
