"""`gate --same-seed`: whether a faster engine is still the same editor, by its pictures and by the judge.

Both make the same edits with the same seeds, and every pair is compared. If they are not bit-equal the reference is run
again, which tells how far it is from itself; then `sameness` says whether the candidate is further. If it is, the judge
says whether its pictures are as good, and `breakages` looks for what usually broke.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.identity import digest
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.experiment import Experiment, is_same_sample
from edit_eval.plugins.gate.answer import DistanceRow, SameEditor, describe_noise_test
from edit_eval.plugins.gate.breakages import (
    BLACK,
    COPY,
    OTHER_SEED,
    TRIED,
    Breakage,
    EditPair,
    find_by_trying,
    find_colour,
    find_in_facts,
    find_in_records,
    find_other_noise,
    find_seed,
    list_broken,
)
from edit_eval.plugins.gate.distances import Measures, draw_worst, levels
from edit_eval.plugins.gate.gating import BASELINE, CANDIDATE, check_margin, check_resumed, check_single_model, decisive
from edit_eval.plugins.gate.sameness import Distances, compare_with_noise, count_allowed, pictures_needed, sign_test
from edit_eval.records import Edit, Status
from edit_eval.reporting.comparison import gate_lines
from edit_eval.reporting.displays import watch_run
from edit_eval.run import Run, compare, evaluate
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.levels import ALPHA
from edit_eval.text import Text

PICTURES = 100
"""Source pictures that are edited by default; and those of which the reference makes its edits again."""
WORST = 4
"""Pairs on the sheet of the worst."""
AGAIN = "again"


class NotTheSame(AssertionError):
    """Raised by `assert_same_editor`; its message is the sentence, `answer` the whole answer."""

    def __init__(self, answer: SameEditor) -> None:
        super().__init__("\n".join(answer.lines))
        self.answer = answer


def assert_same_editor(
    reference: str | Path | Mapping[str, Any] | Configuration,
    candidate: str | Path | Mapping[str, Any] | Configuration,
    *,
    run_dir: str | Path = "runs/gate",
    **options: Any,
) -> SameEditor:
    """Returns the answer of `edit-eval gate REFERENCE CANDIDATE --same-seed`, for a test of pytest.

    Each of the two is a configuration or the folder of a finished run; `options` are those of `hold_same_editor`.
    Raises `NotTheSame`, an `AssertionError` whose message is the sentence, unless it is bit-equal, the same pictures,
    or other pictures that are as good.
    """
    answer = hold_same_editor(reference, candidate, folder=Path(run_dir), **options)
    if not answer.passes:
        raise NotTheSame(answer)
    return answer


def hold_same_editor(
    reference: str | Path | Mapping[str, Any] | Configuration,
    candidate: str | Path | Mapping[str, Any] | Configuration,
    *,
    folder: Path,
    margin: float | None = None,
    within: float | Mapping[str, float] | None = None,
    again: int = PICTURES,
    pictures: int = PICTURES,
    allow_unscored: float | None = None,
    command: Sequence[str] = (),
    examinations: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
    **options: Unpack[LoadingOptions],
) -> SameEditor:
    """Makes the same edits by both, or reads them from finished runs, and says whether they are the same editor.

    Runs are made, or resumed, in `folder`. `margin` is in points of each judge's headline, `within` is D: of the
    largest ΔE, or by names of distances. The reference makes the edits of `again` pictures a second time, and a few as
    if something were broken; 0: nothing is run again. Of configurations the first `pictures` source pictures are
    taken, spread over the benchmark. `tell` is called with what is done next. Raises `ConfigurationError` if the two
    are not asked for the same edits; otherwise the same as `evaluate` and `compare`.
    """
    engines = [_Engine.open(source, options) for source in (reference, candidate)]
    for name, engine in zip((BASELINE, CANDIDATE), engines, strict=True):
        check_single_model(engine.experiment, name)
    _refuse_other_edits(*engines)
    _choose_pictures(engines, pictures)
    judges = [section for engine in engines if engine.configuration for section in engine.configuration.judges.values()]
    places = [engine.configuration.folder for engine in engines if engine.configuration]
    measures = Measures({judge.name: judge for judge in judges}.values(), places[0] if places else Path())
    limits = measures.limits(within)
    if margin is not None:
        check_margin(engines[0].experiment, margin, tell)
    for name, engine in zip((BASELINE, CANDIDATE), engines, strict=True):
        try:
            engine.run = engine.run or engine.make(folder / name, tell, command=command, examinations=examinations)
        except Stopped as stopped:
            # An engine that makes black pictures alone is stopped early: that is an answer, and no other reason is.
            engine.run = Run(folder / name)
            failed = [edit for edit in engine.run.results.edits if edit.reason]
            if name != CANDIDATE or not failed or not all(BLACK in edit.reason for edit in failed):
                raise
            tell(Text("the candidate was stopped: {}", stopped))
    work = _Work(engines[0], engines[1], folder, measures, limits, again, tell, command)
    return work.answer(margin, *_compare_by_judges(engines, margin, allow_unscored))


def _compare_by_judges(
    engines: Sequence[_Engine], margin: float | None, allow_unscored: float | None
) -> tuple[Mapping[float | None, Comparison], str]:
    """Returns what the judges say, without and with the margin; nothing, and why, if no judge can say it."""
    runs = [engine.run for engine in engines if engine.run]
    if not all(run.experiment.judges_of_one for run in runs):
        return {}, Text("whether other pictures are as good a judge would say: give `judges` and --margin")
    if not all(run.summary.complete for run in runs):
        return {}, Text("the judges say nothing: a run is not finished")
    try:
        return {each: compare(runs, margin=each, allow_unscored=allow_unscored) for each in {None, margin}}, ""
    except ConfigurationError as error:
        return {}, Text("the judges say nothing: {}", error)


class _Engine:
    """One of the two: a configuration that is to be run, or a run that is there."""

    def __init__(self, run: Run | None, configuration: Configuration | None, experiment: Experiment) -> None:
        self.run, self.configuration, self.experiment = run, configuration, experiment
        self.finished = run is not None

    @classmethod
    def open(cls, source: str | Path | Mapping[str, Any] | Configuration, options: LoadingOptions) -> _Engine:
        if isinstance(source, str | Path) and Path(source).is_dir():
            run = Run(Path(source))
            return cls(run, None, run.experiment)
        configuration = source if isinstance(source, Configuration) else load_configuration(source, **options)
        return cls(None, configuration, _ask(configuration))

    @property
    def section(self) -> ModelSection | None:
        """Its edit model, if that can be run again."""
        if self.configuration is None or self.experiment.finished:
            return None
        (section,) = self.configuration.edit_models.values()
        return section

    def take(self, ids: Sequence[str]) -> None:
        """Leaves it only these samples."""
        if self.configuration is not None:
            self.configuration = _take_samples(self.configuration, ids)
            self.experiment = _ask(self.configuration)

    def make(self, folder: Path, tell: Callable[[str], None], **options: Any) -> Run:
        """Runs it, or resumes it, in a folder."""
        assert self.configuration is not None
        check_resumed(folder, self.configuration, tell)
        return evaluate(self.configuration, run_dir=folder, **options)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What its model said of itself when it was loaded."""
        assert self.run is not None
        models = self.run.results.provenance.environment.get("models")
        name = f"edit:{self.experiment.edit_models[0].name}"
        facts = models.get(name) if isinstance(models, Mapping) else None
        return facts if isinstance(facts, Mapping) else {}


