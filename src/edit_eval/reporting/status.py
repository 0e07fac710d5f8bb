"""`edit-eval status`: what of a run is done, failed, skipped or pending, and everything known about a sample.

Read from the records alone, so it works while the run is still going on.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.protocols.rubric_score import way_out
from edit_eval.records import Edit, Judgement, Results, Sample, Status
from edit_eval.reporting.failures import JUDGE_FAILED, failures
from edit_eval.reporting.formats import duration
from edit_eval.reporting.repetition import recorded_command
from edit_eval.reporting.terminal_text import (
    Name,
    lines_of,
    one_line,
    print_beside,
    print_facts,
    readable,
    stdout_console,
)
from edit_eval.store.run_directory import RunDirectory

IDS_SHOWN = 8
"""Sample ids that are printed of each group; `--json` has them all."""

_COLOURS = {Status.OK: "green", Status.PENDING: "yellow", Status.SKIPPED: "yellow"}


# -- documents --


def status_document(results: Results) -> dict[str, Any]:
    """What is done, failed, set aside, skipped and pending, as plain data.

    `edits` and `judgements` count every status; what waits for or was lost with an edit is `pending` or `edit_failed`
    among the judgements, too. `failures` names an edit that failed once, not once more for each of its judgements.
    A start that ended before any model was loaded has left no time: `starts_without_time` counts it, not 0 seconds.
    `command` is the command line of the last start and `folder` where it was typed, empty where they are not known.
    """
    command = recorded_command(results)
    timed = [seconds for seconds in results.wall_seconds if seconds]
    edits = Counter(edit.status for edit in results.edits)
    judgements = Counter(judgement.status for judgement in results.judgements)
    document = {
        "run": results.name,
        "directory": results.directory,
        "status": "incomplete" if judgements[Status.PENDING] else "complete",
        "samples": len(results.samples),
        "starts": len(results.wall_seconds),
        "wall_seconds": sum(timed) if timed or not results.wall_seconds else None,
        "starts_without_time": len(results.wall_seconds) - len(timed),
        "command": command.line,
        "folder": command.folder,
        "edits": {"total": len(results.edits), **_by_status(edits)},
        "judgements": {"total": len(results.judgements), **_by_status(judgements)},
        "categories": _categories(results.judgements),
        "failures": [asdict(one) for one in failures(results) if one.status is not Status.SKIPPED],
        "skipped": [{"sample": s.id, "reason": one_line(s.fault)} for s in results.samples if s.fault],
        "pending": {
            "edits": _ids(edit.sample_id for edit in results.edits if edit.status is Status.PENDING),
            "judgements": _ids(j.sample_id for j in results.judgements if j.status is Status.PENDING),
        },
        "notes": list(results.notes),
        "advice": _ways_out(results),
    }
    return _plain(document)


def sample_document(results: Results, sample_id: str) -> dict[str, Any]:
    """Everything known about a sample, its edits and their judgements, as plain data.

    Raises `ConfigurationError` for an id that is not in the run.
    """
    sample = _sample(results, sample_id)
    judgements = [j for j in results.judgements if j.sample_id == sample.id]
    edits = []
    for edit in (e for e in results.edits if e.sample_id == sample.id):
        belonging = [j for j in judgements if (j.edit_model, j.edit_seed) == (edit.edit_model, edit.edit_seed)]
        edits.append({**asdict(edit), "judgements": [asdict(judgement) for judgement in belonging]})
    return _plain({"run": results.name, "directory": results.directory, "sample": asdict(sample), "edits": edits})


def _by_status(counts: Counter[Status]) -> dict[str, int]:
    return {status.value: counts[status] for status in Status if counts[status]}


def _categories(judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    counts: dict[tuple[str, str, str], Counter[Status]] = {}
    for one in judgements:
        counts.setdefault((one.category, one.edit_model, one.judge), Counter())[one.status] += 1
    return [
        {"category": category, "edit_model": edit_model, "judge": judge, "total": of.total(), **_by_status(of)}
        for (category, edit_model, judge), of in counts.items()
    ]


def _ids(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    plain = readable(document)
    assert isinstance(plain, dict)
    return plain


def _sample(results: Results, sample_id: str) -> Sample:
    for sample in results.samples:
        if sample.id == sample_id:
            return sample
    hint = did_you_mean(sample_id, [sample.id for sample in results.samples])
    if not hint and results.samples:
        hint = f"; it has {len(results.samples)}, the first is `{results.samples[0].id}`"
    raise ConfigurationError(one_line(f"`{one_line(sample_id, 80)}` is no sample of {results.directory}{hint}"))


# -- print --


def print_status(results: Results, console: Console | None = None) -> None:
    """Prints what of a run is done, failed, set aside, skipped and pending."""
    console = console or stdout_console()
    document = status_document(results)
    open_ = document["status"] == "incomplete"
    title = Text(one_line(results.name), style="bold")
    title.append("  ").append("incomplete" if open_ else "complete", style="yellow" if open_ else "green")
    console.print(title)
    print_facts(console, _facts(document))
    console.print()
    console.print(_counts(document))
    lost = document["judgements"].get(Status.EDIT_FAILED.value, 0)
    if lost:
        console.print(
            Text(f"({lost} of the judgements {'has' if lost == 1 else 'have'} no edit to judge)", style="dim")
        )
    console.print()
    console.print(_category_table(document, results))
    for failure in document["failures"]:
        _print_failure(console, failure)
    if document["skipped"]:
        console.print(Text("\nskipped samples", style="bold yellow"))
        print_facts(console, ((one_line(s["sample"], 30), one_line(s["reason"])) for s in document["skipped"]))
    for note in document["notes"]:
        console.print()
        print_beside(console, "note: ", Text(one_line(note)))
    for sentence in document["advice"]:
        console.print()
        print_beside(console, "advice: ", Text(sentence))
    for words, command in _advice(document):
        console.print()
        console.print(Text(words, style="dim"))
        console.print(Text(f"  {command}"), soft_wrap=True)  # in one piece, so that it can be copied


def _facts(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    directory = RunDirectory(Path(document["directory"]))
    held = directory.is_held()
    yield "in", one_line(document["directory"])
    if document["starts"]:
        yield "started", _starts(document, at_work=held)
    if held:
        yield "at work", one_line(directory.holder())


def _starts(document: dict[str, Any], *, at_work: bool) -> str:
    """How often, and for how long as far as is known: a start that was killed at its first load has left no time."""
    times = "once" if document["starts"] == 1 else f"{document['starts']} times"
    if document["wall_seconds"] is None:
        return f"{times}, no model {'is loaded yet' if at_work else 'was loaded'}"
    unknown = document["starts_without_time"]
    rest = f", not counting {unknown} that loaded no model" if unknown else ""
    return f"{times}, {duration(document['wall_seconds'])} in all{rest}"


def _counts(document: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("")
    columns = ("done", "failed", "set aside", "skipped", "pending", "total")
    for title in columns:
        table.add_column(title, justify="right")
    for name, of_edits in (("edits", True), ("judgements", False)):
        counts = document[name]
        aside = sum(f["count"] for f in document["failures"] if f["set_aside"] and (not f["judge"]) == of_edits)
        failed = _sum(counts, (Status.EDIT_FAILED,) if of_edits else JUDGE_FAILED)
        cells = [counts.get("ok", 0), failed - aside, aside, counts.get("skipped", 0), counts.get("pending", 0)]
        styles = ("green", "red", "red", "yellow", "yellow")
        table.add_row(name, *map(_count, cells, styles), str(counts["total"]))
    return table


def _category_table(document: dict[str, Any], results: Results) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("category", overflow="fold")
    several = (len(results.edit_models) > 1, len(results.judges) > 1)
    for shown, title in zip(several, ("edit model", "judge"), strict=True):
        if shown:
            table.add_column(title, overflow="fold")
    rows = document["categories"]
    columns = [("failed", JUDGE_FAILED, "red"), ("no edit", (Status.EDIT_FAILED,), "red")]
    columns += [("skipped", (Status.SKIPPED,), "yellow"), ("pending", (Status.PENDING,), "yellow")]
    seldom = ("no edit", "skipped")  # shown where there are any
    columns = [one for one in columns if one[0] not in seldom or any(_sum(row, one[1]) for row in rows)]
    for title in ("scored", *(title for title, _, _ in columns)):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        names = [row["category"]] + [row[k] for k, s in zip(("edit_model", "judge"), several, strict=True) if s]
        cells = [_count(_sum(row, statuses), style) for _, statuses, style in columns]
        table.add_row(*map(Name, names), f"{row.get('ok', 0)}/{row['total']}", *cells)
    return table


def _sum(counts: Mapping[str, Any], statuses: Iterable[Status]) -> int:
    return sum(counts.get(status.value, 0) for status in statuses)


def _count(number: int, style: str) -> Text:
    return Text(str(number), style=style if number else "dim")


def _print_failure(console: Console, failure: dict[str, Any]) -> None:
    things = ("score" if failure["judge"] else "edit") + ("s" if failure["count"] != 1 else "")
    who = " · ".join(one_line(name) for name in (failure["edit_model"], failure["judge"]) if name)
    aside = ", set aside" if failure["set_aside"] else ""
    console.print()
    head = Text(failure["status"].replace("_", " "), style="bold red").append(f"  {failure['count']} {things}{aside}  ")
    print_beside(console, head, Text(who, style="dim"))
    ids = [one_line(sample) for sample in failure["samples"]]
    more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
    print_beside(console, "  ", Text(failure["reason"] or "no reason was recorded"))
    print_beside(console, "  ", Text(", ".join(ids[:IDS_SHOWN]) + more, style="dim"))


def _advice(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What can be done now, and the command that does it; nothing while the run is at work."""
    found: list[tuple[str, str]] = []
    if RunDirectory(Path(document["directory"])).is_held():
        return found
    again = one_line(going_on(Path(document["directory"])))
    if document["status"] == "incomplete":
        found.append(("to go on:", again))
    statuses = ",".join(dict.fromkeys(failure["status"] for failure in document["failures"]))
    if statuses:
        found.append(("to retry what failed:", f"{again} --retry {statuses}"))
    return found


