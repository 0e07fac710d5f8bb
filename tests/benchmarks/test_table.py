"""`table`: the same rows in every form of file, columns by common names, and every fault named with row and id."""

from __future__ import annotations

import base64
import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks.five_dimension_files import picture
from edit_eval.benchmarks.selection import refuse_bad
from edit_eval.benchmarks.table import TableBenchmark, ids_of
from edit_eval.config.loading import load_configuration
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.records import Sample
from edit_eval.reporting import language

Rows = Sequence[Mapping[str, Any]]
ROWS: Rows = [
    {"id": "a", "image": "pics/0.png", "prompt": "Add a hat, please.", "type": "add", "seed": "3"},
    {"id": "b", "image": "pics/1.png", "prompt": "加一顶帽子。", "type": "add", "seed": "4"},
    {"id": "c", "image": "pics/2.png", "prompt": 'Write "Hi".', "type": "text", "seed": ""},
]


class Folder:
    """A folder of three pictures, tables of any form, and a cache."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "pics").mkdir()
        for number in range(3):
            (path / "pics" / f"{number}.png").write_bytes(picture(number))

    def write(self, rows: Rows, name: str = "my.csv") -> Path:
        file = self.path / name
        if file.suffix in (".csv", ".tsv"):
            with open(file, "w", encoding="utf-8-sig", newline="") as opened:
                writer = csv.DictWriter(opened, rows[0], delimiter="\t" if file.suffix == ".tsv" else ",")
                writer.writeheader()
                writer.writerows(rows)
        elif file.suffix == ".parquet":
            pyarrow = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
        else:
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
            file.write_text("\n".join(lines) if file.suffix == ".jsonl" else f"[{','.join(lines)}]", "utf-8")
        return file

    def table(self, path: Path, **parameters: Any) -> TableBenchmark:
        return TableBenchmark(
            TableBenchmark.Parameters(**{"data_path": str(path), "cache_dir": str(self.path / "cache"), **parameters})
        )

    def samples(self, rows: Rows = (), name: str = "my.csv", **parameters: Any) -> list[Sample]:
        path = self.write(rows, name) if rows else self.path / name
        return list(self.table(path, **parameters).samples())

    def faults(self, *rows: Mapping[str, Any], **parameters: Any) -> list[str]:
        return [sample.fault for sample in self.samples(rows, **parameters)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


class TestForms:
    @pytest.mark.parametrize("name", ["my.csv", "my.tsv", "my.json", "my.jsonl", "my.parquet"])
    def test_the_same_samples_from_every_form(self, folder: Folder, name: str) -> None:
        samples = folder.samples(ROWS, name)
        assert [(sample.id, sample.instruction, sample.category, sample.fault) for sample in samples] == [
            ("a", "Add a hat, please.", "add", ""),
            ("b", "加一顶帽子。", "add", ""),
            ("c", 'Write "Hi".', "text", ""),
        ]
        assert [Path(sample.source).read_bytes() for sample in samples] == [picture(number) for number in range(3)]
        table = folder.table(folder.path / name)
        assert list(table.samples()) == samples
        assert table.notes == (
            f"columns of {name}: instruction = prompt, id = id, source = image, category = type; in no sample: seed; "
            "to take others, write `fields` below `benchmark`",
        )

    def test_pictures_inside_of_the_table(self, folder: Folder) -> None:
        data = picture(7)
        text = base64.b64encode(data).decode()
        jpeg = io.BytesIO()
        Image.new("RGB", (64, 48), "red").save(jpeg, "JPEG")
        for name, held, kept in (
            ("hub.parquet", {"bytes": data, "path": "x.png"}, data),
            ("bytes.parquet", data, data),
            ("text.csv", f"data:image/png;base64,{text}", data),
            ("long.jsonl", base64.b64encode(picture(7, size=(600, 450))).decode(), picture(7, size=(600, 450))),
            ("jpeg.parquet", {"bytes": jpeg.getvalue(), "path": "x.png"}, jpeg.getvalue()),
        ):
            table = folder.table(folder.write([{"image": held, "prompt": "Add a hat."}], name))
            (sample,) = table.samples()
            assert (sample.fault, sample.id, Path(sample.source).read_bytes()) == ("", "00000", kept)
        assert table.notes[1] == "sample '00000': source is declared as 'png' but is jpg: used as such"

    def test_a_folder_of_pictures_with_a_text_each_or_one_for_all(self, folder: Folder) -> None:
        pics = folder.path / "pics"
        for number in (0, 1):
            (pics / f"{number}.txt").write_text(f"Add {number} hats.\n")
        samples = folder.samples(name="pics")
        assert [(sample.id, sample.instruction) for sample in samples[:2]] == [
            ("0", "Add 0 hats."),
            ("1", "Add 1 hats."),
        ]
        assert "there is no 2.txt" in samples[2].fault
        for number in (0, 1):
            (pics / f"{number}.txt").unlink()
        (pics / "prompts.txt").write_text("1.png: Add a hat.\n0.png\tAdd two.\n\n2.png, Add a bird: a red one.\n")
        samples = folder.samples(name="pics")
        assert [sample.instruction for sample in samples] == ["Add two.", "Add a hat.", "Add a bird: a red one."]
        (pics / "3.png").write_bytes(picture(3))
        assert "prompts.txt has no line for 3.png" in folder.samples(name="pics")[3].fault

    def test_a_folder_with_a_table_in_it(self, folder: Folder) -> None:
        folder.write(ROWS)
        assert len(folder.samples(name=".")) == 3
        folder.write(ROWS, "other.csv")
        with pytest.raises(ConfigurationError, match=r"has several tables: my\.csv, other\.csv; give one"):
            folder.samples(name=".")
        folder.write(ROWS[:1], "metadata.csv")
        assert len(folder.samples(name=".")) == 1

    @pytest.mark.parametrize("inside", ["", "all/of/it/"])
    def test_a_zip_of_a_table_and_its_pictures(self, folder: Folder, inside: str) -> None:
        with zipfile.ZipFile(folder.path / "my.zip", "w") as archive:
            archive.write(folder.write(ROWS), f"{inside}my.csv")
            for number in range(2):
                archive.write(folder.path / "pics" / f"{number}.png", f"{inside}pics/{number}.png")
        for _ in range(2):
            samples = list(folder.table(folder.path / "my.zip").samples())
            assert [Path(sample.source).read_bytes() for sample in samples[:2]] == [picture(0), picture(1)]
            assert [sample.instruction for sample in samples] == [row["prompt"] for row in ROWS]
            assert samples[2].fault == (
                f"no source: there is no file '{inside}pics/2.png' in {folder.path} or in its archives"
            )
        with zipfile.ZipFile(folder.path / "my.zip", "a") as archive:
            archive.writestr("other.csv", "x")
        with pytest.raises(ConfigurationError, match=r"my\.zip has several tables: .*; unpack it, and give the table"):
            list(folder.table(folder.path / "my.zip").samples())

    def test_labels_of_a_data_set_have_names(self, folder: Folder) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        label = {"names": ["add", "remove"], "_type": "ClassLabel"}
        said = {"info": {"features": {"type": label, "prompt": {"dtype": "string", "_type": "Value"}}}}
        rows = [{"image": "pics/0.png", "prompt": "Do it.", "type": number} for number in (1, 0, -1, 7)]
        table = pyarrow.Table.from_pylist(rows).replace_schema_metadata({"huggingface": json.dumps(said)})
        parquet.write_table(table, folder.path / "my.parquet")
        samples = list(folder.table(folder.path / "my.parquet").samples())
        assert [sample.category for sample in samples] == ["remove", "add", "", "7"]

    def test_a_json_of_categories(self, folder: Folder) -> None:
        row = {"image": "pics/0.png", "prompt": "Add a hat."}
        (folder.path / "my.json").write_text(json.dumps({"add": [row], "remove": [row, row]}))
        assert [sample.category for sample in folder.samples(name="my.json")] == ["add", "remove", "remove"]


class TestColumns:
    def test_several_sources_reference_mask_and_all_else(self, folder: Folder) -> None:
        row = {
            "Edit Prompt": "Put both together.",
            "image1": "pics/0.png",
            "image2": "pics/1.png",
            "target_img": "pics/2.png",
            "mask": "pics/2.png",
            "tags": "warm, light;night",
            "difficulty": "hard",
            "caption": "A cat.",
        }
        (sample,) = folder.samples([row])
        assert list(sample.pictures) == ["source", "source_2", "mask", "reference"]
        assert (sample.tags, sample.difficulty, sample.description) == (("warm", " light", "night"), "hard", "A cat.")
        (sample,) = folder.samples([{"images": ["pics/0.png", "pics/1.png"], "prompt": "Mix."}], "my.jsonl")
        assert list(sample.pictures) == ["source", "source_2"]

    def test_the_columns_of_the_runs_language_come_first(self, folder: Folder) -> None:
        row = {"image": "pics/0.png", "prompt": "?", "instruction_en": "Add a hat.", "instruction_cn": "加帽子。"}
        assert [folder.samples([row], language=code)[0].instruction for code in ("en", "zh")] == [
            "Add a hat.",
            "加帽子。",
        ]

    def test_fields_say_otherwise(self, folder: Folder) -> None:
        rows = [{"x": "pics/0.png", "y": "Add a hat.", "type": "t"}]
        (sample,) = folder.samples(rows, fields={"source": "x", "instruction": "y", "category": ""})
        assert (sample.instruction, sample.category, sample.fault) == ("Add a hat.", "", "")
        for fields, said in (
            ({}, r"no column for the instruction; it has x, y, type; .*: `--set benchmark.fields.instruction=NAME`"),
            ({"instruction": "y"}, "has no column for the source"),
            (
                {"instruction": "z"},
                r"benchmark\.fields\.instruction: .*my\.csv has no column 'z'; valid are x, y, type",
            ),
            ({"sorce": "x"}, "there is no field 'sorce'; did you mean 'source'"),
        ):
            with pytest.raises(ConfigurationError, match=said):
                folder.samples(rows, fields=fields)

    def test_a_sample_that_follows_another_needs_no_source(self, folder: Folder) -> None:
        rows = [ROWS[0] | {"follows": ""}, ROWS[1] | {"follows": "a", "image": ""}]
        assert [(sample.follows, list(sample.pictures), sample.fault) for sample in folder.samples(rows)] == [
            ("", ["source"], ""),
            ("a", [], ""),
        ]


class TestNames:
    """What samples are called in a table without ids: as their pictures, so that folders of edits find them."""

    @pytest.mark.parametrize(
        ("sources", "ids"),
        [
            (["a/cat.jpg", "b\\\\dog.PNG"], ["cat", "dog"]),
            (["cat.jpg", "", "dog.jpg"], ["cat", "00001", "dog"]),
            (["cat.jpg", "other/CAT.png"], ["00000", "00001"]),
            (["caf\u00e9.jpg", "cafe\u0301.jpg"], ["00000", "00001"]),
            (["00001.jpg", ""], ["00000", "00001"]),
            (["cat.jpg", "dog.jpg", "cat.jpg"], ["00000", "dog", "00002"]),
            (["cat.jpg", "00002.jpg", "cat.jpg"], ["00000", "00001", "00002"]),
            ([], []),
        ],
    )
    def test_by_their_paths(self, sources: list[str], ids: list[str]) -> None:
        assert ids_of(sources) == ids

    def test_two_instructions_for_one_picture_are_two_rows(self, folder: Folder) -> None:
        plain = [{name: value for name, value in row.items() if name != "id"} for row in ROWS]
        assert [sample.id for sample in folder.samples(plain)] == ["0", "1", "2"]
        twice = [plain[0], plain[0] | {"prompt": "Make it red."}]
        assert [(sample.id, sample.fault) for sample in folder.samples(twice)] == [("00000", ""), ("00001", "")]

    @pytest.mark.parametrize("again", [False, True], ids=["read", "remembered"])
    def test_who_lost_a_name_is_said_in_one_line(self, folder: Folder, again: bool) -> None:
        rows = [{name: value for name, value in row.items() if name != "id"} for row in ROWS]
        path = folder.write([*rows, rows[1] | {"prompt": "Make it red."}], "my.csv")
        for _ in range(1 + again):
            table = folder.table(path)
            assert [sample.id for sample in table.samples()] == ["0", "00001", "2", "00003"]
            _, note = table.notes
        assert note == (
            "2 samples have ids by their row (00001, 00003), as their pictures' names are not theirs alone ('1'): name "
            "their edits by these ids, or give the table a column `id`"
        )


class TestFaults:
    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ({"prompt": " "}, "no instruction"),
            ({"image": ""}, "no source"),
            ({"image": "pics/9.png"}, "no source: there is no file 'pics/9.png' in "),
            ({"image": "../x.png"}, "`pictures_path` names the folder that holds the pictures"),
            ({"image": "https://x.org/a.png"}, "is an address: download it, and give the file"),
            ({"image": "my.csv"}, "source 'my.csv': not a picture in a known format"),
            ({"image": "data:image/png;base64,?"}, "source: not a picture in a known format"),
        ],
    )
    def test_each_is_named(self, folder: Folder, changes: dict[str, str], fault: str) -> None:
        good, bad = folder.faults(ROWS[0], ROWS[1] | changes)
        assert good == ""
        assert fault in bad

    def test_pictures_in_a_folder_below_are_named(self, folder: Folder) -> None:
        (below,) = folder.faults(ROWS[0] | {"image": "0.png"})
        assert below.endswith("; there is one in pics: `pictures_path` names the right folder")

    def test_with_row_and_id(self, folder: Folder) -> None:
        samples = folder.samples([ROWS[0], ROWS[1] | {"id": "a"}, ROWS[2] | {"prompt": ""}])
        with pytest.raises(BenchmarkError) as caught:
            refuse_bad(samples)
        same = "sample 1 (a#1): index 0 has the same id (fields: {id: NAME} takes ids from another field)"
        assert caught.value.faults == (same, "sample 2 (c): no instruction")

    def test_with_the_line_of_a_file_of_lines(self, folder: Folder) -> None:
        text = 'id,image,prompt\na,pics/0.png,"Add a hat,\nplease."\n\nb,pics/1.png,\n'
        text += "c,pics/9.png,Add.\nd,pics/1.png,x,y\n"
        (folder.path / "my.csv").write_text(text)
        for _ in range(2):  # the second time it is remembered
            table = folder.table(folder.path / "my.csv")
            samples = list(table.samples())
            with pytest.raises(BenchmarkError) as caught:
                refuse_bad(samples, lines=table.lines)
            first, second, third = caught.value.faults
            assert first == "line 5, sample 1 (b): no instruction"
            assert second.startswith("line 6, sample 2 (c): no source: there is no file 'pics/9.png'")
            assert third.startswith("line 7, sample 3 (00003): the row has 4 cells for 3 columns")
            assert language.translate(second, "zh").startswith("第 6 行"), (
                "a fault that is remembered keeps its template"
            )

    def test_a_missing_picture_that_has_come_is_found(self, folder: Folder) -> None:
        assert folder.faults(ROWS[0] | {"image": "pics/9.png"}) != [""]
        (folder.path / "pics" / "9.png").write_bytes(picture(9))
        assert [sample.fault for sample in folder.samples()] == [""]

    @pytest.mark.parametrize(
        ("name", "data", "said"),
        [
            ("my.csv", b"image,prompt\n" + "0.png,加帽子\n".encode("gb18030"), "save it as CSV in UTF-8"),
            ("my.csv", b"", "is empty"),
            ("my.csv", b"a,b,a\n1,2,3\n", "has the column `a` twice"),
            ("my.csv", b'image,prompt\n0.png,"a\n', "is not valid CSV"),
            ("my.xlsx", b"PK", "is not a folder, and not one of .csv, .tsv, .json, .jsonl, .ndjson, .parquet"),
            ("my.json", b"<html>", "is not JSON"),
            ("my.parquet", b"PAR1", "is not a complete Parquet file"),
        ],
    )
    def test_a_file_of_something_else(self, folder: Folder, name: str, data: bytes, said: str) -> None:
        (folder.path / name).write_bytes(data)
        with pytest.raises(ConfigurationError) as caught:
            folder.samples(name=name)
        assert said in str(caught.value)

    def test_a_row_with_too_many_cells(self, folder: Folder) -> None:
        (folder.path / "my.csv").write_text("image,prompt\npics/0.png,Add a hat, please.\npics/1.png,Add.\n\n")
        bad, good = folder.samples(name="my.csv")
        assert bad.fault.startswith("the row has 3 cells for 2 columns: put quotes around text with commas")
        assert (good.fault, good.id) == ("", "1")

    def test_half_a_data_set_is_none(self, folder: Folder) -> None:
        (folder.path / "data").mkdir()
        folder.write(ROWS, "data/train-00000-of-00002.parquet")
        with pytest.raises(ConfigurationError, match=r"is incomplete: train-00001-of-00002\.parquet is missing"):
            folder.samples(name="data")


class TestConfiguration:
    def test_a_files_name_is_enough(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.write(ROWS)
        monkeypatch.chdir(folder.path)
        models = {"diffusion_model": {"type": "copy_source"}, "reward_model": {"type": "testing"}}
        loaded = load_configuration({"benchmark": "my.csv", **models}, limit=1, overrides=["benchmark.language=zh"])
        assert (loaded.benchmark.type, loaded.benchmark.parameters["data_path"]) == ("table", "my.csv")
        assert (loaded.benchmark.language, loaded.benchmark.filters.limit) == ("zh", 1)
        protocol = loaded.judges["testing"].protocol
        assert protocol is not None
        assert (protocol.type, protocol.parameters["general"]) == ("rubric", True)
        loaded = load_configuration({"benchmark": "gedit", **models})
        assert loaded.benchmark.parameters["data_path"] == "hub:stepfun-ai/GEdit-Bench@58159f3"
        with pytest.raises(ConfigurationError, match="no such file: gedti; did you mean `gedit`"):
            load_configuration({"benchmark": "gedti", **models})
