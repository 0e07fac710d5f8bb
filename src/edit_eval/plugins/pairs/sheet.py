"""What pairs there are, by whom, and how many of them are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edit_eval.plugins.pairs.preference_pairs import JudgeOfPairs, PreferencePairs
from edit_eval.reporting import formats
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.text import Text


def pairs_sheet(document: PreferencePairs) -> Sheet:
    """Returns the count, a row for each judge, and what was left out."""
    count = Text(
        "{} pairs of {} that could be compared, on {} of {} samples.",
        len(document.pairs),
        document.compared,
        document.samples,
        document.of,
    )
    columns: list[Column[JudgeOfPairs]] = [
        Column(Text("Judge"), lambda row: row.judge, "name"),
        Column(Text("Pairs"), lambda row: str(row.pairs)),
        Column(Text("Noise"), lambda row: None if row.noise_sd is None else formats.score(row.noise_sd)),
        Column(Text("Known from"), _source, "word"),
        Column(Text("Wrong"), lambda row: None if row.wrong is None else formats.share(row.wrong, 1), look="strong"),
        Column(Text("95% interval"), lambda row: _shares(row.wrong_ci95)),
    ]
    table = Table(columns, document.judges, label=Text("Preference pairs"))
    return [Line(count, "strong"), table, *(Line(line, "quiet") for line in _lines(document))]


def _source(row: JudgeOfPairs) -> Text:
    known = {"repeats": Text("its repeats"), "passport": Text("its passport")}
    return known.get(row.noise_from, Text("not known"))


def _shares(ends: Sequence[float] | None) -> str | None:
    return None if ends is None else "–".join(formats.share(end, 1) for end in ends)


def _lines(document: PreferencePairs) -> Iterator[Text]:
    yield Text(
        "Noise: the standard deviation of one answer, in points. Wrong: the share of these pairs that the judge "
        "itself, asked often enough, would order the other way or score alike; what people prefer is another question."
    )
    if document.people:
        yield Text("{} pairs are by people's votes, which count above judges.", document.people)
    if unknown := [judge.judge for judge in document.judges if judge.noise_sd is None]:
        yield Text(
            "Not used, since their noise is unknown: {}; `evaluation: {{repeats: 2}}` or `edit-eval audit` tells it.",
            unknown,
        )
    if exact := [judge.judge for judge in document.judges if judge.noise_sd == 0]:
        yield Text("{} always answers the same: how often it is wrong, repeats do not tell.", exact)
    heard = {judge.judge for judge in document.judges}
    for judge in document.unfit:
        if judge in heard:
            yield Text(
                "Do not train on this: {} does not clearly score edits above pictures that are no edits (the "
                "controls).",
                judge,
            )
        else:
            yield Text(
                "{} is left out: it does not clearly score edits above pictures that are no edits (the controls).",
                judge,
            )
    if document.opposed:
        yield Text("{} pairs are left out, since those who judged them contradict each other.", document.opposed)
    if document.left_out:
        yield Text("{} samples are left out, since the other set has their pictures.", document.left_out)
    yield Text("`--to FOLDER` writes pictures, JSONL, Parquet and a card.")
