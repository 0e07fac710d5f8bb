"""`edit-eval status RUN --sample ID`: everything known about one sample, its edits and what judges say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.records import Edit, Judgement, Reading, Results, Sample, Status, counted
from edit_eval.reporting.chinese.spoken import said
from edit_eval.reporting.formats import duration
from edit_eval.reporting.terminal_text import lines_of, one_line, print_beside, print_facts, readable, stdout_console

Facts = Iterator[tuple[str, str | Sequence[str]]]

_COLOURS = {Status.OK: "green", Status.PENDING: "yellow", Status.SKIPPED: "yellow"}


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
    console.print(Text(one_line(sample.id), style="bold"))
    print_facts(console, _sample_facts(sample))
    several_seeds = any(edit.edit_seed for edit in results.edits)
    several_repeats = any(judgement.repeat for judgement in results.judgements)
    for edit in _edits(results, sample):
        seed = f", edit {edit.edit_seed}" if several_seeds else ""
        _print_part(console, 0, f"edit by {one_line(edit.edit_model)}{seed}", edit.status, _edit_facts(results, edit))
        for one in _judgements(results, edit):
            repeat = f", repeat {one.repeat}" if several_repeats else ""
            _print_part(console, 2, f"score by {one_line(one.judge)}{repeat}", one.status, _judgement_facts(one))


def _sample(results: Results, sample_id: str) -> Sample:
    for sample in results.samples:
        if sample.id == sample_id:
            return sample
    hint = did_you_mean(sample_id, [sample.id for sample in results.samples])
    if not hint and results.samples:
        hint = f"; it has {counted(len(results.samples), 'sample')}, the first is `{results.samples[0].id}`"
    raise ConfigurationError(one_line(f"`{one_line(sample_id, 80)}` is not a sample of {results.directory}{hint}"))


def _edits(results: Results, sample: Sample) -> list[Edit]:
    return [edit for edit in results.edits if edit.sample_id == sample.id]


def _judgements(results: Results, edit: Edit) -> list[Judgement]:
    its = (edit.sample_id, edit.edit_model, edit.edit_seed)
    return [one for one in results.judgements if (one.sample_id, one.edit_model, one.edit_seed) == its]


def _print_part(
    console: Console, indent: int, title: str, status: Status, facts: Iterable[tuple[str, str | Sequence[str]]]
) -> None:
    head = Text(title, style="bold").append("  ").append(str(status), style=_COLOURS.get(status, "red"))
    console.print()
    print_beside(console, " " * indent, head)
    print_facts(console, facts, indent)


def _sample_facts(sample: Sample) -> Facts:
    yield "category", one_line(", ".join(filter(None, (sample.category, sample.difficulty))))
    yield "index", str(sample.index)
    if sample.tags:
        yield "tags", one_line(", ".join(sample.tags))
    for language, instruction in (sample.instructions or {sample.language: sample.instruction}).items():
        used = ", as edited" if language == sample.language and len(sample.instructions) > 1 else ""
        yield f"instruction ({one_line(language)}{used})", one_line(instruction)
    for name in ("description", "rationale", "follows"):
        if value := getattr(sample, name):
            yield name, one_line(value)
    for name, picture in sample.pictures.items():
        yield one_line(name), one_line(picture.path)
        if picture.digest:
            yield "SHA-256", picture.digest
    if sample.fault:
        yield "skipped", said(one_line(sample.fault))


def _edit_facts(results: Results, edit: Edit) -> Facts:
    yield "seed", str(edit.seed)
    yield "key", edit.key
    if edit.reason:
        yield "reason", said(one_line(edit.reason))
    if edit.image:
        yield "image", one_line(Path(results.directory) / edit.image)
        yield "size", said(f"{edit.width} x {edit.height}, {edit.file_bytes:,} bytes")
        yield "pixels", edit.pixels
    if edit.flags:
        yield "flags", one_line(", ".join(edit.flags))
    if edit.seconds:
        yield "time", said(f"{duration(edit.seconds)} on {one_line(edit.device)}")


def _judgement_facts(judgement: Judgement) -> Facts:
    for name, score in judgement.scores.items():
        spread = f", {judgement.spread[name]:.3f} between its readings" if name in judgement.spread else ""
        yield one_line(name), said(f"{score:.3f}{spread}")
    for name, (status, reason) in judgement.missing.items():
        if name != judgement.headline:  # of which the title and `reason` say it
            yield one_line(name), said(one_line(f"{status}: {reason}"))
    if judgement.reason:
        scored = judgement.status is Status.OK  # then it is what the judge says
        yield "reason", one_line(judgement.reason) if scored else said(one_line(judgement.reason))
    several = sum(map(len, judgement.readings)) > 1
    for number, reading in enumerate(judgement.readings, 1):
        for question, answer in reading.items():
            of = f" {number}" if len(judgement.readings) > 1 else ""
            yield from _answer_facts(f" ({one_line(question)}{of})" if several else "", answer, judgement)
    if judgement.seconds:
        yield "time", said(f"{duration(judgement.seconds)} on {one_line(judgement.device)}")


def _answer_facts(which: str, answer: Reading, judgement: Judgement) -> Facts:
    """One question's reply, and what is known of it that the judgement has not said."""
    if answer.text:
        yield f"answer{which}", lines_of(answer.text)
    if answer.values and which and not answer.text:
        yield f"values{which}", one_line(", ".join(f"{name} {value:.4g}" for name, value in answer.values.items()))
    if answer.mass is not None:
        known = answer.mass if isinstance(answer.mass, str) else f"{answer.mass:.3f}"
        yield f"mass{which}", said(f"{known} (probability of the allowed answers together)")
    if answer.reason and answer.reason != judgement.reason:
        yield f"reason{which}", said(one_line(answer.reason))
    if answer.asked > 1:
        yield f"asked{which}", said(f"{answer.asked} times")
