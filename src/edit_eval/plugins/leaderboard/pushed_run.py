"""A run reduced to what a leaderboard needs, in one file of a pushed data set: `standing.json`.

It has the outcome of each edit and each battle, with the identities and digests that decide what may be compared. It
has no pictures, texts, file paths or code: reading a stranger's file executes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from edit_eval.config.identity import Identity, digest
from edit_eval.config.recorded import drop_removed_parameters
from edit_eval.config.secret_values import mask_secrets
from edit_eval.errors import ConfigurationError
from edit_eval.files.addresses import is_address
from edit_eval.files.hub import local_path
from edit_eval.files.user_files import UnfitFile, parse_json, read_bytes
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.records import Edit, Judgement, Picture, Reading, Results, RunProvenance, Sample, Scoring, Status
from edit_eval.store.comparable import ComparableRun
from edit_eval.store.examined import Examination, examiner
from edit_eval.text import Text

FILE = "standing.json"
SCHEMA = 1
MOST_BYTES = 256 << 20
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
"""How many of something a run may have: numbers of a stranger, to count up to."""
DIGITS = 12
"""Digits kept of a question's digest: as many as are ever shown."""


class _Judge(msgspec.Struct):
    """What must be equal of a judge and its questions; shaped like an `AskedJudge`."""

    name: str
    type: str
    revision: str
    parameters: Unchecked
    protocol: str
    asks: Unchecked
    """The protocol's parameters."""
    scoring: Scoring
    of_two: bool = False

    @property
    def model(self) -> Identity:
        return Identity(self.name, self.type, self.revision, self.parameters)

    @property
    def protocol_name(self) -> str:
        return self.protocol

    def question_parameters(self) -> Unchecked:
        return self.asks


class _Sample(msgspec.Struct):
    id: str
    index: int
    category: str
    instruction: str
    cluster: str
    pictures: dict[str, str]
    """Digests."""
    asked: dict[str, dict[str, str]]
    """Digest of each question, by judge and question."""
    bad: bool = False


class _Edit(msgspec.Struct):
    sample: str
    edit_model: str
    edit_seed: int
    seed: int
    status: Status


class PushedRow(msgspec.Struct):
    """A judgement, or a battle (which has `other` and `answers`)."""

    sample: str
    edit_model: str
    judge: str
    edit_seed: int
    repeat: int
    headline: str
    status: Status
    scores: dict[str, float] = {}
    missing: dict[str, Status] = {}
    other: str = ""
    answers: list[dict[str, dict[str, float]]] = []
    """Values of each question, one entry per reading."""


class _File(msgspec.Struct):
    schema: int
    language: str
    edit_seeds: Count
    repeats: Count
    rounds: Count
    edit_models: list[Identity]
    judges: list[_Judge]
    samples: list[_Sample]
    edits: list[_Edit]
    judgements: list[PushedRow]
    battles: list[PushedRow]
    examined: dict[str, Unchecked]
    notes: list[str]
    makers: dict[str, str] = {}
    """For each column a digest of what makes its edits; in files of older versions that of the edit model."""
    masked: list[str] = []
    joined: Unchecked = {}
    """The edit models that joined an earlier run, in files of when they could."""


class _Schema(msgspec.Struct):
    schema: int = 0


class _QuestionName(NamedTuple):
    name: str


class _QuestionDigest(NamedTuple):
    """A question known only by its digest; shaped like a `SampleQuestion`."""

    question: _QuestionName
    digest: str


@dataclass(frozen=True)
class PushedExperiment:
    """The parts of an experiment that decide what may be compared; shaped like an `Experiment`."""

    makers: Mapping[str, str]
    language: str
    edit_seeds: int
    repeats: int
    samples: tuple[Sample, ...]
    edit_models: tuple[Identity, ...]
    judges: tuple[_Judge, ...]
    questions_by_judge: Mapping[str, list[tuple[_QuestionDigest, ...]]]
    masked: tuple[str, ...] = ()
    """The columns whose edit models were given the samples' masks."""

    def base_model_of(self, column: str) -> str:
        """Returns the column: which edit model made it is in its `makers`."""
        return column

    @property
    def judges_of_one(self) -> tuple[_Judge, ...]:
        """Judges that score one edit at a time."""
        return tuple(judge for judge in self.judges if not judge.of_two)


@dataclass(frozen=True)
class PushedRun:
    """A pushed run; shaped like a `Run`, for leaderboards only."""

    experiment: Any
    """A `PushedExperiment`."""
    results: Results
    judge_examinations: Mapping[str, Examination] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """Language of the instructions."""
        return str(self.experiment.language)


