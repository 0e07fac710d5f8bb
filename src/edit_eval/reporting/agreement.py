"""The judges as instruments, on a terminal: with themselves, with each other, their median, and with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from edit_eval.reporting import formats
from edit_eval.reporting.entries import entries
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.language import said
from edit_eval.reporting.names import NAMES, score_name
from edit_eval.reporting.result_tables import EDIT_MODEL, results_table
from edit_eval.reporting.terminal_text import (
    Name,
    Styled,
    numbers,
    one_line,
    plain_table,
    print_beside,
    print_dim,
    stdout_console,
)
from edit_eval.reporting.writers.terminal import terminal_table
from edit_eval.text import Text, counted


def print_agreement(document: Mapping[str, Any], console: Console | None = None, *, language: str = "en") -> None:
    """Prints a card of each judge, their agreement and their median, in English or Chinese.

    `document` is what `statistics.summary.judges_document` returned; under `people` and `bridge`, where there is any,
    what `statistics.agreement.people_agreement` and `bridge_document` did.
    """
    console = console or stdout_console()
    console.print(Styled(said(Text("The judges"), language), style="bold"))
    console.print()
    console.print(judges_table(document, language))
    retested = any(card["retest"] for card in document["judges"].values())
    print_dim(
        console,
        said(
            Text(
                "Shares with Wilson's 95% interval. Ceiling and floor: scores at the upper and the lower "
                "end of the scale."
            ),
            language,
        ),
    )
    if retested:
        print_dim(
            console,
            said(
                Text(
                    "Repeats: standard deviation within an edit, ICC(1,1), share of edits whose scores are "
                    "all the same. A judge that decodes greedily repeats itself; that does not make it right."
                ),
                language,
            ),
        )
    if document.get("between_judges"):
        console.print()
        console.print(alpha_table(document["between_judges"], language))
        print_dim(
            console, said(Text("Ordinal Krippendorff's alpha: 1 is full agreement, 0 as much as chance."), language)
        )
        if why := no_alpha(document["between_judges"], language):
            print_dim(console, why)
        console.print()
        console.print(apart_table(document["between_judges"], language))
        print_dim(
            console,
            said(Text("First less second, edit by edit. Student's t, clustered on the source image."), language),
        )
    if document.get("no_median") == "unlike_scales":
        print_dim(console, said(Text("No median: the judges' scores are on different scales."), language))
    if document.get("median"):
        console.print()
        judges = len(document["judges"])
        console.print(Styled(said(Text("The median of the {} judges", judges), language), style="bold"))
        console.print()
        console.print(terminal_table(results_table(entries(document["median"]), names=(EDIT_MODEL,)), language))
        print_dim(
            console,
            said(Text("Only edits that every judge has scored; of each judge the mean over its repeats."), language),
        )
    if document.get("people"):
        console.print()
        print_people(document["people"], console, language)
    if document.get("bridge"):
        console.print()
        print_bridge(document["bridge"], console, language)


def judges_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for each judge: how often it gave no score, how often the ends of the scale, how it repeats itself."""
    cards = document["judges"]
    retested = any(card["retest"] for card in cards.values())
    keys = [Text("Asked"), Text("No score"), Text("Ceiling"), Text("Floor")]
    keys += [Text("Rep. sd"), Text("ICC"), Text("Same")] if retested else []
    table = plain_table(said(Text("Judge"), language), *numbers(*(said(key, language) for key in keys)), gap=1)
    for judge, card in cards.items():
        retest = card["retest"]
        repeats = [formats.NOTHING] * 3
        if retest:
            repeats = [formats.score(retest["sd"]), formats.score(retest["icc"]), f"{retest['identical']:.0%}"]
        table.add_row(
            Name(judge),
            str(card["asked"]),
            formats.rate(card["unscored"]),
            formats.rate(card["ceiling"]),
            formats.rate(card["floor"]),
            *(repeats if retested else ()),
        )
    return table


