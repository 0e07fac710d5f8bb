"""A bridge between two judges, for when one is switched off: what both have said of the same edits, with the map
between their scores; and a later run by one of them, translated to the scale of the other.

Not to be confused with `calibration`, which is about edits that both have scored: most of a bridge's error is how far
two judges differ on an edit model that only one of them has seen.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from edit_eval.config.identity import canonical_json, digest_of_text
from edit_eval.config.recorded import ProtocolSection
from edit_eval.config.secret_values import mask_secrets
from edit_eval.errors import ConfigurationError
from edit_eval.files.user_files import UnfitFile, parse_json, read_bytes
from edit_eval.plugins.agreement.document import (
    FEWEST_MODELS,
    Bridge,
    BridgedJudge,
    HeldOut,
    Knot,
    Side,
    Span,
    TranslatedModel,
    TranslatedRun,
)
from edit_eval.plugins.agreement.rank_agreement import group_by_model
from edit_eval.plugins.agreement.sheet import GAP, PART, Whose, score_column, span_column
from edit_eval.plugins.agreement.two_raters import (
    FEWEST_MAPPED,
    Agreement,
    Pairs,
    isotonic,
    predict_by_other_parts,
    samples_of,
)
from edit_eval.records import Results, Scale
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.run import Run
from edit_eval.statistics.columns import differences
from edit_eval.statistics.intervals import FloatArray, IntArray, cluster_codes, estimate, hull_interval
from edit_eval.statistics.raters import Item, judges_of
from edit_eval.statistics.series import gain
from edit_eval.text import Text

# -- made of runs --


def make_bridge(results: Results, old: str, new: str, score: str | None = None) -> Bridge:
    """Returns the bridge over the edits that both judges have scored, by their headlines, or by `score`.

    Raises `ConfigurationError` for judges that are not there, and if there is too little for a map.
    """
    judges = judges_of(results, score)
    for flag, name in (("--old", old), ("--new", new)):
        if name not in judges:
            raise ConfigurationError(Text("{} {}: no judge {!r} here; there are: {}", flag, name, name, judges))
    if old == new:
        raise ConfigurationError(Text("--old {} --new {}: name two judges", old, new))
    both = Agreement(judges[old], judges[new], samples_of(results, [judges[old]]))
    score_map = both.calibration()
    if score_map is None:
        raise ConfigurationError(
            Text(
                "--old {} --new {}: both have scored {} edits of {} source images here; a bridge needs "
                "{} source images and scores that differ",
                old,
                new,
                len(both.items),
                len(set(both.pairs.clusters.tolist())),
                FEWEST_MAPPED,
            )
        )
    out = cross_validate_models(both.pairs)
    return Bridge(
        made=datetime.now(UTC).date().isoformat(),
        old=_side(results, old, judges[old].score, judges[old].scale),
        new=_side(results, new, judges[new].score, judges[new].scale),
        **asdict(score_map),
        held_out=out,
        off_by=error_of_models(out),
        edits=[
            (item.edit_model, both.samples.image(item.sample_id), both.rater.values[item], both.reference.values[item])
            for item in both.items
        ],
    )


def cross_validate_models(pairs: Pairs) -> dict[str, HeldOut]:
    """Returns for each edit model, if there are several, its mean by a map of the others, beside the true one."""
    names, models = np.array(pairs.edit_models), list(dict.fromkeys(pairs.edit_models))
    unseen = predict_by_other_parts(pairs, np.array([models.index(name) for name in pairs.edit_models], dtype=np.int64))
    return {
        model: HeldOut(n=int(of.sum()), mean=float(pairs.targets[of].mean()), bridged=float(unseen[of].mean()))
        for model in models
        for of in [names == model]
        if len(models) > 1
    }


def error_of_models(out: Mapping[str, HeldOut]) -> float | None:
    """Returns the root mean square of how far a map is off for models that it has not seen."""
    misses = [row.bridged - row.mean for row in out.values()]
    return math.sqrt(math.fsum(miss**2 for miss in misses) / len(misses)) if misses else None


def _side(results: Results, name: str, score: str, scale: Scale) -> BridgedJudge:
    (plain,) = (judge for judge in _list_judge_sections(results) if judge["name"] == name)
    section, texts = ProtocolSection.from_recorded(plain["protocol"]), plain["texts"]
    protocol = {"type": section.type or Path(section.class_path).name, **section.parameters}
    for elsewhere in ("prompts", "measures"):  # in the texts, and in the judge
        protocol.pop(elsewhere, None)
    identity: dict[str, Any] = {
        "judge": mask_secrets({key: plain[key] for key in ("type", "revision", "parameters")}),
        "protocol": mask_secrets(protocol),
        **({} if "language" in protocol else {"language": results.provenance.resolved["language"]}),
    }
    return BridgedJudge(
        judge=name,
        score=score,
        lowest=scale.lowest,
        highest=scale.highest,
        higher_is_better=scale.higher_is_better,
        identity=json.loads(json.dumps(identity)),
        texts=digest_of_text(canonical_json(texts)) if texts else "",
    )


def _list_judge_sections(results: Results) -> list[dict[str, Any]]:
    judges: Any = results.provenance.resolved.get("judges", [])
    return [judge for judge in judges if judge["name"] in results.judges]


# -- as a file --


class _File(msgspec.Struct):
    bridge: Bridge


def read_bridge(file: Path) -> Bridge:
    """Reads a bridge out of what `agreement --to` wrote.

    Raises `ConfigurationError` for a file that has none, or a score outside of its scale.
    """
    content = read_bytes(file)
    try:
        bridge = parse_json(content, _File, file).bridge
        for side, place in ((bridge.old, 2), (bridge.new, 3)):
            if not side.scale.is_a_range:
                raise UnfitFile(file, Text("the scale of {} is from {} to {}", side.judge, side.lowest, side.highest))
            for number, edit in enumerate(bridge.edits):
                if not side.scale.holds(score := float(edit[place])):
                    raise UnfitFile(
                        file, Text("`edits[{}]`: {:g} is outside of the scale of {}", number, score, side.judge)
                    )
    except UnfitFile as error:
        raise ConfigurationError(
            Text("{}: not a bridge ({}); `agreement RUN --old OLD --new NEW --to FILE` writes one", file, error.reason)
        ) from None
    return bridge


# -- over it --


def translate_run(run: Run, known: Bridge, wanted: str) -> TranslatedRun:
    """Translates a run's means by one judge of the bridge to the scale of the other one, which is `wanted`.

    Raises `ConfigurationError` if `wanted` is neither judge, if the run has no judge like the other, and if the bridge
    is too short for a map.
    """
    if wanted not in (known.old.judge, known.new.judge):
        raise ConfigurationError(
            Text("--as {}: the bridge is between {} and {}", wanted, known.old.judge, known.new.judge)
        )
    to_old = wanted == known.old.judge
    side, target = (known.new, known.old) if to_old else (known.old, known.new)
    results = run.results
    name = _same_judge(results, side)
    values = judges_of(results, side.score)[name].values
    sources = {sample.id: sample.cluster or sample.id for sample in results.samples}
    images, models = [image for _, image, _, _ in known.edits], group_by_model(values)
    items = [item for some in models.values() for item in some]
    codes = cluster_codes([*images, *(sources[item.sample_id] for item in items)])
    turn = gain(side.scale) * gain(target.scale)
    pairs = Pairs(
        turn * np.array([new if to_old else old for *_, old, new in known.edits], dtype=np.float64),
        np.array([old if to_old else new for *_, old, new in known.edits], dtype=np.float64),
        codes[: len(images)],
        [model for model, *_ in known.edits],
    )
    if not pairs.usable:
        raise ConfigurationError(
            Text("the bridge has {} edits of {} source images, too few for a map", len(images), len(set(images)))
        )
    code_of = dict(zip(items, codes[len(images) :], strict=True))
    edits = {
        Item.from_record(each) for each in results.judgements if each.judge == name
    }  # several repeats of an edit are one
    total, out = Counter(edit.edit_model for edit in edits), cross_validate_models(pairs)
    return TranslatedRun(
        as_=target.judge,
        by=name,
        made=known.made,
        n=len(pairs),
        clusters=len(np.unique(pairs.clusters)),
        off_by=error_of_models(out),
        held_out=out,
        range=sorted(float(turn * end) for end in (pairs.scores.min(), pairs.scores.max())),
        edit_models={
            model: _translate_model(
                pairs,
                turn,
                np.array([values[item] for item in some], dtype=np.float64),
                np.array([code_of[item] for item in some], dtype=np.int64),
                out,
                target.scale,
                total[model],
            )
            for model, some in models.items()
        },
    )


def _translate_model(
    pairs: Pairs, turn: float, own: FloatArray, clusters: IntArray, out: Mapping[str, HeldOut], scale: Scale, total: int
) -> TranslatedModel:
    scores = turn * own
    value, ci95 = predict_mean(pairs, scores, clusters, out)
    side = find_uncovered_side(pairs, scores, clusters)
    sides: dict[Side, Side] = {"above": "below", "below": "above"}
    low, high = pairs.scores.min(), pairs.scores.max()
    return TranslatedModel(
        n=len(own),
        total=total,
        before=float(own.mean()),
        value=value,
        ci95=None if ci95 is None else np.clip(ci95, scale.lowest, scale.highest).tolist(),
        outside=float(((scores < low) | (scores > high)).mean()),
        beyond=sides[side] if side and turn < 0 else side,
    )


def predict_mean(
    pairs: Pairs, scores: FloatArray, clusters: IntArray, out: Mapping[str, HeldOut]
) -> tuple[float, Span | None]:
    """Predicts the second judge's mean of edits that only the first has scored, with a 95 % interval, which is not cut
    at the scale's ends. Both judges' scores rise together.

    The error of the mapped scores (`intervals.estimate`, clustered on the source image), and that for a model that the
    map has not seen, `off_by`, whose degrees of freedom are one fewer than the models held `out`, since each is beside
    a map of the others (Satterthwaite's for both together). What the images of the bridge do to the map is in the
    latter. No interval if the pairs are by fewer than three edit models, which show too little of how models differ,
    and where the mapped scores have none.
    """
    mapped, of_models = estimate(isotonic(pairs.scores, pairs.targets)(scores), clusters), error_of_models(out)
    if mapped.doubt or of_models is None or len(out) < FEWEST_MODELS:
        return mapped.value, None
    own, model = mapped.standard_error**2, of_models**2
    square = own + model
    freedom = square**2 / (own**2 / mapped.freedom + model**2 / (len(out) - 1))
    asymmetry = mapped.asymmetry * (own / square) ** 1.5
    return mapped.value, [*hull_interval(mapped.value, math.sqrt(square), freedom, asymmetry)]


def find_uncovered_side(pairs: Pairs, scores: FloatArray, clusters: IntArray) -> Side | None:
    """Tells whether a model may lie beyond what a bridge has seen: on which side of the pairs' edit models its mean by
    the first judge is not shown to be within (one-sided .05). None if it is within.

    A map of single scores says what the second judge gives to such *scores*, good ones by luck among them. For a model
    that is better than the best of the pairs, fewer are by luck, so that its mean is drawn back to what was seen.
    """
    names = np.array(pairs.edit_models)
    means = [float(pairs.scores[names == model].mean()) for model in dict.fromkeys(pairs.edit_models)]
    own = estimate(scores, clusters)
    low, high = own.interval(confidence=0.9) or (-math.inf, math.inf)
    gaps: dict[Side, float] = {"above": own.value - max(means), "below": min(means) - own.value}
    shown: dict[Side, bool] = {"above": high < max(means), "below": low > min(means)}
    return max((side for side in gaps if not shown[side]), key=gaps.__getitem__, default=None)


def _same_judge(results: Results, side: BridgedJudge) -> str:
    unlike: list[str] = []
    for judge in _list_judge_sections(results):
        own = _side(results, judge["name"], side.score, side.scale)
        differing = [str(difference) for difference in differences(side.identity, own.identity)]
        if not differing and own.texts != side.texts:
            differing = ["the wording of its questions"]
        if not differing:
            return own.judge
        unlike.append(Text("{} differs in {}", own.judge, differing))
    raise ConfigurationError(
        Text(
            "no judge of {} is the bridge's {}: {: and }; a bridge holds for one judge, asked in one way",
            results.directory,
            side.judge,
            unlike,
        )
    )


# -- words --


_Row = tuple[str, TranslatedModel]


def bridge_sheet(document: Bridge) -> Sheet:
    """Returns the map, and how far it is off for an edit model that it has not seen."""
    old, new = (f"{side.judge} ({side.score})" for side in (document.old, document.new))
    title = Text(
        "From {} to {}: {} edits of {} source images that both have scored", old, new, document.n, document.clusters
    )
    mapped = Text(
        "Each score of the old judge is mapped to what the new judge says on average (isotonic regression), with a 95% "
        "interval over source images. One edit is predicted to ±{}. Held out: a model's mean by a map that never saw "
        "it.",
        formats.score(document.rmse),
    )
    holds = Text("All edits are by one model: how far the bridge holds for another is unknown.")
    if document.off_by is not None:
        holds = Text(
            "Of a model that the new judge has not seen the bridge is off by ±{} (root mean square "
            "over the models held out): means on two sides of it that lie closer are not told apart.",
            formats.score(document.off_by),
        )
    sheet: list[Line | Table[Any]] = [Line(title, "strong"), Line(), map_table(document)]
    sheet += [GAP, cross_validation_table(document)] if document.held_out else []
    return [*sheet, Line(mapped, "quiet"), Line(holds, "problem")]


def map_table(document: Bridge) -> Table[Whose[Knot]]:
    """Returns a row for each score of the old judge, with the corresponding score of the new one."""
    old, new = document.old.judge, document.new.judge
    return Table(
        every=(
            Column(old, lambda row: f"{row.findings.score:g}", short=one_line(old, 20)),
            score_column(new, lambda knot: knot.value, look="strong", short=one_line(new, 20)),
            span_column(),
        ),
        rows=[Whose("", knot) for knot in document.map],
    )


def cross_validation_table(document: Bridge) -> Table[Whose[HeldOut]]:
    """Returns a row for each edit model that both have scored: its mean by the new judge, and by a map of others."""
    return Table(
        every=(
            PART,
            Column(Text("Scored"), lambda row: str(row.findings.n)),
            score_column(Text("New"), lambda model: model.mean),
            score_column(Text("Held out"), lambda model: model.bridged),
            Column(Text("Off by"), lambda row: format_signed(row.findings.bridged - row.findings.mean)),
        ),
        rows=[Whose("", model, name) for name, model in document.held_out.items()],
    )


def translation_sheet(document: TranslatedRun) -> list[Line | Table[Any]]:
    """Returns a run that was translated."""
    by, wanted = document.by, document.as_
    rows: list[_Row] = list(document.edit_models.items())
    title = Text("Translated: judged by {}, told on the scale of {}, which has not seen these edits", by, wanted)
    if len(document.held_out) < FEWEST_MODELS:
        error = Text(
            "The bridge has edits of fewer than {} models: how far it is off for another one is unknown, so there is "
            "no interval.",
            FEWEST_MODELS,
        )
    else:
        error = Text(
            "The interval has the error of the bridge in it: its {} edits of {} source images, and ±{} by which it is "
            "off for a model that it has not seen ({} models held out).",
            document.n,
            document.clusters,
            formats.score(document.off_by),
            len(document.held_out),
        )
    columns: list[Column[_Row]] = [
        Column(Text("Edit model"), lambda row: row[0], "name"),
        Column(Text("Scored"), lambda row: f"{row[1].n}/{row[1].total}"),
        Column(Text("By {}", by), lambda row: formats.score(row[1].before)),
        Column(Text("Translated to {}", wanted), lambda row: formats.score(row[1].value), look="strong"),
        Column(Text("95% interval"), lambda row: formats.span(row[1].ci95)),
    ]
    sheet: list[Line | Table[Any]] = [Line(title, "strong"), Line(), Table(columns, rows), Line(error, "quiet")]
    for model, row in rows:
        if row.beyond:
            line = Text(
                "{}: its mean by {}, {}, is not shown to lie among those of the bridge's edit models; of a model "
                "beyond them a bridged mean is drawn back towards theirs, by about half a point of ten",
                model,
                by,
                formats.score(row.before),
            )
            sheet.append(Line(line, "problem"))
        if row.outside:
            low, high = document.range
            line = Text(
                "{}: {} of its scores lie outside of what the bridge has seen ({:g} to {:g})",
                model,
                f"{row.outside:.0%}",
                low,
                high,
            )
            sheet.append(Line(line, "problem"))
    sheet.append(
        Line(
            Text(
                "Give such numbers as translated, with this interval, never in one table with what {} itself has said. "
                "The bridge was made on {}.",
                wanted,
                document.made,
            ),
            "problem",
        )
    )
    return sheet
