"""`rededit`: REDEdit-Bench (FireRedTeam/REDEdit-Bench on the hub, arXiv 2602.13344), in Chinese and English.

Facts: FireRedTeam/FireRed-Image-Edit@456d010 on GitHub, rededit_bench/: README.md (columns, 15 tasks and how many rows
each has, REDEdit_Bench.tar with the pictures), redbench.jsonl (1,542 rows), redbench_eval.py (what is shown, how a
reply is read, the means), prompts.json (asked for by task). Its licence, CC BY-NC-ND 4.0, allows no derivatives: rows
and prompts are read where the user has them, and the wording here is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Row
from edit_eval.plugins.published import imgedit
from edit_eval.plugins.published.criteria import (
    CriteriaProtocol,
    Official,
    make_numbers,
    make_stop,
    mean_of,
    question,
    require_final_judgements,
)
from edit_eval.protocols.certificates import Certificate, add_in_order
from edit_eval.protocols.contract import Score
from edit_eval.records import Judgement, Scale, Status
from edit_eval.text import Text

REPOSITORY, COMMIT = "FireRedTeam/FireRed-Image-Edit", "456d010bd3f9bd727f1ab7fe60838caf6ee479e6"
LICENCE = "CC BY-NC-ND 4.0"
ROWS = AuthorsFile(
    REPOSITORY,
    COMMIT,
    "rededit_bench/redbench.jsonl",
    LICENCE,
    "01f13f0cecb5a79ce9f3785a0bb0688c80e31d8ff8d7e9bdf1138cf4f6efa75f",
)
"""The rows; the hub is known to have the pictures."""
_INSTRUCTIONS = {"en": "a_to_b_instructions_eng", "zh": "a_to_b_instructions"}
_FIT = "Do light, shadow, perspective and contact fit the scene, and is everything else as it was?"
_TRACES = "Are there no seams, halos, smears, jumps in tone or sharpness, or other traces of the change?"
_PERSON = (
    "Person",
    "Is it the same one: face, body, hair, clothes and what they carry, as far as the change leaves them?",
)
_ASKED: Mapping[str, Mapping[str, str | tuple[str, str]]] = {
    **{name: imgedit.CRITERIA[name] for name in ("add", "remove", "replace", "extract", "adjust", "compose")},
    "background": imgedit.CRITERIA["background"],
    "stylize": imgedit.CRITERIA["style"],
    "motion": imgedit.CRITERIA["action"],
    "color": {
        "compliance": "Has exactly what was named the colour that was asked for, all of it, and nothing else?",
        "naturalness": "Does the colour keep texture, highlights and shadows, without spills over the outline?",
        "integrity": _FIT,
    },
    "text": {
        "compliance": (
            "Wording",
            "Does the writing read exactly as was asked for, letter by letter, in the right place, and is writing that "
            "was to go gone?",
        ),
        "quality": (
            "Letters",
            "Are the letters well formed, sharp and evenly set, in the size, font and perspective that fit the place?",
        ),
        "integrity": ("Rest", "Does the writing belong to its surface, and is everything else as it was?"),
    },
    "beauty": {
        "compliance": "Has the person exactly the change of looks that was asked for, neither too weak nor too strong?",
        "naturalness": "Do skin, make-up and hair look real, with pores and texture, without a mask or smears?",
        "preservation": _PERSON,
    },
    "portrait": {
        "preservation": _PERSON,
        "structure": "Are face, hands, limbs and proportions possible, and is the picture composed as was asked?",
        "quality": "Is what was asked for there, in a picture that looks like a photograph, sharp and without faults?",
    },
    "lowlevel": {
        "compliance": "Has the picture been processed as was asked (light, noise, blur, haze, ...), in full, no more?",
        "naturalness": "Does the result look like a good photograph, without banding, ringing or invented texture?",
        "integrity": "Are all things, their outlines, colours and details, still those of the source?",
    },
    "viewpoint": {
        "compliance": "Is the scene shown from the side, height or distance that was asked for?",
        "naturalness": _TRACES,
        "integrity": "Is it the same scene in three dimensions: things, their sizes, what hides what, and the light?",
    },
}
TASKS = tuple(_ASKED)
_LINES: Mapping[str, tuple[str, str, str]] = {
    **{name: imgedit.LINES[name] for name in ("add", "remove", "replace", "extract", "adjust", "compose")},
    "background": imgedit.LINES["background"],
    "stylize": imgedit.LINES["style"],
    "motion": ("Motion Fidelity", "Identity Preservation", "Visual & Anatomical Coherence"),
    "color": imgedit.LINES["background"],
    "viewpoint": imgedit.LINES["background"],
    "text": ("Text Instruction Compliance", "Text Visual Quality", "Overall Edit Quality"),
    "beauty": ("Instruction Compliance", "Visual Seamlessness", "Visual & Anatomical Coherence"),
    "lowlevel": ("Instruction Compliance", "Visual Naturalness", "Physical & Detail Consistency"),
    "portrait": ("Identity Consistency", "Structural Stability", "Overall Realism & Image Quality"),
}
"""The names that precede a judge's three numbers where it is asked in the authors' words."""


class REDEdit(FilesBenchmark):
    """REDEdit-Bench: 1,542 instructions of 15 tasks (of 1,673 in the paper), each in Chinese and in English.

    A sample's category is its task, its id consists of task and number, as the authors name edits.
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:FireRedTeam/REDEdit-Bench"
        """Where `REDEdit_Bench.tar` is on the hub; or the folder that holds the pictures, unpacked or still in it."""
        language: str = "en"
        """`en` or `zh`: which of the two instructions."""

    names = ("redbench.jsonl",)
    sizes = (1542,)
    rows_file = ROWS
    protocol = "rededit"
    wanted = ("*.tar", "*.jsonl")
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2602.13344; github FireRedTeam/FireRed-Image-Edit, hub FireRedTeam/REDEdit-Bench",
        "licence": "CC BY-NC-ND 4.0: no commercial use, no derivatives",
        "samples": "1,542 of 15 tasks; English and Chinese",
        "formula": "mean of a task's three scores of 1 to 5; mean of the tasks' means",
        "defects": "an edit that is missing, and a reply that the authors' script cannot read, leave the mean",
    }

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source."""
        return {"source": row.get("source")}

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row."""
        task = row.label("task", TASKS)
        said = {language: row.text(column) for language, column in _INSTRUCTIONS.items()}
        return Draft(
            f"{task}-{row.text('id', required=True)}",
            row.text(_INSTRUCTIONS[self.language], required=True),
            task,
            instructions={language: text for language, text in said.items() if text},
        )


