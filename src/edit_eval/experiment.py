"""Defines what a run evaluates: samples, edit models, and judges, each with its protocol.

An experiment is made from a configuration, or read back from a run's records. It is written down, compared with
others, and unfolded into cells by the store. Results depend on nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from typing import Protocol as Shape

import msgspec

from edit_eval.benchmarks.selection import (
    in_unicode,
    lint,
    passing,
    refuse_bad,
    refuse_nothing,
    tidied,
    with_predecessors,
)
from edit_eval.config.components import NotHere, called_by, identified, import_class, named, staying_here
from edit_eval.config.families import shared_families
from edit_eval.config.faults import change_words
from edit_eval.config.identity import Identity, ask_classes, digest, identity
from edit_eval.config.schema import Configuration, EvaluationSection, ModelSection, ProtocolSection
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.errors import BenchmarkError, ConfigurationError, EditEvalError
from edit_eval.json_values import JsonObject
from edit_eval.judges.contract import PROBABILITIES, AnswerForm
from edit_eval.protocols.asked import AskedJudge, Light, SampleQuestion, ask, asked_judges, make_protocol, rounds_of
from edit_eval.protocols.contract import Question, fault, is_earlier
from edit_eval.protocols.critiques import columns_of, makers, refuse_unfit_critics, refuse_wordless
from edit_eval.protocols.derived import DerivedScores
from edit_eval.records import Refinement, Sample, no_garbage
from edit_eval.statistics.controls import steps
from edit_eval.text import Text, counted, packed, unpacked
from edit_eval.workers.failures import one_line
from edit_eval.workers.model_class import make_parameters

MOST_CELLS = 5_000_000
"""Limit of cells in a run: all of them are in memory at once, a kilobyte each."""
MOST_COLUMNS = 1_000
"""Most edit models, and most judges, of a run that is read."""
CONTROLS = ("source", "blank", "shuffled")
"""The source itself, a grey picture, another sample's edit; `Experiment.more_controls` has those of packages."""
CONTROLS_BEFORE = 25
"""How many samples had controls before `controls: auto` was the default."""
READ_IN_SILENCE = 1.0
"""Seconds of reading a benchmark before progress is shown."""
UNASKED = "unasked:"
"""Prefix of a sample's tag, before the name of a judge that is not asked about it."""


