"""`genarena`, `geditbench_v2`: published pairwise protocols, in our wording or the authors', which `fetch` downloads.

They are stricter than the originals: both orders are asked, no letter is picked out of a word, and no answer is not a
tie. The numbers that the authors would compute from the same answers are shown beside ours (`statistics/battles.py`).

Facts: GenArena (Li et al., arXiv 2602.06013), whose question is that of MMRB2's edit pairs:
ruihanglix/genarena@dd09b86, genarena/prompts/mmrb2.py, genarena/battle.py. GEdit-Bench v2 (Jiang et al., arXiv
2603.28547): ZhangqiJiang07/GEditBench_v2@82bc00e, configs/pipelines/vlm_as_a_judge, src/prompts/assets/vlm/assessment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.errors import ConfigurationError
from edit_eval.files.hub import local_path
from edit_eval.judges.answers import NoAnswer, excerpt, json_decoder, json_objects
from edit_eval.protocols.certificates import Certificate
from edit_eval.protocols.contract import Question, Texts
from edit_eval.protocols.pairwise import RUBRIC, Aspect, Comparing, Meetings
from edit_eval.records import Sample
from edit_eval.rubrics import loading
from edit_eval.rubrics.loading import authors_texts, read_text
from edit_eval.text import Text

_FOLDER = "src/prompts/assets/vlm/assessment"
_DIGESTS = {
    "instruction_following": "d933ab549b65e1c2369f21f017e7fe44fe9be1ce1ae6096c0a2b3c4edc490e03",
    "visual_quality": "7ea14f0705d3dfe8cb99105e16703e58e293c1c0c53b715bad9f9845c670f61d",
    "visual_consistency": "3db025087377977c05a972684ef9e6c68ff66fca08e9ad817d8172f0461047bc",
}
_DECODER = json_decoder(strict=False)


@dataclass(frozen=True)
class PublishedParameters(Meetings):
    """Which edits meet, and how it is asked."""

    prompts: Literal["ours", "official"] = "ours"
    """`ours`; `official`, the authors' words, which `edit-eval fetch` downloads, or from `prompts_path`."""
    prompts_path: str | None = None
    """For `official`: the folder of a copy of the authors' repository. Nothing in it is run."""
    language: Literal["en", "zh"] = "en"
    """Of our wording; by default the benchmark's."""
    version: str = ""
    """An earlier wording of ours (`v1`), for a run that was judged by it; empty: the newest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prompts_path and self.prompts != "official":
            raise ValueError("prompts_path is for prompts: official")


class PublishedPairs(Comparing):
    """Base of these protocols. Subclasses define what is asked, and where and how the authors ask it."""

    Parameters: ClassVar[Any] = PublishedParameters
    aspects: ClassVar[Mapping[str, Aspect]]
    """Score -> what our wording asks; the headline first."""
    ties: ClassVar[bool]
    """True if a tie is a valid answer."""
    official_files: ClassVar[Sequence[AuthorsFile]]
    """The files with the authors' prompts."""
    key: ClassVar[str]
    """The entry of their JSON object that holds the answer."""
    shares: ClassVar[Mapping[str, float]]
    """Each of their answers -> the share of the picture shown first."""
    called: ClassVar[tuple[str, str, str]]
    """Their words for the source, the first edit and the second edit."""

    @classmethod
    def texts(cls, parameters: PublishedParameters) -> Texts:
        """Returns our wording, and the authors' if wanted. Raises `ConfigurationError` if that is missing."""
        texts = dict(loading.load_packaged(RUBRIC, parameters.language, parameters.version))
        return texts | ({"official": cls.official(parameters.prompts_path)} if parameters.prompts == "official" else {})

    @classmethod
    def official(cls, path: str | None) -> dict[str, list[str]]:
        """Returns score -> the authors' system prompt and user prompt, with `{edit_instruction}`."""
        raise NotImplementedError

    def __init__(self, parameters: PublishedParameters, texts: Mapping[str, Any]) -> None:
        super().__init__(parameters, texts, self.aspects, ties=self.ties)
        self._official: Mapping[str, Sequence[str]] = texts.get("official", {})
        self.is_official = bool(self._official)

    def _question(self, score: str, sample: Sample) -> Question:
        if not self._official:
            return super()._question(score, sample)
        system, user = self._official[score]
        shows = self._shows(score, sample)
        # They put the pictures between their words; here all pictures come first.
        source, first, second = self.called
        which = [f"the last but one is {first}, the last is {second}"]
        which = [f"those before are: {source}", *which] if len(shows) > 2 else which
        return Question(
            name=score,
            system=system,
            user=loading.fill(user, {"edit_instruction": sample.instruction})
            + f"\n\nOf the images above, {'; '.join(which)}.",
            shows=shows,
            form="json",
        )

    def _read_preference(self, question: Question, body: str) -> tuple[float, str]:
        if not self._official:
            return super()._read_preference(question, body)
        said, others, _ = json_objects(body, self.key, _DECODER)
        if wrong := self._unlike_theirs(dict(others[0]) if others else {}):
            raise NoAnswer(f"{wrong}: {excerpt(body)}")
        labels = {label.strip() if isinstance(label, str) else "" for label in said}
        if len(labels) != 1 or not labels <= {*self.shares}:
            raise NoAnswer(f"`{self.key}` is not one of {', '.join(self.shares)}: {excerpt(body)}")
        return self.shares[labels.pop()], "\n".join(
            text for other in others for _, text in other if isinstance(text, str)
        )

    def _unlike_theirs(self, beside: Mapping[str, Any]) -> str:
        """Returns why the authors refuse an answer with these other entries; empty if they do not."""
        return ""


