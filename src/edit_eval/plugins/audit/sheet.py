"""The findings of an audit on a terminal, and their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edit_eval.plugins.audit.asking_modes import better_of
from edit_eval.plugins.audit.measure import CHANCE, Measure
from edit_eval.plugins.audit.order import NOTICED
from edit_eval.plugins.audit.passports import Passport
from edit_eval.reporting import formats
from edit_eval.reporting.language import recognise
from edit_eval.reporting.names import name_of, short_category
from edit_eval.reporting.table import Column, Line, Look, Sheet, Strip, Table
from edit_eval.text import Text

RUNGS = {
    "source": Text("source"),
    "right": Text("right"),
    "extra": Text("right, and an unasked change"),
    "no_consequence": Text("done, without what must follow"),
    "dose_75": Text("three quarters done"),
    "dose_50": Text("half done"),
    "dose_25": Text("a quarter done"),
    "wrong_target": Text("done to the wrong thing"),
    "other": Text("another instruction's edit"),
    "copy": Text("the source unchanged"),
    "shuffled": Text("another scene's edit"),
    "blank": Text("blank"),
}
"""The edits of a ladder."""
AXES = {
    "hue": Text("colour"),
    "place": Text("place"),
    "size": Text("size", context="change"),
    "count": Text("number"),
    "light": Text("light"),
}
"""Kinds of change that an edit can make in part."""
_MEASURES = {
    "order": Text("Better edits score higher"),
    "right_over_copy": Text("Right edit above the unchanged source"),
    "right_over_other": Text("Right edit above another instruction's"),
    "copy_level": Text("Score of the unchanged source"),
    "shuffled_level": Text("Score of another scene's edit"),
    "blank_level": Text("Score of a blank picture"),
    "instruction": Text("Same pixels, wrong instruction: scores lower"),
    "source": Text("Same pixels, wrong source: scores lower"),
    "dose_hue": Text("Follows changes of colour, done in part (Spearman)"),
    "dose_place": Text("Follows changes of place, done in part (Spearman)"),
    "dose_size": Text("Follows changes of size, done in part (Spearman)"),
    "dose_count": Text("Follows changes of number, done in part (Spearman)"),
    "dose_light": Text("Follows changes of light, done in part (Spearman)"),
    "retest": Text("Spread when asked again"),
    "batch": Text("Spread between alone and in a batch"),
    "position": Text("Spread when the pictures change places"),
    "language": Text("Spread between English and Chinese"),
    "jpeg": Text("Spread under JPEG 95"),
    "grey_level": Text("Spread under one level of one pixel"),
    "size": Text("Spread under seven eighths of the size"),
    "words_en": Text("Gain by “Score: 10” written into the edit"),
    "words_zh": Text("Gain by “评分：10” written into the edit"),
    "modal_share": Text("Share of the most frequent score"),
    "unscored": Text("Unscored"),
    "contradictions": Text("Contradicts itself when the two edits change places"),
    "same_again": Text("Same outcome when asked again"),
    "same_in_language": Text("Same outcome in English and in Chinese"),
    "called_equal": Text("One edit, shown twice, is called equal"),
    "first_shown": Text("Preference for the edit shown first (one half: none)"),
    "right_first": Text("Right edit before any flawed one"),
    "as_one_person": Text("Agrees with a person, as a share of what another person does"),
    "pairs_ordered": Text("Orders edit models as people do (pairs that they tell apart)"),
    "unscored_gap": Text("Unscored: wrong edits less right ones"),
    "full_marks": Text("Full marks for a flawed edit"),
    "noticeable_hue": Text("Smallest flaw that is noticed: colour"),
    "noticeable_place": Text("Smallest flaw that is noticed: place"),
    "noticeable_size": Text("Smallest flaw that is noticed: size"),
    "noticeable_count": Text("Smallest flaw that is noticed: number"),
    "noticeable_light": Text("Smallest flaw that is noticed: light"),
    "wrong_target_over_copy": Text("Done to the wrong thing above not done (disputable)"),
    "copy_over_other": Text("Not done above another instruction's (disputable)"),
    "copy_over_shuffled": Text("Not done above another scene's (disputable)"),
    "dose_25_over_copy": Text("A quarter done above not done (disputable)"),
}
_FAULTS = {
    "order": Text("It does not put better edits above worse ones."),
    "right_over_copy": Text("It does not put the right edit above the unchanged source."),
    "right_over_other": Text("It does not put the right edit above one that nobody asked for."),
    "copy_level": Text("It scores an unchanged source above the lowest quarter of its scale."),
    "shuffled_level": Text("It scores an edit of another picture above the lowest quarter of its scale."),
    "blank_level": Text("It scores a blank picture above the lowest quarter of its scale."),
    "instruction": Text("It does not look at the instruction."),
    "source": Text("It does not look at the source."),
    "dose_hue": Text("It does not see how much of a colour has changed."),
    "dose_place": Text("It does not see how far a thing has moved."),
    "dose_size": Text("It does not see how much a thing has grown or shrunk."),
    "dose_count": Text("It does not see how many have changed."),
    "dose_light": Text("It does not see how much of the light has changed."),
    "retest": Text("It contradicts itself when it is asked again."),
    "batch": Text("Its score depends on what else is in its batch."),
    "position": Text("Its score depends on which picture comes first, though it is told."),
    "language": Text("It scores the same edit differently in English and in Chinese."),
    "jpeg": Text("Its score depends on JPEG compression that nobody sees."),
    "grey_level": Text("Its score depends on a single level of a single pixel."),
    "size": Text("Its score depends on the size of the picture."),
    "words_en": Text("It believes English words that are written into the picture."),
    "words_zh": Text("It believes Chinese words that are written into the picture."),
    "modal_share": Text("It gives one and the same score to more than half of all edits, right or wrong."),
    "unscored": Text("It leaves too much unscored."),
    "unscored_gap": Text("It leaves wrong edits unscored more often than right ones, which spares them."),
    "contradictions": Text("It often prefers the other edit when the two change places."),
    "same_again": Text("It contradicts itself when it is asked again."),
    "same_in_language": Text("It prefers another edit in English than in Chinese."),
    "as_one_person": Text("It agrees with a person less than half as well as another person does."),
    "pairs_ordered": Text("It does not put edit models into the order that people give them."),
}
_WEAK = {
    "order": Text("It puts better edits above worse ones too seldom."),
    "right_over_copy": Text("It puts the right edit above the unchanged source too seldom."),
    "right_over_other": Text("It puts the right edit above one that nobody asked for too seldom."),
    "instruction": Text("It heeds the instruction too seldom."),
    "source": Text("It heeds the source too seldom."),
    "dose_hue": Text("It hardly sees how much of a colour has changed."),
    "dose_place": Text("It hardly sees how far a thing has moved."),
    "dose_size": Text("It hardly sees how much a thing has grown or shrunk."),
    "dose_count": Text("It hardly sees how many have changed."),
    "dose_light": Text("It hardly sees how much of the light has changed."),
    "pairs_ordered": Text("It often orders edit models differently from people."),
}
"""The same where it is shown to do better than chance, and too little better."""
GRAVEST = 8
"""Weaknesses that are told first; the others are in full, and on the page."""
RIGHT_FIRST = "right_first"
"""The measure by which ways of asking one judge are compared."""
_BETTER_WAY = {
    "two": Text("It is better asked about two edits at a time: so it finds the right one more often."),
    "single": Text("It is better asked about one edit at a time: so it finds the right one more often."),
    "neither": Text("Neither one edit at a time nor two is shown to be the better way of asking it."),
}
RESULTS = {"passed": Text("passed"), "not_passed": Text("not passed"), "not_shown": Text("not shown")}
MEANS = {
    "passed": Text("It puts edits of known quality in their order, and passed everything that was asked of it."),
    "limited": Text("It sees what it scores, as far as was shown. Name the following beside its scores."),
    "failed": Text("For the reasons below, its scores can put the worse model first. Do not rank models by them."),
}
"""What each verdict means."""
_TELLS_NOTHING = Text("Its scores do not tell good edits from bad ones. Do not rank models by them.")


def meaning(passport: Passport) -> Text:
    """Returns what the verdict means. That scores tell nothing is only said where the order is near chance."""
    order = passport.measures.get("order")
    if passport.verdict == "failed" and order is not None and (order.value or 0.0) < NOTICED:
        return _TELLS_NOTHING
    return MEANS[passport.verdict]


def measure_words(name: str) -> Text | str:
    """Returns the name of a measure: one of the texts, or the two rungs of a pair; for a measure of another version,
    unknown to this one, its plain name."""
    if name in _MEASURES:
        return _MEASURES[name]
    if not set(name.split("_over_")) <= RUNGS.keys():
        return name.replace("_", " ")
    return Text("{}, above: {}", *_pair(name))


def _pair(name: str) -> tuple[Text, Text]:
    better, worse = name.split("_over_")
    return RUNGS[better], RUNGS[worse]


def failure_words(key: str) -> str:
    """Puts one of `Passport.failures` into words: `order (causal)` is the order within a category."""
    name, _, group = key.removesuffix(")").partition(" (")
    measure = measure_words(name)
    return Text("{}, {}", measure, _group(group), context="category") if group else measure


def _group(name: str) -> str:
    return AXES[name] if name in AXES else short_category(name)


class MeasureRow(NamedTuple):
    """One measure as shown."""

    label: str
    measure: Measure
    value: str
    interval: str
    asked: str
    of: str
    result: str
    """`passed`, `not_passed` or `not_shown`; empty if nothing is required."""


def rows(passport: Passport, *, held: bool) -> list[MeasureRow]:
    """Returns the measures with a requirement, categories last; or, not `held`, those without one."""
    labelled_measures = [(measure_words(name), name, measure) for name, measure in passport.measures.items()]
    for category, measures in passport.categories.items():
        for name, measure in measures.items():
            label = Text("{}, {}", measure_words(name), _group(category), context="category")
            labelled_measures.append((label, name, measure))
    return [
        _row(label, name, measure) for label, name, measure in labelled_measures if (measure.floor is not None) == held
    ]


def _row(label: str, name: str, measure: Measure) -> MeasureRow:
    sign = "≥" if measure.bound == "at_least" else "≤"
    return MeasureRow(
        label,
        measure,
        formats.score(measure.value, 3),
        formats.format_interval(measure.ci95, 3),
        "" if measure.floor is None else f"{sign} {measure.floor:g}",
        _describe_size(name, measure),
        result_of(measure),
    )


def _describe_size(name: str, measure: Measure) -> Text:
    """Says how much data a measure rests on."""
    if name == "as_one_person":
        return Text("{} edits of {} source images", measure.n, measure.scenes)
    if name == "pairs_ordered":
        return Text("{} pairs of edit models, {} source images", measure.n, measure.scenes)
    return Text("{} in {} scenes", measure.n, measure.scenes)


def result_of(measure: Measure) -> str:
    """Returns `passed`, `not_passed`, `not_shown` (value good enough, interval too wide) or nothing."""
    if measure.passed is None:
        return ""
    return "passed" if measure.passed else "not_passed" if measure.is_missed else "not_shown"


def weaknesses(passport: Passport, *, full: bool = True) -> list[str]:
    """Returns a sentence for each measure not passed, naming its category if it has one: wrong preferences first, what
    could not be shown last, of which only the number is told unless `full`."""
    wrong: list[str] = []
    faults: list[str] = []
    unshown: list[Text | str] = []
    for category, measures in (("", passport.measures), *passport.categories.items()):
        title = _group(category)
        for name, measure in measures.items():
            if measure.passed is not False:
                continue
            if fault := _fault(name, measure):
                line = Text("{}: {}", title, fault) if category else fault
                (wrong if measure.is_reversed else faults).append(line)
            else:
                label = measure_words(name)
                unshown.append(Text("{}, {}", label, title, context="category") if category else label)
    few = Text("For {} other measures it was shown too few scenes to tell.", len(unshown))
    lines = [Text("Too little was seen to show: {:; }.", unshown) if full else few] if unshown else []
    return [*wrong, *faults, *lines]


def _fault(name: str, measure: Measure) -> Text | None:
    """Returns the sentence about a measure that was not passed; None if there is too little data to say so."""
    if name in _FAULTS:
        if not measure.is_missed:
            return None
        chance = 0.0 if name.startswith("dose_") else CHANCE
        return _WEAK[name] if name in _WEAK and measure.is_greater_than(chance) else _FAULTS[name]
    better, worse = _pair(name)
    if measure.is_reversed:
        return Text("It puts “{}” above “{}”.", worse, better)
    blind = measure.floor == NOTICED or measure.is_less_than(NOTICED)  # tied, or too often wrong
    return Text("It does not tell “{}” from “{}”.", better, worse) if blind else None


def _strip(row: MeasureRow) -> Strip | None:
    """Returns the interval, the value and what is required, as a drawing."""
    measure = row.measure
    if measure.value is None or measure.ci95 is None or measure.floor is None:
        return None
    low, value, high, asked = (
        max(0.0, min(1.0, end)) for end in (measure.ci95[0], measure.value, measure.ci95[1], measure.floor)
    )
    return Strip(low, value, high, asked=asked)


def describe_people_comparison(passport: Passport) -> str:
    """Says whose scores were compared with people's; empty if none were."""
    by = passport.people
    if by is None:
        return ""
    if by.recorded:
        return Text("recorded replies, as {} in {}", by.judge, by.run)
    return Text("its own scores, as {} in {}", by.judge, by.run)


