"""A run, read from its records, and runs compared: who is better, by every judge that they have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from edit_eval.asking import MOST_CELLS, refuse_too_many_cells
from edit_eval.config.components import name_code
from edit_eval.errors import ConfigurationError, EditEvalError, RunDirectoryError, Unscored
from edit_eval.experiment import Experiment
from edit_eval.json_values import Unchecked
from edit_eval.protocols.certificates import certificate_of, find_certificate
from edit_eval.protocols.contract import Missing
from edit_eval.protocols.derived import DerivedScores
from edit_eval.records import FAILED, NO_FILE, Edit, ExaminedJudge, Judgement, Results, RunProvenance, Sample, Status
from edit_eval.reporting.displays import page_display, watch_run
from edit_eval.reporting.language import current_language, translate
from edit_eval.reporting.render_subprocess import page_of, render_report, report_files
from edit_eval.store.examined import Examination, load_examinations
from edit_eval.store.provenance import collect_environment_notes
from edit_eval.store.run_directory import RunDirectory, what_mends
from edit_eval.store.run_file import describe_copy, open_run_path
from edit_eval.store.run_folders import damage_error, read_experiment
from edit_eval.store.table import JudgementTable, open_table
from edit_eval.store.timeline import read_timeline
from edit_eval.text import Text

if TYPE_CHECKING:  # what computes is imported where it is asked for: a run's records are read in a third of the time
    from edit_eval.config.schema import Configuration
    from edit_eval.evaluation import EvaluationOptions
    from edit_eval.execution.spectator import Spectator
    from edit_eval.reporting.analyses import RunRecords
    from edit_eval.statistics.aggregates import RequiredCoverage
    from edit_eval.statistics.comparison import Comparison
    from edit_eval.statistics.means import MeanScore
    from edit_eval.statistics.summary import Summary


class ShownMeans(tuple["MeanScore", ...]):
    """Means, shown as a table in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        display = page_display()
        return display.show_means(self) if display else None