def encode_run(run: ComparableRun) -> JsonObject:
    """Returns the file's content as plain data."""
    experiment, results = run.experiment, run.results
    judges = [judge for judge in experiment.judges if judge.name in results.every_judge]
    asked: dict[str, dict[str, dict[str, str]]] = {sample.id: {} for sample in experiment.samples}
    for judge in judges:
        for sample, questions in zip(experiment.samples, experiment.questions_by_judge[judge.name], strict=True):
            asked[sample.id][judge.name] = {question.question.name: question.digest[:DIGITS] for question in questions}
    return {
        "schema": SCHEMA,
        **{key: getattr(experiment, key) for key in ("language", "edit_seeds", "repeats")},
        "rounds": results.rounds,
        "edit_models": [mask_secrets({**asdict(model), "serves": ""}) for model in experiment.edit_models],
        "masked": [name for name in results.edit_models if experiment.base_model_of(name) in experiment.masked],
        "judges": [
            {
                **mask_secrets({key: getattr(judge.model, key) for key in ("name", "type", "revision", "parameters")}),
                "protocol": judge.protocol_name,
                "asks": mask_secrets(judge.question_parameters()),
                "scoring": asdict(results.scoring[judge.name]),
                "of_two": judge.of_two,
            }
            for judge in judges
        ],
        "samples": [
            {
                **{key: getattr(sample, key) for key in ("id", "index", "category", "instruction", "cluster")},
                "pictures": {name: picture.digest for name, picture in sample.pictures.items()},
                "asked": asked[sample.id],
                "bad": bool(sample.fault),
            }
            for sample in results.samples
        ],
        "edits": [
            {
                "sample": edit.sample_id,
                **{key: getattr(edit, key) for key in ("edit_model", "edit_seed", "seed", "status")},
            }
            for edit in results.edits
        ],
        "judgements": [encode_judgement(judgement) for judgement in results.judgements],
        "battles": [encode_judgement(battle) for battle in results.battles],
        "examined": {judge: examination.as_dict() for judge, examination in run.judge_examinations.items()},
        "notes": list(results.provenance.notes),
        "makers": dict(experiment.makers),
    }


def encode_judgement(judgement: Judgement) -> JsonObject:
    """Returns a judgement, or a battle, as plain data."""
    missing = {name: status for name, (status, _) in judgement.missing.items()}
    row: JsonObject = {
        "sample": judgement.sample_id,
        **{
            key: getattr(judgement, key) for key in ("edit_model", "judge", "edit_seed", "repeat", "headline", "status")
        },
        **({"scores": dict(judgement.scores)} if judgement.scores else {}),
        **({"missing": missing} if missing else {}),
    }
    if judgement.other:
        answers = [{name: dict(read.values) for name, read in reading.items()} for reading in judgement.readings]
        row |= {"other": judgement.other, "answers": answers}
    return row


def is_pushed_run(place: str | Path) -> bool:
    """True if `place` names a pushed run: `hub:OWNER/NAME`, or a folder with its files."""
    return is_address(str(place)) or (Path(place) / FILE).is_file()


def read_pushed_run(place: str | Path) -> PushedRun:
    """Reads the run pushed to `place`; downloads one file. Raises `ConfigurationError` if it is not a pushed run."""
    name, again = str(place), "OWNER/NAME"
    folder = local_path(name, [FILE], name)
    if is_address(name):
        name = again = name.removeprefix("hub:").removeprefix("hf://datasets/")
    path = folder / FILE
    try:
        content = read_bytes(path, MOST_BYTES)
        if parse_json(content, _Schema, path).schema != SCHEMA:
            raise ConfigurationError(
                Text(
                    "{}: its {} is of another edit-eval; push the run again: `edit-eval push RUN {}`", name, FILE, again
                )
            )
        return _build_run(parse_json(content, _File, path), name)
    except UnfitFile as error:
        if error.missing:
            raise ConfigurationError(
                Text(
                    "{} has no {}: it is no pushed run, or one of an older edit-eval; push it again: "
                    "`edit-eval push RUN {}`",
                    name,
                    FILE,
                    again,
                )
            ) from None
        raise _damage_error(name, error.reason, again) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise _damage_error(name, problem, again) from error


def _damage_error(name: str, problem: object, again: str) -> ConfigurationError:
    return ConfigurationError(
        Text("{}: its {} is damaged ({}); push the run again: `edit-eval push RUN {}`", name, FILE, problem, again)
    )


