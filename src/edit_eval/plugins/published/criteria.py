"""`criteria`: a rubric of questions, each of which gives whole numbers for a few named criteria.

A rubric is a YAML file: `opening`, `quotation` and `answer` are part of every question; `tells` lists which of a
sample's texts a judge may be told, with an introduction for each; `questions` has by name their `criteria` (name ->
`title` and `asks`), what they `show` and `tell`, and the range from `lowest` to `highest`. A sample's questions are
those named in its `facts` (`asks`), else the one named like its category, else all.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import yaml

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.errors import ConfigurationError
from edit_eval.judges.answers import NoAnswer, excerpt
from edit_eval.protocols.contract import Missing, Question, Score, Texts, View, parts
from edit_eval.protocols.replies import list_schema, number, read_list, read_number, read_values
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Status
from edit_eval.rubrics import loading
from edit_eval.rubrics.loading import authors_texts, own_prompts, read_text
from edit_eval.text import Text

AuthorsNumbers = Mapping[str, Callable[[Sequence[Judgement]], float]]
"""The authors' numbers by their names, each of all judgements; it raises `Missing` where there is none."""
INSTRUCTION = "edit_instruction"
"""The instruction's name in a prompt; all other texts are the sample's facts of that name."""


@dataclass(frozen=True)
class PromptParameters:
    """How the questions are worded."""

    prompts: str | dict[str, dict[str, str]] = "ours"
    """`ours`; `official`, the authors' words, which `edit-eval fetch` downloads, or from `prompts_path`; the path of a
    YAML file with prompts, or the prompts themselves: by question, each with `system_prompt`, `user_prompt_template` or
    both."""
    prompts_path: str | None = None
    """For `official`: the authors' file with the prompts, or the folder that holds it. It is read, never run."""

    def __post_init__(self) -> None:
        if self.prompts_path and self.prompts != "official":
            raise ValueError("prompts_path is for prompts: official")


@dataclass(frozen=True)
class Official:
    """The authors' own wording of a question, and how it has a judge write its numbers."""

    text: str
    """Name of the text in their file."""
    reads: tuple[str, ...]
    """For each value, the words before its number."""
    after: str = ""
    """Name of the text that precedes it."""