def alpha_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for all judges together and, with more than two, for each two of them."""
    headings = [said(key, language) for key in (Text("Edits", context="number"), Text("Alpha"), Text("95% interval"))]
    table = plain_table(said(Text("Agreement between judges"), language), *numbers(*headings), gap=1)
    rows = [(", ".join(document["judges"]), document)]
    if len(document["judges"]) > 2:
        rows += [(f"{pair['a']}, {pair['b']}", pair) for pair in document["pairs"]]
    for name, found in rows:
        alpha = Styled(formats.score(found["alpha"]), style="bold")
        table.add_row(Name(name), str(found["edits"]), alpha, formats.bracketed(found["ci95"]))
    return table


def no_alpha(document: Mapping[str, Any], language: str) -> str:
    """Why judges have no alpha together; empty where they have."""
    why = document.get("no_alpha")
    return said(Text("No alpha: {}.", NAMES["no_alpha"][why]), language) if why else ""


def apart_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for every two judges: by how much the scores of the first lie above those of the second, edit by edit.

    With several edit models also for each of them: a judge that is harsher throughout changes no order of theirs.
    """
    headings = [
        said(key, language)
        for key in (
            Text("Edits", context="number"),
            Text("Images"),
            Text("First", context="of a pair"),
            Text("Second", context="of a pair"),
        )
    ]
    headings += [said(key, language) for key in (Text("Diff."), Text("95% interval"))]
    table = plain_table(said(Text("Scores apart"), language), *numbers(*headings), gap=1)
    for pair in document["pairs"]:
        models = pair["apart"]["edit_models"]
        rows = [(Name(f"{pair['a']} - {pair['b']}"), pair["apart"])]
        rows += [(Name(name, indent=2), one) for name, one in models.items() if len(models) > 1]
        for name, found in rows:
            table.add_row(
                name,
                str(found["n"]),
                str(found["images"]),
                formats.score(found["mean_a"]),
                formats.score(found["mean_b"]),
                Styled(signed(found["difference"]), style="bold"),
                signed_span(found["ci95"]),
            )
    return table


# -- judges beside people --


def print_people(document: Mapping[str, Any], console: Console, language: str = "en") -> None:
    """What `statistics.agreement.people_agreement` returned."""
    scores = counted(document["scores"], "score")
    people = Text("one person") if document["people"] == 1 else Text("{} people", document["people"])
    console.print(Styled(said(Text("Against people: {} by {}", scores, people), language), style="bold"))
    if document["unmatched"]:
        words = said(
            Text("{} of the file's scores left out: they are about other edits or other scores", document["unmatched"]),
            language,
        )
        print_beside(console, Styled(said(Text("note: "), language), style="yellow"), Styled(words))
    tables = [
        (
            edits_table,
            Text("Within edit models, with the mean of people"),
            Text(
                "Spearman's rank correlation with the mean of people within each edit model; all: mean "
                "through Fisher's z. If all scored: what it could be at worst and at best, whatever the "
                "missing scores are."
            ),
        )
    ]
    tables += (
        [
            (
                like_table,
                Text("Within edit models, like for like"),
                Text(
                    "With one: with one person, the mean over people; of one person, over all pairs of them. "
                    "With others: with the mean of all people but one. Share: what the judge reaches with "
                    "one person, over what one person does."
                ),
            )
        ]
        if document["raters"]
        else []
    )
    tables += (
        [
            (
                models_table,
                Text("Between edit models: their order"),
                Text(
                    "Rank correlation of the models' means; its 95% interval is about other models. Pairs "
                    "alike: the share of pairs of these models that judge and people order alike; its "
                    "interval counts a pair as decided where both prove its order. Pairs right: of the pairs "
                    "that people separate, those that the judge orders as they do."
                ),
            )
        ]
        if any(_models(document))
        else []
    )
    tables += (
        [
            (
                pairs_table,
                Text("Two judges: which agrees better with people"),
                Text(
                    "How much higher the first judge's correlation with people is than the second's, on the "
                    "edits that both have scored, within models with a paired 95% interval."
                ),
            )
        ]
        if document["pairs"]
        else []
    )
    for table, title, hint in tables:
        console.print()
        console.print(Styled(said(title, language)))
        console.print(table(document, language))
        print_dim(console, said(hint, language))
    remarks = [*unscored_lines(document, language), *calibration_lines(document, language)]
    if remarks:
        console.print()
    for line in remarks:
        print_beside(console, "", Styled(one_line(line)))


