"""Others' results of comparisons, in the form in which their scripts write them, and what their scripts make of them.

The points were given once, outside of this project, by elo_score.py of ZhangqiJiang07/GEditBench_v2@82bc00e (before it
rounds to whole points) and by the loggers, rebuild_state_from_logs and compute_bt_elo_ratings (run to its end) of
ruihanglix/genarena@dd09b86, from the files that are written here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from command_lines import Command
from documents import plain
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.reanalysis.files import reanalyse

MODELS = ("Zeta", "alpha_2", "editor-9", "editor-10")
BY_NAME = ("alpha_2", "editor-9", "editor-10", "Zeta")
"""As generate_canonical_pairs sorts them."""
QUALITY = {"Zeta": 0.2, "alpha_2": 0.9, "editor-9": 0.5, "editor-10": 0.6}
QUESTIONS = {"vc": "visual_consistency", "vq": "visual_quality", "if": "instruction_following"}
SAMPLES = [f"color_alter_{number:06d}" for number in range(20)]


def reanalysed(*given: Any) -> list[dict[str, Any]]:
    """The documents, as their JSON has them."""
    documents: list[dict[str, Any]] = plain(reanalyse(*given))
    return documents


def geditbench_v2_lines(question: str) -> Iterator[dict[str, Any]]:
    """What their pipeline found: ties and failures, too, which `_write_eval_results` leaves out."""
    draw = random.Random(question)
    for sample in SAMPLES:
        for first, second in combinations(BY_NAME, 2):
            lean = QUALITY[first] - QUALITY[second] + draw.uniform(-0.8, 0.8)
            winner = "Tie" if abs(lean) < 0.1 else "Image A" if lean > 0 else "Image B"
            winner = "Failed" if draw.random() < 0.05 else winner
            said = {"type": "pairwise_comparison", "value": winner, "meta": {"raw_response": "so\u2028so"}}
            shown = {"instruction": "Do.", "edited_images": [f"{first}/{sample}.png", f"{second}/{sample}.png"]}
            results = {"input_dict": shown, "winner": winner, "raw_responses": {"pair-judge": said}}
            yield {"key": f"{sample}_pair_{first}_vs_{second}", "results": results}


def write_lines(file: Path, lines: Iterator[Any] | list[Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    written = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    file.write_text("".join(f"{line}\n" for line in written), "utf-8")


def write_geditbench_v2(folder: Path, *, ties: bool) -> None:
    """As `autopipeline eval` writes it; with `ties`, as if it had left them in, with lines that no script of theirs
    writes, but elo_score.py reads."""
    for short, question in QUESTIONS.items():
        lines: list[Any] = list(geditbench_v2_lines(question))
        if ties:
            lines += [lines[0], {"key": "s_pair_Zeta_vs_Zeta", "results": {"winner": "Tie"}}, {"key": "none"}, []]
            lines += [{"key": lines[1]["key"], "results": {"winner": "image a"}}]
        else:
            lines = [line for line in lines if line["results"]["winner"] not in ("Failed", "Tie")]
        write_lines(folder / "openedit" / f"eval_{short}_metadata" / "20260401_120000.jsonl", lines)


EXPERIMENTS = ("GenArena_20260101", "Later_20260201")


def genarena_battles() -> Iterator[tuple[str, str, str, int, list[str]]]:
    """Experiment, two models, sample, and what the judge answered in both orders."""
    draw = random.Random("genarena")
    for number in range(20):
        for first, second in combinations(sorted(MODELS), 2):
            lean = QUALITY[first] - QUALITY[second] + draw.uniform(-0.8, 0.8)
            said = ["A", "B"] if lean > 0 else ["B", "A"]
            if abs(lean) < 0.2:
                said = draw.choice([["A", "A"], ["B", "B"]])
            said = [f'{{"better_response": "{letter}", "score": 5}}' for letter in said]
            if draw.random() < 0.1:
                said[draw.randrange(2)] = draw.choice(["", '{"better_response": "Response B is"}', "I cannot help."])
            if draw.random() < 0.05:
                said[0] = '{"better_response": "B at all"}'
            yield EXPERIMENTS["Zeta" in (first, second)], first, second, number, said


def of_reply(reply: str) -> dict[str, Any]:
    """A call as audit logs have it, for replies as above."""
    answer = json.loads(reply) if reply.startswith("{") else None
    if answer is None:
        return {"raw_response": reply, "parsed_result": None, "parse_success": False, "parse_error": "Parse failed"}
    letter = "A" if "A" in answer["better_response"].upper() else "B"
    parsed = {"winner": letter, "score": 5, "confidence": 0.5, "reasoning": {}, "raw_response": answer}
    return {"raw_response": reply, "parsed_result": parsed, "parse_success": True, "parse_error": None}


def write_genarena(subset: Path, *, raw: bool = True) -> None:
    """As BattleLogger and AuditLogger write them."""
    logs: dict[Path, list[dict[str, Any]]] = {}
    for experiment, first, second, number, said in genarena_battles():
        calls = [of_reply(reply) for reply in said]
        letters = [call["parsed_result"] and call["parsed_result"]["winner"] for call in calls]
        agree = letters in (["A", "B"], ["B", "A"])
        winner = (first if letters[0] == "A" else second) if agree else "tie"
        slim = {"model_a": first, "model_b": second, "sample_index": number}
        ends = {"final_winner": winner, "is_consistent": agree}
        folder, name = subset / "pk_logs" / experiment, f"{first}_vs_{second}.jsonl"
        logs.setdefault(folder / name, []).append({**slim, **ends, "timestamp": "2026-01-01T00:00:00"})
        if raw:
            both = {"original_call": calls[0], "swapped_call": calls[1]}
            audit = {**slim, "timestamp": "2026-01-01T00:00:00", **both, **ends}
            logs.setdefault(folder / "raw_outputs" / name, []).append(audit)
    for file, lines in logs.items():
        write_lines(file, lines)


THEIRS: dict[str, dict[str, float]] = {
    "without ties": {
        "Zeta": 752.8265695393735,
        "alpha_2": 1223.028776281312,
        "editor-10": 1040.3281709508603,
        "editor-9": 983.8164832284543,
    },
    "with ties": {
        "Zeta": 752.8838832552285,
        "alpha_2": 1217.0979287868208,
        "editor-10": 1040.39748295562,
        "editor-9": 989.6207050023306,
    },
    "one question": {
        "Zeta": 790.4199107899012,
        "alpha_2": 1140.8506669103042,
        "editor-10": 1046.7415749744403,
        "editor-9": 1021.9878473253544,
    },
    "genarena": {
        "Zeta": 848.1597753690063,
        "alpha_2": 1109.726203188175,
        "editor-10": 1001.6527040414959,
        "editor-9": 936.1692389578623,
    },
}
THEIR_COUNTS = {  # won, lost, ties, and the win rate that their leaderboard shows
    "alpha_2": (32, 4, 24, 0.7333333333333333),
    "editor-9": (17, 25, 18, 0.43333333333333335),
    "editor-10": (24, 18, 18, 0.55),
    "Zeta": (5, 31, 24, 0.2833333333333333),
}
THEIR_MATCHES = {  # Match_Count of their tables, without ties and with
    "alpha_2": (152, 172),
    "editor-10": (156, 173),
    "editor-9": (153, 176),
    "Zeta": (161, 175),
}


def points(document: Mapping[str, Any]) -> dict[str, float]:
    return {row["edit_model"]: row["elo"] for row in document["theirs"]}


def dropped(document: Mapping[str, Any], question: str) -> dict[str, int]:
    return {row["reason"]: row["count"] for row in document["dropped"] if row["question"] == question}


@pytest.mark.parametrize("ties", [False, True])
def test_geditbench_v2s_points_are_those_of_its_script(tmp_path: Path, ties: bool) -> None:
    write_geditbench_v2(tmp_path, ties=ties)
    (document,) = reanalysed([tmp_path])
    assert (document["form"], document["of"]) == ("geditbench_v2", "openedit")
    # Their search ends about .01 points before the maximum.
    assert points(document) == pytest.approx(THEIRS["with ties" if ties else "without ties"], abs=0.05)
    for row in document["theirs"]:
        assert row["won"] + row["lost"] + row["ties"] == THEIR_MATCHES[row["edit_model"]][ties]
    (alone,) = reanalysed([next(tmp_path.rglob("eval_vc_metadata"))]) if not ties else (None,)
    if alone:
        assert points(alone) == pytest.approx(THEIRS["one question"], abs=0.05)
        assert alone["together"] is None


def test_what_geditbench_v2_does_not_write_is_counted_and_said(tmp_path: Path) -> None:
    documents = {}
    for ties in (False, True):
        write_geditbench_v2(tmp_path / str(ties), ties=ties)
        (documents[ties],) = reanalysed([tmp_path / str(ties)])
    for question in QUESTIONS.values():
        said = [line["results"]["winner"] for line in geditbench_v2_lines(question)]
        assert dropped(documents[False], question) == {
            "not in the file: a tie, or failed": said.count("Tie") + said.count("Failed")
        }
        repeated = int(said[0] != "Failed")
        assert dropped(documents[True], question) == {
            "no winner": said.count("Failed") + 1 + (not repeated),
            "no two edit models": 3,
            **({"there twice; the first counts": 1} if repeated else {}),
        }
        assert documents[True]["scores"][question]["votes"] == len(said) - said.count("Failed")
    assert "writes no tie" in str(documents[False]["notes"])
    assert "writes no tie" not in str(documents[True]["notes"])


def test_strengths_with_intervals_by_question_and_together(tmp_path: Path) -> None:
    write_geditbench_v2(tmp_path, ties=True)
    (document,) = reanalysed([tmp_path])
    assert {*document["scores"]} == {*QUESTIONS.values()}
    for score in (*document["scores"].values(), document["together"]):
        ours = {row["edit_model"]: row for row in score["strengths"]}
        assert max(ours, key=lambda name: ours[name]["strength"]) == "alpha_2"
        assert min(ours, key=lambda name: ours[name]["strength"]) == "Zeta"
        for row in ours.values():
            assert row["ci95"][0] < row["strength"] < row["ci95"][1]


def test_genarenas_points_and_counts_are_those_of_its_scripts(tmp_path: Path) -> None:
    write_genarena(tmp_path / "basic")
    (document,) = reanalysed([tmp_path])
    assert (document["form"], document["of"], document["comparisons"]) == ("genarena", "basic", 120)
    assert points(document) == pytest.approx(THEIRS["genarena"], abs=1e-6)
    counts = {row["edit_model"]: row for row in document["theirs"]}
    for model, (*three, rate) in THEIR_COUNTS.items():
        assert [counts[model][name] for name in ("won", "lost", "ties")] == three
        assert counts[model]["win_rate"] == pytest.approx(rate)
    assert "GenArena_20260101" in str(document["notes"])


def test_genarenas_raw_outputs_tell_a_failure_from_orders_that_differ(tmp_path: Path) -> None:
    write_genarena(tmp_path / "with" / "basic")
    write_genarena(tmp_path / "without" / "basic", raw=False)
    (raw,), (slim,) = (reanalysed([tmp_path / name]) for name in ("with", "without"))
    said = [replies for *_, replies in genarena_battles()]
    failed = sum(any(not reply.startswith("{") for reply in two) for two in said)
    guessed = sum(
        any(reply.endswith(('is"}', 'all"}')) for reply in two) and all(reply.startswith("{") for reply in two)
        for two in said
    )
    assert failed > 0
    assert dropped(raw, "better") == {
        "an order without an answer": failed,
        "a letter taken out of a word": guessed,
    }
    assert raw["scores"]["better"]["votes"] == 2 * (120 - failed - guessed)
    assert not slim["dropped"]
    assert slim["scores"]["better"]["votes"] == 2 * 120
    ties = sum(row["ties"] for row in slim["theirs"]) // 2
    assert f"{ties} ties are two orders that differ, or an answer that never came" in str(slim["notes"])
    assert "only raw_outputs" not in str(raw["notes"])
    assert points(raw) == points(slim), "theirs is of the same winners"
    assert raw["scores"]["better"]["davidson"] is not None
    for row in raw["scores"]["better"]["strengths"]:
        assert row["ci95"][0] < row["strength"] < row["ci95"][1]


def test_battles_that_are_damaged_count_as_they_count_them(tmp_path: Path) -> None:
    write_genarena(tmp_path / "basic", raw=False)
    file = tmp_path / "basic/pk_logs" / EXPERIMENTS[0] / "alpha_2_vs_editor-9.jsonl"
    first = json.loads(file.read_text().splitlines()[0])
    (before,) = reanalysed([tmp_path])
    with file.open("a") as opened:
        other = {**first, "sample_index": 99}
        lines = [first, {**other, "final_winner": "model_a"}, {**other, "model_b": ""}, {**other, "model_b": "alpha_2"}]
        opened.writelines(json.dumps(line) + "\n" for line in lines)
        opened.write('{"model_a": "al')
    (document,) = reanalysed([tmp_path])
    assert dropped(document, "better") == {
        "there twice; the first counts": 1,
        "no winner": 1,
        "no two edit models": 2,
        "no JSON": 1,
    }
    assert document["comparisons"] == before["comparisons"] + 2, (
        "the repeated one, and the one without a winner as a tie"
    )
    ties = [sum(row["ties"] for row in of["theirs"]) for of in (before, document)]
    assert ties[1] - ties[0] == 2 * (1 + (first["final_winner"] == "tie"))
    assert document["scores"] == before["scores"]


def test_points_that_they_have_written_stand_beside(tmp_path: Path) -> None:
    write_genarena(tmp_path / "basic")
    for experiment, elo in zip(EXPERIMENTS, (1.0, 1110.5), strict=True):
        snapshot = {"exp_name": experiment, "elo": {"alpha_2": elo}}
        (tmp_path / "basic/pk_logs" / experiment / "elo_snapshot.json").write_text(json.dumps(snapshot))
    (document,) = reanalysed([tmp_path])
    written = {row["edit_model"]: row["written"] for row in document["theirs"]}
    assert written == {"alpha_2": 1110.5, "Zeta": None, "editor-9": None, "editor-10": None}


def test_no_points_where_their_script_stops_or_has_none(tmp_path: Path) -> None:
    write_geditbench_v2(tmp_path / "a", ties=True)
    file = next((tmp_path / "a").rglob("eval_if_metadata/*.jsonl"))
    file.write_text(file.read_text("utf-8") + '{"key": "x\n', "utf-8")
    (document,) = reanalysed([tmp_path / "a"])
    assert {*points(document).values()} == {None}
    assert "the authors' script stops" in document["no_theirs"]
    assert document["together"]["strengths"][0]["ci95"], "ours goes on without the line"
    battle = {"model_a": "a", "model_b": "b", "final_winner": "a", "is_consistent": True}
    write_lines(tmp_path / "b/pk_logs/X_20260101/a_vs_b.jsonl", [{**battle, "sample_index": n} for n in range(9)])
    (document,) = reanalysed([tmp_path / "b"])
    assert {*points(document).values()} == {None}
    assert "won, or lost, everything" in document["no_theirs"]
    lines = [{"key": f"s{n}_pair_a_vs_b", "results": {"winner": "Image A"}} for n in range(9)]
    write_lines(tmp_path / "c/eval_vq_metadata/1.jsonl", [*lines, {"key": "s_pair_a_vs_c", "results": {}}])
    (document,) = reanalysed([tmp_path / "c"])
    assert document["no_theirs"] == "c has no comparison that counts"


def test_of_several_files_of_a_question_the_last_counts_and_other_metadata_is_rated_alone(tmp_path: Path) -> None:
    write_geditbench_v2(tmp_path, ties=False)
    results = tmp_path / "openedit"
    earlier = [{"key": "s_pair_a_vs_b", "results": {"winner": "Image A"}}]
    write_lines(results / "eval_vq_metadata" / "20260301_120000.jsonl", earlier)
    write_lines(results / "eval_vq_metadata_mine" / "20260301_120000.jsonl", earlier)
    write_lines(results / "more_grouped.jsonl", earlier)  # pairs to train on
    document, mine = reanalysed([tmp_path])
    assert points(document) == pytest.approx(THEIRS["without ties"], abs=0.05)
    assert "2 files; the last one by name counts" in str(document["notes"])
    assert {*points(mine)} == {"a", "b"}
    with pytest.raises(ConfigurationError, match="no results in a known form"):
        reanalysed([results / "more_grouped.jsonl"])


def test_the_verb_shows_points_strengths_and_what_is_in_none(tmp_path: Path, command: Command) -> None:
    write_geditbench_v2(tmp_path / "g", ties=False)
    write_genarena(tmp_path / "a" / "basic")
    ended = command("reanalyse", str(tmp_path / "g"), str(tmp_path / "a"))
    assert ended.code == 0
    for words in (
        "geditbench_v2 (openedit)",
        "1223",
        "genarena (basic)",
        "1110",
        "73%",
        "a letter taken out of a word",
    ):
        assert words in ended.out
    assert "To be shown first is worth" in ended.out
    forms = [document["form"] for document in command("reanalyse", str(tmp_path), "--json").document]
    assert forms == ["geditbench_v2", "genarena"]
