"""Tables of the judges' agreement: with themselves, with each other and with people, and their median."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.entries import entries
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.names import NAMES, score_name
from edit_eval.reporting.result_tables import EDIT_MODEL, results_table
from edit_eval.reporting.strengths import beside_table
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text, counted

Found = Mapping[str, Any]
_JUDGE, _INTERVAL, _EDITS = Text("Judge"), Text("95% interval"), Text("Edits", context="number")
_GAP = Line()


@dataclass(frozen=True)
class Whose:
    """A row: the findings about a judge, over all edit models or, with `part`, over one."""

    name: Words
    found: Found
    part: str = ""

    @property
    def title(self) -> Words:
        """The edit model, or `all`."""
        return self.part or Text("all")


_NAME: Column[Whose] = Column(_JUDGE, lambda row: row.name, "name")
_PART: Column[Whose] = Column(Text("Edit model"), lambda row: row.title, "name", when=lambda row: row.part)


def agreement_sheet(document: Found) -> Sheet:
    """Returns a card of each judge, their agreement and their median.

    `document` is the result of `statistics.summary.judges_document`; under `people` and `bridge` it may hold those of
    `statistics.agreement.people_agreement` and `bridge_document`.
    """
    cards = document["judges"]
    sheet: list[Line | Table[Any]] = [Line(Text("The judges"), "strong"), _GAP, judges_table(cards)]
    ends = Text(
        "Shares with Wilson's 95% interval. Ceiling and floor: scores at the upper and the lower end of the scale."
    )
    repeats = Text(
        "Repeats: standard deviation within an edit, ICC(1,1), share of edits whose scores are "
        "all the same. A judge that decodes greedily repeats itself; that does not make it right."
    )
    sheet += [
        Line(ends, "quiet"),
        *([Line(repeats, "quiet")] if any(card["retest"] for card in cards.values()) else []),
    ]
    if between := document.get("between_judges"):
        sheet += [_GAP, alpha_table(between)]
        chance = Text("Ordinal Krippendorff's alpha: 1 is full agreement, 0 as much as chance.")
        sheet += [Line(chance, "quiet")]
        if why := between.get("no_alpha"):
            sheet += [Line(Text("No alpha: {}.", NAMES["no_alpha"][why]), "quiet")]
        apart = Text("First less second, edit by edit. Student's t, clustered on the source image.")
        sheet += [_GAP, apart_table(between), Line(apart, "quiet")]
    if document.get("no_median") == "unlike_scales":
        sheet += [Line(Text("No median: the judges' scores are on different scales."), "quiet")]
    if document.get("median"):
        only = Text("Only edits that every judge has scored; of each judge the mean over its repeats.")
        sheet += [_GAP, Line(Text("The median of the {} judges", len(cards)), "strong"), _GAP]
        sheet += [results_table(entries(document["median"]), names=(EDIT_MODEL,)), Line(only, "quiet")]
    if document.get("people"):
        sheet += [_GAP, *people_sheet(document["people"])]
    if chosen := document.get("choices"):
        people = chosen["people"] and {**chosen["people"], "judge": Text("one person, of those who chose")}
        sheet += [_GAP, Line(Text("People's choices between two edits"), "strong"), _GAP]
        sheet += [beside_table({**chosen, "people": people})]
        constant = Text(
            "How often each prefers the edit that was chosen; a tie of one of the two counts half. Constant: what "
            "always taking the side that was chosen more often comes to on the same pairs."
        )
        sheet += [Line(constant, "quiet")]
    if document.get("bridge"):
        sheet += [_GAP, *bridge_sheet(document["bridge"])]
    return sheet


def _score(title: Words, key: str, **how: Any) -> Column[Whose]:
    """Returns a column with one of the findings, written as a score."""
    return Column(title, lambda row: formats.score(row.found[key]), **how)


def _span(interval: str = "ci95") -> Column[Whose]:
    return Column(_INTERVAL, lambda row: formats.bracketed(row.found[interval]))


def _retest(title: Text, short: Text, shows: Callable[[Found], str]) -> Column[Whose]:
    def shown(row: Whose) -> str | None:
        return shows(row.found["retest"]) if row.found["retest"] else None

    return Column(title, shown, short=short, when=lambda row: row.found["retest"])


def _rate(title: Text, short: Words, key: str) -> Column[Whose]:
    return Column(title, lambda row: formats.rate(row.found[key]), short=short)


CARD: Sequence[Column[Whose]] = (
    Column(Text("Asked"), lambda row: str(row.found["asked"])),
    _rate(Text("No score"), "", "unscored"),
    _rate(Text("At the upper end"), Text("Ceiling"), "ceiling"),
    _rate(Text("At the lower end"), Text("Floor"), "floor"),
    _retest(Text("Std of repeats"), Text("Rep. sd"), lambda found: formats.score(found["sd"])),
    _retest(Text("ICC(1,1)"), Text("ICC"), lambda found: formats.score(found["icc"])),
    _retest(Text("All repeats equal"), Text("Same"), lambda found: formats.share(found["identical"], 1)),
)


def judges_table(cards: Mapping[str, Found]) -> Table[Whose]:
    """Returns a row for each judge: how often it gave no score or an end of the scale, how well it repeats itself."""
    return Table(
        every=(_NAME, *CARD), rows=[Whose(name, card) for name, card in cards.items()], label=Text("Each judge")
    )


def alpha_table(document: Found) -> Table[Whose]:
    """Returns a row for all judges together and, with more than two, for each two of them."""
    pairs = document["pairs"] if len(document["judges"]) > 2 else ()
    return Table(
        every=(
            Column(Text("Agreement between judges"), lambda row: row.name, "name"),
            Column(_EDITS, lambda row: str(row.found["edits"])),
            _score(Text("Alpha"), "alpha", look="strong"),
            _span(),
        ),
        rows=[
            Whose(", ".join(document["judges"]), document),
            *(Whose(f"{pair['a']}, {pair['b']}", pair) for pair in pairs),
        ],
        label=Text("Agreement between judges"),
    )


def apart_table(document: Found) -> Table[Whose]:
    """Returns a row for every two judges: by how much the first scores above the second, edit by edit.

    With several edit models also a row for each: a judge that is harsher throughout does not change their order.
    """
    return Table(
        every=(
            _PART,
            Column(_EDITS, lambda row: str(row.found["n"])),
            Column(Text("Images"), lambda row: str(row.found["images"])),
            _score(Text("First", context="of a pair"), "mean_a"),
            _score(Text("Second", context="of a pair"), "mean_b"),
            Column(Text("Diff."), lambda row: signed(row.found["difference"]), look="strong"),
            Column(_INTERVAL, lambda row: signed_span(row.found["ci95"])),
        ),
        rows=[
            row
            for pair in document["pairs"]
            for row in _with_parts(f"{pair['a']} - {pair['b']}", pair["apart"], pair["apart"]["edit_models"])
        ],
        group=Column(Text("Scores apart"), lambda row: row.name, "name"),
        label=Text("Scores apart"),
    )


def _with_parts(name: Words, found: Found, models: Mapping[str, Found]) -> list[Whose]:
    """Returns a row for all edit models and, with several, one for each."""
    return [Whose(name, found), *(Whose(name, one, part) for part, one in models.items() if len(models) > 1)]


# -- judges beside people --


def people_sheet(document: Found) -> Sheet:
    """Returns the result of `statistics.agreement.people_agreement` as a sheet."""
    people = Text("one person") if document["people"] == 1 else Text("{} people", document["people"])
    whose = list(_rows(document))
    title = Text("Against people: {} by {}", counted(document["scores"], "score"), people)
    sheet: list[Line | Table[Any]] = [Line(title, "strong")]
    if left := document["unmatched"]:
        words = Text("{} of the file's scores left out: they are about other edits or other scores", left)
        sheet += [Line(words, head=Text("note: "))]
    parts: Sequence[tuple[Table[Whose], Text, Text]] = (
        (
            edits_table(whose),
            Text("Within edit models, with the mean of people"),
            Text(
                "Spearman's rank correlation with the mean of people within each edit model; all: mean "
                "through Fisher's z. If all scored: what it could be at worst and at best, whatever the "
                "missing scores are."
            ),
        ),
        (
            like_table(whose, document["raters"]),
            Text("Within edit models, like for like"),
            Text(
                "With one: with one person, the mean over people; of one person, over all pairs of them. "
                "With others: with the mean of all people but one. Share: what the judge reaches with "
                "one person, over what one person does."
            ),
        ),
        (
            models_table(whose, document["raters"]),
            Text("Between edit models: their order"),
            Text(
                "Rank correlation of the models' means; its 95% interval is about other models. Pairs "
                "alike: the share of pairs of these models that judge and people order alike; its "
                "interval counts a pair as decided where both prove its order. Pairs right: of the pairs "
                "that people separate, those that the judge orders as they do."
            ),
        ),
        (
            pairs_table(document["pairs"]),
            Text("Two judges: which agrees better with people"),
            Text(
                "How much higher the first judge's correlation with people is than the second's, on the "
                "edits that both have scored, within models with a paired 95% interval."
            ),
        ),
    )
    for table, title, hint in parts:
        if table.rows:
            sheet += [_GAP, Line(title), table, Line(hint, "quiet")]
    remarks = [*unscored_lines(whose), *calibration_lines(whose)]
    return [*sheet, *([_GAP] if remarks else []), *map(Line, remarks)]


def _rows(document: Found) -> Iterator[Whose]:
    yield from (Whose(name, found) for name, found in document["judges"].items())
    if document["median"]:
        yield Whose(Text("the judges' median"), document["median"])


def edits_table(judges: Sequence[Whose]) -> Table[Whose]:
    """Returns each judge's agreement with the mean of people within edit models: over all models, and for each."""

    def number(row: Whose) -> str:
        return str(row.found["n"]) if row.part else f"{row.found['n']}/{row.found['total']}"

    def bounds(row: Whose) -> str | None:
        if row.part:
            return ""
        known = row.found["n"] < row.found["total"] and row.found["worst_case"] is not None
        return formats.bracketed([row.found["worst_case"], row.found["best_case"]]) if known else None

    return Table(
        every=(
            _PART,
            Column(Text("n"), number),
            _score(Text("Spearman"), "spearman", look=lambda row: "" if row.part else "strong"),
            Column(_INTERVAL, lambda row: "" if row.part else formats.bracketed(row.found["ci95"])),
            Column(Text("If all scored"), bounds),
        ),
        rows=[
            row
            for one in judges
            for row in _with_parts(
                Text("{}: {}", one.name, score_name(one.found["score"])), one.found, one.found["edit_models"]
            )
        ],
        group=_NAME,
    )


