"""The dated file of closed models: aliases, the user's own rows, files that are wrong; what is said before an end."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.execution.checks import OLD, sale_findings
from edit_eval.files.user_cache import own_file
from edit_eval.plugins.closed_models.in_worker.editing import Api
from edit_eval.plugins.endpoints.in_worker import closed_models
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.closed_judges import judge_of, way_of
from edit_eval.plugins.endpoints.in_worker.closed_models import FIELDS, FILE, find_row, rows_of


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = own_file()
    assert file == tmp_path / "edit-eval" / "closed.yaml"
    file.parent.mkdir()
    return file


@pytest.mark.parametrize("kind", FIELDS)
def test_every_row_that_comes_along_has_a_source_and_a_day(kind: Any) -> None:
    for row in rows_of(kind, FILE):
        assert len(row["source"]) > 5
        assert date(2026, 11, 1) < date.fromisoformat(row["seen"]) < date.fromisoformat("2027-12-31")
        assert find_row(kind, row["model"].replace("*", "")), "it can be found"


@pytest.mark.parametrize(
    ("name", "as_name"),
    [
        ("openai/gpt-4.1-2025-04-14", "openai/gpt-4.1"),
        ("openai/gpt-4o-2024-11-20", "openai/gpt-4o"),
        ("openai/gpt-5-2025-08-07", "openai/gpt-5"),
        ("anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5*"),
    ],
)
def test_a_date_at_the_end_is_an_alias(name: str, as_name: str) -> None:
    assert find_row("judges", name)["model"] == as_name


def test_a_row_with_the_date_counts_more() -> None:
    assert find_row("judges", "openai/gpt-4o-2024-05-13")["ends"] == "2026-10-23"
    assert find_row("judges", "openai/gpt-4o")["ends"] == "2027-01-14"


def test_a_row_of_the_users_own_says_what_is_newer_and_nothing_else(own: Path) -> None:
    """A price that has changed changes no key."""
    before, way = judge_of("openai", "gpt-6-luna"), way_of("openai", "gpt-6-luna")
    own.write_text(
        "judges:\n- {model: openai/gpt-6-luna, price: [3, 4], seen: 2027-01-02}\n"
        "- {model: openai/gpt-7, price: [1, 2], off: {}, seen: 2027-01-02, source: its page}\n"
        "editors:\n- {model: bfl/flux-3-image, usd: {'': 0.06}, seen: 2027-01-02}\n"
    )
    now = judge_of("openai", "gpt-6-luna")
    assert (now.price, now.seen, now.source) == ([3, 4], "2027-01-02", str(own))
    assert (now.sent, way_of("openai", "gpt-6-luna")) == (before.sent, way)
    assert (judge_of("openai", "gpt-7").price, judge_of("openai", "gpt-7").off) == ([1, 2], {})
    price = Api.prices(Api.Parameters(model="bfl/flux-3-image"))
    assert (price["usual"], price["date"]) == (0.06, "2027-01-02")
    own.write_text("judges: []\n")
    assert judge_of("openai", "gpt-6-luna") == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "cannot be read"),
        ("models: []", "it has rows under judges and editors"),
        ("- 1", "it has rows under judges and editors"),
        ("judges: [{model: a/b, seen: soon}]", "'soon' is no day like"),
        ("judges: [{model: a/b, seen: 2027-01-01, cost: 1}]", "a/b: cost: a row has"),
        ("judges: [{seen: 2027-01-01}]", "model is missing"),
        ("judges: [{model: a/b}]", "a/b: seen is missing"),
        ("judges: [{model: a/b, seen: 2027-01-01, price: [cheap, 1]}]", "a price is a number"),
        ("judges: [{model: a/b, seen: 2027-01-01, price: 3}]", "price: it cannot be 3"),
        ("judges: [3]", "model is missing"),
        ("judges: 3", "it takes a list of rows"),
        ("judges: [{model: 3, seen: 2027-01-01}]", "model: it cannot be 3"),
        ("judges: [{model: a/b, seen: 2027-01-01, temperature: sometimes}]", "it cannot be 'sometimes'"),
        ("judges: [{model: a/b, seen: 2027-01-01, room: true}]", "room: it cannot be True"),
        ("judges: [{model: a/b, seen: 2027-01-01, usual: low}]", "usual: it cannot be 'low'"),
        ("editors: [{model: a/b, seen: 2027-01-01, seed: perhaps}]", "seed: it cannot be 'perhaps'"),
        ("editors: [{model: a/b, seen: 2027-01-01, usd: {'': -1}}]", "a price is a number"),
        ("editors: [{model: bfl/flux-2-pro, seen: 2027-01-01, shape: round}]", "shape: it is none of"),
    ],
)
def test_a_file_that_is_wrong_is_named(text: str, words: str, own: Path) -> None:
    own.write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        (judge_of("openai", "gpt-6-luna"), Api.Parameters(model="bfl/flux-2-pro"))


@pytest.mark.parametrize(
    ("days", "level"), [(-1, "problem"), (0, "warning"), (1, "warning"), (60, "warning"), (61, "note"), (None, None)]
)
def test_an_end_is_told_before_it_comes_and_stops_from_then_on(days: int | None, level: str | None) -> None:
    ends = "" if days is None else (date.today() + timedelta(days)).isoformat()
    told = [*sale_findings({"seen": (date.today() - timedelta(5)).isoformat(), "ends": ends}, "judge x")]
    assert [finding.level for finding in told if ends and ends in finding.text] == ([level] if level else [])
    assert all(finding.stops is (level == "problem") for finding in told[:1] if ends)


@pytest.mark.parametrize(("age", "level"), [(0, "note"), (OLD, "note"), (OLD + 1, "warning")])
def test_how_old_it_is_is_told(age: int, level: str) -> None:
    seen = (date.today() - timedelta(age)).isoformat()
    [told] = sale_findings({"seen": seen}, "judge x")
    assert (told.level, f"{age} day" in told.text, seen in told.text) == (level, True, True)


def test_a_day_that_is_still_to_come_is_no_age() -> None:
    seen = (date.today() + timedelta(3)).isoformat()
    [told] = sale_findings({"seen": seen}, "judge x")
    assert told.level == "warning"
    assert "still to come" in told.text


def test_what_is_not_known_is_said_with_what_it_is_for() -> None:
    cards = [
        ChatEndpoint.card(ChatEndpoint.Parameters(api="openai", model="gpt-9-mystery")),
        Api.card(Api.Parameters(model="openai/picture-model-of-tomorrow")),
        ChatEndpoint.card(ChatEndpoint.Parameters(api="openai", model="gpt-9-mystery", price=[1.0, 2.0])),
        ChatEndpoint.card(ChatEndpoint.Parameters(api="openai", model="gpt-6-luna")),
    ]
    told = [[finding.text for finding in sale_findings(card, "x")] for card in cards]
    assert [sum("max_cost needs" in text for text in of) for of in told] == [1, 1, 0, 0]


def test_models_that_are_here_say_nothing_of_it() -> None:
    assert [*sale_findings({"licence": "MIT"}, "x")] == []


def test_the_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    find_row("judges", "openai/gpt-4.1")
    hits = closed_models._read.cache_info().hits
    find_row("judges", "openai/gpt-4o")
    assert closed_models._read.cache_info().hits > hits