class Data(NamedTuple):
    """Contents of a benchmark."""

    samples: tuple[Sample, ...]
    about: Mapping[str, str]
    """Description by its class: source, licence, and anything else a reader should know."""
    notes: tuple[str, ...]
    """Oddities of the samples that are no faults."""
    lines: Mapping[int, int] = MappingProxyType({})
    """For bad samples, their line in the benchmark's file by index, where it has lines."""
    sources: Mapping[str, str] = MappingProxyType({})
    """What the benchmark's file calls the source of a sample, by its id, where it has a name."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that decides a run's results."""

    samples: tuple[Sample, ...]
    edit_models: tuple[Identity, ...]
    """Columns of edits: an edit model, or, under another name, one that is told a judge's words."""
    judges: tuple[AskedJudge, ...]
    beside: frozenset[str] = frozenset()
    """Samples that do not pass the filters: they are edited because others follow them. No judge is asked about them,
    and they are in no number."""
    refinements: Mapping[str, Refinement] = field(default_factory=dict)
    """For each column that is told a judge's words, how, by the column's name. A column comes after those it needs."""
    language: str = "en"
    edit_seeds: int = 1
    repeats: int = 1
    readings: int = 1
    control_samples: int = 0
    """Samples with controls, or the most that may have some."""
    control_steps: tuple[int, ...] | None = None
    """After how many samples with controls each judge is looked at, if it is asked about more only until it is shown to
    put them last (`controls: auto`); none of them if that would cost too much. None: about all of them at once."""
    more_controls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of controls beside the usual ones: by name their class paths, and what identifies the classes."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Description by the benchmark's class. Like `notes` for people only: it decides nothing."""
    notes: tuple[str, ...] = ()
    finished: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of each edit model whose edits are there already: the SHA-256 of their bytes, by their samples' ids."""
    lacking: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Why such a model has no edit of a sample."""
    files: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where these edits are at this start, by their SHA-256."""
    there: Mapping[str, Finished] = field(default_factory=dict, compare=False)
    """What such a model's class has found at this start."""

    @classmethod
    def of(cls, configuration: Configuration, data: Data) -> Experiment:
        """Returns the experiment of a configuration, with the benchmark's samples that pass its filters.

        Samples that its protocols cannot ask about become bad ones. Raises `BenchmarkError` naming every bad sample
        (with `on_bad_sample: error`), and `ConfigurationError` for a filter that no sample passes, a protocol that
        cannot be used, and more cells than fit into memory."""
        section, evaluation, folder = configuration.benchmark, configuration.evaluation, configuration.folder
        samples = data.samples
        wanted = passing(samples, **section.filters.model_dump(), source=section.source)
        chosen, names = with_predecessors(samples, wanted), {sample.id for sample in wanted}
        judges = asked_judges(configuration)
        for judge in judges:
            if (refuse := getattr(judge.protocol, "refuse_unknown", None)) is not None:
                refuse(dict.fromkeys(sample.category for sample in samples))
        models = [identity(model, folder, "edit_model") for model in configuration.edit_models.values()]
        _, refinements = columns_of(models, configuration.columns.values())
        refuse_unfit_critics(refinements, judges)
        seen = with_clusters([_with_fault(sample, judges) for sample in chosen])
        if section.on_bad_sample == "error":
            refuse_bad({sample.index: sample for sample in (*samples, *seen)}.values(), section.source, data.lines)
        else:
            refuse_nothing(seen)
        ids = [sample.id for sample in samples]
        asked = SampleNames(ids, data.sources, str(section.parameters.get("data_path", "")))
        there = ask_classes(configuration.edit_models.values(), "edit_model", folder, "finished", asked)
        for name, edits in there.items():
            if edits.lacking and not edits.files:
                why, has = next(iter(edits.lacking.values())), Text("; it has {}", edits.left[:3]) if edits.left else ""
                raise ConfigurationError(Text("{}: {}{}", name, why, has))
        finished = {name: {of: digest for of, (_, digest) in edits.files.items()} for name, edits in there.items()}
        models = [replace(m, revision=digest(finished[m.name])) if m.name in finished else m for m in models]
        columns, _ = columns_of(models, configuration.columns.values())
        called = [column.name for column in columns]
        unasked = ask_classes(configuration.judges.values(), "judge", folder, "unasked", ids, called)
        families = shared_families(configuration.judges.values(), configuration.edit_models.values())
        if refinements and (follower := next((sample for sample in seen if sample.follows), None)):
            raise ConfigurationError(
                Text(
                    "sample {} follows another; such a sample cannot have {: or }",
                    follower.id,
                    [f"`{key}`" for key in configuration.columns],
                )
            )
        made = cls(
            samples=seen,
            beside=frozenset(sample.id for sample in seen) - names,
            edit_models=columns,
            judges=tuple(judges),
            refinements=refinements,
            language=section.language,
            edit_seeds=evaluation.edit_seeds,
            repeats=evaluation.repeats,
            readings=evaluation.readings,
            control_samples=0 if evaluation.controls == "auto" else evaluation.controls,
            more_controls={name: identified("control", name) for name in evaluation.more_controls},
            about=data.about,
            notes=(
                *(Text("{}: {}", name, its.words) for name, its in there.items() if its.lacking or its.left),
                *(*data.notes, *families),
                *(Text("{}: {}", name, said) for name, said in unasked.items() if said),
            ),
            finished=finished,
            lacking={name: {of: str(why) for of, why in edits.lacking.items()} for name, edits in there.items()},
            files={digest: path for edits in there.values() for path, digest in edits.files.values()},
            there=there,
        ).refusing_too_much()
        if evaluation.controls == "auto":
            made = made.with_as_many_controls_as_show_it()
        for model_section in configuration.edit_models.values():
            _refuse_what_it_does_not_do(made, model_section, folder)
        refuse_wordless(refinements, made.asked)
        for judge_section in configuration.judges.values():
            _refuse_probabilities(made, judge_section, folder)
        for judge in (judge for judge in judges if judge.of_two and len(made.edit_models) < 2):
            why = Text("{} compares the edits of two models, and there is one; add another to edit_models", judge.name)
            raise ConfigurationError(why)
        return made

    @classmethod
    def recorded(
        cls,
        plain: Mapping[str, Any],
        samples: Sequence[Sample],
        derived: Callable[[str], DerivedScores] = DerivedScores.unknown,
    ) -> Experiment:
        """Reads an experiment written by `record`. Imports no class but those that are registered, and those that the
        user has named in this process; in place of another's protocol there is what `derived` gives for its judge.

        Raises `KeyError`, `TypeError` or `ValueError` for data that no start has written, and `ConfigurationError` for
        what a registered protocol refuses, and for a kind of subject that is not installed.
        """
        for kind in plain.get("kinds", ()):  # a package's, without which its subjects would be others'
            named("subject", str(kind))
        often = EvaluationSection.model_validate({key: plain[key] for key in ("edit_seeds", "repeats", "readings")})
        if len(plain["edit_models"]) > MOST_COLUMNS or len(plain["judges"]) > MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS} models")
        for role in ("edit_models", "judges"):
            names = [str(model["name"]) for model in plain[role]]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"two {role} are called {twice!r}")
        judges = []
        for plain_judge in plain["judges"]:
            section, texts = ProtocolSection.recorded(plain_judge["protocol"]), {**plain_judge["texts"]}
            flags = {key: bool(plain_judge.get(key)) for key in ("measures", "replays")}  # older runs have none
            model = _identity_of(plain_judge)
            protocol: Any
            try:
                protocol, _ = make_protocol(section, Path(plain_judge["folder"]), texts)
                _ = protocol.scores, protocol.headline  # one that is made of another has found it by now
            except NotHere as error:
                shown = derived(model.name)
                protocol = replace(shown, fault=str(error)) if shown.fault else shown
            reads = tuple(map(str, plain_judge.get("reads", ())))
            judges.append(AskedJudge(model, section, texts, protocol, **flags, reads=reads))
        return cls(
            samples=tuple(samples),
            edit_models=tuple(map(_identity_of, plain["edit_models"])),
            judges=tuple(judges),
            language=str(plain["language"]),
            about=dict(plain.get("benchmark", {}).get("about", {})),
            notes=tuple(unpacked(plain.get("benchmark", {}).get("notes", []))),
            beside=frozenset(map(str, plain.get("beside", ()))),
            # `told` in the file, so that runs of before are resumed
            refinements={name: msgspec.convert(how, Refinement) for name, how in plain.get("told", {}).items()},
            finished=msgspec.convert(plain.get("finished", {}), dict[str, dict[str, str]]),
            lacking=msgspec.convert(plain.get("lacking", {}), dict[str, dict[str, str]]),
            control_steps=None if plain.get("control_steps") is None else tuple(map(int, plain["control_steps"])),
            more_controls=msgspec.convert(plain.get("more_controls", {}), dict[str, tuple[str, str]]),
            edit_seeds=often.edit_seeds,
            repeats=often.repeats,
            readings=often.readings,
            control_samples=int(plain["control_samples"]),
        )

    def record(self, folder: Path) -> JsonObject:
        """Returns the experiment without its samples as plain data, for `recorded`.

        `folder` is where the user's own classes are looked for.
        """
        return {
            "language": self.language,
            "benchmark": {"about": dict(self.about), "notes": packed(self.notes)},
            **{key: getattr(self, key) for key in ("edit_seeds", "repeats", "readings", "control_samples")},
            **({"control_steps": list(self.control_steps)} if self.control_steps is not None else {}),
            **({"more_controls": dict(self.more_controls)} if self.more_controls else {}),
            **({"beside": sorted(self.beside)} if self.beside else {}),
            **({"told": {name: asdict(how) for name, how in self.refinements.items()}} if self.refinements else {}),
            **({"finished": dict(self.finished), "lacking": dict(self.lacking)} if self.finished else {}),
            "edit_models": [asdict(model) for model in self.edit_models],
            "judges": [
                {
                    **asdict(judge.model),
                    "measures": judge.measures,
                    "replays": judge.replays,
                    **({"reads": list(judge.reads)} if judge.reads else {}),
                    "protocol": judge.section.model_dump(mode="json"),
                    "texts": dict(judge.texts),
                    "folder": str(folder),
                }
                for judge in self.judges
            ],
        }

    @property
    def fingerprint(self) -> str:
        """Digest of everything asked, leaving out paths, which may differ between machines."""
        asked = self.record(Path())
        for for_people in ("benchmark", "lacking"):
            asked.pop(for_people, None)
        return digest([asked, [asdict(_anywhere(sample)) for sample in self.samples]])

    # -- controls --

    def with_as_many_controls_as_show_it(self) -> Experiment:
        """Returns the same with controls in steps, by how many questions there are about edits."""
        judges = [judge for judge in self.judges if judge.sees_controls]
        counted = sum(not (sample.fault or sample.id in self.beside) for sample in self.samples)
        often = min(map(self.repeats_of, judges), default=0)
        control_steps = steps(
            len(self.images_for_controls),
            counted * len(self.edit_models) * self.edit_seeds * often,
            len(CONTROLS) + len(self.more_controls),
            len(self.edit_models),
        )
        return replace(self, control_steps=control_steps, control_samples=max(control_steps, default=0))

    @property
    def images_for_controls(self) -> list[int]:
        """Positions of the samples that can have controls, the first one of each source image."""
        first = {
            self.samples[number].cluster or self.samples[number].id: number for number in self.standing_alone[::-1]
        }
        return sorted(first.values())

    @property
    def controls_said(self) -> int | str:
        """How many samples have controls, as a configuration says it."""
        return self.control_samples if self.control_steps is None else "auto"

    def as_recorded(self, before: Experiment | None) -> Experiment:
        """Returns the same, `controls: auto` with the controls of the run that was recorded, if all else is as there:
        a run that was begun with as many as were once the default, or with other steps, goes on with these."""
        if before is None or self.control_steps is None:
            return self
        if before.control_steps is None and before.control_samples != CONTROLS_BEFORE:
            return self
        kept = replace(self, control_samples=before.control_samples, control_steps=before.control_steps)
        return kept if kept.is_as(before) else self

    # -- questions --

    @cached_property
    @no_garbage()
    def asked(self) -> dict[str, list[tuple[SampleQuestion, ...]]]:
        """For each judge, the questions about each sample; none about a bad one, one beside the filters, and one whose
        tags say that it is not asked about it."""
        made: dict[int, list[tuple[SampleQuestion, ...]]] = {}
        equal: dict[str, int] = {}
        by_judge = {}
        tags = {tag for sample in self.samples for tag in sample.tags}
        for judge in self.judges:  # judges of one protocol share its questions
            key = digest([judge.section.model_dump(mode="json", exclude={"retries"}), judge.texts])
            number = equal.setdefault(key, len(equal))
            if number not in made:
                light: Light = {}
                made[number] = [
                    () if sample.id in self.beside else ask(judge.protocol, sample, light) for sample in self.samples
                ]
            by_judge[judge.name] = made[number]
            if (tag := f"{UNASKED}{judge.name}") in tags or not self.samples:  # then it shares its list with no other
                asked = zip(self.samples, made[number], strict=True)
                by_judge[judge.name] = [() if tag in sample.tags else questions for sample, questions in asked]
        return by_judge

    def append(self, sample: Sample) -> None:
        """Adds a sample behind all others, where `samples` is a list that was empty; `store.matrix.Matrix.append` adds
        its edit. Exceptions of a protocol that cannot ask about it pass through."""
        asked = [
            () if f"{UNASKED}{judge.name}" in sample.tags else ask(judge.protocol, sample, self._light)
            for judge in self.judges
        ]
        for judge, questions in zip(self.judges, asked, strict=True):
            self.asked[judge.name].append(questions)
        cast("list[Sample]", self.samples).append(sample)
        vars(self)["shows_earlier"] = self.shows_earlier or _show_earlier(asked)

    @cached_property
    def _light(self) -> Light:
        """Kinds of questions that samples so far were asked, one after the other."""
        return {}

    @property
    def forms(self) -> dict[str, tuple[AnswerForm, ...]]:
        """For each judge, its forms of answers, each form with its labels or schema once."""
        forms = {}
        for name, asked in self.asked.items():
            bare = {
                id(sample_question.question): sample_question.question
                for of_sample in asked
                for sample_question in of_sample
            }  # few, shared by many
            forms[name] = tuple(
                dict.fromkeys(AnswerForm(question.form, question.labels, question.schema) for question in bare.values())
            )
        return forms

    @property
    def questions_a_pair(self) -> dict[str, float]:
        """For each judge, the mean number of questions about an edit, over the good samples; an upper limit if some
        are asked only after an answer."""
        good = sum(not sample.fault for sample in self.samples)
        return {name: sum(map(len, asked)) / good for name, asked in self.asked.items() if good}

    @property
    def may_ask_less(self) -> frozenset[str]:
        """Judges that are asked some questions only after an answer."""
        return frozenset(
            name
            for name, asked in self.asked.items()
            if any(sample_question.question.when for of in asked for sample_question in of)
        )

    def question(self, judge: AskedJudge, sample: int, name: str) -> Question:
        """Returns one question with its texts."""
        questions = judge.protocol.questions(self.samples[sample])
        return next(question for question in questions if question.name == name)

    @cached_property
    def shows_earlier(self) -> bool:
        """True if a judge is shown pictures of earlier turns or rounds."""
        return any(map(_show_earlier, self.asked.values()))

    def first_of(self, position: int) -> Sample:
        """Returns the first sample of the chain that the one at a position belongs to; itself if it follows none."""
        while position in self.predecessors:
            position = self.predecessors[position]
        return self.samples[position]

    def turns_before(self, position: int) -> list[int]:
        """Returns the positions of the samples that come before the one at a position in its chain, the first first."""
        positions: list[int] = []
        while position in self.predecessors:
            position = self.predecessors[position]
            positions.insert(0, position)
        return positions

    @cached_property
    def predecessors(self) -> dict[int, int]:
        """For the position of each good sample that follows another: the other's position."""
        if not any(sample.follows for sample in self.samples):
            return {}
        positions = {sample.id: position for position, sample in enumerate(self.samples)}
        return {
            position: positions[sample.follows]
            for position, sample in enumerate(self.samples)
            if sample.follows in positions and not sample.fault
        }

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each column among the `edit_models`, by its name."""
        return {model.name: place for place, model in enumerate(self.edit_models)}

    def identity_in_key(self, model: Identity, sample: Sample) -> Identity:
        """Returns what the key of an edit has of its edit model: of a finished edit its bytes, and no more."""
        edits = self.finished.get(self.made_with(model.name)) if self.finished else None
        return model if edits is None else Identity(model.name, "finished", edits.get(sample.id, ""))

    def made_with(self, column: str) -> str:
        """Returns the edit model that makes a column's edits, by its name in the configuration."""
        return self.refinements[column].edit_model if column in self.refinements else column

    @cached_property
    def makers(self) -> dict[str, str]:
        """For each column, by its name, a digest of all that makes its edits: columns of two runs with the same one are
        the same, whatever they are called."""
        return makers(self.edit_models, self.refinements, self.judges)

    @property
    def identities(self) -> dict[str, str]:
        """The digest of each model, by its key."""
        models = {f"edit:{model.name}": model.digest for model in self.edit_models}
        return models | {f"judge:{judge.name}": judge.model.digest for judge in self.judges}

    @cached_property
    def critics(self) -> frozenset[str]:
        """Judges whose words edit models are told: their scores are in no number."""
        return frozenset(refinement.judge for refinement in self.refinements.values())

    @cached_property
    def standing_alone(self) -> list[int]:
        """Positions of the good samples that follow no other, and pass the filters."""
        return [
            n
            for n, sample in enumerate(self.samples)
            if not (sample.fault or sample.follows or sample.id in self.beside)
        ]

    def repeats_of(self, judge: AskedJudge) -> int:
        """Returns how often a judge is asked again: a critic once, since edit models are told one answer."""
        return 1 if judge.name in self.critics else self.repeats

    @property
    def judges_of_one(self) -> tuple[AskedJudge, ...]:
        """Judges that score one edit at a time and are not critics."""
        return tuple(judge for judge in self.judges if judge.of_one and judge.name not in self.critics)

    def refusing_too_much(self, most: int = MOST_CELLS) -> Experiment:
        """Returns itself. Raises `ConfigurationError` for more than `most` cells, by default as fit into memory."""
        often = self.repeats * self.readings
        each = len(self.edit_models) * self.edit_seeds * often
        good = sum(not (sample.fault or sample.id in self.beside) for sample in self.samples)
        judged = sum(map(self.repeats_of, (judge for judge in self.judges if judge.of_one)))
        if (least := good * len(self.edit_models) * self.edit_seeds * max(1, judged * self.readings)) > most:
            raise self._too_much(least, most)  # before a question is unfolded: a record may name any numbers
        questions = sum(len(asked) for judge in self.judges if judge.of_one for asked in self.asked[judge.name])
        of_two = sum(
            len(self.asked[judge.name][position]) * self.edit_seeds * sum(map(len, rounds))
            for judge in self.judges
            for position, sample in enumerate(self.samples)
            if judge.of_two and sample.id not in self.beside
            for rounds in [rounds_of(judge.protocol, sample, self.edit_models)]
        )
        if (count := questions * each + of_two * often) > most:
            raise self._too_much(count, most)
        return self

    def _too_much(self, count: int, most: int) -> ConfigurationError:
        return ConfigurationError(
            Text(
                "{:,} samples with all questions, models, seeds, repeats and readings make {:,} "
                "questions to ask; a run has {:,} at most (evaluation.repeats, "
                "evaluation.edit_seeds, benchmark.limit)",
                len(self.samples),
                count,
                most,
            )
        )

    # -- comparison --

    def is_as(self, other: Experiment | None) -> bool:
        """True if it is the same evaluation: all keys would be equal, regardless of where the sources are."""
        if other is None or len(self.samples) != len(other.samples):
            return False
        return self._decides() == other._decides() and all(map(_same_sample, self.samples, other.samples))

    def _decides(self) -> tuple[object, ...]:
        """Returns everything in keys except the samples, and how many there are of each."""
        judges = [
            (judge.model, judge.protocol_name, judge.section.class_path, judge.question_parameters(), judge.texts)
            for judge in self.judges
        ]
        often = (self.edit_seeds, self.repeats, self.readings, self.control_samples, self.control_steps)
        more = (self.refinements, self.beside, self.more_controls)
        return self.edit_models, judges, self.language, often, more

    def differences(self, other: Experiment) -> list[str]:
        """Returns changes for people to the `other`, new one: `edit model a: num_inference_steps 50 -> 15`, ..."""
        changes: list[str] = []
        places = {sample.id: sample.index for sample in self.samples}
        moved = sum(places.get(sample.id, sample.index) != sample.index for sample in other.samples)
        if moved:
            changes.append(
                Text(
                    "{} sample has another place in the benchmark, and so another seed: its edits are made again",
                    moved,
                    plural="{} samples have another place in the benchmark, and so another seed: their edits are made "
                    "again",
                )
            )
        for role, were, are in (
            (Text("edit model"), self.edit_models, other.edit_models),
            (Text("judge"), [judge.model for judge in self.judges], [judge.model for judge in other.judges]),
        ):
            old, new = ({model.name: model for model in models} for models in (were, are))
            if old.keys() != new.keys():
                changes.append(Text("{} {} -> {}", role, old, new))
            for name in old.keys() & new.keys():
                its = _model_changes(
                    old[name], new[name], finished=new[name] in other.edit_models and name in other.finished
                )
                changes += [Text("{} {}: {}", role, name, change) for change in its]
        changes += [
            Text("how {} is told what to do", name)
            for name in sorted(self.refinements.keys() & other.refinements.keys())
            if self.refinements[name] != other.refinements[name]
        ]
        before = {judge.name: judge for judge in self.judges}
        for judge in other.judges:
            if judge.name in before:
                changes += [
                    Text("judge {}: {}", judge.name, change) for change in _protocol_changes(before[judge.name], judge)
                ]
        often = {key: key for key in ("edit_seeds", "repeats", "readings", "language")}
        often["controls"] = "controls_said"
        changes += [
            change_words(said, getattr(self, key), getattr(other, key))
            for said, key in often.items()
            if getattr(self, key) != getattr(other, key)
        ]
        if self.more_controls != other.more_controls:
            changes.append(change_words("more_controls", self.more_controls, other.more_controls))
        if self.language == other.language:
            if len(self.samples) != len(other.samples):
                changes.append(change_words("samples", len(self.samples), len(other.samples)))
            elif not all(map(_same_sample, self.samples, other.samples)):
                changes.append(Text("other samples"))
            elif self.beside != other.beside:
                changes.append(Text("which of the samples count"))
        return changes


