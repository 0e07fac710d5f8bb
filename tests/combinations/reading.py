"""Everything that says something about a run, asked in turn and held against the oracle, and against the others."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import math
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from combinations import carrying_out, planted
from combinations.drawing import Draw, configuration, counted
from combinations.in_place import Ended, command, drawn_seldom, opened_once, without_processes
from combinations.oracle import HEADLINES, Battle, Expected, Place, by_sample, mean_or_none
from combinations.reading_paper import PaperReadings
from combinations.reading_plan import PlanReadings
from combinations.reading_spending import SpendingReadings
from combinations.reading_training import TrainingReadings
from combinations.reading_votes import VoteReadings
from drawn_pages import read_data
from edit_eval.plugins.page.gallery import gallery
from edit_eval.plugins.page.shown_pictures import PageFiles
from edit_eval.run import Run

OUTCOMES = ("first", "second", "tie", "contradiction", "missing")
FEWEST_IMAGES = 6
"""For an interval, a test, a rank."""
CELL = re.compile(r"(?<=  )\d+/\d+(?=\s)")
"""A cell of a printed table: so many of so many."""
AGAIN = 0.4
"""The share of draws whose report is written again, which takes as long as the run itself."""
IN_CHINESE = 0.5
"""The share of what verbs print that is printed in Chinese, too."""
MARGIN = 8.0
"""Of a gate, in points."""
BROKEN_DOWN = re.compile(r"Traceback|bug in edit-eval")


class Disagreement(NamedTuple):
    """A place at which a reader says something else than the oracle."""

    kind: str
    """The reader, and what it is about."""
    where: str
    expected: object
    got: object

    def __str__(self) -> str:
        return f"{self.kind} ({self.where}): expected {self.expected}, got {self.got}"


def disagreements(
    draw: Draw, folder: Path, carry_out: carrying_out.CarryOut = carrying_out.in_place
) -> list[Disagreement]:
    """Carries out a draw in a folder, which is emptied first, and asks all readers."""
    shutil.rmtree(folder, ignore_errors=True)
    with drawn_seldom() if carry_out is carrying_out.in_place else contextlib.nullcontext():
        return Readers(draw, folder, carry_out).disagreements


class Readers(PaperReadings, PlanReadings, SpendingReadings, TrainingReadings, VoteReadings):
    """The readers of one run, and where they are wrong."""

    def __init__(self, draw: Draw, folder: Path, carry_out: carrying_out.CarryOut) -> None:
        self.draw, self.folder, self.run = draw, folder, folder / "run"
        self.want = Expected(draw, folder=folder)
        self.disagreements: list[Disagreement] = []
        self.cells: dict[str, list[str]] = defaultdict(list)
        """For each verb, counts that have to be among the cells of what it prints."""
        self.ended = carry_out(draw, folder)
        self.carried_out()

    def check(self, kind: str, where: str, expected: object, got: object) -> None:
        if not same(expected, got):
            self.disagreements.append(Disagreement(kind, where, expected, got))

    def carried_out(self) -> None:
        code, _, err = self.ended
        last = (err.strip().splitlines() or [""])[-1]
        if BROKEN_DOWN.search(err) or code not in (0, 2, 3):
            return self.check("run: how it ends", "", "0 or 3", f"{code}: {err.strip()[-600:]}")
        if self.want.refused:
            self.check("run: nothing to do is refused", last, 2, code)
            return self.check("run: nothing to do is refused", last, True, self.want.refused in last)
        if code == 2:
            return self.check("run: is refused", "", "0 or 3", last)
        self.summary = json.loads((self.run / "report" / "summary.json").read_text("utf-8"))
        with (self.run / "report" / "scores.csv").open(newline="", encoding="utf-8-sig") as file:
            self.rows = list(csv.DictReader(file))
        self.met = self.who_met()
        self.battles = self.want.battles(self.met) if "arena" in self.want.judges else {}
        self.check("run: exit code", last, self.want.code(self.battles), code)
        self.message(last)
        self.asked()
        with opened_once():
            self.read_summary()
            self.read_scores()
            self.read_battles()
            self.read_steps()
            self.read_controls()
            self.planned()
            self.say()
            self.spent()
            self.page()
        self.again()
        self.gate()
        self.voted()
        return None

    # -- the run itself --

    def message(self, last: str) -> None:
        """The message on coverage names one that is below what is required, and nobody else."""
        below = [
            row for row in zip(self.entries(), self.want.coverage(self.battles), strict=True) if self.is_below(row[1])
        ]
        if not below:
            return self.check("run: message", last, False, "coverage:" in last)
        scored = [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+) are", last)]
        self.check("run: message", last, True, bool(scored) and scored[0] in [coverage for _, coverage in below])
        more = re.search(r"and (\d+) more", last)
        return self.check("run: message counts the others", last, len(below) - 1, int(more[1]) if more else 0)

    def entries(self) -> list[tuple[str, str]]:
        """Columns and judges, then the judge that compares: as `Expected.coverage` has them."""
        entries = list(itertools.product(self.want.columns, self.want.reporting))
        return [*entries, ("", "arena")] if "arena" in self.want.judges else entries

    def is_below(self, coverage: tuple[int, int]) -> bool:
        scored, total = coverage
        return bool(total) and scored / total < self.draw["min_coverage"]

    def who_met(self) -> list[tuple[str, str, str]] | None:
        """Who met in cycles: that is drawn by digests which nobody else can know, so it is read, and its shape is held
        to the rules."""
        if self.draw["arena"] not in ("cycles", "extended"):
            return None
        frame = Run(self.run).to_frame("battles", "pyarrow").to_pylist()
        met = list(dict.fromkeys((row["edit_model"], row["other"], row["sample_id"]) for row in frame))
        place = {name: number for number, name in enumerate(self.want.columns)}
        looks = self.summary["battles"]["arena"]["scores"]["overall"].get("looks", {"rounds": 1})["rounds"]
        of_sample: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for a, b, sample in met:
            self.check("battles: sides in order", sample, True, place[a] < place[b])
            of_sample[sample].append((a, b))
        fighting = [sample for sample in self.want.samples if not self.want.rows[sample].follows]
        for sample in fighting:
            cycle = len(place) if len(place) > 2 else 1
            itself = [
                (a, b)
                for a, b in itertools.combinations(self.want.columns, 2)
                if not any(self.want.fights(a, b, sample, seed) for seed in self.want.seeds)
            ]
            count = len(of_sample[sample])
            self.check("battles: of a sample", sample, True, cycle - len(itself) <= count <= looks * cycle)
        self.check("battles: samples", "", True, {*of_sample} <= {*fighting})
        return met

    def asked(self) -> None:
        """How often each model was asked, where nothing had to be done twice."""
        noted = [json.loads(line) for line in (self.folder / "asked.jsonl").read_text("utf-8").splitlines()]
        edits = Counter(line[2] for line in noted if line[0] == "edit")
        answers = Counter(
            (line[1], line[3], line[4][-1], line[5], line[6])
            for line in noted
            if line[0] == "judge" and line[1] not in ("arena", "rw") and not line[2]
        )
        want_edits, want_answers = self.want.edits_asked(), self.want.answers_asked()
        # What is stopped between two tries of an edit has both before it.
        quiet = self.draw["way"] in ("once", "page") and not (self.draw["capped"] and self.draw["edit_failed"])
        if self.draw["way"] != "retry":  # in a storm other edits are made, of which others are made
            self.check("asked: edits", "", [], sorted(want_edits.keys() ^ edits.keys())[:3])
            self.check("asked: answers", "", [], sorted(want_answers.keys() ^ answers.keys(), key=str)[:3])
        if quiet:
            tries = self.want.tries()
            made = {code: want_edits[code] if often in tries.get(code, ()) else often for code, often in edits.items()}
            self.check("asked: edits made twice", "", {}, differing(want_edits, made))
        if quiet and self.draw["batch"] == 1:
            certain = {question: often for question, often in want_answers.items() if self.is_certain(question)}
            self.check(
                "asked: answers given twice",
                "",
                {},
                differing(certain, {question: answers[question] for question in certain}),
            )

    def is_certain(self, about: tuple[str, str, str, int, int]) -> bool:
        """Whether it is known how often a question is put: not where the judge breaks down, nor about a picture that a
        folder holds once for several edits."""
        if about[2].startswith("folder"):
            return False
        return HEADLINES.get(about[0]) == "change" or not self.want.failing(*about)

    # -- summary.json and scores.csv --

    def read_summary(self) -> None:
        entries = {(result["edit_model"], result["judge"]): result for result in self.summary["results"]}
        wanted = [entry for entry in self.entries() if entry[0]]
        self.check("summary: entries", "", sorted(wanted), sorted(entries))
        every = self.want.coverage(self.battles)
        coverage = self.summary["coverage"]
        together = f"{sum(scored for scored, _ in every)}/{sum(total for _, total in every)}"
        self.check("summary: coverage", "", together, f"{coverage['scored']}/{coverage['total']}")
        self.check("summary: reached", "", not any(map(self.is_below, every)), coverage["reached"])
        for column, judge in wanted:
            if entry := entries.get((column, judge)):
                self.entry(entry, f"{column} by {judge}")
        for counts in self.summary["edits"]:
            made = [
                self.want.edit(counts["edit_model"], sample, seed)
                for sample in self.want.samples
                for seed in self.want.seeds
            ]
            tried = Counter(edit.status for edit in made if edit.status != "skipped")
            self.check("summary: edits tried", counts["edit_model"], sum(tried.values()), counts["total"])
            for status in ("edit_failed", "edit_missing", "edit_refused"):
                self.check(f"summary: edits {status}", counts["edit_model"], tried[status], counts[status]["count"])

    def entry(self, entry: Mapping[str, Any], where: str) -> None:
        """What a column's scores by one judge come to."""
        column, judge = entry["edit_model"], entry["judge"]
        headline = HEADLINES.get(judge, "score")
        self.check("summary: headline", where, headline, entry["headline"])
        its = self.want.series(column, judge)
        self.coverage("summary: coverage of an entry", where, its, entry["coverage"])
        again = sum(
            self.want.judgement(column, judge, place).again for place, (status, _) in its.items() if status == "ok"
        )
        if judge == "followed":
            self.check("summary: asked again", where, again, entry["coverage"]["asked_again"])
        for name, score in entry["scores"].items():
            mine = self.want.series(column, judge, name)
            self.numbers(f"summary: {name}", where, mine, score)
            by_category = defaultdict(dict)
            for place, outcome in mine.items():
                by_category[self.want.rows[place.sample].category][place] = outcome
            for category, group in score["categories"].items():
                self.numbers("summary: categories", f"{where}, {category}", by_category[category], group)
            self.check("summary: categories", where, sorted(by_category), sorted(score["categories"]))

    def numbers(
        self, kind: str, where: str, its: Mapping[Place, tuple[str, float | None]], got: Mapping[str, Any]
    ) -> None:
        there = {place: score for place, (status, score) in its.items() if status == "ok"}
        self.coverage(f"{kind}: coverage", where, its, got["coverage"])
        self.check(f"{kind}: n", where, len(there), got["n"])
        self.check(f"{kind}: mean", where, mean_or_none(by_sample(its).values()), got["mean"])
        if there:
            self.check(f"{kind}: images", where, self.want.images(place.sample for place in there), got["images"])
            self.check(f"{kind}: extremes", where, [min(there.values()), max(there.values())], [got["min"], got["max"]])
            for end, name in ((0.0, "worst_case_mean"), (10.0, "best_case_mean")):
                if name in got:
                    filled = {place: ("ok", there.get(place, end)) for place in its}
                    self.check(f"{kind}: {name}", where, fmean(by_sample(filled).values()), got[name])

    def coverage(
        self, kind: str, where: str, its: Mapping[Place, tuple[str, float | None]], got: Mapping[str, Any]
    ) -> None:
        by = Counter(status for status, _ in its.values())
        self.check(kind, where, f"{by['ok']}/{len(its)}", f"{got['scored']}/{got['total']}")
        self.check(f"{kind}, by status", where, counted(by), counted(Counter(got["by_status"])))

    def read_scores(self) -> None:
        """`scores.csv` has a line for each score that applies."""
        lines: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
        for row in self.rows:
            lines[row["edit_model"], row["judge"], row["score_name"]].append(row)
        for column, judge in (entry for entry in self.entries() if entry[0]):
            names = {name for place in self.want.places() for name in self.want.judgement(column, judge, place).scores}
            for name in names:
                where, its = f"{column} by {judge}, {name}", self.want.series(column, judge, name)
                got = {
                    Place(row["sample_id"], int(row["edit_seed"]), int(row["repeat"])): (
                        row["status"],
                        float(row["score"]) if row["score"] else None,
                    )
                    for row in lines[column, judge, name]
                }
                self.check("scores.csv: lines", where, len(its), len(lines[column, judge, name]))
                self.check(
                    "scores.csv",
                    where,
                    {},
                    {
                        place: (its.get(place), outcome)
                        for place, outcome in got.items()
                        if not same(its.get(place), outcome)
                    },
                )

    # -- battles --

    def read_battles(self) -> None:
        if "arena" not in self.want.judges:
            return self.check("summary: no battles", "", {}, self.summary.get("battles") or {})
        theirs = self.summary["battles"]["arena"]
        decided = sum(outcome != "missing" for outcome, _ in self.battles.values())
        self.check(
            "battles: coverage",
            "",
            f"{decided}/{len(self.battles)}",
            f"{theirs['coverage']['scored']}/{theirs['coverage']['total']}",
        )
        self.check(
            "battles: reached", "", not self.is_below((decided, len(self.battles))), theirs["coverage"]["reached"]
        )
        of = theirs["scores"]["overall"]
        by_pair: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for battle, (outcome, _) in self.battles.items():
            by_pair[battle.a, battle.b][outcome] += 1
        got = {(pair["a"], pair["b"]): {name: pair[name] for name in OUTCOMES if pair[name]} for pair in of["pairs"]}
        self.check(
            "battles: pairs",
            "",
            {pair: counted(some) for pair, some in by_pair.items()},
            {pair: counted(Counter(some)) for pair, some in got.items()},
        )
        self.check(
            "battles: outcomes",
            "",
            counted(Counter(outcome for outcome, _ in self.battles.values())),
            counted(Counter(of["outcomes"])),
        )
        frame = Run(self.run).to_frame("battles", "pyarrow").to_pylist()
        for row in frame:
            battle = Battle(row["edit_model"], row["other"], row["sample_id"], row["edit_seed"], row["repeat"])
            outcome, status = self.battles.get(battle, ("not fought", ""))
            self.check("battles: outcome", str(battle), outcome, row["outcome"])
            self.check("battles: status", str(battle), status, row["status"])
        return self.check("battles: rows", "", len(self.battles), len(frame))

    # -- rounds, turns, controls --

    def analysis(self, name: str) -> list[dict[str, Any]]:
        """What an analysis says of the run by itself."""
        return [result for document in self.summary.get("analyses", {}).get(name, ()) for result in document["results"]]

    def read_steps(self) -> None:
        rounds = self.analysis("rounds")
        self.check("summary: rounds are there", "", self.draw["rounds"] > 1 and bool(self.want.reporting), bool(rounds))
        alone = {sample: sample for sample in self.want.rows}
        for column in rounds:
            names, judge, where = (
                [its["edit_model"] for its in column["rounds"]],
                column["judge"],
                f"{column['edit_model']} by {column['judge']}",
            )
            for its in column["rounds"]:
                made = [
                    self.want.edit(its["edit_model"], sample, seed)
                    for sample in self.want.samples
                    for seed in self.want.seeds
                ]
                there = sum(edit.status == "ok" and not edit.kept for edit in made)
                self.check("rounds: edits", its["edit_model"], there, its["edits"])
                self.check("rounds: kept", its["edit_model"], sum(edit.kept for edit in made), its["kept"])
                self.step(
                    "rounds",
                    its,
                    self.want.series(names[0], judge),
                    self.want.series(its["edit_model"], judge),
                    alone,
                    its["round"] > 1,
                    where,
                )
            self.check(
                "rounds: best by critic",
                where,
                self.want.best_by_critic(names, judge),
                column["best_by_critic"]["mean"],
            )
            if column["best_of"]:
                best = self.want.best_of(column["edit_model"], "critic", judge, len(names))
                self.check("rounds: best of as many", where, best, column["best_of"]["mean"])
        for column in self.analysis("turns"):
            by_turn: dict[int, dict[Place, tuple[str, float | None]]] = defaultdict(dict)
            for place, outcome in self.want.series(column["edit_model"], column["judge"]).items():
                by_turn[len(self.want.chain(place.sample))][place] = outcome
            begins = {sample: self.want.first(sample).id for sample in self.want.rows}
            self.check("turns: which", column["judge"], sorted(by_turn), [its["turn"] for its in column["turns"]])
            for its in column["turns"]:
                first = by_turn[min(by_turn)]
                self.step(
                    "turns",
                    its,
                    first,
                    by_turn[its["turn"]],
                    begins,
                    its["turn"] > min(by_turn),
                    f"{column['edit_model']} by {column['judge']}",
                )

    def step(
        self,
        kind: str,
        got: Mapping[str, Any],
        first: dict[Place, tuple[str, float | None]],
        its: dict[Place, tuple[str, float | None]],
        begins: dict[str, str],
        later: bool,
        where: str,
    ) -> None:
        there = [score for status, score in its.values() if status == "ok"]
        self.check(f"{kind}: scored", where, f"{len(there)}/{len(its)}", f"{got['scored']}/{got['total']}")
        self.check(f"{kind}: mean", where, mean_or_none(by_sample(its).values()), got["mean"])
        if later:
            chains, change = self.want.change(first, its, begins)
            self.check(f"{kind}: chains", where, chains, got["chains"])
            self.check(f"{kind}: change", where, change, got["change"])

    def read_controls(self) -> None:
        judges = (self.summary["controls"] or {}).get("judges", {})
        asked = [judge for judge in self.want.see_controls if judge in self.want.reporting]
        self.check("controls: judges", "", sorted(asked if self.want.controls else ()), sorted(judges))
        for judge, controls in judges.items():
            for kind in ("source", "blank"):
                got = controls["kinds"][kind]
                self.check("controls: n", f"{kind} by {judge}", self.want.controls, got["n"])
                self.check("controls: mean", f"{kind} by {judge}", 1.0, got["mean"])

    # -- verbs --

    def say(self) -> None:
        """Every verb that reads, as JSON and in both languages."""
        run, want = self.run, self.want
        compares = len(want.columns) > 1 and bool(want.reporting)
        self.document("status", True, self.read_status)
        self.document("compare", compares, self.read_compare)
        self.document("leaderboard", len(want.columns) > 1, self.read_leaderboard)
        self.document("agreement", True, self.read_agreement)
        pairs = [(a, b) for a in want.judges if a != "arena" for b in want.reporting if a != b]
        drawn = sorted(pairs, key=lambda pair: planted.share(self.draw["salt"], *pair))[:2]
        by_critic = [pair for pair in pairs if pair[0] == "critic"][:1]
        for select, report in dict.fromkeys([*by_critic, *drawn]) if self.draw["edit_seeds"] > 1 else ():
            apart = not (self.draw["one_judge"] and {select, report} == {"second", "third"})
            self.document(
                "best-of", apart, lambda said: self.read_best_of(said), "--select", select, "--report", report
            )
        self.slices_and_pairs()
        self.paper()
        self.succeeds("push", run, "owner/name", "--dry-run")
        self.markdown()

    def again(self) -> None:
        """A report that is written again says what the first one did, whoever opens the run."""
        if planted.share(self.draw["salt"], "again") > AGAIN:
            return
        before = self.summary
        with without_processes(page=bool(self.draw["page"])):
            self.succeeds("report", self.run)
        again = json.loads((self.run / "report" / "summary.json").read_text("utf-8"))
        # Where a class is the user's own, another process shows what the last start derived, and says so in a note.
        self.check("report: the same again", "", _without_notes(before), _without_notes(again))
        self.check("report: the same notes again", "", True, {*before["notes"]} <= {*again["notes"]})
        self.send()

    def succeeds(self, *words: str | Path, language: str = "en") -> Ended | None:
        """Carries out a verb that has to succeed."""
        ended = command(*words, language=language)
        verb = str(words[0])
        if BROKEN_DOWN.search(ended.err + ended.out) or ended.code:
            said = f"{ended.code}: {ended.err.strip()[-500:]}"
            self.check(f"{verb}: succeeds", " ".join(map(str, words[2:])), 0, said)
            return None
        return ended

    def document(self, verb: str, fits: bool, read: Any, *more: str) -> None:
        """A verb's JSON is read, and it prints the same counts in both languages; refused where it does not fit."""
        if not fits:
            ended = command(verb, self.run, *more)
            refused = ended.code == 2 and ended.err.startswith("error: ") and not BROKEN_DOWN.search(ended.err)
            return self.check(f"{verb}: refuses", f"{ended.code}: {ended.err.strip()[-300:]}", True, refused)
        if said := self.succeeds(verb, self.run, *more, "--json"):
            read(json.loads(said.out))
        chinese = planted.share(self.draw["salt"], verb, *more) < IN_CHINESE
        typed = (verb, self.run, *more, *(["--full"] if verb == "compare" else []))
        spoken = [self.succeeds(*typed, language=language) for language in ("en", *(["zh"] if chinese else []))]
        cells = [Counter(CELL.findall(each.out)) for each in spoken if each]
        if len(cells) < len(spoken):
            return None
        lacking = Counter(self.cells.get(verb, ())) - cells[0]
        self.check(f"{verb}: what is printed has the counts", "", {}, dict(lacking))
        if chinese and spoken[1]:
            words = "".join(spoken[1].out.split())
            notes = [note for note in Run(self.run).results.provenance.notes if "".join(str.split(note)) in words]
            self.check(f"{verb}: notes are in Chinese", "", [], notes)
            self.check(f"{verb}: both languages have the same cells", "", {}, differing(*cells))

    def read_status(self, said: Mapping[str, Any]) -> None:
        want = self.want
        by = Counter(
            status for column, judge in self.entries() if column for status, _ in want.series(column, judge).values()
        )
        self.check(
            "status: judgements",
            "",
            counted(by),
            counted(Counter({k: v for k, v in said["judgements"].items() if k != "total"})),
        )
        for headline in said["scores"]:
            its = want.series(headline["edit_model"], headline["judge"])
            there = [score for status, score in its.values() if status == "ok"]
            where = f"{headline['edit_model']} by {headline['judge']}"
            self.check("status: scored", where, len(there), headline["scored"])
            self.check("status: mean", where, mean_or_none(by_sample(its).values()), headline["mean"])
        if "arena" in want.judges:
            self.check("status: battles", "", len(self.battles), said.get("battles", {}).get("total"))
        categories: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        for column, judge in (entry for entry in self.entries() if entry[0]):
            for place, (status, _) in want.series(column, judge).items():
                categories[want.rows[place.sample].category, column, judge][status] += 1
        for counts in said["categories"]:
            mine = categories[counts["category"], counts["edit_model"], counts["judge"]]
            got = {name: count for name, count in counts.items() if isinstance(count, int) and name != "total"}
            self.cells["status"].append(f"{mine['ok']}/{mine.total()}")
            self.check(
                "status: categories",
                f"{counts['category']}, {counts['edit_model']} by {counts['judge']}",
                counted(mine),
                counted(Counter(got)),
            )

    def read_columns(self, verb: str, columns: Iterable[Mapping[str, Any]]) -> None:
        """The columns of a comparison: a sample's score is the mean of its edits' and repeats'."""
        for column in columns:
            where = f"{column['edit_model']} by {column['judge']}"
            means = self.want.by_sample(column["edit_model"], column["judge"])
            self.check(f"{verb}: mean", where, fmean(means.values()) if means else None, column["mean"])
            its = self.want.series(column["edit_model"], column["judge"]).values()
            count = f"{sum(status == 'ok' for status, _ in its)}/{len(its)}"
            self.check(f"{verb}: scored", where, count, f"{column['scored']}/{column['total']}")
            self.cells[verb].append(count)
            self.check(f"{verb}: images", where, self.want.images(means), column["clusters"])
            made = [
                self.want.edit(column["edit_model"], sample, seed)
                for sample in self.want.samples
                for seed in self.want.seeds
            ]
            tried = [edit for edit in made if edit.status != "skipped"]
            lost = sum(edit.status != "ok" for edit in tried)
            self.check(
                f"{verb}: failed",
                where,
                f"{lost}/{len(tried)}",
                f"{column['failed']['count']}/{column['failed']['total']}",
            )

    def read_compare(self, said: Mapping[str, Any]) -> None:
        columns, pairs = said["columns"], said["pairs"]
        self.check(
            "compare: columns",
            "",
            sorted(entry for entry in self.entries() if entry[0]),
            sorted((column["edit_model"], column["judge"]) for column in columns),
        )
        self.read_columns("compare", columns)
        for pair in pairs:
            where = f"{pair['a']} and {pair['b']} by {pair['judge']}"
            first, second = (self.want.by_sample(pair[side], pair["judge"]) for side in "ab")
            gaps = {sample: first[sample] - second[sample] for sample in first if sample in second}
            self.check("compare: n", where, len(gaps), pair["n"])
            self.check(
                "compare: difference", where, fmean(gaps.values()) if gaps else None, pair["sample_mean"]["difference"]
            )
            self.check("compare: images", where, self.want.images(gaps), pair["clusters"])
            signs = [
                sum(gap > 0 for gap in gaps.values()),
                sum(gap == 0 for gap in gaps.values()),
                sum(gap < 0 for gap in gaps.values()),
            ]
            if not any(0 < abs(gap) < 1e-9 for gap in gaps.values()):
                self.check("compare: wins", where, signs, [pair["wins"], pair["ties"], pair["losses"]])
            self.decided(pair, gaps, len(pairs), where)
        self.ranks(columns, pairs)

    def decided(self, pair: Mapping[str, Any], gaps: Mapping[str, float], tests: int, where: str) -> None:
        """Where one is better on every image, on so many that no test could miss it, it is said; never the reverse."""
        better = pair["scores_better"]
        worse = {pair["a"]: pair["b"], pair["b"]: pair["a"]}
        mean = fmean(gaps.values()) if gaps else 0.0
        if better is not None:
            self.check("compare: who is better", where, pair["a"] if mean > 0 else pair["b"], better)
            self.check("compare: too few images to tell", where, True, self.want.images(gaps) >= FEWEST_IMAGES)
        elif (
            gaps
            and self.draw["shared"] == 0
            and not self.draw["turns"]
            and min(gaps.values()) > 0.8 * max(gaps.values()) > 0
        ):
            enough = tests * 2 ** (1 - len(gaps)) <= 0.02
            self.check("compare: who is better", where, False, enough and worse[pair["b"]])

    def ranks(self, columns: Iterable[Mapping[str, Any]], pairs: Iterable[Mapping[str, Any]]) -> None:
        """A rank says how many are shown to be better, at most; nobody stands above one that leads it."""
        self.rank = {(column["name"], column["judge"]): column["rank"] for column in columns}
        for judge in {judge for _, judge in self.rank}:
            there = {name: rank for (name, by), rank in self.rank.items() if by == judge and rank is not None}
            beaten = Counter[str]()
            self.check("compare: somebody is first", judge, not there or min(there.values()), 1 if there else True)
            for pair in (pair for pair in pairs if pair["judge"] == judge and {pair["a"], pair["b"]} <= {*there}):
                where = f"{pair['a']} and {pair['b']} by {judge}"
                self.check("compare: enough images for a rank", where, True, pair["clusters"] >= FEWEST_IMAGES)
                better, ahead = pair["outcome"]["better"], pair["a"] if pair["difference"] > 0 else pair["b"]
                other = pair["b"] if ahead == pair["a"] else pair["a"]
                if pair["difference"] and better in (None, ahead):
                    self.check("compare: who leads is not behind", where, True, there[ahead] <= there[other])
                beaten[pair["b"] if better == pair["a"] else pair["a"]] += better is not None
            for name, rank in there.items():
                self.check("compare: so many are better", f"{name} by {judge}", True, rank <= 1 + beaten[name])

    def read_leaderboard(self, said: Mapping[str, Any]) -> None:
        self.read_columns("leaderboard", said["columns"])
        if self.want.reporting:
            theirs = {(column["name"], column["judge"]): column["rank"] for column in said["columns"]}
            self.check("leaderboard: ranks are those of compare", "", getattr(self, "rank", {}), theirs)
        if "arena" in self.want.judges:
            board, own = said["battles"]["arena"], self.summary["battles"]["arena"]
            decided = sum(outcome != "missing" for outcome, _ in self.battles.values())
            self.check(
                "leaderboard: battles",
                "",
                f"{decided}/{len(self.battles)}",
                f"{board['coverage']['scored']}/{board['coverage']['total']}",
            )
            strengths = [
                {model["edit_model"]: model["strength"] for model in of["scores"]["overall"]["strengths"]}
                for of in (own, board)
            ]
            self.check("leaderboard: strengths are those of the run", "", *strengths)

    def read_agreement(self, said: Mapping[str, Any]) -> None:
        for judge, agreement in said["judges"].items():
            asked, unscored = 0, Counter[str]()
            for column, place in itertools.product(self.want.columns, self.want.places()):
                edit = self.want.edit(column, place.sample, place.seed)
                if edit.status == "ok" and not edit.kept:
                    asked += 1
                    unscored[self.want.judgement(column, judge, place).outcome[0]] += 1
            self.check("agreement: asked", judge, asked, agreement["asked"])
            self.check("agreement: unscored", judge, asked - unscored["ok"], agreement["unscored"]["count"])
        self.check("agreement: judges", "", sorted(self.want.reporting), sorted(said["judges"]))

    def read_best_of(self, said: Mapping[str, Any]) -> None:
        select, report = said["select"]["name"], said["report"]["name"]
        for model in said["models"]:
            for size in model["sizes"]:
                mine = self.want.best_of(model["edit_model"], select, report, size["size"])
                self.check(
                    "best-of: mean",
                    f"{model['edit_model']} by {select}, {report}, best of {size['size']}",
                    mine,
                    size["mean"],
                )

    # -- what is to be looked at --

    def markdown(self) -> None:
        """The Markdown has a row of every column by every judge, with its coverage and its mean."""
        text = (self.run / "report" / "report.md").read_text("utf-8")
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
        for column, judge in (entry for entry in self.entries() if entry[0]):
            its = self.want.series(column, judge)
            there = by_sample(its)
            count = f"{sum(status == 'ok' for status, _ in its.values())}/{len(its)}"
            own = [
                row
                for row in rows
                if count in row
                and (column in row or len(self.want.columns) == 1)
                and (judge in row or len(self.want.reporting) == 1)
                and (not there or any(is_about(cell, fmean(there.values())) for cell in row[row.index(count) + 1 :]))
            ]
            self.check("report.md: scored, and the mean", f"{column} by {judge}", True, bool(own))

    def page(self) -> None:
        """The data of the page has every edit, score and battle; a page that is drawn has these data."""
        run = Run(self.run)
        data = gallery(run.results, run.summary, PageFiles((self.run / "report").absolute(), self.run.absolute()))
        data = json.loads(json.dumps(data))
        self.check("page: samples", "", self.want.samples, [sample["id"] for sample in data["samples"]])
        self.check("page: columns", "", self.want.columns, data["edit_models"])
        for sample in data["samples"]:
            places = [(edit["model"], edit["edit_seed"]) for edit in sample["edits"]]
            self.check(
                "page: edits",
                sample["id"],
                sorted(itertools.product(self.want.columns, self.want.seeds)),
                sorted(places),
            )
            for edit in sample["edits"]:
                self.shown_edit(sample["id"], edit)
            fought = [(battle, (sample["id"], battle["edit_seed"], battle["repeat"])) for battle in sample["battles"]]
            shown = {
                Battle._make([*battle["models"], *where]): battle["outcomes"]["overall"] for battle, where in fought
            }
            mine = {battle: outcome for battle, (outcome, _) in self.battles.items() if battle.sample == sample["id"]}
            self.check("page: battles", sample["id"], mine, shown)
        if self.draw["page"]:
            drawn = read_data(self.run / "report" / "index.html")
            self.check("page: its data", "", [], [name for name, value in data.items() if drawn.get(name) != value])

    def shown_edit(self, sample: str, edit: Mapping[str, Any]) -> None:
        """What the page shows of an edit, of its judgements, and of the battles that it won and lost."""
        column, seed = edit["model"], edit["edit_seed"]
        where, want = f"{column}, {sample}, {seed}", self.want.edit(column, sample, seed)
        self.check("page: an edit's status", where, want.status, edit["status"])
        self.check("page: where an edit was made", where, want.made_in if want.kept else "", edit["made_in"])
        self.check("page: an edit's picture", where, want.status == "ok", "thumbnail" in edit["picture"])
        for judgement in edit["judgements"]:
            its = self.want.judgement(column, judgement["judge"], Place(sample, seed, judgement["repeat"]))
            scores = {name: score for name, (status, score) in its.scores.items() if status == "ok"}
            self.check("page: scores", f"{where} by {judgement['judge']}", scores, judgement["scores"])
            self.check("page: status", f"{where} by {judgement['judge']}", its.outcome[0], judgement["status"])
        count = len(self.want.reporting) * self.draw["repeats"]
        self.check("page: judgements", where, count, len(edit["judgements"]))
        won = [0, 0]
        for battle, (outcome, _) in self.battles.items():
            if (battle.sample, battle.seed) == (sample, seed) and outcome in ("first", "second"):
                for side, name in (("first", battle.a), ("second", battle.b)):
                    won[outcome != side] += name == column
        self.check("page: won and lost", where, won, edit["won"].get("arena", [0, 0]))

    # -- two of them --

    def gate(self) -> None:
        """Two edit models, each in a run of its own, and whether the second may take the place of the first."""
        if not self.draw["gate"]:
            return
        paths = []
        for name in ("m0", "m1"):
            whole = configuration(self.draw, self.folder)
            whole["edit_models"] = {"m": whole["edit_models"][name]}
            whole["judges"].pop("arena", None)
            whole["judges"].pop("recorded", None)  # it has replies by the names of columns
            paths.append(self.folder / f"{name}.yaml")
            paths[-1].write_text(json.dumps(whole), "utf-8")
        with without_processes():
            ended = command("gate", *paths, "--margin", str(MARGIN), "--run-dir", self.folder / "gate", "--json")
        judges = [judge for judge in self.want.reporting if judge != "recorded"]
        if BROKEN_DOWN.search(ended.err) or ended.code not in (0, 2, 3):
            return self.check("gate: how it ends", "", "0, 2 or 3", f"{ended.code}: {ended.err.strip()[-600:]}")
        if ended.code == 2:
            has = self.want.images(sample for sample in self.want.samples if not self.want.skipped(sample))
            told = [int(number) for number in re.findall(r"(\d+) images can .* it takes (\d+) at least", ended.err)[0]]
            return self.check("gate: refuses", ended.err.strip()[-300:], (has, True), (told[0], told[0] < told[1]))
        said = json.loads(ended.out)
        self.check("gate: passes, and says so", "", said["gate"]["passed"], ended.code == 0)
        self.check("gate: judges", "", sorted(judges), sorted(pair["judge"] for pair in said["pairs"]))
        for pair in said["pairs"]:
            first, second = (self.want.by_sample(name, pair["judge"]) for name in ("m0", "m1"))
            gaps = [first[sample] - second[sample] for sample in first if sample in second]
            self.check("gate: n", pair["judge"], len(gaps), pair["n"])
            mean = fmean(gaps) if gaps else None
            self.check("gate: difference", pair["judge"], mean, pair["sample_mean"]["difference"])
            if said["gate"]["passed"]:
                worst = fmean(first.get(sample, 10.0) - second.get(sample, 0.0) for sample in self.want.samples)
                self.check("gate: who passes could not be so much worse", pair["judge"], True, worst < MARGIN)
        return None


def is_about(cell: str, number: float) -> bool:
    """Whether a cell shows a number, to two digits."""
    try:
        return abs(float(cell) - number) < 0.00501
    except ValueError:
        return False


def same(expected: object, got: object) -> bool:
    """Equal, numbers to nine digits."""
    if isinstance(expected, float) and isinstance(got, int | float):
        return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(expected, tuple | list) and isinstance(got, tuple | list):
        return len(expected) == len(got) and all(map(same, expected, got))
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(value, got[name]) for name, value in expected.items())
    return expected == got


def differing(expected: Mapping[Any, int], got: Mapping[Any, int]) -> dict[Any, tuple[int, int]]:
    """What two counts differ in, at most three of it."""
    names = [name for name in {**expected, **got} if expected.get(name, 0) != got.get(name, 0)]
    return {name: (expected.get(name, 0), got.get(name, 0)) for name in sorted(names, key=str)[:3]}


def kinds(differences: Iterable[Disagreement]) -> list[str]:
    """The kinds of disagreements, each once."""
    return sorted({disagreement.kind for disagreement in differences})


def _without_notes(summary: dict[str, Any]) -> str:
    return json.dumps({**json.loads(json.dumps(summary), parse_int=float), "notes": []}, sort_keys=True)