def _ask(configuration: Configuration) -> Experiment:
    return make_experiment(configuration, load_samples(configuration, watch_run(configuration)))


def _take_samples(configuration: Configuration, ids: Sequence[str]) -> Configuration:
    filters = configuration.benchmark.filters.model_copy(update={"sample_ids": tuple(ids), "limit": None})
    return configuration.model_copy(
        update={"benchmark": configuration.benchmark.model_copy(update={"filters": filters})}
    )


def _only_edits(configuration: Configuration, models: Mapping[str, ModelSection], ids: Sequence[str]) -> Configuration:
    """Returns what makes these edits and asks no judge."""
    changed = {"edit_models": dict(models), "judges": {}, "trackers": {}}
    return _take_samples(configuration.model_copy(update=changed), ids)


def _choose_pictures(engines: Sequence[_Engine], pictures: int) -> None:
    """Leaves configurations the samples of a finished run, or of as many pictures, spread over the benchmark."""
    if all(engine.finished for engine in engines):
        return
    finished = next((engine for engine in engines if engine.finished), None)
    of = finished or engines[0]
    samples = [sample for sample in of.experiment.samples if not sample.fault and sample.id not in of.experiment.beside]
    clusters = list(dict.fromkeys(sample.cluster for sample in samples))
    if finished is None and len(clusters) > pictures:
        places = np.linspace(0, len(clusters) - 1, pictures).round().astype(int)
        taken = {clusters[place] for place in places}
        samples = [sample for sample in samples if sample.cluster in taken]
    shared = set.intersection(*({sample.id for sample in engine.experiment.samples} for engine in engines))
    ids = [sample.id for sample in samples if sample.id in shared]
    for engine in engines:
        if not engine.finished and {*ids} != {sample.id for sample in engine.experiment.samples}:
            engine.take(ids)


