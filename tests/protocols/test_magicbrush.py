"""`magicbrush`: the authors' means are those of the last turns, or of all; one that is missing leaves none."""

import pytest
from judged import judged, judgement, sample

from edit_eval.judges.embedding_metrics import EmbeddingMetrics
from edit_eval.judges.picture_metrics import PictureMetrics
from edit_eval.protocols.contract import Missing, fault
from edit_eval.protocols.numbers import Numbers
from edit_eval.published.magicbrush import MagicBrushScores
from edit_eval.records import Reply, Status

PIXELS = PictureMetrics.measures(PictureMetrics.Parameters(bicubic=True))
CLIP = EmbeddingMetrics.measures(EmbeddingMetrics.Parameters(text_similarity=True))


def protocol(measures):
    return MagicBrushScores(Numbers.Parameters(measures=measures))


def row(asking, name, category, value, **about):
    one = sample(name, category, **about)
    (question,) = asking.questions(one)
    values = {name.removeprefix("earlier_"): value for name in question.gives}  # the judge knows no turns
    return judged(asking, one, {"numbers": Reply(values=values)})


def test_names_are_the_authors():
    assert {*protocol(PIXELS).published} == {"L1", "L2"}
    assert {*protocol(CLIP).published} == {"CLIP-I or DINO", "CLIP-T"}
    assert not protocol(PictureMetrics.measures(PictureMetrics.Parameters())).published


def test_the_last_turns_alone_where_turns_follow_one_another():
    asking = protocol(PIXELS)
    rows = [
        row(asking, "a", "final turn", 0.25),
        row(asking, "b", "earlier turn", 0.9),
        row(asking, "c", "final turn", 0.5),
    ]
    assert asking.published["L1"](rows) == 0.375
    assert [one.outcome("l1_bicubic") for one in rows] == [(Status.OK, ""), None, (Status.OK, "")]
    assert {*rows[1].scores} == {f"earlier_{name}" for name in rows[0].scores}
    assert (rows[1].headline, rows[1].score, rows[1].status) == ("earlier_l1", 0.9, Status.OK)
    assert fault(asking, sample("b", "earlier turn")) == ""
    apart = [row(asking, "a", "turn 1", 0.25), row(asking, "b", "turn 2", 0.75)]
    assert asking.published["L2"](apart) == 0.5


def test_their_script_stops_where_one_is_missing():
    asking = protocol(CLIP)
    told = {"facts": {"target_caption": "A hat."}}
    rows = [row(asking, "a", "final turn", 0.5, **told), row(asking, "b", "final turn", 0.5)]
    assert asking.published["CLIP-I or DINO"](rows) == 0.5
    with pytest.raises(Missing, match="stops at `b`: its benchmark does not have what that needs"):
        asking.published["CLIP-T"](rows)
    lost = judgement(asking, sample("c", "final turn"), Status.EDIT_FAILED, reason="the edit that it follows failed")
    with pytest.raises(Missing, match="stops at `c`: the edit that it follows failed"):
        asking.published["CLIP-I or DINO"]([*rows, lost])
    earlier = judgement(asking, sample("c", "earlier turn"), Status.EDIT_FAILED, reason="x")
    assert asking.published["CLIP-I or DINO"]([*rows, earlier]) == 0.5
