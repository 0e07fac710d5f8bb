"""Checks whether runs are comparable: the same judge, protocol and language, and the same questions on each sample.

The run directory keeps all of this, so only the records are read. Runs need not have the same samples: each pair is
compared on those they share, so a run with `--limit` can be compared with a full one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

from edit_eval.benchmarks.contract import canonical
from edit_eval.config.identity import digest
from edit_eval.config.secret_values import mask_secrets
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.protocols.asked import AskedJudge
from edit_eval.records import Edit, Judgement, Results, RunProvenance, Sample, Status
from edit_eval.statistics.columns import NOT_SET, Difference, ScoreColumn, columns_of, differences, incomparable
from edit_eval.statistics.comparison import Comparison, compare
from edit_eval.statistics.same_pictures import Pixels, pixels_of, same_pictures
from edit_eval.statistics.summary import context_of_run
from edit_eval.statistics.verdict_context import VerdictContext, merge_contexts
from edit_eval.store.examined import Examination
from edit_eval.text import Text, join_texts

NOTES: Mapping[str, Callable[..., Text]] = {
    "left_out": lambda *, run, judge, **_: Text(
        "{}: judge {} is left out: not every run has it with the same parameters", run, judge
    ),
    "compares": lambda *, run, judge, **_: Text(
        "{}: judge {} compares two edits and is left out: `edit-eval leaderboard` ranks several runs by it", run, judge
    ),
    "unfinished": lambda *, run, pending, total, **_: Text(
        "{} is not finished: {} of {} judgements are still to come", run, pending, total
    ),
    "samples": lambda *, sizes, **_: Text(
        "not the same samples ({}): each pair is compared on the samples that both have", sizes
    ),
    "itself": lambda *, run, **_: Text(
        "{} is given more than once: a run that is compared with itself is equal to itself, which says nothing", run
    ),
    "examined": lambda *, judge, line, **_: Text("judge {}: {}", judge, line),
    "examined_in_run": lambda *, judge, run, line, **_: Text("judge {}, in {}: {}", judge, run, line),
    "moved": lambda *, line, **_: line,
    "not_known_to_have_moved": lambda *, line, **_: line,
    "once": lambda *, columns, **_: Text("the same edit model, made alike, so it counts once: {}", columns),
    "repeats": lambda *, sizes, **_: Text(
        "not the same numbers of edit seeds and repeats ({}): a sample's score is the mean over them", sizes
    ),
}
_DIGITS_SHOWN = 12
DESIGN = ("pairs", "rounds", "seed")
"""Parameters of a protocol that decide which edits meet, but not what is asked: strengths do not depend on them."""


class Note(str):
    """A note for the reader, in English; its kind (a key of `NOTES`) and values let it be put in another language."""

    kind: str
    values: dict[str, object]

    def __new__(cls, kind: str, **values: object) -> Note:
        note = super().__new__(cls, str.__str__(NOTES[kind](**values)))
        note.kind, note.values = kind, values
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        return (self.kind,), self.values  # so that it can be copied


class ComparableRun(Protocol):
    """A run: what was asked, and its results."""

    @property
    def experiment(self) -> Experiment: ...
    @property
    def results(self) -> Results: ...
    @property
    def judge_examinations(self) -> Mapping[str, Examination]: ...


def compare_runs(
    runs: Sequence[ComparableRun],
    *,
    score: str | None = None,
    detect: float | None = None,
    margin: float | None = None,
    allow_unscored: float | None = None,
) -> Comparison:
    """Compares every two (run, edit model) by each judge that all runs have.

    Arguments as for `statistics.comparison.compare`; `score` defaults to the headline of each judge. Raises
    `ConfigurationError` for runs that cannot be compared, naming what differs.
    """
    columns, notes = comparable_columns(runs, score)
    return compare(
        columns,
        detect=detect,
        margin=margin,
        allow_unscored=allow_unscored,
        notes=notes,
        known=context_of_runs(runs, battles=score is None),
        guidance=_guidance(columns, runs),
    )


def _guidance(columns: Sequence[ScoreColumn], runs: Sequence[ComparableRun]) -> dict[str, str]:
    """Returns what became of a probe of each column's server: whether it guides. None was sent for the others."""
    of_run, states = {run.results.directory: run for run in runs}, dict[str, str]()
    for column in columns:
        run = of_run[column.run]
        models = run.results.provenance.environment.get("models")
        name = f"edit:{run.experiment.base_model_of(column.edit_model)}"
        about = models.get(name) if isinstance(models, Mapping) else None
        if isinstance(about, Mapping) and about.get("guidance"):
            states[column.name] = str(about["guidance"])
    return states


