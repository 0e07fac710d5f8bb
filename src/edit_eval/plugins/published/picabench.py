"""`picabench`: PICABench (Andrew613/PICABench on the hub, arXiv 2510.17681): its rows, questions and score.

Facts: Andrew0613/PICABench@0514acd on GitHub, README.md (form of a row; boxes lie on a canvas whose longer side is 1024
pixels), PicaEval_gpt.py (what is cut out and shown, how a reply is read, which mean is taken). Columns of the hub's
data set, and that its rows are counted from 0: readers of it in public repositories (code search, 2026-11-23).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.benchmarks.json_items import kind
from edit_eval.benchmarks.row_benchmark import Draft, ParquetBenchmark, ParquetParameters, Row
from edit_eval.json_values import JsonObject
from edit_eval.judges.answers import NoAnswer, excerpt, json_decoder, json_objects
from edit_eval.judges.contract import PROBABILITIES
from edit_eval.plugins.published.checklist import Checklist
from edit_eval.plugins.published.criteria import make_numbers, mean_of, require_final_judgements
from edit_eval.protocols.certificates import Certificate
from edit_eval.protocols.contract import Question, Score, Step, Texts, View
from edit_eval.protocols.replies import read_values, read_yes_or_no
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale
from edit_eval.rubrics.loading import authors_texts
from edit_eval.text import Text

CANVAS = 1024
"""Longer side in pixels of the canvas of the boxes, and of enlarged crops (`resize_image`)."""
MARGIN = 20
"""Pixels shown around a box (`viz_padding`)."""
_FORM = "json_instruction"
"""Name of the authors' words on the form of the answer."""
_DECODER = json_decoder(strict=False)
QUALITY = 90
"""Quality of the JPEG that the authors' script sends."""
LAWS = (
    *("Light_Propagation", "Light_Source_Effects", "Reflection", "Refraction"),
    *("Deformation", "Causality", "Global", "Local"),
)
"""Laws of optics, of mechanics and of changes of state: the columns of the authors' leaderboard."""
_COLUMNS = ("physics_category", "physics_law", "edit_operation", "annotated_qa_pairs", "input_image")
_SCALE = Scale(lowest=0, highest=1)


class PICABench(ParquetBenchmark):
    """PICABench: 900 edits with a physical consequence: light, reflection, support, deformation, states that change.

    A sample's category is its law of physics, its tags are the field (optics, mechanics, state) and the operation, its
    id is its row's number. People drew a box for each yes/no question about the edit.
    """

    @dataclass
    class Parameters(ParquetParameters):
        data_path: str = "hub:Andrew613/PICABench"
        prompt: Literal["superficial", "intermediate", "explicit"] = "superficial"
        """How much the instruction says of the consequence: nothing, the law, or how it is to look."""

    sizes = (900,)
    protocol = "picabench"
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2510.17681; github Andrew0613/PICABench, hub Andrew613/PICABench",
        "licence": "the README of the code says Apache-2.0; none is given with the data",
        "samples": "900 of eight laws of physics, with several questions each; English",
        "formula": "share of an edit's questions that are answered as they should be; mean over the edits, times 100",
        "defects": "a box fits only an edit of the source's shape; a judge that dies counts as a wrong answer, a "
        "picture that cannot be opened is judged as a white one, an edit that is missing leaves the mean",
    }

    def cache_key(self) -> str:
        """Returns the column with the instruction."""
        return f"{self.parameters.prompt}_prompt"

    def columns(self) -> Sequence[str]:
        return (*_COLUMNS, self.cache_key())

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source."""
        return {"source": row["input_image"]}

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row; its questions are facts."""
        tags = tuple(filter(None, (row.text("physics_category"), row.text("edit_operation"))))
        law = row.text("physics_law", required=True)
        instruction = row.text(self.cache_key(), required=True)
        return Draft(f"{row.index:05d}", instruction, law, {"questions": _questions_of(row)}, tags=tags)


