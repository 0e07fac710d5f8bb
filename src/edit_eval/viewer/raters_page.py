"""A page on which people vote without a server: all pairs and pictures in one file, and nothing of who made what."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.new_files import refuse_existing, written_whole
from edit_eval.records import Sample
from edit_eval.reporting.page.files import SIDE, in_limits
from edit_eval.reporting.page.gallery import thumbnails
from edit_eval.small_copies import CopyLimits
from edit_eval.store.votes import PAGES, AskedPair, Ballot, VoteLine, read_asked, read_votes
from edit_eval.text import Text
from edit_eval.viewer.following import Following
from edit_eval.viewer.pages import plain_page
from edit_eval.viewer.pairs import PairDraw, SidedPair, asked_pair, disputed, item_of

PAIRS = 100
"""In a page, where nobody says otherwise."""
_SCRIPTS = ("ballot.js", "raters.js")


def write_raters_page(run: Path, target: Path, *, pairs: int = PAIRS, side: int = SIDE, force: bool = False) -> int:
    """Writes the page to `target`; returns how many pairs are in it: `pairs`, or all that are left.

    What its tickets stand for is kept in the run (`votes/pages/`), and is not in the page. Pairs that are in an earlier
    page come again only as those that several raters are to see. A file that is there is replaced with `force` alone.
    Raises `ConfigurationError` where the page cannot be written or nothing can be asked, `RunDirectoryError` for a run
    that cannot be read.
    """
    in_limits(side)
    if pairs < 1:
        raise ConfigurationError(Text("--pairs {}: must be 1 or more", pairs))
    if target.suffix.lower() not in (".html", ".htm"):
        raise ConfigurationError(Text("{}: name a file that ends in .html", target))
    refuse_existing(target, force=force)
    following = Following(run)
    matrix = following.matrix
    if matrix is None:
        raise RunDirectoryError(following.fault)
    if len(matrix.edit_models) < 2:
        raise ConfigurationError(Text("{} has one edit model; a vote is between two", run))
    drawn = _drawn(following, pairs)
    if not drawn:
        raise ConfigurationError(Text("{}: no pair of edits is left to ask about", run))
    page = secrets.token_hex(8)
    lines = [asked_pair(secrets.token_hex(12), pair, page) for pair in drawn]
    samples = {
        one.id: one
        for one in with_known_sources(matrix.samples[following.samples[i]] for i in {p.sample for p in drawn})
    }
    shown = _Shown(run)
    tasks = [_task(shown, line, pair, samples[pair.sample]) for line, pair in zip(lines, drawn, strict=True)]
    language = matrix.experiment.language
    title = Text("Which edit is better?")
    html = plain_page(title, _SCRIPTS, {"page": page, "pairs": tasks}, language=language, served=False)
    with written_whole(target) as temporary:
        _write(temporary, html, shown.paths, CopyLimits(side, 4 * side * side))
        ballot = Ballot(run, PAGES)
        ballot.add(*lines)
        ballot.close()
    return len(drawn)


def _drawn(following: Following, count: int) -> list[SidedPair]:
    assert following.matrix is not None
    votes = read_votes(following.path, following.matrix.edits)
    before = read_asked(following.path)
    counted = votes.counted(following.matrix.samples)
    draw = PairDraw(following, counted, np.random.default_rng(), disputed(following))
    draw.planned(line for line in before if line.ticket not in votes.tickets)
    others: list[AskedPair | VoteLine] = [*votes.lines, *before]
    first = {item_of(line) for line in others}
    found: dict[Any, SidedPair] = {}
    while len(found) < count:
        # What others have seen comes only as shared; when nothing else is left, so does the rest of it.
        pair = draw.next(found.keys(), others, avoid=first) or draw.next(found.keys(), ())
        if pair is None:
            break
        found[pair.item] = pair
    return list(found.values())


class _Shown:
    """The pictures of a page, in the order in which they are shown first."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._places: dict[Path, int] = {}

    @property
    def paths(self) -> Sequence[Path]:
        return list(self._places)

    def place(self, path: Path) -> int:
        return self._places.setdefault(path, len(self._places))

    def of_edit(self, image: str) -> int:
        return self.place(self._run / image)


def _task(shown: _Shown, line: AskedPair, pair: SidedPair, sample: Sample) -> dict[str, Any]:
    source = sample.pictures.get("source")
    return {
        "ticket": line.ticket,
        "instruction": sample.instruction,
        "language": sample.language,
        "source": shown.place(Path(source.path)) if source and source.path else None,
        "left": shown.of_edit(pair.left.image),
        "right": shown.of_edit(pair.right.image),
    }


def _write(file: Path, html: str, paths: Sequence[Path], size: CopyLimits) -> None:
    above, below = html.split('<script type="application/json"')  # what comes from records has no "<"
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
        out.write(above)
        out.writelines(_elements(paths, size))
        out.write('<script type="application/json"' + below)


def _elements(paths: Sequence[Path], size: CopyLimits) -> Iterator[str]:
    for place, made in enumerate(thumbnails(paths, size)):
        yield f'<script type="text/plain" id="picture-{place}">{made or ""}</script>\n'