# -- from a configuration --


def _refuse_what_it_does_not_do(experiment: Experiment, section: ModelSection, folder: Path) -> None:
    """Raises `ConfigurationError` for an edit model that takes fewer sources than a sample has, and for one that crops
    them if a judge measures outside a mask. Classes that only their own environment can import are not checked."""
    try:
        model_class = import_class("edit_model", section.class_path, folder)
    except NotHere:
        return
    parameters = make_parameters(model_class, section.parameters)
    most = model_class.sources(parameters) if hasattr(model_class, "sources") else None
    for sample in experiment.samples:
        count = sum(name.startswith("source") for name in sample.pictures) + bool(sample.follows)
        if most is not None and count > most and not sample.fault:
            raise ConfigurationError(
                Text(
                    "{} takes {} at most, and sample {} ({}) has {}; leave out the model, "
                    "or such samples (benchmark.filters)",
                    section.name,
                    counted(most, "source"),
                    sample.index,
                    sample.id,
                    count,
                )
            )
    if not (hasattr(model_class, "cuts_source") and model_class.cuts_source(parameters)):
        return
    for judge in experiment.judges:
        asked = (sample_question.question for some in experiment.asked[judge.name] for sample_question in some)
        if judge.measures and any(view.picture == "mask" for question in asked for view in question.shows):
            raise ConfigurationError(
                Text(
                    "{} crops its sources, so what {} measures outside a mask would be of other "
                    "places; leave out one of them",
                    section.name,
                    judge.name,
                )
            )


