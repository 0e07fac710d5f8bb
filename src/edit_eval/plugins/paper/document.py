"""What a paper says of runs: the verdict that there is, arranged as a table, and what was asked of whom.

Nothing is inferred here. Ranks, intervals, differences and p are those of the `Verdict`, of one run as its report has
it, of several as `edit-eval compare` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from edit_eval.benchmarks.contract import canonical
from edit_eval.config.faults import did_you_mean
from edit_eval.config.identity import Identity
from edit_eval.config.secret_values import SECRET_SHOWN, mask_secrets
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import Unchecked
from edit_eval.protocols.asked import AskedJudge
from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.formats import NOTHING
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.remarks import examination_words
from edit_eval.reporting.verdict import answer_lines, digits, doubt_lines, paragraph
from edit_eval.run import Run, compare
from edit_eval.statistics.columns import ScoreColumn
from edit_eval.statistics.families import Correction
from edit_eval.statistics.verdict import Contest, Opinion, Placing, Verdict
from edit_eval.store.comparable import comparable_columns, refuse_other_samples, run_names
from edit_eval.text import Text, join_texts, pluralize

# -- document --


Mark = Literal["best", "level", "worse", ""]
"""`best`; `level`: nobody is shown to be better, by the ranks, and so not the best; `worse`: somebody is; empty where
nothing is known, and where a judge has no say."""
_WEIGHTS = ("model_name", "model", "path", "folder")
"""Parameters that say which weights, or which edits, the likeliest first."""
_NOTHING: tuple[Any, ...] = (None, "", [], {}, (), SECRET_SHOWN)
_DIGEST = 12
"""Characters of a digest that tell it from others."""


class PaperRow(msgspec.Struct, frozen=True):
    """An edit model by one judge, as the verdict has it."""

    placing: Placing
    contest: Contest | None
    """The first against this one: its `difference` is how far this one is behind. None for the first."""
    mark: Mark
    """`best`; `level`: not shown to be worse; `worse`: shown to be worse; empty."""
    images: int | None
    """Source images of the scored samples; None for a judge that compares."""
    failed: int
    """Edits that failed, of those `tried`."""
    tried: int
    """Edits that were tried."""


class JudgeTable(msgspec.Struct, frozen=True):
    """The edit models by one judge, the best first."""

    judge: str
    score: str
    scale: Scale
    compares: bool
    """True if it is shown two edits at a time; means are then strengths."""
    heard: bool
    """Whether it counts in the verdict; if not, nobody is marked."""
    digits: int
    """Shown."""
    family: Correction | None
    """What ranks and p are corrected for; None with one edit model."""
    rows: list[PaperRow]


class NamedModel(msgspec.Struct, frozen=True):
    """An edit model or a judge, as far as its answers depend on it."""

    name: str
    """Its name in the run."""
    weights: str
    """Its weights, its folder of edits, or its class."""
    revision: str
    """Of the weights; empty if there is none."""
    parameters: Unchecked
    """As far as they are set, without those above."""
    seed: int
    """Of the first edit, or answer."""


class NamedJudge(msgspec.Struct, frozen=True):
    """A judge with how it is asked, and what is known of it."""

    model: NamedModel
    protocol: str
    """Name of its protocol."""
    wording: str
    """Which rubric, or whose prompts; empty if the protocol has one wording."""
    passport: str
    """Its passport's line; empty for what no audit can examine."""


class Setting(msgspec.Struct, frozen=True):
    """What all edit models were given."""

    benchmark: str
    """Its type, or the user's own class."""
    data: str
    """Name of its file or folder."""
    source: str
    """Where the data come from, or empty."""
    licence: str
    """Of the data; empty if it is not known."""
    samples: int
    """That were used."""
    skipped: int
    """Further samples, which could not be used."""
    images: int
    edit_seeds: int
    """Edits of each sample."""
    repeats: int
    """Judgements of each edit."""
    readings: int
    """Answers to each question."""
    versions: dict[str, str]
    """Of libraries, by name."""
    gpus: list[str]
    """Their kinds."""