class _ExaminedJudges(Mapping[str, ExaminedJudge]):
    """The documents of a run's judges; who examines them is asked, and imported, when the first is looked up."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def _documents(self) -> dict[str, ExaminedJudge]:
        return {judge: examination.document for judge, examination in self._run.judge_examinations.items()}

    def __getitem__(self, judge: str) -> ExaminedJudge:
        return self._documents[judge]

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)


class Analysed:
    """The document of an analysis, with its fields as attributes; shown in a notebook as its verb prints it."""

    def __init__(self, name: str, document: Any, records: Any, language: str) -> None:
        self.name, self.document, self.records, self.language = name, document, records, language

    def __getattr__(self, field: str) -> Any:
        return getattr(self.document, field)

    def __repr__(self) -> str:
        return repr(self.document)

    def _repr_html_(self) -> str | None:
        display = page_display()
        return display.show_analysis(self.name, self.document) if display else None


@dataclass(frozen=True)
class Run:
    """An evaluation in its run directory. Everything is read from the records alone."""

    path: Path
    """Its run directory; for a service's ledger, the one run in it; for a run in one file (`edit-eval export`), where
    that was unpacked."""
    examinations: Path | None = None
    """Folder in which what is known of its judges is looked for besides its own copies."""
    code: Sequence[str | Path] = ()
    """Folders of your own classes that the run names. Without them no class is imported that is not registered, or that
    you have run in this process; scores by one are shown as the last start derived them."""

    def __post_init__(self) -> None:
        name_code([self.code] if isinstance(self.code, str | Path) else self.code)
        object.__setattr__(self, "path", open_run_path(Path(self.path)))

    @cached_property
    def judge_examinations(self) -> Mapping[str, Examination]:
        """For each judge that could be examined, what is known of it."""
        return load_examinations(self.experiment, self.path, self.examinations)

    @classmethod
    def from_directory(cls, directory: RunDirectory, table: JudgementTable | None = None) -> Run:
        """Opens the run in a folder that is already being read; with a `table`, as far as that has been read.

        A damaged configuration is then reported, and left out: the results can be seen all the same.
        """
        run = cls(directory.path)
        vars(run)["_directory"] = directory
        if table is not None:
            vars(run).update(experiment=table.experiment, table=table)
            try:
                _ = run._configuration, directory.read_resolved_configuration()
            except RunDirectoryError as error:
                vars(run).update(_configuration={}, _damaged=str(error))
        return run

    _damaged: ClassVar[str] = ""
    """Description of the damage, for a run that is shown as far as it is whole."""

    @cached_property
    def _configuration(self) -> Unchecked:
        configuration = self._directory.configuration()
        evaluation = configuration.get("evaluation")
        if not isinstance(evaluation, dict) or not isinstance(evaluation.get("min_coverage"), int | float):
            raise RunDirectoryError(Text("{} is damaged; {}", self.path / "config", what_mends(self.path)))
        return configuration

    @cached_property
    def _directory(self) -> RunDirectory:
        """The one directory through which everything is read, so that all damage is counted in one place."""
        return RunDirectory.open_existing(self.path)

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment of the run. Raises `RunDirectoryError` for a folder that is no run."""
        experiment = read_experiment(self._directory)
        if experiment is None:
            raise RunDirectoryError(Text("{} has no configuration; {}", self.path, what_mends(self.path)))
        for judge in experiment.judges:
            if isinstance(judge.protocol, DerivedScores) and (fault := judge.protocol.fault):
                raise RunDirectoryError(Text("{}: its replies cannot be read here: {}", self.path, fault))
        try:
            refuse_too_many_cells(experiment, min(MOST_CELLS, self._directory.most_cells))
        except ConfigurationError as error:
            raise RunDirectoryError(
                Text("{}: more than its journals can have come from: {}", self.path, error)
            ) from error
        except Exception as error:  # recorded parameters and texts may be anything
            raise damage_error(self._directory, error) from error
        return experiment

    @cached_property
    def table(self) -> JudgementTable:
        """Every edit and judgement."""
        return open_table(self._directory, self.experiment)

    @cached_property
    def results(self) -> Results:
        """All records, for statistics and reports."""
        directory, table, experiment = self._directory, self.table, self.experiment
        by_kind = table.rows_by_kind()
        judgements = tuple(by_kind["edit"])
        scoring = {judge.name: judge.scoring for judge in experiment.judges}
        return Results(
            name=self.path.resolve().name,
            directory=str(self.path),
            samples=table.samples,
            edits=table.edits,
            beside=table.predecessors_only,
            judgements=judgements,
            edit_models=tuple(model.name for model in experiment.edit_models),
            judges=tuple(judge.name for judge in experiment.judges_of_one),
            scoring=scoring,
            controls=tuple(by_kind["control"]),
            battles=tuple(by_kind["battle"]),
            battle_judges=tuple(judge.name for judge in experiment.judges if judge.of_two),
            refinements=experiment.refinements,
            critiques=tuple(critique for critique in by_kind["critique"] if critique.status is not Status.SKIPPED),
            rounds=table.rounds,
            published=self._compute_published_scores(judgements),
            certificates={
                judge.name: certificate_of(judge.protocol)
                for judge in experiment.judges
                if getattr(judge.protocol, "published", None) or (judge.of_two and find_certificate(judge.protocol))
            },
            telemetry=read_timeline(directory, experiment.identities),
            provenance=RunProvenance(
                configuration=self._configuration,
                resolved={} if self._damaged else directory.read_resolved_configuration(),
                environment=directory.environment(),
                about=experiment.about,
                examined=_ExaminedJudges(self),
                notes=tuple(filter(None, self._notes())),
            ),
        )

    def _notes(self) -> tuple[str, ...]:
        directory = self._directory
        derived = [judge.protocol.note for judge in self.experiment.judges if isinstance(judge.protocol, DerivedScores)]
        return (
            *self.experiment.notes,
            *derived,
            self._damaged,
            directory.damage.note,
            describe_copy(self.path),
            *collect_environment_notes(directory),
        )

    def _compute_published_scores(
        self, judgements: Collection[Judgement]
    ) -> Mapping[tuple[str, str], Mapping[str, float | str]]:
        numbers: dict[tuple[str, str], dict[str, float | str]] = {}
        for judge in (judge for judge in self.experiment.judges if judge.name not in self.experiment.critics):
            if not (published := getattr(judge.protocol, "published", {})):
                continue
            for model in self.experiment.edit_models:
                rows = [
                    judgement
                    for judgement in judgements
                    if (judgement.edit_model, judgement.judge) == (model.name, judge.name)
                ]
                for name, of in published.items():
                    try:
                        value: float | str = float(of(rows))
                    except Missing as missing:
                        value = missing.reason
                    except Exception as error:  # a protocol of the user's own
                        value = Text("{}: {}", type(error).__name__, error)
                    numbers.setdefault((model.name, judge.name), {})[name] = value
        return numbers

    @cached_property
    def summary(self) -> Summary:
        """All numbers: the document of `summary.json`."""
        from edit_eval.reporting.analyses import summary_of

        return summary_of(self.results)

    def means(
        self, edit_model: str | None = None, judge: str | None = None, score: str | None = None
    ) -> tuple[MeanScore, ...]:
        """Returns the mean of every score of every (edit model, judge) with its interval and coverage, or those named.

        Raises `ConfigurationError` for a name that is not in the run.
        """
        from edit_eval.statistics.means import means, select_means

        return ShownMeans(select_means(means(self.summary), edit_model, judge, score))

    @property
    def verdict(self) -> str:
        """Who is better and by how much, as in the report; for one edit model its score."""
        from edit_eval.reporting.verdict import answer_lines

        return "\n".join(
            translate(line, current_language(self.language)) for line in answer_lines(self.summary.verdict)
        )

    def mean(self, edit_model: str | None = None, judge: str | None = None, score: str | None = None) -> float:
        """Returns the mean of one edit model by one judge; if no `score` is named, of that judge's headline.

        Raises `ConfigurationError` if the run has several and none is named, and `Unscored` if nothing is scored.
        """
        from edit_eval.statistics.means import means, the_mean

        return the_mean(means(self.summary), edit_model, judge, score)

    def to_frame(self, of: str = "scores", library: str | None = None) -> Any:
        """Returns all `scores`, `judgements`, `edits`, `battles` or `controls` as a data frame (`reporting.scores`), a
        row each.

        A pandas `DataFrame` if pandas is installed, else a pyarrow `Table`; `library` names one of the two. Raises
        `ConfigurationError` if neither is installed, with the line that installs one, and for another word.
        """
        from edit_eval.reporting.scores import frame

        return frame(self.results, of, library)

    def analysis(self, name: str, *, others: Sequence[str | Path | Run] = (), **parameters: Any) -> Analysed:
        """Computes an analysis of the run: `run.analysis("best-of", select="hasty", report="colour")`.

        `others` are further runs, for an analysis that reads several as one. `edit-eval list` names all, `edit-eval
        describe NAME` lists their parameters. Raises `ConfigurationError` for other names and parameters, and for what
        this run cannot answer.
        """
        return analyse(name, self, *others, **parameters)

    @property
    def records(self) -> RunRecords:
        """What analyses read."""
        from edit_eval.reporting.analyses import RunRecords

        return RunRecords(self.results, self.language)

    @property
    def language(self) -> str:
        """The language of the instructions, `en` or `zh`."""
        return self.experiment.language

    @property
    def has_required_coverage(self) -> bool:
        """True if everything is finished, with the coverage that was asked for."""
        return self.summary.coverage.reached and self.summary.complete

    def check_coverage(self) -> None:
        """Raises `Unscored` if fewer samples are scored than `evaluation.min_coverage` asks for."""
        if not self.has_required_coverage:
            every: list[tuple[str, RequiredCoverage]] = [
                (Text("{}, judged by {}: ", entry.edit_model, entry.judge), entry.coverage)
                for entry in self.summary.results
            ]
            for judge, battles in self.summary.battles.items():
                every.append((Text("battles, judged by {}: ", judge), battles.coverage))
            below = [(who, coverage) for who, coverage in every if not coverage.reached] or every
            who, coverage = below[0] if len(every) > 1 else ("", below[0][1])
            more = Text(" (and {} more)", len(below) - 1) if len(below) > 1 else ""
            skipped = coverage.by_status.get(Status.SKIPPED.value, 0)
            counts = ""
            if skipped:
                many = Text(" ({} skipped count as not scored)", skipped)
                counts = many if skipped > 1 else Text(" (1 skipped counts as not scored)")
            failed = ",".join(name for name in coverage.by_status if name in FAILED)
            again = Text(", `--retry {}` retries them", failed) if failed else Text("")
            if any(status in coverage.by_status for status in NO_FILE):
                again = Text(
                    "{}; a finished edit needs its file: put it there and run again, or lower min_coverage", again
                )
            raise Unscored(
                Text(
                    "fewer are scored than was asked for: {}{} of {} are scored{}{}, and evaluation.min_coverage asks "
                    "for {:g}%; `edit-eval status {}` lists the rest{}",
                    who,
                    coverage.scored,
                    coverage.total,
                    counts,
                    more,
                    100 * self.summary.coverage.required,
                    self.path,
                    again,
                )
            )

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str | None:
        """Returns the view of a notebook: scores with intervals, coverage, controls, and a few of the pictures.

        None without a display; the notebook then shows what `repr` says.
        """
        if (display := page_display()) is None:
            return None
        try:
            return display.show_run(self.results, self.summary, self.page, language=current_language(self.language))
        except EditEvalError as error:
            return display.show_refusal(str(error))

    @property
    def page(self) -> Path:
        """The report's page; without a display, `report.md`."""
        return page_of(self.path)

    @property
    def report_files(self) -> tuple[Path, ...]:
        """Files of the report to send elsewhere: the page, which needs no other up to 2,000 pictures, and numbers."""
        return report_files(self.path)

    def write_report(self) -> None:
        """Writes the report of the run, as it has been read, in a separate process: pictures take up no memory here.

        Raises `NotDrawn` if it cannot be written; the run's records are unchanged.
        """
        self._render()

    def _render(self) -> str:
        """Does the same, and returns a note, or nothing."""

        def draw() -> int:
            from edit_eval.reporting.report import draw  # imports what draws

            return draw(self.results, self.summary, self.path, language=self.language)

        with suppress(Exception):  # which the process that draws tells as its own
            _ = self.summary
        return render_report(self.path, draw)


