"""`checklist`: a benchmark's yes/no questions about each of its samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.contract import Question, Score, Texts, Values, View
from edit_eval.protocols.replies import list_schema, one_of, read_list, read_values, read_yes_or_no
from edit_eval.records import Reading, Reply, Sample, Scale
from edit_eval.rubrics import loading

_EXPECTED = {"yes": 1.0, "no": 0.0, True: 1.0, False: 0.0}  # YAML reads a bare `yes` as true
_FORMS = {"one_by_one": "text", "together": "json"}
_SCALE = Scale(lowest=0, highest=1)
_BOTH = (View(picture="source"), View(picture="edit"))


@dataclass(frozen=True)
class ChecklistItem:
    """One item of a sample's list."""

    ask: str
    expect: float
    """1 if a yes means that it holds, 0 if a no does."""
    box: tuple[int, ...] = ()
    """Left, top, right, bottom of the part of the edit to be shown alone; empty: all of it, beside the source."""


def checks_of(sample: Sample) -> list[ChecklistItem]:
    """Returns the sample's checks from `facts`. Raises `LookupError` with the reason if they are invalid."""
    listed = sample.facts.get("checks")
    if not isinstance(listed, list) or not listed:
        raise LookupError("its facts need `checks`, a list of {ask: TEXT, expect: yes or no}")
    return [_check(number, item) for number, item in enumerate(listed, 1)]


def _check(number: int, item: Any) -> ChecklistItem:
    about = item if isinstance(item, Mapping) else {}
    ask, expect, box = about.get("ask"), about.get("expect", "yes"), about.get("box") or ()
    if not isinstance(ask, str) or not ask.strip():
        raise LookupError(f"its check {number} has no `ask`")
    if not isinstance(expect, (str, bool)) or expect not in _EXPECTED:
        raise LookupError(f"its check {number} expects {expect!r}; that is `yes` or `no`")
    if box and not _is_box(box):
        raise LookupError(f"its check {number} has a box that is not [left, top, right, bottom] in pixels: {box!r}")
    return ChecklistItem(ask.strip(), _EXPECTED[expect], tuple(box))


def _is_box(box: object) -> bool:
    if not isinstance(box, (list, tuple)) or len(box) != 4 or any(type(side) is not int for side in box):
        return False
    left, top, right, bottom = map(int, box)
    return 0 <= left < right and 0 <= top < bottom


def _evaluate_checks(sample: Sample, values: Values) -> list[float]:
    """Returns for each check whether it holds: 1 or 0, or the probability."""
    return [1 - abs(values[str(number)] - check.expect) for number, check in enumerate(checks_of(sample), 1)]


def _share(sample: Sample, values: Values) -> float:
    holding = _evaluate_checks(sample, values)
    return math.fsum(holding) / len(holding)


def _all(sample: Sample, values: Values) -> float:
    return math.prod(_evaluate_checks(sample, values))


class Checklist:
    """Puts yes/no questions about each edit, its sample's own, and counts how many are answered as they should be.

    They are in the sample's `facts: {checks: [{ask: TEXT, expect: yes, box: [left, top, right, bottom]}, ...]}`.
    `expect` defaults to `yes`; a `box`, in pixels of the source, is cut out of the edit at the source's size. Gives the
    share of the checks that hold, 0 to 1, and whether all do. With `answer: probabilities` a check counts with the
    probability of its answer, and all of them with the product, as if independent.
    """

    @dataclass(frozen=True)
    class Parameters:
        asked: Literal["one_by_one", "together"] = "one_by_one"
        """A question for each check, or one question with all checks of a sample; boxes need `one_by_one`."""
        answer: Literal["words", "probabilities"] = "words"
        """What counts: the word that the judge writes, or how likely it is to write it (`one_by_one` alone)."""
        language: Literal["en", "zh"] = "en"
        """Of our wording; by default the benchmark's."""
        version: str = ""
        """An earlier wording (`v1`), for a run that was judged by it; empty: the newest."""

        def __post_init__(self) -> None:
            if self.answer == PROBABILITIES and self.asked == "together":
                raise ValueError(
                    "answer: probabilities needs `asked: one_by_one`; a list of answers has no probabilities"
                )

    headline = "share"
    scores: ClassVar[Mapping[str, Score]] = {
        "share": Score(scale=_SCALE, of=_share),
        "all": Score(scale=_SCALE, of=_all),
    }

    @staticmethod
    def texts(parameters: Parameters) -> Texts:
        """Returns the wording of the questions."""
        texts = dict(loading.load_packaged("checklist.v1", parameters.language, parameters.version)[parameters.asked])
        if parameters.answer == PROBABILITIES:
            texts["system_prompt"] = f"{texts['system_prompt']} {texts['exactly']}"
        return texts

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        self._asked = parameters.asked
        self._texts = texts
        self._form = _FORMS[parameters.asked] if parameters.answer == "words" else parameters.answer

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Raises `LookupError` if the sample has no checks, or invalid ones."""
        checks = checks_of(sample)
        if self._asked == "one_by_one":
            return [
                self._question(sample, f"check {number}", (str(number),), check.ask, _views_of(check))
                for number, check in enumerate(checks, 1)
            ]
        if boxed := next((number for number, check in enumerate(checks, 1) if check.box), 0):
            raise LookupError(f"its check {boxed} has a box: set `protocol: {{asked: one_by_one}}`")
        numbers = tuple(str(number) for number, _ in enumerate(checks, 1))
        listed = "\n".join(f"{number}. {check.ask}" for number, check in zip(numbers, checks, strict=True))
        return [self._question(sample, "checks", numbers, listed, _BOTH)]

    def _question(
        self, sample: Sample, name: str, gives: tuple[str, ...], asked: str, shows: tuple[View, ...]
    ) -> Question:
        values = {"edit_instruction": sample.instruction, "checks": asked}
        return Question(
            name=name,
            gives=gives,
            system=self._texts["system_prompt"],
            user=loading.fill(self._texts["user_prompt_template"], values),
            shows=shows,
            form=self._form,
            labels=tuple(self._texts["words"]) if self._form == PROBABILITIES else (),
            schema=list_schema("answers", one_of(*self._texts["words"]), len(gives)) if self._form == "json" else "",
            again=self._texts["ask_again"],
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads 1 per yes and 0 per no: one word, or `{"answers": ["yes", "no", ...]}`; or the probability of yes."""
        if question.form == PROBABILITIES:
            return Reading(values={question.gives[0]: reply.values[question.labels[0]]})

        def numbers(body: str) -> tuple[Sequence[float], str]:
            entries, words = (
                ([body], "") if question.form == "text" else read_list(body, "answers", len(question.gives))
            )
            return [read_yes_or_no(entry) for entry in entries], words

        return read_values(question, reply, numbers)


def _views_of(check: ChecklistItem) -> tuple[View, ...]:
    return (View(picture="edit", steps=(("like", "source"), ("crop", *check.box))),) if check.box else _BOTH