class REDEditScores(CriteriaProtocol):
    """Asks one question an edit, by its task: three whole numbers from 1 to 5, whose mean is the score.

    Its mean is over the tasks. `published` has the authors' numbers, `Overall` and one per task: each edit's mean and
    each task's are rounded to two decimals, then the mean of the tasks is taken. With their prompts a reply is read as
    they read it: only lines of `NAME: NUMBER` count. A missing edit and one without such a line are left out.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="FireRedTeam/FireRed-Image-Edit",
        commit="456d010bd3f9bd727f1ab7fe60838caf6ee479e6",
        on="2026-11-30",
        sets=42,
        numbers=168,
        beside=Text("where nothing can be read theirs is 0, and there is none here"),
    )
    rubric: ClassVar[Mapping[str, Any]] = {
        **imgedit.RUBRIC,
        "questions": {
            name: question("", ["source", "edit"], ["edit_instruction"], criteria) for name, criteria in _ASKED.items()
        },
    }
    official_file = AuthorsFile(
        REPOSITORY,
        COMMIT,
        "rededit_bench/prompts.json",
        LICENCE,
        "957e3b89b3440be72420b7e2d3f6a7d49ce749e8726aded450472d27dc032c2c",
    )
    official: ClassVar[Mapping[str, Official]] = {name: Official(name, _LINES[name]) for name in TASKS}
    slots: ClassVar[Mapping[str, str]] = {"<edit_prompt>": "edit_instruction"}
    headline = "score"
    scores: ClassVar[Mapping[str, Score]] = {"score": Score(scale=Scale(lowest=1, highest=5, mean_over="categories"))}

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        super().__init__(parameters, texts)
        self.published = make_numbers(self._average_task, TASKS)

    def _average_task(self, task: str, judgements: Sequence[Judgement]) -> float:
        return mean_of([mean for name, mean in self._means(judgements).items() if task in ("", name)], UNREAD)

    def _means(self, judgements: Sequence[Judgement]) -> Mapping[str, float]:
        tasks: dict[str, list[float]] = {}
        for judgement in require_final_judgements(judgements):
            for reading in judgement.readings[0].values() if judgement.readings else ():
                try:
                    numbers = self._numbers(reading)
                except ValueError as error:
                    raise make_stop(judgement, str(error), Status.UNPARSEABLE) from None
                if numbers:
                    tasks.setdefault(judgement.category, []).append(round(add_in_order(numbers) / len(numbers), 2))
        return {task: round(add_in_order(scores) / len(scores), 2) for task, scores in tasks.items()}

    def _numbers(self, reading: Any) -> Sequence[float]:
        """Returns the numbers that the authors' script finds. Raises `ValueError` at a raised digit, where it stops."""
        if reading.status is Status.JUDGE_ERROR:
            return ()
        if not self.is_official:
            return [*reading.values.values()]
        parts = [line.strip().split(": ") for line in reading.text.splitlines()]
        return [int(part[1].strip()) for part in parts if len(part) == 2 and part[1].strip().isdigit()]


UNREAD = "no reply can be read"
