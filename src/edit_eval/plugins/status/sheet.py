"""`edit-eval status`: what is done, failed, skipped or pending in a run, and what it is doing right now.

Read from the records and, for a run at work, from its `live.json`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from rich.cells import cell_len
from rich.console import Console

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.records import (
    DECLINED,
    EDIT_LOST,
    FAILED,
    JUDGE_FAILED,
    NO_EDIT,
    NO_FILE,
    DeviceFailures,
    Edit,
    Ending,
    Judgement,
    Reading,
    Results,
    Sample,
    Spent,
    Status,
    WaitingBatch,
    model_title,
)
from edit_eval.reporting.formats import decimals, duration
from edit_eval.reporting.formats import score as score_text
from edit_eval.reporting.language import code_to_text, recognise, translate
from edit_eval.reporting.live import Live, MeanSoFar, device_words, how_far, means_so_far, more_devices, read_live
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.repetition import last_command, shell_command
from edit_eval.reporting.table import Column, Look, Table, terminal_table
from edit_eval.reporting.terminal_text import Styled, lines_of, one_line, pad_text, print_with_head, stdout_console
from edit_eval.statistics.failures import FailureGroup, failures
from edit_eval.statistics.timing import TokenUse, spent_words, token_words, tokens
from edit_eval.store.run_directory import RunDirectory, is_copy
from edit_eval.store.run_file import find_run_file
from edit_eval.text import Text, join_texts, pluralize

IDS_SHOWN = 8
"""Sample ids printed for each group, and devices; `--json` has them all."""
SILENT = 30
"""Seconds without news from a run at work after which its silence is mentioned."""


# -- documents --


Counts = Mapping[str, int]
"""`total`, and the number with each status that there is, by its word in the records."""


class SkippedSample(msgspec.Struct, frozen=True, kw_only=True):
    """A sample that is bad."""

    sample: str
    reason: str


class RunStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is done, failed, set aside, skipped and pending in a run: what `edit-eval status --json` prints."""

    run: str
    directory: str
    status: Literal["complete", "incomplete"]
    samples: int
    starts: int
    wall_seconds: float | None
    """Over all starts that have a time; None if none has."""
    starts_without_time: int
    """Starts that ended before any model was loaded, and so have no time."""
    command: str
    """Command line of the last start; empty if unknown."""
    folder: str
    """Its working directory; empty if unknown."""
    edits: Counts
    """An edit that was kept from an earlier round is no further edit."""
    judgements: Counts
    """Those that wait for an edit, or were lost with it, are `pending` or `edit_failed`; that of a kept edit counts."""
    battles: Counts = {}
    """Not in the document if no judge compares two edits."""
    controls: Counts
    """In no other number."""
    tokens: list[TokenUse]
    spent: list[Spent]
    waiting: list[WaitingBatch] = []
    scores: list[MeanSoFar]
    """The mean of the headline so far, for each edit model and judge."""
    live: Live | None
    """The `live.json` of a run at work (docs/records.md)."""
    categories: list[dict[str, str | int]]
    """For each `category`, `edit_model` and `judge` its `Counts`."""
    failures: list[FailureGroup]
    """A failed edit is named once, not again for each of its judgements."""
    device_failures: list[DeviceFailures]
    skipped: list[SkippedSample]
    pending: dict[str, list[str]]
    """Ids of samples with something to be done, by `edits`, `judgements` and `battles`."""
    notes: list[str]
    advice: list[str]
    """What the configuration should have said, where answers held no scores."""


def status_document(results: Results) -> RunStatus:
    """Returns what is done, failed, set aside, skipped and pending."""
    return _document(results, read_live(RunDirectory(Path(results.directory))))


