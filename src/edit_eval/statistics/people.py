"""People's answers about edits: ratings of one, votes between two. Read from a file, or from VIEScore's tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from edit_eval.errors import ConfigurationError
from edit_eval.files.delimited import BadCsv, csv_rows, read_named_rows
from edit_eval.files.matching import match, normalise_name, whole
from edit_eval.files.user_cache import cache_folder
from edit_eval.files.user_files import number, open_text, whole_number
from edit_eval.statistics.votes import CHOICES, Rating, Vote, ratings_of
from edit_eval.text import Text

VIE = "vie"
VIE_SCORES = ("SC", "PQ", "O")
"""The two scores in a cell of VIEScore's tables, and the third that its authors derive: the root of their product."""


_MORE = ("rater", "edit_seed", "score_name", "weight")
"""Columns that a table of answers may have besides."""
PeoplesAnswers = Sequence[Rating | Vote]
Answer = TypeVar("Answer", bound=Rating | Vote)
_SAMPLES, _MODELS = ("sample_id",), ("edit_model", "left", "right")


def match_names(
    answers: Sequence[Answer], ids: Collection[str], edit_models: Collection[str]
) -> tuple[list[Answer], list[str]]:
    """Returns the answers with the names that samples and edit models have here, and those that nobody has here."""
    changed: list[dict[str, Any]] = [{} for _ in answers]
    left: list[str] = []
    for ours, fields in ((ids, _SAMPLES), (edit_models, _MODELS)):
        said = [{of: normalise_name(getattr(answer, of)) for of in fields if hasattr(answer, of)} for answer in answers]
        found = match(whole(ours), whole(dict.fromkeys(name for names in said for name in names.values())))
        here = {theirs: mine for mine, theirs in found.pairs.items()}
        left += found.describe_unmatched(ours)
        for of, names in zip(changed, said, strict=True):
            of |= {name: here.get(value, value) for name, value in names.items()}
    return [replace(answer, **of) for answer, of in zip(answers, changed, strict=True)], left


def read_people(path: Path) -> list[Rating]:
    """Reads people's ratings of edits (`read_answers`); from votes, each edit's share of those it could have won."""
    answers = read_answers(path)
    votes = [answer for answer in answers if isinstance(answer, Vote)]
    return [*(answer for answer in answers if isinstance(answer, Rating)), *ratings_of(votes)]


def read_answers(path: Path) -> list[Rating] | list[Vote]:
    """Reads the scores or votes in a CSV file (`read_people_scores`, `read_people_votes`), or VIEScore's folder.

    `vie` is such a folder in the user's cache. Raises `ConfigurationError` for anything else.
    """
    if path == Path(VIE) and not path.exists():
        path = cache_folder() / "people" / VIE
        if not path.is_dir():
            raise ConfigurationError(
                Text(
                    "--people vie: {} does not exist; put VIEScore's tables there "
                    "(TIGER-AI-Lab/VIEScore on GitHub, MIT: Text-Guided_IE_rater1.tsv, 2 and 3), or "
                    "name the folder that has them",
                    path,
                )
            )
    return read_vie_tables(path) if path.is_dir() else read_people_file(path)


def read_people_file(path: Path) -> list[Rating] | list[Vote]:
    """Reads a CSV file: votes if its first line names `choice`, else scores.

    Raises `ConfigurationError` also for a file that is missing or no CSV in UTF-8.
    """
    lines = list(open_text(path))
    try:
        _, first = next(csv_rows(lines), (0, list[str]()))
    except BadCsv as error:
        raise ConfigurationError(Text("{}: is not a CSV file ({})", path, error)) from error
    votes = "choice" in [name.strip().lower() for name in first]
    return read_people_votes(lines, str(path)) if votes else read_people_scores(lines, str(path))


