"""Battles of an earlier run that another one takes over: the copy in its folder, `stored/battles.json`.

Whoever adds an edit model to models that have met already asks only what is new (`protocols.pairwise.Stored`); the rest
of the table is what the earlier run came to. The copy keeps a run whole when the earlier one is gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.config.identity import digest
from edit_eval.errors import RunDirectoryError
from edit_eval.files.given import UnfitFile, read_json
from edit_eval.records import Judgement, Sample, Scoring
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.standing import MOST_BYTES, StandingRow, as_judgement, judged
from edit_eval.text import Text

FOLDER, FILE = "stored", "battles.json"


class StoredBattles(msgspec.Struct):
    """What a run has taken over from another."""

    run: str
    """The other run, as the configuration names it."""
    joined: dict[str, int]
    """For each edit model that joined others, in which turn."""
    battles: list[StandingRow]
    """By the names that judges have here."""

    @property
    def digest(self) -> str:
        """Digest of the battles and of who joined when."""
        return digest(msgspec.to_builtins([self.joined, self.battles]))


def stored_battles(run: str, joined: Mapping[str, int], battles: Sequence[Judgement]) -> StoredBattles:
    """Returns the battles in the form of the copy."""
    return StoredBattles(run, dict(joined), [msgspec.convert(judged(battle), StandingRow) for battle in battles])


def keep_stored(directory: RunDirectory, battles: StoredBattles) -> None:
    """Writes the copy, unless it is there."""
    text = json.dumps(msgspec.to_builtins(battles), ensure_ascii=False)
    place = directory.path / FOLDER / FILE
    if not place.is_file() or place.read_bytes() != text.encode("utf-8", "surrogatepass"):
        directory.write_stored(text, f"{FOLDER}/{FILE}")


def read_stored(
    run: Path, samples: Sequence[Sample], scoring: Mapping[str, Scoring]
) -> tuple[tuple[Judgement, ...], dict[str, int]]:
    """Returns the battles that a run has taken over, `made_in` the other run, and who joined when.

    Raises `RunDirectoryError` if the copy is damaged.
    """
    path = run / FOLDER / FILE
    categories = {sample.id: sample.category for sample in samples}
    try:
        stored = read_json(path, StoredBattles, MOST_BYTES)
        battles = tuple(
            replace(as_judgement(battle, categories, scoring[battle.judge]), made_in=stored.run, counts=False)
            for battle in stored.battles
        )
    except (UnfitFile, KeyError, ValueError) as error:
        why: Any = error.reason if isinstance(error, UnfitFile) else error
        raise RunDirectoryError(
            Text("{} is damaged ({}); delete it, and run the same command again", path, why)
        ) from error
    return battles, stored.joined
