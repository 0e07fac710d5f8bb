"""Every form of a benchmark's JSON gives the same items; a broken one says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.five_dimension_files import Place, item
from edit_eval.benchmarks.json_items import BenchmarkItem, ItemReader
from edit_eval.errors import ConfigurationError, EditEvalError


class TestForms:
    items = tuple(item(number, subset=subset) for number, subset in enumerate(["物理", "环境", "物理"]))

    @pytest.mark.parametrize(
        "content",
        [
            json.dumps(items),
            json.dumps(items, indent=2),
            "\ufeff \n" + json.dumps(items, ensure_ascii=False),
            json.dumps({"a": items[:2], "空": [], "b": items[2:]}),
            json.dumps({"空": [], "a": items}, indent=1),
            "\n".join(map(json.dumps, items)),
            "\n\n".join(json.dumps(each, indent=2) for each in items) + "\n",
            "\n".join(json.dumps({"tags": each["tags"]} | each) for each in items),
            "\n".join(json.dumps({"meta": {"a": [1]}} | each) for each in items),
        ],
    )
    def test_one_content_in_every_form(self, place: Place, content: str) -> None:
        samples = place.samples(content)
        assert [(each.index, each.category, each.fault) for each in samples] == [
            (0, "physical", ""),
            (1, "environmental", ""),
            (2, "physical", ""),
        ]
        assert all(each.tags == ("cat", "colour") for each in samples)

    def test_the_name_does_not_matter(self, place: Place) -> None:
        place.path = place.path.with_suffix(".txt")
        assert len(place.samples("\n".join(map(json.dumps, self.items)))) == 3

    def test_the_list_is_the_category_of_an_item_without_one(self, place: Place) -> None:
        samples = place.samples({"因果": [item(0, subset=None)], "指代": [item(1, subset="社会"), item(2, subset=" ")]})
        assert [each.category for each in samples] == ["causal", "social", "referential"]
        assert not any(each.fault for each in samples)

    def test_what_stands_beside_the_lists_is_said(self, place: Place) -> None:
        place.write({"a": [item()], "version": 3, "about": {"by": ["me"]}})
        benchmark = place.benchmark()
        assert len(list(benchmark.samples())) == 1
        assert benchmark.notes == (
            "'version' is not a list of items: ignored",
            "'about' is not a list of items: ignored",
        )

    @pytest.mark.parametrize(
        "before",
        [
            {"version": 3},
            {"metadata": {"by": ["me"], "items": [{"id": 1}]}, "空": [], "version": None},
            {"version": 1, "authors": [{"name": "A"}, {"name": "B"}], "years": [2025, 2026]},
        ],
    )
    def test_what_stands_before_the_lists_is_said_too(self, place: Place, before: dict[str, Any]) -> None:
        place.write({**before, "物理": [item(0), item(1)], "items": [item(2, subset="环境")]})
        benchmark = place.benchmark()
        samples = list(benchmark.samples())
        assert [(each.category, each.fault) for each in samples] == [("physical", "")] * 2 + [("environmental", "")]
        passed_over = [name for name, value in before.items() if value != []]
        assert benchmark.notes == tuple(f"{name!r} is not a list of items: ignored" for name in passed_over)

    def test_an_item_may_have_lists_of_objects(self, place: Place) -> None:
        extra = {"uid": 7, "boxes": [{"id": 1, "x": 2}, {"id": 2}], "sizes": [1, 2]}
        samples = place.samples("\n".join(json.dumps({**extra, **each}) for each in self.items))
        assert [each.fault for each in samples] == ["", "", ""]

    def test_a_field_that_is_given_twice_is_a_fault(self, place: Place) -> None:
        twice = json.dumps(item(0))[:-1] + ', "edit_instruction_en": "another"}'
        for content in (f"[{json.dumps(item(1))}, {twice}]", f"{json.dumps(item(1))}\n{twice}"):
            first, second = place.samples(content)
            assert not first.fault
            assert second.fault == "the item has 'edit_instruction_en' twice"
        unused = json.dumps(item(0))[:-1] + ', "note": 1, "note": 2}'
        assert not place.samples(f"[{unused}]")[0].fault, "of a field that nobody reads it is no matter"

    def test_a_category_of_ones_own_stays(self, place: Place) -> None:
        assert place.samples([item(subset="lighting")])[0].category == "lighting"

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("", "is empty"),
            (" \n\n", "is empty"),
            ("[]", "no samples"),
            ("{}", "no samples"),
            ('{"物理": []}', "no samples"),
            ("hello", "not JSON"),
            (b"\x1f\x8b\x08\x00", "not JSON"),
            ("[1, 2".encode("utf-16"), "not JSON"),
            ('"text"', "not JSON"),
            ('[{"a": 1}] 7', "a number at its top level"),
        ],
    )
    def test_what_is_no_benchmark(self, place: Place, content: str | bytes, words: str) -> None:
        with pytest.raises(ConfigurationError, match=words) as caught:
            place.samples(content)
        assert str(place.path) in str(caught.value)

    def test_no_file(self, place: Place) -> None:
        with pytest.raises(ConfigurationError, match=r"benchmark\.data_path: .*benchmark\.json does not exist"):
            place.samples()
        place.path.mkdir()
        with pytest.raises(ConfigurationError, match="is not a file"):
            place.samples()

    def test_only_an_empty_object_in_many_is_a_bad_item(self, place: Place) -> None:
        samples = place.samples("\n".join(["{}", json.dumps(item(1)), "{}"]))
        assert [bool(each.fault) for each in samples] == [True, False, True]
        assert [each.index for each in samples] == [0, 1, 2]


class TestBrokenJson:
    def broken(self, place: Place, content: bytes) -> str:
        with pytest.raises(ConfigurationError) as caught:
            place.samples(content)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_in_the_middle(self, place: Place) -> None:
        whole = json.dumps([item(number) for number in range(4)]).encode()
        place_of_error = whole.index(b'"subset"', whole.index(b'"subset"', 10) + 1)
        message = self.broken(place, whole[:place_of_error] + b"oops" + whole[place_of_error:])
        assert f"byte {place_of_error} " in message

    def test_far_inside_a_large_file_and_in_a_long_string(self, place: Place) -> None:
        """The parser takes a megabyte at a time: the place is found all the same, to the byte."""
        long = [item(number, src_img_b64="A" * 1_500_000) for number in range(3)]
        lines = "\n".join(map(json.dumps, long)).encode()
        spot = 2_345_678
        message = self.broken(place, lines[:spot] + b"\xff" + lines[spot + 1 :])
        assert f"byte {spot} (line 2)" in message

    @pytest.mark.parametrize("keep", [0.2, 0.5, 0.999])
    def test_cut_off(self, place: Place, keep: float) -> None:
        whole = json.dumps([item(number) for number in range(4)]).encode()
        cut = whole[: int(len(whole) * keep)]
        message = self.broken(place, cut)
        assert f"after {len(cut)} bytes" in message
        assert "cut off" in message

    def test_not_utf8(self, place: Place) -> None:
        assert "byte " in self.broken(place, json.dumps([item()], ensure_ascii=False).encode("gbk"))

    def test_nested_beyond_reason(self, place: Place) -> None:
        nested = "[" * 200_000 + "]" * 200_000
        assert "nested deeper" in self.broken(place, f'[{{"deep": {nested}}}]'.encode())
        assert "nested deeper" in self.broken(place, f'[{{"tags": {nested}}}]'.encode())
        assert "nested deeper" in self.broken(place, nested.encode())

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_any_damage_is_our_error_or_samples(self, tmp_path_factory: Any, data: st.DataObject) -> None:
        place = Place(tmp_path_factory.mktemp("damage"))
        whole = bytearray(json.dumps({"物理": [item(0), item(1)]}).encode())
        for _ in range(data.draw(st.integers(1, 4))):
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        try:
            samples = place.samples(bytes(whole))
        except EditEvalError as error:
            message = str(error)
        else:
            message = "".join(sample.fault for sample in samples)
        assert "\n" not in message


@pytest.mark.parametrize("name", ["extra", "difficulty", "seed"])
@pytest.mark.parametrize("before", [0, 2_000_000])
def test_a_whole_number_that_python_refuses_is_said_with_its_place(place: Place, name: str, before: int) -> None:
    text = json.dumps([item(0, padding="x" * before), {**item(1), name: 7}]).replace(": 7", ": " + "9" * 10_000)
    with pytest.raises(ConfigurationError, match=r"at byte \d+ \(line 1\): a whole number of more"):
        place.samples(text)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('[{"a": 1}, 3]', [{"a": 1}, "the item is a number, not an object"]),
        ('{"x": {"a": NaN}, "x": {}}', [("x", {"a": None}), ("x", {})]),
        ('{"x": [{"a": 1}, {"a": 2}], "y": []}', [("x 1", {"a": 1}), ("x 2", {"a": 2})]),
        ('{"a": {"b": [1]}, "c": 2}\n\n{"a": {"b": 3}}\n', [{"a": {"b": [1]}, "c": 2}, {"a": {"b": 3}}]),
        ('{"a": [{"b": 1}], "c": 2}', [{"a": [{"b": 1}], "c": 2}]),
        ('[{"a": 1, "a": 2}]', ["the item has 'a' twice"]),
    ],
)
def test_all_of_every_item(text: str, items: list[Any], tmp_path: Path) -> None:
    """As benchmarks of others are read, whose files have objects of objects and sessions."""

    def told(row: BenchmarkItem) -> Any:
        where = row.key or (f"{row.group} {row.place}" if row.group else "")
        return row.problem or ((where, row.values) if where else row.values)

    assert [told(row) for row in ItemReader(tmp_path, data=text.encode()).items()] == items


def test_a_table_may_be_an_object_of_objects(place: Place) -> None:
    samples = place.samples({"a": item(0), "b": item(1)})
    assert [each.fault for each in samples] == ["", ""]