def context_of_runs(runs: Sequence[ComparableRun], *, battles: bool = False) -> VerdictContext:
    """Returns what is known of all runs, judges under their names in the first; `battles` with those of a single run,
    whose verdict is that of its report."""
    if len(runs) == 1:
        return context_of_run(runs[0].results, battles=battles)
    shared, _ = _find_common_judges(runs, run_names([run.results.directory for run in runs]))
    of_runs = []
    names, every = _column_names(runs), rivals(runs)
    pixels: dict[Rival, tuple[str, Pixels]] = {}
    runs_called = run_names([run.results.directory for run in runs])
    for place, run in enumerate(runs):
        labels = {judges[place]: judges[0] for judges in shared}
        of_run = context_of_run(run.results)
        for model, made in pixels_of(run.results).items():
            pixels.setdefault(every[place][model], (names(runs_called[place], model), made))
        of_runs.append(
            replace(
                of_run,
                sees={labels[judge]: sees for judge, sees in of_run.sees.items() if judge in labels},
                examined={labels[judge]: ended for judge, ended in of_run.examined.items() if judge in labels},
                same_pictures=(),
            )
        )
    return replace(merge_contexts(of_runs), same_pictures=same_pictures(dict(pixels.values())))


Rival = tuple[str, int]
"""What a column is: a digest of what makes its edits, and which of those that one run makes alike."""


def rivals(runs: Sequence[ComparableRun]) -> list[dict[str, Rival]]:
    """Returns for each run what each of its columns is, by its name: the same in two runs is one rival."""
    of_runs = []
    for run in runs:
        seen, here = Counter[str](), dict[str, Rival]()
        for model in run.experiment.edit_models:
            maker = run.experiment.makers[model.name]
            here[model.name] = maker, seen[maker]
            seen[maker] += 1
        of_runs.append(here)
    return of_runs


def comparable_columns(runs: Sequence[ComparableRun], score: str | None = None) -> tuple[list[ScoreColumn], list[str]]:
    """Returns the columns of all runs, under distinct names, and notes for the reader, a line each.

    A column is named after its run and its edit model; in a single run, after the edit model alone, and after the run
    alone if all runs have one edit model. Judges are matched by their parameters, not their names, and keep their name
    in the first run. One that several runs have counts once, by the run with the most scores of it, under its name in
    the first; unless there is no other, so that a run may be compared with itself.
    """
    if not runs:
        raise ConfigurationError(
            Text(
                "a comparison needs two runs or more, or one run with several edit models: `edit-eval compare RUN RUN`"
            )
        )
    names = run_names([run.results.directory for run in runs])
    shared, notes = _find_common_judges(runs, names)
    first = _edit_model(runs[0], runs[0].results.edit_models[0])
    columns: list[ScoreColumn] = []
    called = _name_by_model if len(runs) == 1 else _column_names(runs)
    for place, run in enumerate(runs):
        labels = {judges[place]: judges[0] for judges in shared}
        identities = {judge.name: judge_identity(run, judge) for judge in run.experiment.judges_of_one}
        asked = {
            judge.name: _texts_by_sample(run, judge) for judge in run.experiment.judges_of_one if judge.name in labels
        }
        columns += [
            replace(
                column,
                name=called(names[place], column.edit_model),
                judge=labels[column.judge],
                asked=asked[column.judge],
                differs=tuple(map(_difference_line, _relevant_differences(first, _edit_model(run, column.edit_model)))),
            )
            for column in columns_of(run.results, identities, score=score)
            if column.judge in labels
        ]
    columns, twice = _drop_duplicate_columns(columns, runs)
    notes += [Note("once", columns=names) for names in twice]
    of_judges = [judges[0] for judges in shared]
    columns.sort(key=lambda column: of_judges.index(column.judge))  # stable: the runs stay in their order
    if len(runs) > 1:
        notes += [
            Note("compares", run=name, judge=judge)
            for name, run in zip(names, runs, strict=True)
            for judge in run.results.battle_judges
        ]
    return columns, [*notes, *_notes(runs, names), *_examination_notes(runs, names, shared)]