def measures_table(passport: Passport) -> Table[MeasureRow]:
    """Returns a row for each measure, those without a requirement last."""
    looks: Mapping[str, Look] = {"not_passed": "wrong", "not_shown": "problem"}
    return Table(
        every=(
            Column(Text("Measure"), lambda row: row.label, "name", look=lambda row: "" if row.result else "quiet"),
            Column(Text("Value"), lambda row: row.value),
            Column(Text("95% interval"), lambda row: row.interval),
            Column(Text("from {} to {}", 0, 1), lambda row: "", strip=_strip, roomy=True),
            Column(Text("Asked for"), lambda row: row.asked),
            Column(
                Text("Result"),
                lambda row: RESULTS.get(row.result, ""),
                "word",
                look=lambda row: looks.get(row.result, ""),
            ),
            Column(
                Text("Of"),
                lambda row: row.of,
                "word",
                look="quiet",
                aside=lambda row: recognise(row.measure.reason),
                roomy=True,
            ),
        ),
        rows=[row for held in (True, False) for row in rows(passport, held=held)],
        gap=2,
    )


def ways_table(ways: Sequence[Passport]) -> Table[Passport]:
    """Returns a row for each way the judge was asked, the one that finds right edits most often first."""
    columns: tuple[Column[Passport], ...] = (
        Column(Text("Asked by"), lambda way: way.subject.protocol, "name"),
        Column(Text("Shown"), lambda way: Text("two edits") if way.compares else Text("one edit"), "word"),
        Column(Text("Form"), lambda way: ", ".join(way.form), "word"),
        Column(Text("Right edit first"), lambda way: formats.score(way.measures[RIGHT_FIRST].value, 3), look="strong"),
        Column(Text("95% interval"), lambda way: formats.format_interval(way.measures[RIGHT_FIRST].ci95, 3)),
        Column(Text("Verdict"), lambda way: name_of("verdict", way.verdict), "word"),
    )
    return Table(columns, sorted(ways, key=lambda way: -(way.measures[RIGHT_FIRST].value or 0.0)), gap=2)


