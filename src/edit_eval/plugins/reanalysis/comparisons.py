"""The forms of others' results of comparisons: who of two edit models won on which sample.

Their points are computed by the functions with which a run's are (`statistics.battles`), from all that their scripts
count; the strengths by `statistics.preferences`, from what is an answer. The formats, and what becomes of a failure:

* `eval_QUESTION_metadata/TIME.jsonl`: GEdit-Bench v2 (ZhangqiJiang07/GEditBench_v2@82bc00e, src/cli/autopipeline.py,
  src/common_utils/elo_score.py). One order, the one by name. Ties and failed comparisons are not written, so no file of
  theirs has one; `elo_score.py` would count a tie, and leaves out any other winner. A line that is no JSON stops it.
* `SUBSET/pk_logs/EXPERIMENT/A_vs_B.jsonl`: GenArena (ruihanglix/genarena@dd09b86, genarena/logs.py, battle.py,
  state.py). Both orders come to one winner; two that differ, an order without an answer and any other winner are a tie.
  A line that is no JSON is left out. `raw_outputs/A_vs_B.jsonl` has both answers, and says which of these a tie is.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from edit_eval.files.given import read_text, split_lines
from edit_eval.json_values import Unchecked
from edit_eval.plugins.reanalysis.rows import MOST, begins_like, number_of
from edit_eval.statistics.battles import Outcome, geditbench_v2, genarena
from edit_eval.statistics.families import Correction
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.strengths import Davidson, RankedStrength, StrengthDifference
from edit_eval.statistics.votes import Vote, tables_of
from edit_eval.text import Text

COMPARED = ("GEdit-Bench v2", "GenArena")


class Dropped(NamedTuple):
    """Why lines are in no strength."""

    reason: str
    there: str
    """What they are in their points."""


_LEFT_OUT, _A_TIE, _AN_ANSWER = Text("left out"), Text("a tie"), Text("an answer")
_NO_JSON = Dropped(Text("no JSON"), _LEFT_OUT)
_NO_PAIR = Dropped(Text("no two edit models"), _LEFT_OUT)
_NO_WINNER = Dropped(Text("no winner"), _LEFT_OUT)
_TIED_WINNER = Dropped(Text("no winner"), _A_TIE)
_UNANSWERED = Dropped(Text("an order without an answer"), _A_TIE)
_OF_A_WORD = Dropped(Text("a letter taken out of a word"), _AN_ANSWER)
_REPEATED = Dropped(Text("there twice; the first counts"), _AN_ANSWER)
_NOT_WRITTEN = Dropped(Text("not in the file: a tie, or failed"), _LEFT_OUT)


@dataclass
class Comparisons:
    """Comparisons that are rated together."""

    form: str
    of: str
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    """Question -> what their script counts, in the order of the files."""
    votes: dict[str, list[Vote]] = field(default_factory=dict)
    """Question -> what is an answer, an order each."""
    models: set[str] = field(default_factory=set)
    """All that are named."""
    dropped: Counter[tuple[str, Dropped]] = field(default_factory=Counter)
    """By question and reason."""
    written: Mapping[str, float] = field(default_factory=dict)
    """Points that they have put beside the files."""
    stops: str = ""
    """At what their script stops; empty if it does not."""
    notes: list[str] = field(default_factory=list)

    def points(self) -> tuple[Mapping[str, float], str]:
        """Returns the points by their formula, and why there are none."""
        counted = {name for some in self.outcomes.values() for first, second, _ in some for name in (first, second)}
        if self.stops:
            return {}, self.stops
        if lacking := sorted(self.models - counted):
            return {}, Text("{} has no comparison that counts", lacking[0])
        if self.form == "geditbench_v2":
            points = geditbench_v2([*self.outcomes.values()])
        else:
            points = genarena([outcome for some in self.outcomes.values() for outcome in some])
        return points, "" if points else Text("some won, or lost, everything: theirs is where their search stops")


def compares(file: Path) -> str:
    """Returns the form in which a file has comparisons; empty if it has none."""
    if file.suffix != ".jsonl" or file.name.endswith("_grouped.jsonl"):  # grouped: pairs to train on
        return ""
    return next((form for form, begins in _BEGINS.items() if begins_like(file, begins)), "")


_BEGINS = {
    "geditbench_v2": rb'\{\s*"key":\s*"[^"]*_pair_[^"]*_vs_',
    "genarena": rb'\{\s*"model_a":',
}


def arenas(files: Iterable[Path]) -> list[Comparisons]:
    """Returns what of these files is compared, in all known forms; files of other forms are left alone."""
    known: dict[str, list[Path]] = defaultdict(list)
    for file in dict.fromkeys(file.resolve() for file in files):
        known[compares(file)].append(file)
    return [*_geditbench_v2(known["geditbench_v2"]), *_genarena(known["genarena"])]


class TheirPoints(msgspec.Struct, frozen=True, kw_only=True):
    """An edit model as they count it."""

    edit_model: str
    elo: float | None
    """By their formula."""
    written: float | None
    """That they have put beside the files."""
    won: int
    lost: int
    ties: int
    win_rate: float | None
    """A tie counts half; 0 to 1."""


class RatedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Our strengths from the answers to a question (`statistics.preferences`)."""

    votes: int
    samples: int
    strengths: list[RankedStrength]
    differences: list[StrengthDifference]
    family: Correction
    davidson: Davidson | None


