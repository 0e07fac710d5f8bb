"""Some samples of a run by themselves: those whose scores a reader has saved from the report's gallery."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.spreadsheets import as_meant
from edit_eval.text import Text

COLUMN = "sample_id"


def selected(results: Results, ids: Collection[str]) -> Results:
    """The run with these samples alone: all that is about others, and about the run as a whole, is left out.

    Says in its notes that its numbers are those of a choice. Raises `ConfigurationError` for an id that is not in the
    run, and for none at all.
    """
    known = {sample.id for sample in results.samples}
    for one in ids:
        if one not in known:
            raise ConfigurationError(
                Text("`{}` is not a sample of {}{}", one, results.directory, did_you_mean(one, known))
            )
    if not ids:
        raise ConfigurationError(Text("no sample was named"))
    chosen = set(ids)
    note = Text(
        "{} of {} samples, chosen by hand: these numbers hold for them alone, and are not a result of the benchmark",
        len(chosen),
        len(known),
    )
    return replace(
        results,
        name=f"{results.name} ({len(chosen)}/{len(known)})",
        samples=tuple(sample for sample in results.samples if sample.id in chosen),
        edits=tuple(edit for edit in results.edits if edit.sample_id in chosen),
        judgements=tuple(one for one in results.judgements if one.sample_id in chosen),
        controls=tuple(one for one in results.controls if one.sample_id in chosen),
        battles=tuple(one for one in results.battles if one.sample_id in chosen),
        published={},
        activities=(),
        wall_seconds=(),
        memory=(),
        utilisation=(),
        device_failures=(),
        notes=(note, *results.notes),
    )


def ids_in(file: Path) -> list[str]:
    """The ids in a CSV's column `sample_id`, as the gallery saves it and `scores.csv` has it; each once.

    Raises `ConfigurationError` for a file that cannot be read, or has no such column.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.DictReader(opened)
            if COLUMN not in (rows.fieldnames or ()):
                raise ConfigurationError(
                    Text(
                        "{} has no column `{}`; save the CSV from the report's gallery (Export), or "
                        "write `{}` and then one id per line",
                        file,
                        COLUMN,
                        COLUMN,
                    )
                )
            found = dict.fromkeys(row[COLUMN] for row in rows if row[COLUMN])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(Text("--samples {}: cannot be read ({})", file, why)) from error
    return [as_meant(one) for one in found]
