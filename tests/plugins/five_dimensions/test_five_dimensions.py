"""The five-dimension benchmark: every fault named, ids unique, names as the user's file has them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from benchmarks.five_dimension_files import Place, encoded, item, picture
from edit_eval.errors import ConfigurationError
from edit_eval.pictures import open_picture
from edit_eval.plugins.five_dimensions.benchmark import FiveDimensions
from own_components import adapter_of

MINI = Path(__file__).parents[3] / "shared" / "data" / "five_dimensions_mini"
needs_mini = pytest.mark.skipif(not MINI.is_dir(), reason="the five real items are not here")


@needs_mini
class TestRealItems:
    def test_all_of_them(self, tmp_path: Path) -> None:
        parameters = FiveDimensions.Parameters(str(MINI / "benchmark.json"), cache_dir=str(tmp_path))
        benchmark = FiveDimensions(parameters)
        samples = list(benchmark.samples())
        assert [sample.category for sample in samples] == [
            "physical",
            "causal",
            "social",
            "environmental",
            "referential",
        ]
        assert [sample.id for sample in samples] == sorted(path.stem for path in (MINI / "edits_en").iterdir())
        assert [sample.index for sample in samples] == list(range(5))
        assert not any(sample.fault for sample in samples)
        # JPEGs that were taken from a `.png` elsewhere are as they should be.
        (note,) = benchmark.notes
        assert note == "sample '00001_因果_hard': src_img_b64 has transparency (RGBA): shown on white"
        raw = json.loads((MINI / "benchmark.json").read_bytes())
        for sample, original in zip(samples, raw, strict=True):
            data = base64.b64decode(original["src_img_b64"])
            assert Path(sample.source).read_bytes() == data
            assert sample.source_digest == hashlib.sha256(data).hexdigest()
            assert sample.instruction == sample.instructions["en"] == original["edit_instruction_en"]
            assert sample.instructions["zh"] == original["edit_instruction"]
            assert sample.description == original["original_description_en"]
            assert sample.rationale == original["rationale_short_en"]
            assert sample.difficulty == original["difficulty"]
            assert sample.tags == tuple(original["tags"])
            assert open_picture(sample.source).mode == "RGB"

    def test_in_chinese(self, tmp_path: Path) -> None:
        parameters = FiveDimensions.Parameters(str(MINI / "benchmark.json"), language="zh", cache_dir=str(tmp_path))
        sample = next(iter(FiveDimensions(parameters).samples()))
        assert (sample.language, sample.instruction) == ("zh", "给这个女生的脖子上戴一个带有红宝石的吊坠。")
        assert sample.description == "花田前站着一位穿黑色V领连衣裙的长发年轻女子。"


class TestFaults:
    def test_a_good_item_has_none(self, place: Place) -> None:
        assert place.fault(item()) == ""

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            (
                {"edit_instruction_en": None},
                "no instruction: there is no edit_instruction_en, only one for benchmark.language: zh",
            ),
            ({"edit_instruction_en": "  "}, "edit_instruction_en is empty"),
            ({"edit_instruction_en": ["x"]}, "edit_instruction_en is a list, not a string"),
            ({"edit_instruction_en": "x" * 100_001}, "edit_instruction_en is longer than 100000 characters"),
            (
                {"edit_instruction_en": None, "edit_instrution_en": "Make it red."},
                "if 'edit_instrution_en' is meant, say so: fields: {instruction: edit_instrution_en}",
            ),
            ({"original_description_en": None}, "no description: there is no original_description_en"),
            ({"subset": None}, "no category: there is no subset or category"),
            ({"subset": 3}, "subset is a number, not a string"),
            ({"subset": None, "sub_set": "物理"}, "fields: {category: sub_set}"),
            ({"difficulty": True}, "difficulty is a boolean"),
            ({"tags": "cat"}, "tags is a string, not a list of strings"),
            ({"tags": ["cat", 1.5]}, "tags has entries that are not strings"),
            ({"rationale_short_en": 7}, "rationale_short_en is a number"),
            ({"src_img_b64": None}, "no source: there is no src_img_b64; there is no file original_image_path"),
            ({"src_img_b64": None, "src_image_b64": "AAAA"}, "fields: {source: src_image_b64}"),
            ({"src_img_b64": ""}, "src_img_b64 is empty"),
            ({"src_img_b64": 5}, "src_img_b64 is a number, not a string of base64"),
            ({"src_img_b64": "!!!!"}, "src_img_b64 is not base64"),
            ({"src_img_b64": encoded(picture())[:-1]}, "src_img_b64 is not base64"),
            ({"src_img_b64": "图" + encoded(picture())}, "src_img_b64 is not base64"),
            ({"src_img_b64": encoded(b"<html>404</html>")}, "not a picture in a known format"),
            ({"src_img_b64": encoded(picture()[:-20])}, "src_img_b64: truncated"),
            ({"src_img_b64": encoded(picture(kind="JPEG")[:-2])}, "src_img_b64: truncated"),
        ],
    )
    def test_each_is_named(self, place: Place, changes: dict[str, Any], words: str) -> None:
        bad = place.samples([item(0), item(1, **changes)])[1]
        assert words in bad.fault
        assert "\n" not in bad.fault
        assert (bad.source, bad.source_digest) == ("", "")
        assert (bad.index, bad.id) == (1, "00001_物理_hard")

    def test_fields_of_other_names_are_told_once_with_the_way_to_map_them(self, place: Place) -> None:
        odd = {"prompt": "Make it red.", "image": "a.png", "caption": "A house.", "subset": "物理", "seed": 3}
        assert place.fault(odd) == (
            "no source: there is no src_img_b64; no instruction: there is no edit_instruction_en; no description: "
            "there is no original_description_en; other fields of the item: prompt, image, caption (benchmark.fields "
            "says which is which, as in {source: NAME})"
        )
        mapped = {"instruction": "prompt", "source_path": "image", "description": "caption"}
        fault = place.samples([odd], fields=mapped)[0].fault
        assert fault == "no source: there is no src_img_b64; there is no file image 'a.png'"
        many = {f"field_{number}": number for number in range(20)}
        assert "field_0, field_1, field_2, field_3, field_4, field_5, field_6, field_7, ... (" in place.fault(many)

    def test_a_bomb(self, place: Place) -> None:
        bomb = io.BytesIO()
        Image.new("1", (8000, 8000)).save(bomb, "PNG")
        assert "8000 x 8000 pixels, above the limit" in place.fault(item(src_img_b64=encoded(bomb.getvalue())))

    def test_all_of_them_in_one_pass(self, place: Place) -> None:
        samples = place.samples(
            [
                item(0),
                item(1, subset=None, edit_instruction_en=None, src_img_b64="x"),
                "text",
                None,
                item(4, tags=3),
                [[]],
            ]
        )
        assert [bool(each.fault) for each in samples] == [False, True, True, True, True, True]
        assert samples[1].fault.count(";") == 2
        assert [samples[index].fault for index in (2, 3, 5)] == [
            "the item is a string, not an object",
            "the item is null, not an object",
            "the item is a list, not an object",
        ]
        assert [each.id for each in samples][2:4] == ["00002", "00003"]

    def test_equal_ids(self, place: Place) -> None:
        samples = place.samples([item(7), item(1), item(7), item(7)])
        assert [each.fault != "" for each in samples] == [False, False, True, True]
        assert "index 0 has the same id" in samples[2].fault
        assert [each.id for each in samples][2:] == ["00007_物理_hard#2", "00007_物理_hard#3"]
        assert len({each.id for each in samples}) == 4

    def test_the_other_language_may_be_missing(self, place: Place) -> None:
        sample = place.samples([item(edit_instruction=None, original_description=None, rationale_short=5)])[0]
        assert sample.fault == ""
        assert sample.instructions == {"en": "Make it red."}

    def test_what_may_be_missing(self, place: Place) -> None:
        sample = place.samples([item(tags=None, difficulty=None, rationale_short_en=None, seed=None)])[0]
        assert (sample.fault, sample.tags, sample.difficulty, sample.rationale) == ("", (), "", "")

    def test_base64_in_lines(self, place: Place) -> None:
        assert place.fault(item(src_img_b64=base64.encodebytes(picture()).decode())) == ""

    def test_a_picture_that_calls_itself_something_else_is_used_and_said(self, place: Place) -> None:
        data = picture(kind="JPEG")
        (place.path.parent / "b.png").write_bytes(data)
        place.write(
            [
                item(0, src_img_b64="data:image/png;base64," + encoded(data)),
                item(1, src_img_b64=None, src_img_path="b.png"),
                item(2, src_img_b64="data:image/jpeg;base64," + encoded(data)),
            ]
        )
        for _ in range(2):  # the second time from the cache
            benchmark = place.benchmark()
            assert [sample.fault for sample in benchmark.samples()] == ["", "", ""]
            assert benchmark.notes == (
                "sample '00000_物理_hard': src_img_b64 is declared as 'png' but is jpg: used as such",
                "sample '00001_物理_hard': src_img_path 'b.png' is declared as 'png' but is jpg: used as such",
            )


class TestIds:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({}, "00000_物理_hard"),
            ({"original_image_path": "a\\b\\c.d.png"}, "c.d"),
            ({"original_image_path": "plain"}, "plain"),
            ({"original_image_path": None, "id": "abc"}, "abc"),
            ({"original_image_path": None, "id": 17}, "17"),
            ({"original_image_path": None}, "00000_物理"),
            ({"original_image_path": "a/b/", "id": "abc"}, "b"),
            ({"original_image_path": "///", "id": "abc"}, "abc"),
            ({"original_image_path": "../../x\0\n.png"}, "x\0\n"),
        ],
    )
    def test_where_it_comes_from(self, place: Place, changes: dict[str, Any], expected: str) -> None:
        sample = place.samples([item(**changes)])[0]
        assert (sample.id, sample.fault) == (expected, "")

    def test_from_a_field_of_the_users(self, place: Place) -> None:
        samples = place.samples([item(0, key="a"), item(1, key=2.0), item(2, key=True), item(3)], fields={"id": "key"})
        assert [each.id for each in samples] == ["a", "2", "00002_物理", "00003_物理"]
        assert samples[2].fault == "key is a boolean, not a string"
        assert samples[3].fault == "no id: there is no key"


class TestParameters:
    def test_as_the_configuration_makes_them(self) -> None:
        adapter = adapter_of(FiveDimensions)
        made = adapter.validate_python({"data_path": "a.json", "fields": {"instruction": "x"}})
        assert (made.language, made.on_bad_sample, made.cache_dir) == ("en", "error", None)
        with pytest.raises(ValidationError):
            adapter.validate_python({"data_path": "a.json", "languge": "en"})

    def test_the_policy_is_the_callers_to_apply(self, place: Place) -> None:
        place.write([item(0, subset=None)])
        for policy in ("error", "skip"):
            assert next(iter(place.benchmark(on_bad_sample=policy).samples())).fault

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"language": "english"}, "benchmark.language: 'english' is not valid"),
            ({"on_bad_sample": "skipp"}, "did you mean 'skip'"),
            ({"fields": {"instructions": "x"}}, "no field 'instructions'; did you mean 'instruction'"),
            ({"fields": {"wholly_other": "x"}}, "valid are category, "),
            ({"fields": {"instruction": "x", "instruction_en": "y"}}, "instruction_en is given twice: 'x' and 'y'"),
            ({"fields": {"instruction": ""}}, "instruction is empty"),
        ],
    )
    def test_wrong_ones(self, place: Place, parameters: dict[str, Any], words: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            place.benchmark(**parameters)
        assert words in str(caught.value)

    def test_other_names(self, place: Place) -> None:
        fields = {
            "category": "kind",
            "instruction": "prompt",
            "instruction_zh": "提示",
            "description": "",
            "source": "image",
            "difficulty": "level",
            "tags": "labels",
        }
        sample = place.samples(
            [
                {
                    "kind": "social",
                    "prompt": "Go.",
                    "提示": "去。",
                    "image": encoded(picture()),
                    "level": 3,
                    "labels": ["a"],
                }
            ],
            fields=fields,
        )[0]
        assert sample.fault == ""
        assert (sample.id, sample.category, sample.instruction) == ("00000_social", "social", "Go.")
        assert (sample.difficulty, sample.tags, sample.description) == ("3", ("a",), "")
        assert sample.instructions == {"en": "Go.", "zh": "去。"}

    def test_a_mapped_name_that_is_not_there(self, place: Place) -> None:
        fault = place.fault(item(), fields={"instruction": "edit_instruction_eng"})
        assert "no edit_instruction_eng; if 'edit_instruction_en' is meant" in fault

    def test_the_users_cache(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place.folder / "xdg"))
        sample = place.samples([item()], cache_dir=None)[0]
        assert sample.source.startswith(str(place.folder / "xdg" / "edit-eval" / "sources"))
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(place.folder / "home"))
        sample = place.samples(cache_dir=None)[0]
        assert sample.source.startswith(str(place.folder / "home" / ".cache" / "edit-eval" / "sources"))