def _refuse_other_edits(reference: _Engine, candidate: _Engine) -> None:
    first, second = reference.experiment, candidate.experiment
    before, after = ({sample.id: sample for sample in each.samples} for each in (first, second))
    shared = before.keys() & after.keys()
    if not shared:
        raise ConfigurationError(Text("the two have no sample in common: give both the same benchmark"))
    if other := sorted(name for name in shared if not is_same_sample(before[name], after[name])):
        raise ConfigurationError(
            Text(
                "sample {} is another one in the candidate ({} are): give both the same benchmark", other[0], len(other)
            )
        )
    seeds = [each.edit_models[0].seed for each in (first, second)]
    if seeds[0] != seeds[1]:
        raise ConfigurationError(
            Text("the seeds differ ({} and {}): give both the same, so that both begin alike", *seeds)
        )


@dataclass
class _Work:
    """One gate, from two runs to its answer."""

    reference: _Engine
    candidate: _Engine
    folder: Path
    measures: Measures
    limits: Mapping[str, float]
    again: int
    tell: Callable[[str], None]
    command: Sequence[str]

    @cached_property
    def _distances_by_edit(self) -> dict[tuple[str, int], Mapping[str, float]]:
        return {}

    @cached_property
    def pairs(self) -> list[EditPair]:
        """All edits that both were asked for, and of which at least one has a picture."""
        runs = [self.reference.run, self.candidate.run]
        results = [run.results for run in runs if run]
        clusters = {sample.id: sample.cluster for sample in results[0].samples}
        first, second = ({(edit.sample_id, edit.edit_seed): edit for edit in each.edits} for each in results)
        return [
            EditPair(
                clusters[name[0]],
                edit,
                second[name],
                (Path(results[0].directory) / edit.image, Path(results[1].directory) / second[name].image),
            )
            for name, edit in first.items()
            if name in second
            and name[0] in clusters
            and (edit.image or second[name].image)
            and Status.PENDING not in (edit.status, second[name].status)
        ]

    @cached_property
    def pictures(self) -> list[str]:
        """The source pictures, in order."""
        return list(dict.fromkeys(pair.picture for pair in self.pairs))

    def answer(self, margin: float | None, comparisons: Mapping[float | None, Comparison], unjudged: str) -> SameEditor:
        """Says which of the five endings it is: the first that holds. `unjudged`: why there are no `comparisons`."""
        pairs = self.pairs
        equal = sum(pair.both and pair.reference.pixels == pair.candidate.pixels for pair in pairs)
        comparison = comparisons.get(margin)
        assert self.reference.run is not None
        answer = SameEditor(
            ending="unknown",
            sentence=Text("cannot be said: there is no pair of edits to compare"),
            pictures=len(self.pictures),
            edits=len(pairs),
            equal=equal,
            unmatched=sum(not pair.both for pair in pairs),
            noise=Text("the reference was not run again: nothing depends on its noise"),
            noise_kind="not_asked",
            comparison=comparison,
            language=self.reference.run.language,
        )
        if not pairs:
            return answer
        if equal == len(pairs):
            return replace(
                answer,
                ending="bit_equal",
                sentence=Text(
                    "bit-equal: all {} edits of {} pictures have the same pixels as the reference's",
                    equal,
                    len(self.pictures),
                ),
            )
        near = self._hold_against_limits(found := self._measure_pairs())
        if near.get("ending") != "same_pictures":
            rows = self._add_own_noise(found)
            answer = replace(answer, noise=self._noise[1], noise_kind=self._noise[0])
            near = self._hold_within_noise(rows, near)
        else:
            rows = found
        answer = replace(answer, rows=tuple(rows), worst=self._draw_worst(rows[0]), **near)
        if answer.ending == "same_pictures":
            return answer
        answer = replace(answer, findings=tuple(self._findings()))
        return replace(answer, **_end_by_judge(answer, margin, comparisons, unjudged, self._failures))

    # -- the reference's own noise --

    @cached_property
    def _own_run(self) -> tuple[Run | None, Text]:
        """The reference's second run, or why there is none."""
        reference = self.reference
        if reference.finished and reference.run is not None:
            there = reference.run.path.parent / self._name_run(AGAIN, reference)
            if (there / "config").is_dir() and _same_models(Run(there), reference.run):
                return Run(there), Text("")
            return None, Text("the reference is a finished run and cannot be run again: its own noise is not known")
        if self.again <= 0:
            return None, Text("nothing was to be run again (`--again 0`): the reference's own noise is not known")
        if (section := reference.section) is None or reference.configuration is None:
            return None, Text(
                "the reference's edits are finished pictures: it cannot be run again, and its noise is not known"
            )
        taken = set(self.pictures[: self.again])
        ids = list(dict.fromkeys(pair.reference.sample_id for pair in self.pairs if pair.picture in taken))
        self.tell(
            Text(
                "not bit-equal: the reference is run again on {} pictures, to see how far it is from itself", len(taken)
            )
        )
        return self._run(AGAIN, reference, reference.configuration, {section.name: section}, ids), Text("")

    def _run(
        self, what: str, of: _Engine, by: Configuration, models: Mapping[str, ModelSection], ids: Sequence[str]
    ) -> Run:
        """Returns a further run of one of the two, as far as it could be made."""
        asked, folder = _only_edits(by, models, ids), self.folder / self._name_run(what, of)
        check_resumed(folder, asked, lambda line: None)
        try:
            return evaluate(asked, run_dir=folder, command=self.command, report=False)
        except Stopped as stopped:
            if not (folder / "config").is_dir():
                raise
            self.tell(Text("{}: {}", folder, stopped))
            return Run(folder)

    def _name_run(self, what: str, of: _Engine) -> str:
        """Returns the name of a folder that belongs to the pictures of one of the two: another build, with the same
        configuration, has another."""
        assert of.run is not None
        return f"{what}-{digest([(*_key(edit), edit.pixels) for edit in of.run.results.edits])[:12]}"

    @cached_property
    def _own_edits(self) -> Mapping[tuple[str, int], tuple[Edit, Path]]:
        run = self._own_run[0]
        if run is None:
            return {}
        return {
            (edit.sample_id, edit.edit_seed): (edit, Path(run.results.directory) / edit.image)
            for edit in run.results.edits
            if edit.image
        }

    @cached_property
    def _noise(self) -> tuple[str, Text]:
        """What is known of it: a kind, and words."""
        run, why = self._own_run
        both = [
            (pair, *self._own_edits[key])
            for pair in self.pairs
            if pair.reference.image and (key := _key(pair.reference)) in self._own_edits
        ]
        if run is None or not both:
            return "unknown", why or Text("the reference has made none of its edits again: its own noise is not known")
        pictures = len({pair.picture for pair, _, _ in both})
        unlike = [(pair, edit) for pair, edit, _ in both if edit.pixels != pair.reference.pixels]
        elsewhere = sum(pair.reference.device != edit.device for pair, edit, _ in both)
        where = (
            Text("{} of {} on another device", elsewhere, len(both)) if elsewhere else Text("all on the same device")
        )
        if not unlike:
            return "none", Text(
                "the reference repeats itself bit for bit: {} edits of {} pictures ({})", len(both), pictures, where
            )
        of = len({pair.picture for pair, _ in unlike})
        moved = sum(pair.reference.device != edit.device for pair, edit in unlike)
        return "some", Text(
            "the reference does not repeat itself: {} of {} pictures are others when it makes them again ({}; of the "
            "edits that differ {} of {})",
            of,
            pictures,
            where,
            moved,
            len(unlike),
        )

    # -- by the pictures --

    def _measure_pairs(self) -> list[DistanceRow]:
        """Returns each distance, what decides first. A picture's is that of its edit that is furthest."""
        found: dict[str, dict[str, float]] = {}
        for pair in self.pairs:
            _keep_furthest(found, pair.picture, self._measure(pair))
        rows = [
            DistanceRow(
                distance, self.limits.get(distance.name), _column(found, distance.name, self.pictures), None, ()
            )
            for distance in self.measures.distances
        ]
        return sorted(rows, key=lambda row: row.limit is None)

    def _measure(self, pair: EditPair) -> Mapping[str, float]:
        key = _key(pair.reference)
        if key not in self._distances_by_edit:
            apart = dict.fromkeys((distance.name for distance in self.measures.distances), math.inf)
            self._distances_by_edit[key] = self.measures.measure(*map(levels, pair.paths)) if pair.both else apart
        return self._distances_by_edit[key]

    def _add_own_noise(self, rows: Sequence[DistanceRow]) -> list[DistanceRow]:
        """Returns the rows with how far the reference is from itself, and whether the candidate is further."""
        own: dict[str, dict[str, float]] = {}
        beside: dict[str, dict[str, float]] = {}
        for pair in self.pairs:
            if pair.reference.image and (again := self._own_edits.get(_key(pair.reference))):
                _keep_furthest(own, pair.picture, self.measures.measure(levels(pair.paths[0]), levels(again[1])))
                _keep_furthest(
                    beside, pair.picture, self._measure(pair)
                )  # the same edits, so that both can be exchanged
        if not own:
            return list(rows)
        added = []
        for row in rows:
            themselves, candidate = (_column(each, row.distance.name, own) for each in (own, beside))
            some = self._noise[0] == "some"
            tests = compare_with_noise(candidate, themselves, row.distance.equal) if some else ()
            added.append(row._replace(own=themselves, tests=tuple(tests)))
        return added

    def _hold_against_limits(self, rows: Sequence[DistanceRow]) -> dict[str, Any]:
        """Returns the ending if enough lie within D; else why not."""
        deciding = [row for row in rows if row.limit is not None]
        within = np.all([row.values <= self.limits[row.distance.name] for row in deciding], axis=0)
        n, outside = len(within), int((~within).sum())
        words = [Text("{} {}", row.distance.words, row.show(row.limit)) for row in deciding]
        allowed = count_allowed(n)
        if allowed is not None and outside <= allowed:
            sentence = Text(
                "the same pictures: {} of {} lie within {: and } of the reference's, so at least 95 % of pictures like "
                "these do (95 % confidence)",
                n - outside,
                n,
                words,
            )
            return {"ending": "same_pictures", "sentence": sentence}
        needed = pictures_needed(outside, n)
        would = (
            Text("{} pictures would do, if this is how it is", needed) if needed else Text("more pictures would not do")
        )
        reasons = [Text("{} of {} pictures lie within D, {: and }; {}", n - outside, n, words, would)]
        held = [Text("{} {}", row.distance.words, row.show(row.smallest)) for row in rows if row.smallest is not None]
        if held:
            reasons.append(Text("the smallest D that holds of 95 % of such pictures: {}", held))
        return {"reasons": tuple(reasons)}

    def _hold_within_noise(self, rows: Sequence[DistanceRow], near: dict[str, Any]) -> dict[str, Any]:
        """Returns the ending if the candidate is no further than the reference is from itself; else also why not."""
        tested = [
            (row, test) for row in rows if row.limit is not None or row.distance.name == "mean" for test in row.tests
        ]
        lines = [describe_noise_test(*each) for each in tested if not each[1].passes]
        if not tested or lines:
            return {"reasons": (*near["reasons"], *lines)}
        sentence = Text(
            "the same pictures: no further from the reference than the reference is from itself, on {} pictures "
            "that it made again",
            tested[0][1].pictures,
        )
        return {
            "ending": "same_pictures",
            "sentence": sentence,
            "reasons": tuple(describe_noise_test(*each) for each in tested),
        }

    def _draw_worst(self, row: DistanceRow) -> Path | None:
        order = np.argsort(-np.where(np.isfinite(row.values), row.values, -np.inf), kind="stable")
        worst = []
        for picture in (self.pictures[place] for place in order[:WORST]):
            pairs = [pair for pair in self.pairs if pair.picture == picture and pair.both]
            unlike = [pair for pair in pairs if pair.reference.pixels != pair.candidate.pixels]
            worst += [pair.paths for pair in unlike[:1]]
        return draw_worst(worst, self.folder / "worst.png") if worst else None

    # -- what usually broke --

    @property
    def _failures(self) -> tuple[int, int]:
        """Pictures of which the candidate lacks an edit that the reference has, and the other way round."""
        lacking = [
            {pair.picture for pair in self.pairs if not getattr(pair, role).image}
            for role in ("candidate", "reference")
        ]
        return len(lacking[0] - lacking[1]), len(lacking[1] - lacking[0])

    def _findings(self) -> Iterator[Breakage]:
        """Yields what is found, each kind once: what was seen before what was tried."""
        seen = set[str]()
        for finding in self._look():
            if finding.kind not in seen and (finding.kind != "noise" or not seen):
                seen.add(finding.kind)
                yield finding

    def _look(self) -> Iterator[Breakage]:
        yield from find_in_facts(self.reference.facts, self.candidate.facts)
        yield from find_in_records(self.pairs)
        if colour := find_colour(self.pairs):
            yield colour
        if self.again <= 0:
            return
        unlike = [pair for pair in self.pairs if pair.both and pair.reference.pixels != pair.candidate.pixels]
        tried = [pair for pair in unlike if COPY not in pair.candidate.flags][:TRIED]
        ids = list(dict.fromkeys(pair.reference.sample_id for pair in tried))
        section, by, noise = self.reference.section, self.reference.configuration, None
        if tried and section is not None and by is not None:
            broken = list_broken(section, self.reference.experiment.edit_models[0].parameters)
            other = {"name": "another_seed", "seed": section.seed + OTHER_SEED}
            self.tell(Text("the reference is run on {} pictures as if something were broken", len(ids)))
            run = self._run(
                "broken", self.reference, by, {**broken, "another_seed": section.model_copy(update=other)}, ids
            )
            yield from find_by_trying(tried, broken, _pictures_of(run))
            noise = find_other_noise(tried, _pictures_of(run))
        section, by = self.candidate.section, self.candidate.configuration
        if tried and section is not None and by is not None:
            self.tell(Text("the candidate is run on {} pictures with another seed", len(ids)))
            seeds = {"again": section.seed, "another_seed": section.seed + OTHER_SEED}
            models = {name: section.model_copy(update={"name": name, "seed": seed}) for name, seed in seeds.items()}
            if seed := find_seed(tried, _pictures_of(self._run("seeds", self.candidate, by, models, ids))):
                yield seed
        if noise:
            yield noise