def _refuse_probabilities(experiment: Experiment, section: ModelSection, folder: Path) -> None:
    """Raises `ConfigurationError` for a judge that needs to give probabilities and whose class cannot. Classes that
    only their own environment can import are not checked; an answer without probabilities counts as none."""
    try:
        judge_class: Any = import_class("judge", section.class_path, folder)
    except NotHere:
        return
    if getattr(judge_class, "probabilities", False) or getattr(judge_class, "replays", False):
        return
    asked = (sample_question.question for some in experiment.asked[section.name] for sample_question in some)
    if any(question.form == PROBABILITIES for question in asked):
        raise ConfigurationError(
            Text(
                "{} cannot give the probabilities of its answers (its class has no `probabilities = "
                "True`); write another `answer` into its `protocol`, or use a judge that can",
                section.name,
            )
        )


class Listener(Shape):
    """Receives progress while the benchmark is read."""

    def reading(self, items: int, read: int, size: int) -> None: ...
    def has_read(self) -> None: ...


@staying_here()
def load_samples(configuration: Configuration, listener: Listener | None = None) -> Data:
    """Reads all samples of the benchmark. Each source image was checked to be whole, or its sample has a fault.

    If that takes long, the `listener` is told the progress.
    """
    benchmark = _benchmark(configuration)
    samples, soon = [], time.monotonic() + READ_IN_SILENCE
    try:
        for sample in benchmark.samples():
            samples.append(in_unicode(sample))
            if listener is not None and time.monotonic() >= soon:
                listener.reading(len(samples), *getattr(benchmark, "position", (0, 0)))
    except EditEvalError:
        raise
    except Exception as error:
        path = configuration.benchmark.class_path
        if path.startswith("edit_eval."):
            raise
        who = called_by("benchmark", path)
        text = Text("{} failed at sample {}: {}; `--debug` shows where", who, len(samples), one_line(error))
        raise BenchmarkError(text) from error
    finally:
        if listener is not None:
            listener.has_read()
    about, said = getattr(benchmark, "about", {}), getattr(benchmark, "notes", ())
    about = {str(key): str(text) for key, text in about.items()} if isinstance(about, Mapping) else {}
    notes = tuple(said) if getattr(benchmark, "unlinted", False) else lint(samples, said)
    lines, sources = (getattr(benchmark, name, {}) for name in ("lines", "source_names"))
    return Data(tuple(map(tidied, samples)), about, notes, lines, sources if isinstance(sources, Mapping) else {})