def _ways_out(results: Results) -> list[str]:
    """What to change in the configuration for the answers that were no scores; for each judge one sentence at most."""
    sections = (results.configuration.get(name) for name in ("evaluation", "protocol"))
    form = [str(one["answer"]) for one in sections if isinstance(one, Mapping) and one.get("answer")]
    found = []
    for judge in results.judges:
        answered = [one for one in results.judgements if one.judge == judge and one.answers]
        failed = [one for one in answered if one.status in JUDGE_FAILED]
        if 10 * len(failed) >= len(answered):  # fewer are the samples' affair
            found.append(way_out(form[-1] if form else "score", failed))
    return [one_line(sentence) for sentence in found if sentence]


def going_on(run: Path) -> str:
    """The command that goes on with a run, wherever it is given.

    It takes the configuration that the last start has recorded, in the folder of that start: relative paths among a
    model's parameters count from there.
    """
    run = run.absolute()
    recorded = max((run / "config").glob("[0-9]*.yaml"), default=Path("CONFIG"))
    return in_folder(
        RunDirectory(run).environment().get("folder"), ["edit-eval", "run", str(recorded), "--run-dir", str(run)]
    )


def in_folder(folder: object, words: Sequence[str]) -> str:
    """A command for a shell that first goes to a folder, if there is one of that name."""
    there = isinstance(folder, str) and Path(folder).is_dir()
    return f"cd {shlex.quote(str(folder))} && {shlex.join(words)}" if there else shlex.join(words)