def _document(results: Results, live: Live | None) -> RunStatus:
    command, folder = last_command(results)
    wall = list(results.telemetry.wall_seconds)
    if live is not None and wall:  # its events only say when something ended
        wall[-1] = max(wall[-1], live.seconds)
    timed = [seconds for seconds in wall if seconds]
    counted: dict[str, Sequence[Edit | Judgement]] = {
        "edits": results.edits,
        "judgements": results.judgements,
        **({"battles": results.battles} if results.battle_judges else {}),
        "controls": results.controls,
    }
    statuses = {name: Counter(record.status for record in records) for name, records in counted.items()}
    return RunStatus(
        run=results.name,
        directory=results.directory,
        status="incomplete" if any(of[Status.PENDING] for of in statuses.values()) else "complete",
        samples=len(results.samples),
        starts=len(wall),
        wall_seconds=math.fsum(timed) if timed or not wall else None,
        starts_without_time=len(wall) - len(timed),
        command=command,
        folder=folder,
        **{name: {"total": of.total(), **_status_counts(of)} for name, of in statuses.items()},
        tokens=tokens(results),
        spent=list(results.telemetry.spent),
        waiting=list(results.telemetry.waiting),
        scores=list(means_so_far(results.judgements, results.scoring)),
        live=live,
        categories=_categories(results.judgements),
        failures=[failure for failure in failures(results) if failure.status is not Status.SKIPPED],
        device_failures=list(results.telemetry.device_failures),
        skipped=[
            SkippedSample(sample=sample.id, reason=one_line(sample.fault)) for sample in results.samples if sample.fault
        ],
        pending={
            name: list(dict.fromkeys(record.sample_id for record in records if record.status is Status.PENDING))
            for name, records in counted.items()
            if name != "controls"
        },
        notes=list(results.provenance.notes),
        advice=_ways_out(results),
    )


def _status_counts(counts: Counter[Status]) -> dict[str, int]:
    return {status.value: counts[status] for status in Status if counts[status]}


def _categories(judgements: Iterable[Judgement]) -> list[dict[str, str | int]]:
    counts: dict[tuple[str, str, str], Counter[Status]] = {}
    for judgement in judgements:
        counts.setdefault((judgement.category, judgement.edit_model, judgement.judge), Counter())[judgement.status] += 1
    return [
        {"category": category, "edit_model": edit_model, "judge": judge, "total": of.total(), **_status_counts(of)}
        for (category, edit_model, judge), of in counts.items()
    ]


# -- print --


def print_status(results: Results, console: Console | None = None) -> None:
    """Prints what is done, failed, set aside, skipped and pending in a run."""
    console = console or stdout_console()
    live = read_live(RunDirectory(Path(results.directory)))
    document = _document(results, live)
    open_ = document.status == "incomplete"
    title = Styled(one_line(results.name), style="bold")
    title.append("  ").append(Text("incomplete") if open_ else Text("complete"), style="yellow" if open_ else "green")
    console.print(title)
    print_facts(console, _facts(document))
    if live is not None:
        _print_live(console, live)
    console.print()
    console.print(terminal_table(_counts(document)))
    lost = _sum(document.judgements, NO_EDIT)
    if lost:
        console.print(
            Styled(
                Text("({} of the judgements are of failed edits)", lost)
                if lost > 1
                else Text("(1 of the judgements is of a failed edit)"),
                style="dim",
            )
        )
    console.print()
    means = [*map(_mean, means_so_far(results.judgements, results.scoring))]
    if max((cell_len(whose) for whose, _ in means), default=0) <= console.width // 2:
        print_facts(console, means)
    else:  # names of models may be long
        for whose, words in means:
            print_with_head(console, "  ", Styled(whose, style="dim").append("  ").append(words, style="not dim"))
    console.print()
    console.print(terminal_table(_category_table(document, results)))
    for failure in document.failures:
        _print_failure(console, failure)
    if document.device_failures:
        console.print()
        console.print(Styled(Text("failed attempts, by device"), style="bold yellow"))
        print_facts(console, map(_device_failure_fact, document.device_failures))
    if document.skipped:
        console.print()
        console.print(Styled(Text("skipped samples"), style="bold yellow"))
        print_facts(
            console,
            ((one_line(skipped.sample, 30), one_line(recognise(skipped.reason))) for skipped in document.skipped),
        )
    for note in document.notes:
        console.print()
        print_with_head(console, Styled(Text("note: ")), Styled(one_line(note)))
    for sentence in document.advice:
        console.print()
        print_with_head(console, Styled(Text("advice: ")), Styled(sentence))
    for words, command in _advice(document):
        console.print()
        console.print(Styled(words, style="dim"))
        console.print(Styled(f"  {command}"), soft_wrap=True)  # in one piece, so that it can be copied


