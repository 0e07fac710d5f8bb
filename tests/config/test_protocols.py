"""Which protocol each judge gets, with which parameters, and what is refused in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.config.loading import load_configuration
from edit_eval.config.recorded import ProtocolSection
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError

RUBRIC = {
    "rubric": "five_dimensions.v1",
    "answer": "score",
    "asked": "together",
    "images": ["source", "edited"],
    "against": "source",
    "language": "en",
    "prompts": {},
    "general": False,
    "version": "",
}
OWN_BENCHMARK = "benchmark.class_path=own_models:PairsWithProtocol"
MEASURES = {"error_8": {"lowest": 0.0, "higher_is_better": False}}


def judge(name: str, **more: Any) -> dict[str, Any]:
    return {"class_path": f"own_models:{name}", **more}


def judges(folder: Path, judges: dict[str, Any], **more: Any) -> dict[str, ProtocolSection]:
    """The protocols that `judges` get."""
    raw = yaml.safe_load((folder / "config.yaml").read_text()) | {"judges": judges} | more
    del raw["reward_model"]
    return {name: _protocol(model) for name, model in load_configuration(raw).judges.items()}


def _protocol(model: Any) -> ProtocolSection:
    assert isinstance(model.protocol, ProtocolSection)
    return model.protocol


def only(configuration: Configuration) -> ProtocolSection:
    return _protocol(next(iter(configuration.judges.values())))


@pytest.fixture
def refused(folder: Path) -> Callable[..., str]:
    """The one line that refuses these judges."""

    def why(those: dict[str, Any], **more: Any) -> str:
        with pytest.raises(ConfigurationError) as caught:
            judges(folder, those, **more)
        return str(caught.value).removeprefix("configuration: ")

    return why


def test_a_benchmark_may_name_the_protocol_of_judges_that_measure(folder: Path, refused: Callable[..., str]) -> None:
    about = {"type": "magicbrush", "data_path": str(folder)}
    both = {
        "pixels": {"type": "picture_metrics"},
        "named": {"type": "picture_metrics", "protocol": {"type": "numbers"}},
    }
    protocols = judges(folder, both, benchmark=about)
    assert {name: protocol.type for name, protocol in protocols.items()} == {"pixels": "magicbrush", "named": "numbers"}
    words = "`magicbrush` is for judges that measure, but `testing` is asked questions; name another"
    assert words in refused({"asked": {"type": "testing"}}, benchmark=about)


def test_without_a_word_it_is_the_rubrics(load: Callable[..., Configuration]) -> None:
    protocol = only(load())
    assert (protocol.type, protocol.retries) == ("rubric", 2)
    assert protocol.class_path == "edit_eval.protocols.rubric:Rubric"
    assert protocol.parameters == RUBRIC
    assert only(load("benchmark.language=zh")).parameters == RUBRIC | {"language": "zh"}
    assert all(model.protocol is None for model in load().edit_models.values())


def test_keys_without_a_type_are_about_the_benchmarks_own(load: Callable[..., Configuration]) -> None:
    own = only(load(OWN_BENCHMARK))
    assert (own.type, own.class_path, own.retries) == ("", "own_models:Restraint", 4)
    assert own.parameters == {"strict": True, "most": 3, "language": "en"}
    changed = only(load(OWN_BENCHMARK, "protocol.most=null"))
    assert changed.parameters == own.parameters | {"most": None}, "null is a value of the class's own parameters"
    assert only(load(OWN_BENCHMARK, "protocol={type: null, retries: 0}")).retries == 0
    other = only(load(OWN_BENCHMARK, "protocol={type: rubric, answer: reason_then_score}"))
    assert (other.type, other.parameters["answer"], other.retries) == ("rubric", "reason_then_score", 4)


def test_naming_the_benchmarks_own_keeps_what_it_says(folder: Path) -> None:
    """`protocol: {type: rubric, answer: reason_then_score}` on a table is still the general rubric."""
    (folder / "my.csv").write_text("image,prompt\na.png,Add.\n")
    raw = yaml.safe_load((folder / "config.yaml").read_text()) | {"benchmark": str(folder / "my.csv")}
    asked = {"type": "rubric", "answer": "reason_then_score"}
    for written in (raw | {"protocol": asked}, raw | {"judges": {"j": raw.pop("reward_model") | {"protocol": asked}}}):
        (section,) = load_configuration(written).judges.values()
        assert _protocol(section).parameters | asked == _protocol(section).parameters | asked | {"general": True}
        assert _protocol(section).parameters["answer"] == "reason_then_score"


def test_a_judge_may_have_its_own(folder: Path) -> None:
    protocols = judges(
        folder,
        {
            "a": judge("Plain"),
            "b": judge("Plain", protocol={"answer": "score"}),
            "c": judge("Plain", protocol={"class_path": "own_models:Asking", "retries": 1}),
        },
        protocol={"answer": "reason_then_score", "retries": 5},
        prompts={"x": {"system_prompt": "Judge."}},
    )
    assert [(protocol.parameters.get("answer"), protocol.retries) for protocol in protocols.values()] == [
        ("reason_then_score", 5),
        ("score", 5),
        (None, 1),
    ]
    assert all(protocol.parameters["prompts"] == {"x": {"system_prompt": "Judge."}} for protocol in protocols.values())
    assert protocols["c"].parameters["language"] == "en"


def test_language_and_prompts_of_its_own_stay(folder: Path) -> None:
    own = {"class_path": "own_models:Asking", "language": "zh", "prompts": {"y": {"system_prompt": "B"}}}
    protocols = judges(
        folder, {"a": judge("Plain"), "b": judge("Plain", protocol=own)}, prompts={"x": {"system_prompt": "A"}}
    )
    assert protocols["b"].parameters["language"] == "zh"
    assert [list(protocol.parameters["prompts"]) for protocol in protocols.values()] == [["x"], ["y"]]


def test_a_protocol_in_a_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copy(folder / "own_models.py", elsewhere / "asking.py")
    protocols = judges(folder, {"j": judge("Plain")}, protocol={"class_path": f"{elsewhere}/asking.py:Restraint"})
    assert protocols["j"].class_path == f"{elsewhere}/asking.py:Restraint"
    assert protocols["j"].parameters == {"strict": False, "most": 3, "language": "en"}


def test_pictures_that_the_params_name_are_the_protocols_affair(load: Callable[..., Configuration]) -> None:
    plain = "reward_model={class_path: 'own_models:Plain'}"
    taken = load(plain, "reward_model.params.images=[edited]")
    assert only(taken).parameters["images"] == ["edited"]
    assert taken.judges["Plain"].parameters == {"model_name": "a/judge"}
    assert only(load(plain, "reward_model.params.images=null")).parameters["images"] == ["source", "edited"]
    kept = load("reward_model.params.images=[edited]")
    assert kept.judges["Judge"].parameters["images"] == ["edited"], "its class has a parameter of that name"
    assert only(kept).parameters["images"] == ["source", "edited"]


IMAGES = {"images": ["edited"]}


def test_pictures_that_make_no_sense(refused: Callable[..., str]) -> None:
    line = refused({"j": judge("Plain", params={"images": ["edit"]})})
    assert line == "judges.j.params.images.0: must be `source` or `edited`, not 'edit'; did you mean `edited`?"
    line = refused({"j": judge("Plain", params=IMAGES, protocol={"images": ["source", "edited"]})})
    assert line == "judges.j.params.images: `protocol.images` is also given and says otherwise; keep that one"
    line = refused({"j": judge("Plain", params=IMAGES)}, protocol={"class_path": "own_models:Restraint"})
    assert line == "judges.j.params.images: `own_models:Restraint` itself decides what a judge is shown; leave it out"


def test_a_judge_that_measures(folder: Path) -> None:
    readings = {"class_path": "own_models:Readings"}
    protocols = judges(
        folder,
        {"j": judge("Plain"), "m": judge("Meter", protocol=readings)},
        protocol={"answer": "reason_then_score", "retries": 1},
    )
    assert protocols["j"].parameters["answer"] == "reason_then_score"
    assert protocols["m"].parameters == {"measures": MEASURES, "headline": ""}
    assert protocols["m"].retries == 1
    common = judges(
        folder, {"m": judge("Meter", params={"sizes": [8, 9]})}, protocol=readings | {"headline": "error_9"}
    )
    assert common["m"].parameters["headline"] == "error_9"
    assert list(common["m"].parameters["measures"]) == ["error_8", "error_9"]


@pytest.mark.parametrize(
    ("those", "more", "line"),
    [
        (
            {"m": judge("Meter", protocol={"type": "rubric"})},
            {},
            "judges.m.protocol.type: `own_models:Meter` measures and is not asked anything; its protocol is `numbers`",
        ),
        (
            {"j": judge("Plain", protocol=judge("Readings"))},
            {},
            "judges.j.protocol.class_path: `own_models:Readings` is for judges that measure, but `own_models:Plain` is"
            " asked questions; name another",
        ),
        (
            {"j": judge("Plain"), "m": judge("Meter")},
            {"protocol": judge("Readings")},
            "protocol.class_path: `own_models:Readings` is for judges that measure, but `own_models:Plain` is asked"
            " questions; name another",
        ),
        (
            {"j": {"class_path": "not_here:Judge", "params": {"conda_env": "x"}, "protocol": judge("Readings")}},
            {},
            "judges.j.protocol.class_path: `not_here:Judge` cannot be imported here, so what it measures is unknown",
        ),
        (
            {"m": judge("Meter", protocol=judge("Readings", measures={}))},
            {},
            "judges.m.protocol.measures: is what the judge's class says; leave it out",
        ),
        (
            {"m": judge("Meter", params={"sizes": [0]}, protocol=judge("Readings"))},
            {},
            "judges.m.params: Meter.measures: ValueError: a size of 0",
        ),
        (
            {"m": judge("Meter", params={"sizes": "x"}, protocol=judge("Readings"))},
            {},
            "judges.m.params.sizes: must be a list, such as [a, b], not 'x'",
        ),
        (
            {"m": judge("Meter", protocol=judge("Readings"))},
            {"protocol": {"type": "rubric", "retries": 1}},
            "protocol: no judge follows it (protocols: own_models:Readings); leave it out",
        ),
        (
            {"j": judge("Plain", protocol=judge("Restraint"))},
            {"prompts": {"x": {"system_prompt": "Judge."}}},
            "prompts: no judge uses it (protocols: own_models:Restraint); leave it out",
        ),
        (
            {"j": judge("Plain", protocol={"type": "rubrik"})},
            {},
            "judges.j.protocol.type: `rubrik` is not a protocol; did you mean `rubric`? `edit-eval list` shows all",
        ),
        (
            {"j": judge("Plain", protocol={"class_path": "own_models:Editor"})},
            {},
            "judges.j.protocol.class_path: `own_models:Editor` is not a protocol: it has no method `questions`",
        ),
        (
            {"j": judge("Plain", params={"conda_env": "x"}, protocol={"class_path": "not_here:Protocol"})},
            {},
            "judges.j.protocol.class_path: there is no module `not_here` beside the configuration or on Python's path",
        ),
        (
            {"j": judge("Plain", protocol={"answr": "score"})},
            {},
            "judges.j.protocol.answr: unknown key; did you mean `answer`?",
        ),
        (
            {"j": judge("Plain", protocol={"retries": True})},
            {},
            "judges.j.protocol.retries: must be a whole number, not true",
        ),
        (
            {"j": judge("Plain", protocol={"answer": "reason_then_score"}), "k": judge("Plain")},
            {"protocol": {"retries": 101}},
            "protocol.retries: must be at most 100, not 101",
        ),
        (
            {"j": judge("Plain", protocol=["rubric"])},
            {},
            "judges.j.protocol: must be a mapping (key: value), not ['rubric']",
        ),
        (
            {"j": judge("Plain")},
            {"benchmark": judge("PairsWithName", data_path="pairs.json")},
            "PairsWithName.protocol.type: `rubrics` is not a protocol; did you mean `rubric`?"
            " `edit-eval list` shows all",
        ),
        (
            {"j": judge("Plain")},
            {"benchmark": judge("PairsWithNonsense", data_path="pairs.json")},
            "benchmark: PairsWithNonsense.protocol must be a protocol's name, or a mapping with `type`",
        ),
    ],
)
def test_what_is_refused(refused: Callable[..., str], those: Any, more: Any, line: str) -> None:
    assert refused(those, **more).partition(" (and ")[0] == line


def test_an_edit_model_has_no_protocol(load: Callable[..., Configuration]) -> None:
    with pytest.raises(ConfigurationError, match=r"diffusion_model\.protocol: unknown key; the keys here are type"):
        load("diffusion_model.protocol={type: rubric}")


def test_a_fault_is_named_where_it_was_written(load: Callable[..., Configuration]) -> None:
    own = "reward_model.protocol={retries: 1}"
    with pytest.raises(
        ConfigurationError, match=r"^--set protocol\.answer: must be `score`, `reason_then_score`, `json`"
    ):
        load(own, "protocol.answer=x")
    with pytest.raises(ConfigurationError, match=r"config\.yaml: evaluation\.answer: must be|--set evaluation\.answer"):
        load(own, "evaluation.answer=x")


MANY = {
    "a": judge("Plain", params={"images": ["edited"]}),
    "b": judge("Plain", protocol=judge("Asking", language="zh", most=None, retries=0)),
    "m": judge("Meter", protocol=judge("Readings", headline="error_8")),
}


def test_what_is_recorded_is_read_again_as_itself(folder: Path) -> None:
    raw = yaml.safe_load((folder / "config.yaml").read_text()) | {"judges": MANY}
    del raw["reward_model"]
    prompts = {"物理": {"system_prompt": "The token is sk-abcdefghijklmnop1234; https://me:secret@host/x"}}
    evaluation = {"readings": 3, "controls": 0, "answer": "reason_then_score"}
    raw["benchmark"]["data_path"] = str(folder / "pairs.json")
    configuration = load_configuration(raw | {"prompts": prompts, "evaluation": evaluation})
    plain = json.loads(json.dumps(configuration.as_plain()))
    assert plain["judges"]["a"]["protocol"]["prompts"] == prompts, "words for a judge are no settings"
    assert "measures" not in plain["judges"]["m"]["protocol"], "that is for its class to say"
    assert "language" not in plain["judges"]["a"]["protocol"], "it goes with the benchmark's"
    assert plain["evaluation"]["readings"] == 3
    again = load_configuration(plain)
    assert again.model_dump() == configuration.model_dump()
    assert load_configuration(plain, overrides=["benchmark.language=zh"]).judges["a"].protocol == _changed(
        again, language="zh"
    )


def _changed(configuration: Configuration, **parameters: Any) -> ProtocolSection:
    protocol = _protocol(configuration.judges["a"])
    return protocol.model_copy(update={"parameters": protocol.parameters | parameters})
