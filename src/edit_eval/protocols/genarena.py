"""`genarena`: GenArena's question about two edits (Li et al., arXiv 2602.06013), which is that of MMRB2's edit pairs.

Facts: ruihanglix/genarena@dd09b86, genarena/prompts/mmrb2.py, genarena/battle.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.protocols.pairwise import Aspect
from edit_eval.protocols.published_pairs import PublishedPairs
from edit_eval.rubrics.loading import authors_texts

REGISTERED = {"genarena": "GenArena"}


class GenArena(PublishedPairs):
    """Asks which of two edits is the better one altogether, without ties, in both orders, as the authors do.

    Their reader takes the first of the letters A and B that it finds in any word; here only the answer counts, and one
    that is none is asked again. `as_others_rate.genarena` is their rating of the same answers: orders that differ, or
    are without an answer, are a tie.
    """

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
        """All of it stands in the user's turn. Raises `ConfigurationError` for a file that is not theirs."""
        (file,) = cls.official_files
        path = path and str(Path(path).expanduser() / file.path)
        text = authors_texts(path, file, ["PROMPT_TEXT"])["PROMPT_TEXT"]
        return {cls.key: ["", f"{text}\n\n[ORIGINAL PROMPT TO MODEL:]\n{{edit_instruction}}"]}
