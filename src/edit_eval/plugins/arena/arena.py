"""An arena that is there, and an edit model that joins it: `pairs: {stored: RUN}`.

RUN is a run in its folder, or one that was pushed. Its edits are put into the new run, its battles are kept there
(`store.stored`), and the new edit models meet its edits: nothing of what is there is made, or asked, again.
"""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.experiment import Experiment
from edit_eval.files.hub import local_path
from edit_eval.pictures import read_picture, write_png
from edit_eval.plugins.arena.effort import Effort, steps
from edit_eval.protocols.asked import AskedJudge, make_protocol
from edit_eval.protocols.pairwise import Stored
from edit_eval.records import NO_EDIT, Edit, Judgement, Results, Status
from edit_eval.run import Run
from edit_eval.statistics.columns import differences
from edit_eval.statistics.votes import votes_of
from edit_eval.store.comparable import Made, asked_alike, look
from edit_eval.store.lending import Lender, Loan
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import edit_record, is_there
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.standing import is_standing, read_standing
from edit_eval.store.stored import StoredBattles, keep_stored, stored_battles
from edit_eval.text import Text, counted

PAIRS = "pairs"
_KEY = "protocol.pairs.stored"


@dataclass(frozen=True)
class Arena(Loan):
    """An earlier run that new edit models join."""

    name: str
    """As the configuration names it."""
    made: Made
    battles: StoredBattles
    """By the names that judges have in the new run."""
    notes: tuple[Text, ...]
    """What is taken over, and how many battles are asked."""

    def lend(self, directory: RunDirectory, matrix: Matrix) -> str:
        """Puts the edits, and a copy of the battles, into a run; returns a note, empty if all were there already.

        Raises `ConfigurationError` if pictures cannot be had or read.
        """
        keep_stored(directory, self.battles)
        there = {(edit.sample_id, edit.edit_model, edit.edit_seed): edit for edit in self.made.results.edits}
        wanted: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
        for number, edit in enumerate(matrix.edits):
            theirs = there.get((edit.sample_id, edit.edit_model, edit.edit_seed))
            if edit.edit_model not in matrix.experiment.stored or edit.status is Status.OK or theirs is None:
                continue
            if theirs.status is Status.OK:
                wanted[edit.edit_model][edit.sample_id, edit.edit_seed] = number
            elif theirs.status in NO_EDIT and edit.status is not theirs.status:
                ended = replace(edit, status=theirs.status, reason=theirs.reason or edit.reason)
                directory.append("edits", {**edit_record(ended), "reused_from": self.name})
                matrix.set_edit(number, ended)
        taken = self._link(directory, matrix, there, wanted) if isinstance(self.made, Run) else 0
        for model, numbers in wanted.items():
            for (sample, edit_seed), content in self._pictures(model, {*numbers}):
                number = numbers.pop((sample, edit_seed))
                edit = _put(directory, matrix.edits[number], content, self.name)
                directory.append("edits", {**edit_record(edit), "reused_from": self.name})
                matrix.set_edit(number, edit)
                taken += 1
            if numbers:
                (sample, _), *_ = numbers
                raise ConfigurationError(
                    Text("{}: {} has no picture of {}'s edit of sample {}", _KEY, self.name, model, sample)
                )
        directory.sync()
        return Text("{}: {} are taken over", self.name, counted(taken, "edit")) if taken else ""

    def _link(
        self,
        directory: RunDirectory,
        matrix: Matrix,
        there: dict[tuple[str, str, int], Edit],
        wanted: dict[str, dict[tuple[str, int], int]],
    ) -> int:
        """Takes pictures from a run's folder, as far as they are there, out of those `wanted`; returns how many."""
        assert isinstance(self.made, Run)
        taken = 0
        for model, numbers in wanted.items():
            for (sample, edit_seed), number in [*numbers.items()]:
                theirs, mine = there[sample, model, edit_seed], matrix.edits[number]
                if not is_there(theirs, self.made.path):
                    continue
                path = directory.image_path(model, sample, mine.key)
                directory.take_picture(self.made.path / theirs.image, path)
                edit = replace(theirs, key=mine.key, image=os.path.relpath(path, directory.path), made_in="")
                directory.append("edits", {**edit_record(edit), "reused_from": self.name})
                matrix.set_edit(number, edit)
                del numbers[sample, edit_seed]
                taken += 1
        return taken

    def _pictures(self, model: str, wanted: set[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], bytes]]:
        """Yields a pushed model's pictures as files' bytes, each with its sample and edit seed."""
        if isinstance(self.made, Run):
            return
        folder = local_path(self.name, [f"data/{model}/*.parquet"], _KEY) / "data" / model
        try:
            files = parquet_files(str(folder), allow_links=True)  # the hub's cache has nothing else
            for row in ParquetRows(files, ["id", "edit_seed", "repeat", "edit"]).rows():
                which = str(row["id"]), int(row["edit_seed"])
                if which in wanted and not row["repeat"] and row["edit"]:
                    wanted.discard(which)
                    yield which, row["edit"]["bytes"]
        except (ConfigurationError, KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                Text("{}: {} has no pictures of {} that can be read ({})", _KEY, self.name, model, str(error))
            ) from error