def print_sample(results: Results, sample_id: str, console: Console | None = None) -> None:
    """Prints everything known about a sample. Raises `ConfigurationError` for an id that is not in the run."""
    console = console or stdout_console()
    sample = _sample(results, sample_id)
    console.print(Text(one_line(sample.id), style="bold"))
    print_facts(console, _sample_facts(sample))
    for edit in (e for e in results.edits if e.sample_id == sample.id):
        several = f", edit {edit.edit_seed}" if edit.edit_seed or _several_seeds(results) else ""
        title = f"edit by {one_line(edit.edit_model)}{several}"
        _print_part(console, 0, title, edit.status, _edit_facts(results, edit))
        for one in results.judgements:
            if (one.sample_id, one.edit_model, one.edit_seed) == (sample.id, edit.edit_model, edit.edit_seed):
                repeat = f", repeat {one.repeat}" if one.repeat or _several_repeats(results) else ""
                _print_part(console, 2, f"score by {one_line(one.judge)}{repeat}", one.status, _judgement_facts(one))


def _print_part(
    console: Console, indent: int, title: str, status: Status, facts: Iterable[tuple[str, str | Sequence[str]]]
) -> None:
    head = Text(title, style="bold").append("  ").append(str(status), style=_COLOURS.get(status, "red"))
    console.print()
    print_beside(console, " " * indent, head)
    print_facts(console, facts, indent)


