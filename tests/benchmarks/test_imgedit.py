"""`imgedit`: the authors' JSON with pictures in folders, a zip or a tar; slips, faults and turns are named."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from authors_files import Authors
from five_dimension_files import picture

from edit_eval.benchmarks.selection import select
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import with_clusters
from edit_eval.published.imgedit import ImgEdit

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
        chosen = with_clusters(select(samples, sample_ids=["content_memory_1_3"]))
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
            "index 0 ('1'): edit_type ' Style' is taken as 'style'",
            "index 1 ('2'): edit_type 'repalce' is taken as 'replace'",
            "index 2 ('3'): source 'png.jpg' is declared as 'jpg' but is png: used as such",
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