def _key(edit: Edit) -> tuple[str, int]:
    return edit.sample_id, edit.edit_seed


def _pictures_of(run: Run) -> Callable[[str, Edit], Path | None]:
    made = {(edit.edit_model, *_key(edit)): edit.image for edit in run.results.edits if edit.image}

    def find(model: str, edit: Edit) -> Path | None:
        image = made.get((model, *_key(edit)))
        return Path(run.results.directory) / image if image else None

    return find


def _keep_furthest(found: dict[str, dict[str, float]], picture: str, apart: Mapping[str, float]) -> None:
    before = found.get(picture, {})
    found[picture] = {name: max(value, before.get(name, -math.inf)) for name, value in apart.items()}


def _column(found: Mapping[str, Mapping[str, float]], name: str, pictures: Any) -> Distances:
    return np.array([found[picture][name] for picture in pictures], dtype=np.float64)


def _same_models(one: Run, other: Run) -> bool:
    return bool(
        decisive(one.results.provenance.configuration.get("edit_models"))
        == decisive(other.results.provenance.configuration.get("edit_models"))
    )


def _end_by_judge(
    answer: SameEditor,
    margin: float | None,
    comparisons: Mapping[float | None, Comparison],
    unjudged: str,
    failures: tuple[int, int],
) -> dict[str, Any]:
    """Returns the ending of pictures that are not the same, with its reasons."""
    if margin is not None and (held := comparisons.get(margin)) and held.gate.passed:
        sentence = Text("other pictures, equally good: less than {:g} points worse by every judge", margin)
        return {"ending": "equally_good", "sentence": sentence, "reasons": (*gate_lines(held.gate), *answer.reasons)}
    plain = comparisons.get(None)
    shown = plain and [
        replace(candidate, reasons=[reason for reason in candidate.reasons if reason.kind in ("worse", "fails_more")])
        for candidate in plain.gate.candidates
    ]
    if plain and shown and any(candidate.reasons for candidate in shown):
        worse = gate_lines(replace(plain.gate, candidates=[c for c in shown if c.reasons], guidance={}))
        return {"ending": "worse", "sentence": Text("worse: {:; }", worse), "reasons": answer.reasons}
    if not plain and sign_test(*failures) <= ALPHA:
        sentence = Text(
            "worse: it lacks edits of {} pictures that the reference has, and has {} that it lacks", *failures
        )
        return {"ending": "worse", "sentence": sentence, "reasons": answer.reasons}
    lines: list[str] = list(answer.reasons)
    if not plain:
        lines.append(unjudged)
    elif margin is None:
        lines.append(Text("no judge shows it to be worse; whether it is as good takes --margin"))
    else:
        lines = [*gate_lines(comparisons[margin].gate), *lines]
    sentence = Text("cannot be said: the pictures are not shown to be the same, nor to be as good")
    return {"ending": "unknown", "sentence": sentence, "reasons": tuple(lines)}
