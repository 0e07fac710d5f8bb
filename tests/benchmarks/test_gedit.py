"""`gedit`: the hub's Parquet as it is; keys that repeat, two languages, a subset, and every fault named at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from five_dimension_files import picture

from edit_eval.benchmarks.parquet_rows import ParquetRows
from edit_eval.benchmarks.selection import refuse_bad
from edit_eval.config.loading import load_configuration
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.published.gedit import GEdit
from edit_eval.records import Sample
from late_imports import Late

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")


def schema() -> Any:
    """As `datasets` writes it: a picture is a struct of its file's bytes and a path."""
    as_written = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    return pyarrow.schema(
        [
            ("task_type", pyarrow.string()),
            ("key", pyarrow.string()),
            ("instruction", pyarrow.string()),
            ("instruction_language", pyarrow.string()),
            ("input_image", as_written),
            ("input_image_raw", as_written),
            ("Intersection_exist", pyarrow.bool_()),
        ]
    )


def row(number: int = 0, **changes: Any) -> dict[str, Any]:
    whole = {
        "task_type": "subject-add",
        "key": f"{number:032x}",
        "instruction": "Add a hat.",
        "instruction_language": "en",
        "input_image": {"bytes": picture(number), "path": None},
        "input_image_raw": {"bytes": picture(number, size=(64, 48)), "path": f"{number}.png"},
        "Intersection_exist": True,
    }
    return whole | changes


ROWS = [
    row(0),
    row(0, instruction_language="cn", instruction="加一顶帽子。"),
    row(1, task_type="subject-replace", Intersection_exist=False),
    row(1, task_type="subject-remove"),  # the same key under another task type, as in the data set
    row(2, task_type="tone_transfer", instruction_language="cn", instruction="改成夜晚。"),
]


