"""`mmrb2`, `genai_bench`, `editreward_bench`: people's choices between two edits of a source by an instruction.

The choice is in a sample's facts: `chosen` is `A`, `B` or `tie`; `raters`, if there are several, what each said. No
judge sees it, and `agreement` compares every judge of the run with it. `edit_of_pair` reads the edits from the same
files.

Facts: facebookresearch/MMRB2@7ff0552, benchmark/: README.md and edit_response_only.json (rows, `chosen`, the three
`human_annotations` from 1, B by far, to 6, A by far), 4_finalize_release.py and build_from_hf.py (edit.json with
`prompt_content`, paths), evaluate/compute_scores/compute_accuracy.py (each order counts by itself);
TIGER-AI-Lab/GenAI-Bench@f0b0334, inference.py (hub data set, configuration, split, `vote_type` and what it means),
inference_configs.json (columns); TIGER-AI-Lab/EditReward@edb027e, EditReward/evaluate/inference_2pair_hf.py (hub data
set, columns, `ranking`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.row_benchmark import (
    Draft,
    FilesBenchmark,
    FilesParameters,
    ParquetBenchmark,
    Row,
    RowParameters,
    number_pictures,
)
from edit_eval.text import Text

CHOSEN, RATERS = "chosen", "raters"
"""Keys in a sample's facts for what people chose."""
A, B, TIE = "A", "B", "tie"
FOR_A = 4
"""The lowest MMRB2 annotation that prefers A."""


@dataclass
class ChoiceParameters(RowParameters):
    """Where the files are."""

    edits: Literal["", "A", "B"] = ""
    """With `A` or `B` these edits stand where the sources do; `edit_of_pair` reads them so."""


class MMRB2(FilesBenchmark):
    """MMRB2's 1,000 pairs of edits, as its scripts build them: `edit.json`, `images`, `input_images`.

    A sample is a pair; its category is the benchmark that its instruction comes from. Some have several sources.
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

    def cache_key(self) -> str:
        """Returns which picture takes the source's place."""
        return str(self.parameters.edits)

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the sources, or an edit in their place."""
        side = self.parameters.edits
        content = (
            (row.get(f"response_{side.lower()}") or {}).get("response_content") if side else row.get("prompt_content")
        )
        paths = _parts(content, "image")
        return number_pictures("source", paths[:1] if side else paths)

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a pair, with the people's choice."""
        said = row.values.get("human_annotations")
        listed = said if isinstance(said, list) else []
        raters = [A if annotation >= FOR_A else B for annotation in listed if isinstance(annotation, (int, float))]
        if (chosen := row.values.get("chosen")) not in (A, B):
            row.faults.append(Text("{} is none of A and B: {!r}", "chosen", str(chosen)))
        return Draft(
            row.text("id", required=True),
            "\n".join(_parts(row.values.get("prompt_content"), "text")),
            row.text("prompt_source"),
            {CHOSEN: chosen, RATERS: raters},
        )


def _parts(content: Any, wanted: str) -> Sequence[str]:
    """Returns the entries of one kind from `[["image", PATH], ["text", WORDS], ...]`."""
    pairs = [pair for pair in content if isinstance(pair, list) and len(pair) == 2] if isinstance(content, list) else []
    return [held for kind, held in pairs if kind == wanted and isinstance(held, str)]


class ParquetChoices(ParquetBenchmark):
    """Rows of Parquet files with all three pictures. Subclasses name the columns and the words for a choice."""

    protocol = "pairwise"
    named: ClassVar[Mapping[str, str]]
    """`source`, `A`, `B`, `instruction`, `choice`, perhaps `id` -> the authors' column."""
    choices: ClassVar[Mapping[str, str]]
    """The authors' word -> `A`, `B` or `tie`."""

    def cache_key(self) -> str:
        """Returns which picture takes the source's place."""
        return str(self.parameters.edits)

    def columns(self) -> Sequence[str]:
        return [*self.named.values()]

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source, or an edit in its place."""
        return {"source": row[self.named[self.parameters.edits or "source"]]}

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row, with the people's choice."""
        name = row.text(self.named["id"]) if "id" in self.named else ""
        said = row.label(self.named["choice"], [*self.choices])
        facts = {CHOSEN: self.choices[said]} if said in self.choices else {}
        return Draft(name or f"{row.index:05d}", row.text(self.named["instruction"], required=True), facts=facts)


class GenAIBench(ParquetChoices):
    """GenAI-Bench's pairs of edits (`image_edition`, split `test_v1`); two that are equally good, or bad, are a tie."""

    @dataclass
    class Parameters(ChoiceParameters):
        data_path: str
        """The Parquet file of the configuration `image_edition`, or the folder that holds it."""

    named: ClassVar[Mapping[str, str]] = {
        "source": "source_image",
        "A": "left_output_image",
        "B": "right_output_image",
        "instruction": "instruct_prompt",
        "choice": "vote_type",
    }
    choices: ClassVar[Mapping[str, str]] = {"leftvote": A, "rightvote": B, "tievote": TIE, "bothbad_vote": TIE}
    about: ClassVar[Mapping[str, str]] = {
        "source": "github TIGER-AI-Lab/GenAI-Bench; hub TIGER-Lab/GenAI-Bench",
        "licence": "MIT",
        "formula": "share of the answers that are the vote, ties apart by kind; in one order",
        "defects": "an answer without a verdict counts as wrong",
    }


class EditRewardBench(ParquetChoices):
    """EditReward-Bench's pairs: two candidates and which of them people prefer.

    Its rows with three and four candidates are left to its own scripts.
    """

    @dataclass
    class Parameters(ChoiceParameters):
        data_path: str
        """The Parquet file with the rows of two candidates, or the folder that holds it."""

    named: ClassVar[Mapping[str, str]] = {
        "id": "id",
        "source": "source_image",
        "A": "candidate_1",
        "B": "candidate_2",
        "instruction": "instruction",
        "choice": "ranking",
    }
    choices: ClassVar[Mapping[str, str]] = {"A>B": A, "B>A": B, "A=B": TIE}
    about: ClassVar[Mapping[str, str]] = {
        "source": "github TIGER-AI-Lab/EditReward; hub TIGER-Lab/EditReward-Bench",
        "formula": "share of the answers that are the ranking; in one order",
        "defects": "an answer is looked for with seven patterns, and the first that fits counts",
    }
