"""What a paper says in words: the caption of its table, the sentence of its results, the paragraphs of its methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from edit_eval.plugins.paper.document import JudgeTable, NamedJudge, NamedModel, Paper, PaperRow, Setting, strip_folder
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.verdict import answer_lines, doubt_lines, paragraph
from edit_eval.text import Text, join_texts, pluralize

DAGGER = "†"
"""Mark of an edit model that is not shown to be worse than the best."""
_WHOSE_OWN = ("table", "five_dimensions")
"""Benchmarks whose pictures are the user's own."""
_FIRST = ("num_inference_steps", "steps", "guidance_scale", "true_cfg_scale")
"""Parameters that readers look for first."""


def caption(paper: Paper) -> list[Text]:
    """Returns the sentences above the table."""
    rows = [row for table in paper.tables for row in table.rows]
    samples = pluralize(paper.setting.samples, "instruction"), pluralize(paper.setting.images, "source image")
    lines = [Text("Scores by {: and }: {} on {}.", [_with_scale(table) for table in paper.tables], *samples)]
    lines += _exclusion_note(paper.setting)
    marks = {row.mark for row in rows}
    if "best" in marks:
        lines.append(Text("Bold: the best."))
    if "level" in marks:
        lines.append(_level(paper))
    if _has_brackets(paper, rows):
        lines.append(Text("Brackets: 95% intervals, clustered on the source image."))
    if "behind" in paper.columns and any(row.contest for row in rows):
        lines.append(Text("Behind the best: the paired difference, on the samples that both have."))
    return [*lines, *doubt_lines(paper.verdict)]


def _has_brackets(paper: Paper, rows: Sequence[PaperRow]) -> bool:
    own = "interval" in paper.columns and any(row.placing.ci95 for row in rows)
    return own or ("behind" in paper.columns and any(row.contest and row.contest.ci95 for row in rows))


def paragraph_of(sentences: Sequence[Text]) -> Text:
    """Returns sentences one after another."""
    return join_texts(sentences, " ")


def _level(paper: Paper) -> Text:
    """Says what the dagger means, and by which correction if there is more than one test."""
    families = dict.fromkeys(table.family for table in paper.tables if table.family and table.family.tests > 1)
    if not families:
        return Text("{}: not shown to be worse than the best.", DAGGER)
    corrections = [family.describe_tests() for family in families]
    return Text("{}: not shown to be worse than the best ({:; }).", DAGGER, corrections)


def figure_caption(paper: Paper) -> list[Text]:
    """Returns the sentences below the figure."""
    rows = [row for table in paper.tables for row in table.rows]
    if any(row.contest for row in rows):
        return [Text("Left: scores with 95% intervals."), Text("Right: the paired difference to the best.")]
    return [Text("Scores with 95% intervals.") if any(row.placing.ci95 for row in rows) else Text("Scores.")]


def _with_scale(table: JudgeTable) -> Text:
    return Text("{} ({})", table.judge, points_of(table))


def points_of(table: JudgeTable) -> Text:
    """Returns what a judge's numbers are: `out of 10`, `strengths from pairs of edits`."""
    if table.compares:
        return Text("strengths, from pairs of edits")
    return scale_words(table.scale, mean=table.scale.mean_over == "categories")


def results(paper: Paper) -> list[Text]:
    """Returns paragraphs: the verdict's answer with its doubts, and what it rests on, in the verdict's own words."""
    return [paragraph_of([*answer_lines(paper.verdict), *doubt_lines(paper.verdict)]), *paragraph(paper.verdict)]


def methods(paper: Paper) -> list[Text]:
    """Returns a paragraph each on benchmark, edit models, judges, statistics and versions."""
    paragraphs = [_benchmark(paper.setting), _models(paper), *(_judge(judge, paper) for judge in paper.judges)]
    paragraphs += [paragraph_of(list(_statistics(paper)))]
    versions = [Text("{} {}", name, version) for name, version in paper.setting.versions.items()]
    machines = [Text("on {: and }", paper.setting.gpus)] if paper.setting.gpus else []
    return [*paragraphs, Text("Made with {:, }.", [*versions, *machines])] if versions else paragraphs


