"""Where an edit model wins and loses: planted weaknesses, words of instructions, pictures, and what is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.slices.analysis import SlicesAnalysis
from edit_eval.plugins.slices.attributes import attributes_of, looks_of, measure_change
from edit_eval.plugins.slices.search import slices
from edit_eval.plugins.slices.sheet import slice_name
from edit_eval.plugins.slices.words import WORDS, find_attributes, script
from edit_eval.records import Picture, Results, Scale, Scoring, Status
from edit_eval.reporting.analyses import RunRecords, sections, summary_of
from edit_eval.reporting.language import translate
from edit_eval.reporting.table import markdown_sheet

SENTENCES = [
    ("Add a red hat to the man", "operation add, operation colour, object clothes, object person"),
    ("remove the dog", "operation remove, object animal"),
    ("Replace the cup with four apples", "operation replace, number more than three, object food"),
    ("move the chair to the left", "operation move, place side, object furniture"),
    ("make it look like a watercolor painting", "operation style, operation colour"),
    ("Change the text on the sign to OPEN", "operation text"),
    ("make it snow in winter", "operation light"),
    ("rotate the picture", "operation turn"),
    ("make the tower taller", "operation resize, object building"),
    ("change the background to a beach", "operation background, object nature"),
    ("make her smile", "operation pose"),
    ("a caring scarecrow", ""),
    ("把狗去掉", "operation remove, object animal"),
    ("把汽车改成红色", "operation colour, object vehicle"),
    ("添加五只鸟，放在左边", "operation add, number more than three, place side, object animal"),
    ("换成水彩风格", "operation replace, operation style"),
    ("make 12 balloons", "number more than three"),
    ("the year 1924", ""),
    ("no people", "operation negation, object person"),
]


@pytest.mark.parametrize(("instruction", "wanted"), SENTENCES)
def test_an_instruction_asks_for_what_its_words_say(instruction: str, wanted: str) -> None:
    conditions = {f"{attribute} {value}" for attribute, value in find_attributes(instruction)}
    assert set(filter(None, wanted.split(", "))) <= conditions
    if not wanted:
        assert not conditions


def test_every_row_of_words_is_found_by_its_own_in_both_languages() -> None:
    for row in WORDS:
        for word in (*row.english.split(), *row.chinese.split()):
            assert (row.attribute, row.value) in set(find_attributes(word.replace("_", " "))), (row.value, word)


def test_the_script_of_an_instruction() -> None:
    assert [script(words) for words in ("make it red", "把它 red", "сделай красным")] == ["Latin", "Chinese", "other"]


def drawn(
    make_sample, make_results, *, weak: str = "", effect: float = 2.0, seed: int = 1, count: int = 270
) -> Results:
    """270 samples by two edit models, whose differences have a standard deviation of 2; a tenth of them is `weak`."""
    random = np.random.default_rng(seed)
    tenth = set(random.permutation(count)[: count // 10].tolist())
    texts = {"counts": "add five balls", "side": "put it on the left", "Chinese": "把它改亮一点"}
    samples = [
        replace(
            make_sample(n, category=["add", "style", "object"][random.integers(3)]),
            instruction=texts.get(weak, "make it rain") if n in tenth else ["make it rain", "remove the dog"][n % 2],
        )
        for n in range(count)
    ]
    base = random.normal(6, 1.5, count)
    ours = base + random.normal(0, 2**0.5, count) - [effect * (n in tenth and bool(weak)) for n in range(count)]
    rows = {("ours", "judge"): ours, ("theirs", "judge"): base + random.normal(0, 2**0.5, count)}
    open_scale = Scoring(protocol="rubric", headline="score", scales={"score": Scale(lowest=None, highest=None)})
    return make_results(
        samples, {name: [[float(score)] for score in of] for name, of in rows.items()}, scoring=open_scale
    )


@pytest.mark.parametrize(
    ("weak", "attribute", "value"),
    [("counts", "number", "more than three"), ("side", "place", "side"), ("Chinese", "language", "Chinese")],
)
def test_a_planted_weakness_is_found_first(weak: str, attribute: str, value: str, make_sample, make_results) -> None:
    document = slices(drawn(make_sample, make_results, weak=weak), "ours", "theirs", "judge")
    worst = document.worst[0]
    assert {"attribute": attribute, "value": value} in [
        {"attribute": condition.attribute, "value": condition.value} for condition in worst.conditions
    ] or worst.samples == 27
    assert (worst.shown, worst.samples, worst.of) == ("worse", 27, 27)
    assert worst.ci95 is not None
    assert worst.ci95[0] < -2 < worst.ci95[1] < 0
    assert document.worst_shown >= 1
    by_itself = slices(drawn(make_sample, make_results, weak=weak, effect=4), "ours", "", "judge").worst[0]
    assert by_itself.shown == "worse"
    assert by_itself.mean < by_itself.elsewhere


def test_a_lower_score_may_be_the_better_one(make_sample, make_results) -> None:
    results = drawn(make_sample, make_results, weak="counts")
    lower = Scoring(protocol="rubric", headline="score", scales={"score": Scale(higher_is_better=False)})
    document = slices(replace(results, scoring={"judge": lower}), "ours", "theirs", "judge")
    assert document.best[0].shown == "better"


@pytest.mark.chaos
@pytest.mark.parametrize("combined", [False, True])
def test_planted_weaknesses_are_found_in_nine_of_ten(combined: bool, make_sample, make_results) -> None:
    """With combinations in eight of ten; among equals at most one run in twenty names a slice."""
    named = equal = 0
    for seed in range(60):
        planted = drawn(make_sample, make_results, weak=["counts", "side", "Chinese"][seed % 3], seed=seed)
        named += slices(planted, "ours", "theirs", "judge", combined=combined).worst[0].shown == "worse"
        same = slices(drawn(make_sample, make_results, seed=seed), "ours", "theirs", "judge", combined=combined)
        equal += bool(same.best_shown or same.worst_shown)
    assert named >= (48 if combined else 54)
    assert equal <= 7, "of 60, where 3 are to be expected"


def test_what_failed_is_counted_and_in_no_mean(make_sample, make_results) -> None:
    results = drawn(make_sample, make_results, weak="counts")
    lost = next(sample for sample in results.samples if "five" in sample.instruction).id
    gone = tuple(
        replace(judgement, status=Status.UNPARSEABLE, scores={})
        if (judgement.sample_id, judgement.edit_model) == (lost, "ours")
        else judgement
        for judgement in results.judgements
    )
    document = slices(replace(results, judgements=gone), "ours", "theirs", "judge")
    assert (document.samples, document.of) == (269, 270)
    assert (document.worst[0].samples, document.worst[0].of) == (26, 27)
    assert lost not in document.worst[0].examples
    assert lost in document.worst[0].ids


def test_a_report_shows_slices_where_there_are_images_enough(make_sample, make_results) -> None:
    results = drawn(make_sample, make_results, weak="counts")
    [section] = [section for section in sections(summary_of(results)) if section.name == "slices"]
    shown = markdown_sheet(section.sheet(), "en")
    assert translate(slice_name(section.documents[0].worst[0])) in shown
    groups = section.of.groups(section.documents[0])
    assert groups[0].sample_ids == section.documents[0].worst[0].ids
    assert f"group={groups[0].key}" in "".join(
        column.to(row)
        for table in section.parts[0][1]
        if hasattr(table, "every")
        for column in table.every[:1]
        for row in table.rows
    )
    few = drawn(make_sample, make_results, count=11)
    assert "slices" not in summary_of(few).analyses
    with pytest.raises(ConfigurationError, match="12 source images"):
        SlicesAnalysis().compute(RunRecords(few), SlicesAnalysis.Parameters())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"edit_model": "our"}, "ours"),
        ({"edit_model": "ours", "against": "ours"}, "same edit model"),
        ({"judge": "nobody"}, "not in this run"),
        ({"least": 2}, "at least 6"),
        ({"score": "style"}, "style"),
    ],
)
def test_what_cannot_be_asked_is_said(given: dict[str, object], words: str, make_sample, make_results) -> None:
    with pytest.raises(ConfigurationError, match=words):
        SlicesAnalysis().compute(
            RunRecords(drawn(make_sample, make_results, count=40)), SlicesAnalysis.Parameters(**given)
        )


def test_whose_slices_are_the_verdicts(make_sample, make_results) -> None:
    """Not asked otherwise, by the first judge that has a say; and the leader is the one by the judge's own mean."""
    samples = [make_sample(n, category="many" if n < 12 else "few") for n in range(16)]
    by_categories = Scale(lowest=0, highest=10, mean_over="categories")
    rows = {
        ("first", "silent"): [[Status.UNPARSEABLE]] * 16,
        ("second", "silent"): [[Status.UNPARSEABLE]] * 16,
        ("first", "judge"): [[6.0 + n % 2] for n in range(12)] + [[1.0]] * 4,
        ("second", "judge"): [[5.0]] * 12 + [[4.0]] * 4,
    }
    results = make_results(
        samples, rows, scoring=Scoring(protocol="p", headline="score", scales={"score": by_categories})
    )
    document = SlicesAnalysis().compute(RunRecords(results), SlicesAnalysis.Parameters(labels_only=True))
    assert (document.judge, document.edit_model, document.against) == ("judge", "second", "first")
    assert document.looked_at == 0
    assert "slices" not in markdown_sheet(SlicesAnalysis().sheet(document), "en").replace("edit-eval slices", "")


