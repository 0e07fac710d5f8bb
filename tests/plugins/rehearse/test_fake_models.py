"""The testing models do what they are told, sample by sample and question by question."""

from __future__ import annotations

import pytest
from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.rehearse.in_worker.fake_models import FakeEditModel, FakeJudge
from edit_eval.protocols.judging import read
from edit_eval.protocols.rubric import Rubric
from edit_eval.records import Picture, Reply, Sample, Status


def answered(judge: FakeJudge, sample: str, question: str = "", edit_model: str = "") -> Reply:
    asked = JudgeRequest(user="Rate it.", sample_id=sample, question=question, edit_model=edit_model)
    (reply,) = judge.judge([asked])
    return reply


def test_an_answer_is_told_by_sample_question_and_edit_model() -> None:
    judge = FakeJudge(
        FakeJudge.Parameters(
            answers={"a": "1", "a#PQ": "2", "m/a": "3", "m/a#PQ": "4"},
            values={"a": {"l1": 0.5}, "b#l2": {"l2": 0.25}},
            cut_off=["a#SC"],
            default_answer="0",
        )
    )
    assert answered(judge, "a") == Reply(text="1", values={"l1": 0.5})
    assert answered(judge, "a", "PQ").text == "2"
    assert answered(judge, "a", "SC") == Reply(text="1", values={"l1": 0.5}, ended=Status.CUT_OFF)
    assert answered(judge, "a", "SC", "m").text == "3"
    assert answered(judge, "a", "PQ", "m").text == "4"
    assert answered(judge, "a", "PQ", "n").text == "2"
    assert answered(judge, "b", "l2") == Reply(text="0", values={"l2": 0.25})
    assert answered(judge, "b", "l1") == Reply(text="0")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "about",
    [
        {"answer": "json"},
        {"answer": "labels", "rubric": "five_dimensions.v2"},
        {"answer": "probabilities"},
        {"answer": "probabilities", "asked": "one_by_one", "rubric": "five_dimensions.v2"},
    ],
)
def test_what_it_was_not_told_it_answers_in_the_form_that_is_asked_for(about: dict[str, str], language: str) -> None:
    parameters = Rubric.Parameters(language=language, **about)
    asking = Rubric(parameters, Rubric.texts(parameters))
    judge = FakeJudge(FakeJudge.Parameters())
    source = {"source": Picture(path="s.png", digest="0" * 64)}
    sample = Sample(id="s", index=0, category="causal", pictures=source, instruction="Let it fall.")
    for one in asking.questions(sample):
        (reply,) = judge.judge([JudgeRequest(user=one.user, form=one.form, labels=one.labels, schema=one.schema)])
        assert read(asking, one, [reply], 0).status is Status.OK


def test_faults_come_true_for_their_samples_alone() -> None:
    judge = FakeJudge(FakeJudge.Parameters(fail=["a"], flaky=["b"]))
    with pytest.raises(RuntimeError, match="a fails on purpose"):
        answered(judge, "a")
    with pytest.raises(RuntimeError, match="b fails on purpose"):
        answered(judge, "b")
    assert answered(judge, "c") == Reply(text="Score: 5.000")
    assert answered(judge, "b") == Reply(text="Score: 5.000")


def test_an_edit_is_the_source_tinted_by_its_seed() -> None:
    model = FakeEditModel(FakeEditModel.Parameters(steps=2, black=["night"]))
    steps: list[tuple[int, int]] = []

    def edit(seed: int, sample: str = "day") -> bytes:
        source = {"source": Image.new("RGB", (4, 3), "white")}
        request = EditRequest(pictures=source, instruction="Tint it.", seed=seed, sample_id=sample)
        return model.edit(request, lambda step, of: steps.append((step, of))).tobytes()

    assert edit(1) == edit(1) != edit(2)
    assert steps[:2] == [(1, 2), (2, 2)]
    assert not any(edit(1, "night"))