def _benchmark(setting: Setting) -> Text:
    counts = pluralize(setting.samples, "instruction"), pluralize(setting.images, "source image")
    if setting.benchmark in _WHOSE_OWN:
        words = Text("Benchmark: {} on {} of our own ({}).", *counts, setting.data)
        return paragraph_of([words, *_exclusion_note(setting)])
    words = Text("Benchmark: {} on {} of {}.", *counts, setting.benchmark)
    if setting.licence:
        words = Text("{} Licence: {}.", words, setting.licence)
    return paragraph_of([words, *_exclusion_note(setting)])


def _exclusion_note(setting: Setting) -> list[Text]:
    words = Text(
        "{} further sample could not be used and is left out.",
        setting.skipped,
        plural="{} further samples could not be used and are left out.",
    )
    return [words] if setting.skipped else []


def _models(paper: Paper) -> Text:
    several = len(paper.edit_models) > 1
    lines = [_model(model) for model in paper.edit_models]
    seeds = {model.seed for model in paper.edit_models}
    often = pluralize(paper.setting.edit_seeds, "edit")
    title = Text("Edit models") if several else Text("Edit model")
    if len(seeds) == 1:
        return Text("{}: {:; }. Each makes {} of a sample (seed {}).", title, lines, often, *seeds)
    lines = [Text("{}, seed {}", line, of.seed) for line, of in zip(lines, paper.edit_models, strict=True)]
    return Text("{}: {:; }. Each makes {} of a sample.", title, lines, often)


def _model(model: NamedModel) -> Text:
    words = Text("{} is {}", model.name, model.weights)
    if model.revision:
        words = Text("{}, revision {}", words, model.revision)
    settings = [Text("{} {}", key, value) for key, value in _settings(model)]
    return Text("{}, with {:, }", words, settings) if settings else words


def _settings(model: NamedModel) -> Iterator[tuple[str, str]]:
    """Yields what is set, as words, steps and guidance first."""

    def place(key: str) -> tuple[int, str]:
        return (_FIRST.index(key) if key in _FIRST else len(_FIRST)), key

    for key in sorted(model.parameters, key=place):
        value = _plain(model.parameters[key])
        if value:
            yield key, value


def _plain(value: Any) -> str:
    """Returns a value in words; empty for what has no place in a sentence."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(_plain, value)))
    if not isinstance(value, int | str) or "://" in str(value):  # whose machine it was is nobody's business
        return ""
    return strip_folder(str(value))


def _judge(judge: NamedJudge, paper: Paper) -> Text:
    table = next(table for table in paper.tables if table.judge == judge.model.name)
    protocol = Text("protocol {}", judge.protocol)
    if judge.wording:
        protocol = Text("{} ({})", protocol, judge.wording)
    setting = paper.setting
    often: list[str] = []
    if setting.repeats > 1:
        often.append(Text("asked {} times", setting.repeats))
    if setting.readings > 1:
        often.append(Text("in {} readings", setting.readings))
    if judge.passport:
        often.append(judge.passport)
    return Text("The judge {}; {}; {:; }.", _model(judge.model), protocol, [points_of(table), *often])


def _statistics(paper: Paper) -> Iterator[Text]:
    means = [table for table in paper.tables if not table.compares]
    strengths = [table for table in paper.tables if table.compares]
    if means:
        yield Text(
            "Intervals of means are robust to clusters by source image: CR2 standard errors with their degrees of "
            "freedom (Bell and McCaffrey, 2002), and the hull of Student's t and Hall's transformation of it "
            "(Hall, 1992)."
        )
    if any(table.family for table in means):
        yield Text(
            "Edit models are compared on the samples that both have scored, by the two-sided test that belongs to "
            "these intervals."
        )
    if strengths:
        yield Text("Strengths are those of Bradley and Terry (1952), with errors clustered on the source image.")
    for family in dict.fromkeys(table.family for table in paper.tables if table.family):
        if family.tests > 1:
            yield Text("Marks and ranks rest on p adjusted by {}.", family.describe_tests())
    yield Text("A failed edit has no score: it is counted, not averaged.")