def _rows(document: Mapping[str, Any], language: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from document["judges"].items()
    if document["median"]:
        yield said(Text("the judges' median"), language), document["median"]


def _models(document: Mapping[str, Any]) -> Iterator[bool]:
    for _, found in _rows(document, "en"):
        yield found["between_models"]["spearman"] is not None or found["between_models"]["separated"] > 0


def edits_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """For each judge its agreement with the mean of people within edit models: over all, and for each of them."""
    keys = (Text("n"), Text("Spearman"), Text("95% interval"), Text("If all scored"))
    figures = numbers(*(said(key, language) for key in keys))
    table = plain_table(said(Text("Judge"), language), said(Text("Edit model"), language), *figures, gap=1)
    for judge, found in _rows(document, language):
        models = found["edit_models"]
        table.add_row(
            Name(f"{judge}: {score_name(found['score'], language)}"),
            said(Text("all"), language),
            f"{found['n']}/{found['total']}",
            Styled(formats.score(found["spearman"]), style="bold"),
            formats.bracketed(found["ci95"]),
            formats.NOTHING
            if found["n"] == found["total"] or found["worst_case"] is None
            else formats.bracketed([found["worst_case"], found["best_case"]]),
        )
        for name, model in models.items() if len(models) > 1 else ():
            table.add_row("", Name(name), str(model["n"]), formats.score(model["spearman"]), "", "")
    return table


def like_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """Like for like: each judge, and one person, with one (other) person, and with the mean of all but one."""
    headings = [said(key, language) for key in (Text("With one"), Text("95% interval"), Text("With others"))]
    headings += [said(key, language) for key in (Text("Share"), Text("95% interval"))]
    table = plain_table(said(Text("Judge"), language), *numbers(*headings), gap=1)
    for judge, found in _rows(document, language):
        as_one = found["as_one_person"]
        table.add_row(
            Name(judge),
            Styled(formats.score(found["one_person"]["spearman"]), style="bold"),
            formats.bracketed(found["one_person"]["ci95"]),
            formats.score(found["others"]["spearman"]),
            formats.score(as_one["value"]),
            formats.bracketed(as_one["ci95"]),
        )
    raters = document["raters"]
    one = Styled(formats.score(raters["spearman"]), style="bold")
    others, person = formats.score(raters["others"]["spearman"]), said(Text("one person"), language)
    table.add_row(person, one, formats.bracketed(raters["ci95"]), others, formats.score(1.0), "")
    return table


def models_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """Whether each judge puts the edit models into the order that people give them."""
    keys = (
        Text("Models", context="number"),
        Text("Spearman"),
        Text("Pairs alike"),
        Text("Other models"),
        Text("Pairs right"),
    )
    headings = numbers(*(said(key, language) for key in keys))
    table = plain_table(said(Text("Judge"), language), *headings, gap=1)
    for judge, found in _rows(document, language):
        between = found["between_models"]
        right = between["pairs_ordered"]
        table.add_row(
            Name(judge),
            str(between["models"]),
            Styled(formats.score(between["spearman"]), style="bold"),
            _share(between["pairs_alike"]),
            formats.bracketed(between["ci95_models"]),
            said(Text("{} of {}", _share(right), between["separated"], context="pairs"), language),
        )
    if document["raters"]:
        person = document["raters"]["between_models"]
        one = Styled(formats.score(person["spearman"]), style="bold")
        table.add_row(said(Text("one person"), language), "", one, "", "", "")
    return table


def _share(found: Mapping[str, Any]) -> str:
    """`93% (75–100%)`."""
    if found["value"] is None:
        return formats.NOTHING
    span = f" ({100 * found['ci95'][0]:.0f}–{100 * found['ci95'][1]:.0f}%)" if found["ci95"] else ""
    return f"{found['value']:.0%}{span}"


def pairs_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """For every two judges by how much the first agrees better with people, on the edits that both have scored."""
    headings = [said(key, language) for key in (Text("n"), Text("Edits"), Text("95% interval"), Text("Models"))]
    table = plain_table(said(Text("Judge"), language), *numbers(*headings), gap=1)
    for pair in document["pairs"]:
        within, between = pair["within_models"], pair["between_models"]
        figures = signed(within["difference"]), signed_span(within["ci95"]), signed(between["difference"])
        table.add_row(Name(f"{pair['a']} - {pair['b']}"), str(pair["n"]), *figures)
    return table


def unscored_lines(document: Mapping[str, Any], language: str = "en") -> list[str]:
    """What people say of the edits that a judge left unscored: a line a judge that left any."""
    lines = []
    for judge, found in _rows(document, language):
        left = found["unscored"]
        if left["n"]:
            means = (formats.score(left[key]) for key in ("people_mean", "people_mean_scored"))
            apart = f"{signed(left['difference'])} {signed_span(left['ci95'])}"
            words = Text(
                "{} left {} of {} unscored: people gave these {} on average, the others {} (difference {})",
                judge,
                left["n"],
                found["total"],
                *means,
                apart,
            )
            lines.append(said(words, language))
    return lines


def calibration_lines(document: Mapping[str, Any], language: str = "en") -> list[str]:
    """How well a judge's score foretells what people say: a line a judge."""
    return [
        said(
            Text(
                "{}, calibrated, predicts people's mean score to ±{} (root mean square, on source "
                "images it was not fitted to): {} of its variance. The map is in --json.",
                judge,
                formats.score(found["calibration"]["rmse"]),
                f"{max(0.0, found['calibration']['explained']):.0%}",
            ),
            language,
        )
        for judge, found in _rows(document, language)
        if found["calibration"]
    ]


# -- the bridge from one judge to another --


def print_bridge(document: Mapping[str, Any], console: Console, language: str = "en") -> None:
    """What `statistics.agreement.bridge_document` returned."""
    names = {side: f"{document[side]['judge']} ({document[side]['score']})" for side in ("old", "new")}
    n, images = document["n"], document["clusters"]
    line = Text(
        "From {} to {}: {} edits of {} source images that both have scored", names["old"], names["new"], n, images
    )
    console.print(Styled(one_line(said(line, language)), style="bold"))
    console.print()
    console.print(map_table(document, language))
    console.print()
    console.print(continued_table(document, language))
    print_dim(
        console,
        said(
            Text(
                "Bridged: the old judge's scores, each mapped to what the new judge says on average "
                "(isotonic regression), with a 95% interval over source images. One edit is predicted to "
                "±{}. Held out: bridged less new, by a map that never saw the model.",
                formats.score(document["rmse"]),
            ),
            language,
        ),
    )
    off_by = document["off_by"]
    words = Text("All edits are by one model: how far the bridge holds for another is unknown.")
    if off_by is not None:
        words = Text(
            "Of a model that the new judge has not seen the bridge is off by ±{} (root mean square "
            "over the models held out): means on two sides of it that lie closer are not told apart.",
            formats.score(off_by),
        )
    print_beside(console, "", Styled(said(words, language), style="yellow"))


def map_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for each score of the old judge: which score of the new one it corresponds to."""
    names = [one_line(document[side]["judge"], 20) for side in ("old", "new")]
    table = plain_table(*numbers(*names, said(Text("95% interval"), language)), gap=1)
    for knot in document["map"]:
        value = Styled(formats.score(knot["value"]), style="bold")
        table.add_row(f"{knot['score']:g}", value, formats.bracketed(knot["ci95"]))
    return table


def continued_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for each edit model that the old judge has scored: its mean, what it is over the bridge, and the new one's.

    The last column: how far a bridge that never saw this model misses what the new judge says of it.
    """
    keys = (Text("Scored"), Text("Old"), Text("Bridged"), Text("95% interval"), Text("New"), Text("Held out"))
    table = plain_table(said(Text("Edit model"), language), *numbers(*(said(key, language) for key in keys)), gap=1)
    for model, found in document["edit_models"].items():
        out = document["held_out"].get(model)
        table.add_row(
            Name(model),
            str(found["n"]),
            formats.score(found["before"]),
            Styled(formats.score(found["bridged"]), style="bold"),
            formats.bracketed(found["ci95"]),
            formats.score(found["mean"]),
            signed(out["bridged"] - out["mean"]) if out else formats.NOTHING,
        )
    return table