def _print_live(console: Console, live: Live) -> None:
    console.print()
    console.print(Styled(how_far(live)))
    shown = live.devices if len(live.devices) <= IDS_SHOWN else live.devices[: IDS_SHOWN - 1]
    print_facts(console, ((one_line(view.device), one_line(device_words(view))) for view in shown))
    if rest := live.devices[len(shown) :]:
        console.print(Styled("  ").append(more_devices(rest), style="dim"))
    if (silent := time.time() - live.at) > SILENT:
        console.print(Styled(Text("no sign of life for {}", duration(silent)), style="yellow"))


def _facts(document: RunStatus) -> Iterable[tuple[str, str]]:
    directory = RunDirectory(Path(document.directory))
    held = directory.is_held()
    yield Text("in"), one_line(find_run_file(Path(document.directory)))
    if document.starts:
        yield Text("started"), _starts(document, at_work=held)
    if held:
        yield Text("at work"), one_line(directory.holder())
    for use in document.tokens:
        yield Text("tokens"), token_words(use.judge, use.read, use.written, use.cost)
    for line in spent_words(document.spent):
        yield Text("spent"), line
    for batch in document.waiting:
        yield Text("waiting"), one_line(_waiting_words(batch))


def _waiting_words(batch: WaitingBatch) -> str:
    name, questions = batch.model.partition(":")[2], pluralize(batch.questions, "question")
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(batch.since))
    if not batch.batch:
        return Text("{}: {} gathered for a batch at {}, since {}", name, questions, batch.provider, since)
    return Text("{}: {} in {} at {}, since {}", name, questions, batch.batch, batch.provider, since)


def _starts(document: RunStatus, *, at_work: bool) -> str:
    """Says how often it was started, and for how long if known: a start killed at its first load has left no time."""
    times = Text("once") if document.starts == 1 else Text("{} times", document.starts)
    if document.wall_seconds is None:
        return Text("{}, no model is loaded yet", times) if at_work else Text("{}, no model was loaded", times)
    unknown = document.starts_without_time
    rest = Text(", not counting {} that loaded no model", unknown) if unknown else ""
    return Text("{}, {} in all{}", times, duration(document.wall_seconds), rest)


class _Row(NamedTuple):
    """The counts of edits, judgements, battles or controls."""

    of: str
    counts: Counts
    lost: Sequence[Status]
    """Statuses that are failures of these."""
    declined: int
    aside: int
    """Given up, of those that failed."""


def _counts(document: RunStatus) -> Table[_Row]:
    """Returns a row each for edits, judgements and, if there are any, battles and controls."""
    every: Sequence[Column[_Row]] = (
        Column("", lambda row: code_to_text(row.of), "name"),
        _number(Text("done"), lambda row: _sum(row.counts, (Status.OK,)), ""),
        _number(Text("failed"), lambda row: _sum(row.counts, row.lost) - row.aside, "wrong"),
        _number(Text("given up"), lambda row: row.aside, "wrong"),
        _number(Text("refused"), lambda row: row.declined, "problem", seldom=True),
        _number(Text("skipped"), lambda row: _sum(row.counts, (Status.SKIPPED,)), "problem"),
        _number(Text("pending"), lambda row: _sum(row.counts, (Status.PENDING,)), "problem"),
        Column(Text("total"), lambda row: str(row.counts["total"])),
    )
    edits, judgements = document.edits, document.judgements
    rows = [
        _Row(
            "edits",
            edits,
            (*EDIT_LOST, *NO_FILE),
            _sum(edits, DECLINED),
            _count_final_failures(document, of_judges=False),
        )
    ]
    rows += [_Row("judgements", judgements, JUDGE_FAILED, 0, _count_final_failures(document, of_judges=True))]
    if document.battles.get("total"):
        rows.append(_Row("battles", document.battles, JUDGE_FAILED, 0, _count_final_failures(document, of_judges=True)))
    if document.controls["total"]:
        rows.append(_Row("controls", document.controls, JUDGE_FAILED, 0, 0))
    return Table(every, rows, gap=3, rule=False)


