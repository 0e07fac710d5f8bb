"""GEdit-Bench v2's and GenArena's questions about two edits: in our words, and in theirs as they have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.pairs import GEditBenchV2, GenArena, PublishedPairs
from edit_eval.protocols.contract import fault
from edit_eval.records import Reply, Status
from faults.faulty_runs import Ears
from small_matrix import small_sample

BOTH = (GEditBenchV2, GenArena)


def theirs(cls: type[PublishedPairs], folder: Path) -> Any:
    """The protocol in words that lie where, and as, the authors' do."""
    for file in cls.official_files:
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if cls is GenArena:
            place.write_text('PROMPT_TEXT = """Compare. {"better_response": "A" or "B"}"""\n', "utf-8")
        else:
            parts = [{"text": "Compare.\nInstruction: {{ instruction }}\nOriginal Image:"}, {"image": {"source": "x"}}]
            told = {"system_prompt": f"You look at {file.path}", "user_prompt": [*parts, {"text": "Image A:"}]}
            place.write_text(yaml.safe_dump(told), "utf-8")
    parameters = cls.Parameters(prompts="official", prompts_path=str(folder))
    return cls(parameters, cls.texts(parameters))


@pytest.mark.parametrize("cls", BOTH)
def test_both_orders_of_each_question_in_our_words_and_in_theirs(cls: type[PublishedPairs], tmp_path: Path) -> None:
    parameters = cls.Parameters()
    sample = replace(small_sample(0), instruction="Make {it} red.")
    for asking in (cls(parameters, cls.texts(parameters)), theirs(cls, tmp_path)):
        assert not fault(asking, sample)
        questions = asking.questions(sample)
        assert [asked.name for asked in questions] == [
            f"{score}.{order}" for score in cls.aspects for order in ("forward", "backward")
        ]
        for asked in questions:
            shown = [view.picture for view in asked.shows]
            assert shown[-2:] == (["edit", "other"] if asked.name.endswith("forward") else ["other", "edit"])
            assert ("source" in shown) is not asked.name.startswith("visual_quality")
            assert ("Make {it} red." in asked.user) is not asked.name.startswith("visual_quality") or asking._official


@pytest.mark.parametrize("cls", BOTH)
def test_their_answers_are_read_as_they_ask_for_them_and_no_letter_is_taken_out_of_a_word(
    cls: type[PublishedPairs], tmp_path: Path
) -> None:
    asking = theirs(cls, tmp_path)
    forward, backward = asking.questions(small_sample(0))[:2]
    for label, share in cls.shares.items():
        reply = Reply(text=f'```json\n{{"reasoning": {{"all": "fine"}}, "{cls.key}": "{label}"}}\n```')
        assert asking.read(forward, reply).values[forward.gives[0]] == share
        assert asking.read(backward, reply).values[backward.gives[0]] == 1 - share
    for text in ("Image B is better", f'{{"{cls.key}": "Bad"}}', f'{{"{cls.key}": "A or B"}}', f'{{"{cls.key}": 1}}'):
        assert asking.read(forward, Reply(text=text)).status is Status.UNPARSEABLE


def test_a_file_that_is_not_theirs_is_refused(tmp_path: Path) -> None:
    for cls in BOTH:
        theirs(cls, tmp_path)
        (tmp_path / cls.official_files[0].path).write_text("a: [", "utf-8")
        with pytest.raises(ConfigurationError, match="prompts_path"):
            cls.texts(cls.Parameters(prompts="official", prompts_path=str(tmp_path)))


def test_a_gallery_of_finished_edits_has_the_authors_rating_and_one_by_all_questions(tmp_path: Path) -> None:
    told, models = {}, ("one", "two", "three")
    for place, model in enumerate(models):
        (tmp_path / model).mkdir()
        for number in range(4):
            Image.new("RGB", (8, 8), (60 * place, 40 * number, 9)).save(tmp_path / model / f"s{number}.png")
            labels = {"forward": "A" if number else "C", "backward": "B" if number else "C"}
            told |= {
                f"{model}/s{number}#{score}.{order}": f'{{"reasons": "so", "better": "{label}"}}'
                for score in GEditBenchV2.aspects
                for order, label in labels.items()
            }
    Image.new("RGB", (8, 8)).save(tmp_path / "source.png")
    rows = [f"s{number},source.png,Do {number}." for number in range(4)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,source,instruction", *rows]), "utf-8")
    folder = {"type": "image_folder", "params": {"device_ids": "cpu:1"}}
    written: dict[str, Any] = {
        "benchmark": {"type": "table", "data_path": str(tmp_path / "rows.csv"), "cache_dir": str(tmp_path / "cache")},
        "edit_models": {
            model: {**folder, "params": {**folder["params"], "folder": str(tmp_path / model)}} for model in models
        },
        "judges": {
            "arena": {
                "type": "testing",
                "params": {"answers": told, "device_ids": "cpu:1"},
                "protocol": {"type": "geditbench_v2"},
            }
        },
        "execution": {"pilot": False, "progress": "none"},
    }
    run = evaluate(written, run_dir=tmp_path / "run", report=False, spectator=Ears())
    of = run.summary.battles["arena"]
    assert [*of.scores] == [*GEditBenchV2.aspects]
    theirs = of.as_others_rate["geditbench_v2"]
    assert sorted(theirs, key=theirs.__getitem__, reverse=True) == list(models), "the first of a pair won, or tied"
    ours = {row.edit_model: row.strength for row in of.together.strengths}
    assert sorted(ours, key=ours.__getitem__, reverse=True) == list(models)