class GenArena(PublishedPairs):
    """Asks which of two edits is the better one altogether, without ties, in both orders, as the authors do.

    Their reader takes the first letter A or B that it finds in any word; here only the answer counts, and an invalid
    one is asked for again. `as_others_rate.genarena` is their rating of the same answers: orders that differ, or lack
    an answer, are a tie.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="ruihanglix/genarena",
        commit="dd09b86b6fb4801b5fab5d16c23ae9745f510534",
        on="2026-11-24",
        sets=31,
        numbers=124,
        beside=Text(
            "their search run to its end, where they stop after 100 steps; none where an answer that cannot be read "
            "here may be one to them"
        ),
    )

    aspects: ClassVar[Mapping[str, Aspect]] = {"better_response": "overall"}
    ties = False
    official_files: ClassVar[tuple[AuthorsFile, ...]] = (
        AuthorsFile(
            "ruihanglix/genarena",
            "dd09b86b6fb4801b5fab5d16c23ae9745f510534",
            "genarena/prompts/mmrb2.py",
            "Apache-2.0",
            "e79ed4d0b13cd89b2a0ac7e1d89d16a7120aedcd09e39bd3f116ebf2ad5ac939",
        ),
    )
    key = "better_response"
    shares: ClassVar[Mapping[str, float]] = {"A": 1.0, "B": 0.0}
    called = ("[INPUT IMAGE FROM PROMPT:]", "[RESPONSE A:]", "[RESPONSE B:]")

    @classmethod
    def official(cls, path: str | None) -> dict[str, list[str]]:
        """Puts everything into the user's turn. Raises `ConfigurationError` for a file that is not theirs."""
        (file,) = cls.official_files
        path = path and str(Path(path).expanduser() / file.path)
        text = authors_texts(path, file, ["PROMPT_TEXT"])["PROMPT_TEXT"]
        return {cls.key: ["", f"{text}\n\n[ORIGINAL PROMPT TO MODEL:]\n{{edit_instruction}}"]}

    def _unlike_theirs(self, beside: Mapping[str, Any]) -> str:
        """They need no score and no confidence, but those that are there have to be numbers."""
        for name, convert in (("score", int), ("confidence", float)):
            try:
                convert(beside.get(name, 0))
            except (TypeError, ValueError):
                return f"`{name}` is not a number"
        return ""


class GEditBenchV2(PublishedPairs):
    """Asks which of two edits follows the instruction, is the better picture, and leaves the rest alone.

    A tie is an answer. Each question is asked in both orders; the authors ask in one, determined by name.
    `as_others_rate.geditbench_v2` is their rating of the same answers: Davidson's model over all three at once.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="ZhangqiJiang07/GEditBench_v2",
        commit="82bc00ed59963b597dea0b9162bdd9e38fc8fbe6",
        on="2026-11-24",
        sets=31,
        numbers=124,
        beside=Text(
            "before they round to whole points; none where an answer that cannot be read here may be one to them"
        ),
    )

    aspects: ClassVar[Mapping[str, Aspect]] = {
        "instruction_following": "instruction",
        "visual_quality": "quality",
        "visual_consistency": "restraint",
    }
    ties = True
    official_files: ClassVar[tuple[AuthorsFile, ...]] = tuple(
        AuthorsFile(
            "ZhangqiJiang07/GEditBench_v2",
            "82bc00ed59963b597dea0b9162bdd9e38fc8fbe6",
            f"{_FOLDER}/{name}/pairwise/v1.yaml",
            "",
            digest,
        )
        for name, digest in _DIGESTS.items()
    )
    key = "winner"
    shares: ClassVar[Mapping[str, float]] = {"Image A": 1.0, "Image B": 0.0, "Tie": 0.5}
    called = ("Original Image", "Image A", "Image B")

    @classmethod
    def official(cls, path: str | None) -> dict[str, list[str]]:
        """Raises `ConfigurationError` for a file that is missing or not one of their prompts."""
        folder = None if path is None else local_path(path, (f"{_FOLDER}/*",), "protocol.prompts_path")
        prompts = {}
        for score, official in zip(cls.aspects, cls.official_files, strict=True):
            file = official.path_in_cache() if folder is None else Path(folder) / official.path
            try:
                prompt = yaml.safe_load(read_text(file, "prompts_path"))
                words = "\n".join(part["text"].strip() for part in prompt["user_prompt"] if "text" in part)
                prompts[score] = [
                    str(prompt["system_prompt"]),
                    words.replace("{{ instruction }}", "{edit_instruction}"),
                ]
            except (yaml.YAMLError, KeyError, TypeError, AttributeError):
                raise ConfigurationError(
                    Text("protocol.prompts_path: {} is not the authors' {}", file, official.path)
                ) from None
        return prompts
