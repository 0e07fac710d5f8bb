"""`mmrb2`: the edit pairs of MMRB2 (facebookresearch/MMRB2), with what three people said of each.

Facts: facebookresearch/MMRB2@7ff0552, benchmark/: README.md and edit_response_only.json (rows, `chosen`, the three
`human_annotations` from 1, B by far, to 6, A by far), 4_finalize_release.py and build_from_hf.py (edit.json with
`prompt_content`, paths); evaluate/compute_scores/compute_accuracy.py (each order counts by itself).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.benchmarks.people_choices import CHOSEN, RATERS, A, B, ChoiceParameters, no_choice
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Row

REGISTERED = {"mmrb2": "MMRB2"}

FOR_A = 4
"""The least of the annotations that prefer A."""


class MMRB2(FilesBenchmark):
    """MMRB2's 1,000 pairs of edits, as its scripts build them: `edit.json`, `images`, `input_images`.

    A sample is a pair; its category is the benchmark from which its instruction is. Some have several sources.
    """

    @dataclass
    class Parameters(ChoiceParameters, FilesParameters):
        pass

    names = ("edit.json",)
    sizes = (1000,)
    protocol = "genarena"
    about: ClassVar[Mapping[str, str]] = {
        "source": "github facebookresearch/MMRB2",
        "licence": "CC BY-NC 4.0",
        "samples": "1,000 pairs of edits, three people each",
        "formula": "share of the answers, in both orders, that are the people's choice",
        "defects": "A is chosen in 55.5 of 100: a judge that always takes it has that",
    }

    def kept(self) -> str:
        """Which picture stands where the source does."""
        return str(self.parameters.edits)

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The sources, or an edit in their place."""
        side = self.parameters.edits
        content = (
            (row.get(f"response_{side.lower()}") or {}).get("response_content") if side else row.get("prompt_content")
        )
        found = _parts(content, "image")
        return {("source" if n == 1 else f"source_{n}"): path for n, path in enumerate(found[:1] if side else found, 1)}

    def draft(self, row: Row) -> Draft:
        """A sample a pair, with what people chose."""
        said = row.values.get("human_annotations")
        listed = said if isinstance(said, list) else []
        raters = [A if one >= FOR_A else B for one in listed if isinstance(one, (int, float))]
        if (chosen := row.values.get("chosen")) not in (A, B):
            no_choice(row, "chosen")
        return Draft(
            row.text("id", required=True),
            "\n".join(_parts(row.values.get("prompt_content"), "text")),
            row.text("prompt_source"),
            {CHOSEN: chosen, RATERS: raters},
        )


def _parts(content: Any, wanted: str) -> Sequence[str]:
    """Of `[["image", PATH], ["text", WORDS], ...]` those of a kind."""
    pairs = [one for one in content if isinstance(one, list) and len(one) == 2] if isinstance(content, list) else []
    return [held for kind, held in pairs if kind == wanted and isinstance(held, str)]
