"""Evaluation results in the Hub's own form, `.eval_results/MODEL.yaml`, for the repositories of the models.

The form: https://huggingface.co/docs/hub/eval-results. Pages of models and leaderboards of benchmarks show what lies in
a *model's* repository; in the data set it lies ready to be copied there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from edit_eval import __version__
from edit_eval.files.addresses import is_address
from edit_eval.privacy import hide_folders
from edit_eval.records import Results
from edit_eval.statistics.summary import Result, Summary

FOLDER = ".eval_results"
_ADDRESS = re.compile(r"(?:hub:|hf://datasets/)([^/@]+/[^/@]+)(?:@([^/]+))?(?:/.*)?")


def encode_results(results: Results, summary: Summary, repository: str, hub: str) -> dict[str, str]:
    """Returns the content of a file for each edit model, by its path in the repository.

    An entry is the mean of a judge's headline over all samples, with what it rests on in `notes`; of a judge whose
    coverage is less than the run asked for there is none. `dataset` is the benchmark's on the Hub if it is there, else
    this one; `task_id` is `JUDGE/SCORE`, since a number means something by its judge alone.
    """
    benchmark, revision = _find_benchmark(results) or (repository, "")
    made: dict[str, list[dict[str, Any]]] = {}
    for result in summary.results:
        mean = result.headline_numbers.mean
        if mean is None or not result.coverage.reached:
            continue
        dataset = {"id": benchmark, "task_id": f"{result.judge}/{result.headline}"}
        made.setdefault(result.edit_model, []).append(
            {
                "dataset": {**dataset, **({"revision": revision} if revision else {})},
                "value": round(mean, 4),
                "source": {"url": f"{hub}/datasets/{repository}", "name": "Edits, scores and the judge's words"},
                "notes": ", ".join(_describe(result, results, summary)),
            }
        )
    return {
        f"{FOLDER}/{model}.yaml": yaml.safe_dump(entries, sort_keys=False, allow_unicode=True)
        for model, entries in made.items()
    }


def _describe(result: Result, results: Results, summary: Summary) -> Iterator[str]:
    numbers, scale = result.headline_numbers, result.headline_numbers.scale
    if scale.lowest is not None and scale.highest is not None:
        yield f"from {scale.lowest:g} to {scale.highest:g}"
    if not scale.higher_is_better:
        yield "lower is better"
    if numbers.ci95 is not None:
        yield f"95% interval {numbers.ci95[0]:.2f} to {numbers.ci95[1]:.2f}"
    yield f"{result.coverage.scored} of {result.coverage.total} scored"
    judges: Any = results.provenance.resolved.get("judges", ())
    asked: dict[str, Any] = next((judge for judge in judges if judge.get("name") == result.judge), {})
    model = str((asked.get("parameters") or {}).get("model_name") or asked.get("type") or "unknown")
    known = summary.judges.get(result.judge)  # none of a judge that nobody could examine
    yield f"judge {result.judge} ({hide_folders(model)})" + (f": {known.line}" if known and known.line else "")
    yield f"edit-eval {__version__}"


def _find_benchmark(results: Results) -> tuple[str, str] | None:
    """Returns the data set on the Hub that the benchmark is read from, and its revision."""
    section = results.provenance.configuration.get("benchmark")
    for value in section.values() if isinstance(section, dict) else ():
        if isinstance(value, str) and is_address(value) and (found := _ADDRESS.fullmatch(value)):
            return found[1], found[2] or ""
    return None
