"""The verdict drawn: paired differences, a dot a picture, with mean, interval, zero and margin; a strip for each of
several models, with an axis. As SVG for page, notebook and Markdown, and in characters for a terminal.

Horizontal places are percentages, so that the drawing fills any width and its letters keep their size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup
from rich.cells import cell_len

from edit_eval.reporting import formats
from edit_eval.reporting.table import Line, map_languages, translate_words
from edit_eval.statistics.verdict import Opinion, Placing, Verdict
from edit_eval.text import Text, join_texts

TICKS = 5
CELLS = 41
"""Characters of a line."""
_BARS = "·▁▂▃▄▅▆▇█"
_LONGEST = 22
"""Characters of a name in a drawing whose width is fixed, or unknown to what shows it."""
_LONGEST_BESIDE = 28
"""The same of one beside its interval: what 29 % of 640 pixels have room for."""
_HEAD = 42.0
"""Percent of the width for who is better on one side; the margin stands between."""
_TOP, _DOTS, _BELOW = 24, 84, 48
"""Heights in pixels: the heads, the dots, and interval with axis."""
_ROW = 22
_STANDALONE = Markup(
    "<style>svg{color:#1f2328;font:12px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"
)


@dataclass(frozen=True)
class Ruler:
    """A horizontal axis from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def from_values(cls, values: Sequence[float]) -> Ruler:
        """Returns an axis a little wider than the values."""
        low, high = min(values), max(values)
        margin = (high - low) * 0.06 or 1.0
        return cls(low - margin, high + margin)

    def share(self, value: float) -> float:
        """Returns a place from 0 to 1."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def percent(self, value: float) -> str:
        """Returns a place as `12.34%`."""
        return f"{100 * self.share(value):.2f}%"

    def ticks(self, most: int = TICKS) -> list[float]:
        """Returns round numbers within, at most so many or one more."""
        rough = (self.high - self.low) / most
        size = 10 ** math.floor(math.log10(rough))
        step = next(size * times for times in (1, 2, 5, 10) if size * times >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(place * step, 12) for place in range(first, last + 1)]


def differences_axis(opinions: Sequence[Opinion]) -> Ruler:
    """Returns the axis of paired differences: zero, all dots, intervals and margins are on it."""
    ends = [0.0]
    for opinion in opinions:
        contest = opinion.next
        ends += [*(contest.ci95 or ())] if contest else []
        ends += [sign * contest.margin for sign in (-1, 1)] if contest and contest.margin is not None else []
        ends += [dot.difference for dot in opinion.dots]
    return Ruler.from_values(ends)


def draw_verdict(
    opinion: Opinion,
    digits: int,
    language: str,
    *,
    link: Callable[[str], str] | None = None,
    places: Callable[[str], int] | None = None,
    standalone: bool = False,
    beside: Sequence[Opinion] = (),
) -> Markup:
    """Returns the drawing as SVG: of two models their paired differences, of more an interval each; empty without.

    `link` gives a sample's address, `places` a model's colour on the page (`series-N`); `standalone` for a file. Of two
    models, the axis is one for all opinions drawn `beside` each other on one scale.
    """
    if opinion.has_two_columns:
        axis = differences_axis(_same_scale_opinions(opinion, beside))
        return _draw_pair(opinion, axis, digits, language, link, places, standalone=standalone)
    if len(opinion.standings) > 1:
        return strips(opinion, digits, language, places=places, standalone=standalone)
    return Markup("")


def _same_scale_opinions(opinion: Opinion, beside: Sequence[Opinion]) -> list[Opinion]:
    return [opinion, *(other for other in beside if other.has_two_columns and other.scale == opinion.scale)]


def _draw_pair(
    opinion: Opinion,
    axis: Ruler,
    digits: int,
    language: str,
    link: Callable[[str], str] | None,
    places: Callable[[str], int] | None,
    *,
    standalone: bool,
) -> Markup:
    contest = opinion.contests[0]
    first, other = opinion.standings[0].name, contest.other
    bottom = _TOP + _DOTS
    parts: list[Markup] = []
    if contest.margin is not None:
        left, right = axis.share(-contest.margin), axis.share(contest.margin)
        parts.append(
            Markup(
                '<rect class="margin" x="{:.2f}%" y="{}" width="{:.2f}%" height="{}" '
                'opacity=".12" fill="currentColor"/>'
            ).format(100 * left, _TOP, 100 * (right - left), _DOTS + 26)
        )
        follows, shown = _language_attribute(
            Text("margin ±{:g}", contest.margin), language, "data-words", when=places is not None
        )
        parts.append(
            Markup(
                '<text x="{:.2f}%" y="{}" text-anchor="middle"{} fill="currentColor" opacity=".75">{}</text>'
            ).format(50 * (left + right), _TOP - 10, follows, shown)
        )
    parts.append(_rule(axis.percent(0.0), _TOP - 4, bottom + 30, dashed=False))
    heads = (
        ("start", other, Text("← {} better", other), Text("← {} better", _cut(other))),
        ("end", first, Text("{} better →", first), Text("{} better →", _cut(first))),
    )
    for place, name, words, short in heads:
        labelled = _language_attribute(words if places else short, language, "data-words", when=places is not None)
        parts.append(_label(labelled, place, 14, _HEAD, places, name))
    parts += _dots(opinion, axis, link, places, digits)
    y = bottom + 18
    if contest.ci95 is not None:
        low, high = map(axis.percent, contest.ci95)
        parts.append(
            Markup(
                '<line class="interval" x1="{}" x2="{}" y1="{}" y2="{}" stroke="currentColor" stroke-width="3"/>'
            ).format(low, high, y, y)
        )
        parts += [_rule(end, y - 6, y + 6, dashed=False) for end in (low, high)]
    if contest.difference is not None:
        parts.append(
            Markup('<circle class="mean" cx="{}" cy="{}" r="5" fill="currentColor"/>').format(
                axis.percent(contest.difference), y
            )
        )
    parts += _axis(axis, bottom + 32)
    return _svg(
        parts,
        _TOP + _DOTS + _BELOW,
        _describe_drawing(opinion, digits),
        language,
        page=places is not None,
        standalone=standalone,
    )


def _dots(
    opinion: Opinion, axis: Ruler, link: Callable[[str], str] | None, places: Callable[[str], int] | None, digits: int
) -> Iterator[Markup]:
    count = len(opinion.dots)
    radius = 3.5 if count <= 40 else 2.5 if count <= 150 else 1.5
    for number, dot in enumerate(opinion.dots):
        y = _TOP + 6 + (_DOTS - 12) * number / max(1, count - 1)
        colour = "" if places is None or not dot.better else f" series-{places(dot.better) % 12 + 1}"
        words = f"{dot.sample}: {formats.format_signed(dot.difference, digits)}"
        drawn = Markup(
            '<circle class="dot{}" cx="{}" cy="{:.1f}" r="{}" fill="currentColor" fill-opacity=".75">'
            "<title>{}</title></circle>"
        ).format(colour, axis.percent(dot.difference), y, radius, words)
        yield (Markup('<a href="{}" tabindex="-1">{}</a>').format(link(dot.sample), drawn) if link else drawn)


def strips(
    opinion: Opinion,
    digits: int,
    language: str,
    *,
    places: Callable[[str], int] | None = None,
    standalone: bool = False,
) -> Markup:
    """Returns a row for each model by rank, its mean with its interval, over an axis with numbers."""
    known = [standing for standing in opinion.standings if standing.mean is not None]
    if not known:
        return Markup("")
    axis = strips_axis(known)
    left, width = 30.0, 68.0  # percent of the width: names, then the axis

    def x(value: float) -> str:
        return f"{left + width * axis.share(value):.2f}%"

    parts: list[Markup] = []
    bottom = 8 + _ROW * len(known)
    parts += [_rule(x(tick), 4, bottom, dashed=True) for tick in axis.ticks()]
    for number, standing in enumerate(known):
        y = 8 + _ROW * number + _ROW / 2
        shown = standing.name if places else _cut(standing.name, _LONGEST_BESIDE)
        parts.append(_label((Markup(""), shown), "start", round(y + 4), left - 1, places, ""))
        colour = _series(places, standing.name)
        if standing.ci95 is not None:
            low, high = (
                edge if end is None else end for end, edge in zip(standing.ci95, (axis.low, axis.high), strict=True)
            )
            parts.append(
                Markup(
                    '<line{} x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" stroke="currentColor" stroke-width="3"/>'
                ).format(colour, x(low), x(high), y, y)
            )
        parts.append(
            Markup('<circle{} cx="{}" cy="{:.1f}" r="5" fill="currentColor"><title>{}</title></circle>').format(
                colour, x(standing.mean or 0.0), y, f"{standing.name}: {formats.score(standing.mean, digits)}"
            )
        )
    for tick in axis.ticks():
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="middle" fill="currentColor" opacity=".75">{}</text>').format(
                x(tick), bottom + 14, f"{tick:g}"
            )
        )
    return _svg(
        parts, bottom + 20, _describe_drawing(opinion, digits), language, page=places is not None, standalone=standalone
    )


def strips_axis(standings: Sequence[Placing]) -> Ruler:
    """Returns the axis of means with their intervals."""
    ends = [end for standing in standings for end in (*(standing.ci95 or ()), standing.mean) if end is not None]
    return Ruler.from_values(ends or [0.0, 1.0])


def _axis(axis: Ruler, y: int) -> Iterator[Markup]:
    yield Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" stroke="currentColor" opacity=".35"/>').format(y - 2)
    for tick in axis.ticks():
        share = axis.share(tick)
        anchor = "start" if share < 0.04 else "end" if share > 0.96 else "middle"
        yield Markup('<text x="{}" y="{}" text-anchor="{}" fill="currentColor" opacity=".75">{}</text>').format(
            axis.percent(tick), y + 12, anchor, f"{tick:+g}" if tick else "0"
        )


def _rule(x: str, top: float, bottom: float, *, dashed: bool) -> Markup:
    more = Markup(' stroke-dasharray="2 3" opacity=".35"') if dashed else Markup("")
    return Markup('<line x1="{0}" x2="{0}" y1="{1:.0f}" y2="{2:.0f}" stroke="currentColor"{3}/>').format(
        x, top, bottom, more
    )


def _series(places: Callable[[str], int] | None, name: str) -> Markup:
    return Markup("") if places is None else Markup(' class="series-{}"').format(places(name) % 12 + 1)


def _describe_drawing(opinion: Opinion, digits: int) -> Text:
    """Returns what the drawing shows, for who cannot see it."""
    contest = opinion.next
    if contest is not None and opinion.has_two_columns:
        fields = opinion.standings[0].name, contest.other, contest.wins, contest.images, contest.losses
        return Text("{} against {}: better on {} of {} pictures, worse on {}", *fields)
    return join_texts(f"{standing.name} {formats.score(standing.mean, digits)}" for standing in opinion.standings)


def _language_attribute(words: Text, language: str, attribute: str, *, when: bool) -> tuple[Markup, str]:
    """Returns words, and `when` they are on the page the attribute with which they follow its language."""
    labelled = map_languages(partial(translate_words, words))
    if not when or len(set(labelled.values())) == 1:
        return Markup(""), labelled[language]
    return Markup(' {}="{}"').format(Markup(attribute), json.dumps(labelled)), labelled[language]


def _svg(parts: Sequence[Markup], height: int, words: Text, language: str, *, page: bool, standalone: bool) -> Markup:
    size = Markup(' xmlns="http://www.w3.org/2000/svg" width="640"') if standalone else Markup(' width="100%"')
    follows, label = _language_attribute(words, language, "data-words-label", when=page)
    return Markup(
        '<svg class="verdict-drawing"{} height="{}" role="img" aria-label="{}"{} font-size="12">{}{}</svg>'
    ).format(size, height, label, follows, _STANDALONE if standalone else Markup(""), Markup("").join(parts))


def _label(
    labelled: tuple[Markup, str], anchor: str, y: int, width: float, places: Callable[[str], int] | None, name: str
) -> Markup:
    """Returns words at the left or the right end of the drawing, on the line `y`, in the colour of a model it names.

    A page, whose width is not known here, cuts them where they would leave their `width` (percent), and nowhere else.
    """
    follows, shown = labelled
    colour = _series(places, name) if name else Markup("")
    if places is None:
        x = "0%" if anchor == "start" else "100%"
        return Markup('<text x="{}" y="{}" text-anchor="{}"{}{} fill="currentColor">{}</text>').format(
            x, y, anchor, colour, follows, shown
        )
    x = "0%" if anchor == "start" else f"{100 - width:g}%"
    return Markup(
        '<foreignObject{} x="{}" y="{}" width="{:g}%" height="20"><div class="drawn-name at-{}" title="{}"{}>{}</div>'
        "</foreignObject>"
    ).format(colour, x, y - 14, width, anchor, name or shown, follows, shown)


def _cut(name: str, longest: int = _LONGEST) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


# -- in characters --


def characters(verdict: Verdict, digits: Callable[[Opinion], int]) -> list[Line]:
    """Returns the drawing for a terminal: of two models how many pictures lie where, and mean and interval below; of
    more a line each. By the first judge that has a say, and by all of them where they come to different things."""
    apart = (
        verdict.kind == "judges_disagree"
        or len({opinion.first for opinion in verdict.drawable_opinions if opinion.first}) > 1
    )
    shown = verdict.drawable_opinions if apart else verdict.drawable_opinions[:1]
    lines: list[Line] = []
    for opinion in shown:
        drawn = (
            [*_two(opinion, digits(opinion), shown)]
            if opinion.has_two_columns
            else [*_several(opinion, digits(opinion))]
        )
        if drawn and len(shown) > 1:
            lines.append(Line(Text("judged by {}", opinion.judge), "quiet"))
        lines += drawn
    return lines


def _two(opinion: Opinion, digits: int, beside: Sequence[Opinion]) -> Iterator[Line]:
    contest, axis = opinion.contests[0], differences_axis(_same_scale_opinions(opinion, beside))
    place = partial(_cell, axis)
    counts = [0] * CELLS
    for dot in opinion.dots:
        counts[place(dot.difference)] += 1
    most = max(counts)
    bars = [_BARS[math.ceil(8 * count / most)] for count in counts]
    if not counts[place(0.0)]:
        bars[place(0.0)] = "│"
    first = opinion.standings[0].name
    ends = formats.format_signed(axis.low, digits), formats.format_signed(axis.high, digits)
    yield Line(f"{''.join(bars)} {ends[1]}", head=f"{ends[0]} ")
    mean = "".join(_interval(axis, contest.ci95, contest.difference, 0.0))
    yield Line(mean, head="\N{NO-BREAK SPACE}" * (len(ends[0]) + 1))
    words = Text("left of │: {} better; right: {} better; a higher bar: more pictures", contest.other, first)
    yield Line(words, "quiet")


def _several(opinion: Opinion, digits: int) -> Iterator[Line]:
    known = [standing for standing in opinion.standings if standing.mean is not None]
    if len(known) < 2:
        return
    axis = strips_axis(known)
    widest = max(cell_len(standing.name) for standing in known)
    beside = widest <= _LONGEST
    for standing in known:
        ends = standing.ci95
        whole = None if ends is None or None in ends else (ends[0] or 0.0, ends[1] or 0.0)
        if not beside:
            yield Line(standing.name)
        head = standing.name + "\N{NO-BREAK SPACE}" * (widest - cell_len(standing.name)) if beside else ""
        bar = "".join(_interval(axis, whole, standing.mean))
        yield Line(f"{bar} {formats.score(standing.mean, digits)}", head=head + "\N{NO-BREAK SPACE}" * 2)
    low, high = formats.score(axis.low, digits), formats.score(axis.high, digits)
    yield Line(Text("from {} to {}", low, high), "quiet")


def _interval(
    axis: Ruler, ci95: tuple[float, float] | None, mean: float | None, zero: float | None = None
) -> list[str]:
    cells = ["·"] * CELLS
    if zero is not None:
        cells[_cell(axis, zero)] = "│"
    if ci95 is not None:
        low, high = (_cell(axis, end) for end in ci95)
        cells[low : high + 1] = ["─"] * (high + 1 - low)
        cells[low], cells[high] = "├", "┤"
    if mean is not None:
        cells[_cell(axis, mean)] = "●"
    return cells


def _cell(axis: Ruler, value: float) -> int:
    return min(CELLS - 1, int(axis.share(value) * CELLS))