def like_table(judges: Sequence[Whose], raters: Found | None) -> Table[Whose]:
    """Compares like with like: each judge, and one person, with one (other) person and with the mean of all but one."""
    rows = []
    for one in judges if raters else ():
        share = one.found["as_one_person"]
        figures = {"others": one.found["others"]["spearman"], "share": share["value"], "share_ci95": share["ci95"]}
        rows.append(Whose(one.name, {**one.found["one_person"], **figures}))
    if raters:
        rows.append(Whose(Text("one person"), {**raters, "others": raters["others"]["spearman"], "share": 1.0}))
    return Table(
        every=(
            _NAME,
            _score(Text("With one"), "spearman", look="strong"),
            _span(),
            _score(Text("With others"), "others"),
            _score(Text("Share"), "share"),
            Column(
                _INTERVAL, lambda row: formats.bracketed(row.found["share_ci95"]) if "share_ci95" in row.found else ""
            ),
        ),
        rows=rows,
    )


def models_table(judges: Sequence[Whose], raters: Found | None) -> Table[Whose]:
    """Returns whether each judge orders the edit models as people do; no row if nothing is known."""
    rows = [Whose(one.name, one.found["between_models"]) for one in judges]
    known = any(row.found["spearman"] is not None or row.found["separated"] > 0 for row in rows)
    person = [Whose(Text("one person"), raters["between_models"])] if raters else []

    def of_judge(title: Text, shows: Callable[[Found], Words]) -> Column[Whose]:
        return Column(title, lambda row: shows(row.found) if "separated" in row.found else "")

    return Table(
        every=(
            _NAME,
            of_judge(Text("Models", context="number"), lambda found: str(found["models"])),
            _score(Text("Spearman"), "spearman", look="strong"),
            of_judge(Text("Pairs alike"), lambda found: _share(found["pairs_alike"])),
            of_judge(Text("Other models"), lambda found: formats.bracketed(found["ci95_models"])),
            of_judge(
                Text("Pairs right"),
                lambda found: Text("{} of {}", _share(found["pairs_ordered"]), found["separated"], context="pairs"),
            ),
        ),
        rows=[*rows, *person] if known else [],
    )


