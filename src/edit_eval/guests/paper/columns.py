"""The columns that a table can have: for LaTeX, the terminal and `--columns` alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.guests.paper.document import JudgeTable, Row
from edit_eval.reporting import formats
from edit_eval.reporting.formats import NOTHING
from edit_eval.text import Text


@dataclass(frozen=True)
class PaperColumn:
    """A column: what it shows of a row, in the digits of its judge."""

    key: str
    """Its name in `--columns`."""
    title: Text
    shows: Callable[[JudgeTable, Row], str]
    by_default: bool = True
    is_name: bool = False
    """True for words, which are aligned left."""
    marked: bool = False
    """True for the one that is bold for the best."""


def _interval(table: JudgeTable, row: Row) -> str:
    if row.ci95 is None or row.ci95 == (None, None):
        return NOTHING
    low, high = row.ci95
    beyond = "−∞" if low is None else formats.score(low, table.digits), formats.score(high, table.digits)
    return f"[{beyond[0]}, {'∞' if high is None else beyond[1]}]"


def _behind(table: JudgeTable, row: Row) -> str:
    by = formats.score(row.behind, table.digits)
    return by if row.behind_ci95 is None else f"{by} {formats.bracketed(row.behind_ci95, table.digits)}"


COLUMNS: tuple[PaperColumn, ...] = (
    PaperColumn("model", Text("Model"), lambda table, row: row.name, is_name=True),
    PaperColumn("n", Text("Scored"), lambda table, row: f"{row.scored}/{row.total}"),
    PaperColumn("images", Text("Images"), lambda table, row: str(row.images or NOTHING), by_default=False),
    PaperColumn("score", Text("Score"), lambda table, row: formats.score(row.mean, table.digits), marked=True),
    PaperColumn("interval", Text("95% interval"), _interval),
    PaperColumn("behind", Text("Behind the best"), _behind),
    PaperColumn("p", Text("p"), lambda table, row: formats.p_value(row.p), by_default=False),
    PaperColumn("p_adjusted", Text("p adj."), lambda table, row: formats.p_value(row.p_adjusted), by_default=False),
    PaperColumn("rank", Text("Rank"), lambda table, row: formats.rank(row.rank), by_default=False),
    PaperColumn("failed", Text("Failed"), lambda table, row: f"{row.failed}/{row.tried}"),
)
_BY_KEY = {one.key: one for one in COLUMNS}


def chosen(words: str | None) -> list[str]:
    """Returns the keys in `model,n,score`; without words those shown by default.

    Raises `ConfigurationError` for a column that there is not, and for one that is named twice.
    """
    if words is None:
        return [one.key for one in COLUMNS if one.by_default]
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
    """Returns columns by their keys; differences are left out where nobody stands behind another."""
    compared = any(len(table.rows) > 1 for table in tables)
    return [_BY_KEY[key] for key in keys if compared or key not in ("behind", "p", "p_adjusted", "rank")]
