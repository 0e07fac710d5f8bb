from __future__ import annotations

import csv
import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.agreement import people_agreement, people_measures
from edit_eval.statistics.people import Rating, read_people, read_people_file, read_people_scores


def test_a_file_as_a_spreadsheet_writes_it():
    rows = read_people_scores(["\ufeffsample_id,score,edit_model,edit_seed,note\r\n", '"a,b",7.5,m,2,"so so"\r\n'])
    assert rows == [Rating("a,b", "m", 7.5, "", 2)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "does not name the column 'sample_id'"),
        (["sample_id,edit_model\n"], "does not name the column 'score'"),
        (["sample_id,edit_model,score\n", "a,m,good\n"], "votes.csv, line 2: the score 'good'"),
        (["sample_id,edit_model,score\n", "a,m\n"], "line 2: the score None"),
        (["sample_id,edit_model,score\n", "a,m,nan\n"], "not a finite number"),
        (["sample_id,edit_model,score\n", "a,m,1_0\n"], "the score '1_0' is not a finite number"),
        (["sample_id,edit_model,score\n", "a,m,\u0667\n"], "is not a finite number"),
        (["sample_id,edit_model,score\n", "a,m,0x1p3\n"], "is not a finite number"),
        (["sample_id,edit_model,score\n", "a,m,1e308\n"], "is not a finite number"),
        (["sample_id,edit_model,score,edit_seed\n", "a,m,1,1_0\n"], "the edit seed '1_0' is not a whole number"),
        (["sample_id,edit_model,score,weight\n", "a,m,1,1_0\n"], "the weight '1_0' is not"),
        (["sample_id,edit_model,score\n", "a,m,1\n", "a,m,2\n"], "line 3: a second score for sample 'a'"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(lines, message):
    with pytest.raises(ConfigurationError, match=message):
        read_people_scores(lines, "votes.csv")


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(ConfigurationError, match=r"nowhere\.csv: cannot be read \(No such file"):
        read_people_file(tmp_path / "nowhere.csv")
    (tmp_path / "latin.csv").write_bytes("sample_id,edit_model,score,rater\na,m,1,Zoë\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"latin\.csv: not UTF-8"):
        read_people_file(tmp_path / "latin.csv")
    (tmp_path / "long.csv").write_text(f"sample_id,edit_model,score\n{'a' * 200_000},m,1\n")
    before = csv.field_size_limit(131_072)  # the library's; a table read by this process may have raised it
    try:
        with pytest.raises(ConfigurationError, match=r"long\.csv: is not a CSV"):
            read_people_file(tmp_path / "long.csv")
    finally:
        csv.field_size_limit(before)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ConfigurationError, match=r"pipe\.csv: not a file"):
        read_people_file(tmp_path / "pipe.csv")
    (tmp_path / "good.csv").write_bytes("\ufeffsample_id,edit_model,score\r\na,m,1\r\n".encode())
    assert read_people_file(tmp_path / "good.csv") == [Rating("a", "m", 1.0)]


def test_a_second_score_of_the_same_name_is_refused():
    with pytest.raises(ConfigurationError, match="line 4: a second score 'O' for sample 'a'"):
        read_people_scores(
            ["sample_id,edit_model,score,score_name\n", "a,m,1,O\n", "a,m,1,SC\n", "a,m,2,O\n"], "votes.csv"
        )


def test_the_tables_that_viescore_published(judge_agreement_data):
    found = read_people(judge_agreement_data)
    assert len(found) == 3 * 179 * 9 * 3
    assert {one.rater for one in found} == {"rater1", "rater2", "rater3"}
    first = [one for one in found if one.sample_id == "sample_100081_1" and one.edit_model == "CycleDiffusion"]
    of_one = [(one.score_name, one.score) for one in first if one.rater == "rater1"]
    assert of_one == [("SC", 0.5), ("PQ", 0.5), ("O", 0.5)]
    assert found == read_people(judge_agreement_data / "human")


def test_a_folder_without_tables_and_a_cell_that_is_none(tmp_path):
    with pytest.raises(ConfigurationError, match=r"has no tables named \*_rater1\.tsv"):
        read_people(tmp_path)
    (tmp_path / "x_rater1.tsv").write_text("uid\tone\na.jpg\t[0.5, 1]\nb.jpg\t[0.5]\n")
    with pytest.raises(ConfigurationError, match=r"x_rater1\.tsv, line 3: one has '\[0\.5\]', not a pair of numbers"):
        read_people(tmp_path)


def test_vie_is_a_folder_in_the_cache(judge_agreement_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match="people/vie does not exist; put VIEScore's tables there"):
        read_people(Path("vie"))
    shutil.copytree(judge_agreement_data / "human", tmp_path / "edit-eval" / "people" / "vie")
    assert len(read_people(Path("vie"))) == 3 * 179 * 9 * 3


KNOWN = {
    # within models: with the mean of people, with one person; one person with another, with the mean of the others;
    # between models
    "SC": (0.454, 0.371, 0.512, 0.542, 0.905),
    "PQ": (0.544, 0.460, 0.570, 0.638, 0.048),
    "O": (0.419, 0.332, 0.506, 0.545, 0.929),
}
SCALES = {name: Scale(lowest=0, highest=10) for name in KNOWN}
LOSS = {name: Scale(lowest=0, higher_is_better=False) for name in KNOWN}


def scores(found):
    semantics, quality = (float(min(found[name]["score"])) for name in ("SC", "PQ"))
    return {"SC": semantics, "PQ": quality, "O": math.sqrt(semantics * quality)}


@pytest.fixture
def run(judge_agreement_data, make_sample, make_results):
    """The eight editors judged by GPT-4o, and by LPIPS as if it were any of the three scores."""
    said = json.loads((judge_agreement_data / "gpt4o_0shot.json").read_text())
    lpips = json.loads((judge_agreement_data / "lpips.json").read_text())
    items = list(next(iter(said.values())))
    samples = [
        replace(make_sample(n), id=item.removesuffix(".jpg"), cluster=item.split("_")[1])
        for n, item in enumerate(items)
    ]
    rows = {(editor, "gpt4o"): [[scores(of[item])] for item in items] for editor, of in said.items()}
    rows |= {
        (editor, "lpips"): [[dict.fromkeys(KNOWN, of[item]["LPIPS"])] for item in items] for editor, of in lpips.items()
    }
    scoring = {
        "gpt4o": Scoring(protocol="viescore", headline="O", scales=SCALES),
        "lpips": Scoring(protocol="numbers", headline="O", scales=LOSS),
    }
    return make_results(samples, rows, scoring=scoring)


@pytest.fixture
def people(judge_agreement_data):
    return read_people(judge_agreement_data)


@pytest.mark.parametrize("name", KNOWN)
def test_like_is_held_against_like(name, run, people):
    found = people_agreement(run, people, score=name, resamples=0)
    judge, raters = found["judges"]["gpt4o"], found["raters"]
    with_mean, with_one, one_with_one, one_with_others, between = KNOWN[name]
    assert judge["spearman"] == pytest.approx(with_mean, abs=0.005)
    assert judge["one_person"]["spearman"] == pytest.approx(with_one, abs=0.005)
    assert raters["spearman"] == pytest.approx(one_with_one, abs=0.005)
    assert raters["others"]["spearman"] == pytest.approx(one_with_others, abs=0.005)
    assert judge["one_person"]["spearman"] < judge["others"]["spearman"] < judge["spearman"]
    assert judge["as_one_person"]["value"] == pytest.approx(with_one / one_with_one, abs=0.01)
    assert judge["between_models"]["spearman"] == pytest.approx(between, abs=0.001)
    assert judge["between_models"]["models"] == 8
    assert (judge["n"], judge["total"], judge["score"]) == (1432, 1432, name)
    assert judge["worst_case"] == pytest.approx(judge["spearman"]) == judge["best_case"]
    assert raters["raters"] == found["people"] == 3
    assert found["scores"] == 3 * 1432


def test_lpips_against_people(run, people):
    found = people_agreement(run, people, resamples=0)["judges"]["lpips"]
    assert found["spearman"] == pytest.approx(0.116, abs=0.005)


def test_a_score_that_ranks_edits_and_not_models_is_told_from_one_that_does_both(run, people):
    """PQ agrees best with people within a model, and orders hardly more than half of the models' pairs."""
    overall, quality = (people_measures(run, people, score=name, resamples=300) for name in ("O", "PQ"))
    assert quality["as_one_person"].value > overall["as_one_person"].value
    assert quality["as_one_person"].passed
    assert overall["pairs_ordered"].value == 1.0
    assert overall["pairs_ordered"].passed
    assert quality["pairs_ordered"].value == pytest.approx(0.571, abs=0.005)
    assert quality["pairs_ordered"].passed is False
    assert quality["pairs_ordered"].ci95[0] < quality["pairs_ordered"].floor == 0.8
    lpips = people_measures(run, people, judge="lpips", resamples=300)
    assert not lpips["as_one_person"].passed


def test_two_judges_are_compared_on_the_same_draws(run, people):
    found = people_agreement(run, people, resamples=300)
    (pair,) = found["pairs"]
    within = pair["within_models"]
    assert (pair["a"], pair["b"], pair["n"]) == ("gpt4o", "lpips", 1432)
    assert within["difference"] == pytest.approx(0.419 - 0.116, abs=0.01)
    assert within["ci95"][0] > 0.2
    widths = [end[1] - end[0] for end in (found["judges"][name]["ci95"] for name in ("gpt4o", "lpips"))]
    assert within["ci95"][1] - within["ci95"][0] < math.hypot(*widths) * 1.1


def test_a_calibrated_score_foretells_people_on_images_that_it_never_saw(run, people):
    found = people_agreement(run, people, score="SC", resamples=50)["judges"]["gpt4o"]["calibration"]
    values = [knot["value"] for knot in found["map"]]
    assert [knot["score"] for knot in found["map"]] == list(range(11))
    assert values == sorted(values)
    assert found["explained"] == pytest.approx(0.488, abs=0.01)
    assert all(knot["ci95"][0] <= knot["value"] <= knot["ci95"][1] for knot in found["map"][:10])


def test_what_a_judge_left_unscored_is_counted_and_bounded(run, people):
    """A judge that says nothing of what people find bad: the bounds hold the truth, and the file says what was left."""
    crowd = {}
    for one in people:
        if one.score_name == "O":
            crowd.setdefault((one.edit_model, one.sample_id), []).append(one.score)
    judgements = tuple(
        replace(one, scores={}, status=Status.UNPARSEABLE)
        if one.judge == "gpt4o" and place % 4 == 0 and sum(crowd[one.edit_model, one.sample_id]) > 0
        else one
        for place, one in enumerate(run.judgements)
    )
    judge = people_agreement(replace(run, judgements=judgements), people, resamples=100)["judges"]["gpt4o"]
    assert judge["n"] + judge["unscored"]["n"] == judge["total"] == 1432
    assert 50 < judge["unscored"]["n"] < 300
    assert judge["worst_case"] < 0.419 < judge["best_case"]
    assert judge["unscored"]["difference"] == pytest.approx(
        judge["unscored"]["people_mean"] - judge["unscored"]["people_mean_scored"]
    )
    assert judge["unscored"]["ci95"][0] > 0