def _sample_facts(sample: Sample) -> Iterable[tuple[str, str]]:
    yield "category", one_line(", ".join(filter(None, (sample.category, sample.difficulty))))
    yield "index", str(sample.index)
    if sample.tags:
        yield "tags", one_line(", ".join(sample.tags))
    for language, instruction in (sample.instructions or {sample.language: sample.instruction}).items():
        used = ", as edited" if language == sample.language and len(sample.instructions) > 1 else ""
        yield f"instruction ({one_line(language)}{used})", one_line(instruction)
    if sample.description:
        yield "description", one_line(sample.description)
    if sample.rationale:
        yield "rationale", one_line(sample.rationale)
    yield "source", one_line(sample.source)
    yield "SHA-256", sample.source_digest
    if sample.fault:
        yield "skipped", one_line(sample.fault)


def _edit_facts(results: Results, edit: Edit) -> Iterable[tuple[str, str]]:
    yield "seed", str(edit.seed)
    yield "key", edit.key
    if edit.reason:
        yield "reason", one_line(edit.reason)
    if edit.image:
        yield "image", one_line(Path(results.directory) / edit.image)
        yield "size", f"{edit.width} x {edit.height}, {edit.file_bytes:,} bytes"
        yield "pixels", edit.pixels
    if edit.flags:
        yield "flags", one_line(", ".join(edit.flags))
    if edit.seconds:
        yield "time", f"{duration(edit.seconds)} on {one_line(edit.device)}"


def _judgement_facts(judgement: Judgement) -> Iterable[tuple[str, str | Sequence[str]]]:
    if judgement.score is not None:
        yield "score", f"{judgement.score:.3f}"
    if judgement.reason:
        yield "reason", one_line(judgement.reason)
    if judgement.answer:
        yield "answer", lines_of(judgement.answer)
    if judgement.answers > 1:
        yield "asked", f"{judgement.answers} times"
    if judgement.key:
        yield "key", judgement.key
    if judgement.seconds:
        yield "time", f"{duration(judgement.seconds)} on {one_line(judgement.device)}"


def _several_seeds(results: Results) -> bool:
    return any(edit.edit_seed for edit in results.edits)


def _several_repeats(results: Results) -> bool:
    return any(judgement.repeat for judgement in results.judgements)
