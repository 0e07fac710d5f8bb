"""Others' result files, small ones in the form in which their scripts write them, and what their scripts make of them.

The numbers were given once, outside of this project, by calculate_statistics.py of stepfun-ai/Step1X-Edit@570eba6,
step1_get_avgscore.py and step2_typescore.py of PKU-YuanGroup/ImgEdit@547185d, summarize.py of
ByteDance-Seed/Bagel@056b5fd (eval/gen/kris), and the aggregations of EvolvingLMMs-Lab/lmms-eval@75571cf.
"""

from __future__ import annotations

import csv
import json
import math
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow
import pytest

from command_lines import Command
from documents import plain
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.kris import PLACES, questions_of
from edit_eval.plugins.reanalysis.files import COUNTED, KEPT, reanalyse
from edit_eval.plugins.reanalysis.forms import GEDIT_GROUPS

GEDIT_COLUMNS = (
    *("source_image", "edited_image", "instruction", "sementics_score", "quality_score"),
    *("intersection_exist", "instruction_language"),
)
IMGEDIT_TYPES = ("replace", "add", "style")


def reanalysed(*given: Any) -> list[dict[str, Any]]:
    """The documents, as their JSON has them."""
    documents: list[dict[str, Any]] = plain(reanalyse(*given))
    return documents


def write_gedit(folder: Path) -> None:
    """Zeros for SC where people are edited, as if a filter had answered; others are the judge's."""
    draw = random.Random("gedit")
    for group in GEDIT_GROUPS:
        rows = []
        for number in range(6):
            for language in ("en", "cn"):
                filtered = group == "ps_human" and number < 4
                where = f"/results/mine/fullset/{group}/{language}/{number:02d}ab"
                numbers = (0 if filtered else draw.randint(1, 9), draw.randint(0 if number == 5 else 1, 9))
                rows.append([f"{where}_SRCIMG.png", f"{where}.png", "Add it, please", *numbers, True, language])
        with open(folder / f"mine_{group}_gpt_score.csv", "w", newline="") as file:
            csv.writer(file).writerows([GEDIT_COLUMNS, *rows])


def write_imgedit(folder: Path, errors: bool = False) -> None:
    draw = random.Random("imgedit")
    types = {str(key): {"id": f"{key}.jpg", "edit_type": draw.choice(IMGEDIT_TYPES)} for key in range(1, 25)}
    lines = ("Prompt Compliance: {}", "Visual Naturalness: {}", "Physical & Detail Integrity: {}")
    replies: dict[str, Any] = {}
    for key in types:
        said = [line.format(draw.randint(1, 5)) for line in lines]
        if draw.random() < 0.2:
            said[draw.randrange(3)] = "Visual Naturalness: 4/5"
        if draw.random() < 0.1:
            said = ["I cannot help with that."]
        replies[key] = "Brief reasoning: it is done.\n" + "\n".join(said)
    if errors:
        replies["3"] = {"error": "Connection error."}
    (folder / "result.json").write_text(json.dumps(replies))
    (folder / "basic_edit.json").write_text(json.dumps(types))


def write_kris(folder: Path) -> None:
    draw = random.Random("kris")
    for kind in PLACES:
        rows = {}
        for key in range(1, 4):
            knows = "knowledge" in questions_of(kind)
            names = ["consistency_score", "quality_score", "instruction_score", *(["knowledge_score"] if knows else [])]
            rows[str(key)] = {name: draw.randint(1, 5) for name in names}
            if knows and draw.random() < 0.3:
                rows[str(key)]["knowledge_score"] = draw.choice([0, None])
        (folder / kind).mkdir()
        (folder / kind / "metrics.json").write_text(json.dumps(rows))