class Hub:
    """A folder as the hub's snapshots have it, in shards, and a cache beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, *shards: Sequence[Mapping[str, Any]], shape: Any = None) -> None:
        for number, rows in enumerate(shards):
            path = self.folder / "data" / f"train-{number:05d}-of-{len(shards):05d}.parquet"
            path.parent.mkdir(exist_ok=True)
            parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=shape or schema()), path)

    def benchmark(self, **parameters: Any) -> GEdit:
        about = {"data_path": str(self.folder), "cache_dir": str(self.folder / "cache")}
        return GEdit(GEdit.Parameters(**(about | parameters)))

    def samples(self, *rows: Mapping[str, Any], **parameters: Any) -> list[Sample]:
        if rows:
            self.write(rows)
        return list(self.benchmark(**parameters).samples())


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path)


class TestSamples:
    def test_one_language_in_the_files_order_with_its_place_in_all_of_them(self, hub: Hub) -> None:
        hub.write(ROWS[:2], ROWS[2:])
        samples = list(hub.benchmark().samples())
        assert [sample.index for sample in samples] == [0, 2, 3]
        assert [sample.category for sample in samples] == ["subject-add", "subject-replace", "subject-remove"]
        assert not any(sample.fault for sample in samples)
        chinese = hub.samples(language="zh")
        assert [(sample.index, sample.instruction) for sample in chinese] == [(1, "加一顶帽子。"), (4, "改成夜晚。")]
        assert {sample.language for sample in chinese} == {"zh"}

    def test_ids_have_task_type_and_language_for_keys_repeat(self, hub: Hub) -> None:
        key = f"{1:032x}"
        ids = [sample.id for sample in hub.samples(*ROWS)]
        assert ids[1:] == [f"subject-replace_en_{key}", f"subject-remove_en_{key}"]
        assert hub.samples(language="zh")[0].id == f"subject-add_zh_{0:032x}"

    def test_the_intersection_is_a_subset_and_a_tag(self, hub: Hub) -> None:
        assert [sample.tags for sample in hub.samples(*ROWS)] == [("intersection",), (), ("intersection",)]
        assert [sample.index for sample in hub.samples(subset="intersection")] == [0, 3]

    def test_the_source_is_the_picture_that_is_compared_with_the_edit_or_the_one_before(self, hub: Hub) -> None:
        for column, data in (("input_image", picture(0)), ("input_image_raw", picture(0, size=(64, 48)))):
            first = hub.samples(*ROWS[:2], picture=column)[0]
            assert Path(first.source).read_bytes() == data
            assert first.cluster == first.source_digest == hashlib.sha256(data).hexdigest()

    def test_a_column_of_plain_bytes_is_a_picture_too(self, hub: Hub) -> None:
        hub.write(
            [row(3, input_image=picture(3))], shape=schema().set(4, pyarrow.field("input_image", pyarrow.binary()))
        )
        assert [sample.fault for sample in hub.samples()] == [""]


class TestFaults:
    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ({"instruction": " "}, "no instruction"),
            ({"key": None}, "no key"),
            ({"task_type": ""}, "no task_type"),
            ({"instruction": "x" * 100_001}, "instruction is longer than 100000 characters"),
            ({"instruction_language": "fr"}, "instruction_language is 'fr', not en or cn"),
            ({"instruction_language": None}, "instruction_language is 'None', not en or cn"),
            ({"Intersection_exist": None}, "Intersection_exist is neither true nor false"),
            ({"input_image": None}, "no source: its column holds no bytes"),
            ({"input_image": {"bytes": None, "path": "a.png"}}, "no source: its column holds no bytes"),
            ({"input_image": {"bytes": b"<html>", "path": ""}}, "source: not a picture in a known format"),
            ({"input_image": {"bytes": picture()[:-20], "path": ""}}, "source: truncated"),
        ],
    )
    @pytest.mark.parametrize("subset", ["full", "intersection"])
    def test_each_is_named(self, hub: Hub, changes: dict[str, Any], fault: str, subset: str) -> None:
        good, bad = hub.samples(row(0), row(1, **changes), subset=subset)
        assert (good.fault, good.index) == ("", 0)
        assert fault in bad.fault
        assert (bad.source, bad.index) == ("", 1)

    def test_all_at_once_with_index_and_id(self, hub: Hub) -> None:
        samples = hub.samples(row(0), row(1, instruction="", input_image=None), row(2, task_type=None), row(0))
        with pytest.raises(BenchmarkError, match="and 2 more bad samples") as caught:
            refuse_bad(samples)
        assert caught.value.faults == (
            f"sample 1 (subject-add_en_{1:032x}): no source: its column holds no bytes; no instruction",
            f"sample 2 (_en_{2:032x}): no task_type",
            f"sample 3 (subject-add_en_{0:032x}#3): index 0 has the same id",
        )

    def test_a_file_of_something_else(self, hub: Hub) -> None:
        with pytest.raises(ConfigurationError, match=r"has no \.parquet file"):
            hub.samples()
        hub.write(ROWS, shape=schema().remove(0))
        with pytest.raises(ConfigurationError, match="has no column `task_type`; it has key, instruction"):
            hub.samples()
        with pytest.raises(ConfigurationError, match="does not exist"):
            hub.samples(data_path=str(hub.folder / "other.parquet"))


class TestPass:
    def test_a_later_start_reads_nothing_whatever_its_language(self, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        before = hub.samples(*ROWS)
        benchmark = hub.benchmark()
        monkeypatch.setattr(ParquetRows, "rows", lambda self: pytest.fail("the files were read again"))
        assert list(benchmark.samples()) == before
        assert len(hub.samples(language="zh", subset="intersection")) == 2
        monkeypatch.undo()
        assert benchmark.position == (0, 0)

    def test_how_far_the_reading_is(self, hub: Hub) -> None:
        hub.write(ROWS[:2], ROWS[2:])
        benchmark = hub.benchmark()
        assert len(list(benchmark.samples())) == 3
        size = sum(path.stat().st_size for path in (hub.folder / "data").iterdir())
        assert benchmark.position == (size, size)

    def test_changed_files_are_read_again(self, hub: Hub) -> None:
        hub.samples(*ROWS)
        (sample,) = hub.samples(row(7, instruction="Another."))
        assert sample.instruction == "Another."

    def test_a_source_that_was_altered_is_taken_from_the_files_again(self, hub: Hub) -> None:
        first = hub.samples(*ROWS)[0]
        data = Path(first.source).read_bytes()
        Path(first.source).write_bytes(b"x" * len(data))
        assert "1 source image in the cache is not what was recorded" in hub.benchmark().verify()
        assert hub.samples()[0] == first
        assert Path(first.source).read_bytes() == data
        assert hub.benchmark().verify() == ""


def test_its_judges_follow_viescore_in_its_language(hub: Hub) -> None:
    hub.write(ROWS)
    (hub.folder / "c.yaml").write_text(
        f"benchmark: {{type: gedit, data_path: {hub.folder}, language: zh}}\n"
        "diffusion_model: {type: copy_source}\n"
        "reward_model: {type: testing}\n"
    )
    (judge,) = load_configuration(hub.folder / "c.yaml").judges.values()
    assert judge.protocol is not None
    assert (judge.protocol.type, judge.protocol.parameters["language"]) == ("viescore", "zh")
