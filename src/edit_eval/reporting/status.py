"""`edit-eval status`: what of a run is done, failed, skipped or pending, and what it does right now.

Read from the records, and of a run that is at work from what it shows (`live.json`).
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.records import NO_EDIT, Edit, Judgement, Results, Status, counted, model_title
from edit_eval.reporting.chinese.spoken import said, said_word, spoken
from edit_eval.reporting.formats import decimals, duration
from edit_eval.reporting.formats import score as score_text
from edit_eval.reporting.page.texts import scale_words
from edit_eval.reporting.progress.live_file import Live, read_live
from edit_eval.reporting.progress.means import means_so_far
from edit_eval.reporting.progress.view import MeanSoFar
from edit_eval.reporting.progress.words import device_words, how_far, more_devices
from edit_eval.reporting.repetition import recorded_command
from edit_eval.reporting.terminal_text import (
    Name,
    one_line,
    print_beside,
    print_facts,
    readable,
    stdout_console,
)
from edit_eval.statistics.failures import JUDGE_FAILED, failures
from edit_eval.statistics.timing import token_words, tokens
from edit_eval.store.run_directory import RunDirectory

IDS_SHOWN = 8
"""Sample ids that are printed of each group, and devices; `--json` has them all."""
SILENT = 30
"""Seconds without a word of a run that is at work after which that is said."""


# -- documents --


def status_document(results: Results) -> dict[str, Any]:
    """What is done, failed, set aside, skipped and pending, as plain data.

    `edits` and `judgements` count every status; what waits for or was lost with an edit is `pending` or `edit_failed`
    among the judgements, too; `controls` are in no other number. `scores` has for each edit model and judge the mean of
    the headline so far. `live` is what a run that is at work shows (docs/records.md), else None. `failures` names an
    edit that failed once, not once more for each of its judgements. A start that ended before any model was loaded has
    left no time: `starts_without_time` counts it, not 0 seconds. `command` is the command line of the last start and
    `folder` where it was typed, empty where they are not known.
    """
    return _document(results, read_live(RunDirectory(Path(results.directory))))


def _document(results: Results, live: Live | None) -> dict[str, Any]:
    command, folder = recorded_command(results)
    wall = list(results.wall_seconds)
    if live is not None and wall:  # its events say only when something has come to an end
        wall[-1] = max(wall[-1], live.seconds)
    timed = [seconds for seconds in wall if seconds]
    counted: dict[str, Sequence[Edit | Judgement]] = {
        "edits": results.edits,
        "judgements": results.judgements,
        "controls": results.controls,
    }
    statuses = {name: Counter(one.status for one in records) for name, records in counted.items()}
    document: dict[str, Any] = {
        "run": results.name,
        "directory": results.directory,
        "status": "incomplete" if any(of[Status.PENDING] for of in statuses.values()) else "complete",
        "samples": len(results.samples),
        "starts": len(wall),
        "wall_seconds": sum(timed) if timed or not wall else None,
        "starts_without_time": len(wall) - len(timed),
        "command": command,
        "folder": folder,
        **{name: {"total": of.total(), **_by_status(of)} for name, of in statuses.items()},
        "tokens": [asdict(one) for one in tokens(results)],
        "scores": [asdict(mean) for mean in means_so_far(results.judgements, results.scoring)],
        "live": None if live is None else asdict(live),
        "categories": _categories(results.judgements),
        "failures": [asdict(one) for one in failures(results) if one.status is not Status.SKIPPED],
        "device_failures": [asdict(one) for one in results.device_failures],
        "skipped": [{"sample": s.id, "reason": one_line(s.fault)} for s in results.samples if s.fault],
        "pending": {
            name: list(dict.fromkeys(one.sample_id for one in records if one.status is Status.PENDING))
            for name, records in counted.items()
            if name != "controls"
        },
        "notes": list(results.notes),
        "advice": _ways_out(results),
    }
    plain: dict[str, Any] = readable(document)
    return plain


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


# -- print --


def print_status(results: Results, console: Console | None = None) -> None:
    """Prints what of a run is done, failed, set aside, skipped and pending."""
    console = console or stdout_console()
    live = read_live(RunDirectory(Path(results.directory)))
    document = _document(results, live)
    open_ = document["status"] == "incomplete"
    title = Text(one_line(results.name), style="bold")
    title.append("  ").append("incomplete" if open_ else "complete", style="yellow" if open_ else "green")
    console.print(title)
    print_facts(console, _facts(document))
    if live is not None:
        _print_live(console, live)
    console.print()
    console.print(_counts(document))
    lost = _sum(document["judgements"], NO_EDIT)
    if lost:
        console.print(
            Text(f"({lost} of the judgements {'has' if lost == 1 else 'have'} no edit to judge)", style="dim")
        )
    console.print()
    means = [*map(_mean, means_so_far(results.judgements, results.scoring))]
    if max((cell_len(whose) for whose, _ in means), default=0) <= console.width // 2:
        print_facts(console, means)
    else:  # names of models may be long
        for whose, words in means:
            print_beside(console, "  ", Text(whose, style="dim").append(f"  {words}", style="not dim"))
    console.print()
    console.print(_category_table(document, results))
    for failure in document["failures"]:
        _print_failure(console, failure)
    if document["device_failures"]:
        console.print(Text("\nfailed attempts, by device", style="bold yellow"))
        print_facts(console, map(_failed_there, document["device_failures"]))
    if document["skipped"]:
        console.print(Text("\nskipped samples", style="bold yellow"))
        print_facts(console, ((one_line(s["sample"], 30), said(one_line(s["reason"]))) for s in document["skipped"]))
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


def _print_live(console: Console, live: Live) -> None:
    """How far it is, and what each device does."""
    console.print()
    console.print(Text(how_far(live)))
    shown = live.devices if len(live.devices) <= IDS_SHOWN else live.devices[: IDS_SHOWN - 1]
    print_facts(console, ((one_line(view.device), said(one_line(device_words(view)))) for view in shown))
    if rest := live.devices[len(shown) :]:
        console.print(Text(f"  {more_devices(rest)}", style="dim"))
    if (silent := time.time() - live.at) > SILENT:
        console.print(Text(f"no sign of life for {duration(silent)}", style="yellow"))


def _facts(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    directory = RunDirectory(Path(document["directory"]))
    held = directory.is_held()
    yield "in", one_line(document["directory"])
    if document["starts"]:
        yield "started", said(_starts(document, at_work=held))
    if held:
        yield "at work", said(one_line(directory.holder()))
    for one in document["tokens"]:
        yield "tokens", said(token_words(one["judge"], one["read"], one["written"], one["cost"]))


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
    refused = document["edits"].get(Status.EDIT_REFUSED.value, 0)
    columns = ("done", "failed", "given up", *(("refused",) if refused else ()))
    for title in (*columns, "skipped", "pending", "total"):
        table.add_column(title, justify="right")
    for name in ("edits", "judgements", "controls"):
        counts = document[name]
        if name == "controls" and not counts["total"]:
            continue
        of = {"edits": False, "judgements": True}.get(name)
        aside = sum(f["count"] for f in document["failures"] if f["set_aside"] and bool(f["judge"]) is of)
        failed = _sum(counts, (Status.EDIT_FAILED,) if name == "edits" else JUDGE_FAILED)
        cells = [("green", counts.get("ok", 0)), ("red", failed - aside), ("red", aside)]
        cells += [("yellow", refused if name == "edits" else 0)] * bool(refused)
        cells += [("yellow", counts.get(status, 0)) for status in ("skipped", "pending")]
        table.add_row(name, *(_count(number, style) for style, number in cells), str(counts["total"]))
    return table


def _mean(mean: MeanSoFar) -> tuple[str, str]:
    """Whose, by whom; and the headline with its scale."""
    words = f"{mean.score} {score_text(mean.mean, decimals(mean.scale, mean.mean))}"
    scale = scale_words(mean.scale, spoken(), mean=mean.scale.mean_over == "categories")
    comma = "，" if spoken() == "zh" else ", "
    said_of_it = comma.join((one_line(words), scale, said(f"{mean.scored} scored")))
    return one_line(f"{mean.edit_model} · {mean.judge}"), said_of_it


def _category_table(document: dict[str, Any], results: Results) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("category", overflow="fold")
    several = (len(results.edit_models) > 1, len(results.judges) > 1)
    for shown, title in zip(several, ("edit model", "judge"), strict=True):
        if shown:
            table.add_column(title, overflow="fold")
    rows = document["categories"]
    columns = [("failed", JUDGE_FAILED, "red"), ("no edit", NO_EDIT, "red")]
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


def _failed_there(found: Mapping[str, Any]) -> tuple[str, str]:
    """The device, and what a model has failed at there."""
    model = model_title(found["model"])
    words = [said(f"{counted(found['attempts'], 'attempt')}, of which {found['out_of_memory']} ran out of memory")]
    if found["retired"]:
        words.append(said(f"not used any more: {one_line(found['retired'])}"))
    return one_line(found["device"]), f"{one_line(model)}: {'; '.join(words)}"


def _print_failure(console: Console, failure: dict[str, Any]) -> None:
    things = ("score" if failure["judge"] else "edit") + ("s" if failure["count"] != 1 else "")
    who = " · ".join(one_line(name) for name in (failure["edit_model"], failure["judge"]) if name)
    aside = ", given up" if failure["set_aside"] else ""
    console.print()
    count = said(f"{failure['count']} {things}{aside}")
    head = Text(f"{said_word(failure['status'].replace('_', ' '))}  {count}  ", style="bold red")
    print_beside(console, head, Text(who, style="dim"), as_is=True)
    ids = [one_line(sample) for sample in failure["samples"]]
    more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
    print_beside(console, "  ", Text(one_line(failure["reason"]) or "no reason recorded"))
    print_beside(console, "  ", Text(", ".join(ids[:IDS_SHOWN]) + more, style="dim"))


def _advice(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What can be done now, and the command that does it; nothing while the run is at work."""
    found: list[tuple[str, str]] = []
    if RunDirectory(Path(document["directory"])).is_held():
        return found
    again = one_line(going_on(Path(document["directory"])))
    if document["status"] == "incomplete":
        found.append(("to resume:", again))
    failed = dict.fromkeys(failure["status"] for failure in document["failures"])
    statuses = ",".join(status for status in failed if status != Status.EDIT_REFUSED)  # that was an answer
    if statuses:
        found.append(("to retry what failed:", f"{again} --retry {statuses}"))
    return found


def _ways_out(results: Results) -> list[str]:
    """What to change in the configuration for the answers that were no scores; for each judge one sentence at most."""
    try:
        judges = Experiment.recorded(results.resolved, results.samples).judges
    except (LookupError, TypeError, ValueError, ConfigurationError):  # of a version that wrote something else
        return []
    found = []
    for judge in judges:
        answered = [one for one in results.judgements if one.judge == judge.name and one.answers]
        failed = [one for one in answered if one.status in JUDGE_FAILED]
        if 10 * len(failed) >= len(answered):  # fewer are the samples' affair
            found.append(judge.advice(failed))
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
