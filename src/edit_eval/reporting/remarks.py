"""Remarks beside a run's numbers: what is known of a judge, and controls that it does not put last; what few images
cannot show, how far readings are apart, and how much probability is on well-formed answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from edit_eval.records import JUDGE_FAILED, ExaminedJudge, Status
from edit_eval.reporting import formats
from edit_eval.reporting.entries import ControlRow, entries, headlines, judges_without_sight
from edit_eval.reporting.names import name_of
from edit_eval.statistics.intervals import FEW_RULE_OUT
from edit_eval.statistics.raters import JudgeReadings
from edit_eval.statistics.summary import Summary
from edit_eval.store.examined import examiner
from edit_eval.text import Text


def examination_words(document: ExaminedJudge) -> Text:
    """Returns what is known of a judge, by its document in a summary, in one line: `not audited`; empty without an
    examiner."""
    by = examiner()
    return Text("") if by is None else by.words(document)


def examination_lines(judges: Mapping[str, ExaminedJudge]) -> list[Text]:
    """Returns what is known of each judge of a summary that can be examined, and what speaks for it."""
    by = examiner()
    if by is None:
        return []
    lines = [Text("Judge {}: {}", judge, by.words(document)) for judge, document in judges.items()]
    return [*lines, *examination_remarks(judges)]


def examination_remarks(judges: Mapping[str, ExaminedJudge]) -> list[Text]:
    """Returns what speaks for the judges of a summary, or says nothing against them."""
    by = examiner()
    return [line for judge, document in judges.items() for line in by.remarks(judge, document)] if by else []


# -- controls --

_CONTROLS = {
    "source": Text("the source itself"),
    "blank": Text("a grey picture"),
    "shuffled": Text("the edit of another sample"),
}


def controls_explained(controls: Iterable[ControlRow]) -> Text:
    """Says what the controls of a table are."""
    kinds = dict.fromkeys(row.kind for row in controls)
    pictures = [_CONTROLS.get(kind, kind) for kind in kinds]
    return Text("Controls are judged like edits and are in no other number: {}.", pictures)


def wrong_lines(summary: Summary) -> list[Text]:
    """Returns every reason to distrust a judge's scores: what its examiner says, and controls not put last."""
    judges, by = summary.judges.items(), examiner()
    warned = [line for judge, document in judges for line in by.warnings(judge, document)] if by else []
    return [*warned, *control_lines(summary)]


def control_lines(summary: Summary) -> list[Text]:
    """Returns a line for each judge that is shown not to put a control below edits."""
    scales = {result.judge: result.headline_numbers.scale for result in summary.results}
    lines = []
    for judge, kinds in judges_without_sight(summary):
        digits = formats.decimals(scales[judge], max(abs(beside.edits or 0.0) for _, beside in kinds))
        parts = []
        for kind, beside in kinds:
            ends = formats.format_interval(beside.ci95, digits)
            interval = Text(", difference {}", ends) if beside.ci95 else ""
            control, edits = (formats.score(value, digits) for value in (beside.control, beside.edits))
            parts.append(Text("{} ({} against {}{})", _CONTROLS.get(kind, kind), control, edits, interval))
        lines.append(
            Text(
                "{} does not put controls clearly last: no edit model scores better, by a tenth of the scale, than {}.",
                judge,
                parts,
            )
        )
    return lines


def unshown_lines(summary: Summary) -> list[Text]:
    """Returns a line for each judge that controls do not show to see edits, and do not show to be unfit either; one
    line if they are off."""
    if summary.controls.off:
        return [Text("No controls were judged (evaluation.controls is 0), so nothing shows that the judge sees edits.")]
    judges = [opinion.judge for opinion in summary.verdict.opinions if opinion.sees == "unknown"]
    return [Text("Judge {}: not shown to see edits ({})", judge, why_unshown(summary, judge)) for judge in judges]


def has_controls(summary: Summary, judge: str) -> bool:
    """True if a judge was asked about controls."""
    kinds = summary.controls.judges[judge].kinds if judge in summary.controls.judges else {}
    return any(block.coverage.total for block in kinds.values())