class CriteriaProtocol:
    """Base of protocols with criteria. Subclasses define the rubric and the scores."""

    Parameters: ClassVar[Any] = PromptParameters
    rubric: ClassVar[Mapping[str, Any]]
    """Our wording, in the form of a rubric file."""
    official_file: ClassVar[AuthorsFile | None] = None
    """The file with the authors' prompts."""
    official: ClassVar[Mapping[str, Official]] = {}
    """By question."""
    slots: ClassVar[Mapping[str, str]] = {}
    """A placeholder in the authors' texts -> our name for it."""
    recorded: ClassVar[tuple[float, float] | None] = None
    """The ends of the scale on which values are recorded, for all questions; None: each question's own."""
    headline: str

    @classmethod
    def texts(cls, parameters: Any) -> Texts:
        """Returns the wording of every question. Raises `ConfigurationError` for unreadable or invalid prompts."""
        texts = assemble_prompts(cls.load(parameters))
        prompts = parameters.prompts
        if prompts == "official":
            prompts = cls._official(parameters.prompts_path, texts)
        elif prompts == "ours":
            prompts = {}
        elif isinstance(prompts, str):
            prompts = own_prompts(prompts, texts)
        for name, replaced in prompts.items():
            if name not in texts:
                raise ConfigurationError(Text("prompts.{}: there is no such question; there are {}", name, texts))
            if parameters.prompts != "official":
                loading.check_prompts(name, replaced, texts[name]["fields"])
            # Wording that is not ours defines its own form of answer.
            texts[name].update(replaced, **({"schema": ""} if "system_prompt" in replaced else {}))
        return texts

    @classmethod
    def load(cls, parameters: Any) -> Any:
        """Returns the rubric as plain data."""
        return cls.rubric

    @classmethod
    def _official(cls, path: str | None, texts: Mapping[str, Any]) -> dict[str, Texts]:
        """Returns the authors' prompts; all of it goes into the user's turn."""
        if cls.official_file is None:
            raise ConfigurationError(Text("protocol.prompts: there are no official prompts for this protocol"))
        names = [name for prompt in cls.official.values() for name in (prompt.after, prompt.text) if name]
        templates = authors_texts(path, cls.official_file, names)
        return {
            name: {
                "system_prompt": "",
                "user_prompt_template": cls._convert_template(templates.get(prompt.after, "") + templates[prompt.text]),
                "reads": list(prompt.reads),
                "ask_again": "",
                "untold": "",
            }
            for name, prompt in cls.official.items()
        }

    @classmethod
    def _convert_template(cls, text: str) -> str:
        """Converts an authors' template for `str.format` (or with other marks) to one of ours."""
        formatted = any(slot.startswith("{") and slot in text for slot in cls.slots)
        for slot, ours in cls.slots.items():
            text = text.replace(slot, f"{{{ours}}}")
        return text.replace("{{", "{").replace("}}", "}") if formatted else text

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        self._texts = texts
        self.is_official = any(text["reads"] for text in texts.values())

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Raises `LookupError` for a sample with a question that the rubric lacks."""
        return [self._question(name, sample) for name in self._question_names(sample)]

    def _question_names(self, sample: Sample) -> Sequence[str]:
        asked: Sequence[str] = sample.facts.get("asks") or (
            [sample.category] if sample.category in self._texts else [*self._texts]
        )
        if unknown := next((name for name in asked if name not in self._texts), ""):
            raise LookupError(f"the rubric has no question `{unknown}`; it has {', '.join(self._texts)}")
        return asked

    def _question(self, name: str, sample: Sample) -> Question:
        text = self._texts[name]
        values = {field: str(sample.facts.get(field) or text["untold"]) for field in text["fields"]}
        values[INSTRUCTION] = sample.instruction
        return Question(
            name=name,
            gives=tuple(text["gives"]),
            system=loading.fill(text["system_prompt"], values),
            user=loading.fill(text["user_prompt_template"], values),
            shows=tuple(_views(text, sample)),
            form="text" if text["reads"] else "json",
            schema=text.get("schema", ""),
            again=text["ask_again"],
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads the whole numbers of `{"reasoning": ..., "score": [a, b]}`, or those behind the authors' names."""
        text = self._texts[question.name]
        lowest, highest = text["lowest"], text["highest"]

        def numbers(body: str) -> tuple[Sequence[float], str]:
            if text["reads"]:
                entries, words = [_find_number(name, body, highest) for name in text["reads"]], ""
            else:
                entries, words = read_list(body, "score", len(question.gives))
            values = [_whole(read_number(entry, lowest, highest)) for entry in entries]
            return [self._rescale_value(value, lowest, highest) for value in values], words

        return read_values(question, reply, numbers)

    def _rescale_value(self, value: float, lowest: float, highest: float) -> float:
        if self.recorded is None:
            return value
        worst, best = self.recorded
        return worst + (value - lowest) * ((best - worst) / (highest - lowest))


class Criteria(CriteriaProtocol):
    """Asks the questions of a rubric of your own, and takes the mean of all numbers that a sample's questions give.

    The scale of the score is that of the rubric's questions, which must all share one.
    """

    @dataclass(frozen=True, kw_only=True)
    class Parameters(PromptParameters):
        rubric: str
        """The path of the rubric, a YAML file."""

    headline = "score"

    @classmethod
    def load(cls, parameters: Any) -> Any:
        """Raises `ConfigurationError` if the file is not a rubric."""
        file = Path(parameters.rubric).expanduser()
        try:
            rubric = yaml.safe_load(read_text(file, "rubric"))
        except yaml.YAMLError as error:
            raise ConfigurationError(
                Text("protocol.rubric: {} is not valid YAML ({: })", file, str(error).split())
            ) from None
        if not isinstance(rubric, dict) or not isinstance(rubric.get("questions"), dict):
            raise ConfigurationError(Text("protocol.rubric: {} has no `questions`", file))
        return rubric

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        """Raises `ConfigurationError` if the questions have different ranges."""
        super().__init__(parameters, texts)
        ranges = {(float(text["lowest"]), float(text["highest"])) for text in texts.values()}
        if len(ranges) != 1:
            raise ConfigurationError(
                Text("protocol.rubric: its questions have different ranges; give all of them the same")
            )
        ((lowest, highest),) = ranges
        scale = Scale(lowest=lowest, highest=highest, mean_over="categories")
        given = dict.fromkeys(name for text in texts.values() for name in text["gives"] if name != self.headline)
        self.scores: Mapping[str, Score] = {self.headline: Score(scale=scale), **parts(given, scale)}