def evaluate(
    configuration: str | Path | Mapping[str, Any] | Configuration, **options: Unpack[EvaluationOptions]
) -> Run:
    """Runs an evaluation, or resumes one, and returns it with its numbers.

    `configuration` is a YAML file's path, its content as a mapping, or the result of `load_configuration`; `options`
    are those of `load_configuration` (`overrides`, `devices`, `categories`, `limit`, ...). An existing `run_dir` is
    resumed. Without one, the newest run under `runs/` of this configuration that is the same evaluation is resumed, or
    returned as it is if it is finished; if there is none, a new folder is made, which takes over everything with equal
    keys from earlier runs of this configuration. `retry` names statuses (`edit_failed`, `judge_error`, ...) whose
    failures are forgotten and tried again. With `verify` every source kept by the benchmark is read, and every
    existing picture is decoded and compared with the records; one that differs is made again. With
    `strict_environment` a run resumed with other libraries or GPUs than at its last start is refused, and one
    whose replicas are not alike ended; otherwise that is noted. With `report` the report is drawn at the end. `command`
    is the command line as typed, for the records. With a `shard` (`2/8`, or `auto`) several engines share the
    run, each with its samples; the last to end draws. After SIGTERM or SIGUSR1 running tasks have `grace` seconds to
    finish. What is known of the judges is looked for in the folder `examinations`, by default `passports` in the user's
    cache, and copied into the run. Progress is shown as set by `execution.progress`, on stderr or in the notebook, and
    reported to the `spectator`.

    Raises `ConfigurationError`, `BenchmarkError` and `RunDirectoryError` before anything is loaded or written,
    `Stopped` or `RunInterrupted` if the run ended early, and `NotDrawn` if only its report is missing: everything done
    so far is kept.
    """
    from edit_eval.evaluation import run_evaluation

    around = _Surroundings()
    folder = run_evaluation(configuration, around, **options)
    return around.read.get(folder) or Run(folder)


