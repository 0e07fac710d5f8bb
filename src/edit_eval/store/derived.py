"""What the last start made of the replies of judges whose protocol is no class of edit-eval's own: for readers alone.

derived.jsonl     its first line says who derived what, and when; then a line a judgement

Opening a run imports no class that it names (`config.components`), so a reader without the class cannot read replies.
It shows this, with its date. Nothing here counts as done: a start that goes on with a run does not look at it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.config.components import is_registered, own_source, package_of
from edit_eval.config.identity import digest
from edit_eval.protocols.contract import Missing
from edit_eval.protocols.derived import Address, DerivedBattles, DerivedScores, address
from edit_eval.records import LARGEST, Judgement, Scoring, Status
from edit_eval.store.journal import Damage, read_segment, seal
from edit_eval.store.run_directory import DERIVED, RunDirectory
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text
from edit_eval.workers.model_class import sources_digest


class _Deriver(msgspec.Struct):
    """A judge's protocol, and what is known of it beside its judgements."""

    scoring: Scoring
    classes: dict[str, str]
    """The digest of each class's sources, or the package and version it comes from."""
    of_two: bool
    numbers: dict[str, dict[str, float | str]]
    """What it calls `published`, by edit model."""


class _Head(msgspec.Struct):
    """The first line."""

    at: str
    of: str
    """Digest of all that follows."""
    judges: dict[str, _Deriver]


def keep_derived(directory: RunDirectory, table: JudgementTable, folder: Path) -> None:
    """Writes what readers without the protocols' classes are shown, if it is not there already.

    `folder` is where the user's own classes are looked for. Raises `CannotWrite`.
    """
    experiment = table.experiment
    classes = {judge.name: _classes(judge.section.model_dump(mode="json"), folder) for judge in experiment.judges}
    if not any(classes.values()):
        return
    rows = [each for each in table.rows() if classes[each.judge] and each.status is not Status.PENDING]
    derivers = {}
    for judge in (each for each in experiment.judges if classes[each.name]):
        numbers = {
            model.name: _numbers(judge.protocol, model.name, judge.name, rows) for model in experiment.edit_models
        }
        derivers[judge.name] = _Deriver(judge.scoring, classes[judge.name], judge.of_two, numbers)
    plain = [msgspec.to_builtins(row, enc_hook=_plain_string) for row in rows]
    judges = msgspec.to_builtins(derivers, enc_hook=_plain_string)
    of = digest([judges, plain])
    with suppress(OSError, ValueError):
        if _head(read_segment(directory.path / DERIVED, Damage(), dict)).of == of:
            return
    head = {"at": time.strftime("%Y-%m-%d %H:%M"), "of": of, "judges": judges}
    directory.write_derived(b"".join(map(seal, [head, *plain])))


def _classes(section: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Returns the classes of protocols that are not edit-eval's own in a section, with what identifies each; also those
    that its parameters name, as an audit's do."""
    found: dict[str, str] = {}
    path = section.get("class_path")
    if isinstance(path, str) and path and not (is_registered("protocol", path) and not package_of("protocol", path)):
        found[path] = package_of("protocol", path)
        if not found[path] and (source := own_source(path, folder)):
            with suppress(OSError):  # it has been deleted since it was loaded
                found[path] = sources_digest(source)
    for value in section.values():
        for inner in value.values() if isinstance(value, Mapping) else ():
            found |= _classes(inner, folder) if isinstance(inner, Mapping) else {}
    return found


def _numbers(protocol: Any, model: str, judge: str, rows: Sequence[Judgement]) -> dict[str, float | str]:
    mine = [row for row in rows if (row.edit_model, row.judge) == (model, judge)]
    numbers: dict[str, float | str] = {}
    for name, of in getattr(protocol, "published", {}).items():
        try:
            numbers[name] = float(of(mine))
        except Missing as missing:
            numbers[name] = str(missing.reason)
        except Exception as error:  # a protocol of the user's own
            numbers[name] = f"{type(error).__name__}: {error}"
    return numbers


def read_derived(run: Path, damage: Damage) -> dict[str, DerivedScores]:
    """Returns what the last start derived, by judge. A line that cannot be so is counted in `damage`."""
    file = run / DERIVED
    try:
        lines = read_segment(file, damage, dict)
        head = _head(lines)
    except (OSError, ValueError):
        return {}
    rows: dict[str, dict[Address, Judgement]] = {name: {} for name in head.judges}
    for line in lines:
        if (row := _row(line, head.judges)) is not None:
            rows[row.judge][address(row)] = row
        else:
            damage.lines[str(file)] = damage.lines.get(str(file), 0) + 1
    return {
        name: (DerivedBattles if deriver.of_two else DerivedScores)(
            deriver.scoring, rows[name], deriver.numbers, _note(name, deriver, head.at)
        )
        for name, deriver in head.judges.items()
    }


def _note(judge: str, deriver: _Deriver, at: str) -> str:
    who = [f"{path} ({known_by[:12]})" for path, known_by in deriver.classes.items()]
    return Text("{}: scores as {} derived them on {}; `--code FOLDER` derives them again", judge, who, at)


def _head(lines: Iterator[Mapping[str, Any]]) -> _Head:
    """Returns the first line. Raises `ValueError`."""
    head = msgspec.convert(next(lines, None), _Head)
    for deriver in head.judges.values():
        scales = deriver.scoring.scales
        if deriver.scoring.headline not in scales or not all(scale.is_a_range for scale in scales.values()):
            raise ValueError(scales)
    return head


def _row(line: Mapping[str, Any], known: Mapping[str, _Deriver]) -> Judgement | None:
    """Returns a judgement of one of the judges; None if it is none that a protocol could have made."""
    try:
        row = msgspec.convert(line, Judgement)
        scales = known[row.judge].scoring.scales
        times = (row.seconds, *row.tokens, *row.spread.values())
        right = all(scales[name].holds(score) for name, score in row.scores.items())
        return row if right and all(0 <= value <= LARGEST for value in times) else None
    except (LookupError, ValueError):
        return None


def _plain_string(value: object) -> str:
    return str.__str__(str(value))  # `str` of a `Text` is a `Text` again