def lmms_rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """GEdit's and ImgEdit's lines, some of them the zeros of a failure."""
    draw = random.Random("lmms")
    gedit, imgedit = [], []
    for number in range(20):
        about = {"key": f"k{number}", "task_type": draw.choice(GEDIT_GROUPS), "instruction_language": "en"}
        failed = draw.random() < 0.3
        sc, pq = (0.0, 0.0) if failed else (float(draw.randint(0, 9)), float(draw.randint(1, 9)))
        scores = {"semantics": sc, "quality": pq, "overall": math.sqrt(sc * pq)}
        gedit.append({f"gedit_bench_{name}_score": {**about, "score": score} for name, score in scores.items()})
        edited = {"key": str(number), "edit_type": draw.choice(IMGEDIT_TYPES)}
        three = [0.0] * 3 if failed else [float(draw.randint(1, 5)) for _ in range(3)]
        line = {f"imgedit_score{place}": {**edited, "score": score} for place, score in enumerate(three, 1)}
        imgedit.append({**line, "imgedit_avg_score": {**edited, "score": sum(three) / 3}})
    return gedit, imgedit


def lmms_kris_rows() -> list[dict[str, Any]]:
    """A number that is not there, or is not asked, is -1 and not valid."""
    draw = random.Random("lmms kris")
    names = ("consistency", "quality", "instruction", "knowledge")
    rows = []
    for number, kind in enumerate(PLACES):
        asked = names if "knowledge" in questions_of(kind) else names[:3]
        scores = {name: draw.choice([None, 1, 2, 3, 4, 5]) if name in asked else None for name in names}
        there = [score for score in scores.values() if score is not None]
        packed = {f"{name}_score": score for name, score in scores.items()}
        packed["overall_avg"] = sum(there) / len(there) if there else None
        about = {"key": f"{kind}_{number}", "category": kind, "image_id": str(number)}
        rows.append(
            {
                f"kris_bench_{name}": {**about, "score": -1.0 if score is None else score, "valid": score is not None}
                for name, score in packed.items()
            }
        )
    return rows


def write_lmms_eval(folder: Path) -> None:
    for name, rows in zip(("gedit_bench", "imgedit", "kris_bench"), (*lmms_rows(), lmms_kris_rows()), strict=True):
        lines = (json.dumps({"doc_id": number, "target": "Add it.", **row}) for number, row in enumerate(rows))
        (folder / f"20261101_120000_samples_{name}.jsonl").write_text("\n".join(lines))


def write_evalscope(folder: Path) -> None:
    reviews = folder / "reviews" / "mine"
    reviews.mkdir(parents=True)
    given = [("success", 8, 4), ("parse_error", None, None), ("success", 0, 9)]
    lines = []
    for index, (status, sc, pq) in enumerate(given):
        value = {} if sc is None else {"semantic_consistency": sc, "perceptual_similarity": pq}
        metadata = {"key": f"k{index}", "task_type": "text_change", "instruction_language": "en"}
        score = {"value": value, "status": status}
        lines.append({"index": index, "sample_score": {"score": score, "sample_metadata": metadata}})
    (reviews / "gedit_text_change.jsonl").write_text("\n".join(map(json.dumps, lines)))


WRITERS = {
    **{"gedit": write_gedit, "imgedit": write_imgedit, "kris": write_kris},
    **{"lmms": write_lmms_eval, "evalscope": write_evalscope},
}


def written(name: str, folder: Path) -> Path:
    place = folder / name / "mine"
    place.mkdir(parents=True)
    WRITERS[name](place)
    return place


def published(document: Mapping[str, Any]) -> dict[str, float]:
    counted = next(row for row in document["results"] if row["judge"] == COUNTED)
    return {name: figure["value"] for name, figure in counted["published"].items()}


def headline(document: Mapping[str, Any], judge: str) -> Mapping[str, Any]:
    row = next(row for row in document["results"] if row["judge"] == judge)
    return row["scores"][row["headline"]]


def test_what_the_authors_scripts_make_of_them(tmp_path: Path) -> None:
    documents = reanalysed([written(name, tmp_path) for name in ("gedit", "imgedit", "kris", "lmms")])
    ours = {f"{document['form']} {document['language']}": published(document) for document in documents}
    assert ours.keys() == THEIRS.keys()
    for name, theirs in THEIRS.items():
        assert ours[name] == pytest.approx(theirs, abs=1e-9), name