class DroppedLines(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that are in no strength."""

    question: str
    reason: str
    there: str
    """What they are in their points."""
    count: int


class ComparedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What others' comparisons of two edits come to."""

    form: str
    of: str
    comparisons: int
    theirs: list[TheirPoints]
    no_theirs: str
    """Why there are no points of theirs; empty if there are."""
    scores: dict[str, RatedQuestion]
    """By question."""
    together: RatedQuestion | None
    """All questions, each of the same weight; None with one."""
    dropped: list[DroppedLines]
    notes: list[str]


def document_of(arena: Comparisons) -> ComparedFiles:
    """Returns their points and counts, our strengths by question and together, and what is in no strength."""
    theirs, why = arena.points()
    models = sorted(arena.models)
    asked = {question: votes for question, votes in arena.votes.items() if votes}
    tables = tables_of([asked])
    joint = [replace(vote, weight=1 / len(votes)) for votes in asked.values() for vote in votes]
    return ComparedFiles(
        form=arena.form,
        of=arena.of,
        comparisons=sum(map(len, arena.outcomes.values())),
        theirs=[_counted(arena, model, theirs.get(model)) for model in models],
        no_theirs=why,
        scores={question: _strengths(votes, models, tables) for question, votes in asked.items()},
        together=_strengths(joint, models, tables) if len(asked) > 1 else None,
        dropped=[
            DroppedLines(question=question, reason=of.reason, there=of.there, count=count)
            for (question, of), count in arena.dropped.items()
        ],
        notes=arena.notes,
    )


def _counted(arena: Comparisons, model: str, elo: float | None) -> TheirPoints:
    got = [
        share if first == model else 1 - share
        for some in arena.outcomes.values()
        for first, second, share in some
        if model in (first, second)
    ]
    return TheirPoints(
        edit_model=model,
        elo=elo,
        written=arena.written.get(model),
        won=got.count(1),
        lost=got.count(0),
        ties=got.count(0.5),
        win_rate=math.fsum(got) / len(got) if got else None,
    )


def _strengths(votes: Sequence[Vote], models: Sequence[str], tables: int) -> RatedQuestion:
    estimates = preferences(votes, models, taken_in={vote.rater for vote in votes}, tables=tables)
    return RatedQuestion(**{name: getattr(estimates, name) for name in RatedQuestion.__struct_fields__})


def _lines(file: Path) -> Iterator[Unchecked | None]:
    """Yields the object of each line, an empty one for another value; None for a line that is no JSON."""
    for line in split_lines(read_text(file, MOST)):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield None
        else:
            yield value if isinstance(value, dict) else {}


# -- GEdit-Bench v2 --

_QUESTIONS = {"if": "instruction_following", "vq": "visual_quality", "vc": "visual_consistency"}
_ANSWERS = {"Image A": 1.0, "Image B": 0.0, "Tie": 0.5}
_CHOICES = {1.0: "left", 0.0: "right", 0.5: "tie"}
_KEY = re.compile(r"(.*?)_pair_(.*?)_vs_(.*)", re.DOTALL)


def _geditbench_v2(files: Sequence[Path]) -> Iterator[Comparisons]:
    together: dict[tuple[Path, str], dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        where = file.parent
        if match := re.fullmatch(rf"eval_({'|'.join(_QUESTIONS)})(_.*)?", where.name):
            together[where.parent, match[2] or ""][_QUESTIONS[match[1]]].append(file)
        else:
            together[where, file.stem][file.stem].append(file)
    for (where, _), asked in together.items():
        arena = Comparisons("geditbench_v2", where.name)
        for question, several in asked.items():
            last = max(several, key=lambda file: file.name)
            if len(several) > 1:
                arena.notes.append(Text("{}: {} files; the last one by name counts", question, len(several)))
            _read_question(arena, question, last)
        _find_unwritten(arena)
        yield arena


def _read_question(arena: Comparisons, question: str, file: Path) -> None:
    outcomes, votes, seen = arena.outcomes.setdefault(question, []), arena.votes.setdefault(question, []), set[str]()
    for line in _lines(file):
        if line is None:
            arena.stops = Text("the authors' script stops: {}, a line that is no JSON", question)
            arena.dropped[question, _NO_JSON] += 1
            continue
        key = line.get("key")
        match = _KEY.fullmatch(key) if isinstance(key, str) else None
        if match is None or match[2] == match[3]:
            arena.dropped[question, _NO_PAIR] += 1
            continue
        arena.models |= {match[2], match[3]}
        about = line.get("results") or line.get("result")
        share = _ANSWERS.get(str(about.get("winner"))) if isinstance(about, dict) else None
        if share is None:
            arena.dropped[question, _NO_WINNER] += 1
            continue
        outcomes.append((match[2], match[3], share))
        if match[0] in seen:
            arena.dropped[question, _REPEATED] += 1
            continue
        seen.add(match[0])
        votes.append(Vote(match[1], match[2], match[3], _CHOICES[share], rater=question))


def _find_unwritten(arena: Comparisons) -> None:
    """Counts the pairs of edits that a question could have been asked about, as another pair of each was."""
    there: dict[str, set[str]] = defaultdict(set)
    for votes in arena.votes.values():
        for vote in votes:
            there[vote.sample_id] |= {vote.left, vote.right}
    pairs = sum(len(models) * (len(models) - 1) // 2 for models in there.values())
    for question, votes in arena.votes.items():
        lines = len(votes) + arena.dropped[question, _NO_WINNER]
        if pairs > lines:
            arena.dropped[question, _NOT_WRITTEN] = pairs - lines
    arena.dropped = +arena.dropped
    if not any(vote.choice == "tie" for votes in arena.votes.values() for vote in votes):
        arena.notes.append(
            Text("their script writes no tie, and there is none here: points and strengths are of the rest alone")
        )


# -- GenArena --

_SNAPSHOT = "elo_snapshot.json"
_MILESTONE = "GenArena_"


def _genarena(files: Sequence[Path]) -> Iterator[Comparisons]:
    together: dict[Path, dict[str, dict[bool, list[Path]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for file in files:
        is_raw = file.parent.name == "raw_outputs"
        where = file.parent.parent if is_raw else file.parent
        together[where.parent][where.name][is_raw].append(file)
    for where, experiments in together.items():
        arena = Comparisons("genarena", where.parent.name if where.name == "pk_logs" else where.name)
        arena.outcomes["better"], arena.votes["better"] = [], []
        seen: set[tuple[str, str, str]] = set()
        unsure = 0
        for experiment in sorted(experiments, key=_by_day):
            logs = experiments[experiment]
            raw = {_battle(line): line for file in logs[True] for line in _lines(file) if line}
            for line in (line for file in sorted(logs[False] or logs[True]) for line in _lines(file)):
                unsure += _read_battle(arena, line, raw, seen)
        if unsure:
            arena.notes.append(
                Text(
                    "{} ties are two orders that differ, or an answer that never came: only raw_outputs says which; "
                    "they count as ties",
                    unsure,
                )
            )
        _read_snapshot(arena, where, sorted(experiments, key=_by_day))
        yield arena


def _by_day(experiment: str) -> tuple[str, str]:
    match = re.fullmatch(r".+_(\d{8})", experiment)
    return (match[1] if match else "", experiment)


def _battle(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(line.get("model_a") or ""), str(line.get("model_b") or ""), str(line.get("sample_index"))


def _read_battle(
    arena: Comparisons,
    line: Mapping[str, Any] | None,
    raw: Mapping[tuple[str, str, str], Mapping[str, Any]],
    seen: set[tuple[str, str, str]],
) -> bool:
    """Takes a battle in; True if it is a tie of which nothing says whether it was answered."""
    question, dropped = "better", arena.dropped
    if line is None:
        dropped[question, _NO_JSON] += 1
        return False
    first, second, sample = battle = _battle(line)
    if not first or not second:
        dropped[question, _NO_PAIR] += 1
        return False
    arena.models |= {first, second}
    winner = str(line.get("final_winner", "tie")).lower()
    share = {first.lower(): 1.0, second.lower(): 0.0}.get(winner, 0.5)
    if first != second:
        arena.outcomes[question].append((first, second, share))
    if first == second or battle in seen:
        dropped[question, _NO_PAIR if first == second else _REPEATED] += 1
        return False
    if share == 0.5 and winner != "tie":
        dropped[question, _TIED_WINNER] += 1
        return False
    seen.add(battle)
    letters = _letters(raw[battle]) if battle in raw else None
    if letters and (lacking := {letter for letter in letters if isinstance(letter, Dropped)}):
        dropped[question, _UNANSWERED if _UNANSWERED in lacking else _OF_A_WORD] += 1
        return False
    # One that was taken in both places was shown first in one order, and last in the other: whose order is which, the
    # log does not say, and it makes no difference.
    chosen = [_CHOICES[share], _CHOICES[1 - share]]
    if share == 0.5 and letters and len({*letters}) == 1:
        chosen = ["left" if letter == "A" else "right" for letter in letters]
    sides = (first, second), (second, first)
    arena.votes[question] += [
        Vote(sample, *of, choice, rater=question) for of, choice in zip(sides, chosen, strict=True)
    ]
    return share == 0.5 and not letters and not line.get("is_consistent")


def _letters(raw: Mapping[str, Any]) -> list[str | Dropped]:
    """Returns what each order answered, or why that is no answer."""
    letters: list[str | Dropped] = []
    for name in ("original_call", "swapped_call"):
        call = raw.get(name)
        parsed = call.get("parsed_result") if isinstance(call, dict) else None
        if not isinstance(parsed, dict) or parsed.get("winner") not in ("A", "B"):
            letters.append(_UNANSWERED)
            continue
        said = parsed.get("raw_response")
        said = said.get("better_response", parsed["winner"]) if isinstance(said, dict) else parsed["winner"]
        letters.append(parsed["winner"] if str(said).strip().upper() == parsed["winner"] else _OF_A_WORD)
    return letters


def _read_snapshot(arena: Comparisons, where: Path, experiments: Sequence[str]) -> None:
    """Reads the last points that they have put down, and says what these rest on."""
    milestones = [experiment for experiment in experiments if experiment.startswith(_MILESTONE)]
    if milestones and milestones[-1] != experiments[-1]:
        arena.notes.append(
            Text(
                "their leaderboard holds the points of {} for those that came later; here, as in {}, all battles are "
                "rated at once",
                milestones[-1],
                _SNAPSHOT,
            )
        )
    there = [experiment for experiment in experiments if (where / experiment / _SNAPSHOT).is_file()]
    if not there:
        return
    try:
        snapshot = json.loads(read_text(where / there[-1] / _SNAPSHOT, MOST))
    except (ValueError, RecursionError):
        snapshot = None
    snapshot = snapshot.get("elo", snapshot) if isinstance(snapshot, dict) else {}
    points = {str(name): number_of(elo) for name, elo in snapshot.items()} if isinstance(snapshot, dict) else {}
    arena.written = {name: elo for name, elo in points.items() if elo is not None}
    arena.notes.append(Text("written: {} of {}; medians of 100 resamples that nothing seeds", _SNAPSHOT, there[-1]))
