"""Which authors' numbers are certified: held against what the authors' own scripts make of the same replies.

The replies are of every kind: clean, in prose, out of range, halves, cut off, empty, `null`, with other names and
capitals, asked several times, missing, with missing edits and subsets. `tests/published/conformance` has the sets with
the authors' numbers, and makes them anew from their files; a test holds this table against them.

A number is the authors' if the judge is asked in their words (`prompts: official`) and its replies are read as they
read them. In other words it has their formula only, and is called so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edit_eval.text import Text


@dataclass(frozen=True)
class Certificate:
    """What a protocol's numbers were held against."""

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
    def in_full(self) -> Text:
        """Says what was certified, and what differs."""
        return Text("{} ({})", self.words, self.beside) if self.beside else self.words


_DAY, _LATER = "2026-11-24", "2026-11-28"
CERTIFICATES: Mapping[str, Certificate] = {
    "genarena": Certificate(
        "ruihanglix/genarena",
        "dd09b86b6fb4801b5fab5d16c23ae9745f510534",
        _DAY,
        31,
        124,
        Text(
            "their search run to its end, where they stop after 100 steps; none where an answer that cannot be read "
            "here may be one to them"
        ),
    ),
    "geditbench_v2": Certificate(
        "ZhangqiJiang07/GEditBench_v2",
        "82bc00ed59963b597dea0b9162bdd9e38fc8fbe6",
        _DAY,
        31,
        124,
        Text("before they round to whole points; none where an answer that cannot be read here may be one to them"),
    ),
    "imgedit": Certificate("PKU-YuanGroup/ImgEdit", "547185d12c08267a862b94248576e1746e479937", _DAY, 42, 42),
    "kris": Certificate(
        "ByteDance-Seed/Bagel",
        "056b5fd51a88c1eb4547318609e25d40080fcf87",
        _DAY,
        63,
        252,
        Text(
            "by the edition of the scripts in that repository; the benchmark's own has no means; they make frames of a "
            "sequence JPEG, which is not done here"
        ),
    ),
    "magicbrush": Certificate(
        "OSU-NLP-Group/MagicBrush",
        "fcfc8921396b5e2b047c388028b7c995f5e0ee19",
        _DAY,
        12,
        24,
        Text("L1 and L2; CLIP-I, DINO and CLIP-T have the same mean, but their models were not run"),
        without=("CLIP-I or DINO", "CLIP-T"),
    ),
    "msebench": Certificate(
        "ByteDance-Seed/VINCIE",
        "30fcf3694c246494bf51093ec12c35d9e255c855",
        _DAY,
        64,
        640,
        Text("they scale the source bicubically, which is done by Lanczos' filter here"),
    ),
    "omnicontext": Certificate(
        "VectorSpaceLab/OmniGen2",
        "0f72fa92564d9f8ba76f53fcc3c05aca2372458f",
        _LATER,
        155,
        465,
        Text(
            "they ask three times and keep the last reply, as `evaluation.repeats: 3` does; they scale large sources "
            "down and make pictures JPEG, which is not done here"
        ),
    ),
    "picabench": Certificate(
        "Andrew0613/PICABench",
        "0514acddffccce9612cafc528a3334881af9a72c",
        _LATER,
        44,
        190,
        Text("what is cut out may be a pixel larger or smaller than theirs"),
    ),
    "risebench": Certificate("PhoenixZ810/RISEBench", "5f226519b25c005bb32fb83864bbd1845ab85c23", _DAY, 42, 84),
    "structeditbench": Certificate(
        "zhuole1025/Structured-Visuals",
        "c8cc9f41261af5accaa9fd591daf87f1fd2671d3",
        _LATER,
        42,
        281,
    ),
    "unireditbench": Certificate("Maplebb/UniREditBench", "a7015c5c2d17aecb1a5af4af1b234c357d86cc7d", _DAY, 42, 84),
    "viescore": Certificate(
        "stepfun-ai/Step1X-Edit",
        "570eba6ebda0c45c013983a483afbf2fd12bfcbc",
        _LATER,
        151,
        453,
        Text(
            "where they guess, the guess is by `guess_seed`; they scale edits bicubically and make pictures JPEG, "
            "which is not done here"
        ),
    ),
    "wiseedit": Certificate(
        "beepkh/WiseEdit",
        "58cadba788b56ee718724e27d64c2c76c297d046",
        _DAY,
        62,
        310,
        Text("for one language; theirs leaves out of both what either lacks"),
    ),
}
"""Protocol -> its certificate."""


def certificate_of(name: str, protocol: Any) -> dict[str, Any]:
    """Returns what may be said of the authors' numbers of a judge's protocol, as plain data.

    `certified`; if it is, the fields of its `Certificate`; else `why` not.
    """
    certificate = CERTIFICATES.get(name)
    if certificate is None:
        return {"certified": False, "why": Text("no script of its authors was held against it")}
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


def said(of: Mapping[str, Any]) -> Text:
    """Returns what `certificate_of` says, in words."""
    if not of["certified"]:
        return Text("not certified: {}", of["why"])
    return Certificate(**{name: value for name, value in of.items() if name != "certified"}).in_full
