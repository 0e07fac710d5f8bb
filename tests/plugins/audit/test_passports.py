"""A passport is found again by who was asked what, and by nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from edit_eval.config.identity import digest
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.audit import passports
from edit_eval.plugins.audit.examiner import Examined
from edit_eval.plugins.audit.measure import Anchor, Measure
from edit_eval.plugins.audit.passports import ExaminedScale, Examinee, Passport, Try
from edit_eval.protocols.asked import AskedJudge, make_judges


def judge(language: str = "en", **protocol: object) -> AskedJudge:
    configuration = load_configuration(
        {
            "benchmark": {"type": "scenes", "language": language},
            "edit_models": {"editor": {"type": "scene_editor"}},
            "judges": {"mine": {"type": "scene_judge", "protocol": protocol}},
        }
    )
    return make_judges(configuration)[0]


def judged_by(section: dict[str, object], folder: Path) -> AskedJudge:
    """The judge of a configuration that lies in that folder."""
    configuration = load_configuration(
        {
            "import_from": str(folder),
            "benchmark": {"type": "scenes", "language": "en"},
            "edit_models": {"editor": {"type": "scene_editor"}},
            "judges": {"mine": section},
        }
    )
    return make_judges(configuration)[0]


def passport(asked: AskedJudge, language: str = "en", **changes: object) -> Passport:
    made = Passport(
        **structs.asdict(Examinee.from_judge(asked, language)),
        name="mine",
        form=("score",),
        pictures=("source", "edit"),
        headline="score",
        scale=ExaminedScale(lowest=0.0, highest=10.0, higher_is_better=True),
        date="2026-11-21",
        version="2",
        benchmark={"type": "ladder", "seed": 3},
        verdict="limited",
        measures={
            "order": Measure(value=0.93, ci95=(0.91, 0.95), floor=0.85, passed=True, n=2000, scenes=200),
            "words": Measure(value=0.2, ci95=(0.1, 0.3), floor=0.03, bound="at_most", passed=False, n=50, scenes=50),
            "retest": Measure(value=None, reason="nobody asked twice"),
        },
        categories={"causal": {"order": Measure(value=0.7, ci95=(0.6, 0.8), floor=0.75, passed=False, n=9, scenes=4)}},
        smallest_difference=0.5,
        retest_sd=0.18,
        anchors=(Anchor("causal-03.right", "causal-03", "right", "causal", "ab" * 32, 9.5),),
    )
    return structs.replace(made, **changes)


def line(judge_passport: Passport | None, language: str) -> str:
    return Examined(passport=judge_passport, language=language).document.line


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    made = passport(judge())
    path = passports.write(made, tmp_path / "new")
    assert passports.read_file(path) == made
    assert passports.read(tmp_path / "new", judge(), "en") == made


@pytest.mark.parametrize(
    "other", [{"answer": "reason_then_score"}, {"images": ["edited", "source"]}, {"images": ["edited"]}]
)
def test_a_judge_that_is_asked_otherwise_has_none(tmp_path: Path, other: dict[str, object]) -> None:
    passports.write(passport(judge()), tmp_path)
    assert passports.read(tmp_path, judge(**other), "en") is None


def test_another_wording_or_other_parameters_are_another_judge(tmp_path: Path) -> None:
    passports.write(passport(judge()), tmp_path)
    asked = judge()
    assert passports.read(tmp_path, replace(asked, texts={**asked.texts, "more": 1}), "en") is None
    assert passports.read(tmp_path, replace(asked, model=replace(asked.model, revision="2")), "en") is None
    assert passports.read(tmp_path, replace(asked, model=replace(asked.model, name="another name")), "en") is not None


def test_two_servers_with_one_model_s_name_are_two_judges(tmp_path: Path) -> None:
    """And one server is one judge, by whatever key or spelling it is reached. A run's own replies stay valid."""

    def at(address: str) -> AskedJudge:
        return judged_by({"type": "chat_endpoint", "params": {"model": "judge", "base_url": address}}, tmp_path)

    here, there = at("http://node17:8000/v1"), at("http://node18:8000/v1")
    passports.write(passport(here), tmp_path)
    assert passports.read(tmp_path, here, "en") is not None
    assert passports.read(tmp_path, at("http://NODE17:8000/v1/"), "en") is not None
    for other in (there, at("http://node17:8001/v1"), at("https://node17:8000/v1")):
        assert passports.read(tmp_path, other, "en") is None
        assert other.model == here.model
        assert other.model.digest == here.model.digest
    assert at("http://127.0.0.1:8000/v1").model.serves == at("http://localhost:8000/v1").model.serves


