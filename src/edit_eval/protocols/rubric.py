"""`rubric`: a rubric for each category, one score from 0 to 10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.categories import canonical
from edit_eval.judges.answers import is_prose, read_answer
from edit_eval.protocols.contract import Question, Score, View
from edit_eval.protocols.replies import advice_on_limits
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Status
from edit_eval.rubrics import loading

REGISTERED = {"rubric": "Rubric"}

SHORT = 64  # characters; bare scores repeat themselves a hundred thousand times
_read_short = lru_cache(maxsize=4096)(read_answer)

_VIEWS = {"source": View(picture="source"), "edited": View(picture="edit")}
_SCALE = Scale(lowest=0.0, highest=10.0)


class Rubric:
    """Asks one question an edit, by the rubric of the sample's category, for one score from 0 to 10.

    Of the five dimensions the rubrics are packaged, and a general one for samples without a category; `prompts:` of the
    configuration replace any, and give one to a category of a benchmark's own.
    """

    @dataclass(frozen=True)
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        answer: Literal["score", "reason_then_score"] = "score"
        """How the judge is told to answer: the bare score, or reasons and then the score."""
        images: list[Literal["source", "edited"]] = field(default_factory=lambda: ["source", "edited"])
        """What the judge is shown, in this order; `[edited]` shows the edit alone."""
        language: Literal["en", "zh"] = "en"
        """Of the rubrics; by default the benchmark's."""
        prompts: dict[str, dict[str, str]] = field(default_factory=dict)
        """Category -> `system_prompt`, `user_prompt_template` or both; by default `prompts:` of the configuration."""

        general: bool = False
        """Whether the general rubric stands in for a category without one of its own, too."""

        def __post_init__(self) -> None:
            strangers = [name for name in self.images if name not in _VIEWS]
            if strangers or "edited" not in self.images or len({*self.images}) != len(self.images):
                raise ValueError(f"images: {self.images} is neither [edited] nor source and edited in either order")

    headline = "score"
    scores: ClassVar[Mapping[str, Score]] = {"score": Score(scale=_SCALE, needs=("score",))}

    @staticmethod
    def texts(parameters: Parameters) -> dict[str, Any]:
        """The rubric of every category. Raises `ConfigurationError` for prompts that cannot be meant."""
        rubrics = loading.load_rubrics(parameters.prompts, parameters.language)
        return {name: {**asdict(rubric), "criteria": list(rubric.criteria)} for name, rubric in rubrics.items()}

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        self.rubrics = {
            name: loading.Rubric(**{**text, "criteria": tuple(text["criteria"])}) for name, text in texts.items()
        }
        self._parameters = parameters
        self._shows = tuple(_VIEWS[name] for name in parameters.images)
        self._system: dict[str, str] = {}  # category -> template

    def refuse_unknown(self, categories: Iterable[str]) -> None:
        """Raises `ConfigurationError` for prompts of a category that is none of the five and not in `categories`.

        These are those of all samples of the benchmark, whatever the filters.
        """
        loading.refuse_unknown(self._parameters.prompts, categories)

    def questions(self, sample: Sample) -> Sequence[Question]:
        """The one question. Raises `LookupError` for a category without a rubric, with what to write."""
        rubric, form = self._rubric(sample.category), self._parameters.answer
        if rubric.category not in self._system:
            self._system[rubric.category] = rubric.system(form)
        templates = self._system[rubric.category], rubric.user_prompt_template
        description = sample.description or rubric.no_description
        values = {"original_description": description, "edit_instruction": sample.instruction}
        system, user = [loading.fill(template, values) for template in templates]
        return (
            Question(
                name="score",
                gives=("score",),
                system=system,
                user=user,
                shows=self._shows,
                form=form,
                again=rubric.ask_again[form],
            ),
        )

    def _rubric(self, category: str) -> loading.Rubric:
        rubric = self.rubrics.get(canonical(category))
        if rubric is not None:
            return rubric
        if not category.strip() or self._parameters.general:
            return self.rubrics[loading.GENERAL]
        raise LookupError(
            f"no rubric for its category `{category}`: add `prompts.{category}.system_prompt`, or write `protocol: "
            "{general: true}` for the general one"
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """The score, by the grammar of `judges/answers.py`, and the judge's words besides it."""
        return (_read_short if len(reply.text) <= SHORT else read_answer)(reply.text, question.form)

    def advice(self, failed: Sequence[Judgement]) -> str:
        """What to write into the configuration where at least half of the judgements that failed ask for it."""
        prose = [one for one in failed if one.status in (Status.UNPARSEABLE, Status.CUT_OFF) and is_prose(one.answer)]
        if self._parameters.answer == "score" and failed and 2 * len(prose) >= len(failed):
            return f"{prose[-1].judge} answers in words; write `protocol: {{answer: reason_then_score}}`"
        return advice_on_limits(failed)
