"""Reanalyses others' result files: their number as they compute it, and the number without rows that are no score.

Every file becomes judgements twice, as two judges of the same edits: `COUNTED`, each row's number as in the file,
and `KEPT`, with rows that are no score, or may be none, unscored. All statistics are those of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from edit_eval.benchmarks.plain_files import PlainFiles
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.reanalysis.forms import FORMS, READERS
from edit_eval.plugins.reanalysis.rows import NO_ROW, FileRow, Found
from edit_eval.records import Edit, Judgement, Results, RunProvenance, Sample, Scale, Scoring, Status
from edit_eval.statistics.summary import Summary, summarise
from edit_eval.text import Text

COUNTED = "as counted there"
KEPT = "doubtful rows left out"
SIZES = {
    **{"gedit": 606, "imgedit": 737, "kris": 1267, "wiseedit": 1220, "omnicontext": 400, "picabench": 900},
    **{"risebench": 360, "unireditbench": 2700, "structeditbench": 1714, "msebench": 100},
    **{"i2ebench": 840, "genai-bench": 919, "viescore": 179},
}
"""Number of edits of each benchmark, for GEdit in one language, for I2EBench of the judged dimensions, for GenAI-Bench
and VIEScore those that are edits, for MSE-Bench sessions."""


class DoubtfulCategory(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a category that are no score, or may be none, of all."""

    doubtful: int
    rows: int


class DoubtfulRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of an edit model that are no score, or may be none."""

    edit_model: str
    rows: int
    """All that the file has."""
    doubtful: int
    counted: int
    """Of the doubtful ones, those that count in their mean."""
    reasons: list[str]
    categories: dict[str, DoubtfulCategory]


class Reanalysed(Summary, frozen=True, kw_only=True):
    """What others' scores of single edits come to: as a run's summary, with what is in doubt."""

    form: str
    language: str
    zeros: list[DoubtfulRows]


def reanalyse(paths: Sequence[Path], rows: Path | None = None) -> list[Reanalysed]:
    """Returns a document for each format and language found.

    `rows` is ImgEdit's `basic_edit.json`, if it is not beside its results. Raises `ConfigurationError` for a path
    without results in a known format, and for a file that cannot be read.
    """
    together: dict[tuple[str, str], list[Found]] = {}
    for path in paths:
        if not path.exists():
            raise ConfigurationError(Text("{} does not exist", path))
        files = [path] if path.is_file() else _files(path)
        tables = [table for reader in READERS for table in reader(files, rows)]
        if not tables:
            raise ConfigurationError(Text("{} has no results in a known form; known are those of {}", path, FORMS))
        for table in tables:
            together.setdefault((table.form, table.language), []).append(table)
    return [_document(form, language, several) for (form, language), several in together.items()]


def _files(folder: Path) -> list[Path]:
    """Returns the files of a folder that others may have packed.

    Raises `ConfigurationError` for a link that points outside it.
    """
    plain = PlainFiles(folder)
    files = [file for file in plain.walk() if file.is_file()]
    if outside := next((file for file in files if plain.refusal_reason(file, file.name)), None):
        raise ConfigurationError(Text("{} is a link that points outside {}: put the file there", outside, folder))
    return files


def _document(form: str, language: str, tables: Sequence[Found]) -> Reanalysed:
    names = _distinct([table.edit_model for table in tables])
    samples: dict[str, Sample] = {}
    for row in (row for table in tables for row in table.rows):
        whole = Sample(
            id=row.sample,
            index=len(samples),
            category=row.category,
            pictures={},
            instruction="",
            language=language,
            cluster=row.image or row.sample,
        )
        samples.setdefault(row.sample, whole)
    edits, judgements, zeros = [], [], []
    for name, table in zip(names, tables, strict=True):
        rows = {row.sample: row for row in table.rows}
        for sample in samples.values():
            there = rows.get(sample.id)
            edits.append(
                Edit(
                    key="",
                    sample_id=sample.id,
                    edit_model=name,
                    seed=0,
                    edit_seed=0,
                    status=Status.OK if there else Status.EDIT_FAILED,
                    reason="" if there else NO_ROW,
                    image=there.sample if there else "",
                )
            )
            judgements += [_judgement(sample, name, judge, table, there) for judge in (COUNTED, KEPT)]
        zeros.append(_zeros(name, table))
    scoring = {
        judge: Scoring(protocol=form, headline=next(iter(scales)), scales=scales)
        for judge, scales in ((COUNTED, _widest(tables)), (KEPT, tables[0].scales))
    }
    results = Results(
        name=form,
        directory="",
        samples=tuple(samples.values()),
        edits=tuple(edits),
        judgements=tuple(
            sorted(judgements, key=lambda judgement: (names.index(judgement.edit_model), judgement.judge != COUNTED))
        ),
        edit_models=tuple(names),
        judges=(COUNTED, KEPT),
        scoring=scoring,
        published={(name, COUNTED): table.theirs for name, table in zip(names, tables, strict=True)},
        certificates={COUNTED: {"certified": False, "why": _FROM_FILES}},
        provenance=RunProvenance(
            notes=tuple(
                Text("{}: {}", name, note)
                for name, table in zip(names, tables, strict=True)
                for note in (*table.notes, *_absent(form, table))
            )
        ),
    )
    return Reanalysed(**msgspec.structs.asdict(summarise(results)), form=form, language=language, zeros=zeros)


def _absent(form: str, table: Found) -> list[str]:
    """Returns a note about the benchmark's edits without a row in the file."""
    size = SIZES.get(form.partition(",")[0], 0)
    lacking = size - len(table.rows)
    return [Text("{} of the {} edits are not in the file, and in no number", lacking, size)] if lacking > 0 else []