class _Surroundings:
    """The display of a run while it works, people's votes, and the report; a run that is drawn is read once."""

    def __init__(self) -> None:
        self.read: dict[Path, Run] = {}

    def watch(self, configuration: Configuration) -> Spectator:
        return watch_run(configuration)

    def carry_votes(self, source: Path, run: Path, edits: Sequence[Edit]) -> int:
        from edit_eval.store.votes import carry_votes

        return carry_votes(source, run, edits)

    def remember_sources(self, samples: Sequence[Sample]) -> None:
        from edit_eval.benchmarks.known_sources import remember_sources

        remember_sources(samples)

    def draw(self, run: Path) -> str:
        self.read[run] = Run(run)
        return self.read[run]._render()

    def files(self, run: Path) -> tuple[Path, ...]:
        return report_files(run)


def analyse(name: str, *sources: Any, **parameters: Any) -> Analysed:
    """Computes an analysis of runs, or of what else it is about: `analyse("leaderboard", "runs/a", "runs/b")`.

    `edit-eval list` names all, `edit-eval describe NAME` lists their parameters. Raises `ConfigurationError` for other
    names and parameters, and for what these sources cannot answer.
    """

    from edit_eval.reporting.analyses import compute_analysis

    def read(some: Sequence[Any]) -> RunRecords:
        first, *others = map(open_run, some)
        if not others:
            return first.records
        from edit_eval.store.joined import join_runs

        return replace(first.records, results=join_runs([first, *others]))

    document, records = compute_analysis(name, sources, read, parameters)
    first = records[0] if isinstance(records, list) else records
    return Analysed(name, document, records, getattr(first, "language", ""))