def _put(directory: RunDirectory, mine: Edit, content: bytes, name: str) -> Edit:
    """Writes a picture that others sent as our own PNG; returns the edit."""
    try:
        what = f"{name}, {mine.edit_model}, sample {mine.sample_id}"
        picture, _ = read_picture(io.BytesIO(content), what, keep_file=True)
    except PictureError as error:
        raise ConfigurationError(Text("{}: {}", _KEY, str(error))) from error
    file = write_png(picture, directory.image_path(mine.edit_model, mine.sample_id, mine.key))
    return replace(
        mine,
        status=Status.OK,
        reason="",
        image=os.path.relpath(file.path, directory.path),
        pixels=file.pixels,
        width=file.width,
        height=file.height,
        file_bytes=file.bytes,
    )


class ArenaLender(Lender):
    """Puts the edits and battles of an earlier run into one whose edit models join it (`pairs: {stored: RUN}`)."""

    def join(self, experiment: Experiment, configuration: Configuration) -> tuple[Experiment, Arena]:
        """Returns the experiment with the edit models of the run that its judges take battles over from, and that run.

        Raises `ConfigurationError` if the run cannot be read, if its samples or judges are others, and if no edit model
        is new.
        """
        return _joined(experiment, configuration)


def _joined(experiment: Experiment, configuration: Configuration) -> tuple[Experiment, Arena]:
    comparing = [judge for judge in experiment.judges if judge.of_two]
    stored = {judge.name: getattr(judge.protocol, "stored", None) for judge in comparing}
    named = {None if design is None else design.stored for design in stored.values()}
    if len(named) > 1:
        raise ConfigurationError(
            Text("{}: {: and } compare edits, and are not of one stored run; give all of them the same", _KEY, stored)
        )
    (name,) = named
    assert name is not None
    made = _opened(name)
    names = {judge.name: _their_name(experiment, judge, made, name) for judge in comparing}
    joined = _with_columns(experiment, made, name)
    results = made.results
    battles = [
        replace(battle, judge=ours)
        for ours, theirs in names.items()
        for battle in (*results.battles, *results.stored)
        if battle.judge == theirs
    ]
    turn = 1 + max(results.joined.values(), default=0)
    new = dict.fromkeys((model.name for model in experiment.edit_models), turn)
    kept = stored_battles(name, {**results.joined, **new}, battles)
    good = sum(not (sample.fault or sample.follows) for sample in joined.samples)
    judges, notes = (
        [],
        [
            Text(
                "{}: {} and {} are taken over, and not asked again",
                name,
                counted(len(results.edit_models), "edit model"),
                counted(len(battles), "battle"),
            )
        ],
    )
    for judge in experiment.judges:
        given = stored.get(judge.name)
        if given is None:
            judges.append(judge)
            continue
        its = [battle for battle in battles if battle.judge == judge.name]
        resolved, remarks = _resolved(given, judge, its, results, good)
        judges.append(_with_pairs(judge, replace(resolved, digest=kept.digest), configuration.folder))
        notes += remarks
    joined = replace(joined, judges=tuple(judges)).refusing_too_much()
    if joined.control_steps is not None:
        joined = joined.with_as_many_controls_as_show_it()
    return joined, Arena(name, made, kept, tuple(notes))


def _opened(name: str) -> Made:
    if is_standing(name):
        return read_standing(name)
    path = Path(name).expanduser()
    if not (path / "config").is_dir():
        raise ConfigurationError(Text("{}: {} is neither a run nor one that was pushed (`hub:OWNER/NAME`)", _KEY, name))
    return Run(path)


@dataclass(frozen=True)
class _Asking:
    """The new run, as far as it decides what may be compared."""

    experiment: Experiment