def test_what_zeros_hide(tmp_path: Path) -> None:
    english, chinese = reanalysed([written("gedit", tmp_path)])
    assert (english["language"], chinese["language"]) == ("en", "zh")
    (zeros,) = english["zeros"]
    assert zeros["rows"] == 66
    assert zeros["categories"]["ps_human"] == {"doubtful": 4, "rows": 6}
    counted, kept = headline(english, COUNTED), headline(english, KEPT)
    assert (counted["n"], kept["n"]) == (66, 66 - zeros["doubtful"])
    assert counted["mean"] == pytest.approx(published(english)["G_O"])
    assert kept["worst_case_mean"] == pytest.approx(counted["mean"]), "if every zero is an answer"
    assert counted["mean"] < kept["mean"] < kept["best_case_mean"]
    assert kept["ci95"][0] < kept["mean"] < kept["ci95"][1]
    assert any("540 of the 606" in note for note in english["notes"])


def test_each_form_says_what_is_no_score(tmp_path: Path) -> None:
    by_form = {document["form"]: document for document in reanalysed([written(name, tmp_path) for name in WRITERS])}
    gedit, imgedit = lmms_rows()
    failures = sum(not row["gedit_bench_quality_score"]["score"] for row in gedit)
    assert 0 < failures == by_form["gedit, lmms-eval"]["zeros"][0]["doubtful"], "an SC of 0 beside a PQ is an answer"
    of_imgedit = [row["imgedit_avg_score"]["score"] for row in imgedit if row["imgedit_avg_score"]["score"]]
    document = by_form["imgedit, lmms-eval"]
    assert document["zeros"][0]["doubtful"] == len(imgedit) - len(of_imgedit)
    assert headline(document, KEPT)["n"] == len(of_imgedit)
    assert headline(document, KEPT)["min"] >= 1
    document = by_form["gedit, evalscope"]
    assert published(document) == pytest.approx({"O": math.sqrt(32) / 2, "SC": 4, "PQ": 6.5})
    assert (headline(document, KEPT)["n"], document["zeros"][0]["counted"]) == (2, 0)
    assert document["zeros"][0]["reasons"] == ["its status is parse_error"]
    document = by_form["kris, lmms-eval"]
    short = [row for row in lmms_kris_rows() if not row["kris_bench_quality_score"]["valid"]]
    assert document["zeros"][0]["doubtful"] >= len(short) > 0, "an edit counts there with the numbers that it has"
    document = by_form["kris"]
    assert document["zeros"][0]["doubtful"] > 0
    lowest = min(row["scores"]["KP"]["min"] for row in document["results"] if row["judge"] == COUNTED)
    assert lowest == -25, "a number that a reply lacks"
    kept = next(row for row in document["results"] if row["judge"] == KEPT)
    assert kept["scores"]["KP"]["min"] >= 0
    document = by_form["imgedit"]
    assert document["zeros"][0]["rows"] == 24
    assert headline(document, COUNTED)["n"] > headline(document, KEPT)["n"]


def test_what_stops_the_authors_script_and_what_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write_imgedit(folder, errors=True)
    (document,) = reanalysed([folder])
    assert published(document) == {"Overall": None}
    (folder / "basic_edit.json").rename(tmp_path / "basic_edit.json")
    with pytest.raises(ConfigurationError, match="name it by --rows"):
        reanalysed([folder])
    assert reanalysed([folder], tmp_path / "basic_edit.json")[0]["zeros"] == document["zeros"]
    (folder / "result.json").write_text('{"1": ')
    with pytest.raises(ConfigurationError, match=r"result\.json is not valid JSON"):
        reanalysed([folder])
    (folder / "result.json").unlink()
    with pytest.raises(ConfigurationError, match="no results in a known form"):
        reanalysed([folder])
    with pytest.raises(ConfigurationError, match="does not exist"):
        reanalysed([tmp_path / "none"])