def test_one_server_that_we_start_with_other_weights_is_another_judge(tmp_path: Path) -> None:
    def started(weights: str) -> AskedJudge:
        serve = {"engine": "vllm", "args": ["--revision", weights]}
        return judged_by({"type": "chat_endpoint", "params": {"model": "judge", "serve": serve}}, tmp_path)

    passports.write(passport(started("a")), tmp_path)
    assert passports.read(tmp_path, started("a"), "en") is not None
    assert passports.read(tmp_path, started("b"), "en") is None


OWN = """
from measuring import worth

class Judge:
    def __init__(self, parameters): ...
    def load(self, devices): ...
    def judge(self, requests): return [f"{worth(one):.3f}" for one in requests]
"""


@pytest.mark.parametrize(
    ("changed", "known"), [("measuring.py", False), ("deeper/scale.py", False), ("own.py", False), ("beside.py", True)]
)
def test_a_class_is_known_by_all_modules_that_it_imports(tmp_path: Path, changed: str, known: bool) -> None:
    """A judge whose helper says 7 to everything is not the one that was examined."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "measuring.py").write_text("from deeper.scale import SPAN\n\ndef worth(one): return SPAN * one.seed\n")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "__init__.py").write_text("")
    (tmp_path / "deeper" / "scale.py").write_text("SPAN = 10\n")
    (tmp_path / "beside.py").write_text("")

    def own() -> AskedJudge:
        return judged_by({"class_path": f"{tmp_path}/own.py:Judge"}, tmp_path)

    passports.write(passport(own(), verdict="passed"), tmp_path / "passports")
    assert passports.read(tmp_path / "passports", own(), "en") is not None
    text = "def worth(one): return 7.0\nSPAN = 7\n" + (OWN if changed == "own.py" else "")
    (tmp_path / changed).write_text(text)
    assert (passports.read(tmp_path / "passports", own(), "en") is not None) == known


def test_of_another_language_it_says_so(tmp_path: Path) -> None:
    english = passport(judge(), verdict="passed", measures={}, categories={})
    passports.write(english, tmp_path)
    stored = passports.read(tmp_path, judge("zh"), "zh")
    assert stored == english
    assert line(stored, "zh") == "audited 2026-11-21: passed; not audited for Chinese"
    assert line(stored, "en") == "audited 2026-11-21: passed"
    passports.write(passport(judge("zh"), "zh"), tmp_path)
    assert passports.read(tmp_path, judge("zh"), "zh") == passport(judge("zh"), "zh")


def test_the_line_names_what_it_did_not_pass() -> None:
    assert line(passport(judge()), "en") == "audited 2026-11-21: limited (words; Better edits score higher, Causal)"
    assert line(None, "en") == "not audited"


@pytest.mark.parametrize(
    ("verdict", "ended"),
    [("passed", "other_language"), ("limited", "other_language"), ("failed", "failed"), ("edited", "edited")],
)
def test_what_passed_in_another_language_says_nothing_of_this_one(verdict: str, ended: str) -> None:
    judge_passport = passport(judge(), verdict=verdict)
    assert Examined(passport=judge_passport, language="zh").document.ended == ended
    assert Examined(passport=judge_passport, language="en").document.ended == verdict
    assert Examined(passport=None, language="en").document.ended == "not_audited"


@pytest.mark.parametrize("damage", ["{", "[]", '{"schema": 99}', "null", '{"schema": 1}'])
def test_a_damaged_file_is_none(tmp_path: Path, damage: str) -> None:
    path = passports.write(passport(judge()), tmp_path)
    path.write_text(damage, "utf-8")
    assert passports.read(tmp_path, judge(), "en") is None


def test_a_file_of_another_judge_under_this_name_is_none(tmp_path: Path) -> None:
    mine = passports.write(passport(judge()), tmp_path)
    plain = json.loads(mine.read_text("utf-8"))
    plain["judge"]["revision"] = "another"
    mine.write_text(json.dumps(plain), "utf-8")
    assert passports.read(tmp_path, judge(), "en") is None


def test_one_with_a_number_that_json_has_not_is_none(tmp_path: Path) -> None:
    path = passports.write(passport(judge(), retest_sd=0.125), tmp_path)
    text = path.read_text("utf-8")
    assert text.count("0.125") == 1
    path.write_text(text.replace("0.125", "NaN"), "utf-8")
    assert passports.read_file(path) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"retest_sd": "nan"},
        {"retest_sd": 1e308},
        {"smallest_difference": True},
        {"scale": {"lowest": 10.0, "highest": 0.0, "higher_is_better": True}},
        {"scale": {"lowest": 0.0, "highest": 5.0, "higher_is_better": True}},
    ],
)
def test_one_whose_numbers_are_none_or_beyond_its_scale_is_none(tmp_path: Path, changed: dict[str, object]) -> None:
    """Its digest is right: whoever makes up numbers can make that, too."""
    path = passports.write(passport(judge()), tmp_path)
    plain = {**json.loads(path.read_text("utf-8")), **changed}
    plain["digest"] = digest({key: value for key, value in plain.items() if key != "digest"})
    path.write_text(json.dumps(plain), "utf-8")
    assert passports.read_file(path) is None


def test_one_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Where no people were asked it had an empty object."""
    path = passports.write(passport(judge()), tmp_path)
    plain = {**json.loads(path.read_text("utf-8")), "people": {}}
    plain["digest"] = digest({key: value for key, value in plain.items() if key != "digest"})
    path.write_text(json.dumps(plain), "utf-8")
    assert passports.read_file(path) == passport(judge())


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="give `--passports DIR`"):
        passports.write(passport(judge()), tmp_path / "file")