def _build_run(file: _File, name: str) -> PushedRun:
    """Builds the run. Raises `ValueError` or `KeyError` for content that no run can have."""
    if file.joined:
        raise ConfigurationError(
            Text(
                "{}: edit models joined an earlier run there (`pairs: {{stored: RUN}}`), which edit-eval no "
                "longer reads; run all edit models in one configuration, and push that run",
                name,
            )
        )
    _refuse_strange_content(file)
    for judge in file.judges:
        judge.asks = drop_removed_parameters(judge.protocol, judge.asks)
    samples = tuple(map(_read_sample, file.samples))
    categories = {sample.id: sample.category for sample in samples}
    scoring = {judge.name: judge.scoring for judge in file.judges}
    judgements, battles = (
        tuple(as_judgement(row, categories, scoring[row.judge]) for row in rows)
        for rows in (file.judgements, file.battles)
    )
    results = Results(
        name=Path(name).name,
        directory=name,
        samples=samples,
        edits=tuple(map(_read_edit, file.edits)),
        judgements=judgements,
        edit_models=tuple(model.name for model in file.edit_models),
        judges=tuple(judge.name for judge in file.judges if not judge.of_two),
        scoring=scoring,
        battles=battles,
        battle_judges=tuple(judge.name for judge in file.judges if judge.of_two),
        rounds=file.rounds,
        provenance=RunProvenance(notes=tuple(file.notes)),
    )
    by = examiner()
    examined = {judge: by.read(kept) for judge, kept in file.examined.items()} if by else {}
    experiment = PushedExperiment(
        language=file.language,
        edit_seeds=file.edit_seeds,
        repeats=file.repeats,
        samples=samples,
        edit_models=tuple(file.edit_models),
        masked=tuple(file.masked),
        judges=tuple(file.judges),
        questions_by_judge={
            judge.name: [_read_questions(sample.asked.get(judge.name, {})) for sample in file.samples]
            for judge in file.judges
        },
        makers={
            model.name: file.makers.get(model.name, digest([model.digest, model.seed])) for model in file.edit_models
        },
    )
    return PushedRun(experiment, results, examined)


def _refuse_strange_content(file: _File) -> None:
    """Raises `ValueError` for names that come twice, open scales, and cells that the run cannot have."""
    _refuse_twice("sample", [sample.id for sample in file.samples])
    _refuse_twice("edit model", [model.name for model in file.edit_models])
    _refuse_twice("judge", [judge.name for judge in file.judges])
    for judge in file.judges:
        if strange := [name for name, scale in judge.scoring.scales.items() if not scale.is_a_range]:
            raise ValueError(f"the scale of {strange[0]} by {judge.name}")
    ids, models = {sample.id for sample in file.samples}, {model.name for model in file.edit_models}
    seeds, repeats = range(file.edit_seeds), range(file.repeats)
    edits = ((edit.sample, edit.edit_model, edit.edit_seed) for edit in file.edits)
    _refuse_other_cells("edits", edits, (ids, models, seeds))
    rows = ((row.sample, row.edit_model, row.edit_seed, row.judge, row.repeat) for row in file.judgements)
    of_one = [judge.name for judge in file.judges if not judge.of_two]
    _refuse_other_cells("judgements", rows, (ids, models, seeds, of_one, repeats))
    for battle in file.battles:
        if {battle.edit_model, battle.other} - models or battle.edit_seed not in seeds:
            raise ValueError(f"a battle of {battle.edit_model} and {battle.other}, seed {battle.edit_seed}")


def _read_sample(sample: _Sample) -> Sample:
    return Sample(
        id=sample.id,
        index=sample.index,
        category=sample.category,
        pictures={name: Picture(path="", digest=digest) for name, digest in sample.pictures.items()},
        instruction=sample.instruction,
        cluster=sample.cluster,
        fault=Text("a bad sample") if sample.bad else "",
    )


def _read_edit(edit: _Edit) -> Edit:
    return Edit(
        key="",
        sample_id=edit.sample,
        edit_model=edit.edit_model,
        seed=edit.seed,
        edit_seed=edit.edit_seed,
        status=edit.status,
        image="-" if edit.status is Status.OK else "",
    )


def _read_questions(asked: Mapping[str, str]) -> tuple[_QuestionDigest, ...]:
    return tuple(_QuestionDigest(_QuestionName(name), known) for name, known in asked.items())


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{what} {twice[0]!r} is there twice")


def _refuse_other_cells(what: str, cells: Iterable[tuple[object, ...]], axes: tuple[Collection[object], ...]) -> None:
    """Raises `ValueError` unless each cell is there exactly once: without the failures, coverage would be wrong."""
    wanted, rows = math.prod(map(len, axes)), [*cells]
    if len({*rows}) != wanted or len(rows) != wanted:
        raise ValueError(f"{len({*rows})} {what}, not {wanted}")
    if any(part not in of for cell in rows for part, of in zip(cell, axes, strict=True)):
        raise ValueError(f"{what} of what the run has not got")


def as_judgement(row: PushedRow, categories: Mapping[str, str], scoring: Scoring) -> Judgement:
    """Reads `judged` back, without words. Raises `ValueError` or `KeyError` for what no run can have."""
    for name, score in row.scores.items():
        if not scoring.scales[name].holds(score):
            raise ValueError(f"{name} of {row.sample} is {score:g}, outside of its scale")
    return Judgement(
        sample_id=row.sample,
        category=categories[row.sample],
        edit_model=row.edit_model,
        judge=row.judge,
        edit_seed=row.edit_seed,
        repeat=row.repeat,
        headline=row.headline,
        status=row.status,
        scores=row.scores,
        missing={name: (status, "") for name, status in row.missing.items()},
        readings=tuple({name: Reading(values=values) for name, values in of.items()} for of in row.answers),
        other=row.other,
    )
