from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.statistics.people import read_people, read_people_file, read_people_scores
from edit_eval.statistics.votes import Rating


def test_a_file_as_a_spreadsheet_writes_it():
    rows = read_people_scores(["\ufeffsample_id,score,edit_model,edit_seed,note\r\n", '"a,b",7.5,m,2,"so so"\r\n'])
    assert rows == [Rating("a,b", "m", 7.5, "", 2)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "does not name the column 'sample_id'"),
        (["sample_id,edit_model\n"], "does not name the column 'score'"),
        (["sample_id,edit_model,score\n", "a,m,good\n"], "votes.csv, line 2: the score 'good'"),
        (["sample_id,edit_model,score\n", "a,m\n"], "line 2: the score ''"),
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
    (tmp_path / "open.csv").write_text('sample_id,edit_model,score\n"a,m,1\n')
    with pytest.raises(ConfigurationError, match=r"open\.csv: is not a CSV file \(line 2: "):
        read_people_file(tmp_path / "open.csv")
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
    ratings = read_people(judge_agreement_data)
    assert len(ratings) == 3 * 179 * 9 * 3
    assert {rating.rater for rating in ratings} == {"rater1", "rater2", "rater3"}
    first = [
        rating for rating in ratings if rating.sample_id == "sample_100081_1" and rating.edit_model == "CycleDiffusion"
    ]
    of_one = [(rating.score_name, rating.score) for rating in first if rating.rater == "rater1"]
    assert of_one == [("SC", 0.5), ("PQ", 0.5), ("O", 0.5)]
    assert ratings == read_people(judge_agreement_data / "human")


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