def _questions_of(row: Row) -> list[JsonObject]:
    """Returns the questions of a row: `ask`, `right` (yes or no) and `box` (left, top, right, bottom on the canvas)."""
    listed = row.values.get("annotated_qa_pairs")
    if not isinstance(listed, list) or not listed:
        row.faults.append(Text("annotated_qa_pairs is {}, not a list of questions", kind(listed)))
        return []
    questions: list[JsonObject] = []
    for number, pair in enumerate(listed, 1):
        ask, right = (str(pair.get(name) or "").strip() for name in ("question", "answer"))
        if not ask or not right:
            continue  # as the authors do
        if _plain(right) not in ("yes", "no"):
            row.faults.append(Text("the answer to question {} is {!r}, neither Yes nor No", number, right))
        questions.append({"ask": ask, "right": _plain(right), "box": _box(pair.get("box") or {})})
    if not questions:
        row.faults.append(Text("annotated_qa_pairs has no question with an answer"))
    return questions


def _box(box: Mapping[str, float | None]) -> list[int]:
    left, top, width, height = (float(box.get(name) or 0) for name in ("x", "y", "width", "height"))
    if width <= 0 or height <= 0:
        return []
    sides = (left - MARGIN, top - MARGIN, left + width + MARGIN, top + height + MARGIN)
    return [max(0, round(side)) for side in sides]


def _plain(answer: str) -> str:
    return answer.lower().strip().rstrip(".")


