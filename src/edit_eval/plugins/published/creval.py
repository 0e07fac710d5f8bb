"""`creval`: CREval (ChonghuinanWang/CREval on the hub, arXiv 2603.26174): weighted yes/no questions about each edit.

Facts: ChonghuinanWang/CREval on GitHub, README.md@23c6f2f (folders; MIT), code/gen_question_with_qwen_api.py@93a0cf2
(fields of instruction.json: `id`, `input_image`, `input_prompt`; the questions are in a file called after the picture),
bench/questiions_all@e56b549 (`question`, `answer`, `weight` of 1 to 3), code/answer_with_gpt4o.py@93a0cf2 and avg.py
(all questions of a dimension are asked at once; the weighted share; what fails is 0; the means). The hub's own list of
files was not seen, nor were the prompts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from edit_eval.benchmarks.file_tree import FoundFile
from edit_eval.benchmarks.json_items import ItemReader
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Row
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.plugins.published.checklist import Checklist
from edit_eval.plugins.published.criteria import AuthorsNumbers, mean_of, require_final_judgements
from edit_eval.protocols.contract import Question, Score, Texts, View, parts
from edit_eval.protocols.replies import list_schema, one_of, read_list, read_values, read_yes_or_no
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale
from edit_eval.rubrics.loading import fill
from edit_eval.text import Text

DIMENSIONS = {"following": "IF", "coherence": "VC", "quality": "VQ"}
"""Our name -> the authors', which is a folder's: instruction following, visual coherence, visual quality."""
_SCALE = Scale(lowest=0, highest=1)


class CREval(FilesBenchmark):
    """CREval: creative edits by complex instructions, each with questions of three dimensions; English.

    A sample's id is the name of its picture, which its questions have, too.
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:ChonghuinanWang/CREval"
        """Where it is on the hub; or the folder that holds `instruction.json`, `image` and `questions_all`, unpacked or
        still in archives."""

    names = ("instruction.json",)
    protocol = "creval"
    wanted = ("*.json", "*.zip", "*.tar", "*.tar.gz", "*/image/*")
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2603.26174; github and hub ChonghuinanWang/CREval",
        "licence": "MIT",
        "samples": "creative edits of nine kinds, with several questions of three dimensions each; English",
        "formula": "share of a dimension's questions with the right answer, by weight; mean over the edits",
        "defects": "an edit that is missing, a judge that fails and a reply that cannot be read count as 0",
    }

    def files(self) -> list[Path]:
        """Returns the files with rows and questions, and all archives."""
        files = super().files()
        self._questions = [name for name in self._tree.names if _dimension_of(name)]
        unpacked = [self._tree.find(name) for name in self._questions]
        return [*files, *(file.path for file in unpacked if file.archive is None)]

    def unfold(self, row: Unchecked, file: FoundFile) -> Sequence[Unchecked]:
        """Returns the row with its questions by dimension, as far as there are such files."""
        stem, asked = PurePosixPath(_picture_of(row)).stem, {}
        for name in self._questions:
            if stem and PurePosixPath(name).stem == stem:
                found = self._tree.find(name)
                listed = [item.values for item in ItemReader(found.path, data=self._tree.read(found)).items()]
                asked[_dimension_of(name)] = listed
        return [{**row, "asked": asked}]

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source."""
        return {"source": _picture_of(row)}

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row; its questions are facts."""
        name = _picture_of(row.values)
        if not name:
            row.faults.append(Text("no input_image"))
        questions = {dimension: _questions_of(row, theirs) for dimension, theirs in DIMENSIONS.items()}
        questions = {dimension: listed for dimension, listed in questions.items() if listed}
        if not questions:
            row.faults.append(Text("there are no questions about it"))
        instruction = row.text("input_prompt", required=True)
        return Draft(PurePosixPath(name).stem or row.values["key"], instruction, "", {"questions": questions})


def _picture_of(row: Mapping[str, Any]) -> str:
    held = row.get("input_image")
    held = held[0] if isinstance(held, list) and held else held
    return held if isinstance(held, str) else ""


