"""`creval`: questions in files of their own, shares by weight, and the authors' means with what fails as 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.plugins.published.creval import CREval, CREvalScores
from edit_eval.protocols.certificates import certificate_of
from edit_eval.protocols.contract import Missing
from edit_eval.records import Reply, Status
from protocols.judged import judged, judgement, sample

QUESTIONS = {
    "following": [
        {"ask": "Is it a toy?", "right": "yes", "weight": 3},
        {"ask": "Is it large?", "right": "no", "weight": 1},
    ],
    "quality": [{"ask": "Is it blurred?", "right": "no", "weight": 2}],
}


def asking() -> CREvalScores:
    parameters = CREvalScores.Parameters()
    return CREvalScores(parameters, CREvalScores.texts(parameters))


def said(*answers: str) -> Reply:
    return Reply(text=json.dumps({"answers": answers}))


def about(name: str = "a") -> Any:
    return sample(name, "", facts={"questions": QUESTIONS})


def test_an_edits_score_is_the_mean_of_its_dimensions_by_weight() -> None:
    protocol = asking()
    following, quality = protocol.questions(about())
    assert (following.name, following.gives) == ("following: yes 3, no 1", ("following",))
    assert "1. Is it a toy?\n2. Is it large?" in following.user
    assert [view.picture for view in following.shows] == ["source", "edit"]
    made = judged(protocol, about(), {following.name: said("yes", "yes"), quality.name: said("no")})
    assert made.scores == {"following": 0.75, "quality": 1.0, "score": 0.875}
    assert "coherence" not in made.missing, "nothing was asked of it"
    made = judged(protocol, about(), {following.name: said("no", "yes"), quality.name: said("yes")})
    assert made.scores == {"following": 0.0, "quality": 0.0, "score": 0.0}


def test_a_reply_with_an_answer_too_few_is_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = asking()
    following, quality = protocol.questions(about())
    made = judged(protocol, about(), {following.name: said("yes"), quality.name: said("no")})
    assert made.status is Status.UNPARSEABLE
    assert "score" not in made.scores
    assert made.scores["quality"] == 1.0


def test_the_authors_count_what_fails_as_nothing_and_it_is_not_certified() -> None:
    protocol = asking()
    following, quality = protocol.questions(about())
    right = judged(protocol, about("a"), {following.name: said("yes", "no"), quality.name: said("no")})
    unread = judged(protocol, about("b"), {following.name: Reply(text="hm"), quality.name: said("no")})
    lost = judgement(protocol, about("c"), Status.EDIT_FAILED, reason="no picture")
    assert protocol.published["IF"]([right, unread, lost]) == pytest.approx(1 / 3)
    assert protocol.published["VQ"]([right, unread]) == 1.0
    with pytest.raises(Missing):
        protocol.published["VC"]([right, unread])
    assert certificate_of(protocol)["certified"] is False


def test_what_is_no_question_is_a_fault_of_its_sample(tmp_path: Path) -> None:
    def lay(name: str, *questions: dict[str, Any]) -> None:
        file = tmp_path / "questions_all/IF" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"quality_check_questions": questions}))

    rows = [{"id": name, "input_image": [f"{name}.png"], "input_prompt": "Do."} for name in "abcd"]
    (tmp_path / "instruction.json").write_text(json.dumps(rows))
    (tmp_path / "image").mkdir()
    for place, name in enumerate("abcd"):
        Image.new("RGB", (8, 8), (place, 0, 0)).save(tmp_path / "image" / f"{name}.png")
    lay("a", {"question": "Is it?", "answer": "Yes", "weight": 2}, {"question": "Not?", "answer": "No"})
    lay("b", {"question": "Is it?", "answer": "Perhaps", "weight": 2})
    lay("c", {"question": "Is it?", "answer": "Yes", "weight": 0})
    parameters = CREval.Parameters(data_path=str(tmp_path), cache_dir=str(tmp_path / "cache"))
    first, *others = CREval(parameters).samples()
    assert first.facts["questions"]["following"] == [
        {"ask": "Is it?", "right": "yes", "weight": 2},
        {"ask": "Not?", "right": "no", "weight": 1},
    ]
    assert [first.fault, *(other.fault.split(";")[0] for other in others)] == [
        "",
        "question 1 of IF has no text, or an answer other than Yes and No",
        "question 1 of IF has a weight of 0",
        "there are no questions about it",
    ]
    lay("b", {"question": "Is it now?", "answer": "Yes"})
    assert next(s for s in CREval(parameters).samples() if s.id == "b").fault == "", "a file of questions has changed"