def why_unshown(summary: Summary, judge: str) -> Text:
    """Says why controls do not show that a judge sees edits."""
    controls = summary.controls
    kinds = controls.judges[judge].kinds if judge in controls.judges else {}
    asked = max((block.coverage.total for block in kinds.values()), default=0)
    if not asked:
        return Text("no controls: they would be more than a third of the few questions about edits")
    silent = {
        kind: block.coverage for kind, block in kinds.items() if block.coverage.total and not block.coverage.scored
    }
    statuses = list(dict.fromkeys(status for coverage in silent.values() for status in coverage.by_status))
    if silent and all(Status(status) in JUDGE_FAILED for status in statuses):
        return Text(
            "it gave no score to {}: {}; `run --retry {}` asks again",
            [_CONTROLS.get(kind, kind) for kind in silent],
            [name_of("status", status) for status in statuses],
            ",".join(statuses),
        )
    if asked < controls.fewest:
        return Text(
            "{} control of each kind shows nothing yet, {} or more can",
            asked,
            controls.fewest,
            plural="{} controls of each kind show nothing yet, {} or more can",
        )
    open_ = {kind: block.beside_edits for kind, block in kinds.items() if block.beside_edits.below is None}
    scale = next(result.headline_numbers.scale for result in summary.results if result.judge == judge)
    digits = formats.decimals(scale)
    scored = [
        Text(
            "{} ({} against {})", _CONTROLS.get(kind, kind), *(formats.score(v, digits) for v in (of.control, of.edits))
        )
        for kind, of in open_.items()
    ]
    return Text("it scores {: and } not clearly lower than the edits", scored)


# -- below the results --


def footnotes(summary: Summary) -> list[Text]:
    """Returns the footnotes: none for many images, nor for a judge read once from its written answer."""
    parts = headlines(entries(summary.results))
    of_all = [(part.overall.ruled_out_share, part.overall.images) for part in parts]
    few = few_images(of_all, [(of.ruled_out_share, of.images) for part in parts for of in part.categories.values()])
    of_judges = summary.readings.items()
    return [*few, *(line for judge, readings in of_judges for line in _lines(judge, readings))]


def no_interval(reasons: Iterable[str | None]) -> Text | None:
    """Says once why means have no interval, each by its `no_ci95`; None if all have one, or no mean either."""
    known = [name_of("no_ci95", reason) for reason in dict.fromkeys(reasons) if reason and reason != "no_scores"]
    return Text("No interval: {}.", known) if known else None


def few_images(
    means: Iterable[tuple[float | None, int | None]], categories: Iterable[tuple[float | None, int | None]] = ()
) -> list[Text]:
    """Says what intervals cannot cover, for the mean over all and the category mean that have the fewest images.

    Of each mean its `ruled_out_share`, None without an interval, and its `images`.
    """
    of_all, of_category = (
        max(((share, images) for share, images in some if share and images), default=(0.0, 0))
        for some in (means, categories)
    )
    if of_all[0] <= FEW_RULE_OUT and of_category[0] <= FEW_RULE_OUT:
        return []
    (share, images), (most, fewest) = of_all, of_category
    of_all_share, of_most = formats.share(share, 1), formats.share(most, 1)
    if most <= FEW_RULE_OUT:
        return [
            Text(
                "Intervals are for pictures like these: of a kind that makes less than {} of all, {} may "
                "well show none.",
                of_all_share,
                images,
            )
        ]
    if share <= FEW_RULE_OUT:
        return [
            Text(
                "Intervals are for pictures like these: of a kind that makes less than {} of a category, "
                "{} may well show none.",
                of_most,
                fewest,
            )
        ]
    return [
        Text(
            "Intervals are for pictures like these: of a kind that makes less than {} of all, {} may "
            "well show none (of a category, {}: less than {}).",
            of_all_share,
            images,
            fewest,
            of_most,
        )
    ]


def _lines(judge: str, readings: JudgeReadings) -> Iterator[Text]:
    if readings.readings > 1:
        spread = formats.score(readings.spread)
        yield Text(
            "{}: each score is the mean of {} readings, with a standard deviation of {} between them.",
            judge,
            readings.readings,
            spread,
        )
    if readings.identical:
        yield Text(
            "{0}: the {1} readings of each edit are identical, so nothing is sampled (does the "
            "server ignore the temperature or cache its answers?); leave `evaluation.readings` out, "
            "which costs {1} times as much.",
            judge,
            readings.readings,
        )
    if readings.shared:
        yield Text(
            "{}: {} of its judgements share answers with those of other edits, which have the same pixels; where an "
            "answer depends on the batch, it is the one given in the batch that came first.",
            judge,
            readings.shared,
        )
    mass = readings.mass
    if mass and mass.median is not None:
        known, floor = mass.readings - mass.unknown, f"{mass.floor:g}"
        median, below = f"{mass.median:.3f}", mass.below
        yield Text(
            "{}: mass (the probability of all answers that were asked for) {} in the median, below "
            "{} and no answer in {} of {} readings.",
            judge,
            median,
            floor,
            below,
            known,
        )
    if mass and mass.unknown:
        yield Text(
            "{}: mass: unknown in {} of {} readings; its server tells only how likely the answers "
            "are beside each other.",
            judge,
            mass.unknown,
            mass.readings,
        )