class Paper(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the files of a paper are written from."""

    schema: int = 1
    runs: list[str]
    """Their names."""
    language: str
    """In which they are written."""
    columns: list[str]
    """Of the table, in this order (`columns.COLUMNS`)."""
    tables: list[JudgeTable]
    verdict: Verdict
    setting: Setting
    edit_models: list[NamedModel]
    judges: list[NamedJudge]
    notes: list[str]
    """Warnings for the reader."""


def paper(runs: Sequence[Run], columns: Sequence[str], language: str, score: str | None = None) -> Paper:
    """Arranges runs as a paper shows them, by the headlines of their judges or by the `score` of that name.

    Raises `ConfigurationError` for runs that may not stand in one table: of other samples, or of which `compare`
    refuses the judges or what they were asked; and if nothing is scored.
    """
    names = run_names([run.results.directory for run in runs])
    if len(runs) > 1:
        refuse_other_samples(runs, names)
    if len(runs) > 1 or score is not None:
        comparison = compare(runs, score=score)
        verdict, notes = comparison.verdict, list(comparison.notes)
    else:
        verdict, notes = runs[0].summary.verdict, list(runs[0].results.provenance.notes)
    if all(standing.mean is None for opinion in verdict.opinions for standing in opinion.standings):
        raise ConfigurationError(
            Text(
                "{: and }: nothing is scored, so there is no table; `edit-eval status {}` says why",
                names,
                runs[0].results.directory,
            )
        )
    scored = comparable_columns(runs, score)[0] if all(run.experiment.judges_of_one for run in runs) else []
    failures = _failures(runs, scored)
    by_names = {(column.judge, column.name): column for column in scored}
    judges = {judge.name: judge for judge in runs[0].experiment.judges}
    return Paper(
        runs=names,
        language=language,
        columns=list(columns),
        tables=[_table(opinion, verdict, by_names, failures, runs[0]) for opinion in verdict.opinions],
        verdict=verdict,
        setting=_setting(runs),
        edit_models=list(_edit_models(runs, scored)),
        judges=[_name_judge(judges[opinion.judge], runs[0]) for opinion in verdict.opinions],
        notes=notes,
    )


def _table(
    opinion: Opinion,
    verdict: Verdict,
    columns: Mapping[tuple[str, str], ScoreColumn],
    failures: Mapping[str, tuple[int, int]],
    run: Run,
) -> JudgeTable:
    judge, compares = opinion.judge, opinion.fights is not None
    headline = next((column.score for (of, _), column in columns.items() if of == judge), "")
    family: Correction | None = None
    if compares:
        [(headline, of), *_] = run.summary.battles[judge].scores.items()
        family = of.family
    elif opinion.contests:
        family = Correction(verdict.tests)
    rows = [
        _row(opinion, standing, columns.get((judge, standing.name)), failures[standing.name])
        for standing in opinion.standings
    ]
    return JudgeTable(judge, headline, opinion.scale, compares, opinion.is_eligible, digits(opinion), family, rows)


def _row(opinion: Opinion, placing: Placing, column: ScoreColumn | None, failed: tuple[int, int]) -> PaperRow:
    contest = next((contest for contest in opinion.contests if contest.other == placing.name), None)
    scored = [] if column is None else [sample for sample, score in column.scores.items() if score is not None]
    images = None if column is None else len({column.image(sample) for sample in scored})
    return PaperRow(placing, contest, mark_of(opinion, placing, contest), images, *failed)


def mark_of(opinion: Opinion, placing: Placing, contest: Contest | None) -> Mark:
    if not (opinion.is_eligible and opinion.contests and opinion.first) or placing.rank is None:
        return ""
    if placing.name == opinion.first:  # nobody is the best beside one that has a better mean and cannot be compared
        return "" if any(unplaced.leads for unplaced in opinion.unplaced) else "best"
    beaten = placing.beaten or (contest is not None and contest.kind in ("better", "fails_more"))
    return "level" if placing.rank == 1 and not beaten else "worse"


def _failures(runs: Sequence[Run], columns: Sequence[ScoreColumn]) -> dict[str, tuple[int, int]]:
    """Returns for each name in the table how many edits failed, refused ones included, and how many were tried."""
    by_run: dict[tuple[str, str], tuple[int, int]] = {}
    for run in runs:
        for edit in run.summary.edits:
            by_run[run.results.directory, edit.edit_model] = edit.not_made, edit.total
    own = {model: counts for (_, model), counts in by_run.items()} if len(runs) == 1 else {}
    return own | {column.name: by_run[column.run, column.edit_model] for column in columns}


# -- what was asked of whom --


def _setting(runs: Sequence[Run]) -> Setting:
    first = runs[0]
    results, experiment = first.results, first.experiment
    section = results.provenance.configuration.get("benchmark")
    given: Mapping[str, Any] = section if isinstance(section, Mapping) else {}
    used = [sample for sample in results.samples if not sample.fault]
    return Setting(
        benchmark=strip_folder(str(given.get("type") or given.get("class_path") or "")),
        data=Path(str(given.get("data_path") or "")).name,
        source=str(results.provenance.about.get("source", "")),
        licence=str(results.provenance.about.get("licence", "")),
        samples=len(used),
        skipped=len(results.samples) - len(used),
        images=len({sample.cluster or sample.id for sample in used}),
        edit_seeds=experiment.edit_seeds,
        repeats=experiment.repeats,
        readings=experiment.readings,
        versions=_versions([run.results.provenance.environment for run in runs]),
        gpus=sorted({title for run in runs for title in _gpus(run.results.provenance.environment)}),
    )


def _versions(environments: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns each library's version; where runs had different ones, all of them."""
    by_library: dict[str, list[str]] = {}
    for environment in environments:
        libraries = environment.get("libraries")
        every = {**libraries} if isinstance(libraries, Mapping) else {}
        for name, version in (every | ({"Python": environment["python"]} if environment.get("python") else {})).items():
            if str(version) not in by_library.setdefault(str(name), []):
                by_library[str(name)].append(str(version))
    return {name: " / ".join(versions) for name, versions in by_library.items()}


def _gpus(environment: Mapping[str, Any]) -> Iterator[str]:
    listed = environment.get("gpus")
    for gpu in listed if isinstance(listed, list) else []:
        if isinstance(gpu, Mapping) and gpu.get("title"):
            yield str(gpu["title"])


def _edit_models(runs: Sequence[Run], columns: Sequence[ScoreColumn]) -> Iterator[NamedModel]:
    called = {(column.run, column.edit_model): column.name for column in columns}
    for run in runs:
        for model in run.experiment.edit_models:
            if called and (run.results.directory, model.name) not in called:
                continue  # it is another run's, too, and named there
            yield _describe_model(model, called.get((run.results.directory, model.name), model.name))


def _describe_model(model: Identity, name: str) -> NamedModel:
    given = mask_secrets(dict(model.parameters))
    parameters = {key: value for key, value in given.items() if value not in _NOTHING}
    key = next((parameter for parameter in _WEIGHTS if isinstance(parameters.get(parameter), str)), "")
    weights = strip_folder(str(parameters.pop(key))) if key else ""
    own = parameters.pop("revision", "")
    revision = str(own or model.revision)
    return NamedModel(name, weights or model.type, _short(revision), parameters, model.seed)


def strip_folder(name: str) -> str:
    """Returns the last part of a path on this machine, which is nobody else's business; any other name as it is."""
    return Path(name).name if name.startswith(("/", "~", ".")) else name


def _short(revision: str) -> str:
    """Returns each digest of a revision in as many characters as tell it from others."""
    return " ".join(word[:_DIGEST] if len(word) >= 40 and word.isalnum() else word for word in revision.split())


def _name_judge(judge: AskedJudge, run: Run) -> NamedJudge:
    prompts = judge.section.parameters.get("prompts")
    whose = prompts if isinstance(prompts, str) else ""
    examined = run.judge_examinations.get(judge.name)
    return NamedJudge(
        model=_describe_model(judge.model, judge.name),
        protocol=judge.protocol_name,
        wording=", ".join(_rubrics(judge, run)) or whose,
        passport=examination_words(examined.document) if examined else "",
    )


def _rubrics(judge: AskedJudge, run: Run) -> list[str]:
    """Returns the versions of those rubrics that the samples' categories have, each once."""
    texts = {name: text for name, text in judge.texts.items() if isinstance(text, Mapping) and "version" in text}
    categories = dict.fromkeys(canonical(sample.category) for sample in run.results.samples)
    used = dict.fromkeys(name if name in texts else "general" for name in categories)
    return list(dict.fromkeys(str(texts[name]["version"]) for name in used if name in texts))


# -- columns, for LaTeX, the terminal and `--columns` alike --


@dataclass(frozen=True)
class PaperColumn:
    """A column: what it shows of a row, in the digits of its judge."""

    key: str
    """Its name in `--columns`."""
    title: Text
    shows: Callable[[JudgeTable, PaperRow], str]
    by_default: bool = True
    is_name: bool = False
    """True for words, which are aligned left."""
    marked: bool = False
    """True for the one that is bold for the best."""


def _interval(table: JudgeTable, row: PaperRow) -> str:
    ci95 = row.placing.ci95
    if ci95 is None or ci95 == (None, None):
        return NOTHING
    low, high = (None if end is None else formats.score(end, table.digits) for end in ci95)
    return f"[{low or '−∞'}, {high or '∞'}]"


def _gap_to_best(table: JudgeTable, row: PaperRow) -> str:
    contest, digits = row.contest, table.digits
    if contest is None or contest.difference is None or contest.kind == "behind":  # then there is no best
        return NOTHING
    by = formats.score(contest.difference, digits)
    return by if contest.ci95 is None else f"{by} {formats.format_interval(contest.ci95, digits)}"


COLUMNS: tuple[PaperColumn, ...] = (
    PaperColumn("model", Text("Model"), lambda table, row: row.placing.name, is_name=True),
    PaperColumn("n", Text("Scored"), lambda table, row: f"{row.placing.scored}/{row.placing.total}"),
    PaperColumn("images", Text("Images"), lambda table, row: str(row.images or NOTHING), by_default=False),
    PaperColumn("score", Text("Score"), lambda table, row: formats.score(row.placing.mean, table.digits), marked=True),
    PaperColumn("interval", Text("95% interval"), _interval),
    PaperColumn("behind", Text("Behind the best"), _gap_to_best),
    PaperColumn("p", Text("p"), lambda table, row: _p(row, "p"), by_default=False),
    PaperColumn("p_adjusted", Text("p adj."), lambda table, row: _p(row, "p_adjusted"), by_default=False),
    PaperColumn("rank", Text("Rank"), lambda table, row: formats.rank(row.placing.rank), by_default=False),
    PaperColumn("failed", Text("Failed"), lambda table, row: f"{row.failed}/{row.tried}"),
)


def _p(row: PaperRow, name: str) -> str:
    return formats.p_value(getattr(row.contest, name, None))


_BY_KEY = {column.key: column for column in COLUMNS}


def choose_columns(words: str | None) -> list[str]:
    """Returns the keys in `model,n,score`; without words those shown by default.

    Raises `ConfigurationError` for a column that there is not, and for one that is named twice.
    """
    if words is None:
        return [column.key for column in COLUMNS if column.by_default]
    keys = [word.strip() for word in words.split(",") if word.strip()]
    for key in keys:
        if key not in _BY_KEY:
            meant = did_you_mean(key, _BY_KEY) or Text("; there are: {}", _BY_KEY)
            raise ConfigurationError(Text("--columns {}: no such column{}", key, meant))
        if keys.count(key) > 1:
            raise ConfigurationError(Text("--columns {}: named twice; leave one out", key))
    if not keys:
        raise ConfigurationError(Text("--columns: names no column; there are: {}", _BY_KEY))
    return keys


def columns_of(keys: Iterable[str], tables: Sequence[JudgeTable]) -> list[PaperColumn]:
    """Returns columns by their keys, those that have nothing to show of any row left out."""
    rows = [(table, row) for table in tables for row in table.rows]
    columns = [_BY_KEY[key] for key in keys]
    return [column for column in columns if any(column.shows(*row) != NOTHING for row in rows)]


# -- words --


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
    own = "interval" in paper.columns and any(row.placing.ci95 for row in rows)
    if own or ("behind" in paper.columns and any(row.contest and row.contest.ci95 for row in rows)):
        lines.append(Text("Brackets: 95% intervals, clustered on the source image."))
    if "behind" in paper.columns and any(row.contest for row in rows):
        lines.append(Text("Behind the best: the paired difference, on the samples that both have."))
    return [*lines, *doubt_lines(paper.verdict)]


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