def _count_final_failures(document: RunStatus, *, of_judges: bool) -> int:
    return sum(failure.count for failure in document.failures if failure.set_aside and bool(failure.judge) is of_judges)


RowType = TypeVar("RowType")


def _number(title: Text, count: Callable[[RowType], int], look: Look, *, seldom: bool = False) -> Column[RowType]:
    """Returns a column of counts, quiet where 0; a `seldom` one is left out if all are 0."""
    return Column(
        title,
        lambda row: str(count(row)),
        look=lambda row: look if count(row) else "quiet",
        when=count if seldom else lambda row: True,
    )


def _mean(mean: MeanSoFar) -> tuple[str, str]:
    """Returns edit model and judge, and the headline with its scale."""
    words = f"{mean.score} {score_text(mean.mean, decimals(mean.scale, mean.mean))}"
    scale = scale_words(mean.scale, mean=mean.scale.mean_over == "categories")
    said_of_it = join_texts((one_line(words), scale, Text("{} scored", mean.scored)), ", ")
    return one_line(f"{mean.edit_model} · {mean.judge}"), said_of_it


def _category_table(document: RunStatus, results: Results) -> Table[Mapping[str, Any]]:
    """Returns a row for each category of each edit model by each judge."""

    def count_statuses(*statuses: Status) -> Callable[[Mapping[str, Any]], int]:
        return lambda row: _sum(row, statuses)

    every: Sequence[Column[Mapping[str, Any]]] = (
        Column(Text("category"), lambda row: row["category"], "name", when=lambda row: row["category"]),
        Column(
            Text("edit model"), lambda row: row["edit_model"], "name", when=lambda row: len(results.edit_models) > 1
        ),
        Column(Text("judge"), lambda row: row["judge"], "name", when=lambda row: len(results.judges) > 1),
        Column(Text("scored"), lambda row: f"{row.get('ok', 0)}/{row['total']}"),
        _number(Text("no score"), count_statuses(*JUDGE_FAILED), "wrong"),
        _number(Text("failed edits"), count_statuses(*NO_EDIT), "wrong", seldom=True),
        _number(Text("skipped"), count_statuses(Status.SKIPPED), "problem", seldom=True),
        _number(Text("pending"), count_statuses(Status.PENDING), "problem"),
    )
    return Table(every, document.categories, gap=3, rule=False)


def _sum(counts: Mapping[str, Any], statuses: Iterable[Status]) -> int:
    return sum(counts.get(status.value, 0) for status in statuses)


def _device_failure_fact(failures: DeviceFailures) -> tuple[str, str]:
    """Returns the device, and the failures of a model there."""
    model = model_title(failures.model)
    words = [pluralize(failures.attempts, "attempt")]
    if failures.out_of_memory:
        words = [Text("{}, of which {} ran out of memory", words[0], failures.out_of_memory)]
    if failures.retired:
        words.append(Text("not used any more: {}", one_line(recognise(failures.retired))))
    return one_line(failures.device), Text("{}: {:; }", one_line(model), words)


def _print_failure(console: Console, failure: FailureGroup) -> None:
    who = " · ".join(one_line(name) for name in (failure.edit_model, failure.judge) if name)
    aside = Text(", given up") if failure.set_aside else ""
    console.print()
    count = pluralize(failure.count, "score") if failure.judge else pluralize(failure.count, "edit")
    head = Styled(Text("{}  {}{}  ", failure.status.words, count, aside), style="bold red")
    print_with_head(console, head, Styled(who, style="dim"))
    ids = [one_line(sample) for sample in failure.samples]
    more = Text(" and {} more", len(ids) - IDS_SHOWN) if len(ids) > IDS_SHOWN else ""
    print_with_head(console, "  ", Styled(one_line(recognise(failure.reason)) or Text("no reason recorded")))
    print_with_head(console, "  ", Styled(Text("{}{}", ids[:IDS_SHOWN], more), style="dim"))


