"""`magicbrush`: the hub's Parquet, or the test set's folder; turns that follow one another, or stand alone.

`magicbrush`: the authors' means are those of the last turns, or of all; one that is missing leaves none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.authors_files import Authors
from benchmarks.five_dimension_files import picture
from edit_eval.benchmarks.selection import filter_samples, with_predecessors
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.metrics.in_worker.embedding_metrics import EmbeddingMetrics
from edit_eval.plugins.metrics.in_worker.picture_metrics import PictureMetrics
from edit_eval.plugins.published.magicbrush import MagicBrush, MagicBrushScores
from edit_eval.protocols.contract import Missing, fault
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Reply, Status
from late_imports import Late
from protocols.judged import judged, judgement, sample

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")


def image(number: int, suffix: str = "png") -> dict[str, Any]:
    return {"bytes": picture(number), "path": f"{number}.{suffix}"}


def turn(session: str, number: int, **changes: Any) -> dict[str, Any]:
    return {
        "img_id": session,
        "turn_index": number,
        "source_img": image(number - 1),
        "mask_img": image(9),
        "instruction": f"Turn {number}.",
        "target_img": image(number),
    } | changes


@pytest.fixture
def authors(tmp_path: Path) -> Authors:
    return Authors(tmp_path, MagicBrush)


def write(authors: Authors, *rows: dict[str, Any]) -> None:
    path = authors.folder / "data" / "dev-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"img_id": pyarrow.string(), "turn_index": pyarrow.int32(), "instruction": pyarrow.string()}
    shown = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    pictures = dict.fromkeys(("source_img", "mask_img", "target_img"), shown)
    schema = pyarrow.schema([*columns.items(), *pictures.items()])
    parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), path)


ROWS = [turn("30", 1), turn("139", 1), turn("139", 2)]
CAPTIONS = {"139": {"139-output2.png": "A cat with a hat."}}


def test_the_last_turn_of_each_session_follows_those_before_it(authors: Authors) -> None:
    write(authors, *ROWS)
    samples = authors.samples()
    assert [(s.id, s.category, s.follows, sorted(s.pictures), s.fault) for s in samples] == [
        ("30_1", "final turn", "", ["reference", "source"], ""),
        ("139_1", "earlier turn", "", ["reference", "source"], ""),
        ("139_2", "final turn", "139_1", ["reference"], ""),
    ]
    final = with_predecessors(samples, filter_samples(samples, categories=["final turn"]))
    assert [s.id for s in final] == ["30_1", "139_1", "139_2"]
    assert [s.id for s in filter_samples(samples, categories=["final turn"], limit=1)] == ["30_1"]


def test_every_turn_starts_from_the_right_edit_before_it(authors: Authors, tmp_path: Path) -> None:
    write(authors, *ROWS)
    (tmp_path / "captions.json").write_text(json.dumps(CAPTIONS))
    samples = authors.samples(turns="all", captions_path=str(tmp_path / "captions.json"))
    assert [(s.id, s.category, s.follows) for s in samples][2] == ("139_2", "turn 2", "")
    assert Path(samples[2].source).read_bytes() == picture(1)
    assert [s.facts for s in samples] == [{}, {}, {"target_caption": "A cat with a hat."}]


def test_the_test_set_as_it_is_unpacked(authors: Authors) -> None:
    sessions = {
        "139": [
            {"input": "139-input.png", "mask": "139-mask1.png", "output": "139-output1.png", "instruction": "Turn 1."},
            {"input": "139-output1.png", "mask": "m.png", "output": "139-output2.png", "instruction": "Turn 2."},
        ]
    }
    names = ("input", "output1", "output2")
    authors.write({f"images/139/139-{name}.png": picture(number) for number, name in enumerate(names)})
    authors.write({"edit_sessions.json": sessions, "local_captions.json": CAPTIONS})
    first, second = authors.samples()
    write(authors, turn("139", 1), turn("139", 2))
    again = authors.samples()
    assert [s.pictures for s in again] == [first.pictures, second.pictures]
    assert second.facts == {"target_caption": "A cat with a hat."}
    assert [s.id for s in again] == [first.id, second.id]


def test_faults_and_notes(authors: Authors) -> None:
    broken = {"bytes": b"x", "path": "a.png"}
    jpeg = {"bytes": picture(3, "JPEG"), "path": "3.png"}
    rows = [turn("1", 1, target_img=None), turn("2", 1, source_img=broken), turn("3", 0), turn("4", 1, target_img=jpeg)]
    write(authors, *rows, turn("4", 1))
    benchmark = authors.benchmark()
    faults = [sample.fault for sample in benchmark.samples()]
    assert faults[0] == "no reference"
    assert "source: not a picture in a known format" in faults[1]
    assert faults[2] == "turn_index is 0, not a whole number from 1"
    assert faults[3:] == ["", "index 3 has the same id"]
    assert "sample '4_1': reference is declared as 'png' but is jpg: used as such" in benchmark.notes


@pytest.mark.parametrize("text", ["{", "[]", '{"139": "a"}'])
def test_captions_that_are_none(authors: Authors, tmp_path: Path, text: str) -> None:
    write(authors, *ROWS)
    (tmp_path / "captions.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"benchmark\.captions_path: .*captions\.json"):
        authors.samples(captions_path=str(tmp_path / "captions.json"))


def test_a_turn_that_is_missing_is_no_text_and_a_category_is_data(authors: Authors) -> None:
    write(authors, turn("1", 1), turn("2", 1, turn_index=None))
    first, second = authors.samples(turns="all")
    assert type(first.category) is str
    assert second.fault.startswith("turn_index is None,")


PIXELS = PictureMetrics.measures(PictureMetrics.Parameters(bicubic=True))
CLIP = EmbeddingMetrics.measures(EmbeddingMetrics.Parameters(text_similarity=True))


def protocol(measures):
    return MagicBrushScores(Numbers.Parameters(measures=measures))


def judged_row(asking, name, category, value, **about):
    of_sample = sample(name, category, **about)
    (question,) = asking.questions(of_sample)
    values = {name.removeprefix("earlier_"): value for name in question.gives}  # the judge knows no turns
    return judged(asking, of_sample, {"numbers": Reply(values=values)})


def test_names_are_the_authors():
    assert {*protocol(PIXELS).published} == {"L1", "L2"}
    assert {*protocol(CLIP).published} == {"CLIP-I or DINO", "CLIP-T"}
    assert not protocol(PictureMetrics.measures(PictureMetrics.Parameters())).published


def test_the_last_turns_alone_where_turns_follow_one_another():
    asking = protocol(PIXELS)
    rows = [
        judged_row(asking, "a", "final turn", 0.25),
        judged_row(asking, "b", "earlier turn", 0.9),
        judged_row(asking, "c", "final turn", 0.5),
    ]
    assert asking.published["L1"](rows) == 0.375
    assert [row.outcome("l1_bicubic") for row in rows] == [(Status.OK, ""), None, (Status.OK, "")]
    assert {*rows[1].scores} == {f"earlier_{name}" for name in rows[0].scores}
    assert (rows[1].headline, rows[1].score, rows[1].status) == ("earlier_l1", 0.9, Status.OK)
    assert fault(asking, sample("b", "earlier turn")) == ""
    apart = [judged_row(asking, "a", "turn 1", 0.25), judged_row(asking, "b", "turn 2", 0.75)]
    assert asking.published["L2"](apart) == 0.5


def test_their_script_stops_where_one_is_missing():
    asking = protocol(CLIP)
    told = {"facts": {"target_caption": "A hat."}}
    rows = [judged_row(asking, "a", "final turn", 0.5, **told), judged_row(asking, "b", "final turn", 0.5)]
    assert asking.published["CLIP-I or DINO"](rows) == 0.5
    with pytest.raises(Missing, match="stops at `b`: its benchmark does not have what that needs"):
        asking.published["CLIP-T"](rows)
    lost = judgement(asking, sample("c", "final turn"), Status.EDIT_FAILED, reason="the edit that it follows failed")
    with pytest.raises(Missing, match="stops at `c`: the edit that it follows failed"):
        asking.published["CLIP-I or DINO"]([*rows, lost])
    earlier = judgement(asking, sample("c", "earlier turn"), Status.EDIT_FAILED, reason="x")
    assert asking.published["CLIP-I or DINO"]([*rows, earlier]) == 0.5