ONE_NUMBER = {
    "answer": "Answer with one JSON object and nothing else: your reasons in at most sixty words, without quotation "
    "marks in them, then your number, a whole one from {lowest} to {highest}.\n"
    '{"reasoning": "...", "score": [{form}]}',
    "ask_again": 'Answer with one JSON object only, of exactly the form {"reasoning": "...", "score": [{form}]}: brief '
    "reasons without quotation marks in them, then a whole number from {lowest} to {highest}.",
}
"""How our rubrics have a judge answer a question with one criterion."""


def question(
    about: str, shows: Sequence[str], tells: Sequence[str], criteria: Mapping[str, str | tuple[str, str]], **ends: float
) -> Texts:
    """Returns a question for a rubric, with its own `lowest` and `highest` in `ends`.

    `criteria` has the text of each, after its title unless that is its name in capitals.
    """
    asked = {}
    for name, text in criteria.items():
        title, asks = (name.capitalize(), text) if isinstance(text, str) else text
        asked[name] = {"title": title, "asks": asks}
    return {"about": about, "shows": shows, "tells": tells, "criteria": asked, **ends}


def assemble_prompts(rubric: Mapping[str, Any]) -> Texts:
    """Returns the assembled prompts of a rubric's questions. Raises `ConfigurationError` if a part is missing."""
    try:
        return {name: _assemble_prompt(rubric, question) for name, question in rubric["questions"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            Text("protocol.rubric: a part is missing ({}: {})", type(error).__name__, error)
        ) from None


def _assemble_prompt(rubric: Mapping[str, Any], question: Mapping[str, Any]) -> Texts:
    named = question.get("tells", [])
    lowest, highest = question.get("lowest", rubric["lowest"]), question.get("highest", rubric["highest"])
    listed = [
        f"{n}. {criterion['title']}: {criterion['asks']}"
        for n, criterion in enumerate(question["criteria"].values(), 1)
    ]
    form = ", ".join(criterion["title"].upper() for criterion in question["criteria"].values())
    parts = [rubric["opening"], question.get("about", ""), "\n".join(listed)]
    parts += [rubric["quotation"]] if named else []
    fill = {"lowest": str(lowest), "highest": str(highest), "form": form}
    system = "\n\n".join(part.strip() for part in [*parts, rubric["answer"]] if part)
    reasons, score = ('"reasoning"' in rubric["answer"], '"score"' in rubric["answer"])  # as requested by the wording
    entry = number(lowest, highest, whole=True)
    schema = list_schema("score", entry, len(question["criteria"]), "reasoning" if reasons else "") if score else ""
    quoted = [f"{rubric['tells'][name]}\n<{name}>\n{{{name}}}\n</{name}>" for name in named]
    return {
        "system_prompt": loading.fill(system, fill),
        "user_prompt_template": "\n\n".join([*quoted, rubric["closing"].strip()]),
        "ask_again": loading.fill(rubric["ask_again"].strip(), fill),
        "fields": named,
        "untold": rubric.get("untold", ""),
        "gives": list(question["criteria"]),
        "shows": question["shows"],
        "steps": rubric.get("steps", []),
        "lowest": lowest,
        "highest": highest,
        "reads": [],
        "schema": schema,
    }


def _views(text: Mapping[str, Any], sample: Sample) -> Iterator[View]:
    steps = tuple(tuple(step) for step in text["steps"])
    for shown in text["shows"]:
        if shown == "sources":
            first = () if "source" in sample.pictures else ("source",)  # the edit it follows
            for name in (*first, *(name for name in sample.pictures if name.startswith("source"))):
                yield View(picture=name, steps=steps)
        elif shown == "references":
            yield from (View(picture=name, steps=steps) for name in sample.pictures if name.startswith("reference"))
        elif shown == "frames":
            for number, name in enumerate(sample.facts["frames"], 1):
                yield View(picture=name, steps=steps, label=f"frame {number}")
        else:
            yield View(picture=shown, steps=steps)


def _whole(value: float) -> float:
    if value != int(value):
        raise NoAnswer(f"{value:.10g} is not a whole number")
    return value


def _find_number(name: str, body: str, highest: float) -> float:
    """Returns the number after a name: `Name: 4`, `**Name:** **4**`, `"name": 4` or `Name: 4/5`. Raises `NoAnswer`."""
    marks = r'["*_`\s]*'
    pattern = rf"{re.escape(name)}{marks}[:：]{marks}(-?\d+(?:\.\d+)?)(?:\s*/\s*(\d+))?(?![\d.]*\s*[-~]\s*\d)"
    numbers = {(float(match[1]), float(match[2] or highest)) for match in re.finditer(pattern, body, re.IGNORECASE)}
    if len(numbers) != 1 or {of for _, of in numbers} != {float(highest)}:
        raise NoAnswer(f"{'more than one' if numbers else 'no'} number behind `{name}`: {excerpt(body)}")
    return next(iter(numbers))[0]


def require_final_judgements(judgements: Sequence[Judgement]) -> Sequence[Judgement]:
    """Returns the judgements. Raises `Missing` while some are pending, and if there are none."""
    if any(judgement.status is Status.PENDING for judgement in judgements):
        raise Missing(Status.PENDING, "not every edit has been judged yet")
    if not judgements:
        raise Missing(Status.UNDEFINED, "no edit was judged")
    return judgements


def make_stop(judgement: Judgement, reason: str = "", status: Status | None = None) -> Missing:
    """Returns why there is no number where the authors' script stops at an edit: by default, what is missing of it."""
    return Missing(
        judgement.status if status is None else status,
        f"the authors' script stops at `{judgement.sample_id}`: {reason or judgement.reason}",
    )


def require_edits(judgements: Sequence[Judgement]) -> Sequence[Judgement]:
    """Returns the judgements. Raises `Missing` at a missing edit as well, as scripts do that stop there."""
    for judgement in require_final_judgements(judgements):
        if not judgement.readings:
            raise make_stop(judgement)
    return judgements


def make_numbers(number: Callable[[str, Sequence[Judgement]], float], names: Iterable[str]) -> AuthorsNumbers:
    """Returns the authors' numbers `Overall` and one by name, of a function of the name, which is empty for all."""
    return {"Overall": partial(number, ""), **{name: partial(number, name) for name in names}}


def mean_of(numbers: Sequence[float], why: str = "no edit was judged") -> float:
    """Returns the mean. Raises `Missing`, with `why`, if there are no numbers."""
    if not numbers:
        raise Missing(Status.UNDEFINED, why)
    return math.fsum(numbers) / len(numbers)


def least_or_guessed(judgement: Judgement, question: str, seed: int | None, lowest: int, highest: int) -> float:
    """Returns the lowest number in a reply; a random whole number if it is unreadable, as some authors do.

    Raises `Missing` for an unreadable reply without a seed.
    """
    reading = judgement.readings[0][question]
    if reading.status is Status.OK:
        return min(reading.values.values())
    return guess_number(judgement, question, seed, lowest, highest, reading.status)


def guess_number(
    judgement: Judgement, question: str, seed: int | None, lowest: int, highest: int, status: Status
) -> float:
    """Returns a random whole number, the same for a seed and an edit. Raises `Missing`, with `status`, without one."""
    if seed is None:
        raise Missing(
            status if status is not Status.OK else Status.UNPARSEABLE,
            f"the reply about {question} of `{judgement.sample_id}` cannot be read, where the authors guess a number; "
            "set `protocol.guess_seed` for theirs",
        )
    place = f"{seed} {judgement.sample_id} {judgement.edit_seed} {judgement.repeat} {question}"
    return random.Random(place).randint(lowest, highest)