def _judgement(sample: Sample, edit_model: str, judge: str, table: Found, row: FileRow | None) -> Judgement:
    headline = next(iter(table.scales))
    judged = Judgement(
        sample_id=sample.id,
        category=sample.category,
        edit_model=edit_model,
        judge=judge,
        edit_seed=0,
        repeat=0,
        headline=headline,
        status=Status.EDIT_FAILED,
        reason=NO_ROW,
    )
    if row is None:
        return judged
    if row.scores and not (row.doubt and judge == KEPT):
        return replace(judged, status=Status.OK, reason="", scores=row.scores)
    status = Status.UNDEFINED if row.scores else Status.JUDGE_ERROR
    missing = dict.fromkeys(row.scores or (headline,), (status, row.doubt))
    return replace(judged, status=status, reason=row.doubt, missing=missing)


_FROM_FILES = Text("from the numbers in the files, by the formula of their script")


def _zeros(name: str, table: Found) -> DoubtfulRows:
    """Counts the doubtful rows, in all and by category, and those that count in the mean."""
    headline = next(iter(table.scales))
    doubtful = [row for row in table.rows if row.doubt]
    categories: dict[str, list[int]] = {}
    for row in table.rows:
        counts = categories.setdefault(row.category, [0, 0])
        counts[0] += bool(row.doubt)
        counts[1] += 1
    return DoubtfulRows(
        edit_model=name,
        rows=len(table.rows),
        doubtful=len(doubtful),
        counted=sum(headline in row.scores for row in doubtful),
        reasons=sorted({row.doubt for row in doubtful}),
        categories={name: DoubtfulCategory(doubtful=some, rows=of) for name, (some, of) in categories.items()},
    )


def _widest(tables: Sequence[Found]) -> dict[str, Scale]:
    """Returns scales that hold the numbers of every file."""
    return {
        name: Scale(
            lowest=min(table.counted[name].lowest or 0.0 for table in tables),
            highest=max(table.counted[name].highest or 0.0 for table in tables),
            mean_over=scale.mean_over,
        )
        for name, scale in tables[0].scales.items()
    }


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, 1)]
