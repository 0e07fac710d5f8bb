"""What `edit-eval compare --fail-if-worse` says: who does not pass and why, a line each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.language import said
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.gate import Candidate, Gate, Reason
from edit_eval.store.comparable import Note
from edit_eval.text import Text

_REASONS: Mapping[str, Callable[..., Text]] = {
    "worse": lambda *, name, first, judge, difference, p, **_: Text(
        "{} scores worse than {} by judge {}: {}, adjusted p {}", name, first, judge, difference, p
    ),
    "not_held": lambda *, name, first, judge, **_: Text(
        "{} cannot be compared with {} by judge {}: no sample is scored in both", name, first, judge
    ),
    "category_not_held": lambda *, name, first, judge, **_: Text(
        "{} cannot be compared with {} by judge {}: a category has no sample that is scored in both", name, first, judge
    ),
    "too_few": lambda *, name, first, judge, images, fewest, **_: Text(
        "{} cannot be tested against {} by judge {}: source images scored in both: {}, needed: {} or more",
        name,
        first,
        judge,
        images,
        fewest,
    ),
    "too_uneven": lambda *, name, first, judge, images, **_: Text(
        "{} cannot be tested against {} by judge {}: a few of the {} source images hold too many of the samples",
        name,
        first,
        judge,
        images,
    ),
    "fails_more": lambda *, name, first, b, total, a, p, **_: Text(
        "{} fails more edits than {}: {} of {} against {}, adjusted p {}", name, first, b, total, a, p
    ),
    "no_interval": lambda *, name, margin, first, judge, difference, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: the difference of {} has no interval",
        name,
        margin,
        first,
        judge,
        difference,
    ),
    "margin": lambda *, name, margin, first, judge, difference, lower, assumed, samples, images, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; if it is "
        "truly {}, {} samples on {} source images would show it 4 times in 5",
        name,
        margin,
        first,
        judge,
        difference,
        lower,
        assumed,
        samples,
        images,
    ),
    "beyond_margin": lambda *, name, margin, first, judge, difference, lower, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; more "
        "samples like these would not show it",
        name,
        margin,
        first,
        judge,
        difference,
        lower,
    ),
    "cannot_say": lambda *, name, margin, first, judge, difference, lower, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; these "
        "samples cannot say how many would show it",
        name,
        margin,
        first,
        judge,
        difference,
        lower,
    ),
    "no_spread": lambda *, name, first, judge, difference, **_: Text(
        "{} cannot be tested against {} by judge {}: it scores {} on every sample alike", name, first, judge, difference
    ),
    "open": lambda *, name, first, judge, missing, total, failed, absent, **_: Text(
        "{0} could be worse than {1} by judge {2}: {3} of {4} samples lack a score, and what is "
        "missing could decide ({5} with failed edits of {0}, {6} that only one of the two has). "
        "Score them: `run` with the same samples, `run --retry STATUS`. `--allow-unscored SHARE` "
        "leaves out what is not a failed edit",
        name,
        first,
        judge,
        missing,
        total,
        failed,
        absent,
    ),
}


def gate_lines(gate: Gate, *, language: str = "en") -> list[str]:
    """A line for each reason why a column does not pass, and at the end one for each that does.

    In English or Chinese. What several judges have in common, edits that failed, is said once.
    """
    lines = [_reason(gate, one, reason, language) for one in gate.candidates for reason in one.reasons]
    lines += [_passed(gate, one, language) for one in gate.candidates if one.passed]
    return list(dict.fromkeys(map(one_line, lines)))


def drift_lines(comparison: Comparison) -> list[str]:
    """Why runs are not to be compared: judges that have drifted between them."""
    drifted = [str(note) for note in comparison.notes if isinstance(note, Note) and note.kind == "drift"]
    return [Text("{}; `--allow-drift` compares anyway", one_line(note)) for note in drifted]


def _reason(gate: Gate, candidate: Candidate, reason: Reason, language: str) -> str:
    values: dict[str, object] = dict(reason.values)
    for name in ("difference", "lower", "assumed"):
        values |= {name: _points(reason.values[name])} if name in values else {}
    values |= {"p": p_value(reason.values["p"])} if "p" in values else {}
    line = said(_REASONS[reason.kind](**_names(candidate), **values), language)
    return line if reason.kind == "fails_more" else _less(gate, candidate, line, language)


def _passed(gate: Gate, candidate: Candidate, language: str) -> str:
    name, first, judge = candidate.name, candidate.first, candidate.judge
    difference = _points(candidate.difference)
    if gate.margin is not None:
        lower, limit = _points(candidate.lower), _points(-gate.margin)
        line = Text(
            "{} passes by judge {}: {} against {}, at worst {}, which is above {}",
            name,
            judge,
            difference,
            first,
            lower,
            limit,
        )
    else:
        line = Text("{} is not shown to be worse than {} by judge {}: {}", name, first, judge, difference)
        if candidate.detectable is not None:
            detectable = _points(candidate.detectable).lstrip("+")
            line = Text(
                "{}; a loss of {} would have been found 4 times in 5, a smaller one could well have been missed",
                line,
                detectable,
            )
    return _less(gate, candidate, said(line, language), language)


def _less(gate: Gate, candidate: Candidate, line: str, language: str) -> str:
    """With what was left out."""
    if not candidate.left_out:
        return line
    left_out, total, share = candidate.left_out, candidate.total, f"{gate.allow_unscored:g}"
    return said(
        Text(
            "{} ({} of {} samples are left out for want of a score, as `--allow-unscored {}` allows)",
            line,
            left_out,
            total,
            share,
        ),
        language,
    )


def _points(value: float | None) -> str:
    """Points of the score, below 0 what is worse; a difference is never rounded to none."""
    return signed(value, max(2, -math.floor(math.log10(abs(value)))) if value else 2)


def _names(candidate: Candidate) -> dict[str, str]:
    return {"name": candidate.name, "first": candidate.first, "judge": candidate.judge}
