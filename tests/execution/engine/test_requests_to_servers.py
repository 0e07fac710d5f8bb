"""Whose fault a request to a server is that came to nothing."""

from __future__ import annotations

import itertools

import pytest

from edit_eval.execution.engine.blame import Verdict, weigh_request
from edit_eval.plugins.endpoints.in_worker.vocabulary import Says

CANARIES = ("answered", "known", "up", "denied", "failed", "not made")


def verdict(says: str, canary: str, others_succeed: bool) -> Verdict:
    facts = {"says": says, "status": 0, "canary": canary, "seconds": 9.0, "ours": False}
    return weigh_request(facts, others_succeed=others_succeed)


@pytest.mark.parametrize(
    ("says", "canary", "others_succeed", "expected"),
    [
        ("account", "answered", True, "away"),  # the words are sure, and a list of models costs no credit
        ("key", "up", True, "away"),
        ("day", "not made", True, "away"),
        ("busy", "answered", True, "left"),
        ("busy", "known", False, "away"),
        ("busy", "failed", False, "away"),
        ("denied", "answered", False, "request"),  # a key that is good enough for the canary
        ("denied", "known", False, "request"),
        ("denied", "denied", True, "away"),
        ("denied", "up", True, "request"),
        ("denied", "up", False, "away"),  # nobody knows the key
        ("denied", "not made", False, "away"),
        ("denied", "failed", True, "process"),
        ("other", "answered", False, "request"),
        ("other", "known", False, "unclear"),  # a door that answers makes no edits
        ("other", "up", True, "request"),
        ("other", "not made", False, "unclear"),  # what was not made has not passed
        ("other", "failed", True, "process"),
        ("other", "denied", True, "process"),
    ],
)
def test_the_evidence_decides(says: str, canary: str, others_succeed: bool, expected: Verdict) -> None:
    assert verdict(says, canary, others_succeed) == expected


def test_busy_or_away_is_never_a_samples_fault_and_no_evidence_never_convicts() -> None:
    for says, canary, succeed in itertools.product((says.value for says in Says), CANARIES, (True, False)):
        found = verdict(says, canary, succeed)
        if says in ("busy", "account", "key", "day"):
            assert found in ("left", "away")
        if found == "request":
            assert succeed or canary in ("answered", "known"), "somebody must have been let in"
        if canary == "not made" and not succeed:
            assert found in ("away", "unclear")
