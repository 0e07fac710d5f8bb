"""A mark for each series, in charts and on pages alike."""

from __future__ import annotations

MARKS = (
    "M-.9,0A.9,.9,0,1,1,.9,0A.9,.9,0,1,1,-.9,0Z",  # circle
    "M-.8,-.8L.8,-.8L.8,.8L-.8,.8Z",  # square
    "M0,-1L1.05,.8L-1.05,.8Z",  # triangle
    "M0,-1.15L1.15,0L0,1.15L-1.15,0Z",  # diamond
    "M-.35,-1L.35,-1L.35,-.35L1,-.35L1,.35L.35,.35L.35,1L-.35,1L-.35,.35L-1,.35L-1,-.35L-.35,-.35Z",  # plus
    "M0,1L-1.05,-.8L1.05,-.8Z",  # triangle on its tip
    "M-1,-.55L-.55,-1L0,-.45L.55,-1L1,-.55L.45,0L1,.55L.55,1L0,.45L-.55,1L-1,.55L-.45,0Z",  # cross
    "M0,-1.15L0.28,-0.39L1.09,-0.36L0.46,0.15L0.68,0.93L0,0.48L-0.68,0.93L-0.46,0.15L-1.09,-0.36L-0.28,-0.39Z",  # star
    "M1,0L-.8,1.05L-.8,-1.05Z",  # to the right
    "M.5,-.9L1,0L.5,.9L-.5,.9L-1,0L-.5,-.9Z",  # hexagon
    "M-1,0L.8,1.05L.8,-1.05Z",  # to the left
    "M-1.1,-.4L1.1,-.4L1.1,.4L-1.1,.4Z",  # bar
)
"""A mark for each model, which tells models apart on paper and for readers who cannot tell their colours.

Each is a path in a square from -1 to 1, as used by both Vega and SVG. The colours are the page's (`--series-1` to
`--series-12` in `page.css`). From the thirteenth model on, colours repeat, each with another mark.
"""


def mark_of(place: int) -> str:
    """Returns the mark of a series, by its place from 0."""
    return MARKS[(place + place // len(MARKS)) % len(MARKS)]
