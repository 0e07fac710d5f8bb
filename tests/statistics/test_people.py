from __future__ import annotations

import ast
import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.people import (
    PersonScore,
    between_raters,
    mean_scores,
    people_agreement,
    rank_agreement,
    read_people_file,
    read_people_scores,
)

ASPECTS = ("SC", "PQ", "O")


def three(semantics: float, quality: float) -> tuple[float, float, float]:
    return semantics, quality, math.sqrt(semantics * quality)


@pytest.fixture
def viescore(judge_agreement_data):
    """For each aspect: the judge's scores, three raters' scores, and LPIPS, for the same eight editors."""
    answers = json.loads((judge_agreement_data / "gpt4o_0shot.json").read_text())
    judge = {
        editor: {
            (item, 0): three(min(found["SC"]["score"]), min(found["PQ"]["score"])) for item, found in items.items()
        }
        for editor, items in answers.items()
    }
    raters = []
    for number in (1, 2, 3):
        path = judge_agreement_data / "human" / f"Text-Guided_IE_rater{number}.tsv"
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        raters.append(
            {editor: {(row["uid"], 0): three(*ast.literal_eval(row[editor])) for row in rows} for editor in judge}
        )
    lpips = {
        editor: {(item, 0): -found["LPIPS"] for item, found in items.items()}
        for editor, items in json.loads((judge_agreement_data / "lpips.json").read_text()).items()
    }

    def aspect(scores, place):
        return {editor: {item: values[place] for item, values in items.items()} for editor, items in scores.items()}

    return {
        name: {
            "judge": aspect(judge, place),
            "raters": [aspect(rater, place) for rater in raters],
            "lpips": lpips,
        }
        for place, name in enumerate(ASPECTS)
    }


def crowd(raters):
    return mean_scores(
        (editor, sample, seed, score)
        for rater in raters
        for editor, items in rater.items()
        for (sample, seed), score in items.items()
    )


@pytest.mark.parametrize(("aspect", "known"), [("SC", 0.454), ("PQ", 0.544), ("O", 0.419)])
def test_gpt4o_against_people(viescore, aspect, known):
    found = rank_agreement(viescore[aspect]["judge"], crowd(viescore[aspect]["raters"]), resamples=200)
    assert found["spearman"] == pytest.approx(known, abs=0.005)
    assert len(found["edit_models"]) == 8
    assert all(model["n"] == 179 for model in found["edit_models"].values())
    assert found["ci95"][0] < known < found["ci95"][1]


@pytest.mark.parametrize(("aspect", "known"), [("SC", 0.512), ("PQ", 0.570), ("O", 0.506)])
def test_one_person_against_another(viescore, aspect, known):
    found = between_raters(viescore[aspect]["raters"])
    assert found["spearman"] == pytest.approx(known, abs=0.005)
    assert found["raters"] == 3


def test_lpips_against_people(viescore):
    found = rank_agreement(viescore["O"]["lpips"], crowd(viescore["O"]["raters"]), resamples=0)
    assert found["spearman"] == pytest.approx(0.116, abs=0.005)
    assert found["ci95"] is None


def test_a_correlation_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(0)
    one = generator.integers(0, 11, size=50)
    other = np.clip(one + generator.integers(-4, 5, size=50), 0, 10)
    found = rank_agreement(
        {"m": {(str(i), 0): float(v) for i, v in enumerate(one)}},
        {"m": {(str(i), 0): float(v) for i, v in enumerate(other)}},
    )
    assert found["edit_models"]["m"]["spearman"] == pytest.approx(stats.spearmanr(one, other).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(one, other).statistic)


def scores(*values: float):
    return {(str(place), 0): value for place, value in enumerate(values)}


def test_what_has_no_correlation_does_not_count():
    one = {
        "few": scores(1, 2, 3),
        "flat": scores(5, 5, 5, 5, 5),
        "some": scores(1, 3, 2, 4, 5),
        "only": scores(1),
    }
    other = {"few": scores(1, 2, 3), "flat": scores(1, 2, 3, 4, 5), "some": scores(1, 2, 3, 4, 5)}
    found = rank_agreement(one, other)
    assert found["edit_models"] == {
        "few": {"n": 3, "spearman": None},
        "flat": {"n": 5, "spearman": None},
        "some": {"n": 5, "spearman": pytest.approx(0.9)},
    }
    assert found["spearman"] == pytest.approx(0.8)  # closer to 1 than 1 - 1/5: taken for that
    nothing = rank_agreement({"m": scores(1, 2)}, {"m": scores(1, 2)})
    assert nothing["spearman"] is nothing["ci95"] is None


