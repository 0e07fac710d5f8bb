"""Ranks the edit models of several runs; runs that may not be compared are refused with a one-line error.

All runs must have the same samples with the same instructions, and the same judges with the same protocol. Scores of
single edits become the columns of a comparison. Battles are fitted together: an edit model in two runs links them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.records import Edit, ExaminedJudge, Judgement, Results
from edit_eval.statistics.battles import JudgeBattles, battles_by_judge
from edit_eval.statistics.columns import differences
from edit_eval.statistics.compared import ColumnSummary
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.families import Correction
from edit_eval.statistics.summary import coverage_of
from edit_eval.statistics.votes import tables_of
from edit_eval.store.comparable import (
    ComparableRun,
    Note,
    Rival,
    battle_judge_identity,
    comparable_columns,
    context_of_runs,
    refuse_other_samples,
    rivals,
    run_names,
)
from edit_eval.text import Text


class Leaderboard(msgspec.Struct, frozen=True, kw_only=True):
    """The edit models of several runs beside each other."""

    schema: int = 1
    runs: list[str]
    samples: int
    columns: list[ColumnSummary]
    """By judges of single edits, with their ranks."""
    family: Correction | None
    """What those ranks are corrected for; None without columns."""
    battles: dict[str, JudgeBattles]
    """From judges that compare: as `battles` in a run's summary, over all runs."""
    passports: dict[str, ExaminedJudge]
    """Each judge's passport, as in a summary's `judges`; per run, if they differ."""
    notes: list[str]

    @property
    def judges(self) -> list[str]:
        """The judges of single edits, in order."""
        return [*dict.fromkeys(column.judge for column in self.columns)]


def leaderboard(runs: Sequence[ComparableRun]) -> Leaderboard:
    """Ranks the edit models of the runs. Raises `ConfigurationError`, naming what differs, if they are incomparable."""
    names = run_names([run.results.directory for run in runs])
    refuse_other_samples(runs, names)
    scoring = [bool(run.experiment.judges_of_one) for run in runs]
    shared, called = _battle_judges(runs), _name_columns(runs, names)
    if any(scoring) and not (shared and not all(scoring)):
        columns, notes = comparable_columns(runs)
        by_run = {run.results.directory: here for run, here in zip(runs, called, strict=True)}
        scored = [replace(column, name=by_run[column.run][column.edit_model]) for column in columns]
        if len(runs) > 1 and len({name for here in called for name in here.values()}) == 1:
            raise ConfigurationError(Text("{: and } have the same edit model alone: there is nothing to rank", names))
        comparison = compare(scored, notes=notes, known=context_of_runs(runs))
    elif shared:
        comparison = None
    else:
        raise ConfigurationError(
            Text(
                "{: and }: their judges compare two edits, and none is the same and asked alike in all of them: other "
                "models, revisions, parameters or protocols",
                names,
            )
        )
    tables = tables_of(runs[0].results.scoring[judges[0]].scales for judges in shared)
    battles = {judges[0]: _fit_battles(runs, names, judges, called, tables) for judges in shared}
    lines = _passports(runs, names, [*(comparison.judges if comparison else ()), *battles])
    own = [note for note in comparison.notes if not _is_said_elsewhere(note)] if comparison else []
    known = [{name for judges in shared for name in judges[place : place + 1]} for place in range(len(runs))]
    own += [
        Text("{}: judge {} compares two edits, and is left out: not every run has it, asked alike", name, judge.name)
        for name, run, kept in zip(names, runs, known, strict=True)
        for judge in run.experiment.judges
        if judge.of_two and judge.name not in kept
    ]
    samples = sum(not sample.fault for sample in runs[0].results.samples)
    return Leaderboard(
        runs=list(names),
        samples=samples,
        columns=list(comparison.columns) if comparison else [],
        family=comparison.correction if comparison else None,
        battles=battles,
        passports=lines,
        notes=own,
    )


def _is_said_elsewhere(note: str) -> bool:
    return isinstance(note, Note) and note.kind in ("examined", "examined_in_run", "once")


