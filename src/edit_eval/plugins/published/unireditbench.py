"""`unireditbench`: UniREditBench (Maplebb/UniREditBench, arXiv 2511.01295), whose script is based on RISEBench's.

Facts: Maplebb/UniREditBench@a7015c5, README.md (columns), eval/gpt_eval_uniredit.py (what is shown; rules go before the
instruction; what is read and weighed) and eval/utils.py; maplebb/UniREditBench on the hub: data.json,
original_image.zip, reference_image.zip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Row
from edit_eval.plugins.published.criteria import Official, mean_of, require_final_judgements
from edit_eval.plugins.published.risebench import FINAL, SCALE, UNREAD, RISEBenchScores, full_marks, weigh_values
from edit_eval.protocols.certificates import Certificate
from edit_eval.protocols.contract import Score, Values
from edit_eval.records import Judgement


class UniREditBench(FilesBenchmark):
    """UniREditBench: 2,700 English instructions whose result has to be worked out, in the real world and in games.

    A sample's category is its `name`, its id consists of name and `idx`. The right result is given as a picture and a
    text. The rules of a game precede its instruction, for the edit model, too.
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:maplebb/UniREditBench"
        """Where it is on the hub; or the folder that holds the files, unpacked or still in their zip files."""

    names = ("data.json",)
    sizes = (2700,)
    protocol = "unireditbench"
    wanted = ("data.json", "*.zip")
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2511.01295; github and hub Maplebb/UniREditBench",
        "licence": "Apache-2.0 by the card of the data; none is given with the code",
        "samples": "2,700 of 18 kinds; English",
        "formula": "0.3 consistency + 0.5 reasoning + 0.2 plausibility, each 1 to 5; mean over the edits",
        "defects": "the authors' script keeps an error for ever, and leaves out what it cannot read",
    }

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source and a right edit."""
        there = {"source": row.get("original_image_path"), "reference": row.get("reference_image_path")}
        return {name: held for name, held in there.items() if held}

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row."""
        name, rules = row.text("name", required=True), row.text("rules")
        instruction = row.text("instruction", required=True)
        return Draft(
            f"{name}_{row.text('idx', required=True)}",
            f"{rules}\n{instruction}" if rules and instruction else instruction,
            name,
            {"asks": ["consistency", "reasoning_both", "plausibility"], "reference": row.text("reference_effect")},
            needed=("source", "reference"),
        )


class UniREditBenchScores(RISEBenchScores):
    """Asks three questions an edit, a whole number from 1 to 5 each: consistency, reasoning, plausibility.

    `score`, the headline, weights them 0.3, 0.5 and 0.2; `accuracy` is 1 for full marks in all three.

    `published` has the authors' numbers: a missing edit, or one with an unreadable reply, is left out of both; in a
    reply with several numbers the first counts.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="Maplebb/UniREditBench",
        commit="a7015c5c2d17aecb1a5af4af1b234c357d86cc7d",
        on="2026-11-24",
        sets=42,
        numbers=84,
    )

    official_file = AuthorsFile(
        "Maplebb/UniREditBench",
        "a7015c5c2d17aecb1a5af4af1b234c357d86cc7d",
        "eval/utils.py",
        "",
        "2823400b1cc083fcaa86aa37c35f0fa7dc8b8af520f3c1de045547896dd76870",
    )
    official: ClassVar[Mapping[str, Official]] = {
        "consistency": Official("prompt_consist", FINAL),
        "reasoning_both": Official("prompt_reasoning_w_ref_image", FINAL),
        "plausibility": Official("prompt_generation", FINAL),
    }
    headline = "score"
    scores: ClassVar[Mapping[str, Score]] = {
        **RISEBenchScores.scores,
        "score": Score(scale=SCALE, of=lambda sample, values: weigh_values(values)),
    }

    def _values(self, judgement: Judgement) -> Values | None:
        """Returns the first number of each reply; None if one has none."""
        by_name = self._numbers_of(judgement)
        return {name: some[0] for name, some in by_name.items()} if all(by_name.values()) else None

    def _accuracy(self, judgements: Sequence[Judgement]) -> float:
        return mean_of([full_marks(values) for values in self._readable(judgements)], UNREAD)

    def _score(self, judgements: Sequence[Judgement]) -> float:
        return mean_of([weigh_values(values) for values in self._readable(judgements)], UNREAD)

    def _readable(self, judgements: Sequence[Judgement]) -> list[Values]:
        return [
            values
            for judgement in require_final_judgements(judgements)
            if judgement.readings and (values := self._values(judgement))
        ]