def _drop_duplicate_columns(
    columns: Sequence[ScoreColumn], runs: Sequence[ComparableRun]
) -> tuple[list[ScoreColumn], list[list[str]]]:
    """Returns each rival's column by each judge once, and the names of those that are one."""
    of_runs = {run.results.directory: of for run, of in zip(runs, rivals(runs), strict=True)}
    by_rival: dict[tuple[str, Rival], list[ScoreColumn]] = {}
    for column in columns:
        by_rival.setdefault((column.judge, of_runs[column.run][column.edit_model]), []).append(column)
    if len({rival for _, rival in by_rival}) < 2:
        return list(columns), []
    once = [replace(max(of, key=lambda column: column.coverage[0]), name=of[0].name) for of in by_rival.values()]
    names = {rival: [column.name for column in of] for (_, rival), of in by_rival.items() if len(of) > 1}
    return once, list(names.values())


def merge_runs(runs: Sequence[ComparableRun]) -> tuple[Results, dict[str, int]]:
    """Merges runs into one for viewing: the samples that all have, every (run, edit model) under its column's name.

    Also returns the place of the run for each name. Judges are those that all runs have, under their names in the
    first. Raises `ConfigurationError` for runs without a judge, or a sample, in common.
    """
    names = run_names([run.results.directory for run in runs])
    shared, notes = _find_common_judges(runs, names)
    first = runs[0].results
    asked = [{sample.id: sample_fingerprint(sample) for sample in run.results.samples} for run in runs]
    samples = tuple(s for s in first.samples if all(of.get(s.id) == sample_fingerprint(s) for of in asked))
    if not samples:
        raise ConfigurationError(Text("the runs have no sample in common; compare runs of the same benchmark"))
    kept = {sample.id for sample in samples}
    edits: list[Edit] = []
    judgements: list[Judgement] = []
    of_run: dict[str, int] = {}
    name_of = _column_names(runs)
    for place, run in enumerate(runs):
        known = {judges[place]: judges[0] for judges in shared}
        called = {model: name_of(names[place], model) for model in run.results.edit_models}
        of_run.update(dict.fromkeys(called.values(), place))
        edits += [replace(e, edit_model=called[e.edit_model]) for e in run.results.edits if e.sample_id in kept]
        judgements += [
            replace(j, edit_model=called[j.edit_model], judge=known[j.judge])
            for j in run.results.judgements
            if j.sample_id in kept and j.judge in known
        ]
    judges = tuple(judge for judge in first.judges if judge in {of[0] for of in shared})
    results = Results(
        name=", ".join(names),
        directory=first.directory,
        samples=samples,
        edits=tuple(edits),
        judgements=tuple(judgements),
        edit_models=tuple(of_run),
        judges=judges,
        scoring={judge: first.scoring[judge] for judge in judges},
        provenance=RunProvenance(about=first.provenance.about, notes=(*notes, *_notes(runs, names))),
    )
    return results, of_run


def sample_fingerprint(sample: Sample) -> tuple[str, str]:
    """Returns what must be equal for edits of a sample to be shown beside each other."""
    return sample.instruction, sample.source_digest


def refuse_other_samples(runs: Sequence[ComparableRun], names: Sequence[str]) -> None:
    """Raises `ConfigurationError` unless all runs, called `names`, have the same samples: a table is of one set."""
    first = {sample.id: sample_fingerprint(sample) for sample in runs[0].results.samples}
    for name, run in zip(names[1:], runs[1:], strict=True):
        other = {sample.id: sample_fingerprint(sample) for sample in run.results.samples}
        if other != first:
            both = sum(first.get(sample_id) == seen for sample_id, seen in other.items())
            raise ConfigurationError(
                Text(
                    "{} and {} have other samples ({} and {}, of which {} are the same): a table is of one set; "
                    "`edit-eval compare` takes what two runs have in common",
                    names[0],
                    name,
                    len(first),
                    len(other),
                    both,
                )
            )


