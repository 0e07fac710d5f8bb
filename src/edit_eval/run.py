"""A run, read from its records. As a program it draws the report of the run that it is given."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from edit_eval.config.faults import explain
from edit_eval.config.schema import EvaluationSection, ProtocolSection, Section
from edit_eval.errors import RunDirectoryError, Unscored
from edit_eval.execution.run_folders import Made
from edit_eval.protocols.rubric_score import RubricScore
from edit_eval.records import Results, Status
from edit_eval.statistics.people import people_agreement, read_people_file
from edit_eval.statistics.summary import judges_document, summarise
from edit_eval.store.matrix import Matrix
from edit_eval.store.provenance import mixed_environments
from edit_eval.store.run_directory import RunDirectory

S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class Run:
    """An evaluation in its run directory. Everything is read from the records alone."""

    path: Path

    @cached_property
    def _directory(self) -> RunDirectory:
        """The one through which all of it is read, so that all damage is counted in one place."""
        return RunDirectory.existing(self.path)

    @cached_property
    def matrix(self) -> Matrix:
        """Every edit and judgement. Raises `RunDirectoryError` for a folder that is no run."""
        directory, evaluation = self._directory, self._section("evaluation", EvaluationSection)
        made = Made.recorded(directory)
        if made is None:
            raise RunDirectoryError(f"{self.path} has no configuration; `edit-eval run CONFIG` writes it")
        asked = self._section("protocol", ProtocolSection)
        protocol = RubricScore(made.rubrics, made.language, asked.answer, asked.retries)
        matrix = Matrix(
            made.samples,
            made.edit_models,
            made.judges,
            protocol,
            edit_seeds=evaluation.edit_seeds,
            repeats=evaluation.repeats,
        )
        matrix.recall(directory.read("edits"), directory.read("judgements"), self.path, lambda status: False)
        return matrix

    @cached_property
    def results(self) -> Results:
        """All records, as statistics and reports take them."""
        directory, matrix = self._directory, self.matrix
        timeline = directory.timeline()
        configuration = directory.configuration()
        return Results(
            name=self.path.resolve().name,
            directory=str(self.path),
            samples=matrix.samples,
            edits=tuple(matrix.edits),
            judgements=tuple(matrix.judgements()),
            edit_models=tuple(model.name for model in matrix.edit_models),
            judges=tuple(judge.name for judge in matrix.judges),
            activities=timeline.activities,
            wall_seconds=timeline.wall_seconds,
            devices=timeline.devices,
            memory=timeline.memory,
            utilisation=timeline.utilisation,
            configuration=configuration,
            resolved=directory.resolved(),
            environment=directory.environment(),
            notes=tuple(filter(None, (directory.damage.note, *mixed_environments(directory)))),
        )

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers, as in `summary.json`."""
        return summarise(self.results, min_coverage=self._min_coverage, **self.bounds)

    def agreement(self, people: Path | None = None) -> dict[str, Any]:
        """How far the judges agree with themselves, each other and, under `people`, with that CSV file."""
        document = judges_document(self.results, min_coverage=self._min_coverage, **self.bounds)
        against = None if people is None else people_agreement(self.results, read_people_file(people))
        return {**document, "people": against}

    @property
    def bounds(self) -> dict[str, float]:
        """The `lowest` and the `highest` score there can be."""
        protocol = self.matrix.protocol
        return {"lowest": getattr(protocol, "lowest", 0.0), "highest": getattr(protocol, "highest", 10.0)}

    @property
    def language(self) -> str:
        """The language of the instructions, `en` or `zh`."""
        benchmark: Any = self.results.configuration["benchmark"]
        return str(benchmark["language"])

    def _section(self, name: str, model: type[S]) -> S:
        """A section of the recorded configuration."""
        written = self._directory.configuration().get(name)
        if isinstance(written, dict):  # another version may have known more
            written = {key: value for key, value in written.items() if key in model.model_fields}
        try:
            return model.model_validate(written)
        except ValidationError as error:
            (place, text), *_ = explain(error, written)
            problem = f"{'.'.join((name, *place))}: {text}"
            raise RunDirectoryError(
                f"{self.path / 'config'} is damaged ({problem}); `edit-eval run CONFIG` writes it anew"
            ) from error

    @cached_property
    def _min_coverage(self) -> float:
        return self._section("evaluation", EvaluationSection).min_coverage

    @property
    def reached(self) -> bool:
        """Whether everything came to an end, with the coverage that was asked for."""
        return bool(self.summary["coverage"]["reached"]) and self.summary["status"] == "complete"

    def check_coverage(self) -> None:
        """Raises `Unscored` where fewer samples are scored than `evaluation.min_coverage` asks for."""
        if not self.reached:
            coverage = self.summary["coverage"]
            skipped = coverage["by_status"].get(Status.SKIPPED.value, 0)
            verb = "count" if skipped > 1 else "counts"
            counts = f" ({skipped} skipped {verb} as not scored)" if skipped else ""
            done = (Status.OK.value, Status.PENDING.value, Status.SKIPPED.value)
            failed = ",".join(name for name in coverage["by_status"] if name not in done)
            again = f", `--retry {failed}` tries those again" if failed else ""
            raise Unscored(
                f"coverage: {coverage['scored']} of {coverage['total']} are scored{counts}, and "
                f"evaluation.min_coverage is {self._min_coverage:g}; `edit-eval status {self.path}` names the rest"
                f"{again}"
            )

    @property
    def page(self) -> Path:
        """The report's page."""
        return self.path / "report" / "index.html"

    def draw(self) -> None:
        """Writes the report, in a process of its own, so that its pictures never weigh on this one.

        Raises `NotDrawn` when it cannot be written; the run's records are as they were.
        """
        from edit_eval.reporting.drawing import draw_apart

        draw_apart(self.path)


if __name__ == "__main__":
    from edit_eval.reporting.drawing import draw

    _run = Run(Path(sys.argv[1]))
    sys.exit(draw(_run.results, _run.summary, _run.path, language=_run.language))
