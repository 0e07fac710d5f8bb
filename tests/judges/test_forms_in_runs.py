"""One run in which judges are asked in every form: what they say alike, what their readings and mass come to, shown."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from documents import plain
from drawn_pages import read_page
from edit_eval import evaluate
from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.judges.answers import LEAST_MASS
from edit_eval.plugins.status.sheet import print_sample
from edit_eval.records import Status
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.run import Run
from faults.faulty_runs import Ears
from small_benchmark import configuration, sample_id

VARYING = '''
from edit_eval.records import Reply


class Varying:
    """Says 4, 5, 6 in its readings, and of probabilities nothing but how they stand to each other."""

    reads = ("reading",)

    def __init__(self, parameters):
        pass

    def load(self, devices):
        pass

    def judge(self, requests):
        return [f"{4 + one.seed}.000" for one in requests]


class Divided(Varying):
    probabilities = True

    def judge(self, requests):
        return [Reply(values={one: 0.1 for one in request.labels}, normalised=True) for request in requests]
'''


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("varied")
    (folder / "own.py").write_text(VARYING, "utf-8")
    written = configuration(
        folder, edit={"device_ids": "cpu:1"}, evaluation={"readings": 3}, execution={"pilot": False, "progress": "none"}
    )
    del written["reward_model"]
    low = {"0": 0.1, "9": 0.2}
    unsure = {sample_id(2): dict.fromkeys("12345678", 0.0) | low, sample_id(3): dict.fromkeys("12345678", 0.05) | low}
    likely = {"protocol": {"answer": "probabilities"}}
    written["judges"] = {
        "varying": {"class_path": f"{folder}/own.py:Varying", "params": {"device_ids": "cpu:1"}},
        "divided": {"class_path": f"{folder}/own.py:Divided", "params": {"device_ids": "cpu:1"}, **likely},
        "unsure": {"type": "testing", "params": {"device_ids": "cpu:1", "values": unsure}, **likely},
    }
    return evaluate(written, run_dir=folder / "run", spectator=Ears())


class TestReadings:
    @pytest.mark.check
    def test_the_spread_is_that_between_the_readings(self, varied: Run) -> None:
        mine = [judgement for judgement in varied.results.judgements if judgement.judge == "varying"]
        assert {judgement.score for judgement in mine} == {5.0}
        assert {judgement.spread["score"] for judgement in mine} == {1.0}
        assert plain(varied.summary.readings["varying"]) == {
            "readings": 3,
            "spread": 1.0,
            "identical": False,
            "mass": None,
        }
        entry = next(result for result in varied.summary.results if result.judge == "varying")
        assert entry.scores["score"].spread == 1.0

    def test_it_is_in_the_files_and_shown(self, varied: Run) -> None:
        folder = varied.path / "report"
        rows = csv.DictReader(io.StringIO((folder / "scores.csv").read_text("utf-8")))
        assert {row["spread"] for row in rows if row["judge"] == "varying"} == {"1.0"}
        line = "varying: each score is the mean of 3 readings, with a standard deviation of 1.00 between them."
        assert line in (folder / "report.md").read_text("utf-8")
        page = read_page(folder / "index.html")
        assert line in page
        assert '"spread":{"score":1.0}' in page
        shown = io.StringIO()
        print_summary(varied.summary, Console(file=shown, width=200))
        assert line in shown.getvalue()
        shown = io.StringIO()
        print_sample(varied.results, sample_id(1), Console(file=shown, width=200))
        assert "5.000, 1.000 between its readings" in shown.getvalue()


class TestMass:
    def test_it_is_kept_with_each_reading_and_summed_up_by_judge(self, varied: Run) -> None:
        readings = varied.summary.readings
        assert plain(readings["unsure"].mass) == {
            "readings": 27,
            "unknown": 0,
            "median": pytest.approx(1.0),
            "below": 3,
            "floor": LEAST_MASS,
        }
        assert plain(readings["divided"].mass) == {
            "readings": 27,
            "unknown": 27,
            "median": None,
            "below": 0,
            "floor": LEAST_MASS,
        }
        judged = {(judgement.judge, judgement.sample_id): judgement for judgement in varied.results.judgements}
        below, enough = judged["unsure", sample_id(2)], judged["unsure", sample_id(3)]
        assert (below.status, below.readings[0]["score"].mass) == (Status.UNPARSEABLE, pytest.approx(0.3))
        assert enough.readings[0]["score"].mass == pytest.approx(0.7)
        level = (9 * 0.2 + 0.05 * math.fsum(range(1, 9))) / 0.7
        assert enough.score == pytest.approx(level * 10 / 9)
        assert judged["divided", sample_id(0)].score == pytest.approx(5)

    def test_it_is_shown(self, varied: Run) -> None:
        folder = varied.path / "report"
        lines = (
            "unsure: mass (the probability of all answers that were asked for) 1.000 in the median, below 0.5 and no "
            "answer in 3 of 27 readings.",
            "divided: mass: unknown in 27 of 27 readings; its server tells only how likely the answers are beside each "
            "other.",
        )
        shown = io.StringIO()
        print_summary(varied.summary, Console(file=shown, width=200))
        for line in lines:
            assert line in " ".join(shown.getvalue().split())
            assert line in read_page(folder / "index.html")
        replies = [json.loads(line) for line in (folder / "replies.jsonl").read_text("utf-8").splitlines()]
        assert {reply["mass"] for reply in replies if reply["judge"] == "divided"} == {"unknown"}
        assert not any("mass" in reply for reply in replies if reply["judge"] == "varying")
        shown = io.StringIO()
        print_sample(varied.results, sample_id(2), Console(file=shown, width=200))
        assert "0.300 (probability of the allowed answers together)" in shown.getvalue()


class TestBeforeTheRun:
    def experiment(self, folder: Path, judge: dict[str, Any], **more: Any) -> Experiment:
        written = configuration(folder, **more)
        written["reward_model"] = judge
        loaded = load_configuration(written)
        return make_experiment(loaded, load_samples(loaded))

    def test_a_judge_that_has_no_probabilities_is_refused_with_the_remedy(self, tmp_path: Path) -> None:
        (tmp_path / "own.py").write_text(VARYING, "utf-8")
        likely = {"protocol": {"answer": "probabilities"}}
        with pytest.raises(ConfigurationError) as caught:
            self.experiment(tmp_path, {"class_path": f"{tmp_path}/own.py:Varying"}, **likely)
        assert "cannot give the probabilities of its answers (its class has no `probabilities = True`)" in str(
            caught.value
        )
        assert "write another `answer` into its `protocol`" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert self.experiment(tmp_path, {"class_path": f"{tmp_path}/own.py:Divided"}, **likely).samples
        assert self.experiment(tmp_path, {"class_path": f"{tmp_path}/own.py:Varying"}).samples

    def test_a_class_that_cannot_be_imported_here_is_left_to_its_worker(self, tmp_path: Path) -> None:
        (tmp_path / "own.py").write_text(f"import no_such_module_anywhere\n{VARYING}", "utf-8")
        elsewhere = {"class_path": f"{tmp_path}/own.py:Varying", "params": {"python": "/usr/bin/python3"}}
        assert self.experiment(tmp_path, elsewhere, protocol={"answer": "probabilities"}).samples

    @pytest.mark.parametrize(
        ("judge", "protocol", "readings", "said"),
        [
            ({"temperature": 0.0}, {}, 4, "4 equal answers (temperature: 0)"),
            ({}, {}, 4, "set its temperature above 0, or leave readings out"),
            ({}, {"answer": "probabilities"}, 2, "2 equal answers (probabilities are not sampled); leave readings out"),
            ({"temperature": 0.7}, {}, 4, ""),
            ({}, {}, 1, ""),
        ],
    )
    def test_readings_that_would_be_equal_are_noted(
        self, tmp_path: Path, judge: dict[str, Any], protocol: dict[str, Any], readings: int, said: str
    ) -> None:
        written = configuration(tmp_path, evaluation={"readings": readings}, protocol=protocol)
        written["reward_model"] = {"type": "chat_endpoint", "params": {"model": "m", **judge}}
        notes = load_configuration(written).notes
        assert said in " ".join(notes)
        assert bool(notes) == bool(said)
