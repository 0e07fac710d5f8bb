"""The forms of others' result files. Each reader takes all files and yields those that it knows.

The formats, their authors, and how they record failures:

* `MODEL_GROUP_gpt_score.csv`: GEdit-Bench (stepfun-ai/Step1X-Edit@570eba6, GEdit-Bench/*.py). A missing edit has no
  row; an unreadable answer is guessed; a zero may be an answer or a filter (issue 145).
* `result.json` with `basic_edit.json`: ImgEdit-Bench (PKU-YuanGroup/ImgEdit@547185d, Benchmark/Basic/*.py). Raw
  replies, `{"error": ...}` if there was none.
* `TYPE/metrics.json`: KRIS-Bench (ByteDance-Seed/Bagel@056b5fd, eval/gen/kris/metrics_*.py, summarize.py). `null`, and
  0 for a number missing in a reply, which counts as -25 of 100.
* `*_samples_*.jsonl`: lmms-eval (EvolvingLMMs-Lab/lmms-eval@75571cf, tasks/gedit_bench, tasks/imgedit). 0.0 for every
  failure; for KRIS-Bench (tasks/kris_bench) -1, which is left out.
* `reviews/MODEL/gedit_SUBSET.jsonl`: evalscope (modelscope/evalscope@fde259d, api/metric/scorer.py). A `status`;
  unusable rows are left out.
* `EditEval*/DIMENSION/MODEL.json`: I2EBench (cocoshe/I2EBench@7de50e3, eval_scripts/summary.py), the dimensions that a
  model judges. A verdict without a yes counts as no; an edit that is missing has no row. `EditEval*_2nd` to `_5nd` are
  later rounds.
* `results/TASK/JUDGE/pairwise.json`: GenAI-Bench (TIGER-AI-Lab/GenAI-Bench@f0b0334, show_results.py), where judges are
  held against people's votes. A reply without a vote counts as a wrong one.
* `results_JUDGE/ImagenHub_*/MODEL/SC.json` and `PQ.json`: VIEScore (TIGER-AI-Lab/VIEScore@2cbea4e,
  paper_implementation). An unreadable answer is guessed, or has no row.
* `score_SUBSET.csv`: WiseEdit (beepkh/WiseEdit@58cadba, statistic.py). 0 or nothing for a missing number; a row with
  one in either language leaves both.
* `TASK/score.jsonl`: OmniContext (VectorSpaceLab/OmniGen2@0f72fa9, omnicontext/). An unreadable answer is guessed.
* `*_gpt_output_*.json`: PICABench (Andrew0613/PICABench@0514acd, PicaEval_gpt.py). An answer that never came is wrong.
* `MODEL_judge.xlsx`: RISEBench (PhoenixZ810/RISEBench@5f22651, gpt_eval.py), where an edit with a reply that has no
  score is no success and has no `score`; UniREditBench (Maplebb/UniREditBench@a7015c5, eval/gpt_eval_uniredit.py),
  where it is in neither mean. A missing edit stops both.
* `RESULTS.json`, a list of sessions: MSE-Bench (ByteDance-Seed/VINCIE@30fcf36, evaluation/compute_score.py). A session
  that the judge did not answer about stops it.
* `processed_dataset/*.arrow`: StructEditBench (zhuole1025/Structured-Visuals@c8cc9f4, *_scoring.py). An answer that
  never came is a wrong one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.imgedit import authors_numbers
from edit_eval.plugins.published.kris import LEVELS, PLACES, questions_of
from edit_eval.plugins.published.wiseedit import ASKS, BASIC, METRICS
from edit_eval.plugins.reanalysis.rows import (
    NO_ROW,
    FileRow,
    Found,
    arrow_rows,
    begins_like,
    csv_rows,
    json_lines,
    json_list,
    json_object,
    number_of,
    workbook_rows,
)
from edit_eval.protocols.certificates import add_in_order
from edit_eval.records import Scale
from edit_eval.text import Text

GEDIT_GROUPS = (
    *("background_change", "color_alter", "material_alter", "motion_change", "ps_human", "style_change"),
    *("subject-add", "subject-remove", "subject-replace", "text_change", "tone_transfer"),
)
_GEDIT_FILE = re.compile(rf"(.+)_({'|'.join(GEDIT_GROUPS)})_gpt_score\.csv")
_GEDIT_LANGUAGES = {"en": "en", "cn": "zh"}
_OF_GEDIT = ("O", "SC", "PQ")
_KRIS = {"consistency_score": "VC", "quality_score": "VQ", "instruction_score": "IF", "knowledge_score": "KP"}


def _gedit(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[tuple[Path, str], dict[str, Path]] = {}
    for file in files:
        if match := _GEDIT_FILE.fullmatch(file.name):
            together.setdefault((file.parent, match[1]), {})[match[2]] = file
    for (_, name), groups in together.items():
        every = [(group, row) for group in groups for row in csv_rows(groups[group])]
        for theirs, language in _GEDIT_LANGUAGES.items():
            by_sample: dict[str, FileRow] = {}
            repeated = 0
            for group, row in every:
                if row.get("instruction_language") != theirs:
                    continue
                key = re.split(r"[/\\]", row.get("edited_image", ""))[-1].rpartition(".")[0]
                file_row = _read_gedit_row(
                    f"{group}_{language}_{key}", group, row, "sementics_score", "quality_score", key
                )
                repeated += file_row.sample in by_sample
                by_sample.setdefault(file_row.sample, file_row)
            if by_sample:
                notes = [Text("{} rows are there twice; the first counts", repeated)] if repeated else []
                kept = list(by_sample.values())
                yield _as_gedit("gedit", name, language, kept, _average_groups(kept), notes)


def _read_gedit_row(sample: str, group: str, row: Mapping[str, Any], sc: str, pq: str, image: str) -> FileRow:
    """Reads a row of GEdit's two numbers; both are 0 to 10, and a zero may be an answer."""
    numbers = [number_of(row.get(name)) for name in (sc, pq)]
    if any(number is None or not 0 <= number <= 10 for number in numbers):
        return FileRow(sample, group, {}, "the file has no two numbers from 0 to 10", image)
    first, second = (float(number) for number in numbers if number is not None)
    scores = {"O": math.sqrt(first * second), "SC": first, "PQ": second}
    doubt = "a zero: a judgement, or an answer that never came" if 0 in (first, second) else ""
    return FileRow(sample, group, scores, doubt, image)


