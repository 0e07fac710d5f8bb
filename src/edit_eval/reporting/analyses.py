"""Analyses: questions about runs that are finished, each a class that core code knows by its registered name alone.

An analysis reads records and makes a typed document of them. Everything that a reader meets follows from that class:
the verb with its flags and `--json`, `Run.analysis`, the section of the page and of `report.md` with its charts, the
notebook, and the files of `--to`. Ours are plug-ins; a package adds one by an entry point `analysis.NAME` in the group
`edit_eval.components` (docs/your-analysis.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from edit_eval.config.components import import_registered, locate, names, package_of
from edit_eval.config.faults import did_you_mean
from edit_eval.config.parameters import describe_parameters, names_of
from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.records import Results
from edit_eval.reporting.documents import encode_document
from edit_eval.reporting.table import Line, Sheet
from edit_eval.reporting.verdict import vote_words
from edit_eval.statistics.columns import ScoreColumn, columns_of_models
from edit_eval.statistics.fitted_strengths import settle_pairs
from edit_eval.statistics.preferences import one_sided
from edit_eval.statistics.summary import Summary, summarise
from edit_eval.statistics.verdict import add_votes
from edit_eval.statistics.votes import SHARES, count_votes
from edit_eval.store.votes import Votes, read_votes
from edit_eval.text import Text


@dataclass(frozen=True)
class RunRecords:
    """What an analysis reads of a run."""

    results: Results
    language: str = ""
    """Of its instructions, `en` or `zh`; empty for that of whoever reads."""

    @cached_property
    def columns(self) -> list[ScoreColumn]:
        """The headlines of every (edit model, judge), for comparing edit models."""
        return columns_of_models(self.results)

    @cached_property
    def votes(self) -> Votes:
        """People's, on pairs of its edits; read when an analysis asks."""
        return read_votes(Path(self.results.directory), self.results.edits)


@dataclass(frozen=True)
class SampleGroup:
    """Samples that an analysis tells together: the gallery can be filtered by them."""

    key: str
    """Its name in the page's address (`entries.link(group=...)`): letters, digits, `-`."""
    label: Text
    sample_ids: Sequence[str]


@dataclass(frozen=True)
class ChartStyle:
    """What a chart must know of the page that it is drawn for."""

    edit_models: Sequence[str]
    """All of the run, in the order of their colours; empty where a document is drawn alone."""
    language: str
    results: Results | None = None
    """The records, for a chart of single edits; None where they are not at hand."""


Document = TypeVar("Document")


@dataclass(frozen=True)
class Sources:
    """What an analysis is about, as its verb takes it: of the usual kind one run."""

    metavar: str = "RUN"
    help: str = "A run directory."
    several: bool = False
    """True for one or more; `compute` is then given a list."""
    as_one: bool = False
    """True for several runs that are read as one: `compute` is then given the records of them all, the edit models of
    each, and judges that are asked alike as one judge."""


RUNS_AS_ONE = Sources("RUN...", "A run; further runs are read with it, as one.", several=True, as_one=True)


