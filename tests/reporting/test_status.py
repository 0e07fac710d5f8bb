"""`edit-eval status`: what is counted, what is named, and what a terminal is shown."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from edit_eval.errors import ConfigurationError
from edit_eval.records import Edit, Judgement, Results, Sample, Status
from edit_eval.reporting.status import print_sample, print_status, sample_document, status_document

EVIL = "\x1b[2J\x1b]0;owned\x07[red]x[/red]\r\n\u202e:smile: \ud800"

SAMPLES = tuple(
    Sample(
        id=name,
        index=index,
        category=category,
        source=f"/cache/sources/{index}{'0' * 60}.png",
        source_digest=f"{index:064x}",
        instruction="Turn the sky orange.",
        description="Hills under a clear sky.",
        difficulty="hard",
        tags=("outdoor", "sky"),
        instructions={"en": "Turn the sky orange.", "zh": "把天空变成橙色。"},
        fault="the image ends in the middle" if name.endswith("bad") else "",
    )
    for index, (name, category) in enumerate(
        [
            ("00000_物理_hard", "physical"),
            ("00001_物理_hard", "physical"),
            ("00002_物理_bad", "physical"),
            ("00003_社会_hard", "social"),
            ("00004_社会_hard", "social"),
            ("00005_社会_hard", "social"),
            ("00006_社会_hard", "social"),
            ("00007_社会_hard", "social"),
        ]
    )
)


def edit(index: int, status: Status = Status.OK, reason: str = "") -> Edit:
    sample = SAMPLES[index]
    made = Edit(f"{index:064x}", sample.id, "qwen", 100 + index, 0, Status.PENDING, reason, device="cuda:0")
    if status is Status.OK:
        image = f"images/qwen/{sample.id}.png"
        return replace(
            made,
            status=status,
            image=image,
            pixels="ab" * 32,
            width=1472,
            height=1104,
            file_bytes=1_234_567,
            seconds=41.25,
            flags=("identical_to_source",),
        )
    return replace(made, status=status)


def judgement(
    index: int, status: Status = Status.OK, score: float | None = None, reason: str = "", answer: str = ""
) -> Judgement:
    sample = SAMPLES[index]
    asked = 0 if status in (Status.PENDING, Status.SKIPPED, Status.EDIT_FAILED) else 2
    return Judgement(
        f"{index:064x}" if asked else "",
        sample.id,
        sample.category,
        "qwen",
        "judge",
        0,
        0,
        status,
        score,
        answer,
        reason,
        asked,
        1.5 * asked,
        "cuda:1" if asked else "",
    )


ASIDE = "failed 2 times; the last time: RuntimeError: {} fails on purpose"
REFUSED = "the judge declined: `I'm sorry`"
EDITS = (
    edit(0),
    edit(1),
    edit(2, Status.SKIPPED, "the image ends in the middle"),
    edit(3, Status.EDIT_FAILED, ASIDE.format("00003_社会_hard")),
    edit(4, Status.EDIT_FAILED, ASIDE.format("00004_社会_hard")),
    edit(5, Status.EDIT_FAILED, "the image is black: all values are 0"),
    edit(6),
    edit(7, Status.PENDING),
)
JUDGEMENTS = (
    judgement(0, score=7.25, reason="The shadow follows.", answer="The shadow follows.\nScore: 7.250"),
    judgement(1, Status.REFUSED, reason=REFUSED, answer="I'm sorry"),
    judgement(2, Status.SKIPPED, reason="the image ends in the middle"),
    judgement(3, Status.EDIT_FAILED, reason=ASIDE.format("00003_社会_hard")),
    judgement(4, Status.EDIT_FAILED, reason=ASIDE.format("00004_社会_hard")),
    judgement(5, Status.EDIT_FAILED, reason="the image is black: all values are 0"),
    judgement(6, Status.PENDING),
    judgement(7, Status.PENDING),
)
RESULTS = Results(
    "run1", "/runs/run1", SAMPLES, EDITS, JUDGEMENTS, ("qwen",), ("judge",), (), (3600.0, 120.0), ("cuda:0",),
    notes=("2 damaged lines in the journals were left out",),
)  # fmt: skip


def printed(results: Results, sample: str | None = None, width: int = 80) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False, _environ={})
    if sample is None:
        print_status(results, console)
    else:
        print_sample(results, sample, console)
    return file.getvalue().splitlines()


# -- documents --


def test_every_edit_and_judgement_is_counted_once() -> None:
    document = status_document(RESULTS)
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
    found = status_document(RESULTS)["failures"]
    assert [(f["status"], f["judge"], f["set_aside"], f["count"], f["samples"]) for f in found] == [
        ("edit_failed", "", True, 2, ["00003_社会_hard", "00004_社会_hard"]),
        ("edit_failed", "", False, 1, ["00005_社会_hard"]),
        ("refused", "judge", False, 1, ["00001_物理_hard"]),
    ]
    assert found[0]["reason"] == "RuntimeError: <sample> fails on purpose"
    assert found[2]["reason"] == REFUSED


@pytest.mark.parametrize("section", ["evaluation", "protocol"])
def test_a_judge_that_answers_in_words_is_told_the_way_out(section: str) -> None:
    words = "The light fits.\nScore: 8.50"
    failed = judgement(1, Status.UNPARSEABLE, reason="the answer is not a score alone", answer=words)
    results = replace(RESULTS, judgements=(*JUDGEMENTS[:1], failed, *JUDGEMENTS[2:]))
    told = "judge answers in words; write `protocol: {answer: reason_then_score}`"
    for form, advice in (("score", [told]), ("reason_then_score", [])):
        found = replace(results, configuration={section: {"answer": form}})
        assert status_document(found)["advice"] == advice
        assert ("advice: judge answers in words;" in " ".join(printed(found))) is bool(advice)
    assert status_document(RESULTS)["advice"] == [], "a refusal is not prose"


def test_a_few_answers_without_a_score_are_no_reason_to_change_the_configuration() -> None:
    good = [replace(judgement(number % 8, Status.OK, score=5.0), answers=1) for number in range(19)]
    failed = judgement(1, Status.CUT_OFF, reason="cut off", answer="Score: 1")
    assert "max_new_tokens" in status_document(replace(RESULTS, judgements=(*good[:9], failed)))["advice"][0]
    assert status_document(replace(RESULTS, judgements=(*good, failed)))["advice"] == []


def test_what_is_skipped_and_pending_is_named() -> None:
    document = status_document(RESULTS)
    assert document["skipped"] == [{"sample": "00002_物理_bad", "reason": "the image ends in the middle"}]
    assert document["pending"] == {
        "edits": ["00007_社会_hard"],
        "judgements": ["00006_社会_hard", "00007_社会_hard"],
    }


def test_a_sample_with_all_that_is_known() -> None:
    document = sample_document(RESULTS, "00000_物理_hard")
    assert document["sample"]["source_digest"] == "0" * 64
    assert document["sample"]["instructions"]["zh"] == "把天空变成橙色。"
    (made,) = document["edits"]
    assert (made["seed"], made["pixels"], made["flags"]) == (100, "ab" * 32, ["identical_to_source"])
    (judged,) = made["judgements"]
    assert (judged["score"], judged["answer"]) == (7.25, "The shadow follows.\nScore: 7.250")
    json.dumps(document)


@pytest.mark.parametrize(
    ("unknown", "hint"),
    [
        ("00003_社会_hrad", "did you mean `00003_社会_hard`?"),
        ("nothing like it", "it has 8, the first is `00000_物理_hard`"),
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
    empty = Results("r", "/r", (), (), (), (), ())
    assert status_document(empty)["status"] == "complete"
    assert printed(empty)[0] == "r  complete"
    with pytest.raises(ConfigurationError, match="`x` is no sample of /r"):
        sample_document(empty, "x")


# -- print --


def test_status() -> None:
    assert printed(RESULTS) == [
        "run1  incomplete",
        "  in       /runs/run1",
        "  started  2 times, 1 h 02 min in all",
        "",
        "             done   failed   set aside   skipped   pending   total",
        "edits           3        1           2         1         1       8",
        "judgements      1        1           0         1         2       8",
        "(3 of the judgements have no edit to judge)",
        "",
        "category   scored   failed   no edit   skipped   pending",
        "physical      1/3        1         0         1         0",
        "social        0/5        0         3         0         2",
        "",
        "edit failed  2 edits, set aside  qwen",
        "  RuntimeError: <sample> fails on purpose",
        "  00003_社会_hard, 00004_社会_hard",
        "",
        "edit failed  1 edit  qwen",
        "  the image is black: all values are 0",
        "  00005_社会_hard",
        "",
        "refused  1 score  qwen · judge",
        "  the judge declined: `I'm sorry`",
        "  00001_物理_hard",
        "",
        "skipped samples",
        "  00002_物理_bad  the image ends in the middle",
        "",
        "note: 2 damaged lines in the journals were left out",
        "",
        "to go on:",
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
    results = replace(RESULTS, directory=str(tmp_path), wall_seconds=walls)
    assert f"  started  {started}" in printed(results)
    document = status_document(results)
    assert document["wall_seconds"] == seconds
    assert document["starts_without_time"] == walls.count(0.0)


def test_the_command_that_was_typed_is_in_the_document() -> None:
    typed = {"command": "edit-eval run 'my file.yaml'", "folder": "/home/me"}
    document = status_document(replace(RESULTS, environment=typed))
    assert {key: document[key] for key in typed} == typed
    for nothing in ({}, {"command": 3, "folder": None}):
        document = status_document(replace(RESULTS, environment=nothing))
        assert (document["command"], document["folder"]) == ("", "")


def test_one_is_one() -> None:
    one = replace(RESULTS, judgements=tuple(j for n, j in enumerate(JUDGEMENTS) if n not in (4, 5)))
    assert "(1 of the judgements has no edit to judge)" in printed(one)


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
        "edit by qwen  ok",
        "  seed    100",
        f"  key     {'0' * 64}",
        "  image   /runs/run1/images/qwen/00000_物理_hard.png",
        "  size    1472 x 1104, 1,234,567 bytes",
        f"  pixels  {'ab' * 32}",
        "  flags   identical_to_source",
        "  time    41 s on cuda:0",
        "",
        "  score by judge  ok",
        "    score   7.250",
        "    reason  The shadow follows.",
        "    answer  The shadow follows.",
        "            Score: 7.250",
        "    asked   2 times",
        f"    key     {'0' * 64}",
        "    time    3.0 s on cuda:1",
    ]


def test_many_ids_are_cut_in_print_and_whole_in_the_document() -> None:
    samples = tuple(replace(SAMPLES[0], id=f"{n:05d}", index=n) for n in range(30))
    edits = tuple(replace(edit(5, Status.EDIT_FAILED, "black"), sample_id=s.id) for s in samples)
    results = replace(RESULTS, samples=samples, edits=edits, judgements=())
    assert "  00000, 00001, 00002, 00003, 00004, 00005, 00006, 00007 and 22 more" in printed(results)
    assert len(status_document(results)["failures"][0]["samples"]) == 30


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
                s, id=f"{s.index}{EVIL}", category=EVIL, source=EVIL, difficulty=EVIL, tags=(EVIL,), description=EVIL,
                instructions={EVIL: EVIL, "en": EVIL}, rationale=EVIL, fault=EVIL,
            )
            for s in SAMPLES
        ),
        edits=tuple(
            replace(e, sample_id=f"{n}{EVIL}", edit_model=EVIL, reason=EVIL, device=EVIL, flags=(EVIL,))
            for n, e in enumerate(EDITS)
        ),
        judgements=tuple(
            replace(j, sample_id=f"{n}{EVIL}", category=EVIL, edit_model=EVIL, judge=EVIL, reason=EVIL, answer=EVIL,
                    device=EVIL)
            for n, j in enumerate(JUDGEMENTS)
        ),
        edit_models=(EVIL, "two"),
        judges=(EVIL, "two"),
        notes=(EVIL,),
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
    json.dumps(status_document(results), ensure_ascii=False).encode("utf-8")
    json.dumps(sample_document(results, f"0{EVIL}"), ensure_ascii=False).encode("utf-8")


def test_nothing_but_what_is_to_be_copied_is_wider_than_the_terminal() -> None:
    for width in (40, 60, 100):
        for line in printed(RESULTS, width=width):
            assert cell_len(line) <= width or "/runs" in line