def open_run(run: str | Path | Run) -> Run:
    """Returns the run in a folder, or the one that is given."""
    return run if isinstance(run, Run) else Run(Path(run))


def compare(
    runs: str | Path | Run | Sequence[str | Path | Run],
    *,
    score: str | None = None,
    detect: float | None = None,
    margin: float | None = None,
    allow_unscored: float | None = None,
) -> Comparison:
    """Compares runs, or the edit models within one run, by every judge that they have in common.

    By the headline of each judge, or by its score of that name. With `detect` it also says how many samples would show
    a true difference of that many points. Its `gate` says whether any is worse than the first; with `margin`, whether
    all are shown to be less than that many points worse. It only passes what would pass for every possible missing
    score, except for those of a share `allow_unscored` of the samples, which it leaves out. Raises `ConfigurationError`
    for runs that cannot be compared, with what differs, and `RunDirectoryError` for a folder that is no run."""
    from edit_eval.reporting.shown_comparison import ShownComparison
    from edit_eval.store.comparable import compare_runs

    given = [runs] if isinstance(runs, str | Path | Run) else runs
    made = [open_run(run) for run in given]
    try:
        comparison = compare_runs(made, score=score, detect=detect, margin=margin, allow_unscored=allow_unscored)
        return ShownComparison(**vars(comparison))
    except ConfigurationError as error:
        from edit_eval.store.joined import describe_judge_differences

        for line in describe_judge_differences(made):
            error.add_note(Text("{}; `edit-eval agreement {: }` says more", line, (str(run.path) for run in made)))
        raise