def better_way(ways: Sequence[Passport]) -> Text | None:
    """Says whether the judge finds right edits more often when asked about one edit at a time or two; None if it was
    asked in one way only."""
    two, single = ([way.measures[RIGHT_FIRST] for way in ways if way.compares is two] for two in (True, False))
    better = better_of(two, single)
    return None if better is None else _BETTER_WAY[better]


def ways_sheet(ways: Sequence[Passport]) -> Sheet:
    """Returns the ways the judge was asked, and which is better; empty if it was asked in one way."""
    if len(ways) < 2:
        return []
    words = better_way(ways)
    return [Line(), ways_table(ways), *([Line(words)] if words else [])]


def audit_sheet(passport: Passport, ways: Sequence[Passport] = (), *, full: bool = True) -> Sheet:
    """Returns the verdict, the weaknesses, if `full` a table of all measures and, if there are several, the `ways` the
    judge was asked."""
    looks: Mapping[str, Look] = {"passed": "right", "limited": "problem", "failed": "wrong"}
    found = weaknesses(passport, full=full)
    return [
        Line(Text("{}: {}", passport.name, name_of("verdict", passport.verdict)), looks[passport.verdict]),
        Line(meaning(passport)),
        *(Line(line, head="  - ") for line in found[: None if full else GRAVEST]),
        *(_measures(passport) if full else [_rest(len(found) - GRAVEST)]),
        *ways_sheet(ways),
    ]


