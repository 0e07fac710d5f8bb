"""`gedit`: the hub's Parquet as it is; keys that repeat, two languages, a subset, and every fault named at once.

`viescore`: two questions, numbers worked out by hand, and the authors' own number beside ours.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.five_dimension_files import picture
from edit_eval.benchmarks.parquet_rows import ParquetRows
from edit_eval.benchmarks.selection import refuse_bad
from edit_eval.config.loading import load_configuration
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.plugins.published.gedit import GEdit, VIEScore
from edit_eval.protocols.contract import Missing, fault, scoring_of
from edit_eval.protocols.replies import advice_on_limits
from edit_eval.records import LANGUAGES, Reply, Sample, Scale, Status
from late_imports import Late
from protocols.judged import judged, judgement, sample

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


AUTHORS = '''# This file is generated automatically

_context_no_delimit = """Judge.
{
"score" : [...]
}"""

_prompts_0shot_two_image_edit_rule = """Two."""

_prompts_0shot_tie_rule_SC = """
Instruction: <instruction>
"""

_prompts_0shot_rule_PQ = """One.
"""

raise SystemExit("run")
'''


def protocol(**parameters):
    made = VIEScore.Parameters(**parameters)
    return VIEScore(made, json.loads(json.dumps(VIEScore.texts(made))))


def both(first, second):
    return {"SC": json.dumps({"reasoning": "So.", "score": first}), "PQ": json.dumps({"score": second})}


class TestQuestions:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_pq_is_blind_to_source_and_instruction(self, language):
        success, quality = protocol(language=language).questions(sample())
        assert (success.name, quality.name) == ("SC", "PQ")
        assert [view.picture for view in success.shows] == ["source", "edit"]
        assert [view.picture for view in quality.shows] == ["edit"]
        assert "<edit_instruction>\nAdd a hat.\n</edit_instruction>" in success.user
        assert not re.search(r"\bhat\b|<edit_instruction>", quality.system + quality.user)
        assert {success.form, quality.form} == {"json"}
        assert '{"reasoning": "' in success.again
        for asked in (success, quality):
            entries = json.loads(asked.schema)["properties"]
            assert list(entries) == ["reasoning", "score"]
            assert (entries["score"]["items"]["minimum"], entries["score"]["items"]["maximum"]) == (0, 10)
            assert entries["score"]["minItems"] == entries["score"]["maxItems"] == 2

    def test_a_wording_that_is_not_ours_is_held_to_no_schema_of_ours(self):
        own = {"SC": {"system_prompt": "Two numbers."}, "PQ": {"user_prompt_template": "Look."}}
        success, quality = protocol(prompts=own).questions(sample())
        assert (success.schema, bool(quality.schema)) == ("", True)

    def test_the_edit_has_the_sources_size_or_its_own(self):
        assert [question.shows[-1].steps for question in protocol().questions(sample())] == [(("like", "source"),)] * 2
        assert [question.shows[-1].steps for question in protocol(edit_size="own").questions(sample())] == [(), ()]

    def test_no_sample_lacks_anything(self):
        assert fault(protocol(), sample(category="")) == ""


class TestPrompts:
    def test_the_authors_words_are_put_together_as_they_do_and_their_file_is_not_run(self, tmp_path):
        (tmp_path / "vie_prompts.py").write_text(AUTHORS)
        for path in (tmp_path, tmp_path / "vie_prompts.py"):
            asking = protocol(prompts="official", prompts_path=str(path))
            success, quality = asking.questions(sample(instruction="Add {x} <instruction>."))
            context = 'Judge.\n{\n"score" : [...]\n}'
            assert (success.system, quality.system) == ("", "")
            assert success.user == f"{context}\nTwo.\n\nInstruction: Add {{x}} <instruction>.\n"
            assert quality.user == f"{context}\nOne.\n"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (None, r"protocol\.prompts_path: .*vie_prompts\.py: cannot be read \(No such file"),
            ("x = (", r"vie_prompts\.py is no Python file"),
            ("_context_no_delimit = 'x'", "has no `_prompts_0shot_two_image_edit_rule`"),
        ],
    )
    def test_what_is_not_the_authors_file(self, tmp_path, text, said):
        if text is not None:
            (tmp_path / "vie_prompts.py").write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            protocol(prompts="official", prompts_path=str(tmp_path))

    def test_a_path_is_for_official_prompts(self):
        with pytest.raises(ValueError, match="prompts_path is for prompts: official"):
            VIEScore.Parameters(prompts_path="x")

    @pytest.mark.parametrize("as_file", [True, False])
    def test_the_users_own_replace_a_part(self, tmp_path, as_file):
        own = {"PQ": {"system_prompt": "How good?"}}
        (tmp_path / "own.yaml").write_text(json.dumps(own))
        asking = protocol(prompts=str(tmp_path / "own.yaml") if as_file else own)
        assert asking.questions(sample())[1].system == "How good?"
        assert asking.questions(sample())[0] == protocol().questions(sample())[0]

    def test_none_are_ours(self):
        assert protocol(prompts={}).questions(sample()) == protocol().questions(sample())

    @pytest.mark.parametrize(
        ("own", "said"),
        [
            (
                {"physical": {"system_prompt": "x"}},
                r"prompts\.physical: viescore has no such question; there are SC and",
            ),
            ({"SC": {"system": "x"}}, r"prompts\.SC\.system: no such key; did you mean `system_prompt`"),
            ({"SC": {"system_prompt": "{instruction}"}}, r"did you mean `\{edit_instruction\}`"),
        ],
    )
    def test_mistakes_in_them_are_named(self, own, said):
        with pytest.raises(ConfigurationError, match=said):
            protocol(prompts=own)

    @pytest.mark.parametrize(("text", "said"), [("- a", "must be a mapping"), ("a: [", "is not valid YAML")])
    def test_a_file_that_is_none(self, tmp_path, text, said):
        (tmp_path / "own.yaml").write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            protocol(prompts=str(tmp_path / "own.yaml"))


class TestScores:
    def test_by_hand(self):
        row = judged(protocol(), sample(), both([8, 9], [7, 9]))
        numbers = {"success": 8, "restraint": 9, "naturalness": 7, "no_artifacts": 9}
        assert row.scores == {"SC": 8, "PQ": 7, "O": math.sqrt(56), **numbers}
        assert scoring_of("viescore", protocol()).parts == tuple(numbers)
        assert row.readings[0]["SC"].reason == "So."

    def test_no_success_is_no_score(self):
        scores = judged(protocol(), sample(), both([0, 10], [9, 9])).scores
        assert [scores[name] for name in ("SC", "PQ", "O")] == [0, 9, 0]

    def test_one_side_that_cannot_be_read_leaves_the_other(self):
        row = judged(protocol(), sample(), {"SC": "[4, 5]", "PQ": "?"})
        assert row.scores == {"SC": 4, "success": 4, "restraint": 5}
        lacking = dict.fromkeys(("PQ", "O", "naturalness", "no_artifacts"), Status.UNPARSEABLE)
        assert {name: why[0] for name, why in row.missing.items()} == lacking

    def test_scales(self):
        made = scoring_of("viescore", protocol())
        assert made.headline == "O"
        assert set(made.scales.values()) == {Scale(lowest=0, highest=10, mean_over="categories")}

    @given(st.text(max_size=60), st.text(max_size=60))
    def test_junk_never_raises_and_never_gives_a_score_out_of_range(self, first, second):
        row = judged(PROTOCOL, sample(), {"SC": first, "PQ": second})
        assert all(0 <= score <= 10 for score in row.scores.values())
        assert {*row.scores, *row.missing} == {*PROTOCOL.scores}


PROTOCOL = protocol()


class TestPublished:
    """The formula of `calculate_statistics.py`: means of the task types' means, over what was edited."""

    def rows(self, asking):
        replies = [("a", "add", [8, 9], [7, 9]), ("b", "add", [4, 5], [10, 4]), ("c", "style", [6, 6], [6, 10])]
        rows = [judged(asking, sample(name, kind), both(*scores)) for name, kind, *scores in replies]
        return [*rows, judgement(asking, sample("d", "style"), Status.EDIT_FAILED, reason="no picture")]

    def test_by_hand(self):
        asking = protocol()
        numbers = {name: number(self.rows(asking)) for name, number in asking.published.items()}
        assert numbers["G_SC"] == ((8 + 4) / 2 + 6) / 2
        assert numbers["G_PQ"] == ((7 + 4) / 2 + 6) / 2
        assert numbers["G_O"] == pytest.approx(((math.sqrt(56) + 4) / 2 + 6) / 2)

    @pytest.mark.parametrize("said", ["?", '{"score": [11, 3]}', Reply(ended=Status.REFUSED), Reply(text="8, ")])
    def test_what_cannot_be_read_is_guessed_with_a_seed_and_refused_without(self, said):
        replies = both([8, 9], [7, 9]) | {"PQ": said}
        rows = [judged(protocol(), sample("a"), replies), judged(protocol(), sample("b"), both([1, 1], [4, 4]))]
        guess = random.Random("7 a 0 0 PQ").randint(0, 10)
        formula = protocol(guess_seed=7).published["G_O"]
        assert formula(rows) == formula(rows[::-1]) == pytest.approx((math.sqrt(8 * guess) + 2) / 2)
        with pytest.raises(Missing, match=r"PQ of `a` cannot be read, .* set `protocol\.guess_seed`"):
            protocol().published["G_SC"](rows)

    def test_a_category_without_any_edit_has_no_number(self):
        asking = protocol(guess_seed=7)
        rows = [*self.rows(asking)[:2], judgement(asking, sample("d", "style"), Status.EDIT_FAILED, reason="x")]
        with pytest.raises(Missing, match="no edit of `style` was judged"):
            asking.published["G_O"](rows)
        with pytest.raises(Missing, match="no edit was judged"):
            asking.published["G_O"]([])

    def test_there_is_none_before_all_is_judged(self):
        rows = [judged(protocol(), sample("a"), both([8, 9], [7, 9]) | {"SC": "?"}, retries=2)]
        assert rows[0].status is Status.PENDING
        with pytest.raises(Missing, match="not every edit has been judged yet"):
            protocol(guess_seed=7).published["G_O"](rows)


def test_answers_that_are_cut_off_have_a_way_out():
    cut = judged(protocol(), sample(), both([1, 2], [3, 4]) | {"SC": Reply(text='{"rea', ended=Status.CUT_OFF)})
    assert "`max_new_tokens`" in advice_on_limits([cut])
    assert advice_on_limits([]) == ""
