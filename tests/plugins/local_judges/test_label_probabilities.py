"""Probabilities of labels against all that a small language model could say, summed up one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from random import Random

import pytest

from edit_eval.errors import ModelError
from edit_eval.plugins.local_judges.in_worker.generation import Labels, TokenRow, label_probabilities
from late_imports import Late

torch = Late("torch")

TOKENS = ["<end>", "1", "0", " ", "Y", "es", "Yes", " Yes", "No", "N", "\n", "\nJ"]
END = 0


class Longest:
    """A tokenizer that takes the longest token that fits."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        ids = []
        while text:
            token = max((start for start in TOKENS if text.startswith(start)), key=len, default="")
            if not token:
                return [*ids, -1]
            ids.append(TOKENS.index(token))
            text = text[len(token) :]
        return ids

    def decode(self, tokens: Sequence[int], skip_special_tokens: bool = False) -> str:
        return "".join(TOKENS[token] if token >= 0 else "?" for token in tokens)


def distribution(context: TokenRow, likely: Sequence[int] = ()) -> list[float]:
    random = Random(repr(context))
    weights = [random.random() * (50.0 if token in likely else 1.0) for token in range(len(TOKENS))]
    return [weight / sum(weights) for weight in weights]


class Model:
    """Says what comes after what, and counts how often it was asked."""

    def __init__(self) -> None:
        self.passes = 0

    def __call__(self, beginnings: Sequence[TokenRow]) -> list[object]:
        self.passes += 1
        places = 1 + max(map(len, beginnings))
        padded = [(*row, *[END] * places) for row in beginnings]
        return [torch.tensor([distribution(row[:place]) for row in padded]).log() for place in range(places)]


def said(path: TokenRow) -> float:
    """The probability that an answer begins with these tokens."""
    return math.prod(distribution(path[:place])[token] for place, token in enumerate(path))


def paths(text: str) -> set[TokenRow]:
    return {tuple(Longest().encode(spelling)) for spelling in (text, f" {text}")}


def found(labels: Sequence[str], prompt: str = "\n") -> tuple[dict[str, float], int]:
    model = Model()
    (shares,) = label_probabilities([Labels(Longest(), prompt, labels, [END])], model)
    return shares, model.passes


def test_labels_of_one_token_take_one_pass() -> None:
    shares, passes = found(["1", "0"])
    assert shares == pytest.approx({"1": said((1,)) + said((3, 1)), "0": said((2,)) + said((3, 0 + 2))})
    assert passes == 1, "with what stands behind a space"


def test_labels_of_several_tokens_and_of_a_shared_first_one() -> None:
    shares, _ = found(["Y", "Yes", "N", "No"])
    assert len(paths("Yes")) == 2
    for label, share in shares.items():
        assert share == pytest.approx(sum(map(said, paths(label)))), label
    shares, _ = found(["10", "1Yes"])
    assert shares == pytest.approx({label: sum(map(said, paths(label))) for label in ("10", "1Yes")})


def test_where_one_label_begins_another_each_is_the_whole_answer() -> None:
    shares, _ = found(["1", "10", "0"])
    for label, share in shares.items():
        assert share == pytest.approx(sum(said((*path, END)) for path in paths(label))), label
    whole = [row for length in range(1, 4) for row in itertools.product(range(1, len(TOKENS)), repeat=length)]
    texts = {label: sum(said((*row, END)) for row in whole if row in paths(label)) for label in shares}
    assert shares == pytest.approx(texts)


def test_two_questions_at_once_are_read_as_alone() -> None:
    model = Model()
    some = [["1", "10"], ["Yes", "No"]]
    assert label_probabilities([Labels(Longest(), "\n", labels, [END]) for labels in some], model) == [
        pytest.approx(found(labels)[0]) for labels in some
    ]


def test_what_may_stand_around_an_answer_is_no_part_of_it() -> None:
    (shares,) = label_probabilities([Labels(Longest(), "", ["1", "10"], [END], ["N"], ["No"])], Model())
    openings: list[TokenRow] = [(), (9,)]
    for label, share in shares.items():
        rows = [(*opening, *path) for opening in openings for path in paths(label)]
        assert share == pytest.approx(sum(said((*row, end)) for row in rows for end in (END, 8))), label


def test_a_prompt_whose_end_would_be_joined_to_the_label_is_there_already() -> None:
    class Joining(Longest):
        def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
            return [11] if text == "\nJ" else super().encode(text)

        def decode(self, tokens: Sequence[int], skip_special_tokens: bool = False) -> str:
            return super().decode(tokens)

    TOKENS.append("J")
    try:
        shares = label_probabilities([Labels(Joining(), "\n", ["J", "1"], [END])], Model())[0]
        assert shares["J"] == pytest.approx(said((12,)) + said((3, 12)))
    finally:
        TOKENS.pop()


def test_what_cannot_be_told_apart_or_written_is_refused() -> None:
    with pytest.raises(ModelError, match="labels `Yes` and ` Yes` are the same"):
        Labels(Longest(), "\n", ["Yes", " Yes"], [END])
    with pytest.raises(ModelError, match="label `Ü` cannot be written"):
        Labels(Longest(), "\n", ["Yes", "Ü"], [END])


def test_a_label_that_begins_with_next_to_nothing_costs_no_pass() -> None:
    class Sure(Model):
        def __call__(self, beginnings: Sequence[TokenRow]) -> list[object]:
            steps = super().__call__(beginnings)
            steps[0] = torch.full((len(beginnings), len(TOKENS)), -30.0)
            steps[0][:, 2] = 0.0
            return steps

    model = Sure()
    (shares,) = label_probabilities([Labels(Longest(), "\n", ["0", "Y1", "Y0"], [END])], model)
    assert shares == {"0": pytest.approx(1), "Y1": pytest.approx(0, abs=1e-12), "Y0": pytest.approx(0, abs=1e-12)}
    assert model.passes == 1, "what stands behind a space and a `Y`, and before it; nothing behind `Y` alone"
