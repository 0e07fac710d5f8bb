"""Replies from files: found by their address, and by nothing else."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.errors import ChangedError, ConfigurationError, LoadError, ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.judges.recorded import Recorded
from edit_eval.records import Reply, Status

ROWS = [
    {"sample": "a", "edit_model": "m", "question": "SC", "text": "[8, 9]"},
    {"sample": "a", "edit_model": "m", "question": "PQ", "text": 'Two,\nlines "and" so on'},
    {"sample": "b", "edit_model": "m", "question": "SC", "text": ""},
    {"sample": "b", "edit_model": "n", "question": "SC", "text": "评分：8", "repeat": 1, "edit_seed": 2, "reading": 3},
]


def write(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    if path.suffix == ".json":
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("\n\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, names, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def loaded(path: Path, **parameters: Any) -> Recorded:
    judge = Recorded(Recorded.Parameters(path=str(path), **parameters))
    judge.load([])
    return judge


def request(sample: str, edit_model: str = "m", question: str = "SC", **address: int) -> JudgeRequest:
    return JudgeRequest(user="?", sample_id=sample, edit_model=edit_model, question=question, **address)


def reply(judge: Recorded, *address: Any, **more: int) -> Reply:
    (answer,) = judge.judge([request(*address, **more)])
    return answer


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "CSV"])
def test_every_form_of_file(suffix: str, tmp_path: Path) -> None:
    judge = loaded(write(tmp_path / f"replies.{suffix}".replace("CSV", "csv")))
    assert Recorded.replays
    asked = [request("b", "n", repeat=1, edit_seed=2, reading=3), request("a", question="PQ"), request("b")]
    assert [answer.text for answer in judge.judge(asked)] == ["评分：8", 'Two,\nlines "and" so on', ""]
    assert reply(judge, "a") == Reply(text="[8, 9]", final=True)
    assert judge.about()["replies"] == "4"


@pytest.mark.parametrize(
    ("address", "more", "words"),
    [
        (("c",), {}, "sample 'c', edit model 'm', question 'SC', repeat 0, edit seed 0, reading 0"),
        (("a", "n"), {}, "edit model 'n'"),
        (("a", "m", "score"), {}, "question 'score'"),
        (("a",), {"repeat": 1}, "repeat 1"),
        (("b", "n"), {"repeat": 1, "edit_seed": 2}, "reading 0"),
        (("b", "n"), {"repeat": 1, "reading": 3}, "edit seed 0"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_its_address(
    address: Any, more: dict[str, int], words: str, tmp_path: Path
) -> None:
    judge = loaded(write(tmp_path / "replies.csv"))
    with pytest.raises(ModelError, match=words):
        reply(judge, *address, **more)


def test_columns_of_other_names(tmp_path: Path) -> None:
    rows = [{"uid": 7, "editor": "m", "asks": "SC", "said": {"score": [1, 2], "reasoning": "好"}, "text": "no"}]
    fields = {"sample": "uid", "edit_model": "editor", "question": "asks", "text": "said"}
    answer = reply(loaded(write(tmp_path / "replies.json", rows), fields=fields), "7")
    assert answer.text == '{"score": [1, 2], "reasoning": "好"}'


def test_numbers(tmp_path: Path) -> None:
    rows = [{**row, "yes": "0.25", "no": " 1e-3 " if number else ""} for number, row in enumerate(ROWS[:2])]
    for suffix in ("csv", "jsonl"):
        judge = loaded(write(tmp_path / f"replies.{suffix}", rows), values=["yes", "no"])
        assert reply(judge, "a").values == {"yes": 0.25}
        assert reply(judge, "a", "m", "PQ").values == {"yes": 0.25, "no": 0.001}
    without = [{name: value for name, value in row.items() if name != "text"} for row in rows]
    assert reply(loaded(write(tmp_path / "numbers.csv", without), values=["yes"]), "a") == Reply(
        values={"yes": 0.25}, final=True
    )


@pytest.mark.parametrize(
    ("ended", "status"), [("cut_off", Status.CUT_OFF), ("Refused", Status.REFUSED), ("ok", Status.OK), ("", Status.OK)]
)
def test_how_a_reply_ended(ended: str, status: Status, tmp_path: Path) -> None:
    assert reply(loaded(write(tmp_path / "replies.csv", [{**ROWS[0], "ended": ended}])), "a").ended is status


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv"])
def test_two_replies_for_one_address_are_refused_with_both_places(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"replies.{suffix}", [*ROWS[2:], {**ROWS[0]}, {**ROWS[0], "repeat": 0}])
    second, first = {"json": ("row 4", "row 3"), "jsonl": ("line 7", "line 5"), "csv": ("line 5", "line 4")}[suffix]
    with pytest.raises(LoadError, match=rf"{second}: a second reply for sample 'a', .*; {first} has one"):
        loaded(path)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"sample": None}, "line 2: there is no `sample` .name the column: `fields: {sample: ...}`"),
        ({"question": ""}, "there is no `question`"),
        ({"text": None}, "there is no `text`.*, nor a value"),
        ({"repeat": "first"}, "`repeat` is `first`, not a whole number"),
        ({"reading": 0.5}, "`reading` is `0.5`, not a whole number"),
        ({"ended": "judge_error"}, "`ended` is `judge_error`, not cut_off, refused or ok"),
        ({"yes": "high"}, "`yes` is `high`, not a finite number"),
        ({"yes": "1_0"}, "`yes` is `1_0`, not a finite number"),
        ({"yes": float("nan")}, "`yes` is `nan`, not a finite number"),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_place(row: dict[str, Any], words: str, tmp_path: Path) -> None:
    lines = [json.dumps(values) for values in (ROWS[1], {**ROWS[0], **row})]
    (tmp_path / "replies.jsonl").write_text("\n".join(lines))
    with pytest.raises(LoadError, match=rf"replies.jsonl, .*{words}"):
        loaded(tmp_path / "replies.jsonl", values=["yes"])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b"[{", "a.json is no JSON in UTF-8"),
        ("a.json", b'{"a": 1}', "must be a list of objects, not dict"),
        ("a.json", b"[1]", "a reply must be an object, not int"),
        ("a.json", b"[]", "has no replies"),
        ("a.jsonl", b'{"sample": "a"', "a.jsonl is no JSONL in UTF-8"),
        ("a.csv", "sample,édit".encode("latin-1"), "a.csv is no CSV in UTF-8"),
        ("a.csv", b'sample,edit_model,question,text\na,m,SC,"half', "a.csv: is not a CSV file .line 2"),
        ("a.csv", b"sample,edit_model,question,text\na,m,SC,7, or 8\n", "line 2: the row has 5 cells for 4 columns"),
        ("a.csv", b"sample,edit_model,question,text\na,m,SC\n", "line 2: there is no `text`"),
        ("a.csv", b"", "has no replies"),
    ],
)
def test_a_file_that_is_none_is_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LoadError, match=words):
        loaded(tmp_path / name)


def test_a_long_reply_in_csv(tmp_path: Path) -> None:
    long = "thought " * 50_000
    assert reply(loaded(write(tmp_path / "replies.csv", [{**ROWS[0], "text": long}])), "a").text == long


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_both_forms_of_unicode(form: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "replies.json", [{**ROWS[0], "sample": unicodedata.normalize(form, "café_物理")}])
    for other in ("NFC", "NFD"):
        assert reply(loaded(path), unicodedata.normalize(other, "café_物理")).text == "[8, 9]"


@given(st.binary(max_size=200), st.sampled_from(["json", "jsonl", "csv", "tsv"]))
def test_junk_is_a_load_error_or_nothing(tmp_path_factory: pytest.TempPathFactory, junk: bytes, suffix: str) -> None:
    path = tmp_path_factory.mktemp("junk") / f"replies.{suffix}"
    path.write_bytes(junk)
    with pytest.raises(LoadError):
        loaded(path)


def test_the_revision_is_the_content(tmp_path: Path) -> None:
    first, second = write(tmp_path / "one.csv"), write(tmp_path / "other.csv")
    revisions = [Recorded.revision(Recorded.Parameters(path=str(path))) for path in (first, second)]
    assert revisions[0] == revisions[1]
    write(second, ROWS[:1])
    with pytest.raises(ChangedError, match="has changed since the run began"):
        loaded(second)
    assert Recorded.revision(Recorded.Parameters(path=str(second))) != revisions[0]
    assert reply(loaded(second), "a").text == "[8, 9]"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Recorded.revision(Recorded.Parameters(path=str(tmp_path / "nowhere.csv")))
    with pytest.raises(LoadError, match="cannot be read"):
        loaded(tmp_path / "nowhere.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ConfigurationError, match="not a file but a pipe"):
        Recorded.revision(Recorded.Parameters(path=str(tmp_path / "pipe.csv")))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"path": "a.xlsx"}, "path: a.xlsx is none of .json, .jsonl, .csv, .tsv"),
        ({"path": "a.csv", "fields": {"samples": "uid"}}, "fields: there is no `samples`, but sample, edit_model"),
    ],
)
def test_parameters_that_make_no_sense(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Recorded.Parameters(**parameters)


def test_it_needs_nothing_but_python() -> None:
    code = "import sys, edit_eval.judges.recorded; sys.exit('PIL' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("ids", "edit_models", "said"),
    [
        (["a", "b"], ["m", "n"], ""),
        (["a", "b", "c"], ["m", "n", "o"], ""),  # these are named when they are asked for
        (["a", "0b"], ["m", "n"], "what is not asked: b (did you mean 0b?)"),
        (["a", "b"], ["m", "N"], "what is not asked: n (did you mean N?)"),
        (["A", "B"], ["m"], ConfigurationError("no reply about the samples of this run; it has a (did you mean A?)")),
        (["a"], ["M"], ConfigurationError("no reply about the edit models of this run; it has m (did you mean M?)")),
    ],
)
def test_replies_about_what_is_not_asked_are_named_before_anything_is_made(
    ids: list[str], edit_models: list[str], said: str | ConfigurationError, tmp_path: Path
) -> None:
    parameters = Recorded.Parameters(str(write(tmp_path / "replies.csv")))
    if isinstance(said, ConfigurationError):
        with pytest.raises(ConfigurationError, match=re.escape(str(said))):
            Recorded.describe_unused_replies(parameters, ids, edit_models)
    else:
        assert Recorded.describe_unused_replies(parameters, ids, edit_models).endswith(said)