def test_one_perfect_model_does_not_make_the_mean_perfect():
    values = np.random.default_rng(5).permutation(100).astype(float)
    others = np.random.default_rng(6).permutation(100).astype(float)
    one = {"perfect": scores(*values), "unrelated": scores(*values)}
    found = rank_agreement(one, {"perfect": scores(*values), "unrelated": scores(*others)}, resamples=0)
    assert found["edit_models"]["perfect"]["spearman"] == pytest.approx(1.0)
    assert found["spearman"] < 0.95


def test_a_run_against_a_file_of_people(make_sample, make_results):
    samples = [make_sample(index, source=index // 2) for index in range(40)]
    rows = [[float(index % 11)] for index in range(40)]
    rows[3] = [Status.UNPARSEABLE]
    run = make_results(samples, {("m", "j"): rows})
    generator = np.random.default_rng(2)
    lines = ["sample_id,edit_model,score,rater\n"]
    for rater in ("ann", "bob"):
        lines += [f"{of.id},m,{of.index % 11 + generator.integers(-3, 4)},{rater}\n" for of in samples]
    lines += ["s9999,m,3,ann\n", "s0001,unknown,3,ann\n"]
    found = people_agreement(run, read_people_scores(lines), resamples=100)
    judge = found["judges"]["j"]
    assert judge["edit_models"]["m"]["n"] == 39
    assert 0.6 < judge["ci95"][0] < judge["spearman"] < judge["ci95"][1] < 1.0
    assert found["raters"]["raters"] == 2
    assert found["raters"]["spearman"] < judge["spearman"]  # one person is noisier than the mean of two
    assert found["unmatched"] == 2
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_known_answers_from_a_run_and_a_csv(viescore, make_sample, make_results, tmp_path):
    """The whole road: judgements of 1,432 edits, and the three people's scores in the file that we ask for."""
    judge, raters = viescore["O"]["judge"], viescore["O"]["raters"]
    items = sorted({item for items in judge.values() for item, _ in items})
    samples = [replace(make_sample(n), id=item) for n, item in enumerate(items)]
    rows = {(editor, "gpt4o"): [[scores[(item, 0)]] for item in items] for editor, scores in judge.items()}
    with (tmp_path / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sample_id", "edit_model", "rater", "score"])
        for number, rater in enumerate(raters):
            writer.writerows(
                [item, editor, f"rater {number}", score]
                for editor, scores in rater.items()
                for (item, _), score in scores.items()
            )
    found = people_agreement(make_results(samples, rows), read_people_file(tmp_path / "people.csv"), resamples=0)
    assert found["judges"]["gpt4o"]["spearman"] == pytest.approx(0.419, abs=0.005)
    assert found["raters"]["spearman"] == pytest.approx(0.506, abs=0.005)
    assert (found["people"], found["scores"], found["unmatched"]) == (3, 3 * 1432, 0)
    assert found["median"] is None


def test_the_median_of_the_judges_is_held_against_people_too(make_sample, make_results):
    samples = [make_sample(index) for index in range(400)]
    truth = np.random.default_rng(8).uniform(0, 10, size=400)
    noise = np.random.default_rng(9).normal(0, 4, size=(3, 400))
    scores = {
        ("m", f"j{judge}"): [[float(t + n)] for t, n in zip(truth, noise[judge], strict=True)] for judge in range(3)
    }
    people = [PersonScore(of.id, "m", float(t)) for of, t in zip(samples, truth, strict=True)]
    found = people_agreement(make_results(samples, scores), people, resamples=0)
    assert found["median"]["spearman"] > max(judge["spearman"] for judge in found["judges"].values())


def test_scores_about_other_edits_are_refused_with_an_example(make_sample, make_results):
    run = make_results([make_sample(0)], {("m", "j"): [[5.0]]})
    with pytest.raises(ConfigurationError) as refused:
        people_agreement(run, [PersonScore("s0000", "M", 3.0), PersonScore("s0001", "m", 3.0)])
    assert str(refused.value) == (
        "not one of 2 scores of people is about an edit of this run; the first is about 's0000' by 'M' (edit seed 0), "
        "an edit of this run is 's0000' by 'm' (edit seed 0)"
    )
    with pytest.raises(ConfigurationError, match="not one score"):
        people_agreement(run, [])


def test_one_person_has_no_ceiling(make_sample, make_results):
    samples = [make_sample(index) for index in range(6)]
    run = make_results(samples, {("m", "j"): [[float(index)] for index in range(6)]})
    people = [PersonScore(of.id, "m", float(of.index)) for of in samples]
    found = people_agreement(run, people, resamples=0)
    assert found["raters"] is None
    assert found["judges"]["j"]["edit_models"]["m"]["spearman"] == pytest.approx(1.0)


def test_a_file_as_a_spreadsheet_writes_it():
    rows = read_people_scores(["\ufeffsample_id,score,edit_model,edit_seed,note\r\n", '"a,b",7.5,m,2,"so so"\r\n'])
    assert rows == [PersonScore("a,b", "m", 7.5, "", 2)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "does not name the column 'sample_id'"),
        (["sample_id,edit_model\n"], "does not name the column 'score'"),
        (["sample_id,edit_model,score\n", "a,m,good\n"], "votes.csv, line 2: score 'good'"),
        (["sample_id,edit_model,score\n", "a,m\n"], "line 2: score None"),
        (["sample_id,edit_model,score\n", "a,m,nan\n"], "no finite number"),
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
    with pytest.raises(ConfigurationError, match=r"latin\.csv: is not UTF-8"):
        read_people_file(tmp_path / "latin.csv")
    (tmp_path / "long.csv").write_text(f"sample_id,edit_model,score\n{'a' * 200_000},m,1\n")
    before = csv.field_size_limit(131_072)  # the library's; a table read by this process may have raised it
    try:
        with pytest.raises(ConfigurationError, match=r"long\.csv: is no CSV"):
            read_people_file(tmp_path / "long.csv")
    finally:
        csv.field_size_limit(before)
    (tmp_path / "good.csv").write_bytes("\ufeffsample_id,edit_model,score\r\na,m,1\r\n".encode())
    assert read_people_file(tmp_path / "good.csv") == [PersonScore("a", "m", 1.0)]


def named(make_sample, make_results):
    """A judge of two scores, the second a loss; people's scores of each."""
    scales = {"O": Scale(lowest=0, highest=10), "loss": Scale(lowest=0, higher_is_better=False)}
    samples = [make_sample(n) for n in range(12)]
    rows = [[{"O": float(n), "loss": float(7 * n % 12)}] for n in range(12)]
    run = make_results(samples, {("m", "j"): rows}, scoring=Scoring(protocol="p", headline="O", scales=scales))
    lines = ["sample_id,edit_model,score,score_name\n"]
    lines += [f"{of.id},m,{of.index},O\n" for of in samples]
    lines += [f"{of.id},m,{-(7 * of.index % 12)},loss\n" for of in samples]
    return run, read_people_scores(lines)


def test_people_name_the_score_that_theirs_is_about(make_sample, make_results):
    run, people = named(make_sample, make_results)
    for score, of_people in ((None, 12), ("O", 12), ("loss", 12)):
        found = people_agreement(run, people, score=score, resamples=0)
        assert found["judges"]["j"]["spearman"] == pytest.approx(1 - 1 / 12)  # perfect, as Fisher's z takes it
        assert (found["scores"], found["unmatched"]) == (of_people, 12)
    unnamed = [replace(one, score_name="") for one in people if one.score_name == "O"]
    found = people_agreement(run, unnamed, score="loss", resamples=0)
    assert abs(found["judges"]["j"]["spearman"]) < 0.5, "one without a name is held against whatever is looked at"
    assert found["unmatched"] == 0


def test_scores_of_people_about_another_score_are_refused(make_sample, make_results):
    run, people = named(make_sample, make_results)
    only = [one for one in people if one.score_name == "O"]
    with pytest.raises(ConfigurationError, match="not one of 12 scores of people is about loss; they are about O"):
        people_agreement(run, only, score="loss")
    with pytest.raises(ConfigurationError, match="line 4: a second score 'O' for sample 'a'"):
        read_people_scores(
            ["sample_id,edit_model,score,score_name\n", "a,m,1,O\n", "a,m,1,SC\n", "a,m,2,O\n"], "votes.csv"
        )