def _average_groups(rows: Sequence[FileRow]) -> dict[str, float | str]:
    """Computes the mean of the groups' means, as `calculate_statistics.py`."""
    there = {row.category for row in rows if row.scores}
    if lacking := [group for group in GEDIT_GROUPS if group not in there]:
        return {f"G_{name}": f"the authors' script stops: no rows of {lacking[0]}" for name in _OF_GEDIT}
    return {f"G_{name}": _mean_of_means(rows, name) for name in _OF_GEDIT}


def _as_gedit(
    form: str, name: str, language: str, rows: list[FileRow], theirs: Mapping[str, float | str], notes: Sequence[str]
) -> Found:
    scale = Scale(lowest=0, highest=10, mean_over="categories")
    scales = dict.fromkeys(_OF_GEDIT, scale)
    return Found(form, name, language, rows, scales, scales, theirs, notes)


def _imgedit(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        if file.name != "result.json":
            continue
        replies = json_object(file)
        if not isinstance(replies, dict) or not all(isinstance(reply, str | dict) for reply in replies.values()):
            continue
        asked = rows or next((file for file in files if file.name == "basic_edit.json"), None)
        types = {str(key): edit for key, edit in json_object(asked).items()} if asked else {}
        if not types:
            raise ConfigurationError(Text("{}: ImgEdit's edit types are in basic_edit.json; name it by --rows", file))
        file_rows = [
            _read_imgedit_row(
                key, str(about.get("edit_type", "")).strip().lower(), replies.get(key), str(about.get("id", key))
            )
            for key, about in types.items()
        ]
        theirs: dict[str, float | str] = {"Overall": _average_types(file_rows)}
        if any(not isinstance(reply, str) for reply in replies.values()):
            theirs = {"Overall": "the authors' script stops at an edit with an error"}
        yield _as_imgedit("imgedit", file.parent.name, file_rows, theirs)


def _read_imgedit_row(key: str, kind: str, reply: Any, image: str) -> FileRow:
    if not isinstance(reply, str):
        error = reply.get("error", "") if isinstance(reply, dict) else NO_ROW
        return FileRow(key, kind, {}, f"no reply: {error}"[:200], image)
    try:
        numbers = authors_numbers(reply)
    except ValueError:
        return FileRow(key, kind, {}, "the authors' script stops at this reply", image)
    counted = {"score": round(add_in_order(numbers) / len(numbers), 2)} if numbers else {}
    whole = len(numbers) == 3 and all(1 <= number <= 5 for number in numbers)
    return FileRow(key, kind, counted, "" if whole else "the reply has no three numbers from 1 to 5", image)


def _average_types(rows: Sequence[FileRow]) -> float | str:
    """Computes the types' means, rounded, as their step 2; and the mean of these, as in their table."""
    types: dict[str, list[float]] = {}
    for row in rows:
        if row.scores:
            types.setdefault(row.category, []).append(row.scores["score"])
    means = [round(add_in_order(some) / len(some), 2) for some in types.values()]
    return add_in_order(means) / len(means) if means else "no reply can be read"


def _as_imgedit(form: str, name: str, rows: list[FileRow], theirs: Mapping[str, float | str]) -> Found:
    seen = [row.scores["score"] for row in rows if row.scores]
    scale = Scale(lowest=1, highest=5, mean_over="categories")
    wide = Scale(lowest=min(1.0, *seen, 1.0), highest=max(5.0, *seen, 5.0), mean_over="categories")
    return Found(form, name, "en", rows, {"score": scale}, {"score": wide}, theirs)


def _kris(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[Path, list[Path]] = {}
    for file in files:
        if file.name == "metrics.json" and file.parent.name in PLACES:
            together.setdefault(file.parent.parent, []).append(file)
    for folder, parts in together.items():
        file_rows = [
            _read_kris_row(f"{part.parent.name}_{key}", part.parent.name, scores)
            for part in parts
            for key, scores in json_object(part).items()
            if isinstance(scores, dict)
        ]
        pooled = {"Overall": file_rows} | {
            level: [row for row in file_rows if PLACES[row.category][0] == level] for level in LEVELS
        }
        theirs: dict[str, float | str] = {}
        for name, some in pooled.items():
            numbers = [number for row in some for score, number in row.scores.items() if score != "AVG"]
            theirs[name] = add_in_order(numbers) / len(numbers) if numbers else "no numbers"
        yield _as_kris("kris", folder.name, file_rows, theirs)


def _as_kris(form: str, name: str, rows: list[FileRow], theirs: Mapping[str, float | str]) -> Found:
    scales = dict.fromkeys(("AVG", *_KRIS.values()), Scale(lowest=0, highest=100))
    wide = dict.fromkeys(scales, Scale(lowest=-25, highest=100))
    return Found(form, name, "en", rows, scales, wide, theirs)


def _read_kris_row(sample: str, kind: str, scores: Mapping[str, Any]) -> FileRow:
    asked = [name for name in _KRIS if name != "knowledge_score" or "knowledge_score" in scores]
    numbers = {_KRIS[name]: number_of(scores.get(name)) for name in asked}
    counted = {name: (number - 1) * 25 for name, number in numbers.items() if number is not None}
    whole = len(counted) == len(numbers) and all(0 <= number <= 100 for number in counted.values())
    average = {"AVG": math.fsum(counted.values()) / len(counted)} if counted else {}
    return FileRow(sample, kind, average | counted, "" if whole else "a number from 1 to 5 is missing")


def _lmms_eval(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        if not re.fullmatch(r".*samples_.*\.jsonl", file.name):
            continue
        lines = list(json_lines(file))
        of_gedit = [line for line in lines if isinstance(line.get("gedit_bench_semantics_score"), dict)]
        for theirs, language in _GEDIT_LANGUAGES.items():
            file_rows = [
                _read_lmms_gedit_row(line, language)
                for line in of_gedit
                if line["gedit_bench_semantics_score"].get("instruction_language") == theirs
            ]
            if file_rows:
                yield _as_gedit("gedit, lmms-eval", file.parent.name, language, file_rows, _average_rows(file_rows), [])
        file_rows = [_read_lmms_imgedit_row(line) for line in lines if isinstance(line.get("imgedit_score1"), dict)]
        if file_rows:
            numbers = [row.scores["score"] for row in file_rows]
            theirs_of: dict[str, float | str] = {"avg_score": add_in_order(numbers) / len(numbers)}
            yield _as_imgedit("imgedit, lmms-eval", file.parent.name, file_rows, theirs_of)
        file_rows = [
            _read_lmms_kris_row(line) for line in lines if isinstance(line.get("kris_bench_overall_avg"), dict)
        ]
        if file_rows:
            averages = [row.scores["AVG"] for row in file_rows if row.scores]
            mean = add_in_order(averages) / len(averages) if averages else "no row has a score"
            yield _as_kris("kris, lmms-eval", file.parent.name, file_rows, {"overall_avg": mean})


def _read_lmms_gedit_row(line: Mapping[str, Any], language: str) -> FileRow:
    scores = {name: line.get(f"gedit_bench_{theirs}_score", {}) for name, theirs in _LMMS_GEDIT.items()}
    about = scores["SC"]
    group, key = str(about.get("task_type", "")), str(about.get("key", ""))
    numbers = {name: number_of(score.get("score")) or 0.0 for name, score in scores.items()}
    doubt = "all zeros, as for every failure" if not any(numbers.values()) else ""
    return FileRow(f"{group}_{language}_{key}", group, numbers, doubt, key)


_LMMS_GEDIT = {"O": "overall", "SC": "semantics", "PQ": "quality"}


def _read_lmms_imgedit_row(line: Mapping[str, Any]) -> FileRow:
    about = line["imgedit_score1"]
    numbers = [number_of(line.get(f"imgedit_score{n}", {}).get("score")) or 0.0 for n in (1, 2, 3)]
    whole = all(1 <= number <= 5 for number in numbers)
    kind, key = str(about.get("edit_type", "")), str(about.get("key", ""))
    return FileRow(key, kind, {"score": add_in_order(numbers) / 3}, "" if whole else "a number outside of 1 to 5")


def _read_lmms_kris_row(line: Mapping[str, Any]) -> FileRow:
    """Reads a row; a missing number is -1 and not `valid`, and the mean is over those that an edit has."""
    about = line["kris_bench_overall_avg"]
    category = str(about.get("category", ""))
    asked = [name for name in _KRIS if name != "knowledge_score" or "knowledge" in questions_of(category)]
    scores = {name: line.get(f"kris_bench_{name}") or {} for name in asked}
    numbers = {name: score.get("score") if score.get("valid", True) else None for name, score in scores.items()}
    return _read_kris_row(f"{category}_{about.get('image_id', about.get('key', ''))}", category, numbers)


def _evalscope(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[Path, list[Path]] = {}
    for file in files:
        if file.parent.parent.name == "reviews" and re.fullmatch(r"gedit_.*\.jsonl", file.name):
            together.setdefault(file.parent, []).append(file)
    for folder, parts in together.items():
        by_language: dict[str, list[FileRow]] = {}
        for part in parts:
            for line in json_lines(part):
                about = line.get("sample_score") or {}
                metadata = about.get("sample_metadata") or {}
                language = _GEDIT_LANGUAGES.get(str(metadata.get("instruction_language", "en")), "en")
                row = _read_evalscope_row(line, about, part.stem.removeprefix("gedit_"), language)
                by_language.setdefault(language, []).append(row)
        for language, some in by_language.items():
            yield _as_gedit("gedit, evalscope", folder.name, language, some, _average_rows(some), [])


def _read_evalscope_row(line: Mapping[str, Any], about: Mapping[str, Any], subset: str, language: str) -> FileRow:
    score, metadata = about.get("score") or {}, about.get("sample_metadata") or {}
    key = str(metadata.get("key", line.get("index")))
    value = score.get("value") or {}
    row = _read_gedit_row(
        f"{subset}_{language}_{key}", subset, value, "semantic_consistency", "perceptual_similarity", key
    )
    status = str(score.get("status", "success"))
    if status not in ("success", "fallback", "degraded"):
        return row._replace(scores={}, doubt=f"its status is {status}")
    return row if not row.scores else row._replace(doubt="")  # failures have a status: a zero is an answer


def _average_rows(rows: Sequence[FileRow]) -> dict[str, float | str]:
    counted = [row.scores for row in rows if row.scores]
    return {
        name: add_in_order(scores[name] for scores in counted) / len(counted) if counted else "no row has a score"
        for name in _OF_GEDIT
    }


def _mean_of_means(rows: Sequence[FileRow], name: str) -> float:
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row.scores:
            groups.setdefault(row.category, []).append(row.scores[name])
    return math.fsum(math.fsum(some) / len(some) for some in groups.values()) / len(groups)


_JUDGED = ("BGReplacement", "ColorAlteration", "Counting", "DirectionPerception", "ObjectRemoval", "Replacement")
"""I2EBench's dimensions with a verdict in words."""
_GUESSED = "guess_if_cannot_parse"
_IS_GUESSED = "the answer could not be read, and a number was guessed"


def _i2ebench(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[tuple[str, str], list[Path]] = {}
    for file in files:
        if file.suffix == ".json" and file.parent.name in _JUDGED and file.parent.parent.name.startswith("EditEval"):
            together.setdefault((file.parent.parent.name, file.stem), []).append(file)
    for (suite, name), parts in together.items():
        file_rows = [
            _read_i2ebench_row(part.parent.name, key, verdict)
            for part in parts
            for key, verdict in json_object(part).items()
        ]
        theirs: dict[str, float | str] = {"Overall": "they give no mean over dimensions"}
        for part in parts:
            marks = [row.scores["accuracy"] for row in file_rows if row.category == part.parent.name]
            theirs[part.parent.name] = round(add_in_order(marks) / len(marks) / 100, 4)
        scale = {"accuracy": Scale(lowest=0, highest=100, mean_over="categories")}
        later = re.search(r"_(\d)nd$", suite)  # an edit of the edit before; of how many samples is not said
        form = f"i2ebench round {later[1]}" if later else "i2ebench"
        yield Found(f"{form}, {suite}", name, "en", file_rows, scale, scale, theirs)


def _read_i2ebench_row(dimension: str, key: str, verdict: Mapping[str, Any]) -> FileRow:
    said = str(verdict.get("final_judgement", ""))
    counted = {"accuracy": 100.0 * ("yes" in said.lower())}
    doubt = "" if said.strip(" .\n").lower() in ("yes", "no") else "the verdict is neither yes nor no"
    return FileRow(f"{dimension}_{key}", dimension, counted, doubt, str(verdict.get("image", "")))


def _genai_bench(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        if file.name == "pairwise.json" and file.parent.parent.name == "image_edition":
            votes = json_list(file)
            file_rows = [
                FileRow(
                    str(vote.get("idx")),
                    str(vote.get("human_vote")),
                    {"accuracy": 100.0 * bool(vote.get("correct"))},
                    "" if vote.get("model_vote") in _VOTES else "the reply has no vote",
                    str(vote.get("source_prompt", "")),
                )
                for vote in votes
            ]
            theirs: dict[str, float | str] = {
                "Accuracy": add_in_order(row.scores["accuracy"] for row in file_rows) / len(file_rows)
            }
            scale = {"accuracy": Scale(lowest=0, highest=100)}
            note = Text("a judge, whose votes about pairs are compared with people's")
            yield Found("genai-bench, image_edition", file.parent.name, "en", file_rows, scale, scale, theirs, [note])


_VOTES = ("[[A>B]]", "[[B>A]]", "[[A=B=Good]]", "[[A=B=Bad]]")


def _viescore(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        if file.name != "SC.json" or file.parent.parent.name != "ImagenHub_Text-Guided_IE":
            continue
        sides = [json_object(part) if part.is_file() else {} for part in (file, file.with_name("PQ.json"))]
        file_rows = [
            _read_viescore_row(key, *(side.get(key) for side in sides)) for key in dict.fromkeys([*sides[0], *sides[1]])
        ]
        theirs = dict.fromkeys(_OF_GEDIT, "they give correlations with people alone")
        scale = dict.fromkeys(_OF_GEDIT, Scale(lowest=0, highest=10))
        judge = file.parent.parent.parent.name.removeprefix("results_")
        yield Found(f"viescore, {judge}", file.parent.name, "en", file_rows, scale, scale, theirs)


def _read_viescore_row(key: str, *sides: Any) -> FileRow:
    image = key.split("_")[1] if "_" in key else key
    lists = [side.get("score") if isinstance(side, dict) else None for side in sides]
    numbers = [
        number_of(min(score)) if isinstance(score, list) and score and _are_numbers(score) else number_of(score)
        for score in lists
    ]
    if any(number is None or not 0 <= number <= 10 for number in numbers):
        return FileRow(key, "edit", {}, "the file has no two answers with numbers from 0 to 10", image)
    first, second = (float(number) for number in numbers if number is not None)
    doubt = _IS_GUESSED if any(_GUESSED in str(side.get("reasoning")) for side in sides) else ""
    return FileRow(key, "edit", {"O": math.sqrt(first * second), "SC": first, "PQ": second}, doubt, image)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(number_of(value) is not None and not isinstance(value, str) for value in values)


def _wiseedit(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[Path, list[Path]] = {}
    for file in files:
        if _WISE_FILE.fullmatch(file.name):
            together.setdefault(file.parent, []).append(file)
    for folder, parts in together.items():
        every = [(match, row) for part in parts if (match := _WISE_FILE.fullmatch(part.name)) for row in csv_rows(part)]
        for theirs, language in _GEDIT_LANGUAGES.items():
            file_rows = [_read_wiseedit_row(match[1], match[2], row, theirs) for match, row in every]
            tasks = {
                row.category: [
                    file_row.scores for file_row in file_rows if file_row.category == row.category and file_row.scores
                ]
                for row in file_rows
            }
            means = {task: _average_rounded(some) for task, some in tasks.items() if some}
            basic = [means[task] for task in BASIC if task in means]
            overall: float | str = (
                add_in_order(basic) / len(BASIC) if len(basic) == len(BASIC) else "the authors' script stops"
            )
            scale = dict.fromkeys(("AVG", *METRICS.values()), Scale(lowest=0, highest=100))
            scale = {
                name: bounds for name, bounds in scale.items() if any(name in row.scores for row in file_rows)
            } or scale
            yield Found("wiseedit", folder.name, language, file_rows, scale, scale, {"Basic Overall": overall, **means})


_WISE_FILE = re.compile(r"score_((?:WiseEdit_)?(Awareness|Interpretation|Imagination|Complex)_\d+)\.csv")


def _read_wiseedit_row(subset: str, task: str, row: Mapping[str, Any], language: str) -> FileRow:
    named = f"{subset}_{row.get('idx')}"
    columns = {metric: f"{metric}_score" for metric in (METRICS[name] for name in ASKS[task])}
    said = {
        of: [str(row.get(f"{column}_{of}") or "").strip() for column in columns.values()] for of in _GEDIT_LANGUAGES
    }
    if any(text in ("", "0") for some in said.values() for text in some):
        whose = "" if any(text in ("", "0") for text in said[language]) else " in the other language"
        return FileRow(named, task, {}, f"a number is missing{whose}")
    whole = all(text.isdecimal() and 1 <= int(text) <= 10 for text in said[language])
    numbers = [float(text) if text.lstrip("-").isdecimal() else 1.0 for text in said[language]]
    scores = {metric: max(0.0, (number - 1) / 9 * 100) for metric, number in zip(columns, numbers, strict=True)}
    average = add_in_order(scores.values()) / len(scores)
    return FileRow(named, task, {"AVG": average, **scores}, "" if whole else "a number is none from 1 to 10")


def _average_rounded(scores: Sequence[Mapping[str, float]]) -> float:
    """Returns the mean of the metrics' means, each rounded to one decimal, as `statistic.py` does."""
    metrics = [[score[name] for score in scores] for name in scores[0] if name != "AVG"]
    means = [round(add_in_order(numbers) / len(numbers), 1) for numbers in metrics]
    return add_in_order(means) / len(means)


def _omnicontext(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[Path, list[Path]] = {}
    for file in files:
        if file.name == "score.jsonl":
            together.setdefault(file.parent.parent, []).append(file)
    for folder, parts in together.items():
        lines = [(part.parent.name, line) for part in parts for line in json_lines(part) if "PF_score" in line]
        file_rows = [
            _read_omnicontext_row(kind, line) for kind, line in lines if line.get("instruction_language", "en") == "en"
        ]
        if not file_rows:
            continue
        theirs: dict[str, float | str] = dict.fromkeys(
            ("Overall", "Prompt Following", "Subject Consistency"), "no numbers"
        )
        if all(row.scores for row in file_rows):
            names = {"Overall": "O", "Prompt Following": "PF", "Subject Consistency": "SC"}
            theirs = {name: _mean_of_means(file_rows, score) for name, score in names.items()}
        scale = Scale(lowest=0, highest=10, mean_over="categories")
        most = max([10.0, *(number for row in file_rows for number in row.scores.values())])
        wide = Scale(lowest=0, highest=most, mean_over="categories")
        of = ("O", "PF", "SC")
        yield Found(
            "omnicontext",
            folder.parent.name,
            "en",
            file_rows,
            dict.fromkeys(of, scale),
            dict.fromkeys(of, wide),
            theirs,
        )


def _read_omnicontext_row(kind: str, line: Mapping[str, Any]) -> FileRow:
    key = str(line.get("key"))
    numbers = [number_of(line.get(name)) for name in ("PF_score", "SC_score")]
    if any(number is None or number < 0 for number in numbers):
        return FileRow(key, kind, {}, "the line has no two numbers")
    first, second = (float(number) for number in numbers if number is not None)
    is_guess = any(_GUESSED in str(line.get(f"{name}_score_reason")) for name in ("PF", "SC"))
    doubt = _IS_GUESSED if is_guess else "a number above 10" if max(first, second) > 10 else ""
    return FileRow(key, kind, {"O": math.sqrt(first * second), "PF": first, "SC": second}, doubt)


def _picabench(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        if not re.fullmatch(r".*_(gpt|qwen)_output_.*\.json", file.name):
            continue
        items = [
            (n, edit) for n, edit in enumerate(json_list(file)) if isinstance(edit.get("annotated_qa_pairs"), list)
        ]
        file_rows = [row for n, edit in items if (row := _read_picabench_row(n, edit))]
        if file_rows:
            theirs: dict[str, float | str] = {
                "Overall": add_in_order(row.scores["accuracy"] for row in file_rows) / len(file_rows)
            }
            scale = {"accuracy": Scale(lowest=0, highest=100)}
            yield Found("picabench", file.parent.name, "en", file_rows, scale, scale, theirs)


def _read_picabench_row(number: int, item: Mapping[str, Any]) -> FileRow | None:
    asked = [pair for pair in item["annotated_qa_pairs"] if isinstance(pair, dict) and "is_correct" in pair]
    if not asked:
        return None
    right = 100 * sum(bool(pair["is_correct"]) for pair in asked) / len(asked)
    answers = {str(pair.get("model_answer", "")).lower().strip(" .") for pair in asked}
    doubt = "" if answers <= {"yes", "no"} else "an answer is neither yes nor no, or never came"
    return FileRow(f"{number:05d}", str(item.get("physics_law", "unknown")), {"accuracy": right}, doubt)


_CALLED = {"Reasoning": "reasoning", "ApprConsistency": "consistency", "VisualPlausibility": "plausibility"}
_ON_FIVE = Scale(lowest=1, highest=5)


def _risebench(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        table = workbook_rows(file) if file.name.endswith("_judge.xlsx") else []
        if not {"score", "complete", "match_log", *_CALLED} <= {name for row in table for name in row}:
            continue
        form = "unireditbench" if all({"name", "idx"} <= {*row} for row in table) else "risebench"
        file_rows = [_read_risebench_row(row, form) for row in table]
        theirs: dict[str, float | str] = {}
        for name, score in {"Accuracy": "accuracy", "Score": "score"}.items():
            numbers = [row.scores[score] for row in file_rows if score in row.scores]
            theirs[name] = add_in_order(numbers) / len(numbers) if numbers else "no reply can be read"
        scales = {"accuracy": Scale(lowest=0, highest=1), **dict.fromkeys(("score", *_CALLED.values()), _ON_FIVE)}
        counted = {name: _extend_scale(scale, name, file_rows) for name, scale in scales.items()}
        yield Found(form, file.name.removesuffix("_judge.xlsx"), "en", file_rows, scales, counted, theirs)


def _read_risebench_row(row: Mapping[str, str], form: str) -> FileRow:
    named, kind = row.get("index", ""), row.get("category", "")
    if form == "unireditbench":
        named, kind = f"{row['name']}_{row['idx']}", row["name"]
    columns = {"accuracy": "complete", "score": "score", **{score: column for column, score in _CALLED.items()}}
    numbers = {score: number_of(row.get(column)) for score, column in columns.items()}
    scores = {score: number for score, number in numbers.items() if number is not None}
    outside = any(not 1 <= scores[name] <= 5 for name in _CALLED.values() if name in scores)
    doubt = "a number is none from 1 to 5" if outside else ""
    if row.get("match_log") != "succeed":
        doubt = "a reply has no score, or never came"
    return FileRow(named, kind, scores, doubt, row.get("image") or row.get("original_image_path", ""))


def _extend_scale(scale: Scale, name: str, rows: Sequence[FileRow]) -> Scale:
    """Returns a scale that also holds the numbers of all rows."""
    seen = [row.scores[name] for row in rows if name in row.scores]
    return replace(scale, lowest=min([scale.lowest or 0.0, *seen]), highest=max([scale.highest or 0.0, *seen]))


_TURNS = (5, 4, 3, 2, 1)  # the last first: it is the headline


def _msebench(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    for file in files:
        if file.suffix != ".json" or not begins_like(file, rb'\[\s*\{\s*"(turn1|error|empty)":'):
            continue
        sessions = json_list(file)
        file_rows = [_read_msebench_row(f"{number:03d}", session) for number, session in enumerate(sessions)]
        names = [f"{name} {turn}" for turn in _TURNS for name in ("Success", "Overall")]
        theirs: dict[str, float | str] = {
            name: add_in_order(row.scores.get(name, 0.0) for row in file_rows) / len(file_rows) for name in names
        }
        if stops := next(filter(None, map(_find_script_stop, sessions)), ""):
            theirs = dict.fromkeys(names, f"the authors' script stops at a session with {stops}")
        scales = {name: Scale(lowest=0, highest=1 if name.startswith("Success") else 10) for name in names}
        counted = {name: _extend_scale(scale, name, file_rows) for name, scale in scales.items()}
        yield Found("msebench", file.stem, "en", file_rows, scales, counted, theirs)


def _find_script_stop(session: Mapping[str, Any]) -> str:
    """Returns what in a session has no number to their script; empty if all of it has."""
    if "error" in session:
        return "an error"
    turns = [turn for turn in session.values() if isinstance(turn, dict)]
    products = [
        math.prod(number_of(turn.get(name)) or 0.0 for name in ("prompt_following", "consistency")) for turn in turns
    ]
    return "a negative number" if any(product < 0 for product in products) else ""


def _read_msebench_row(named: str, session: Mapping[str, Any]) -> FileRow:
    """Reads what each turn adds to the means; one behind a turn that failed was not judged, and adds 0."""
    turns = {turn: answer for turn in _TURNS if isinstance(answer := session.get(f"turn{turn}"), dict)}
    if "error" in session or not turns:
        return FileRow(named, "session", {}, "the judge did not answer")
    scores, whole = {}, True
    for turn in _TURNS:
        answer = turns.get(turn, {"prompt_following": 0, "consistency": 0})
        both = [number_of(answer.get(name)) for name in ("prompt_following", "consistency")]
        whole = whole and all(number is not None and 0 <= number <= 10 for number in both)
        scores[f"Success {turn}"] = float(bool(answer.get("all")))
        scores[f"Overall {turn}"] = math.sqrt(max(0.0, math.prod(number or 0.0 for number in both)))
    return FileRow(named, "session", scores, "" if whole else "a turn lacks its two numbers from 0 to 10")


_SHARES = {"accuracy": "accuracy", "editing": "editing_accuracy", "maintain": "maintain_accuracy"}
_NO_ANSWER = ("Missing result", "Error occurred", "Error: All ")
"""How an answer begins that never came."""


def _structeditbench(files: Sequence[Path], rows: Path | None) -> Iterator[Found]:
    together: dict[Path, list[Path]] = {}
    for file in files:
        if file.suffix == ".arrow" and file.parent.name == "processed_dataset":
            together.setdefault(file.parent, []).append(file)
    for parts in together.values():
        table = [row for part in parts for row in arrow_rows(part, r"category|.*_accuracy|.*_list")]
        every = dict.fromkeys(name for row in table for name in row)
        asked = [name.removesuffix("_accuracy") for name in every if name.endswith("_accuracy")]
        for model in (name for name in asked if f"{name}_editing_accuracy" in every):
            there = [(f"{n:05d}", row) for n, row in enumerate(table) if row.get(f"{model}_accuracy") is not None]
            file_rows = [_read_structeditbench_row(named, row, model) for named, row in there]
            theirs: dict[str, float | str] = {
                name.capitalize(): add_in_order(row.scores[score] for row in file_rows) / len(file_rows)
                for name, score in {"overall": "accuracy", "editing": "editing", "maintain": "maintain"}.items()
            }
            scales = dict.fromkeys(_SHARES, Scale(lowest=0, highest=100))
            yield Found("structeditbench", model.removesuffix("_qwen"), "en", file_rows, scales, scales, theirs)


def _read_structeditbench_row(named: str, row: Mapping[str, Any], model: str) -> FileRow:
    scores = {score: float(row[f"{model}_{column}"]) for score, column in _SHARES.items()}
    answers = [str(reply.get("answer", "")) for reply in row.get(f"{model}_list") or ()]
    lacking = not answers or any(answer.startswith(_NO_ANSWER) for answer in answers)
    return FileRow(named, str(row.get("category", "")), scores, "an answer never came" if lacking else "")


READERS: tuple[Callable[[Sequence[Path], Path | None], Iterable[Found]], ...] = (
    *(_gedit, _imgedit, _kris, _wiseedit, _omnicontext, _picabench, _risebench, _msebench, _structeditbench),
    *(_lmms_eval, _evalscope, _i2ebench, _genai_bench, _viescore),
)
FORMS = (
    *(
        "GEdit-Bench",
        "ImgEdit-Bench",
        "KRIS-Bench",
        "RISEBench",
        "UniREditBench",
        "WiseEdit",
        "OmniContext",
        "PICABench",
    ),
    *("StructEditBench", "MSE-Bench", "lmms-eval", "evalscope", "I2EBench", "GenAI-Bench", "VIEScore"),
)