def test_one_that_was_changed_by_hand_is_seen(tmp_path: Path) -> None:
    path = passports.write(passport(judge(), tries=(Try(7, 40, 512, "limited"),)), tmp_path)
    plain = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**plain, "verdict": "passed"}), "utf-8")
    stored = passports.read(tmp_path, judge(), "en")
    assert stored is not None
    assert (stored.verdict, stored.measures, stored.tries) == ("edited", {}, ())
    assert line(stored, "en") == "not audited: its passport was changed by hand"
    again = passports.write(stored, tmp_path / "copies")
    assert passports.read_file(again) == stored


def test_its_line_says_what_it_rests_on_and_how_often_it_was_tried() -> None:
    tried = passport(judge(), verdict="passed", measures={}, categories={}, tries=(Try(7, 40, 512, "passed"),))
    by = "by an earlier edit-eval audit, 40 scenes a category, 512 pixels, seed 7"
    assert line(tried, "en") == f"audited 2026-11-21: passed; {by}"
    again = structs.replace(tried, tries=(Try(3, 40, 512, "failed"), *tried.tries))
    assert line(again, "en").endswith("seed 7, try 2 after failed")


def test_an_audit_that_has_ended_gives_the_next_one_other_scenes_and_nothing_else_does() -> None:
    subject = Examinee.from_judge(judge(), "en")
    first = passports.next_seed(subject, ())
    assert passports.next_seed(subject, ()) == first
    assert passports.next_seed(subject, (Try(first, 40, 512, "failed"),)) != first
    assert passports.next_seed(Examinee.from_judge(judge(), "zh"), ()) != first