def _battle_judges(runs: Sequence[ComparableRun]) -> list[tuple[str, ...]]:
    """Returns the comparing judges that all runs have, each by its name in every run."""
    of_runs = [
        {judge.name: battle_judge_identity(run, judge) for judge in run.experiment.judges if judge.of_two}
        for run in runs
    ]
    shared = []
    for name, identity in of_runs[0].items():
        equal = [[other for other, that in of.items() if not differences(identity, that)] for of in of_runs]
        if all(equal):
            shared.append(tuple(name if name in others else others[0] for others in equal))
    return shared


def _name_columns(runs: Sequence[ComparableRun], names: Sequence[str]) -> list[dict[str, str]]:
    """Returns for each run the name of its columns here. A column that several runs have is one if it was made alike;
    another one of the same name gets its run's name as a prefix."""
    called: dict[Rival, str] = {}
    of_runs: list[dict[str, str]] = []
    for run_name, here in zip(names, rivals(runs), strict=True):
        of_runs.append({})
        for model, rival in here.items():
            free = model if model not in called.values() else f"{run_name}/{model}"
            of_runs[-1][model] = called.setdefault(rival, free)
    return of_runs


def _fit_battles(
    runs: Sequence[ComparableRun],
    names: Sequence[str],
    judges: Sequence[str],
    called: Sequence[Mapping[str, str]],
    tables: int,
) -> JudgeBattles:
    """Fits the battles of all runs by one judge together, one of so many tables."""
    edits: dict[tuple[str, str, int], Edit] = {}
    battles: dict[tuple[object, ...], Judgement] = {}
    for here, run, judge in zip(called, runs, judges, strict=True):
        for edit in run.results.edits:
            renamed = replace(edit, edit_model=here[edit.edit_model])
            edits.setdefault((renamed.sample_id, renamed.edit_model, renamed.edit_seed), renamed)
        for battle in run.results.battles:
            if battle.judge == judge:
                both = here[battle.edit_model], here[battle.other]
                about = battle.sample_id, frozenset(both), battle.edit_seed, battle.repeat
                made = replace(battle, judge=judges[0], edit_model=both[0], other=both[1])
                if about not in battles or not battles[about].scores:  # prefer one with an outcome
                    battles[about] = made
    first = runs[0].results
    looks = max(run.results.scoring[judge].looks for run, judge in zip(runs, judges, strict=True))
    together = Results(
        name=", ".join(names),
        directory=first.directory,
        samples=first.samples,
        edits=tuple(edits.values()),
        judgements=(),
        edit_models=tuple(dict.fromkeys(name for here in called for name in here.values())),
        judges=(),
        scoring={judges[0]: replace(first.scoring[judges[0]], looks=looks)},
        battles=tuple(battles.values()),
        battle_judges=(judges[0],),
        rounds=looks,
    )
    of_judge, scores = battles_by_judge(together, tables=tables)[judges[0]]
    for score in scores.values():
        if len(runs) > 1 and score.strengths[0].no_ci95 == "not_connected":
            raise ConfigurationError(
                Text(
                    "{: and }, by {}: edit models of different runs never met, neither each other nor one that is in "
                    "both: run one edit model in all of them",
                    names,
                    judges[0],
                )
            )
    return JudgeBattles(
        coverage=coverage_of(of_judge),
        scores=scores,
        protocol=together.scoring[judges[0]].protocol,
        as_others_rate={},  # theirs are of one run
    )


def _passports(runs: Sequence[ComparableRun], names: Sequence[str], judges: Sequence[str]) -> dict[str, ExaminedJudge]:
    """Returns each judge's passport, once if it is the same in all runs, otherwise per run."""
    passports: dict[str, ExaminedJudge] = {}
    for judge in judges:
        examined = [(name, run.judge_examinations) for name, run in zip(names, runs, strict=True)]
        known = [(name, examinations[judge]) for name, examinations in examined if judge in examinations]
        of = {name: examination.document for name, examination in known}
        if len({passport.line for passport in of.values()}) == 1:
            passports[judge] = next(iter(of.values()))
        else:
            passports |= {f"{judge} ({name})": passport for name, passport in of.items()}
    return passports