def test_the_verb_and_two_models_beside_each_other(tmp_path: Path, command: Command) -> None:
    paths = [str(written("kris", tmp_path / name)) for name in "ab"]
    for path in (tmp_path / "b").rglob("metrics.json"):
        path.write_text(path.read_text().replace("5", "4"))
    ended = command("reanalyse", *paths)
    assert ended.code == 0
    assert "mine (1)" in ended.out
    assert "mine (2)" in ended.out
    document = command("reanalyse", *paths, "--json").document
    assert [row["edit_model"] for row in document[0]["zeros"]] == ["mine (1)", "mine (2)"]
    assert command("reanalyse", str(tmp_path / "none")).code == 2


THEIRS: dict[str, dict[str, float]] = {
    "gedit en": {"G_O": 4.514973989772919, "G_SC": 5.121212121212121, "G_PQ": 4.848484848484849},
    "gedit zh": {"G_O": 3.9235966335758903, "G_SC": 4.257575757575758, "G_PQ": 4.863636363636363},
    "imgedit en": {"Overall": 2.84},
    "kris en": {
        "Overall": 46.951219512195124,
        "factual": 47.56944444444444,
        "conceptual": 45.604395604395606,
        "procedural": 48.80952380952381,
    },
    "gedit, lmms-eval en": {"O": 3.5317999440395957, "SC": 3.8, "PQ": 4.1},
    "imgedit, lmms-eval en": {"avg_score": 2.283333333333333},
    "kris, lmms-eval en": {"overall_avg": 49.79166666666666},
}