def read_people_scores(lines: Iterable[str], where: str = Text("the people's scores")) -> list[Rating]:
    """Reads CSV with `sample_id`, `edit_model`, `score`, and optionally `rater`, `edit_seed`, `score_name`, `weight`.

    `where` names the file in errors. Raises `ConfigurationError` for a missing column, a score that is not a
    finite number, a weight that is not above 0, and a second score of the same name for the same edit by the same
    rater.
    """
    ratings: dict[Rating, Rating] = {}
    for line, row in read_named_rows(lines, where, ("sample_id", "edit_model", "score"), _MORE):
        place = Text("{}, line {}", where, line)
        try:
            score = number(row["score"])
        except ValueError:
            raise ConfigurationError(
                Text("{}: the score {!r} is not a finite number such as 7.5", place, row["score"])
            ) from None
        entry = Rating(
            sample_id=row["sample_id"],
            edit_model=row["edit_model"],
            score=score,
            rater=row.get("rater", ""),
            edit_seed=_edit_seed(row, place),
            score_name=row.get("score_name", ""),
            weight=_weight(row, place),
        )
        key = replace(entry, score=0.0, weight=1.0)
        if key in ratings:
            kind = Text("score {!r}", entry.score_name) if entry.score_name else Text("score")
            raise ConfigurationError(
                Text(
                    "{}: a second {} for sample {!r} of {!r} by {!r}",
                    place,
                    kind,
                    entry.sample_id,
                    entry.edit_model,
                    entry.rater or "the same person",
                )
            )
        ratings[key] = entry
    return list(ratings.values())


def read_people_votes(lines: Iterable[str], where: str = Text("the people's votes")) -> list[Vote]:
    """Reads CSV as written by `vote export --votes`: with `sample_id`, `left`, `right`, `choice` (one of `CHOICES`).

    Optionally `rater`, `edit_seed`, `weight`. Raises `ConfigurationError` for a missing column, an unknown choice, a
    weight that is not above 0, and a model against itself.
    """
    votes = []
    for line, row in read_named_rows(lines, where, ("sample_id", "left", "right", "choice"), _MORE):
        place = Text("{}, line {}", where, line)
        choice, left, right = row["choice"].lower(), row["left"], row["right"]
        if choice not in CHOICES:
            raise ConfigurationError(Text("{}: {!r} is no choice; there are: {}", place, row["choice"], CHOICES))
        if left == right:
            raise ConfigurationError(Text("{}: `left` and `right` are both {!r}; name two edit models", place, left))
        edit_seed, weight = _edit_seed(row, place), _weight(row, place)
        votes.append(Vote(row["sample_id"], left, right, choice, row.get("rater", ""), edit_seed, weight=weight))
    return votes


def _edit_seed(row: Mapping[str, str], place: str) -> int:
    written = row.get("edit_seed") or "0"
    with suppress(ValueError):
        return whole_number(written)
    raise ConfigurationError(Text("{}: the edit seed {!r} is not a whole number", place, written))


def _weight(row: Mapping[str, str], place: str) -> float:
    written = row.get("weight") or "1"
    with suppress(ValueError):
        if (weight := number(written)) > 0:
            return weight
    raise ConfigurationError(Text("{}: the weight {!r} is not a number above 0", place, written))


def read_vie_tables(folder: Path) -> list[Rating]:
    """Reads `*_raterN.tsv` of a folder, or of its folder `human`: a row per item, a column per editor, `[SC, PQ]` each.

    This is the format of VIEScore's ratings (TIGER-AI-Lab, arXiv 2312.14867). Each cell gives `SC`, `PQ` and
    `O`, the root of their product; a sample's id is the item's name without `.jpg`. Raises `ConfigurationError` for a
    folder without such tables, and for a cell that is not a pair of numbers.
    """
    tables = sorted(folder.glob("*_rater*.tsv")) or sorted((folder / "human").glob("*_rater*.tsv"))
    if not tables:
        raise ConfigurationError(
            Text(
                "{}: has no tables named *_rater1.tsv, neither itself nor in human/; give a CSV file "
                "or VIEScore's folder of people's scores",
                folder,
            )
        )
    return [score for path in tables for score in _vie_table(path)]


def _vie_table(path: Path) -> Iterable[Rating]:
    rater = path.stem.rpartition("_")[2]
    for line, cells in read_named_rows(open_text(path), str(path), (), ("uid",)):
        item = cells.pop("uid", "").removesuffix(".jpg")
        for editor, cell in cells.items():
            try:
                semantics, quality = _vie_pair(cell)
                together = math.sqrt(semantics * quality)
            except ValueError:
                raise ConfigurationError(
                    Text("{}, line {}: {} has {!r}, not a pair of numbers such as [0.5, 1]", path, line, editor, cell)
                ) from None
            for name, score in zip(VIE_SCORES, (semantics, quality, together), strict=True):
                yield Rating(item, editor, score, rater, score_name=name)


def _vie_pair(cell: str) -> tuple[float, float]:
    semantics, quality = map(number, cell.strip().removeprefix("[").removesuffix("]").split(","))
    return semantics, quality
