"""`imgedit`: the authors' JSON with pictures in folders, a zip or a tar; slips, faults and turns are named.

`imgedit`: means worked out by hand, and the authors' number with each of their ways with failures.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.authors_files import Authors
from benchmarks.five_dimension_files import picture
from edit_eval.asking import with_clusters
from edit_eval.benchmarks.selection import filter_samples, with_predecessors
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.imgedit import LINES, TYPES, ImgEdit, ImgEditScores
from edit_eval.protocols.contract import Missing
from edit_eval.records import Reply, Status
from protocols.judged import judged, judgement, sample

ROWS = {
    "1082": {"id": "animal/1.jpg", "prompt": "Smooth the shell.", "edit_type": "adjust"},
    "673": {"id": "style/2.jpg", "prompt": "As a woodcut.", "edit_type": "style"},
}
PICTURES = {"animal/1.jpg": picture(1, "JPEG"), "style/2.jpg": picture(2, "JPEG")}


@pytest.fixture
def authors(tmp_path: Path) -> Authors:
    return Authors(tmp_path, ImgEdit)


def row(**changes: Any) -> dict[str, Any]:
    return ROWS["1082"] | changes


class TestSamples:
    @pytest.mark.parametrize("packed", ["", "Benchmark.tar", "Benchmark.zip"])
    def test_a_folder_or_an_archive(self, authors: Authors, packed: str) -> None:
        files = {f"Benchmark/singleturn/{name}": data for name, data in PICTURES.items()}
        files["Benchmark/singleturn/singleturn.json"] = ROWS
        authors.pack(packed, files) if packed else authors.write(files)
        samples = authors.samples()
        assert [(s.index, s.id, s.category, s.fault) for s in samples] == [
            (0, "1082", "adjust", ""),
            (1, "673", "style", ""),
        ]
        assert samples[0].source_digest == hashlib.sha256(PICTURES["animal/1.jpg"]).hexdigest()
        assert Path(samples[1].source).read_bytes() == PICTURES["style/2.jpg"]
        assert authors.samples() == samples

    def test_json_and_pictures_apart(self, authors: Authors, tmp_path: Path) -> None:
        Authors(tmp_path / "hub", ImgEdit).pack("Benchmark.tar", PICTURES)
        authors.write({"basic_edit.json": ROWS})
        named = str(authors.folder / "basic_edit.json")
        for place in ("hub/data", "hub/data/Benchmark.tar"):
            samples = authors.samples(data_path=named, pictures_path=str(tmp_path / place))
            assert [s.fault for s in samples] == ["", ""]
        assert ["there is no file 'animal/1.jpg'" in s.fault for s in authors.samples()] == [True, False]

    def test_edits_without_a_type_are_asked_one_question(self, authors: Authors) -> None:
        authors.write({"UGE_edit.json": {"1": {"id": "1.jpg", "prompt": "Remove it."}}, "1.jpg": picture()})
        (sample,) = authors.samples(suite="uge")
        assert (sample.category, sample.facts, sample.fault) == ("uge", {"asks": ["whole"]}, "")

    def test_a_turn_has_the_edit_before_it_as_its_source(self, authors: Authors) -> None:
        turns = {"1": {"id": "1.jpg", "turn1": "Green.", "turn2": "Fruit.", "turn3": "Plate."}}
        authors.write({"content_memory/annotation.json": turns, "content_memory/1.jpg": picture()})
        samples = authors.samples(suite="multi_turn")
        assert [(s.id, s.follows, sorted(s.pictures), s.fault) for s in samples] == [
            ("content_memory_1_1", "", ["source"], ""),
            ("content_memory_1_2", "content_memory_1_1", [], ""),
            ("content_memory_1_3", "content_memory_1_2", [], ""),
        ]
        chosen = with_clusters(with_predecessors(samples, filter_samples(samples, sample_ids=["content_memory_1_3"])))
        assert [s.fault for s in chosen] == ["", "", ""], "what it follows is chosen, too"
        assert len({s.cluster for s in chosen}) == 1


class TestFaultsAndNotes:
    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ({"prompt": "  "}, "no prompt"),
            ({"prompt": ["a"]}, "prompt is a list, not a string"),
            ({"prompt": "x" * 100_001}, "prompt is longer than 100000 characters"),
            ({"edit_type": None}, "no edit_type"),
            ({"edit_type": "colourise"}, "edit_type is 'colourise', not one of replace, add"),
            ({"id": ""}, "no source"),
            ({"id": 3}, "no source: its name is a number, not a string"),
            ({"id": "gone.jpg"}, "no source: there is no file 'gone.jpg' in "),
            ({"id": "../secret.jpg"}, "no source: '../secret.jpg' points outside the benchmark's folder"),
            ({"id": "broken.jpg"}, "source 'broken.jpg': truncated"),
        ],
    )
    def test_each_is_named(self, authors: Authors, changes: dict[str, Any], fault: str) -> None:
        broken = {"broken.jpg": picture(9, "JPEG")[:-40]}
        authors.write({"basic_edit.json": {"1": row(), "2": row(**changes)}} | PICTURES | broken)
        good, bad = authors.samples()
        assert good.fault == ""
        assert fault in bad.fault
        assert not bad.pictures

    def test_what_was_put_right_is_noted(self, authors: Authors) -> None:
        rows = {"1": row(edit_type=" Style"), "2": row(edit_type="repalce"), "3": row(id="png.jpg")}
        authors.write({"basic_edit.json": rows} | PICTURES | {"png.jpg": picture(3)})
        benchmark = authors.benchmark()
        assert [(s.category, s.fault) for s in benchmark.samples()] == [("style", ""), ("replace", ""), ("adjust", "")]
        first, *others = benchmark.notes
        assert "has 3 rows; the authors' sets have 737" in first
        assert others == [
            "sample '1': edit_type ' Style' is taken as 'style'",
            "sample '2': edit_type 'repalce' is taken as 'replace'",
            "sample '3': source 'png.jpg' is declared as 'jpg' but is png: used as such",
        ]

    def test_a_key_that_stands_twice_loses_nothing(self, authors: Authors) -> None:
        text = b'{"1": {"id": "animal/1.jpg", "prompt": "A.", "edit_type": "add"}, "1": {"id": "style/2.jpg"}}'
        authors.write({"basic_edit.json": text} | PICTURES)
        first, second = authors.samples()
        assert (first.id, first.fault) == ("1", "")
        assert second.id == "1#1"
        assert "index 0 has the same id" in second.fault

    def test_a_picture_that_comes_later_is_found(self, authors: Authors) -> None:
        authors.write({"basic_edit.json": {"1": row()}})
        assert authors.samples()[0].fault
        authors.write(PICTURES)
        assert authors.samples()[0].fault == ""

    def test_a_name_of_two_files(self, authors: Authors) -> None:
        authors.write({"basic_edit.json": {"1": row()}} | {f"{top}/animal/1.jpg": picture(1, "JPEG") for top in "ab"})
        fault = "is the name of several files: a/animal/1.jpg and b/animal/1.jpg"
        assert fault in authors.samples()[0].fault

    def test_what_cannot_be_unpacked_here_is_said(self, authors: Authors) -> None:
        authors.write({"basic_edit.json": ROWS, "Benchmark.tar.gz": b"x", "Benchmark.zip": b"PK"})
        with pytest.raises(ConfigurationError, match=r"Benchmark\.zip is not a complete archive"):
            authors.samples()
        (authors.folder / "Benchmark.zip").unlink()
        assert "; unpack Benchmark.tar.gz" in authors.samples()[0].fault

    def test_an_archive_with_a_password(self, authors: Authors) -> None:
        authors.pack("a.zip", PICTURES)
        data = bytearray((authors.folder / "a.zip").read_bytes())
        with zipfile.ZipFile(authors.folder / "a.zip") as archive:
            for info in archive.infolist():
                data[info.header_offset + 6] |= 1
        for start in [i for i in range(len(data)) if data[i : i + 4] == b"PK\1\2"]:
            data[start + 8] |= 1
        authors.write({"basic_edit.json": ROWS, "a.zip": bytes(data)})
        assert "a.zip is password-protected; unpack it" in authors.samples()[0].fault

    @pytest.mark.parametrize(
        ("files", "said"),
        [
            ({"other.json": {}}, r"has no basic_edit\.json or singleturn\.json in it"),
            ({"basic_edit.json": b'{"1": {'}, r"basic_edit\.json ends in the middle of its JSON after 7 bytes"),
            ({"basic_edit.json": b"\xff"}, "is not JSON in UTF-8"),
            ({"basic_edit.json": 3}, "is not JSON in UTF-8: it begins with b'3'"),
            ({"basic_edit.json": []}, "has no rows"),
        ],
    )
    def test_a_file_of_something_else(self, authors: Authors, files: dict[str, Any], said: str) -> None:
        authors.write(files)
        with pytest.raises(ConfigurationError, match=said):
            authors.samples()


def protocol(**parameters):
    made = ImgEditScores.Parameters(**parameters)
    return ImgEditScores(made, json.loads(json.dumps(ImgEditScores.texts(made))))


def said(*numbers):
    return json.dumps({"reasoning": "So.", "score": list(numbers)})


def judged_row(asking, name, kind, reply):
    return judged(asking, sample(name, kind), {kind: reply})


class TestOurs:
    def test_the_mean_of_three(self):
        assert judged_row(protocol(), "a", "style", said(1, 5, 5)).scores == {"score": 11 / 3}

    def test_edits_without_a_type_have_one(self):
        about = sample(category="uge", facts={"asks": ["whole"]})
        assert judged(protocol(), about, {"whole": said(4)}).scores == {"score": 4}
        published = protocol().published["Overall"]
        three = [judged(protocol(), sample(n, "uge", facts={"asks": ["whole"]}), {"whole": said(4)}) for n in "ab"]
        assert published([*three, judged(protocol(), about, {"whole": said(3)})]) == 3.67

    def test_turns_have_no_number_of_theirs(self):
        about = sample(category="content_memory", facts={"asks": ["whole"]})
        with pytest.raises(Missing, match="the authors let people judge"):
            protocol().published["Overall"]([judged(protocol(), about, {"whole": said(4)})])


def test_the_authors_prompts_are_those_of_basic(tmp_path):
    (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, "<edit_prompt>")))
    asking = protocol(prompts="official", prompts_path=str(tmp_path))
    assert asking.questions(sample(category="add"))
    with pytest.raises(ConfigurationError, match="has the prompts of the suite `basic` alone"):
        asking.questions(sample(category="uge", facts={"asks": ["whole"]}))


class TestPublished:
    """`step1_get_avgscore.py` and `step2_typescore.py` on the same replies give 3.67 and 3.5, and so 3.585."""

    @pytest.fixture(params=["ours", "official"])
    def asking(self, request, tmp_path):
        if request.param == "ours":
            return protocol()
        (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, "<edit_prompt>")))
        return protocol(prompts="official", prompts_path=str(tmp_path))

    def reply(self, asking, kind, *numbers):
        if not asking.is_official:
            return said(*numbers)
        return "\n".join(f"{name}: {number}" for name, number in zip(LINES[kind], numbers, strict=True))

    def rows(self, asking):
        replies = [("a", "add", 5, 5, 1), ("b", "style", 4, 4, 4), ("c", "style", 1, 3, 5)]
        return [judged_row(asking, name, kind, self.reply(asking, kind, *numbers)) for name, kind, *numbers in replies]

    def test_by_hand(self, asking):
        assert asking.published["Overall"](self.rows(asking)) == (3.67 + 3.5) / 2

    def test_what_cannot_be_read_is_left_out(self, asking):
        rows = [
            *self.rows(asking),
            judged_row(asking, "d", "add", "Who knows?"),
            judged_row(asking, "e", "action", "?"),
        ]
        assert asking.published["Overall"](rows) == (3.67 + 3.5) / 2

    @pytest.mark.parametrize("status", [Status.EDIT_FAILED, Status.SKIPPED])
    def test_their_script_stops_at_what_is_missing(self, asking, status):
        rows = [*self.rows(asking), judgement(asking, sample("d"), status, reason="no picture")]
        with pytest.raises(Missing, match="the authors' script stops at `d`: no picture"):
            asking.published["Overall"](rows)

    def test_and_at_a_judge_that_failed(self, asking):
        failed = Reply(ended=Status.JUDGE_ERROR, final=True)
        with pytest.raises(Missing, match="stops at `d`"):
            asking.published["Overall"]([*self.rows(asking), judged_row(asking, "d", "add", failed)])

    def test_there_is_none_before_all_is_judged(self, asking):
        later = judged(asking, sample("d"), {"add": "?"}, retries=2)
        with pytest.raises(Missing, match="not every edit has been judged yet"):
            asking.published["Overall"]([*self.rows(asking), later])
        with pytest.raises(Missing, match="no edit was judged"):
            asking.published["Overall"]([])

    def test_a_line_that_is_not_theirs_leaves_the_mean_alone(self, tmp_path):
        """What their `step1_get_avgscore.py` makes of `4.`, `4/5`, bold names and a 7."""
        (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, "<edit_prompt>")))
        asking = protocol(prompts="official", prompts_path=str(tmp_path))
        for replies, wanted in (
            (("4.", "4", "3"), 3.5),
            (("4/5", "4", "3"), 3.5),
            (("7", "4", "4"), 5.0),
            (("1", "5", "5"), 3.67),
        ):
            text = self.reply(asking, "add", *replies)
            assert asking.published["Overall"]([judged_row(asking, "a", "add", text)]) == wanted
        bold = self.reply(asking, "add", 2, 4, 5).replace("Prompt Compliance", "**Prompt Compliance**")
        assert asking.published["Overall"]([judged_row(asking, "a", "add", bold)]) == 3.67
        assert asking.published["Overall"]([judged_row(asking, "a", "add", bold.replace("**:", ":**"))]) == 4.5