def test_pictures_are_measured(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    fine = random.integers(0, 255, (64, 128, 3)).astype("uint8")
    dark = Image.new("RGB", (64, 128), (20, 20, 20))
    Image.fromarray(fine).save(tmp_path / "fine.png")
    dark.save(tmp_path / "dark.png")
    noisy, plain = looks_of(tmp_path / "fine.png"), looks_of(tmp_path / "dark.png")
    assert (noisy["ratio"], plain["ratio"], plain["size"]) == (2.0, 0.5, 64 * 128)
    assert plain["brightness"] == pytest.approx(20)
    assert plain["colours"] == pytest.approx(0)
    assert noisy["sharpness"] > plain["sharpness"] == 0
    half = fine.copy()
    half[:32] = 255 - half[:32]
    Image.fromarray(half).save(tmp_path / "half.png")
    assert measure_change(tmp_path / "fine.png", tmp_path / "half.png") == pytest.approx(0.5, abs=0.05)


def test_sources_and_edits_are_looked_at(tmp_path: Path, monkeypatch, make_sample, make_results) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    samples = []
    for n in range(20):
        Image.new("RGB", (32, 24), (10 * n, 10 * n, 10 * n)).save(tmp_path / f"{n}.png")
        source = Picture(path=str(tmp_path / f"{n}.png"), digest=file_digest(tmp_path / f"{n}.png"))
        samples.append(replace(make_sample(n), pictures={"source": source}))
    remember_sources(samples)  # as a run of this user's own does
    results = make_results(samples, {("ours", "judge"): [[5.0]] * 20})
    results = replace(
        results,
        directory=str(tmp_path),
        edits=tuple(replace(edit, image=f"{(number + 5) % 20}.png") for number, edit in enumerate(results.edits)),
    )
    attributes = attributes_of(results, samples, "ours", pictures=True, without="judge")
    assert attributes.unread == 0
    assert all(("shape", "wide") in words for words in attributes.words)
    members = {(name, value): (bound, of) for (name, value, bound), of in attributes.members().items()}
    bound, lowest = members["brightness", "lowest tenth"]
    assert (lowest.nonzero()[0].tolist(), bound) == ([0, 1], pytest.approx(10.0)), "named by the last of them"
    assert attributes.quantities["changed"][0] == 1.0
    (tmp_path / "3.png").unlink()
    assert attributes_of(results, samples, "ours", pictures=True, without="judge").unread == 2  # a source, and an edit


def test_measures_of_other_judges_are_attributes(make_sample, make_results) -> None:
    samples = [make_sample(n) for n in range(20)]
    scoring = {
        "judge": Scoring(protocol="rubric", headline="score", scales={"score": Scale(lowest=0, highest=10)}),
        "faces": Scoring(protocol="numbers", headline="face_lost", scales={"face_lost": Scale(lowest=0, highest=1)}),
    }
    rows = {("ours", "judge"): [[5.0]] * 20, ("ours", "faces"): [[float(n % 2)] for n in range(20)]}
    results = make_results(samples, rows, scoring=scoring)
    attributes = attributes_of(results, samples, "ours", pictures=False, without="judge")
    assert attributes.quantities["faces/face_lost"] == [float(n % 2) for n in range(20)]
    assert "faces/face_lost" not in attributes_of(results, samples, "ours", pictures=False, without="faces").quantities