def _share(found: Found) -> str:
    """`93% (75–100%)`."""
    if found["value"] is None:
        return formats.NOTHING
    span = f" ({100 * found['ci95'][0]:.0f}–{100 * found['ci95'][1]:.0f}%)" if found["ci95"] else ""
    return f"{found['value']:.0%}{span}"


def pairs_table(pairs: Sequence[Found]) -> Table[Whose]:
    """Returns, for every two judges, how much better the first agrees with people on edits that both have scored."""
    return Table(
        every=(
            _NAME,
            Column(Text("n"), lambda row: str(row.found["n"])),
            Column(Text("Edits"), lambda row: signed(row.found["within_models"]["difference"])),
            Column(_INTERVAL, lambda row: signed_span(row.found["within_models"]["ci95"])),
            Column(Text("Models"), lambda row: signed(row.found["between_models"]["difference"])),
        ),
        rows=[Whose(f"{pair['a']} - {pair['b']}", pair) for pair in pairs],
    )


def unscored_lines(judges: Sequence[Whose]) -> Iterator[Text]:
    """Yields what people say of edits left unscored by a judge: a line for each judge that left any."""
    for one in judges:
        left = one.found["unscored"]
        if left["n"]:
            yield Text(
                "{} left {} of {} unscored: people gave these {} on average, the others {} (difference {})",
                one.name,
                left["n"],
                one.found["total"],
                *(formats.score(left[key]) for key in ("people_mean", "people_mean_scored")),
                f"{signed(left['difference'])} {signed_span(left['ci95'])}",
            )


