"""What a judge measures becomes scores; what it does not, becomes none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.metrics.in_worker.embedding_metrics import EmbeddingMetrics
from edit_eval.plugins.metrics.in_worker.picture_metrics import PictureMetrics
from edit_eval.protocols import judging
from edit_eval.protocols.contract import MEASURED, fault, scoring_of
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Picture, Reply, Sample, Status

PIXELS = PictureMetrics.measures(PictureMetrics.Parameters())
CLIP = EmbeddingMetrics.measures(EmbeddingMetrics.Parameters(text_similarity=True))


def numbers(measures: dict[str, Any], headline: str = "") -> Numbers:
    return Numbers(Numbers.Parameters(measures=measures, headline=headline))


def sample(*pictures: str, **more: Any) -> Sample:
    return Sample(id="s", index=0, pictures={name: Picture(path=name) for name in pictures}, instruction="Go.", **more)


def asked(protocol: Numbers, of: Sample) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    assert fault(protocol, of) == ""
    (question,) = protocol.questions(of)
    assert question.form == MEASURED
    return tuple(view.name for view in question.shows), question.gives, question.user


def scored(protocol: Numbers, of: Sample, *replies: Reply) -> judging.JudgedScores:
    questions = protocol.questions(of)
    reading = judging.read(protocol, questions[0], replies, retries=2)
    return judging.score(protocol, of, questions, [{questions[0].name: reading}])


class TestQuestions:
    def test_a_source_alone_is_the_target(self) -> None:
        assert asked(numbers(PIXELS), sample("source")) == (("source", "edit"), ("l1", "l2", "psnr", "ssim"), "")

    def test_a_reference_is_the_target(self) -> None:
        views, gives, _ = asked(numbers(PIXELS), sample("source", "reference"))
        assert (views, len(gives)) == (("reference", "edit"), 4)

    def test_a_mask_is_measured_against_the_source_too(self) -> None:
        views, gives, _ = asked(numbers(PIXELS), sample("mask", "source", "reference"))
        assert views == ("source", "reference", "edit", "mask")
        assert gives == (*list(PIXELS),)

    def test_a_mask_that_no_measure_needs_is_not_shown(self) -> None:
        """It would be in the key of a reply that does not depend on it."""
        assert asked(numbers(CLIP), sample("source", "mask"))[0] == ("source", "edit")

    def test_a_follower_has_the_edit_before_as_its_source(self) -> None:
        assert asked(numbers(PIXELS), sample("mask", follows="a"))[0] == ("source", "edit", "mask")

    def test_a_caption_is_what_the_judge_is_told(self) -> None:
        told = asked(numbers(CLIP), sample("source", facts={"target_caption": "A red cat."}))
        assert told == (("source", "edit"), ("image_similarity", "text_similarity"), "A red cat.")
        for facts in ({}, {"target_caption": " "}, {"target_caption": 7}):
            assert asked(numbers(CLIP), sample("source", facts=facts))[1:] == (("image_similarity",), "")
        assert asked(numbers(PIXELS), sample("source", facts={"target_caption": "A red cat."}))[2] == ""

    def test_a_sample_without_what_the_headline_needs_is_bad(self) -> None:
        protocol = numbers(PIXELS, "ssim_outside")
        assert fault(protocol, sample("source")) == "it has no `mask`, which `ssim_outside` needs"
        assert fault(numbers(CLIP, "text_similarity"), sample("source")).startswith("it has no `target_caption`")
        assert fault(numbers(PIXELS), sample("mask")) == "it has no picture `source`"


class TestScores:
    def test_the_scales_are_the_judges(self) -> None:
        scheme = scoring_of("numbers", numbers(PIXELS))
        assert (scheme.protocol, scheme.headline) == ("numbers", "l1")
        assert scheme.scale.worst == 1.0
        assert scheme.scales["psnr"].highest is None
        assert scheme.scales["ssim_outside"].span == 2.0
        assert numbers(PIXELS, "ssim").headline == "ssim"

    def test_each_value_is_a_score(self) -> None:
        outcome = scored(
            numbers(PIXELS), sample("source"), Reply(values={"l1": 0.1, "l2": 0.02, "psnr": 17, "ssim": 0})
        )
        assert outcome.scores == {"l1": 0.1, "l2": 0.02, "psnr": 17, "ssim": 0}
        assert outcome.missing == {}  # nor those outside a mask that it does not have

    def test_one_that_lacks_is_undefined_with_the_judges_words(self) -> None:
        outcome = scored(numbers(PIXELS), sample("source"), Reply(text="alike", values={"l1": 0, "l2": 0, "ssim": 1}))
        assert outcome.scores == {"l1": 0, "l2": 0, "ssim": 1}
        assert outcome.missing == {"psnr": (Status.UNDEFINED, "alike")}

    def test_what_nobody_asked_for_is_passed_over(self) -> None:
        assert scored(numbers(CLIP), sample("source"), Reply(values={"image_similarity": 1, "x": 3})).scores == {
            "image_similarity": 1
        }

    @pytest.mark.parametrize("reply", [Reply(text="Score: 7"), Reply(text="", values={"score": 7}), Reply()])
    def test_a_reply_in_words_is_none(self, reply: Reply) -> None:
        outcome = scored(numbers(CLIP), sample("source"), reply, reply, reply)
        assert outcome.scores == {}
        status, reason = outcome.missing["image_similarity"]
        assert status is Status.UNPARSEABLE
        assert (reply.text or "nothing") in reason

    @pytest.mark.parametrize(("value", "words"), [(-0.1, "below 0"), (1.5, "above 1")])
    def test_a_value_beyond_its_scale_is_none(self, value: float, words: str) -> None:
        reply = Reply(values={"l1": value, "l2": 0})
        outcome = scored(numbers(PIXELS), sample("source"), reply, reply, reply)
        assert outcome.scores == {}
        assert outcome.missing["l1"] == (Status.OUT_OF_RANGE, f"l1 is {value:g}, {words}")

    @given(st.dictionaries(st.sampled_from(list(PIXELS)), st.floats()), st.text())
    def test_no_reply_gives_a_score_beyond_its_scale(self, values: dict[str, float], text: str) -> None:
        protocol, of = numbers(PIXELS), sample("source", "mask")
        outcome = scored(protocol, of, *[Reply(text=text, values=values)] * 3)
        assert {*outcome.scores} | {*outcome.missing} == {*PIXELS}
        for name, value in outcome.scores.items():
            scale = protocol.scores[name].scale
            assert (scale.lowest or 0) - 1 <= value <= (scale.highest or math.inf)
            assert scale.lowest is None or value >= scale.lowest


class TestParameters:
    def test_a_headline_that_is_not_measured_is_refused(self) -> None:
        with pytest.raises(
            ValueError, match="headline: the judge does not measure `lpips`, but image_similarity, text"
        ):
            numbers(CLIP, "lpips")

    def test_a_property_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(ValueError, match="measures: `x` has `best`"):
            numbers({"x": {"best": 1}})

    def test_a_judge_that_measures_nothing_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="for a judge that measures"):
            numbers({})