class PICAEval(Checklist):
    """Puts the sample's own yes/no questions, each about the part of the edit that its box encloses.

    `accuracy`, the headline, is the share of an edit's questions that are answered rightly; `all` is 1 if all are. The
    edit is first scaled to the source's size, on which the boxes were drawn; with `edit_size: own`, and with the
    authors' words, it is cropped at its own size, as they do.

    `published` has the authors' numbers, `Overall` and one per law, times 100: a missing edit is left out; an
    unreadable or missing reply is a wrong answer. In a reply in words they take the first yes or no.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="Andrew0613/PICABench",
        commit="0514acddffccce9612cafc528a3334881af9a72c",
        on="2026-11-28",
        sets=44,
        numbers=190,
        beside=Text("what is cut out may be a pixel larger or smaller than theirs"),
    )

    @dataclass(frozen=True)
    class Parameters:
        answer: Literal["words", "probabilities"] = "words"
        """What counts: the word that the judge writes, or how likely it is to write the right one."""
        edit_size: Literal["source", "own"] = "source"
        """The size of the edit that is cut: the source's, or its own."""
        language: Literal["en", "zh"] = "en"
        """Of our wording; the questions are English."""
        prompts: Literal["ours", "official"] = "ours"
        """`ours`; `official`, the bare question with the authors' words on the form of the answer, which `edit-eval
        fetch` downloads, or from `prompts_path`, about the edit at its own size."""
        prompts_path: str | None = None
        """For `official`: the authors' `PicaEval_gpt.py`, or the folder that holds it. It is read, never run."""

        def __post_init__(self) -> None:
            if self.prompts_path and self.prompts != "official":
                raise ValueError("prompts_path is for prompts: official")
            if self.prompts == "official" and self.answer == PROBABILITIES:
                raise ValueError("answer: probabilities needs our wording; leave out prompts: official")

    official_file: ClassVar[AuthorsFile] = AuthorsFile(
        "Andrew0613/PICABench",
        "0514acddffccce9612cafc528a3334881af9a72c",
        "PicaEval_gpt.py",
        "",
        "1eb033837cdb6d6afab58882a042095d6351ede795e6a73577b685ef6a33a6aa",
    )
    headline = "accuracy"
    scores: ClassVar[Mapping[str, Score]] = {
        "accuracy": Score(scale=_SCALE),
        "all": Score(scale=_SCALE, of=lambda sample, values: math.prod(values.values())),
    }

    @staticmethod
    def texts(parameters: Any) -> Texts:
        """Returns the wording of the questions."""
        texts = Checklist.texts(Checklist.Parameters(answer=parameters.answer, language=parameters.language))
        if parameters.prompts == "official":
            texts["official"] = authors_texts(parameters.prompts_path, PICAEval.official_file, [_FORM])[_FORM]
        return texts

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        super().__init__(Checklist.Parameters(answer=parameters.answer, language=parameters.language), texts)
        self.is_official = parameters.prompts == "official"
        of_source = parameters.edit_size == "source" and not self.is_official
        self._size: tuple[Step, ...] = (("like", "source"),) if of_source else ()
        self.published = make_numbers(_authors_mean, LAWS) if parameters.answer == "words" else {}

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Returns one question per box; its name says which answer is right."""
        asked = sample.facts.get("questions")
        if not isinstance(asked, list) or not asked:
            raise LookupError("its facts need `questions`, as `picabench` has them")
        return [
            self._use_authors_prompt(
                self._question(sample, f"{number}: {pair['right']}", (str(number),), pair["ask"], shows), pair
            )
            for number, pair in enumerate(asked, 1)
            for shows in [(self._view(pair["box"]),)]
        ]

    def _use_authors_prompt(self, question: Question, pair: Mapping[str, Any]) -> Question:
        """Returns the question in the authors' words, if these are wanted."""
        if not self.is_official:
            return question
        return replace(
            question, system="", user=f"{pair['ask']}{self._texts['official']}", form="json", schema="", again=""
        )

    def _view(self, box: Sequence[int]) -> View:
        part: tuple[Step, ...] = (("clip", *box), ("fit", CANVAS)) if box else ()
        return View(picture="edit", steps=(*self._size, ("fit", CANVAS), *part, ("jpeg", QUALITY)))

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads 1 for the right answer and 0 for the other one; or the probability of the right one."""
        if self.is_official:
            return read_values(question, reply, lambda body: ([_right(question, _yes(body))], ""))
        reading = super().read(question, reply)
        values = {name: _right(question, yes) for name, yes in reading.values.items()}
        return Reading(values=values, status=reading.status, reason=reading.reason)


def _right(question: Question, yes: float) -> float:
    return yes if _right_answer(question.name) == "yes" else 1 - yes


def _yes(body: str) -> float:
    """Returns 1 for yes and 0 for no by the `answer` of the JSON in a reply. Raises `NoAnswer`."""
    said, _, _ = json_objects(body, "answer", _DECODER)
    if not said or any(other != said[0] for other in said):
        raise NoAnswer(f"not one `answer` in JSON: {excerpt(body)}")
    return read_yes_or_no(said[0])


def _right_answer(name: str) -> str:
    return name.partition(": ")[2]


def _authors_mean(law: str, judgements: Sequence[Judgement]) -> float:
    shares = []
    for judgement in require_final_judgements(judgements):
        if judgement.readings and law in ("", judgement.category):
            right = [
                _authors_answer(reading.text) == _right_answer(name) for name, reading in judgement.readings[0].items()
            ]
            shares.append(sum(right) / len(right))
    return 100 * mean_of(shares)


def _authors_answer(text: str) -> str:
    """Returns the answer the authors find: an `answer` in JSON, else the word a reply begins with or contains."""
    body = text.strip()
    braces = [body[body.find("{") : body.rfind("}") + 1]] if "{" in body and "}" in body else []
    braces += re.findall(r'\{[^{}]*"answer"[^{}]*"explanation"[^{}]*\}', body, re.IGNORECASE | re.DOTALL)
    for part in braces:
        try:
            said = json.loads(part)
            answer, _ = (said.get(name, "").strip() for name in ("answer", "explanation"))
        except json.JSONDecodeError:
            continue
        except AttributeError:  # not an object, or an answer that is not text: their reader gives up on JSON
            break
        if answer:
            return {"y": "yes", "true": "yes", "n": "no", "false": "no"}.get(_plain(answer), _plain(answer))
    lower = body.lower()
    begins = next((word for word in ("yes", "no") if lower.startswith(word)), "")
    return begins or next((word for word in ("yes", "no") if re.search(rf"\b{word}\b", lower)), "")
