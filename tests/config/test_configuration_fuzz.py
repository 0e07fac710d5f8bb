"""Whatever is written, the answer is a configuration or one line: no other exception, no second line."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError

COMPLETE: dict[str, Any] = {
    "benchmark": {"data_path": ".", "categories": ["物理"], "fields": {"instruction": "x"}, "limit": 3},
    "edit_models": {
        "a": {"type": "qwen_image_edit", "params": {"device_ids": [0, 1], "seed": 1, "timeout": 5, "load": {}}},
        "b": {"type": "testing", "params": {"device": "cpu", "fail": ["x"], "uv": ["torch"]}},
    },
    "judges": {
        "j": {
            "type": "qwen3_vl",
            "class_path": "src.models.x.Y",
            "params": {"batch_size": 2, "images": ["edited"], "conda_env": "q", "use_batch_inference": True},
            "protocol": {"answer": "score", "language": "zh"},
        },
        "m": {"type": "picture_metrics", "protocol": {"headline": "psnr"}},
    },
    "protocol": {"type": "rubric", "retries": 3},
    "prompts": {"物理": {"system_prompt": "x", "user_prompt_template": "y"}},
    "evaluation": {"answer": "score", "min_coverage": 0.5, "readings": 2, "controls": 0},
    "execution": {"schedule": "pull", "load_concurrency": 1},
}

WORDS = (
    "type rubric numbers protocol measures params device device_ids limit auto cpu:2 testing judges a.b:C x.py:C ~/x"
)
words = st.sampled_from(WORDS.split())
any_text = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates, too
scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | words, inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*place, key))


PLACES = [place for place in _places(COMPLETE) if place]


def answer(source: Any, **keywords: Any) -> None:
    try:
        assert isinstance(load_configuration(source, **keywords), Configuration)
    except ConfigurationError as error:
        lines = [str(error), *getattr(error, "__notes__", [])]
        assert all(line.isprintable() for line in lines), lines
        assert lines[0].startswith(("configuration", "--set", "--devices", "x.yaml")), lines


@pytest.fixture(scope="module", autouse=True)
def nothing_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fuzz"))
        yield


def test_the_start_of_it_all_is_right() -> None:
    load_configuration(COMPLETE)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(PLACES), values, st.none() | any_text | words), min_size=1, max_size=3))
def test_changed_values(changes: list[tuple[tuple[Any, ...], Any, str | None]]) -> None:
    raw = copy.deepcopy(COMPLETE)
    for place, value, new_key in changes:
        target: Any = raw
        try:
            for key in place[:-1]:
                target = target[key]
            if new_key is not None and isinstance(target, dict):
                target[new_key] = value
            else:
                target[place[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    answer(raw)


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(st.text("{}[]:,-&*!|>'\"#%@ \n\tabn01.~<?\x00\ud7ffé物", max_size=60) | st.text(max_size=30))
def test_any_text(text: str) -> None:
    Path("x.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    answer("x.yaml")


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from([".".join(map(str, place)) for place in PLACES]) | any_text,
            st.sampled_from(["=", "", ".x=", "==", ".0="]),
            any_text | words,
        ).map("".join),
        max_size=3,
    )
)
def test_any_override(overrides: list[str]) -> None:
    answer(COMPLETE, overrides=overrides)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(any_text | st.text("0123456789,cpuda:auto- ", max_size=10))
def test_any_devices(devices: str) -> None:
    answer(COMPLETE, devices=devices)