def run_names(directories: Sequence[str]) -> list[str]:
    """Returns for each directory the shortest end of its path that is unique: `b/run` if there is also `a/run`.

    A directory given twice gets a number: `run`, `run (2)`.
    """
    parts = [Path(directory).resolve().parts for directory in directories]
    depths = [1] * len(parts)

    def name(place: int) -> str:
        return Path(*parts[place][-depths[place] :]).as_posix()

    while True:
        sharing: dict[str, set[int]] = {}
        for place in range(len(parts)):
            sharing.setdefault(name(place), set()).add(place)
        longer = [
            place
            for places in sharing.values()
            if len({parts[place] for place in places}) > 1
            for place in places
            if depths[place] < len(parts[place])
        ]
        if not longer:
            break
        for place in longer:
            depths[place] += 1
    names, seen = [], Counter[str]()
    for place in range(len(parts)):
        seen[name(place)] += 1
        count = seen[name(place)]
        names.append(name(place) if count == 1 else f"{name(place)} ({count})")
    return names


def _column_names(runs: Sequence[ComparableRun]) -> Callable[[str, str], str]:
    """Returns what names a column by its run's name and its edit model's: both, or the run alone if all runs have one
    edit model."""
    return _name_by_run if all(len(run.results.edit_models) == 1 for run in runs) else "{}/{}".format


def _name_by_run(run_name: str, edit_model: str) -> str:
    return run_name


def _name_by_model(run_name: str, edit_model: str) -> str:
    return edit_model


# -- what must be equal --


def judge_identity(run: ComparableRun, judge: AskedJudge) -> dict[str, object]:
    """Returns what must be equal for a judge's scores to be comparable: model, protocol and language."""
    of_model = {key: getattr(judge.model, key) for key in ("type", "revision", "parameters")}
    protocol = {"type": judge.protocol_name, **mask_secrets(judge.question_parameters())}
    return {
        "judge": mask_secrets(of_model),
        "protocol": protocol,
        **({} if "language" in protocol else {"language": run.experiment.language}),  # said once
    }


def battle_judge_identity(run: ComparableRun, judge: AskedJudge) -> dict[str, object]:
    """Returns what must be equal of a judge that compares: everything but which edits meet, its wording included."""
    identity = judge_identity(run, judge)
    protocol = identity["protocol"]
    assert isinstance(protocol, dict)
    asked = run.experiment.questions_by_judge[judge.name]
    wordings = {
        sample.id: [(question.question.name, question.digest[:_DIGITS_SHOWN]) for question in of]
        for sample, of in zip(run.experiment.samples, asked, strict=True)
    }
    return {
        **identity,
        "protocol": {key: value for key, value in protocol.items() if key not in DESIGN},
        "wording": digest(sorted(wordings.items())),
    }


def _texts_by_sample(run: ComparableRun, judge: AskedJudge) -> dict[str, dict[str, str]]:
    """Returns for each sample what the edit model and the judge were told; the wording of each question as a
    digest."""
    shown: dict[str, str] = {}
    asked = {}
    for sample, questions in zip(run.experiment.samples, run.experiment.questions_by_judge[judge.name], strict=True):
        texts = {"category": canonical(sample.category), "instruction": sample.instruction}
        for question in questions:
            short = shown.setdefault(question.digest, question.digest[:_DIGITS_SHOWN])
            texts[f"question `{question.question.name}`"] = short
        asked[sample.id] = texts
    return asked