class Analysis(Generic[Document]):
    """A question about finished runs. A class's docstring is its help, its first line the one in `edit-eval --help`.

    Its nested dataclass `Parameters` becomes the flags: fields of the types `str`, `int`, `float`, `bool`, `Path` and
    `tuple[int, ...]` (`1,2,4`), each perhaps `| None`, the docstring below a field its help, and
    `field(metadata={"metavar": "JUDGE"})` the word for its value. `document` is the msgspec Struct that `compute`
    returns; `--json` prints it as it is, and it is read back as itself.

    It is about one run, unless `sources` says what else it is about: several runs, pushed ones, the result files of
    others, each of which `open_source` opens. An analysis of one run is also a section of that run's report where its
    `ReportSection` says so.
    """

    about: ClassVar[Mapping[str, str]] = {}
    """`group`: the heading below which `edit-eval --help` lists it, as a literal."""
    sources: ClassVar[Sources] = Sources()

    @dataclass(frozen=True)
    class Parameters:
        """No options."""

    title: ClassVar[Text]
    """Heading of its section."""
    document: ClassVar[type[Any]]
    chart_title: ClassVar[Text] = Text("")
    """Title of its charts; empty for `title`."""
    caption: ClassVar[Text] = Text("")
    """Line below that."""
    explained: ClassVar[Text] = Text("")
    """Line below its documents."""
    appendix: ClassVar[bool] = False
    """True if its section comes after the results in detail: for who looks closer."""

    def open_source(self, source: Any, parameters: Any) -> Any:
        """Opens one of its sources, a word of the command line or what is given in Python.

        Of an analysis that leaves this as it is, sources are runs, and `compute` is given their `RunRecords`.
        """
        raise NotImplementedError

    def compute(self, records: Any, parameters: Any) -> Document:
        """Computes the document of a run's `RunRecords`, or of what `open_source` has made of its sources.

        Raises `ConfigurationError` for parameters that these cannot answer.
        """
        raise NotImplementedError

    def heading(self, document: Document) -> Text:
        """Returns the line that tells one document from another of the same run; may be empty."""
        return Text("")

    def sheet(self, document: Document) -> Sheet:
        """Returns its tables and lines, without the heading."""
        raise NotImplementedError

    def charts(self, documents: Sequence[Document], style: ChartStyle) -> Sequence[Any]:
        """Returns Altair charts of one run's documents; empty for none."""
        return ()

    def groups(self, document: Document) -> Sequence[SampleGroup]:
        """Returns groups of samples that the gallery can be filtered by, linked by `entries.link(group=KEY)`."""
        return ()

    def remarks(self, document: Document) -> Mapping[str, Sequence[Text]]:
        """Returns by id what it says of single samples: sentences that stand below their pictures."""
        return {}

    def write(self, document: Document, records: RunRecords, folder: Path) -> None:
        """Writes a folder of its own for `--to FOLDER`, whole or not at all."""
        raise NotImplementedError

    def rows(self, document: Document) -> Sequence[Mapping[str, Any]]:
        """Returns the rows of its CSV, all with the same keys; empty for no CSV."""
        return ()


class ReportSection(Protocol):
    """What every report asks: whether the analysis of the same name has something to say of a run by itself.

    It may be the analysis. It is better apart, where what the analysis imports is large: most have nothing to say of
    most runs.
    """

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Returns the parameters with which a report shows the analysis, in their order; empty for none."""
        ...


def analysis(name: str) -> Analysis[Any]:
    """Returns the analysis of that name. Raises `ConfigurationError` if none is registered."""
    instance: Analysis[Any] = import_registered("analysis", name)()
    return instance


def compute_analysis(
    name: str, sources: Sequence[Any], read: Callable[[Sequence[Any]], RunRecords], given: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Computes one document of an analysis; returns it, and what it was computed of.

    `read` opens runs, as one; `given` are the parameters by name. Raises `ConfigurationError`, also for unknown ones.
    """
    of, known = analysis(name), names_of(import_registered("analysis", name))
    for unknown in given:
        if unknown not in known:
            meant = did_you_mean(unknown, known) or Text("; there are: {}", known)
            raise ConfigurationError(Text("{} has no parameter `{}`{}", name, unknown, meant))
    try:
        parameters = of.Parameters(**given)
    except TypeError:  # one without a default
        lacking = [
            parameter.name
            for parameter in describe_parameters(type(of))
            if parameter.is_required and parameter.name not in given
        ]
        raise ConfigurationError(
            Text("{} lacks `{}`; `edit-eval describe {}` lists all", name, lacking[0], name)
        ) from None
    for flag, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):  # which JSON cannot hold either
            typed = flag.strip("_").replace("_", "-")
            raise ConfigurationError(Text("--{} {:g}: must be a finite number", typed, value))
    if not of.sources.several and len(sources) != 1:
        raise ConfigurationError(Text("{} is about one {}, and {} are given", name, of.sources.metavar, len(sources)))
    if of.sources.as_one:
        records: Any = read(sources)
    else:
        own = type(of).open_source is not Analysis.open_source
        opened = [of.open_source(source, parameters) if own else read([source]) for source in sources]
        records = opened if of.sources.several else opened[0]
    return of.compute(records, parameters), records