def calibration_lines(judges: Sequence[Whose]) -> Iterator[Text]:
    """Yields how well each judge's score predicts people's: a line per judge."""
    for one in judges:
        if found := one.found["calibration"]:
            yield Text(
                "{}, calibrated, predicts people's mean score to ±{} (root mean square, on source "
                "images it was not fitted to): {} of its variance. The map is in --json.",
                one.name,
                formats.score(found["rmse"]),
                f"{max(0.0, found['explained']):.0%}",
            )


# -- the bridge from one judge to another --


def bridge_sheet(document: Found) -> Sheet:
    """Returns the result of `statistics.agreement.bridge_document` as a sheet."""
    names = [f"{document[side]['judge']} ({document[side]['score']})" for side in ("old", "new")]
    title = Text(
        "From {} to {}: {} edits of {} source images that both have scored",
        *names,
        document["n"],
        document["clusters"],
    )
    bridged = Text(
        "Bridged: the old judge's scores, each mapped to what the new judge says on average "
        "(isotonic regression), with a 95% interval over source images. One edit is predicted to "
        "±{}. Held out: bridged less new, by a map that never saw the model.",
        formats.score(document["rmse"]),
    )
    off_by = document["off_by"]
    holds = Text("All edits are by one model: how far the bridge holds for another is unknown.")
    if off_by is not None:
        holds = Text(
            "Of a model that the new judge has not seen the bridge is off by ±{} (root mean square "
            "over the models held out): means on two sides of it that lie closer are not told apart.",
            formats.score(off_by),
        )
    tables = map_table(document), continued_table(document)
    quiet, problem = Line(bridged, "quiet"), Line(holds, "problem")
    beyond = beyond_lines(document["old"]["judge"], document["edit_models"])
    return [Line(title, "strong"), _GAP, tables[0], _GAP, tables[1], quiet, problem, *beyond]


def beyond_lines(judge: str, edit_models: Mapping[str, Found]) -> list[Line]:
    """Returns a warning for each model that may be better or worse than all of a bridge."""
    return [
        Line(
            Text(
                "{}: its mean by {}, {}, is not shown to lie among those of the bridge's edit models; of a model "
                "beyond them a bridged mean is drawn back towards theirs, by about half a point of ten",
                model,
                judge,
                formats.score(row["before"]),
            ),
            "problem",
        )
        for model, row in edit_models.items()
        if row["beyond"]
    ]


def map_table(document: Found) -> Table[Whose]:
    """Returns a row for each score of the old judge, with the corresponding score of the new one."""
    old, new = (document[side]["judge"] for side in ("old", "new"))
    return Table(
        every=(
            Column(old, lambda row: f"{row.found['score']:g}", short=one_line(old, 20)),
            _score(new, "value", look="strong", short=one_line(new, 20)),
            _span(),
        ),
        rows=[Whose("", knot) for knot in document["map"]],
    )


def continued_table(document: Found) -> Table[Whose]:
    """Returns a row for each edit model scored by the old judge: its mean, that mean over the bridge, the new judge's.

    The last column is the error of a bridge fitted without this model against the new judge's mean.
    """
    out = document["held_out"]

    def missed(row: Whose) -> str | None:
        found = out.get(row.part)
        return signed(found["bridged"] - found["mean"]) if found else None

    return Table(
        every=(
            _PART,
            Column(Text("Scored"), lambda row: str(row.found["n"])),
            _score(Text("Old"), "before"),
            _score(Text("Bridged"), "bridged", look="strong"),
            _span(),
            _score(Text("New"), "mean"),
            Column(Text("Held out"), missed),
        ),
        rows=[Whose("", found, name) for name, found in document["edit_models"].items()],
    )
