"""Runs to report on: pictures drawn here, scores from a seed, failures of every kind. No model is involved."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import random
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

from edit_eval.benchmarks.contract import CATEGORIES, SUBSETS
from edit_eval.records import (
    Activity,
    Edit,
    Judgement,
    Picture,
    Reading,
    Results,
    RunProvenance,
    RunTelemetry,
    Sample,
    Scale,
    Scoring,
    Status,
)

MINI = Path(__file__).parents[2] / "../shared/data/five_dimensions_mini"
RUBRIC = Scoring(protocol="rubric", headline="score", scales={"score": Scale(lowest=0.0, highest=10.0)})
HOSTILE = "</script><img src=x onerror=window.hacked=1>\"'`{{7*7}}|\u2028& <!--"

_INSTRUCTIONS = {
    "physical": ("Let the ball roll down to the foot of the hill.", "让球滚到山脚下。"),
    "environmental": ("Turn the scene into a foggy winter evening.", "把场景变成有雾的冬夜。"),
    "social": ("Dress the scene for a formal ceremony.", "把场景布置成正式典礼。"),
    "causal": ("Show what the field looks like after a night of heavy rain.", "展示一夜暴雨之后的田野。"),
    "referential": ("Recolour only the second hill from the left.", "只改变左起第二座山的颜色。"),
}
_WORDS = (
    "The sun and the hills keep their geometry, and the shadow follows the light. The new colour is even, but its "
    "edge bleeds slightly into the sky.\nScore: {score:.3f}",
    "The instruction is followed. A second object was changed that was not named.\nScore: {score:.3f}",
    "Score: {score:.3f}",
    "编辑基本符合指令,光影一致,但边缘略有瑕疵。\n评分:{score:.3f}",
)
_FAILURES = (
    (Status.EDIT_FAILED, "the image is black: all values are 0", ""),
    (Status.EDIT_FAILED, "CUDA out of memory: 41.2 of 44.6 GiB in use, 3.8 GiB more wanted", ""),
    (Status.UNPARSEABLE, "two different scores in the answer: 6 and 7", "I would say 6, perhaps 7."),
    (Status.REFUSED, "the judge declined to answer", "I'm sorry, I can't rate this image."),
    (Status.OUT_OF_RANGE, "a score of 12 is outside 0 to 10", "Score: 12"),
    (Status.JUDGE_ERROR, "no answer within 600 s", ""),
)


def landscape(number: int, size: tuple[int, int], shift: float = 0.0) -> Image.Image:
    """Sky, sun and hills; `shift` (0 to 1) is how much an edit changed of it."""
    draw_from = random.Random(number)
    width, height = size
    hue = draw_from.random()
    sky = Image.new("RGB", (1, height))
    for row in range(height):
        depth = row / height
        sky.putpixel((0, row), _colour(hue + 0.45 * shift, 0.25 + 0.35 * depth, 0.95 - 0.3 * depth))
    picture = sky.resize(size)
    draw = ImageDraw.Draw(picture)
    x, y, radius = draw_from.random() * width, height * (0.15 + 0.2 * draw_from.random()), height * 0.09
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_colour(0.13 + 0.5 * shift, 0.5, 1.0))
    for layer in range(4):
        base, phase = height * (0.45 + 0.14 * layer), draw_from.random() * 7
        crest = [
            (
                column,
                base
                + height * 0.06 * math.sin(phase + 5 * column / width)
                + height * 0.02 * math.sin(phase * 3 + 17 * column / width),
            )
            for column in range(0, width + 8, 8)
        ]
        tone = hue + 0.09 * layer + (0.3 * shift if layer == 1 else 0)
        draw.polygon([(0, height), *crest, (width, height)], fill=_colour(tone, 0.45, 0.8 - 0.17 * layer))
    for _ in range(24):
        x, y = draw_from.random() * width, height * (0.72 + 0.28 * draw_from.random())
        tall = height * (0.03 + 0.05 * draw_from.random())
        draw.polygon([(x - tall / 3, y), (x + tall / 3, y), (x, y - tall)], fill=_colour(hue + 0.3, 0.5, 0.25))
    return picture.filter(ImageFilter.GaussianBlur(0.8))


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    return (
        Image.new("HSV", (1, 1), tuple(round(255 * part) for part in (hue % 1, saturation, value)))
        .convert("RGB")
        .getpixel((0, 0))
    )


def build_run(
    directory: Path,
    *,
    samples: int = 10,
    edit_models: tuple[str, ...] = ("qwen_image_edit",),
    judges: tuple[str, ...] = ("qwen3_vl",),
    failing: float = 0.0,
    repeats: int = 1,
    size: tuple[int, int] = (736, 552),
    gpus: int = 4,
    real: bool = False,
    pending: int = 0,
) -> Results:
    """A run of `samples` samples in `directory`, pictures included; `failing` is the share without a score.

    With `real` the first five samples are the real photos and edits of the shared mini set, if it is there.
    """
    draw_from = random.Random(7)
    all_samples = [_sample(directory, number, samples, size) for number in range(samples)]
    reals = _real_samples(directory) if real else []
    all_samples[: len(reals)] = reals[:samples]
    edits, judgements = [], []
    for place, model in enumerate(edit_models):
        for sample in all_samples:
            failure = draw_from.choice(_FAILURES) if draw_from.random() < failing else None
            waits = sample.index >= samples - pending
            edit = _edit(directory, sample, model, place, size, failure, waits, gpus)
            edits.append(edit)
            for judge in judges:
                quality = 6.6 + 0.5 * place - (0.9 if judge != judges[0] else 0)
                quality -= {"easy": -0.8, "medium": 0.0, "hard": 1.1}[sample.difficulty]
                for repeat in range(repeats):
                    score = round(min(10.0, max(0.0, draw_from.gauss(quality, 1.7))), 3)
                    judgements.append(_judgement(sample, edit, judge, repeat, score, failure, waits, draw_from))
    order = {(model, judge): place for place, (model, judge) in enumerate(_pairs(edit_models, judges))}
    judgements.sort(key=lambda judgement: (order[(judgement.edit_model, judgement.judge)], judgement.repeat))
    activities, wall = _activities(edits, judgements, judges, gpus)
    return Results(
        name=directory.name,
        directory=str(directory),
        samples=tuple(all_samples),
        edits=tuple(edits),
        judgements=tuple(judgements),
        edit_models=edit_models,
        judges=judges,
        scoring=dict.fromkeys(judges, RUBRIC),
        telemetry=RunTelemetry(
            activities=tuple(activities),
            wall_seconds=(wall,),
            devices=tuple(f"cuda:{number}" for number in range(gpus)),
        ),
        provenance=RunProvenance(
            configuration=_configuration(edit_models, judges, repeats),
            resolved={
                "edit_models": [{"name": name, "type": "qwen_image_edit", "seed": 0} for name in edit_models],
                "judges": [{"name": name, "type": "qwen3_vl", "seed": 0} for name in judges],
                "rubrics": {"physical": {"system": "You judge edits.", "user": "Score {edit_instruction}"}},
            },
            environment={
                "python": "3.11.9",
                "libraries": {"edit-eval": "0.1.0", "torch": "2.13.0", "diffusers": "0.42.0", "transformers": "5.23.0"},
                "devices": [f"cuda:{number}" for number in range(gpus)],
                "gpus": [{"name": f"cuda:{number}", "title": "NVIDIA A100-SXM4-80GB"} for number in range(gpus)],
            },
            notes=("2 damaged lines in the journals were left out",),
        ),
    )


def _pairs(edit_models: tuple[str, ...], judges: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(model, judge) for model in edit_models for judge in judges]


def _sample(directory: Path, number: int, samples: int, size: tuple[int, int]) -> Sample:
    category = CATEGORIES[number * len(CATEGORIES) // samples]
    difficulty = ("easy", "medium", "hard")[number % 3]
    identifier = f"{number:05d}_{SUBSETS[category]}_{difficulty}"
    path = directory / "sources" / f"{number:05d}.jpg"
    path.parent.mkdir(parents=True, exist_ok=True)
    landscape(number, size).save(path, quality=88)
    english, chinese = _INSTRUCTIONS[category]
    return Sample(
        id=identifier,
        index=number,
        category=category,
        pictures={"source": picture_at(path)},
        instruction=english,
        description="Hills under a clear sky with a row of firs in front.",
        language="en",
        difficulty=difficulty,
        tags=("outdoor", ("lighting", "colour", "object")[number % 3]),
        instructions={"en": english, "zh": chinese},
        rationale="Only what the instruction names should change; the light stays consistent.",
    )


def _real_samples(directory: Path) -> list[Sample]:
    if not MINI.is_dir():
        return []
    made = []
    for number, item in enumerate(json.loads((MINI / "benchmark.json").read_text(encoding="utf-8"))):
        stem = Path(item["original_image_path"]).stem
        path = directory / "sources" / f"real_{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.open(io.BytesIO(base64.b64decode(item["src_img_b64"]))).convert("RGB").save(path)
        made.append(
            Sample(
                id=stem,
                index=number,
                category={word: name for name, word in SUBSETS.items()}[item["subset"]],
                pictures={"source": picture_at(path)},
                instruction=item["edit_instruction_en"],
                description=item["original_description_en"],
                difficulty=item["difficulty"],
                tags=tuple(item["tags"]),
                instructions={"en": item["edit_instruction_en"], "zh": item["edit_instruction"]},
                rationale=item["rationale_short_en"],
            )
        )
    return made


def _edit(
    directory: Path,
    sample: Sample,
    model: str,
    place: int,
    size: tuple[int, int],
    failure: tuple[Status, str, str] | None,
    waits: bool,
    gpus: int,
) -> Edit:
    common = {
        "key": hashlib.sha256(f"{sample.id}{model}".encode()).hexdigest(),
        "sample_id": sample.id,
        "edit_model": model,
        "seed": sample.index,
        "edit_seed": 0,
        "device": f"cuda:{sample.index % gpus}",
    }
    if waits:
        return Edit(**common, status=Status.PENDING)
    if failure and failure[0] is Status.EDIT_FAILED:
        return Edit(**common, status=Status.EDIT_FAILED, reason=failure[1])
    path = directory / "images" / f"model_{place}" / f"{sample.index:05d}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = MINI / ("edits_zh" if place % 2 else "edits_en") / f"{sample.id}.jpg"
    if sample.source.endswith(".png") and done.is_file():
        picture = Image.open(done).convert("RGB")
    else:
        picture = landscape(sample.index, size, 0.3 + 0.2 * place)
    picture.save(path)
    return Edit(
        **common,
        status=Status.OK,
        image=str(path.relative_to(directory)),
        width=picture.width,
        height=picture.height,
        seconds=(38.0 + sample.index % 3 + 5 * place) * (1.25 if common["device"] == "cuda:1" else 1.0),
    )


def _judgement(
    sample: Sample,
    edit: Edit,
    judge: str,
    repeat: int,
    score: float,
    failure: tuple[Status, str, str] | None,
    waits: bool,
    draw_from: random.Random,
) -> Judgement:
    answer = draw_from.choice(_WORDS).format(score=score)
    judgement = Judgement(
        sample_id=sample.id,
        category=sample.category,
        edit_model=edit.edit_model,
        judge=judge,
        edit_seed=0,
        repeat=repeat,
        headline="score",
        status=Status.OK,
        scores={"score": score},
        readings=({"score": Reading(values={"score": score}, text=answer, asked=1)},),
        seconds=2.1,
        device=edit.device,
    )
    if waits:
        return replace(unscored(judgement, Status.PENDING), readings=(), seconds=0.0)
    if failure and failure[0] is Status.EDIT_FAILED:
        return replace(unscored(judgement, failure[0], failure[1]), readings=())
    return unscored(judgement, *failure) if failure else judgement


def unscored(judgement: Judgement, status: Status, reason: str = "", text: str = "") -> Judgement:
    """The same judgement without its score, after three questions."""
    reading = {"score": Reading(status=status, reason=reason, text=text, asked=3)}
    return replace(judgement, status=status, reason=reason, scores={}, readings=(reading,))


def rescored(judgement: Judgement, score: float) -> Judgement:
    """The same judgement with another score."""
    return replace(judgement, status=Status.OK, scores={"score": score})


def pictured(sample: Sample, path: Path | str) -> Sample:
    """The same sample with another source."""
    return replace(sample, pictures={"source": Picture(path=str(path), digest=sample.source_digest)})


def picture_at(path: Path) -> Picture:
    return Picture(path=str(path), digest=hashlib.sha256(path.read_bytes()).hexdigest())


def _activities(
    edits: list[Edit], judgements: list[Judgement], judges: tuple[str, ...], gpus: int
) -> tuple[list[Activity], float]:
    made: list[Activity] = []
    clock = {f"cuda:{number}": 0.0 for number in range(gpus)}

    def spend(device: str, kind: str, model: str, seconds: float, what: str = "") -> None:
        begin = clock[device]
        clock[device] += seconds
        made.append(
            Activity(start_number=1, device=device, kind=kind, model=model, begin=begin, end=clock[device], what=what)
        )

    model = ""
    for edit in edits:
        if edit.edit_model != model:
            model = edit.edit_model
            for number, device in enumerate(clock):
                spend(device, "loading", model, 70.0 + 9 * number)
        if edit.seconds:
            spend(edit.device, "editing", model, edit.seconds, edit.sample_id)
    for judge in judges:
        for number, device in enumerate(clock):
            spend(device, "unloading", model, 3.0)
            spend(device, "loading", judge, 95.0 + 7 * number)
        for judgement in judgements:
            if judgement.judge == judge and judgement.seconds:
                spend(judgement.device, "judging", judge, judgement.seconds, judgement.sample_id)
    return made, max(clock.values()) + 4.0


def _configuration(edit_models: tuple[str, ...], judges: tuple[str, ...], repeats: int) -> dict[str, object]:
    return {
        "benchmark": {"type": "five_dimensions", "data_path": "benchmark.json", "language": "en"},
        "edit_models": {
            name: {
                "type": "qwen_image_edit",
                "params": {"model_name": "Qwen/Qwen-Image-Edit", "num_inference_steps": 50, "true_cfg_scale": 4.0},
            }
            for name in edit_models
        },
        "judges": {
            name: {
                "type": "qwen3_vl",
                "params": {"model_name": "Qwen/Qwen3-VL-30B-A3B-Instruct", "max_new_tokens": 128},
            }
            for name in judges
        },
        "protocol": {"type": "rubric", "answer": "reason_then_score", "retries": 2},
        "evaluation": {"min_coverage": 1.0, "repeats": repeats},
        "execution": {"schedule": "pull", "order": "by_stage"},
    }


def build_hostile_run(directory: Path) -> Results:
    """A run whose every word tries to be markup, a script, a path or a template."""
    results = build_run(directory, samples=4, edit_models=("one", "two"), judges=("judge", "other"), failing=0.3)
    names = {"one": f"one{HOSTILE}", "two": f"two{HOSTILE}", "judge": f"judge{HOSTILE}", "other": f"other{HOSTILE}"}

    def worse(sample_id: str) -> str:
        return f"../../{sample_id}{HOSTILE}"

    return replace(
        results,
        name=HOSTILE,
        samples=tuple(
            replace(
                sample,
                id=worse(sample.id),
                category=f"category{HOSTILE}",
                difficulty=HOSTILE,
                tags=(HOSTILE, "javascript:alert(1)"),
                instruction=HOSTILE,
                instructions={"en": HOSTILE, "zh": HOSTILE},
                description=HOSTILE,
                rationale=HOSTILE,
                fault=HOSTILE,
            )
            for sample in results.samples
        ),
        edits=tuple(
            replace(
                edit,
                sample_id=worse(edit.sample_id),
                edit_model=names[edit.edit_model],
                reason=HOSTILE,
                device=HOSTILE,
                flags=(HOSTILE,),
            )
            for edit in results.edits
        ),
        judgements=tuple(
            replace(
                judgement,
                sample_id=worse(judgement.sample_id),
                category=f"category{HOSTILE}",
                edit_model=names[judgement.edit_model],
                judge=names[judgement.judge],
                reason=HOSTILE,
                readings=tuple(
                    {
                        f"{name}{HOSTILE}": replace(answer, text=f"{HOSTILE}\n\ud800", reason=HOSTILE)
                        for name, answer in reading.items()
                    }
                    for reading in judgement.readings
                ),
            )
            for judgement in results.judgements
        ),
        edit_models=tuple(names[name] for name in results.edit_models),
        judges=tuple(names[name] for name in results.judges),
        scoring={names[name]: scoring for name, scoring in results.scoring.items()},
        telemetry=replace(
            results.telemetry,
            activities=tuple(
                replace(activity, device=HOSTILE, model=HOSTILE, what=HOSTILE)
                for activity in results.telemetry.activities
            ),
            devices=(HOSTILE,),
        ),
        provenance=replace(
            results.provenance,
            configuration={HOSTILE: HOSTILE},
            resolved={"rubrics": {HOSTILE: HOSTILE}},
            environment={HOSTILE: [HOSTILE]},
            notes=(HOSTILE,),
        ),
    )
