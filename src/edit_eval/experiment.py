"""Defines what a run evaluates: samples, edit models, and judges, each with its protocol.

An experiment is made from a configuration, or read back from a run's records. It is written down, compared with
others, and unfolded into cells by the store. Results depend on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import msgspec

from edit_eval.config.components import NotHere, import_registered
from edit_eval.config.identity import Identity, digest
from edit_eval.config.recorded import EvaluationSection, ProtocolSection
from edit_eval.edit_models.contract import Finished
from edit_eval.json_values import JsonObject
from edit_eval.judges.contract import AnswerForm
from edit_eval.protocols.asked import AskedJudge, Light, SampleQuestion, ask, make_protocol
from edit_eval.protocols.contract import Question, is_earlier
from edit_eval.protocols.critiques import makers
from edit_eval.protocols.derived import DerivedScores
from edit_eval.records import Picture, Refinement, Sample, no_garbage
from edit_eval.statistics.control_counts import count_cheap_controls
from edit_eval.text import text_from_json, text_to_json

MOST_COLUMNS = 1_000
"""Most edit models, and most judges, of a run that is read."""
CONTROLS = ("source", "blank", "shuffled")
"""The source itself, a grey picture, another sample's edit; `Experiment.more_controls` has those of packages."""
UNASKED = "unasked:"
"""Prefix of a sample's tag, before the name of a judge that is not asked about it."""


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
    """Samples with controls."""
    automatic_controls: bool = False
    """True if that is as many as are cheap, one of each source image (`controls: auto`)."""
    more_controls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of controls beside the usual ones: by name their class paths, and what identifies the classes."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Description by the benchmark's class. Like `notes` for people only: it decides nothing."""
    notes: tuple[str, ...] = ()
    finished: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of each edit model whose edits are there already: the SHA-256 of their bytes, by their samples' ids."""
    lacking: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Why such a model has no edit of a sample."""
    masked: tuple[str, ...] = ()
    """Edit models that are given their samples' masks, by their names in the configuration."""
    files: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where these edits are at this start, by their SHA-256."""
    there: Mapping[str, Finished] = field(default_factory=dict, compare=False)
    """What such a model's class has found at this start."""

    @classmethod
    def from_record(
        cls,
        plain: Mapping[str, Any],
        samples: Sequence[Sample],
        derived: Callable[[str], DerivedScores] = DerivedScores.unknown,
    ) -> Experiment:
        """Reads an experiment written by `to_record`.

        Imports no class but those that are registered, and those that the user has named in this process; in place of
        another's protocol there is what `derived` gives for its judge.

        Raises `KeyError`, `TypeError` or `ValueError` for data that no start has written, and `ConfigurationError` for
        what a registered protocol refuses, and for a kind of subject that is not installed.
        """
        for kind in plain.get("kinds", ()):  # a package's, without which its subjects would be others'
            import_registered("subject", str(kind))
        steps = plain.get(
            "control_steps"
        )  # earlier ones went on from step to step: all judges have the first in common
        often = EvaluationSection.model_validate({key: plain[key] for key in ("edit_seeds", "repeats", "readings")})
        if len(plain["edit_models"]) > MOST_COLUMNS or len(plain["judges"]) > MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS} models")
        for role in ("edit_models", "judges"):
            names = [str(model["name"]) for model in plain[role]]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"two {role} are called {twice!r}")
        judges = []
        for plain_judge in plain["judges"]:
            section, texts = ProtocolSection.from_recorded(plain_judge["protocol"]), {**plain_judge["texts"]}
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
            notes=tuple(text_from_json(plain.get("benchmark", {}).get("notes", []))),
            beside=frozenset(map(str, plain.get("beside", ()))),
            # `told` in the file, so that runs of before are resumed
            refinements={name: msgspec.convert(how, Refinement) for name, how in plain.get("told", {}).items()},
            finished=msgspec.convert(plain.get("finished", {}), dict[str, dict[str, str]]),
            lacking=msgspec.convert(plain.get("lacking", {}), dict[str, dict[str, str]]),
            masked=tuple(map(str, plain.get("masked", ()))),
            automatic_controls=steps is not None,
            more_controls=msgspec.convert(plain.get("more_controls", {}), dict[str, tuple[str, str]]),
            edit_seeds=often.edit_seeds,
            repeats=often.repeats,
            readings=often.readings,
            control_samples=int(plain["control_samples"] if steps is None else (*steps, 0)[0]),
        )

    def to_record(self, folder: Path) -> JsonObject:
        """Returns the experiment without its samples as plain data, for `from_record`.

        `folder` is where the user's own classes are looked for.
        """
        return {
            "language": self.language,
            "benchmark": {"about": dict(self.about), "notes": text_to_json(self.notes)},
            **{key: getattr(self, key) for key in ("edit_seeds", "repeats", "readings", "control_samples")},
            **({"control_steps": [self.control_samples]} if self.automatic_controls else {}),
            **({"more_controls": dict(self.more_controls)} if self.more_controls else {}),
            **({"beside": sorted(self.beside)} if self.beside else {}),
            **({"told": {name: asdict(how) for name, how in self.refinements.items()}} if self.refinements else {}),
            **({"finished": dict(self.finished), "lacking": dict(self.lacking)} if self.finished else {}),
            **({"masked": list(self.masked)} if self.masked else {}),
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
        asked = self.to_record(Path())
        for for_people in ("benchmark", "lacking"):
            asked.pop(for_people, None)
        return digest([asked, [asdict(_drop_paths(sample)) for sample in self.samples]])

    # -- controls --

    def with_cheap_controls(self) -> Experiment:
        """Returns the same with as many controls as are cheap beside the questions about edits (`controls: auto`)."""
        judges = [judge for judge in self.judges if judge.sees_controls]
        counted = sum(not (sample.fault or sample.id in self.beside) for sample in self.samples)
        often = min(map(self.repeats_of, judges), default=0)
        edits = counted * len(self.edit_models) * self.edit_seeds * often
        made = replace(self, automatic_controls=True)
        cheap = count_cheap_controls(len(made.samples_for_controls), edits, len(CONTROLS) + len(self.more_controls))
        return replace(made, control_samples=cheap)

    @property
    def samples_for_controls(self) -> list[int]:
        """Positions of the samples that can have controls; if edit-eval chooses how many, the first one of each source
        image."""
        if not self.automatic_controls:
            return self.independent_samples
        first = {
            self.samples[number].cluster or self.samples[number].id: number for number in self.independent_samples[::-1]
        }
        return sorted(first.values())

    @property
    def controls_setting(self) -> str:
        """How many samples have controls, for people."""
        return f"auto ({self.control_samples})" if self.automatic_controls else str(self.control_samples)

    # -- questions --

    @cached_property
    @no_garbage()
    def questions_by_judge(self) -> dict[str, list[tuple[SampleQuestion, ...]]]:
        """For each judge, the questions about each sample; none about a bad one, one beside the filters, and one whose
        tags say that it is not asked about it."""
        made: dict[str, list[tuple[SampleQuestion, ...]]] = {}
        by_judge = {}
        tags = {tag for sample in self.samples for tag in sample.tags}
        for judge in self.judges:  # judges of one protocol share its questions
            alone = judge.name if f"{UNASKED}{judge.name}" in tags or not self.samples else ""
            key = digest([judge.section.model_dump(mode="json", exclude={"retries"}), judge.texts, alone])
            if key not in made:
                light: Light = {}
                made[key] = [self._ask(judge, sample, light) for sample in self.samples]
            by_judge[judge.name] = made[key]
        return by_judge

    def _ask(self, judge: AskedJudge, sample: Sample, light: Light) -> tuple[SampleQuestion, ...]:
        unasked = sample.id in self.beside or f"{UNASKED}{judge.name}" in sample.tags
        return () if unasked else ask(judge.protocol, sample, light)

    def append(self, sample: Sample) -> None:
        """Adds a sample behind all others, where `samples` is a list that was empty; `store.matrix.Matrix.append` adds
        its edit. Exceptions of a protocol that cannot ask about it pass through."""
        asked = [self._ask(judge, sample, self._light) for judge in self.judges]
        for judge, questions in zip(self.judges, asked, strict=True):
            self.questions_by_judge[judge.name].append(questions)
        cast("list[Sample]", self.samples).append(sample)
        vars(self)["uses_previous_pictures"] = self.uses_previous_pictures or _show_previous_pictures(asked)

    @cached_property
    def _light(self) -> Light:
        """Kinds of questions that samples so far were asked, one after the other."""
        return {}

    @property
    def forms(self) -> dict[str, tuple[AnswerForm, ...]]:
        """For each judge, its forms of answers, each form with its labels or schema once."""
        forms = {}
        for name, asked in self.questions_by_judge.items():
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
    def questions_per_edit(self) -> dict[str, float]:
        """For each judge, the mean number of questions about an edit, over the good samples; an upper limit if some
        are asked only after an answer."""
        good = sum(not sample.fault for sample in self.samples)
        return {name: sum(map(len, asked)) / good for name, asked in self.questions_by_judge.items() if good}

    @property
    def conditional_judges(self) -> frozenset[str]:
        """Judges that are asked some questions only after an answer."""
        return frozenset(
            name
            for name, asked in self.questions_by_judge.items()
            if any(sample_question.question.when for of in asked for sample_question in of)
        )

    def question(self, judge: AskedJudge, sample: int, name: str) -> Question:
        """Returns one question with its texts."""
        questions = judge.protocol.questions(self.samples[sample])
        return next(question for question in questions if question.name == name)

    @cached_property
    def uses_previous_pictures(self) -> bool:
        """True if a judge is shown pictures of earlier turns or rounds."""
        return any(map(_show_previous_pictures, self.questions_by_judge.values()))

    def first_of(self, position: int) -> Sample:
        """Returns the first sample of the chain that the one at a position belongs to; itself if it follows none."""
        while position in self.predecessors:
            position = self.predecessors[position]
        return self.samples[position]

    def predecessors_of(self, position: int) -> list[int]:
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
    def column_index(self) -> dict[str, int]:
        """Place of each column among the `edit_models`, by its name."""
        return {model.name: place for place, model in enumerate(self.edit_models)}

    def identity_in_key(self, model: Identity, sample: Sample) -> Identity:
        """Returns what the key of an edit has of its edit model: of a finished edit its bytes, and no more."""
        edits = self.finished.get(self.base_model_of(model.name)) if self.finished else None
        return model if edits is None else Identity(model.name, "finished", edits.get(sample.id, ""))

    def mask_of(self, column: str, sample: Sample) -> Picture | None:
        """Returns the mask that a column's edit model is given of a sample; None if it is given none."""
        return sample.pictures.get("mask") if self.masked and self.base_model_of(column) in self.masked else None

    def base_model_of(self, column: str) -> str:
        """Returns the edit model that makes a column's edits, by its name in the configuration."""
        return self.refinements[column].edit_model if column in self.refinements else column

    @cached_property
    def makers(self) -> dict[str, str]:
        """For each column, by its name, a digest of all that makes its edits: columns of two runs with the same one are
        the same, whatever they are called."""
        made = makers(self.edit_models, self.refinements, self.judges)
        masked = [name for name in made if self.base_model_of(name) in self.masked]
        return made | {name: digest(["masked", made[name]]) for name in masked}

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
    def independent_samples(self) -> list[int]:
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

    # -- comparison --

    def is_same_evaluation(self, other: Experiment | None) -> bool:
        """True if it is the same evaluation: all keys would be equal, regardless of where the sources are."""
        if other is None or len(self.samples) != len(other.samples):
            return False
        return self._key_contents() == other._key_contents() and all(map(is_same_sample, self.samples, other.samples))

    def _key_contents(self) -> tuple[object, ...]:
        """Returns everything in keys except the samples, and how many there are of each."""
        judges = [
            (judge.model, judge.protocol_name, judge.section.class_path, judge.question_parameters(), judge.texts)
            for judge in self.judges
        ]
        often = (self.edit_seeds, self.repeats, self.readings, self.control_samples, self.automatic_controls)
        more = (self.refinements, self.beside, self.more_controls)
        return self.edit_models, judges, self.language, often, more, self.masked


def _show_previous_pictures(asked: Sequence[Sequence[SampleQuestion]]) -> bool:
    return any(is_earlier(view.picture) for of in asked for one in of for view in one.question.shows)


def _identity_of(plain: Mapping[str, Any]) -> Identity:
    identity = Identity(
        str(plain["name"]),
        str(plain["type"]),
        str(plain["revision"]),
        dict(plain["parameters"]),
        int(plain["seed"]),
        str(plain.get("serves", "")),  # older runs have none
    )
    if "digest" in plain:  # of a run that was sent: its parameters name no folder, and its keys are those of before
        vars(identity)["digest"] = str(plain["digest"])
    return identity


def is_same_sample(sample: Sample, other: Sample) -> bool:
    """True if the samples are equal, ignoring where their pictures are: digests identify them."""

    return sample == other or _drop_paths(sample) == _drop_paths(other)


def _drop_paths(sample: Sample) -> Sample:
    return replace(sample, pictures={name: replace(picture, path="") for name, picture in sample.pictures.items()})