def only(folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The one document of a folder with one edit model, and what it has of rows counted and kept."""
    (document,) = reanalysed([folder])
    counted, kept = document["results"]
    assert (counted["judge"], kept["judge"]) == (COUNTED, KEPT)
    assert not counted["certificate"]["certified"]
    return document, counted, kept


def dumped(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), "utf-8")


def test_i2ebench(tmp_path: Path) -> None:
    """As summary.py: any verdict with a yes is one, all others are none, over the rows that are there."""
    verdicts = {"Counting": ["Yes", "no", "I'm sorry, I cannot."], "Replacement": ["yes.", "Yes"], "Lowlight": ["-"]}
    for dimension, said in verdicts.items():
        rows = {str(n): {"image": f"{n}.jpg", "final_judgement": verdict, "gt": "?"} for n, verdict in enumerate(said)}
        dumped(tmp_path / "EditEval_ori" / dimension / "mine.json", rows)
    document, counted, kept = only(tmp_path)
    assert document["form"] == "i2ebench, EditEval_ori"
    assert counted["published"]["Counting"]["value"] == 0.3333
    assert counted["published"]["Replacement"]["value"] == 1
    assert counted["scores"]["accuracy"]["mean"] == pytest.approx((100 / 3 + 100) / 2)
    assert kept["scores"]["accuracy"]["mean"] == pytest.approx((50 + 100) / 2)
    assert document["zeros"][0]["reasons"] == ["the verdict is neither yes nor no"]
    assert "835 of the 840 edits" in str(document["notes"])
    (tmp_path / "EditEval_ori").rename(tmp_path / "EditEval_ori_3nd")
    document, counted, _ = only(tmp_path)
    assert document["form"] == "i2ebench round 3, EditEval_ori_3nd"
    assert counted["published"]["Counting"]["value"] == 0.3333
    assert not document["notes"]


def test_genai_bench(tmp_path: Path) -> None:
    votes = [("[[A>B]]", True), ("[[B>A]]", False), (None, False), ("", False)]
    rows = [
        {"idx": n, "source_prompt": f"{n}", "human_vote": "leftvote", "model_vote": vote, "correct": correct}
        for n, (vote, correct) in enumerate(votes)
    ]
    dumped(tmp_path / "image_edition" / "judge" / "pairwise.json", rows)
    dumped(tmp_path / "image_generation" / "judge" / "pairwise.json", rows)
    _, counted, kept = only(tmp_path)
    assert counted["published"]["Accuracy"]["value"] == counted["scores"]["accuracy"]["mean"] == 25
    assert kept["scores"]["accuracy"]["mean"] == 50


def test_viescores_own_answers(tmp_path: Path) -> None:
    folder = tmp_path / "results_gpt_0shot" / "ImagenHub_Text-Guided_IE" / "mine"
    sides: dict[str, dict[str, Any]] = {
        "SC": {"sample_1_1.jpg": [4, 9], "sample_2_1.jpg": [3], "sample_3_1.jpg": "no", "sample_4_1.jpg": [9, 9]},
        "PQ": {"sample_1_1.jpg": [9, 16], "sample_2_1.jpg": [3, 3], "sample_3_1.jpg": [9, 9], "sample_4_1.jpg": [16]},
    }
    for side, scores in sides.items():
        guess = {"sample_2_1.jpg": "guess_if_cannot_parse | Hm."}
        dumped(
            folder / f"{side}.json",
            {key: {"score": score, "reasoning": guess.get(key, "")} for key, score in scores.items()},
        )
    document, counted, kept = only(tmp_path)
    assert document["form"] == "viescore, gpt_0shot"
    assert counted["scores"]["O"]["mean"] == pytest.approx((6 + 3) / 2)
    assert kept["scores"]["O"]["mean"] == 6
    assert document["zeros"][0]["doubtful"] == 3


def test_wiseedit_in_both_languages(tmp_path: Path) -> None:
    """The mean of each metric is rounded; a row that lacks a number in one language is in no mean of either."""
    columns = [f"{name}_score_{of}" for name in ("IF", "DP", "VQ", "KF", "CF") for of in ("cn", "en")]
    for subset, task in (("Awareness_1", "KF"), ("Interpretation_1", "KF"), ("Imagination_2", "CF")):
        rows = []
        for idx, numbers in enumerate([(8, 4), (3, 3), (9, 0)]):
            said = {name: numbers[name.endswith("en")] for name in columns if name[:2] in ("IF", "DP", "VQ", task)}
            rows.append([idx, *(said.get(name, "") for name in columns)])
        (tmp_path / "mine").mkdir(exist_ok=True)
        with open(tmp_path / "mine" / f"score_{subset}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["idx", *columns], *rows])
    documents = {document["language"]: document for document in reanalysed([tmp_path])}
    for language, mean in (("en", (4 + 3) / 2), ("zh", (8 + 3) / 2)):
        counted, kept = documents[language]["results"]
        on_hundred = (mean - 1) / 9 * 100
        assert counted["published"]["Basic Overall"]["value"] == pytest.approx(round(on_hundred, 1))
        assert kept["scores"]["AVG"]["mean"] == pytest.approx(on_hundred)
    assert documents["zh"]["zeros"][0]["reasons"] == ["a number is missing in the other language"]


def test_omnicontext(tmp_path: Path) -> None:
    for kind, lines in {
        "multi": [(4, 9, ""), (3, 3, "guess_if_cannot_parse | x")],
        "scene": [(11, 11, ""), (9, 4, "")],
    }.items():
        folder = tmp_path / "mine" / "gpt4dot1" / kind
        folder.mkdir(parents=True)
        text = [
            json.dumps(
                {
                    "key": f"{kind}{n}",
                    "instruction_language": "en",
                    "PF_score": a,
                    "SC_score": b,
                    "PF_score_reason": why,
                }
            )
            for n, (a, b, why) in enumerate(lines)
        ]
        (folder / "score.jsonl").write_text("\n".join(text))
    document, counted, kept = only(tmp_path)
    assert document["results"][0]["edit_model"] == "mine"
    assert counted["published"]["Overall"]["value"] == pytest.approx((4.5 + 8.5) / 2)
    assert kept["scores"]["O"]["mean"] == 6


def test_picabench(tmp_path: Path) -> None:
    def item(*answers: tuple[str, bool]) -> dict[str, Any]:
        asked = [{"model_answer": said, "is_correct": right} for said, right in answers]
        return {"physics_law": "Local", "annotated_qa_pairs": asked}

    items = [item(("Yes", True), ("no.", False)), item(("Error: all", False)), {"physics_law": "Local"}]
    dumped(tmp_path / "mine" / "meta_info_gpt_output_1024_crop_box.json", items)
    _, counted, kept = only(tmp_path)
    assert counted["published"]["Overall"]["value"] == counted["scores"]["accuracy"]["mean"] == 25
    assert kept["scores"]["accuracy"]["mean"] == 50


def write_workbook(file: Path, rows: list[dict[str, Any]]) -> None:
    """An `.xlsx` as pandas has it written: names and texts are shared, an empty cell is not there."""
    names = [*rows[0]]
    table = [dict(zip(names, names, strict=True)), *rows]
    texts = list(dict.fromkeys(value for row in table for value in row.values() if isinstance(value, str)))
    schema = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    lines = []
    for number, row in enumerate(table, 1):
        cells = [(f"{chr(65 + names.index(name))}{number}", value) for name, value in row.items() if value is not None]
        lines.append(
            "<row>"
            + "".join(
                f'<c r="{place}" t="s"><v>{texts.index(value)}</v></c>'
                if isinstance(value, str)
                else f'<c r="{place}"><v>{value}</v></c>'
                for place, value in cells
            )
            + "</row>"
        )
    strings = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in texts)
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("xl/sharedStrings.xml", f"<sst {schema}>{strings}</sst>")
        made.writestr(
            "xl/worksheets/sheet1.xml", f"<worksheet {schema}><sheetData>{''.join(lines)}</sheetData></worksheet>"
        )


def judged_row(consistency: int | None, reasoning: int | None, plausibility: int | None) -> dict[str, Any]:
    """The columns that their scripts add to a row; the weights are theirs."""
    numbers = (consistency, reasoning, plausibility)
    read = None not in numbers
    return {
        **dict(zip(("ApprConsistency", "Reasoning", "VisualPlausibility"), numbers, strict=True)),
        "match_log": "succeed" if read else "failed",
        "judge_cons": "So. Final Score: 5 & <5>",
        "score": 0.3 * consistency + 0.5 * reasoning + 0.2 * plausibility if read else None,
        "complete": int(numbers == (5, 5, 5)),
    }


def test_risebench_counts_an_unreadable_edit_as_no_success(tmp_path: Path) -> None:
    kinds = ("temporal_reasoning", "causal_reasoning")
    of = [(5, 5, 5), (5, 3, 5), (None, None, None), (5, 5, 9)]
    rows = [
        {"index": f"r_{n}", "category": kinds[n % 2], "image": f"{n}.png"} | judged_row(*numbers)
        for n, numbers in enumerate(of)
    ]
    write_workbook(tmp_path / "outputs" / "mine" / "mine_judge.xlsx", rows)
    (tmp_path / "outputs" / "mine" / "mine_judge.csv").write_text("-,Score-Origin\n")
    document, counted, kept = only(tmp_path)
    assert (document["form"], counted["edit_model"]) == ("risebench", "mine")
    assert counted["published"]["Accuracy"]["value"] == counted["scores"]["accuracy"]["mean"] == 0.25
    assert counted["published"]["Score"]["value"] == pytest.approx((5 + 4 + 5.8) / 3)
    assert kept["scores"]["accuracy"]["mean"] == 0.5
    assert kept["scores"]["score"]["mean"] == 4.5
    assert document["zeros"][0]["reasons"] == ["a number is none from 1 to 5", "a reply has no score, or never came"]
    assert "356 of the 360 edits" in str(document["notes"])


def test_unireditbench_leaves_an_unreadable_edit_out(tmp_path: Path) -> None:
    of = [(5, 5, 5), (5, 3, 5), (None, None, None)]
    rows = [{"name": "maze", "idx": n, "key": f"maze#{n}"} | judged_row(*numbers) for n, numbers in enumerate(of)]
    rows[-1]["complete"] = None
    write_workbook(tmp_path / "UniREdit-Bagel_judge.xlsx", rows)
    document, counted, kept = only(tmp_path)
    assert (document["form"], counted["edit_model"]) == ("unireditbench", "UniREdit-Bagel")
    for row in (counted, kept):
        assert row["scores"]["accuracy"]["mean"] == counted["published"]["Accuracy"]["value"] == 0.5
        assert row["scores"]["score"]["mean"] == counted["published"]["Score"]["value"] == 4.5
    assert document["zeros"][0]["doubtful"] == 1
    (tmp_path / "UniREdit-Bagel_judge.xlsx").write_text("-")
    with pytest.raises(ConfigurationError, match="is no workbook"):
        reanalysed([tmp_path])


def test_msebench_by_turn_over_all_sessions(tmp_path: Path) -> None:
    def turn(following: Any, consistency: Any) -> dict[str, Any]:
        return {"reason": "So.", "prompt_following": following, "consistency": consistency} | {
            "all": int(following > 6 and consistency > 6)
        }

    sessions = [
        {f"turn{n}": turn(9, 9) for n in range(1, 6)},
        {"turn1": turn(8, 8), "turn2": turn(6, 6)},
        {f"turn{n}": turn(12, 12) for n in range(1, 6)},
        {"empty": "gpt4o could not deal with this case. "},
    ]
    dumped(tmp_path / "mine.json", sessions)
    dumped(tmp_path / "other.json", [{"turns": 1}])
    document, counted, kept = only(tmp_path)
    theirs = published(document)
    assert [theirs[f"Success {n}"] for n in (1, 2, 5)] == [0.75, 0.5, 0.5]
    assert [theirs[f"Overall {n}"] for n in (1, 2, 3)] == [29 / 4, 27 / 4, 21 / 4]
    assert counted["headline"] == "Success 5"
    assert kept["scores"]["Success 5"]["mean"] == 0.5
    assert document["zeros"][0]["reasons"] == ["a turn lacks its two numbers from 0 to 10", "the judge did not answer"]
    for session, why in (({"error": "Failed to get valid response"}, "an error"), ({"turn1": turn(-1, 9)}, "negative")):
        dumped(tmp_path / "mine.json", [session, *sessions])
        _, counted, _ = only(tmp_path)
        assert counted["published"]["Success 5"]["value"] is None
        assert why in counted["published"]["Success 5"]["reason"]


def test_structeditbench_from_its_processed_dataset(tmp_path: Path) -> None:
    def judged_by(name: str, editing: float, maintain: float, *answers: str) -> dict[str, Any]:
        accuracy = {"accuracy": 0.9 * editing + 0.1 * maintain, "editing_accuracy": editing}
        numbers = accuracy | {"maintain_accuracy": maintain}
        listed = [{"answer": answer, "Correction": True, "label": "editing"} for answer in answers]
        return {f"{name}_{column}": number for column, number in numbers.items()} | {f"{name}_list": listed}

    nothing = dict.fromkeys(judged_by("mine_qwen", 0, 0))
    rows = [
        {"category": "chart", "output_image_mine": b"-"} | judged_by("mine_qwen", 100, 50, "5", "red"),
        {"category": "math", "output_image_mine": b"-"} | judged_by("mine_qwen", 0, 0, "x", "Missing result"),
        {"category": "math", "output_image_mine": None, **nothing},
    ]
    folder = tmp_path / "results" / "processed_dataset"
    folder.mkdir(parents=True)
    table = pyarrow.Table.from_pylist(rows)
    file = folder / "data-00000-of-00001.arrow"
    with file.open("wb") as opened, pyarrow.ipc.new_stream(opened, table.schema) as stream:
        stream.write_table(table)
    document, counted, kept = only(tmp_path)
    assert (document["form"], counted["edit_model"]) == ("structeditbench", "mine")
    assert published(document) == {"Overall": 47.5, "Editing": 50, "Maintain": 25}
    assert counted["scores"]["accuracy"]["mean"] == 47.5
    assert kept["scores"]["accuracy"]["mean"] == 95
    assert document["zeros"][0]["reasons"] == ["an answer never came"]
    file.write_bytes(b"-")
    with pytest.raises(ConfigurationError, match="is no Arrow file"):
        reanalysed([tmp_path])