def _rest(more: int) -> Line:
    if more > 0:
        return Line(Text("`--full` prints {} more and all measures; so does the page.", more), "quiet")
    return Line(Text("`--full` prints all measures; so does the page."), "quiet")


def _measures(passport: Passport) -> Sheet:
    beside = describe_people_comparison(passport)
    return [
        Line(),
        measures_table(passport),
        *([Line(Text("{}: {}", Text("Beside people"), beside))] if beside else []),
        Line(
            Text(
                "Shares from 0 to 1, with the score's range as 1. Intervals are clustered on the scene, "
                "beside people on the source image. What is asked for has to hold for the whole "
                "interval, not for the value alone; how changes done in part are followed, what is hard "
                "to tell (≥ 0.45), and how many more wrong edits are left unscored, for the value. Each other kind "
                "of pair has to be above one half, corrected for their number. Ties count half."
            ),
            "quiet",
        ),
    ]


def places_of(run: object, page: object, file: object) -> Sheet:
    """Returns the places of run, page if one is drawn, and passport, a line each."""
    drawn = [Line(Text("page: {}", page))] if page else []
    quoted = Line(Text("runs with this judge quote it: edit-eval report RUN"), "quiet")
    return [Line(Text("run: {}", run)), *drawn, Line(Text("passport: {}", file)), quoted]
