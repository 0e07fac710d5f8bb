"""An experiment small enough for tests, its matrix, and edits whose pictures are real files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.asking import with_clusters
from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.experiment import Experiment
from edit_eval.pictures import write_png
from edit_eval.protocols.asked import AskedJudge, make_protocol
from edit_eval.protocols.contract import Protocol, Question, Score
from edit_eval.records import Edit, Judgement, Picture, Reading, Reply, Sample, Scale, Status
from edit_eval.run import Run
from edit_eval.store.journal import Record
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import load_journals, load_run_journals, where_of
from edit_eval.store.run_directory import RunDirectory

CATEGORIES = ("physical", "environmental", "social")


def small_sample(number: int, **more: Any) -> Sample:
    """A sample of one of three categories in turn, with a source image of its own."""
    made: dict[str, Any] = {
        "id": f"s{number}",
        "index": number,
        "category": CATEGORIES[number % 3],
        "pictures": {"source": Picture(path=f"/sources/{number}.png", digest=f"digest-{number}")},
        "instruction": f"do {number}",
        "description": f"shows {number}",
    }
    return Sample(**made | more)


def small_samples(count: int, bad: Sequence[int] = (), follows: Mapping[int, int] | None = None) -> tuple[Sample, ...]:
    """Samples of which those in `bad` have a fault, and those in `follows` follow another."""
    turns = {n: {"follows": f"s{before}", "pictures": {}} for n, before in (follows or {}).items()}
    made = [small_sample(n, fault="cut off" if n in bad else "", **turns.get(n, {})) for n in range(count)]
    return with_clusters(made)


def number_of(question: Question, reply: Reply) -> Reading:
    """A reply that is a number is the value of each thing that its question gives."""
    try:
        return Reading(values=dict.fromkeys(question.gives, float(reply.text)))
    except ValueError:
        return Reading(status=Status.UNPARSEABLE, reason=f"{reply.text!r} is not a number")


@dataclass(repr=False)
class Asking:
    """A protocol of these questions, about each sample or about those of a category: `asks` says by their name."""

    asked: Sequence[Question]
    asks: Callable[[Sample, str], bool] = lambda sample, name: True
    scores: Mapping[str, Score] | None = None
    headline: str = "mean"

    def __repr__(self) -> str:
        return f"Asking({', '.join(question.name for question in self.asked)})"

    def __post_init__(self) -> None:
        if self.scores is None:
            names = [name for question in self.asked for name in question.gives]
            scale = Scale(lowest=0.0, highest=10.0)
            alone = {name: Score(scale=scale, needs=(name,)) for name in names}
            self.scores = {"mean": Score(scale=scale), **alone}

    def questions(self, sample: Sample) -> list[Question]:
        return [
            replace(question, user=question.user or f"{question.name}: {sample.instruction}")
            for question in self.asked
            if self.asks(sample, question.name)
        ]

    def read(self, question: Question, reply: Reply) -> Reading:
        return number_of(question, reply)


def ask(name: str, **more: Any) -> Question:
    """A question that gives a value of its name."""
    return Question(**{"name": name, "gives": (name,), **more})


def asked_judge(
    name: str,
    protocol: Protocol | None = None,
    *,
    retries: int = 2,
    measures: bool = False,
    replays: bool = False,
    reads: tuple[str, ...] = (),
    answer: str = "score",
) -> AskedJudge:
    """A judge that is one of its own, by default with the packaged rubrics and that form of `answer`."""
    identity = Identity(name, "judge", "", {"name": name})
    if protocol is not None:
        section = ProtocolSection(type="", class_path=f"small.py:P{id(protocol)}", parameters={}, retries=retries)
        return AskedJudge(identity, section, {}, protocol, measures, replays, reads)
    section, texts, made = _rubric(retries, answer)
    return AskedJudge(identity, section, texts, made, measures, replays, reads)


def comparing_judge(name: str = "arena", **parameters: Any) -> AskedJudge:
    """A judge that is shown two edits."""
    section = ProtocolSection(
        type="pairwise",
        class_path="edit_eval.protocols.pairwise:Pairwise",
        parameters={"answer": "label", **parameters},
        retries=1,
    )
    made, texts = make_protocol(section, Path())
    return AskedJudge(asked_judge(name).model, section, texts, made)


@cache
def _rubric(retries: int, answer: str) -> tuple[ProtocolSection, Mapping[str, Any], Protocol]:
    section = ProtocolSection(
        type="rubric", class_path="edit_eval.protocols.rubric:Rubric", parameters={"answer": answer}, retries=retries
    )
    made, texts = make_protocol(section, Path())
    return section, texts, made


def small_experiment(
    samples: int | Sequence[Sample] = 6,
    *,
    models: Sequence[str] = ("painter",),
    judges: Sequence[str | AskedJudge] = ("critic",),
    seed: int = 0,
    retries: int = 2,
    protocol: Protocol | None = None,
    controls: int = 0,
    **more: Any,
) -> Experiment:
    """An experiment in which each model and judge is one of its own; judges by name have this `protocol`."""
    return Experiment(
        samples=small_samples(samples) if isinstance(samples, int) else tuple(samples),
        edit_models=tuple(Identity(name, "editor", "", {"name": name}, seed) for name in models),
        judges=tuple(
            judge if isinstance(judge, AskedJudge) else asked_judge(judge, protocol, retries=retries)
            for judge in judges
        ),
        control_samples=controls,
        **more,
    )


def small_matrix(samples: int | Sequence[Sample] = 6, **more: Any) -> Matrix:
    """The matrix of a `small_experiment`, in which nothing was done yet."""
    return Matrix(small_experiment(samples, **more))


def made_edit(matrix: Matrix, number: int, directory: RunDirectory, shade: int | None = None) -> Edit:
    """The edit with its picture, which is written; `shade` 0 to 255 says how it looks."""
    edit = matrix.edits[number]
    path = directory.image_path(edit.edit_model, edit.sample_id, edit.key)
    file = write_png(Image.new("RGB", (8, 6), (number if shade is None else shade, 100, 50)), path)
    return replace(
        edit,
        status=Status.OK,
        image=str(path.relative_to(directory.path)),
        pixels=file.pixels,
        width=file.width,
        height=file.height,
        file_bytes=file.bytes,
        seconds=2.0,
        device="cpu:0",
    )


def imagined_edit(matrix: Matrix, number: int, pixels: str = "") -> Edit:
    """The edit as if it had been made."""
    return replace(matrix.edits[number], status=Status.OK, image=f"{number}.png", pixels=pixels or f"pixels-{number}")


def reply_line(matrix: Matrix, cell: int, reply: Reply, ask: int = 0) -> Record:
    """A reply as the journal has it."""
    return {
        "key": matrix.key(cell),
        **where_of(matrix.address(cell)),
        "ask": ask,
        "text": reply.text,
        "values": dict(reply.values),
        "ended": reply.ended.value,
        "length": reply.length,
        "final": reply.final,
        "seconds": reply.seconds,
        "device": reply.device,
    }


def recalled(
    matrix: Matrix,
    directory: RunDirectory,
    edits: Sequence[Record],
    replies: Sequence[Record],
    retry: Callable[[Status], bool] = lambda status: False,
    **more: bool,
) -> list[str]:
    """Has a matrix recall these lines; returns what was noticed."""
    return load_journals(matrix, edits, replies, directory.path, retry, **more)


def matrix_of(run: Run) -> Matrix:
    """The matrix of a run's records, as the engine has it."""
    matrix = Matrix(run.experiment)
    load_run_journals(matrix, RunDirectory.open_existing(run.path))
    return matrix


def outcome(judgement: Judgement) -> dict[str, Any]:
    """A judgement without its times."""
    fields = {name: getattr(judgement, name) for name in Judgement.__dataclass_fields__}
    return fields | {"seconds": 0.0, "device": ""}


def digest_of(text: str) -> str:
    """A digest of a text, for what only has to be the same for the same."""
    return hashlib.sha256(text.encode()).hexdigest()


def give_reply(matrix: Matrix, cell: int, reply: Reply) -> Reading:
    """Gives a cell a further reply; returns what all of them amount to."""
    matrix.record_reply(matrix.lookup(cell), len(matrix.replies(cell)), reply)
    return matrix.reading(cell)