def _their_name(experiment: Experiment, judge: AskedJudge, made: Made, name: str) -> str:
    """Returns what the other run calls a judge. Raises `ConfigurationError` if it has none that is asked alike."""
    ours: Any = _Asking(experiment)
    mine = {sample.id: look(sample) for sample in experiment.samples if sample.id not in experiment.beside}
    theirs = {sample.id: look(sample) for sample in made.results.samples}
    if mine != theirs:
        raise ConfigurationError(
            Text(
                "{}: {} has other samples ({} and {} here); edit models join on the same ones, so leave out filters",
                _KEY,
                name,
                len(theirs),
                len(mine),
            )
        )
    wanted = asked_alike(ours, judge)
    there = {
        judge.name: differences(wanted, asked_alike(made, judge)) for judge in made.experiment.judges if judge.of_two
    }
    for other, different in there.items():
        if not different:
            return other
    if not there:
        raise ConfigurationError(Text("{}: {} has no judge that compares two edits", _KEY, name))
    nearest = _nearest(there)
    raise ConfigurationError(
        Text("{}: {} has no judge that is asked as {} is; {} differs in {}", _KEY, name, judge.name, *nearest)
    )


def _nearest(there: dict[str, list[Any]]) -> tuple[str, list[str]]:
    name = min(there, key=lambda judge: len(there[judge]))
    return name, [difference.key for difference in there[name]]


def _with_columns(experiment: Experiment, made: Made, name: str) -> Experiment:
    """Returns the experiment with the other run's edit models behind its own."""
    theirs, makers = made.experiment.edit_models, made.experiment.makers
    if same := next(
        (model for model in experiment.edit_models if experiment.makers[model.name] in makers.values()), None
    ):
        raise ConfigurationError(
            Text(
                "{}: {} has the edit model {} already; leave it out here, its edits are taken over",
                _KEY,
                name,
                same.name,
            )
        )
    names = {model.name for model in theirs}
    if same := next((model for model in experiment.edit_models if model.name in names), None):
        raise ConfigurationError(
            Text("{}: {} has a different edit model named {}; give this one another name", _KEY, name, same.name)
        )
    return replace(
        experiment,
        edit_models=(*experiment.edit_models, *theirs),
        stored={model.name: name for model in theirs},
    )


def _resolved(
    given: Stored, judge: AskedJudge, battles: Sequence[Judgement], results: Results, samples: int
) -> tuple[Stored, list[Text]]:
    """Returns the design with what follows from the other run, and notes on how many battles it takes."""
    models = results.edit_models
    ladder = steps(votes_of(battles, judge.scoring.headline, results.samples), models, samples, len(models))
    if given.interval is not None and given.opponents is not None:
        raise ConfigurationError(Text("protocol.pairs: give `opponents` or `interval`, not both"))
    opponents, notes = given.opponents or len(models), list[Text]()
    if given.interval is not None:
        if not ladder:
            raise ConfigurationError(
                Text("protocol.pairs.interval: {} tells too little to say how many battles it takes", given.stored)
            )
        enough = next((effort for effort in ladder if effort.interval <= given.interval), None)
        opponents = (enough or ladder[-1]).opponents
        if enough is None:
            notes.append(
                Text(
                    "an interval of ±{:g} Elo points takes more samples than there are: all {} give about ±{:.0f}",
                    given.interval,
                    counted(ladder[-1].battles, "battle"),
                    ladder[-1].interval,
                )
            )
    opponents = min(opponents, len(models))
    said = next((effort for effort in ladder if effort.opponents == opponents), None)
    notes.append(_how_many(judge.name, opponents, len(models), opponents * samples, said))
    lacking: dict[str, dict[str, None]] = defaultdict(dict)  # whoever lacks an edit of a sample is not met on it
    for edit in results.edits:
        if edit.status in NO_EDIT:
            lacking[edit.edit_model][edit.sample_id] = None
    without = {name: [*samples] for name, samples in lacking.items()}
    resolved = replace(given, opponents=opponents, interval=None, edit_models=list(models), without=without)
    return resolved, notes


def _how_many(judge: str, opponents: int, models: int, battles: int, said: Effort | None) -> Text:
    if said is None:
        return Text("{}: each new edit meets {} of {}, {}", judge, opponents, models, counted(battles, "battle"))
    return Text(
        "{}: each new edit meets {} of {}, {} for each new edit model, for an interval of about ±{:.0f} Elo points",
        judge,
        opponents,
        models,
        counted(battles, "battle"),
        said.interval,
    )


def _with_pairs(judge: AskedJudge, pairs: Stored, folder: Path) -> AskedJudge:
    parameters = {**judge.section.parameters, PAIRS: vars(pairs)}
    section = judge.section.model_copy(update={"parameters": parameters})
    return replace(judge, section=section, protocol=make_protocol(section, folder, judge.texts)[0])