def _advice(document: RunStatus) -> list[tuple[str, str]]:
    """Returns possible next steps, each with its command; none while the run is at work."""
    steps: list[tuple[str, str]] = []
    folder = Path(document.directory)
    if RunDirectory(folder).is_held() or is_copy(folder) or document.command.startswith("edit-eval serve"):
        return steps  # a copy cannot be resumed, and clients do not send their edits again
    again = one_line(resume_command(folder))
    if document.status == "incomplete":
        steps.append((Text("to resume:"), again))
    ended = dict.fromkeys(failure.status for failure in document.failures)
    statuses = ",".join(status.value for status in ended if status in FAILED)
    if any(status in ended for status in NO_FILE):
        steps.append(
            (Text("to add edits that have no file, put them in their folder, named like the sample, then:"), again)
        )
    if statuses:
        steps.append((Text("to retry what failed:"), f"{again} --retry {statuses}"))
    return steps


def _ways_out(results: Results) -> list[str]:
    """Returns advice on the configuration if answers held no scores; at most a sentence for each judge."""
    try:
        judges = Experiment.from_record(results.provenance.resolved, results.samples).judges
    except (LookupError, TypeError, ValueError, ConfigurationError):  # recorded by a version with another format
        return []
    sentences = []
    for judge in judges:
        answered = [
            judgement for judgement in results.judgements if judgement.judge == judge.name and judgement.answers
        ]
        failed = [judgement for judgement in answered if judgement.status in JUDGE_FAILED]
        if 10 * len(failed) >= len(answered):  # fewer are due to the samples
            sentences.append(judge.advice(failed))
    return [one_line(sentence) for sentence in sentences if sentence]


def resume_command(run: Path) -> str:
    """Returns the command that resumes a run, from any working directory.

    It uses the configuration recorded by the last start, in the folder of that start, from which relative paths among
    a model's parameters count.
    """
    run = run.absolute()
    directory = RunDirectory(run)
    recorded = directory.last_configuration() or Path("CONFIG")
    return shell_command(
        directory.environment().get("folder"), ["edit-eval", "run", str(recorded), "--run-dir", str(run)]
    )


# -- `edit-eval status RUN SAMPLE`: everything known about one sample, its edits and their judgements --

