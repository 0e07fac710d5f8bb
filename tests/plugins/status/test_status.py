"""`edit-eval status`: what is counted, what is named, and what a terminal is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from documents import plain
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.status.sheet import print_sample, sample_document, status_document
from edit_eval.records import Picture, Reading, Results, RunProvenance, Scale, Scoring, Status
from edit_eval.reporting.live import Count, DeviceView, Snapshot, write_live
from edit_eval.store.run_directory import RunDirectory
from plugins.status.status_runs import (
    EDITS,
    EVIL,
    JUDGEMENTS,
    REFUSED,
    RESULTS,
    SAMPLES,
    SCORING,
    TEN,
    edit,
    judgement,
    printed,
    resolved,
)


def test_every_edit_and_judgement_is_counted_once() -> None:
    document = plain(status_document(RESULTS))
    assert document["status"] == "incomplete"
    assert document["edits"] == {"total": 8, "ok": 3, "pending": 1, "skipped": 1, "edit_failed": 3}
    assert document["judgements"] == {
        "total": 8, "ok": 1, "pending": 2, "skipped": 1, "edit_failed": 3, "refused": 1,
    }  # fmt: skip
    common = {"edit_model": "qwen", "judge": "judge"}
    assert document["categories"] == [
        {"category": "physical", **common, "total": 3, "ok": 1, "skipped": 1, "refused": 1},
        {"category": "social", **common, "total": 5, "pending": 2, "edit_failed": 3},
    ]
    assert (document["starts"], document["wall_seconds"]) == (2, 3720.0)
    json.dumps(document)


def test_equal_failures_are_one_and_name_their_samples() -> None:
    failures = plain(status_document(RESULTS))["failures"]
    assert [(f["status"], f["judge"], f["set_aside"], f["count"], f["samples"]) for f in failures] == [
        ("edit_failed", "", True, 2, ["00003_社会_hard", "00004_社会_hard"]),
        ("edit_failed", "", False, 1, ["00005_社会_hard"]),
        ("refused", "judge", False, 1, ["00001_物理_hard"]),
    ]
    assert failures[0]["reason"] == "RuntimeError: … fails on purpose"
    assert failures[2]["reason"] == REFUSED


def test_a_judge_that_answers_in_words_is_told_the_way_out() -> None:
    words = "The light fits.\nScore: 8.50"
    failed = judgement(1, Status.UNPARSEABLE, reason="the answer is not a score alone", answer=words)
    results = replace(RESULTS, judgements=(*JUDGEMENTS[:1], failed, *JUDGEMENTS[2:]))
    told = "judge answers in words; write `protocol: {answer: reason_then_score}`"
    for form, advice in (("score", [told]), ("reason_then_score", [])):
        configured = replace(results, provenance=replace(results.provenance, resolved=resolved(form)))
        assert plain(status_document(configured))["advice"] == advice
        assert ("advice: judge answers in words;" in " ".join(printed(configured))) is bool(advice)
    assert plain(status_document(RESULTS))["advice"] == [], "a refusal is not prose"
    assert (
        plain(status_document(replace(results, provenance=replace(results.provenance, resolved={"rubrics": {}}))))[
            "advice"
        ]
        == []
    ), "of another version"


def test_a_few_answers_without_a_score_are_no_reason_to_change_the_configuration() -> None:
    good = [judgement(number % 8, Status.OK, score=5.0) for number in range(19)]
    failed = judgement(1, Status.CUT_OFF, reason="cut off", answer="Score: 1")
    assert "max_new_tokens" in plain(status_document(replace(RESULTS, judgements=(*good[:9], failed))))["advice"][0]
    assert plain(status_document(replace(RESULTS, judgements=(*good, failed))))["advice"] == []


def test_what_is_skipped_and_pending_is_named() -> None:
    document = plain(status_document(RESULTS))
    assert document["skipped"] == [{"sample": "00002_物理_bad", "reason": "the image ends in the middle"}]
    assert document["pending"] == {"edits": ["00007_社会_hard"], "judgements": ["00006_社会_hard", "00007_社会_hard"]}


def test_a_sample_with_all_that_is_known() -> None:
    document = plain(sample_document(RESULTS, "00000_物理_hard"))
    assert document["sample"]["pictures"]["source"]["digest"] == "0" * 64
    assert document["sample"]["instructions"]["zh"] == "把天空变成橙色。"
    (made,) = document["edits"]
    assert (made["seed"], made["pixels"], made["flags"]) == (100, "ab" * 32, ["identical_to_source"])
    (judged,) = made["judgements"]
    assert (judged["scores"], judged["readings"][0]["score"]["text"]) == (
        {"score": 7.25},
        "The shadow follows.\nScore: 7.250",
    )
    json.dumps(document)


@pytest.mark.parametrize(
    ("unknown", "hint"),
    [
        ("00003_社会_hrad", "did you mean `00003_社会_hard`?"),
        ("nothing like it", "it has 8 samples, the first is `00000_物理_hard`"),
        ("\x1b[2J" + "x" * 500, "it has 8"),
    ],
)
def test_an_unknown_id_is_refused_with_the_nearest(unknown: str, hint: str) -> None:
    for ask in (sample_document, print_sample):
        with pytest.raises(ConfigurationError) as refused:
            ask(RESULTS, unknown)
        assert hint in str(refused.value)
        assert str(refused.value).isprintable()


def test_a_run_without_samples() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("samples", "edits", "judgements", "edit_models", "judges"), ())
    empty = Results(name="r", directory="/r", scoring={}, **nothing)
    assert plain(status_document(empty))["status"] == "complete"
    assert printed(empty)[0] == "r  complete"
    with pytest.raises(ConfigurationError, match="`x` is not a sample of /r"):
        plain(sample_document(empty, "x"))


# -- print --


def test_status() -> None:
    assert printed(RESULTS) == [
        "run1  incomplete",
        "  in       /runs/run1",
        "  started  2 times, 1 h 02 min in all",
        "",
        "             done   failed   given up   skipped   pending   total",
        "edits           3        1          2         1         1       8",
        "judgements      1        1          0         1         2       8",
        "(3 of the judgements are of failed edits)",
        "",
        "  qwen · judge  score 7.25, out of 10, 1 scored",
        "",
        "category   scored   no score   failed edits   skipped   pending",
        "physical      1/3          1              0         1         0",
        "social        0/5          0              3         0         2",
        "",
        "edit failed  2 edits, given up  qwen",
        "  RuntimeError: … fails on purpose",
        "  00003_社会_hard, 00004_社会_hard",
        "",
        "edit failed  1 edit  qwen",
        "  the image is black: all values are 0",
        "  00005_社会_hard",
        "",
        "judge refused  1 score  qwen · judge",
        "  the judge declined: `I'm sorry`",
        "  00001_物理_hard",
        "",
        "skipped samples",
        "  00002_物理_bad  the image ends in the middle",
        "",
        "note: 2 damaged lines in the journals were left out",
        "",
        "to resume:",
        "  edit-eval run CONFIG --run-dir /runs/run1",
        "",
        "to retry what failed:",
        "  edit-eval run CONFIG --run-dir /runs/run1 --retry edit_failed,refused",
    ]


@pytest.mark.parametrize(
    ("walls", "held", "started", "seconds"),
    [
        ((0.0,), False, "once, no model was loaded", None),
        ((0.0,), True, "once, no model is loaded yet", None),
        ((0.0, 0.0), False, "2 times, no model was loaded", None),
        ((9.6, 0.0), False, "2 times, 9.6 s in all, not counting 1 that loaded no model", 9.6),
        ((9.6,), False, "once, 9.6 s in all", 9.6),
    ],
)
def test_a_start_that_was_killed_at_its_first_load_did_not_take_no_time(
    walls: tuple[float, ...], held: bool, started: str, seconds: float | None, tmp_path: Path
) -> None:
    if held:
        (tmp_path / "holder.json").write_text('{"host": "gpu7", "process": 4711, "since": "today"}')
    results = replace(RESULTS, directory=str(tmp_path), telemetry=replace(RESULTS.telemetry, wall_seconds=walls))
    assert f"  started  {started}" in printed(results)
    document = plain(status_document(results))
    assert document["wall_seconds"] == seconds
    assert document["starts_without_time"] == walls.count(0.0)


def test_the_command_that_was_typed_is_in_the_document() -> None:
    typed = {"command": "edit-eval run 'my file.yaml'", "folder": "/home/me"}
    document = plain(status_document(replace(RESULTS, provenance=replace(RESULTS.provenance, environment=typed))))
    assert {key: document[key] for key in typed} == typed
    for nothing in ({}, {"command": 3, "folder": None}):
        document = plain(status_document(replace(RESULTS, provenance=replace(RESULTS.provenance, environment=nothing))))
        assert (document["command"], document["folder"]) == ("", "")


def test_one_is_one() -> None:
    results = replace(RESULTS, judgements=tuple(j for n, j in enumerate(JUDGEMENTS) if n not in (4, 5)))
    assert "(1 of the judgements is of a failed edit)" in printed(results)


def test_sample() -> None:
    assert printed(RESULTS, "00000_物理_hard") == [
        "00000_物理_hard",
        "  category                     physical, hard",
        "  index                        0",
        "  tags                         outdoor, sky",
        "  instruction (en, as edited)  Turn the sky orange.",
        "  instruction (zh)             把天空变成橙色。",
        "  description                  Hills under a clear sky.",
        f"  source                       /cache/sources/0{'0' * 60}.png",
        f"  SHA-256                      {'0' * 64}",
        "",
        "edit by qwen  done",
        "  seed    100",
        f"  key     {'0' * 64}",
        "  image   /runs/run1/images/qwen/00000_物理_hard.png",
        "  size    1472 x 1104, 1,234,567 bytes",
        f"  pixels  {'ab' * 32}",
        "  flags   identical_to_source",
        "  time    41 s on cuda:0",
        "",
        "  score by judge  done",
        "    score   7.250",
        "    reason  The shadow follows.",
        "    answer  The shadow follows.",
        "            Score: 7.250",
        "    asked   2 times",
        "    time    3.0 s on cuda:1",
    ]


def test_many_ids_are_cut_in_print_and_whole_in_the_document() -> None:
    samples = tuple(replace(SAMPLES[0], id=f"{n:05d}", index=n) for n in range(30))
    edits = tuple(replace(edit(5, Status.EDIT_FAILED, "black"), sample_id=s.id) for s in samples)
    results = replace(RESULTS, samples=samples, edits=edits, judgements=())
    assert "  00000, 00001, 00002, 00003, 00004, 00005, 00006, 00007 and 22 more" in printed(results)
    assert len(plain(status_document(results))["failures"][0]["samples"]) == 30


def test_who_is_at_work(tmp_path: Path) -> None:
    results = replace(RESULTS, directory=str(tmp_path))
    assert not any("at work" in line for line in printed(results))
    (tmp_path / "holder.json").write_text('{"host": "gpu7", "process": 4711, "since": "today"}')
    assert "  at work  process 4711 on gpu7 since today" in printed(results)
    assert not any("to go on" in line for line in printed(results)), "it would be refused"


def evil_results() -> Results:
    return Results(
        name=EVIL,
        directory="/runs/" + EVIL,
        samples=tuple(
            replace(
                s, id=f"{s.index}{EVIL}", category=EVIL,
                pictures={EVIL: Picture(path=EVIL)}, difficulty=EVIL, tags=(EVIL,), description=EVIL,
                instructions={EVIL: EVIL, "en": EVIL}, rationale=EVIL, fault=EVIL,
            )
            for s in SAMPLES
        ),
        edits=tuple(
            replace(e, sample_id=f"{n}{EVIL}", edit_model=EVIL, reason=EVIL, device=EVIL, flags=(EVIL,))
            for n, e in enumerate(EDITS)
        ),
        judgements=tuple(
            replace(j, sample_id=f"{n}{EVIL}", category=EVIL, edit_model=EVIL, judge=EVIL, reason=EVIL, device=EVIL,
                    readings=({EVIL: Reading(text=EVIL, reason=EVIL, asked=2)}, {EVIL: Reading(text=EVIL, asked=1)}),
                    missing={EVIL: (Status.REFUSED, EVIL)} if j.missing else {})
            for n, j in enumerate(JUDGEMENTS)
        ),
        edit_models=(EVIL, "two"),
        judges=(EVIL, "two"),
        scoring={EVIL: replace(SCORING, protocol=EVIL), "two": SCORING},
        provenance=RunProvenance(notes=(EVIL,)),
    )  # fmt: skip


@pytest.mark.parametrize("width", [30, 80])
def test_text_of_others_is_text(width: int) -> None:
    results = evil_results()
    for lines in (printed(results, width=width), printed(results, f"0{EVIL}", width)):
        text = "".join(lines)
        assert text.isprintable()
        assert "owned" not in text
        assert "[red]x[/red] :smile:" in " ".join(lines)
        text.encode("utf-8")
    json.dumps(plain(status_document(results)), ensure_ascii=False).encode("utf-8")
    json.dumps(plain(sample_document(results, f"0{EVIL}")), ensure_ascii=False).encode("utf-8")


def test_nothing_but_what_is_to_be_copied_is_wider_than_the_terminal() -> None:
    for width in (40, 60, 100):
        for line in printed(RESULTS, width=width):
            assert cell_len(line) <= width or "/runs" in line


# -- scales, controls --


def test_headlines_have_their_scales() -> None:
    error = Scale(lowest=0.0, higher_is_better=False)
    mse = Scoring(protocol="numbers", headline="mse", scales={"mse": error, "psnr": Scale()})
    measured = [
        replace(judged, judge="pixels", headline="mse", scores={"mse": 0.125, "psnr": 9.0} if judged.scores else {})
        for judged in JUDGEMENTS
    ]
    results = replace(
        RESULTS,
        judgements=(*JUDGEMENTS, *measured),
        judges=("judge", "pixels"),
        scoring={"judge": SCORING, "pixels": mse},
    )
    lines = printed(results, width=120)
    assert "  qwen · judge   score 7.25, out of 10, 1 scored" in lines
    (line,) = (line for line in lines if line.startswith("  qwen · pixels"))
    assert "mse 0.12" in line
    assert "lower is better" in line
    first, second = plain(status_document(results))["scores"]
    assert (first["score"], first["scored"], first["mean"], first["scale"]["highest"]) == ("score", 1, 7.25, 10.0)
    assert (second["mean"], second["scale"]["higher_is_better"]) == (0.125, False)


def test_a_mean_over_categories_is_none_while_one_has_no_score() -> None:
    scale = replace(TEN, mean_over="categories")
    results = replace(RESULTS, scoring={"judge": replace(SCORING, scales={"score": scale})})
    assert plain(status_document(results))["scores"][0]["mean"] is None
    assert any("score –" in line for line in printed(results))
    both = replace(results, judgements=(*JUDGEMENTS, judgement(3, score=1.25)))
    assert plain(status_document(both))["scores"][0]["mean"] == 4.25


def test_controls_are_a_row_of_their_own() -> None:
    control = replace(judgement(0, score=1.0), edit_model="control:blank")
    pending = replace(judgement(1, Status.PENDING), edit_model="control:blank")
    results = replace(RESULTS, controls=(control, pending))
    document = plain(status_document(results))
    assert document["controls"] == {"total": 2, "ok": 1, "pending": 1}
    assert (document["judgements"]["total"], document["scores"][0]["scored"]) == (8, 1)
    assert "controls        1        0          0         0         1       2" in printed(results)
    done = replace(RESULTS, judgements=JUDGEMENTS[:1], controls=(control, pending))
    assert plain(status_document(done))["status"] == "incomplete", "to go on would judge it"


def test_a_sample_with_several_scores_and_questions() -> None:
    asked = {
        "SC": Reading(values={"a": 1.0}, text="[1, 1]", reason="no such object", asked=1),
        "PQ": Reading(status=Status.UNPARSEABLE, reason="no numbers", text="Nice!", asked=3),
    }
    judged = replace(
        judgement(0, score=7.25),
        status=Status.UNPARSEABLE,
        reason="no numbers",
        headline="O",
        scores={"SC": 1.0},
        missing={"O": (Status.UNPARSEABLE, "no numbers"), "PQ": (Status.UNPARSEABLE, "no numbers")},
        readings=(asked,),
    )
    lines = printed(replace(RESULTS, judgements=(judged,)), "00000_物理_hard")
    assert lines[lines.index("  score by judge  no score in the answer") :] == [
        "  score by judge  no score in the answer",
        "    SC           1.000",
        "    PQ           no score in the answer: no numbers",
        "    reason       no numbers",
        "    answer (SC)  [1, 1]",
        "    reason (SC)  no such object",
        "    answer (PQ)  Nice!",
        "    asked (PQ)   3 times",
        "    time         3.0 s on cuda:1",
    ]
    (made,) = plain(sample_document(replace(RESULTS, judgements=(judged,)), "00000_物理_hard"))["edits"]
    assert made["judgements"][0]["missing"]["O"] == ["unparseable", "no numbers"]


# -- at work --


def test_a_run_at_work_says_what_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.begin()
    snapshot = Snapshot(
        devices=tuple(DeviceView(f"cuda:{n}", "editing", "qwen", f"0000{n}_社会_hard", f"{n}/50") for n in range(10)),
        edits=Count(3, 0, 8, 3, 3.2),
        judgements=Count(1, 1, 8, 2),
        controls=Count(total=6),
        seconds=300.0,
        left=3720,
    )
    results = replace(RESULTS, directory=str(directory.path))
    assert plain(status_document(results))["live"] is None
    write_live(directory, snapshot)
    document = plain(status_document(results))
    assert document["live"]["devices"][3]["figures"] == "3/50"
    assert (document["wall_seconds"], document["live"]["left"]) == (3900.0, 3720)
    lines = printed(results, width=100)
    assert "progress: 22 %, edits 3/8 (3.2/min), scores 1/8, controls 0/6, 1 failed, 1 h 02 min left" in lines
    assert "  cuda:0  editing 0/50, 00000_社会_hard" in lines
    assert "  and 3 more: 3 editing" in lines
    assert not any("no sign of life" in line for line in lines)
    monkeypatch.setattr("edit_eval.plugins.status.sheet.SILENT", -1.0)
    assert any(line.startswith("no sign of life for") for line in printed(results))
    directory.end()
    assert plain(status_document(results))["live"] is None
    assert not any("progress:" in line for line in printed(results))


def test_what_a_run_at_work_shows_is_text(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.begin()
    evil = EVIL.replace("\ud800", "")
    write_live(directory, Snapshot(devices=(DeviceView(evil, evil, evil, evil, evil),)))
    text = "".join(printed(replace(RESULTS, directory=str(directory.path))))
    directory.end()
    assert text.isprintable()
    assert "owned" not in text


def test_nobody_is_told_to_try_again_what_has_no_file() -> None:
    """A retry would read the same folder, and fail again."""
    shown = "\n".join(printed(RESULTS))
    assert "have no file" not in shown

    def without_file(rows: Sequence[Any]) -> tuple[Any, ...]:
        missing = Status.EDIT_MISSING
        return tuple(replace(row, status=missing) if row.status is Status.EDIT_FAILED else row for row in rows)

    shown = "\n".join(printed(replace(RESULTS, edits=without_file(EDITS), judgements=without_file(JUDGEMENTS))))
    assert "to add edits that have no file, put them in their folder" in shown
    assert shown.endswith("--retry refused"), "what a judge refused can still be asked again"


def test_refused_edits_have_a_column_of_their_own_and_nobody_is_told_to_ask_for_them_again() -> None:
    columns = r"done +failed +given up +refused +skipped"
    assert not re.search(columns, "\n".join(printed(RESULTS)))
    words = "refused (moderation_blocked): not this"
    edits = (*EDITS[:3], edit(3, Status.EDIT_REFUSED, words), *EDITS[4:])
    judgements = (*JUDGEMENTS[:3], judgement(3, Status.EDIT_REFUSED, reason=words), *JUDGEMENTS[4:])
    results = replace(RESULTS, edits=edits, judgements=judgements)
    document = plain(status_document(results))
    assert (document["edits"]["edit_failed"], document["edits"]["edit_refused"]) == (2, 1)
    shown = "\n".join(printed(results))
    assert re.search(columns, shown)
    assert re.search(r"edits +3 +1 +1 +1 +1 +1 +8", shown)
    assert re.search(r"edit refused +1 edit", shown)
    assert "--retry edit_failed,refused" in shown
    assert "(3 of the judgements are of failed edits)" in shown