def _dimension_of(name: str) -> str:
    """Returns the authors' dimension that a file has questions of; empty for any other file."""
    path = PurePosixPath(name)
    return path.parent.name if path.suffix == ".json" and path.parent.name in DIMENSIONS.values() else ""


def _questions_of(row: Row, dimension: str) -> list[JsonObject]:
    """Returns a dimension's questions: `ask`, `right` (yes or no) and `weight`; what is none is a fault of the row."""
    questions: list[JsonObject] = []
    for number, item in enumerate(row.values["asked"].get(dimension, ()), 1):
        ask, right, weight = (item.get(name) for name in ("question", "answer", "weight"))
        weight = 1 if weight is None else weight
        right = right.strip().lower() if isinstance(right, str) else right
        if not (isinstance(ask, str) and ask.strip()) or right not in ("yes", "no"):
            row.faults.append(
                Text("question {} of {} has no text, or an answer other than Yes and No", number, dimension)
            )
        elif isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            row.faults.append(Text("question {} of {} has a weight of {!r}", number, dimension, weight))
        else:
            questions.append({"ask": ask.strip(), "right": right, "weight": weight})
    return questions


class CREvalScores:
    """Asks the questions of a dimension at once, up to three times an edit: following, coherence, quality.

    Each is the share of its questions that are answered as they should be, by weight, 0 to 1; `score`, the headline,
    is their mean.

    `published` has `IF`, `VC` and `VQ` by the authors' formula: the mean over the edits, where an edit that is missing
    and a reply that cannot be read are 0.
    """

    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

    headline = "score"
    scores: ClassVar[Mapping[str, Score]] = {"score": Score(scale=_SCALE), **parts(DIMENSIONS, _SCALE)}

    @staticmethod
    def texts(parameters: Any) -> Texts:
        """Returns the wording of the questions, which is that of our checklists."""
        return Checklist.texts(Checklist.Parameters(asked="together"))

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        self._texts = texts
        self.is_official = False
        self.published: AuthorsNumbers = {
            theirs: partial(_authors_mean, dimension) for dimension, theirs in DIMENSIONS.items()
        }

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Raises `LookupError` for a sample without questions. A question's name says what is right, by weight."""
        asked = sample.facts.get("questions")
        if not isinstance(asked, Mapping) or not asked:
            raise LookupError("its facts need `questions`, as `creval` has them")
        return [self._question(sample, dimension, listed) for dimension, listed in asked.items()]

    def _question(self, sample: Sample, dimension: str, listed: Sequence[Mapping[str, Any]]) -> Question:
        right = ", ".join(f"{item['right']} {item['weight']:g}" for item in listed)
        checks = "\n".join(f"{number}. {item['ask']}" for number, item in enumerate(listed, 1))
        values = {"edit_instruction": sample.instruction, "checks": checks}
        return Question(
            name=f"{dimension}: {right}",
            gives=(dimension,),
            system=self._texts["system_prompt"],
            user=fill(self._texts["user_prompt_template"], values),
            shows=(View(picture="source"), View(picture="edit")),
            form="json",
            schema=list_schema("answers", one_of(*self._texts["words"]), len(listed)),
            again=self._texts["ask_again"],
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads `{"answers": ["yes", "no", ...]}`; the weighted share of those that are right."""
        right = [pair.split() for pair in question.name.partition(": ")[2].split(", ")]

        def share(body: str) -> tuple[Sequence[float], str]:
            entries, words = read_list(body, "answers", len(right))
            weights = [float(weight) for _, weight in right]
            yes = [read_yes_or_no(entry) for entry in entries]
            hits = [
                weight
                for weight, (wanted, _), said in zip(weights, right, yes, strict=True)
                if said == (wanted == "yes")
            ]
            return [math.fsum(hits) / math.fsum(weights)], words

        return read_values(question, reply, share)


def _authors_mean(dimension: str, judgements: Sequence[Judgement]) -> float:
    shares = [
        judgement.scores.get(dimension, 0.0)
        for judgement in require_final_judgements(judgements)
        if dimension in judgement.scores or dimension in judgement.missing or not judgement.readings
    ]
    return mean_of(shares)
