"""`magicbrush`: MagicBrush (OSU-NLP-Group/MagicBrush, arXiv 2306.10012), edits in turns, each with a right edit.

Facts: osunlp/MagicBrush on the hub: Parquet of train and dev (columns; dev has 528 turns in 266 sessions), and the test
set as a zip with a password (edit_sessions.json, local_captions.json, images/; 1,053 turns in 535 sessions);
OSU-NLP-Group/MagicBrush@fcfc892, evaluation/image_eval.py (what is compared, names of files, means) and
edit_cli_single_multi_turn.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.json_items import KEY, PLACE
from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.benchmarks.plain_files import PlainFiles, folder_of
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Held, Row, RowBenchmark
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.criteria import AuthorsNumbers, make_stop, mean_of, require_final_judgements
from edit_eval.protocols.certificates import Certificate
from edit_eval.protocols.contract import Question, Score
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Judgement, Reading, Reply, Sample, Status
from edit_eval.text import Text

FINAL, EARLIER = "final turn", "earlier turn"
"""The categories if turns build on one another: the authors compare only the last of a session."""
_COLUMNS = ("img_id", "turn_index", "instruction", "source_img", "target_img")
_CAPTIONS = "local_captions.json"
NAMES = {"l1_bicubic": "L1", "l2_bicubic": "L2", "image_similarity": "CLIP-I or DINO", "text_similarity": "CLIP-T"}
"""A judge's measure -> the authors' name."""
OF_EARLIER = "earlier_"
"""Prefix of the scores of earlier turns, if turns build on one another."""


class MagicBrush(FilesBenchmark):
    """MagicBrush: English instructions for photographs, up to three turns in a row, measured against right edits.

    `turns: final`: each turn's source is the edit of the previous turn, and the category marks the last turn of a
    session. `turns: all`: each turn's source is the right edit of the previous turn. A sample's id consists of session
    and turn. No judge is asked: see the protocol `magicbrush`.
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:osunlp/MagicBrush"
        """Where dev is on the hub; or Parquet files of dev or train, or the folder of the unpacked test set."""
        turns: Literal["final", "all"] = "final"
        """The authors' two settings: multi-turn (final turn), and single-turn (all turns)."""
        captions_path: str | None = None
        """What the right edits show, for CLIP-T: the authors' `local_captions.json`; None: that in `data_path`."""

    names = ("edit_sessions.json",)
    sizes = (528, 1053, 8807)
    protocol = "magicbrush"
    wanted = ("data/dev-*.parquet",)
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2306.10012; hub osunlp/MagicBrush (train, dev), the test set as a zip with a password",
        "licence": "CC-BY-4.0; the test set must not be handed on unpacked",
        "samples": "test 1,053 turns in 535 sessions, dev 528 in 266, train 8,807 in 4,512; English",
        "formula": "L1, L2, CLIP-I, DINO against the right edit, CLIP-T against its caption; mean over the turns",
        "defects": "the authors' script stops where one turn of one session is missing",
    }

    def files(self) -> list[Path]:
        """Returns the Parquet files if there are any, else the JSON and the files beside it."""
        links = self.parameters.allow_links
        there = PlainFiles(self.path, links).walk() if self.path.is_dir() else [self.path]
        has_parquet = any(file.suffix == ".parquet" for file in there)
        self._parquet = parquet_files(str(self.path), allow_links=links) if has_parquet else []
        return self._parquet or super().files()

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields one row per turn, with `img_id`, `turn_index` and `instruction`."""
        if not self._parquet:
            for row in super().rows():
                yield {"img_id": row[KEY], "turn_index": row.get(PLACE), **row}
            return
        read = ParquetRows(self._parquet, _COLUMNS)
        for row in read.rows():
            self.share = read.share
            yield row

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source, which is the right edit of the previous turn, and the right edit."""
        if self._parquet:
            held = {"source": row["source_img"], "reference": row["target_img"]}
        else:
            held = {"source": row.get("input"), "reference": row.get("output")}
            held = {
                name: f"{row['img_id']}/{picture}" if isinstance(picture, str) else picture
                for name, picture in held.items()
            }
        return {name: picture for name, picture in held.items() if picture}

    def picture(self, name: str, held: Any) -> Held:
        """Returns a picture from the bytes in a Parquet file, or from a file."""
        return RowBenchmark.picture(self, name, held) if self._parquet else super().picture(name, held)

    def samples(self) -> Iterator[Sample]:
        """Like `RowBenchmark`, but if turns build on one another, all rows are read before the first sample."""
        if self.parameters.turns == "all":
            yield from super().samples()
            return
        samples = list(super().samples())
        followed = {sample.follows for sample in samples}
        for sample in samples:
            yield sample if sample.id in followed else replace(sample, category=FINAL)

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row."""
        session, turn = row.text("img_id", required=True), row.values.get("turn_index")
        if type(turn) is not int or turn < 1:
            row.faults.append(Text("turn_index is {!r}, not a whole number from 1", turn))
            turn = 1
        caption = self._captions.get(session, {}).get(f"{session}-output{turn}.png", "")
        instruction, facts = row.text("instruction", required=True), {"target_caption": caption} if caption else {}
        named = f"{session}_{turn}"
        if self.parameters.turns == "all":
            return Draft(named, instruction, f"turn {turn}", facts, needed=("source", "reference"))
        before = f"{session}_{turn - 1}" if turn > 1 else ""
        return Draft(named, instruction, EARLIER, facts, follows=before, needed=("reference",))

    @cached_property
    def _captions(self) -> Mapping[str, Mapping[str, str]]:
        """Returns session -> file of a right edit -> its caption."""
        named = self.parameters.captions_path
        file = Path(named).expanduser() if named else self.path / _CAPTIONS
        if not named and not file.is_file():
            return {}
        files = folder_of(file) if named else PlainFiles(self.path, self.parameters.allow_links)
        try:
            captions = json.loads(files.read(file, file.name))
        except LookupError as error:
            raise ConfigurationError(Text("benchmark.captions_path: {}", error.args[0])) from None
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(Text("benchmark.captions_path: {} cannot be read ({})", file, error)) from None
        whole = isinstance(captions, dict) and all(isinstance(session, dict) for session in captions.values())
        if not whole:
            raise ConfigurationError(Text("benchmark.captions_path: {} is not session -> file -> caption", file))
        return dict(captions)


class MagicBrushScores(Numbers):
    """What a judge measured, each value a score of its own, as in `numbers`.

    If turns build on one another, the authors compare only the last ones, and so does each of these scores; those of
    earlier turns are `earlier_...` beside them. `published` has the authors' means. Their script stops at a missing
    picture: then there is no such number. L1 and L2 need `picture_metrics: {bicubic: true}`; the encoder of
    `embedding_metrics` decides between CLIP-I and DINO.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="OSU-NLP-Group/MagicBrush",
        commit="fcfc8921396b5e2b047c388028b7c995f5e0ee19",
        on="2026-11-24",
        sets=12,
        numbers=24,
        beside=Text("L1 and L2; CLIP-I, DINO and CLIP-T have the same mean, but their models were not run"),
        without=("CLIP-I or DINO", "CLIP-T"),
    )

    def __init__(self, parameters: Numbers.Parameters) -> None:
        super().__init__(parameters)
        self.published: AuthorsNumbers = {
            name: partial(_mean, measure) for measure, name in NAMES.items() if measure in self.scores
        }
        earlier = [f"{OF_EARLIER}{name}" for name in self.scores]
        self.scores |= {
            name: Score(scale=score.scale, needs=(name,))
            for name, score in zip(earlier, self.scores.values(), strict=True)
        }

    def counts(self, sample: Sample) -> bool:
        """True if no turn follows this one."""
        return sample.category != EARLIER

    def questions(self, sample: Sample) -> list[Question]:
        """Like `numbers`; an earlier turn has the same questions under other names."""
        asked = super().questions(sample)
        if self.counts(sample):
            return asked
        return [replace(question, gives=tuple(f"{OF_EARLIER}{name}" for name in question.gives)) for question in asked]

    def read(self, question: Question, reply: Reply) -> Reading:
        """Like `numbers`."""
        plain = replace(question, gives=tuple(name.removeprefix(OF_EARLIER) for name in question.gives))
        reading = super().read(plain, reply)
        if plain.gives == question.gives:
            return reading
        return replace(reading, values={f"{OF_EARLIER}{name}": value for name, value in reading.values.items()})


def _mean(measure: str, judgements: Sequence[Judgement]) -> float:
    counted = [judgement for judgement in require_final_judgements(judgements) if judgement.category != EARLIER]
    numbers = []
    for judgement in counted:
        status, reason = judgement.outcome(measure) or (Status.UNDEFINED, "its benchmark does not have what that needs")
        if status is not Status.OK:
            raise make_stop(judgement, reason, status)
        numbers.append(judgement.scores[measure])
    return mean_of(numbers)