def verify_sources(configuration: Configuration) -> str:
    """Has the benchmark check the sources that it keeps; returns a line if some differ from the record."""
    verify = getattr(_benchmark(configuration), "verify", None)
    return "" if verify is None else str(verify() or "")


def _benchmark(configuration: Configuration) -> Any:
    section = configuration.benchmark
    benchmark_class = import_class("benchmark", section.class_path, configuration.folder)
    return benchmark_class(make_parameters(benchmark_class, section.parameters))


# -- samples --


def _show_earlier(asked: Sequence[Sequence[SampleQuestion]]) -> bool:
    return any(is_earlier(view.picture) for of in asked for one in of for view in one.question.shows)


def _with_fault(sample: Sample, judges: Sequence[AskedJudge]) -> Sample:
    """Returns the sample, marked bad if a protocol cannot ask about it."""
    faults = () if sample.fault else filter(None, (fault(judge.protocol, sample) for judge in judges))
    return replace(sample, fault=problem) if (problem := next(iter(faults), "")) else sample


def with_clusters(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Returns the samples; those that follow another take its cluster, and its fault."""
    if not any(sample.follows for sample in samples):
        return tuple(samples)
    by_id = {sample.id: sample for sample in samples}

    def first(sample: Sample) -> tuple[str, str]:
        """Returns cluster and fault."""
        seen = {sample.id}
        while sample.follows and not sample.fault:
            before = by_id.get(sample.follows)
            if before is None:
                return "", Text("it follows `{}`, which is not among the selected samples", sample.follows)
            if before.fault:
                return "", Text("it follows `{}`, which cannot be used: {}", before.id, before.fault)
            if before.id in seen:
                return "", Text("it follows `{}`, which follows it", sample.follows)
            seen.add(before.id)
            sample = before
        return sample.cluster, sample.fault

    clustered = []
    for sample in samples:
        if sample.follows:
            cluster, problem = first(sample)
            sample = replace(sample, cluster=sample.cluster or cluster, fault=sample.fault or problem)
        clustered.append(sample)
    return tuple(clustered)


# -- comparison --


def _identity_of(plain: Mapping[str, Any]) -> Identity:
    return Identity(
        str(plain["name"]),
        str(plain["type"]),
        str(plain["revision"]),
        dict(plain["parameters"]),
        int(plain["seed"]),
        str(plain.get("serves", "")),  # older runs have none
    )


def _same_sample(sample: Sample, other: Sample) -> bool:
    """True if the samples are equal, ignoring where their pictures are: digests identify them."""

    return sample == other or _anywhere(sample) == _anywhere(other)


def _anywhere(sample: Sample) -> Sample:
    return replace(sample, pictures={name: replace(picture, path="") for name, picture in sample.pictures.items()})


def _model_changes(old: Identity, new: Identity, *, finished: bool) -> list[str]:
    changes = []
    if old.type != new.type:
        changes.append(change_words("type", old.type, new.type))
    elif old.revision != new.revision:
        changes.append(Text("its edits have changed") if finished else Text("its weights or its code have changed"))
    if old.seed != new.seed:
        changes.append(change_words("seed", old.seed, new.seed))
    return [*changes, *_parameter_changes(old.parameters, new.parameters)]


def _protocol_changes(old: AskedJudge, new: AskedJudge) -> list[str]:
    if old.protocol_name != new.protocol_name:
        return [change_words("protocol", old.protocol_name, new.protocol_name)]
    changes = _parameter_changes(old.question_parameters(), new.question_parameters())
    return [*changes, *([Text("the wording of its questions")] if old.texts != new.texts else [])]


def _parameter_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    keys = dict.fromkeys((*old, *new))
    return [change_words(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]
