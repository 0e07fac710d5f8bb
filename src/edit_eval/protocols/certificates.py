"""Which authors' numbers are certified: held against what the authors' own scripts make of the same replies.

The replies are of every kind: clean, in prose, out of range, halves, cut off, empty, `null`, with other names and
capitals, asked several times, missing, with missing edits and subsets. A protocol has its own as `certificate`. For
ours, `tests/plugins/published/conformance` has the sets with the authors' numbers, and makes them anew from their
files.

A number is the authors' if the judge is asked in their words (`prompts: official`) and its replies are read as they
read them. In other words it has their formula only, and is called so.

Their sums are `add_in_order`, and where they round on the way a certificate says so: `sum` of Python makes up for what
each step loses since 3.12, and a mean may then fall to the other side. Ours are `math.fsum`, the same in every Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from edit_eval.json_values import JsonObject
from edit_eval.text import Text


@dataclass(frozen=True)
class Certificate:
    """What a protocol's numbers were held against; written with keywords and literals, since `list` imports nothing."""

    repository: str
    """On GitHub."""
    commit: str
    on: str
    """The day, `2026-11-24`."""
    sets: int
    """Sets of edits with replies."""
    numbers: int
    """Numbers over these, those included that do not exist because a script stops or guesses."""
    beside: str = ""
    """What differs on purpose, or is not covered."""
    without: tuple[str, ...] = ()
    """Names of numbers that are not certified."""

    @property
    def words(self) -> Text:
        """Says what was certified, without what differs."""
        about = (self.numbers, self.sets, self.repository, self.commit[:7], self.on)
        return Text("certified on {} numbers of {} sets of replies, by {}@{} on {}", *about)

    @property
    def full_words(self) -> Text:
        """Says what was certified, and what differs."""
        return Text("{} ({})", self.words, self.beside) if self.beside else self.words


def add_in_order(numbers: Iterable[float]) -> float:
    """Returns the sum from left to right, rounded at each step: `sum` as it was where the authors' scripts ran."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def find_certificate(protocol: Any) -> Certificate | None:
    """Returns the certificate of a protocol's very class: one that is made of it asks or reads in another way."""
    certificate = vars(type(protocol)).get("certificate")
    return certificate if isinstance(certificate, Certificate) else None


def certificate_of(protocol: Any) -> JsonObject:
    """Returns what may be said of the authors' numbers of a judge's protocol, as plain data.

    `certified`; if it is, the fields of its `Certificate`; else `why` not.
    """
    certificate = find_certificate(protocol)
    if certificate is None:
        return {"certified": False, "why": Text("it was not checked against a script of its authors")}
    if not getattr(protocol, "is_official", True):
        return {"certified": False, "why": Text("the judge was not asked in the authors' words (`prompts: official`)")}
    if unlike := getattr(protocol, "unlike_theirs", ""):
        return {"certified": False, "why": unlike}
    return {"certified": True, **vars(certificate)}


def certificate_of_points(arena: str, protocol: str, certificate: Mapping[str, object] | None) -> Mapping[str, object]:
    """Returns what may be said of the points of an arena (`geditbench_v2`, `genarena`) from a judge's preferences.

    Preferences by any protocol can be rated by its formula. `certificate` is that of the judge, if it has one.
    """
    if protocol == arena and certificate is not None:
        return certificate
    return {"certified": False, "why": Text("the judge was asked by the protocol `{}`", protocol)}


def is_certified(of: Mapping[str, Any], number: str) -> bool:
    """True if a number of this name is, by what `certificate_of` returns."""
    return bool(of.get("certified")) and number not in of.get("without", ())


def certificate_sentence(of: Mapping[str, Any]) -> Text:
    """Returns what `certificate_of` says, in words."""
    if not of["certified"]:
        return Text("not certified: {}", of["why"])
    return Certificate(**{name: value for name, value in of.items() if name != "certified"}).full_words
