"""What is part of a key, and what is not."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from edit_eval.store.keys import SCHEMA, Identity, digest, edit_key, judgement_key, prompt_digest

MODEL = Identity("mine", "qwen_image_edit", "abc", {"num_inference_steps": 50, "true_cfg_scale": 4.0}, seed=7)


def test_what_decides_the_pixels_decides_the_key() -> None:
    key = edit_key(MODEL, "source", "make it red", 3)
    others = {
        edit_key(MODEL, "other source", "make it red", 3),
        edit_key(MODEL, "source", "make it blue", 3),
        edit_key(MODEL, "source", "make it red", 4),
        edit_key(replace(MODEL, revision="def"), "source", "make it red", 3),
        edit_key(replace(MODEL, type="other"), "source", "make it red", 3),
        edit_key(replace(MODEL, parameters={"num_inference_steps": 15}), "source", "make it red", 3),
    }
    assert len(others) == 6
    assert key not in others


def test_names_and_the_order_of_parameters_do_not() -> None:
    key = edit_key(MODEL, "source", "make it red", 3)
    assert key == edit_key(replace(MODEL, name="renamed"), "source", "make it red", 3)
    turned = dict(reversed(MODEL.parameters.items()))
    assert key == edit_key(replace(MODEL, parameters=turned), "source", "make it red", 3)


def test_what_decides_the_answer_decides_the_judgements_key() -> None:
    arguments = (MODEL, "pixels", "source", prompt_digest("system", "user"), 0)
    keys = {judgement_key(*arguments)}
    for place in range(1, 5):
        changed = list(arguments)
        changed[place] = 1 if place == 4 else "changed"
        keys.add(judgement_key(*changed))  # type: ignore[arg-type]
    assert len(keys) == 5


def test_where_the_system_prompt_ends_is_part_of_the_prompts_digest() -> None:
    assert prompt_digest("ab", "c") != prompt_digest("a", "bc")


def test_keys_do_not_change_between_versions_by_accident() -> None:
    assert edit_key(MODEL, "s", "环境", 3) == "857a0e56c72fd9ed5224652706824194c2736b02d862f9e9a36e899dd137c179"


@given(st.text(), st.text(), st.text(), st.integers())
def test_keys_are_digests_of_canonical_json(one: str, other: str, third: str, number: int) -> None:
    assert edit_key(MODEL, one, other, number) == digest(["edit", SCHEMA, MODEL.digest, one, other, number])
    written = ["judgement", SCHEMA, MODEL.digest, one, other, third, number]
    assert judgement_key(MODEL, one, other, third, number) == digest(written)


def test_half_of_a_surrogate_pair_has_a_key() -> None:
    assert edit_key(MODEL, "s", "\ud83d", 3) == digest(["edit", SCHEMA, MODEL.digest, "s", "\ud83d", 3])
