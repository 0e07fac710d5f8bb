"""`geditbench_v2`: GEdit-Bench v2's three questions about two edits (Jiang et al., arXiv 2603.28547).

Facts: ZhangqiJiang07/GEditBench_v2@82bc00e, configs/pipelines/vlm_as_a_judge, src/prompts/assets/vlm/assessment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import yaml

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.errors import ConfigurationError
from edit_eval.hub import local_path
from edit_eval.protocols.pairwise import Aspect
from edit_eval.protocols.published_pairs import PublishedPairs
from edit_eval.rubrics.loading import read_text
from edit_eval.text import Text

REGISTERED = {"geditbench_v2": "GEditBenchV2"}

_FOLDER = "src/prompts/assets/vlm/assessment"
_DIGESTS = {
    "instruction_following": "d933ab549b65e1c2369f21f017e7fe44fe9be1ce1ae6096c0a2b3c4edc490e03",
    "visual_quality": "7ea14f0705d3dfe8cb99105e16703e58e293c1c0c53b715bad9f9845c670f61d",
    "visual_consistency": "3db025087377977c05a972684ef9e6c68ff66fca08e9ad817d8172f0461047bc",
}


class GEditBenchV2(PublishedPairs):
    """Asks which of two edits follows the instruction, is the better picture, and leaves the rest alone.

    A tie is an answer. Each question is put in both orders; the authors put it in one, that by name.
    `as_others_rate.geditbench_v2` is their rating of the same answers: Davidson's model over all three at once.
    """

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
        """Raises `ConfigurationError` for a file that is not there, or is no prompt of theirs."""
        folder = None if path is None else local_path(path, (f"{_FOLDER}/*",), "protocol.prompts_path")
        found = {}
        for score, official in zip(cls.aspects, cls.official_files, strict=True):
            file = official.fetched() if folder is None else Path(folder) / official.path
            try:
                prompt = yaml.safe_load(read_text(file, "prompts_path"))
                words = "\n".join(part["text"].strip() for part in prompt["user_prompt"] if "text" in part)
                found[score] = [str(prompt["system_prompt"]), words.replace("{{ instruction }}", "{edit_instruction}")]
            except (yaml.YAMLError, KeyError, TypeError, AttributeError):
                raise ConfigurationError(
                    Text("protocol.prompts_path: {} is not the authors' {}", file, official.path)
                ) from None
        return found
