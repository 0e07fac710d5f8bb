"""Files that are written for others: nothing in them runs, and nothing is overwritten without a word."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from command_lines import Command, caller, finish, one_error
from edit_eval.files.new import as_meant, write_rows
from edit_eval.plugins.audit import passports
from edit_eval.privacy import Secrets, hide_secrets, secrets_of
from edit_eval.statistics.people import read_people_scores, read_people_votes

command = pytest.fixture(caller)
ARMED = "=cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    "text", [ARMED, "@SUM(A1)", "+1+cmd", "-2+3", "\tx", "＝1", "plain", "-1.5", "'quoted", "'=1", "'-1.5"]
)
def test_what_a_spreadsheet_would_run_is_disarmed_and_read_as_it_was(text: str) -> None:
    file = io.StringIO(newline="")
    write_rows(file, ("a", "b"), [(text, -1.5)])
    [_, [written, number]] = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert number == "-1.5"
    assert written == "-1.5" or written[0] not in "=+-@\t＝"
    assert as_meant(written) == text


def test_people_s_files_are_read_as_they_were_meant() -> None:
    file = io.StringIO(newline="")
    write_rows(file, ("sample_id", "edit_model", "score", "rater"), [("-s", "@m", 0.5, ARMED)])
    [score] = read_people_scores(io.StringIO(file.getvalue(), newline=""))
    assert (score.sample_id, score.edit_model, score.score, score.rater) == ("-s", "@m", 0.5, ARMED)
    file = io.StringIO(newline="")
    write_rows(file, ("sample_id", "left", "right", "choice", "rater"), [("-s", "a", "b", "tie", ARMED)])
    [vote] = read_people_votes(io.StringIO(file.getvalue(), newline=""))
    assert (vote.sample_id, vote.rater) == ("-s", ARMED)


def test_export_replaces_nothing_without_a_word(tmp_path: Path, command: Command) -> None:
    run = finish(tmp_path).run
    for name in ("mine.html", "mine.zip"):
        file = tmp_path / name
        file.write_text("mine")
        one_error(command("export", run, file), 2, "--force")
        assert file.read_text() == "mine"
        link = tmp_path / f"link-{name}"
        link.symlink_to(file)
        one_error(command("export", run, link, "--force"), 2, "link")
        assert link.is_symlink()
        assert file.read_text() == "mine"
        assert command("export", run, file, "--force").code == 0
        assert file.read_bytes()[:4] != b"mine"
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    one_error(command("export", run, tmp_path / "link", "--force"), 2, "link")
    assert list((tmp_path / "folder").iterdir()) == []
    assert command("export", run, tmp_path / "folder").code == 0


@pytest.mark.parametrize("content", [b"[" * 200_000, b"\xff"])
def test_a_file_that_is_no_passport_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert passports.read_file(path) is None


def test_a_pipe_is_no_passport(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    assert passports.read_file(tmp_path / "x.json") is None


# Secrets are taken out of texts, in each form in which programs repeat them.


KEY = "sk+C/N A=RY-'4f1\"b09\\d2"


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(json.dumps(KEY)),
        quote(KEY, safe=""),
        quote_plus(KEY),
        *(base64.b64encode(f"{user}:{KEY}".encode()).decode() for user in ("", "a", "ab", "user")),
        *(base64.urlsafe_b64encode(f"{before}{KEY}!".encode()).decode() for before in ("", "a", "ab")),
    ],
)
def test_in_each_form(form: str) -> None:
    hidden = Secrets({"MY_KEY": KEY}).hide_in_text(f"before {form} after")
    assert "<MY_KEY>" in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert not any(form[i : i + 8] in hidden for i in range(len(form) - 8) if " " not in form[i : i + 8])


def test_the_longer_of_two_goes_first() -> None:
    secrets = Secrets({"SHORT_KEY": "12345678", "LONG_KEY": "1234567890"})
    assert secrets.hide_in_text("1234567890 12345678") == "<LONG_KEY> <SHORT_KEY>"


def test_at_any_depth_and_nothing_else_is_touched() -> None:
    message = {"a": ["12345678", 3, None, {"12345678": True}], "b": ("x12345678",), "c": 1.5}
    hidden = Secrets({"K": "12345678"}).hide_in_value(message)
    assert hidden == {"a": ["<K>", 3, None, {"<K>": True}], "b": ["x<K>"], "c": 1.5}


def test_of_the_environment_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SERVERS_TOKEN", "later-than-the-start")
    assert hide_secrets("it is later-than-the-start") == "it is <A_SERVERS_TOKEN>"


def test_odd_values_are_no_fault() -> None:
    odd = {"A_KEY": "\udcff\udcfe12345678", "B_KEY": "ключ-от-всего", "C_KEY": "", "D_KEY": "short"}
    assert secrets_of(odd).hide_in_text("ключ-от-всего short") == "<B_KEY> short"
    assert secrets_of(odd).hide_in_text(json.dumps("ключ-от-всего")) == '"<B_KEY>"'
