"""Which of our names is which of theirs: one to one in both directions, whatever the order of either.

Both sides may be called by more than one name: in full, without the ending, without folders above. The fuller name
counts: two belong together if each is, by the names that lose least, the only one that fits the other. A name that two
share, on either side, fits neither.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from edit_eval.text import Text

Ours = TypeVar("Ours", bound=Hashable)
Theirs = TypeVar("Theirs", bound=Hashable)

Names = Mapping[str, int]
"""What something may be called, with how much of its full name that loses."""
_SEARCHED = 5000  # names among which a near miss is looked for by likeness, which takes a millisecond per thousand
_MOST_SEARCHED = 20  # for so many names
_NEAR = 0.75
_ENDING = re.compile(r"\.[^\W\d]\w{1,4}$")
_WORD = re.compile(r"\d+|[^\W\d_]+")
_MOST_WORDS = 12


@dataclass(frozen=True)
class Matching(Generic[Ours, Theirs]):
    """What belongs together, and what does not."""

    pairs: Mapping[Ours, Theirs]
    rivals: Mapping[Ours, tuple[tuple[Ours, ...], tuple[Theirs, ...]]] = field(default_factory=dict)
    """Of ours that fit more than one, or are not alone in fitting: who else of ours claims it, and which of theirs."""
    left: tuple[Theirs, ...] = ()
    """Those of theirs that belong to none, in order."""

    def describe_unmatched(self, ours: Iterable[Ours]) -> list[str]:
        """Returns what of theirs belongs to none, with what may be meant of `ours`; more than three are dots."""
        free = [str(name) for name in ours if name not in self.pairs]
        meant = ((str(name), near(str(name), free)) for name in self.left[:3])
        said = [Text("{} (did you mean {}?)", name, likely) if likely else name for name, likely in meant]
        return said + ["..."] * (len(self.left) > 3)

    def why_not(self, ours: Ours) -> str:
        """Returns why one of ours has no partner; empty if nothing of theirs fits it."""
        others, theirs = self.rivals.get(ours, ((), ()))
        if len(theirs) > 1:
            return Text("{} and {} are both called so", *theirs[:2])
        if others:
            return Text("{} is claimed by {} and {}", theirs[0], *sorted(map(str, (ours, *others)))[:2])
        return ""


def match(ours: Mapping[Ours, Names], theirs: Mapping[Theirs, Names]) -> Matching[Ours, Theirs]:
    """Returns which of ours is which of theirs."""
    fits, fitted = _best(ours, theirs), _best(theirs, ours)
    pairs = {mine: its[0] for mine, its in fits.items() if len(its) == 1 and fitted[its[0]] == [mine]}
    taken = set(pairs.values())
    rivals = {
        mine: (tuple(other for other in fitted[its[0]] if other != mine), tuple(its))
        for mine, its in fits.items()
        if mine not in pairs
    }
    return Matching(pairs, rivals, tuple(name for name in theirs if name not in taken))


def _best(some: Mapping[Ours, Names], others: Mapping[Theirs, Names]) -> dict[Ours, list[Theirs]]:
    """Returns for each of some which of the others fits it best: two of them if there are two or more."""
    by_name: dict[str, list[tuple[int, Theirs]]] = {}
    for other, names in others.items():
        for name, lost in names.items():
            by_name.setdefault(name, []).append((lost, other))
    for fitting in by_name.values():  # to be one of several, two are enough
        fitting.sort(key=lambda one: (one[0], str(one[1])))
        del fitting[2:]
    best: dict[Ours, list[Theirs]] = {}
    for one, names in some.items():
        found: dict[Theirs, int] = {}
        for name, lost in names.items():
            for more, other in by_name.get(name, ()):
                found[other] = min(lost + more, found.get(other, lost + more))
        if found:
            least = min(found.values())
            best[one] = sorted((other for other, lost in found.items() if lost == least), key=str)[:2]
    return best


def whole(names: Iterable[str]) -> dict[str, Names]:
    """Returns names that nothing can be left out of: they fit their like alone."""
    return {name: {normalise_name(name): 0} for name in names}


def names_of_path(path: str, endings: Collection[str]) -> Names:
    """Returns what a picture may be called whose name, or whose sample's id, is a path.

    In full; without its ending, if that is one of `endings`; then without the folders above, one after the other. A
    path that leads upwards has only its full name.
    """
    composed_path = normalise_name(path)
    parts = PurePosixPath(composed_path.replace("\\", "/")).parts
    names = {composed_path: 0}
    if not parts or ".." in parts or "\0" in composed_path:
        return names
    last = PurePosixPath(parts[-1])
    stems = [parts[-1], *([last.stem] if last.suffix.lower() in endings else [])]
    for dropped in range(len(parts)):
        folders = parts[dropped:-1]
        for ending, stem in enumerate(stems):
            names.setdefault("/".join((*folders, stem)), 2 * dropped + ending)
    return names


def likely(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Returns which of theirs each of ours may mean, as far as one is like it; no two mean the same.

    Alike are names that differ in capitals, marks, zeros in front, endings or folders, or by words more in theirs;
    then, for the first of ours, those of the same numbers and few other letters.
    """
    names, left = list(ours), list(theirs)
    found = match({name: {_plain(name): 0} for name in names}, {name: _plain_parts(name) for name in left})
    meant = dict(found.pairs)
    for name in [name for name in names if name not in meant and name not in found.rivals][:_MOST_SEARCHED]:
        free = {_plain(other): other for other in found.left if other not in meant.values()}
        alike = [plain for plain in free if _numbers(plain) == _numbers(name)] if len(free) < _SEARCHED else []
        meant.update((name, free[plain]) for plain in difflib.get_close_matches(_plain(name), alike, 1, _NEAR))
    return meant


def near(name: str, there: Iterable[str]) -> str:
    """Returns which of these names may be meant (`likely`); empty if none is like it."""
    return likely([name], there).get(name, "")


def normalise_name(name: str) -> str:
    """Returns a name in Unicode's composed form: macOS writes the decomposed one."""
    return unicodedata.normalize("NFC", name)


def _plain(name: str) -> str:
    """Returns a name's words and numbers, without folders, ending, marks, capitals and zeros in front."""
    stem = _ENDING.sub("", PurePosixPath(normalise_name(name).replace("\\", "/")).name)
    return " ".join(word.lstrip("0") or "0" for word in _WORD.findall(stem.casefold())) or name


def _plain_parts(name: str) -> Names:
    """Returns the same with fewer of the words, at the beginning or the end."""
    words = _plain(name).split()[:_MOST_WORDS]
    places = range(len(words) + 1)
    return {" ".join(words[a:b]): len(words) - (b - a) for a in places for b in places[a + 1 :]}


def _numbers(name: str) -> list[str]:
    return [word for word in _plain(name).split() if word.isdigit()]
