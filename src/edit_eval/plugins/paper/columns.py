"""The columns that a table can have: for LaTeX, the terminal and `--columns` alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.paper.document import JudgeTable, PaperRow
from edit_eval.reporting import formats
from edit_eval.reporting.formats import NOTHING
from edit_eval.text import Text


@dataclass(frozen=True)
class PaperColumn:
    """A column: what it shows of a row, in the digits of its judge."""

    key: str
    """Its name in `--columns`."""
    title: Text
    shows: Callable[[JudgeTable, PaperRow], str]
    by_default: bool = True
    is_name: bool = False
    """True for words, which are aligned left."""
    marked: bool = False
    """True for the one that is bold for the best."""


def _interval(table: JudgeTable, row: PaperRow) -> str:
    ci95 = row.placing.ci95
    if ci95 is None or ci95 == (None, None):
        return NOTHING
    low, high = (None if end is None else formats.score(end, table.digits) for end in ci95)
    return f"[{low or '−∞'}, {high or '∞'}]"


def _gap_to_best(table: JudgeTable, row: PaperRow) -> str:
    contest, digits = row.contest, table.digits
    if contest is None or contest.difference is None or contest.kind == "behind":  # then there is no best
        return NOTHING
    by = formats.score(contest.difference, digits)
    return by if contest.ci95 is None else f"{by} {formats.format_interval(contest.ci95, digits)}"


COLUMNS: tuple[PaperColumn, ...] = (
    PaperColumn("model", Text("Model"), lambda table, row: row.placing.name, is_name=True),
    PaperColumn("n", Text("Scored"), lambda table, row: f"{row.placing.scored}/{row.placing.total}"),
    PaperColumn("images", Text("Images"), lambda table, row: str(row.images or NOTHING), by_default=False),
    PaperColumn("score", Text("Score"), lambda table, row: formats.score(row.placing.mean, table.digits), marked=True),
    PaperColumn("interval", Text("95% interval"), _interval),
    PaperColumn("behind", Text("Behind the best"), _gap_to_best),
    PaperColumn("p", Text("p"), lambda table, row: _p(row, "p"), by_default=False),
    PaperColumn("p_adjusted", Text("p adj."), lambda table, row: _p(row, "p_adjusted"), by_default=False),
    PaperColumn("rank", Text("Rank"), lambda table, row: formats.rank(row.placing.rank), by_default=False),
    PaperColumn("failed", Text("Failed"), lambda table, row: f"{row.failed}/{row.tried}"),
)


def _p(row: PaperRow, name: str) -> str:
    return formats.p_value(getattr(row.contest, name, None))


_BY_KEY = {column.key: column for column in COLUMNS}


def choose_columns(words: str | None) -> list[str]:
    """Returns the keys in `model,n,score`; without words those shown by default.

    Raises `ConfigurationError` for a column that there is not, and for one that is named twice.
    """
    if words is None:
        return [column.key for column in COLUMNS if column.by_default]
    keys = [word.strip() for word in words.split(",") if word.strip()]
    for key in keys:
        if key not in _BY_KEY:
            meant = did_you_mean(key, _BY_KEY) or Text("; there are: {}", _BY_KEY)
            raise ConfigurationError(Text("--columns {}: no such column{}", key, meant))
        if keys.count(key) > 1:
            raise ConfigurationError(Text("--columns {}: named twice; leave one out", key))
    if not keys:
        raise ConfigurationError(Text("--columns: names no column; there are: {}", _BY_KEY))
    return keys


def columns_of(keys: Iterable[str], tables: Sequence[JudgeTable]) -> list[PaperColumn]:
    """Returns columns by their keys, those that have nothing to show of any row left out."""
    rows = [(table, row) for table in tables for row in table.rows]
    columns = [_BY_KEY[key] for key in keys]
    return [column for column in columns if any(column.shows(*row) != NOTHING for row in rows)]