def summary_of(results: Results) -> Summary:
    """Returns the numbers of a run, and what every analysis with a section wants to say of it by itself.

    An analysis with nothing to say is left out, and not imported. One that a package brings and that fails, or whose
    document cannot be written and read back, is left out with a note: a report is never lost to it.
    """
    records, analyses, notes = RunRecords(results), {}, []
    for name in sorted(names("section")):
        package = package_of("section", locate("section", name) or "")
        try:
            section: ReportSection = import_registered("section", name)()
            documents = [_document(name, records, parameters) for parameters in section.select_parameters(records)]
            for document in documents if package else ():
                msgspec.json.decode(encode_document(document), type=analysis(name).document)
        except Exception as error:
            if not package:
                raise
            why = error if isinstance(error, EditEvalError) else Text("{}: {}", type(error).__name__, error)
            notes.append(Text("the analysis `{}` of {} failed ({})", name, package, why))
            continue
        if documents:
            analyses[name] = documents
    summary = summarise(results, columns=records.columns)
    given = records.votes.to_votes(results.samples) if records.votes.lines else []
    apart = one_sided(given)
    counted = [vote for vote in given if vote.rater not in apart]
    if any(vote.choice in SHARES for vote in counted):
        votes = count_votes(counted, *settle_pairs(counted, results.edit_models))
        summary = msgspec.structs.replace(summary, verdict=add_votes(summary.verdict, votes))
        if summary.verdict.opinions:  # else they are the answer
            notes.append(Text("{}; `edit-eval votes` shows how sure that is", vote_words(votes)))
    return msgspec.structs.replace(summary, analyses=analyses, notes=[*summary.notes, *notes])


def _document(name: str, records: RunRecords, parameters: Mapping[str, Any]) -> Any:
    of = analysis(name)
    return of.compute(records, of.Parameters(**parameters))


@dataclass(frozen=True)
class AnalysisSection:
    """An analysis of a run, as a report shows it."""

    name: str
    of: Analysis[Any]
    documents: Sequence[Any]

    @property
    def title(self) -> Text:
        """Its heading."""
        return self.of.title

    @property
    def appendix(self) -> bool:
        """Whether it comes after the results in detail."""
        return self.of.appendix

    @property
    def caption(self) -> Text:
        """The line below its charts."""
        return self.of.caption

    @property
    def explanation(self) -> Text:
        """The line below its documents."""
        return self.of.explained

    @property
    def parts(self) -> list[tuple[Text, Sheet]]:
        """Each document's heading and sheet."""
        return [(self.of.heading(document), self.of.sheet(document)) for document in self.documents]

    def sheet(self) -> Sheet:
        """Returns all of it as one sheet, with its titles."""
        lines: list[Any] = []
        for heading, sheet in self.parts:
            title = Text("{}. {}", self.title, heading) if heading else self.title
            lines += [Line(), Line(title, "strong"), *sheet]
        return [*lines, *([Line(self.explanation, "quiet")] if self.explanation else [])]

    def charts(self, style: ChartStyle) -> Sequence[Any]:
        """Returns its charts."""
        return self.of.charts(self.documents, style)


def sections(summary: Summary) -> list[AnalysisSection]:
    """Returns the sections of a summary, by name, and those of the `appendix` behind the others.

    Documents of an analysis that is no longer there are left out.
    """
    sections = []
    for name, documents in summary.analyses.items():
        if locate("analysis", name):
            of = analysis(name)
            sections.append(AnalysisSection(name, of, documents))
    return sorted(sections, key=lambda section: section.appendix)


def section_of(name: str, document: Any) -> AnalysisSection:
    """Returns one document as a section."""
    return AnalysisSection(name, analysis(name), [document])
