"""Joins several runs into one, to analyse how their judges differ on the edits they share.

If a judge was swapped and the edits reused, two runs have the same pictures with different scores. Edits are matched
by their pixels, and judges by their identity and how they are asked, whatever the runs call them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from edit_eval.config.identity import digest
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.pictures import open_picture, pixel_digest
from edit_eval.records import Edit, Judgement, Results, Sample, Scoring
from edit_eval.statistics.raters import image_of, judges_of
from edit_eval.statistics.scores_apart import compare_scores
from edit_eval.store.comparable import ComparableRun, judge_identity, run_names
from edit_eval.store.recall import is_there
from edit_eval.text import Text


def join_runs(runs: Sequence[ComparableRun]) -> Results:
    """Joins the runs' results: all judgements that any run has, without controls and battles.

    Edit models that made the same pictures are merged; others with the same name get their run's name as a prefix. The
    same holds for judges. Raises `ConfigurationError` if a sample differs between runs.
    """
    first = runs[0].results
    if len(runs) == 1:
        return first
    names = run_names([run.results.directory for run in runs])
    samples: dict[str, Sample] = {}
    edits: dict[str, dict[tuple[str, int], Edit]] = {}
    judges: dict[str, str] = {}
    scoring: dict[str, Scoring] = {}
    resolved: list[dict[str, object]] = []
    judgements: dict[tuple[str, str, int, str, int], Judgement] = {}
    for name, run in zip(names, runs, strict=True):
        _take_samples(samples, run.results, name)
        models = _take_edits(
            edits, _compute_pixel_digests(run) if run.results.provenance.resolved.get("grows") else run.results, name
        )
        labels = {}
        recorded: Any = run.results.provenance.resolved.get("judges", [])
        plain = {judge["name"]: judge for judge in recorded}
        for judge in run.experiment.judges_of_one:
            identity = digest([judge_identity(run, judge), dict(judge.texts)])
            if identity not in judges:
                judges[identity] = _free(judge.name, name, scoring)
                scoring[judges[identity]] = run.results.scoring[judge.name]
                own = {"name": judges[identity], "measures": judge.measures, "replays": judge.replays}
                resolved.append({**plain.get(judge.name, {}), **own})
            labels[judge.name] = judges[identity]
        for judgement in run.results.judgements:
            made = replace(judgement, edit_model=models[judgement.edit_model], judge=labels[judgement.judge])
            address = (made.edit_model, made.sample_id, made.edit_seed, made.judge, made.repeat)
            if address not in judgements or not judgements[address].scores:
                judgements[address] = made
    return replace(
        first,
        name=" + ".join(names),
        samples=tuple(samples.values()),
        edits=tuple(edit for of_model in edits.values() for edit in of_model.values()),
        judgements=tuple(judgements.values()),
        edit_models=tuple(edits),
        judges=tuple(scoring),
        scoring=scoring,
        controls=(),
        battles=(),
        battle_judges=(),
        published={},
        provenance=replace(first.provenance, resolved={"language": runs[0].experiment.language, "judges": resolved}),
    )


def describe_judge_differences(runs: Sequence[ComparableRun]) -> list[str]:
    """Returns, for runs of one benchmark, a line on the mean difference of every two judges on the edits both scored.

    It warns when runs scored by different judges are compared: swapping the judge changes the table.
    """
    try:
        results = join_runs(runs)
        judges = judges_of(results).values()
    except ConfigurationError:
        return []
    lines: list[str] = []
    image = image_of(results)
    for a, b in combinations(judges, 2):
        apart = compare_scores(a, b, image)
        if apart.difference is not None:
            ends = apart.ci95
            interval = Text(", 95 % interval {:+.2f} to {:+.2f}", ends[0], ends[1]) if ends else ""
            both = Text("on the {} edits that both have scored", apart.n)
            lines.append(Text("{}, {} is {:+.2f} from {}{}", both, a.name, apart.difference, b.name, interval))
    return lines


def _take_samples(samples: dict[str, Sample], results: Results, run: str) -> None:
    for sample in results.samples:
        known = samples.setdefault(sample.id, sample)
        for what, first, other in (
            (Text("another instruction"), known.instruction, sample.instruction),
            (Text("other pictures"), _digests(known), _digests(sample)),
        ):
            if first != other:
                raise ConfigurationError(
                    Text(
                        "{}: sample {!r} has {} there; name runs of the same benchmark in the same language",
                        run,
                        sample.id,
                        what,
                    )
                )


def _digests(sample: Sample) -> Mapping[str, str]:
    return {name: picture.digest for name, picture in sample.pictures.items()}


def _compute_pixel_digests(run: ComparableRun) -> Results:
    """Computes pixel digests for a service's edits, which have file digests, so that they match other runs' edits."""
    folder = Path(run.results.directory)

    def add_pixel_digest(edit: Edit) -> Edit:
        try:
            return replace(edit, pixels=pixel_digest(open_picture(folder / edit.image, digest=edit.pixels)))
        except PictureError:
            return replace(edit, pixels="")

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        made = threads.map(lambda edit: add_pixel_digest(edit) if is_there(edit, folder) else edit, run.results.edits)
        return replace(run.results, edits=tuple(made))


def _take_edits(edits: dict[str, dict[tuple[str, int], Edit]], results: Results, run: str) -> dict[str, str]:
    """Adds the run's edits to `edits`; returns the joined name of each of its models."""
    labels: dict[str, str] = {}
    for model in results.edit_models:
        made = {(edit.sample_id, edit.edit_seed): edit for edit in results.edits if edit.edit_model == model}
        own = {address: edit for address, edit in made.items() if not edit.made_in}
        label = next((known for known, others in edits.items() if _same_edits(own, others)), None)
        label = label or _free(model, run, edits)
        of_model = edits.setdefault(label, {})
        for address, edit in made.items():
            if address not in of_model or not of_model[address].pixels:
                made_in = labels[edit.made_in] if edit.made_in else ""  # an earlier column
                image = os.path.abspath(os.path.join(results.directory, edit.image)) if edit.image else ""
                of_model[address] = replace(edit, edit_model=label, made_in=made_in, image=image)
        labels[model] = label
    return labels


def _same_edits(made: Mapping[tuple[str, int], Edit], others: Mapping[tuple[str, int], Edit]) -> bool:
    """True if both have pictures in common places, and all of those are the same."""
    both = [
        (edit.pixels, others[address].pixels)
        for address, edit in made.items()
        if edit.pixels and address in others and others[address].pixels
    ]
    return bool(both) and all(first == other for first, other in both)


def _free(name: str, run: str, taken: Mapping[str, object]) -> str:
    return name if name not in taken else f"{run}/{name}"