def _find_common_judges(runs: Sequence[ComparableRun], names: Sequence[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Returns the judges that all runs have, each by its name in every run; and a note for each one left out."""
    left = [{judge.name: judge_identity(run, judge) for judge in run.experiment.judges_of_one} for run in runs]
    if nothing := next((name for name, judges in zip(names, left, strict=True) if not judges), ""):
        raise ConfigurationError(
            Text("{}: no judge of it scores single edits; `report` and `votes` have what there is", nothing)
        )
    whole = [dict(judges) for judges in left]
    shared: list[tuple[str, ...]] = []
    for name, identity in whole[0].items():
        equal = [[other for other, that in judges.items() if not differences(identity, that)] for judges in left]
        if all(equal):
            judge_names = tuple(name if name in others else others[0] for others in equal)
            shared.append(judge_names)
            for judges, other in zip(left, judge_names, strict=True):
                del judges[other]
    if not shared:
        raise _no_judge_in_common(whole, names)
    notes: list[str] = [
        Note("left_out", run=run_name, judge=judge)
        for run_name, judges in zip(names, left, strict=True)
        for judge in judges
    ]
    return shared, notes


def _no_judge_in_common(
    judges: Sequence[Mapping[str, Mapping[str, object]]], names: Sequence[str]
) -> ConfigurationError:
    """Returns an error with the differences between the two most similar judges of two runs that share none."""
    for name, others in zip(names[1:], judges[1:], strict=True):
        both = [(identity, other) for identity in judges[0].values() for other in others.values()]
        if all(differences(identity, other) for identity, other in both):
            nearest = min(both, key=lambda two: len(differences(*two)))
            return incomparable(names[0], name, _relevant_differences(*nearest))
    every = join_texts(Text("{} has {}", name, of_run) for name, of_run in zip(names, judges, strict=True))
    return ConfigurationError(Text("the runs have no judge in common: {}; compare fewer of them at once", every))


# -- notes for the reader --


def _examination_notes(
    runs: Sequence[ComparableRun], names: Sequence[str], shared: Sequence[tuple[str, ...]]
) -> list[str]:
    """Returns what is known of each judge (per run, if that differs), and whether it moved between runs."""
    notes: list[str] = []
    for judges in shared:
        examinations = [run.judge_examinations.get(judge) for run, judge in zip(runs, judges, strict=True)]
        documents = [examination.document for examination in examinations if examination is not None]
        if len({document.line for document in documents}) <= 1:
            notes += [
                Note("examined", judge=judges[0], document=document, line=document.line) for document in documents[:1]
            ]
        else:
            notes += [
                Note(
                    "examined_in_run",
                    judge=judges[0],
                    run=name,
                    document=examination.document,
                    line=examination.document.line,
                )
                for name, examination in zip(names, examinations, strict=True)
                if examination is not None
            ]
        notes += _judge_change_notes(judges[0], names, examinations)
    return notes


def _judge_change_notes(judge: str, names: Sequence[str], examinations: Sequence[Examination | None]) -> Iterator[Note]:
    """Yields a note for each run whose judge is another one than the first run's, or may be."""
    first = examinations[0]
    for name, examination in zip(names[1:], examinations[1:], strict=True):
        if first is None or examination is None:
            continue
        if moved := examination.find_change(first, judge, (names[0], name)):
            yield Note("moved" if moved.shown else "not_known_to_have_moved", line=moved.line)


def _notes(runs: Sequence[ComparableRun], names: Sequence[str]) -> list[str]:
    notes: list[str] = []
    for name, run in zip(names, (run.results for run in runs), strict=True):
        pending = sum(judgement.status is Status.PENDING for judgement in run.judgements)
        if pending:
            notes.append(Note("unfinished", run=name, pending=pending, total=len(run.judgements)))
        notes += [Text("{}: {}", name, note) for note in run.provenance.notes]
    given = Counter(Path(run.results.directory).resolve() for run in runs)
    notes += [Note("itself", run=path.name) for path, times in given.items() if times > 1]
    samples = [{sample.id for sample in run.results.samples} for run in runs]
    if any(ids != samples[0] for ids in samples):
        sizes = ", ".join(f"{name} {len(ids)}" for name, ids in zip(names, samples, strict=True))
        notes.append(Note("samples", sizes=sizes))
    asked = [(run.experiment.edit_seeds, run.experiment.repeats) for run in runs]
    if len(set(asked)) > 1:
        sizes = ", ".join(f"{name} {seeds}/{repeats}" for name, (seeds, repeats) in zip(names, asked, strict=True))
        notes.append(Note("repeats", sizes=sizes))
    return notes


def _difference_line(difference: Difference) -> str:
    there = (
        Text("not set there")
        if difference.a == NOT_SET
        else Text("{} there", difference.a)
        if difference.b == NOT_SET
        else Text("not {}", difference.a)
    )
    return Text("{}: {}, {}", difference.key.removeprefix("parameters."), difference.b, there)


def _relevant_differences(a: Mapping[str, object], b: Mapping[str, object]) -> list[Difference]:
    """Returns the differences of two identities; for models of two types, the type only, since the rest follows."""
    every_difference = differences(a, b)
    if not any(difference.key in ("type", "judge.type") for difference in every_difference):
        return every_difference
    return [
        difference
        for difference in every_difference
        if difference.key.removeprefix("judge.").split(".")[0] not in ("revision", "parameters")
    ]


def _edit_model(run: ComparableRun, name: str) -> dict[str, object]:
    model = next(model for model in run.experiment.edit_models if model.name == name)
    shown: dict[str, object] = mask_secrets(
        {key: value for key, value in asdict(model).items() if key not in ("name", "digest")}
    )
    return shown | ({"mask": "given"} if run.experiment.base_model_of(name) in run.experiment.masked else {})
