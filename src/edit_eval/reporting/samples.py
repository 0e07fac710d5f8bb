"""`edit-eval status RUN SAMPLE`: everything known about one sample, its edits and what judges say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.records import Edit, Ending, Judgement, Reading, Results, Sample, Status
from edit_eval.reporting.formats import duration
from edit_eval.reporting.language import worded
from edit_eval.reporting.terminal_text import (
    Styled,
    lines_of,
    one_line,
    print_beside,
    print_facts,
    readable,
    stdout_console,
)
from edit_eval.text import Text, counted

Facts = Iterator[tuple[str, str | Sequence[str]]]


def sample_document(results: Results, sample_id: str) -> dict[str, Any]:
    """Everything known about a sample, its edits and their judgements, and its controls, as plain data.

    Raises `ConfigurationError` for an id that is not in the run.
    """
    sample = _sample(results, sample_id)
    edits = [
        {**asdict(edit), "judgements": [_plain(one) for one in _judgements(results, edit)]}
        for edit in _edits(results, sample)
    ]
    controls = [_plain(control) for control in results.controls if control.sample_id == sample.id]
    document = {"run": results.name, "directory": results.directory, "sample": asdict(sample)}
    plain: dict[str, Any] = readable({**document, "edits": edits, "controls": controls})
    return plain


def _plain(judgement: Judgement) -> dict[str, Any]:
    return {**asdict(judgement), "again": sorted(judgement.again)}


def print_sample(results: Results, sample_id: str, console: Console | None = None) -> None:
    """Prints the same, but for the controls. Raises `ConfigurationError` for an id that is not in the run."""
    console = console or stdout_console()
    sample = _sample(results, sample_id)
    console.print(Styled(one_line(sample.id), style="bold"))
    print_facts(console, _sample_facts(sample))
    several_seeds = any(edit.edit_seed for edit in results.edits)
    several_repeats = any(judgement.repeat for judgement in results.judgements)
    for edit in _edits(results, sample):
        seed = Text(", edit {}", edit.edit_seed) if several_seeds else ""
        _print_part(
            console, 0, Text("edit by {}{}", one_line(edit.edit_model), seed), edit.status, _edit_facts(results, edit)
        )
        for one in _judgements(results, edit):
            repeat = Text(", repeat {}", one.repeat) if several_repeats else ""
            _print_part(
                console, 2, Text("score by {}{}", one_line(one.judge), repeat), one.status, _judgement_facts(one)
            )


def _sample(results: Results, sample_id: str) -> Sample:
    for sample in results.samples:
        if sample.id == sample_id:
            return sample
    hint = did_you_mean(sample_id, [sample.id for sample in results.samples])
    if not hint and results.samples:
        hint = Text("; it has {}, the first is `{}`", counted(len(results.samples), "sample"), results.samples[0].id)
    raise ConfigurationError(
        one_line(Text("`{}` is not a sample of {}{}", one_line(sample_id, 80), results.directory, hint))
    )


def _edits(results: Results, sample: Sample) -> list[Edit]:
    return [edit for edit in results.edits if edit.sample_id == sample.id]


def _judgements(results: Results, edit: Edit) -> list[Judgement]:
    its = (edit.sample_id, edit.edit_model, edit.edit_seed)
    return [one for one in results.judgements if (one.sample_id, one.edit_model, one.edit_seed) == its]


def _print_part(
    console: Console, indent: int, title: str, status: Status, facts: Iterable[tuple[str, str | Sequence[str]]]
) -> None:
    colour = "green" if status is Status.OK else "yellow" if status.ending is Ending.NONE else "red"
    head = Styled(title, style="bold").append("  ")
    head.append(Text("done") if status is Status.OK else status.words, style=colour)
    console.print()
    print_beside(console, " " * indent, head)
    print_facts(console, facts, indent)


def _sample_facts(sample: Sample) -> Facts:
    yield Text("category"), one_line(", ".join(filter(None, (sample.category, sample.difficulty))))
    yield Text("index"), str(sample.index)
    if sample.tags:
        yield Text("tags"), one_line(", ".join(sample.tags))
    for language, instruction in (sample.instructions or {sample.language: sample.instruction}).items():
        used = Text(", as edited") if language == sample.language and len(sample.instructions) > 1 else ""
        yield Text("instruction ({}{})", one_line(language), used), one_line(instruction)
    for name in ("description", "rationale", "follows"):
        if value := getattr(sample, name):
            yield worded(name), one_line(value)
    for name, picture in sample.pictures.items():
        yield one_line(name), one_line(picture.path)
        if picture.digest:
            yield "SHA-256", picture.digest
    if sample.fault:
        yield Text("skipped"), one_line(sample.fault)


def _edit_facts(results: Results, edit: Edit) -> Facts:
    yield Text("seed"), str(edit.seed)
    yield Text("key"), edit.key
    if edit.reason:
        yield Text("reason"), one_line(edit.reason)
    if edit.instruction:
        yield Text("told"), lines_of(edit.instruction)
    if edit.image:
        yield Text("image"), one_line(Path(results.directory) / edit.image)
        yield Text("size"), Text("{} x {}, {:,} bytes", edit.width, edit.height, edit.file_bytes)
        yield Text("pixels"), edit.pixels
    if edit.flags:
        yield Text("flags"), one_line(", ".join(edit.flags))
    if edit.seconds:
        yield Text("time"), Text("{} on {}", duration(edit.seconds), one_line(edit.device))


def _judgement_facts(judgement: Judgement) -> Facts:
    for name, score in judgement.scores.items():
        spread = Text(", {:.3f} between its readings", judgement.spread[name]) if name in judgement.spread else ""
        yield one_line(name), Text("{:.3f}{}", score, spread)
    for name, (status, reason) in judgement.missing.items():
        if name != judgement.headline:  # of which the title and `reason` say it
            yield one_line(name), one_line(Text("{}: {}", status.words, reason))
    if judgement.reason:
        yield Text("reason"), one_line(judgement.reason)
    several = sum(map(len, judgement.readings)) > 1
    for number, reading in enumerate(judgement.readings, 1):
        for question, answer in reading.items():
            of = f" {number}" if len(judgement.readings) > 1 else ""
            yield from _answer_facts(f" ({one_line(question)}{of})" if several else "", answer, judgement)
    if judgement.seconds:
        yield Text("time"), Text("{} on {}", duration(judgement.seconds), one_line(judgement.device))


def _answer_facts(which: str, answer: Reading, judgement: Judgement) -> Facts:
    """One question's reply, and what is known of it that the judgement has not said."""
    if not answer.applies:
        yield Text("answer{}", which), Text("not asked: an earlier answer rules it out")
    if answer.text:
        yield Text("answer{}", which), lines_of(answer.text)
    if answer.values and which and not answer.text:
        yield (
            Text("values{}", which),
            one_line(", ".join(f"{name} {value:.4g}" for name, value in answer.values.items())),
        )
    if answer.mass is not None:
        known = answer.mass if isinstance(answer.mass, str) else f"{answer.mass:.3f}"
        yield Text("mass{}", which), Text("{} (probability of the allowed answers together)", known)
    if answer.reason and answer.reason != judgement.reason:
        yield Text("reason{}", which), one_line(answer.reason)
    if answer.asked > 1:
        yield Text("asked{}", which), Text("{} times", answer.asked)
