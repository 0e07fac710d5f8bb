"""`edit-eval pairs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.pairs.copies import find_copies, pictures_of
from edit_eval.plugins.pairs.preference_pairs import PreferencePairs, find_preference_pairs
from edit_eval.plugins.pairs.sheet import pairs_sheet
from edit_eval.plugins.pairs.writing import write_pairs
from edit_eval.reporting.analyses import RUNS_AS_ONE, Analysis, RunRecords
from edit_eval.reporting.table import Sheet
from edit_eval.text import Text


class PairsAnalysis(Analysis[PreferencePairs]):
    """Preference pairs for training: two edits of one sample, the better one first.

    From runs with several edits of a sample: several edit models, seeds or rounds. Only where people voted, or where
    the margin is larger than the judge's own noise (`evaluation.repeats`, or its passport); never from a failure.
    `--to FOLDER` writes pictures, JSONL, Parquet and a card.
    """

    @dataclass(frozen=True)
    class Parameters:
        judges: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Judges whose preferences count. Default: all judges that score one edit."""
        agree: int = 1
        """How many families of judges must prefer the same edit."""
        per_sample: int = 1
        """Most pairs per sample: those with the largest margins."""
        margin: float = 0.0
        """Smallest margin between the two, in points."""
        leave_out: Path | None = field(default=None, metadata={"metavar": "RUN|FOLDER"})
        """Leave out samples whose source, or a near copy, is in this run or folder of pictures."""

    title = Text("Preference pairs")
    document: ClassVar[type[PreferencePairs]] = PreferencePairs
    sources = RUNS_AS_ONE

    def compute(self, records: RunRecords, parameters: Parameters) -> PreferencePairs:
        """Raises `ConfigurationError` for unknown judges, and if nobody's preference can be told from noise."""
        for name in ("agree", "per_sample"):
            if getattr(parameters, name) < 1:
                flag = f"--{name.replace('_', '-')}"
                raise ConfigurationError(Text("{} {}: must be at least 1", flag, getattr(parameters, name)))
        results = replace(records.results, samples=with_known_sources(records.results.samples))
        away = parameters.leave_out
        return find_preference_pairs(
            results,
            records.votes.to_votes(results.samples),
            judges=[name.strip() for name in (parameters.judges or "").split(",") if name.strip()],
            agree=parameters.agree,
            per_sample=parameters.per_sample,
            margin=parameters.margin,
            left_out=() if away is None else find_copies(results.samples, _pictures_of(Path(away))),
        )

    def sheet(self, document: PreferencePairs) -> Sheet:
        return pairs_sheet(document)

    def write(self, document: PreferencePairs, records: RunRecords, folder: Path) -> None:
        """Raises `ConfigurationError` if a picture is gone, or the folder cannot be written."""
        write_pairs(document, Path(records.results.directory), folder)

    def rows(self, document: PreferencePairs) -> Sequence[JsonObject]:
        return [
            {
                "sample": pair.sample,
                "chosen_model": pair.chosen.edit_model,
                "chosen_seed": pair.chosen.edit_seed,
                "chosen": pair.chosen.image,
                "rejected_model": pair.rejected.edit_model,
                "rejected_seed": pair.rejected.edit_seed,
                "rejected": pair.rejected.image,
                "margin": pair.margin,
                "by": " ".join(pair.by),
            }
            for pair in document.pairs
        ]


def _pictures_of(place: Path) -> list[Path]:
    from edit_eval.run import Run  # only this option reads another run

    if (place / "config").is_dir():
        return [Path(sample.source) for sample in with_known_sources(Run(place).results.samples) if sample.source]
    if not place.is_dir():
        raise ConfigurationError(Text("--leave-out {}: there is no such folder", place))
    return pictures_of(place)