Facts = Iterator[tuple[str, str | Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEdit(Edit):
    """An edit with its judgements."""

    judgements: Sequence[Judgement]


class SampleStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about a sample: what `edit-eval status RUN SAMPLE --json` prints."""

    run: str
    directory: str
    sample: Sample
    edits: list[JudgedEdit]
    controls: list[Judgement]


def sample_document(results: Results, sample_id: str) -> SampleStatus:
    """Returns everything known about a sample, its edits and their judgements, and its controls.

    Raises `ConfigurationError` for an id that is not in the run.
    """
    sample = _sample(results, sample_id)
    return SampleStatus(
        run=results.name,
        directory=results.directory,
        sample=sample,
        edits=[
            JudgedEdit(
                **{field.name: getattr(edit, field.name) for field in fields(edit)},
                judgements=_judgements(results, edit),
            )
            for edit in _edits(results, sample)
        ],
        controls=[control for control in results.controls if control.sample_id == sample.id],
    )


def print_sample(results: Results, sample_id: str, console: Console | None = None) -> None:
    """Prints the same without the controls. Raises `ConfigurationError` for an id that is not in the run."""
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
        for judgement in _judgements(results, edit):
            repeat = Text(", repeat {}", judgement.repeat) if several_repeats else ""
            _print_part(
                console,
                2,
                Text("score by {}{}", one_line(judgement.judge), repeat),
                judgement.status,
                _judgement_facts(judgement),
            )


def _sample(results: Results, sample_id: str) -> Sample:
    for sample in results.samples:
        if sample.id == sample_id:
            return sample
    hint = did_you_mean(sample_id, [sample.id for sample in results.samples])
    if not hint and results.samples:
        hint = Text("; it has {}, the first is `{}`", pluralize(len(results.samples), "sample"), results.samples[0].id)
    raise ConfigurationError(
        one_line(Text("`{}` is not a sample of {}{}", one_line(sample_id, 80), results.directory, hint))
    )


def _edits(results: Results, sample: Sample) -> list[Edit]:
    return [edit for edit in results.edits if edit.sample_id == sample.id]


def _judgements(results: Results, edit: Edit) -> list[Judgement]:
    its = (edit.sample_id, edit.edit_model, edit.edit_seed)
    return [
        judgement
        for judgement in results.judgements
        if (judgement.sample_id, judgement.edit_model, judgement.edit_seed) == its
    ]


def _print_part(
    console: Console, indent: int, title: str, status: Status, facts: Iterable[tuple[str, str | Sequence[str]]]
) -> None:
    colour = "green" if status is Status.OK else "yellow" if status.ending is Ending.NONE else "red"
    head = Styled(title, style="bold").append("  ")
    head.append(Text("done") if status is Status.OK else status.words, style=colour)
    console.print()
    print_with_head(console, " " * indent, head)
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
            yield code_to_text(name), one_line(value)
    for name, picture in sample.pictures.items():
        yield one_line(name), one_line(picture.path)
        if picture.digest:
            yield "SHA-256", picture.digest
    if sample.fault:
        yield Text("skipped"), one_line(recognise(sample.fault))


def _edit_facts(results: Results, edit: Edit) -> Facts:
    yield Text("seed"), str(edit.seed)
    yield Text("key"), edit.key
    if edit.reason:
        yield Text("reason"), one_line(recognise(edit.reason))
    if edit.instruction:
        yield Text("told"), lines_of(edit.instruction)
    if edit.image:
        yield Text("image"), one_line(Path(results.directory) / edit.image)
        yield Text("size"), Text("{} x {}, {:,} bytes", edit.width, edit.height, edit.file_bytes)
        yield Text("pixels"), edit.pixels
    if edit.flags:
        yield Text("flags"), one_line(", ".join(edit.flags))
    if edit.device:  # 0 s is a time, too
        yield Text("time"), Text("{} on {}", duration(edit.seconds), one_line(edit.device))


def _judgement_facts(judgement: Judgement) -> Facts:
    for name, score in judgement.scores.items():
        spread = Text(", {:.3f} between its readings", judgement.spread[name]) if name in judgement.spread else ""
        yield one_line(name), Text("{:.3f}{}", score, spread)
    for name, (status, reason) in judgement.missing.items():
        if name != judgement.headline:  # title and `reason` already say it of the headline
            yield one_line(name), one_line(Text("{}: {}", status.words, recognise(reason)))
    if judgement.reason:
        yield Text("reason"), one_line(recognise(judgement.reason))
    several = sum(map(len, judgement.readings)) > 1
    for number, reading in enumerate(judgement.readings, 1):
        for question, told in reading.items():
            of = f" {number}" if len(judgement.readings) > 1 else ""
            yield from _answer_facts(f" ({one_line(question)}{of})" if several else "", told, judgement)
    if judgement.device:
        yield Text("time"), Text("{} on {}", duration(judgement.seconds), one_line(judgement.device))


def _answer_facts(which: str, answer: Reading, judgement: Judgement) -> Facts:
    """Returns one question's reply, and facts about it that the judgement does not show."""
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
        yield Text("reason{}", which), one_line(recognise(answer.reason))
    if answer.asked > 1:
        yield Text("asked{}", which), Text("{} times", answer.asked)


def print_facts(console: Console, facts: Iterable[tuple[str, str | Sequence[str]]], indent: int = 0) -> None:
    """Prints names and values.

    Text is wrapped in its column; a path, which cannot be, stays whole so that it can be copied.
    """
    rows = [(translate(name), [value] if isinstance(value, str) else list(value)) for name, value in facts]
    column = max((cell_len(name) for name, _ in rows), default=0)
    for name, lines in rows:
        head = Styled(" " * (indent + 2)).append(pad_text(name, column), style="dim").append("  ")
        for line in lines or [""]:
            print_with_head(console, head, Styled(line))
            head = Styled(" " * head.cell_len)
