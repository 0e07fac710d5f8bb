"""The authors' numbers for replies of every kind, frozen from their own scripts, and ours.

`conformance/rows` has them, `conformance/scripts.py` makes them; with the authors' files (EDIT_EVAL_AUTHORS) they are
made again and must be the same.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from PIL import Image

from edit_eval.config.components import import_class, list_components, list_registrations
from edit_eval.judges.contract import JudgeRequest
from edit_eval.pictures import with_steps
from edit_eval.plugins.metrics.in_worker.picture_metrics import PictureMetrics
from edit_eval.plugins.published.gedit import VIEScore
from edit_eval.plugins.published.imgedit import ImgEditScores
from edit_eval.plugins.published.kris import KrisScores
from edit_eval.plugins.published.magicbrush import NAMES as MAGICBRUSH
from edit_eval.plugins.published.magicbrush import MagicBrushScores
from edit_eval.plugins.published.msebench import MSEScores
from edit_eval.plugins.published.omnicontext import OmniContextScores
from edit_eval.plugins.published.pairs import GEditBenchV2, GenArena
from edit_eval.plugins.published.picabench import PICAEval
from edit_eval.plugins.published.rededit import REDEditScores
from edit_eval.plugins.published.risebench import RISEBenchScores
from edit_eval.plugins.published.structeditbench import COVERED, StructScore
from edit_eval.plugins.published.unireditbench import UniREditBenchScores
from edit_eval.plugins.published.wiseedit import WiseEditScores
from edit_eval.protocols.certificates import certificate_of, certificate_of_points, is_certified
from edit_eval.protocols.contract import Missing
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Judgement, Reply, Status
from edit_eval.reporting.report_content import published
from edit_eval.reporting.results_sheet import published_lines
from edit_eval.statistics.battles import as_others_rate, others_may_read
from protocols.judged import judged, judgement, sample

ROWS = Path(__file__).parent / "conformance" / "rows"
NOT_CERTIFIED = ("creval", "ineditbench")
"""Whose authors' script was never run here."""
FORMS = ("criteria", "checklist")
"""Protocols for questions of one's own, of no authors."""
PUBLISHED = [each for each in list_registrations() if ".published." in each.class_path and each.name not in FORMS]
CERTIFICATES = {
    component.name: import_class("protocol", component.class_path).certificate
    for component in PUBLISHED
    if component.kind == "protocol" and component.name not in NOT_CERTIFIED
}
STOPS, GUESSES, GUESS = "stops", "guesses", 5
DIGITS = {"msebench": 5e-5, "geditbench_v2": 0.05, "genarena": 1e-6, "magicbrush": 1e-6}
"""How far their printed numbers, or where their search for an optimum ends, may lie from ours."""


@cache
def rows(protocol: str) -> Mapping[str, Any]:
    document: dict[str, Any] = json.loads((ROWS / f"{protocol}.json").read_text("utf-8"))
    return document


def replies(document: Mapping[str, Any], said: Mapping[str, int | None] | None) -> dict[str, Reply] | None:
    """The replies by question; one that never came is an error of the judge's."""
    if said is None:
        return None
    return {
        name: Reply(text="the server failed", ended=Status.JUDGE_ERROR)
        if place is None
        else Reply(text=document["replies"][place])
        for name, place in said.items()
    }


def official(cls: Any, folder: Path, **parameters: Any) -> Any:
    """The protocol with prompts of the authors' names, so that it reads as they do; none of their words are here."""
    if cls is WiseEditScores:
        for file, ending, names in (("prompt_single", "single", WISE), ("prompt_multi", "multi", WISE)):
            lines = [f'prompt_{name}_{ending} = "Of it."' for name in names]
            (folder / f"{file}.py").write_text("\n".join([*lines, 'prompt_visual_quality = "Of it."']))
        (folder / "evaluation_utils.py").write_text('def of(hint):\n    return f"Hint:\\n{hint}"\n')
        place = str(folder)
    else:
        texts = [
            text for prompt in getattr(cls, "official", {}).values() for text in (prompt.after, prompt.text) if text
        ]
        texts = texts or TEXTS_OF[cls]
        file = folder / cls.official_file.name
        python = "\n".join(f"{name} = 'Of it.'" for name in texts)
        file.write_text(json.dumps(dict.fromkeys(texts, "Of it.")) if file.suffix == ".json" else python)
        place = str(file)
    made = cls.Parameters(prompts="official", prompts_path=place, **parameters)
    return cls(made, json.loads(json.dumps(cls.texts(made))))


WISE = ("detail_preserving", "instruction_following", "knowledge_fidelity", "creative_fusion")
TEXTS_OF = {
    VIEScore: (
        *("_context_no_delimit", "_prompts_0shot_two_image_edit_rule", "_prompts_0shot_tie_rule_SC"),
        "_prompts_0shot_rule_PQ",
    ),
    PICAEval: ("json_instruction",),
    StructScore: ("QA_PROMPT", "EVAL_PROMPT"),
}


def facts_of(protocol: str, edit: Mapping[str, Any]) -> dict[str, Any]:
    said = edit["said"] or {}
    if protocol == "structeditbench":
        labels = ("editing", "maintain")
        questions = []
        for place, question in enumerate(edit["questions"], 1):
            if question["right"] is not None:  # as the benchmark reads a row
                about = "maintain" if str(question["label"]).lower() == "maintain" else "editing"
                questions.append({"about": about, "ask": "?", "right": "5"})
                questions[-1] |= {"place": place} if place != len(questions) else {}
                questions[-1] |= {"label": str(question["label"])} if question["label"] not in labels else {}
        return {"questions": questions}
    if protocol == "picabench":
        return {
            "questions": [{"ask": "?", "right": name.partition(": ")[2], "box": []} for name in said or ("1: yes",)]
        }
    if protocol == "kris":
        return {"asks": list(said), "explanation": "E.", "frames": ["edit"], "frame": 1}
    if protocol == "msebench":
        return {"asks": ["turn"], "turns": ["Do."] * int(edit["id"][-1])}
    return {} if protocol == "viescore" else {"asks": list(said)}


def judgements(protocol: str, asking: Any, edit_set: Mapping[str, Any]) -> list[Judgement]:
    kept = []
    for edit in edit_set["edits"]:
        of = sample(edit["id"], edit["category"], facts=facts_of(protocol, edit))
        said = replies(rows(protocol), edit["said"])
        if said is None:
            kept.append(judgement(asking, of, Status.EDIT_FAILED, reason="no picture"))
            continue
        if protocol == "structeditbench":
            names = [question.name for question in asking.questions(of) if question.gives]
            said = {name: said[name.split()[1]] for name in names}
            said |= {f"answer {name.split()[1]}": Reply(text="6") for name in names}
        again = [replies(rows(protocol), more) for more in edit.get("again", ())]
        for repeat, what in enumerate((said, *again)):
            made = judged(asking, of, what or {})
            kept.append(replace(made, repeat=repeat))
    return kept


def ours(asking: Any, name: str, of: list[Judgement]) -> float | str:
    """The number; why there is none."""
    try:
        return float(asking.published[name](of))
    except Missing as missing:
        return GUESSES if "guess_seed" in missing.reason else STOPS


PROTOCOLS = {
    "viescore": VIEScore,
    "imgedit": ImgEditScores,
    "rededit": REDEditScores,
    "kris": KrisScores,
    "risebench": RISEBenchScores,
    "unireditbench": UniREditBenchScores,
    "wiseedit": WiseEditScores,
    "omnicontext": OmniContextScores,
    "structeditbench": StructScore,
    "msebench": MSEScores,
    "picabench": PICAEval,
}
SEEDED = {"viescore", "omnicontext"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_our_number_is_the_authors(protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random.Random, "randint", lambda self, low, high: GUESS)
    asking = official(PROTOCOLS[protocol], tmp_path)
    guessing = official(PROTOCOLS[protocol], tmp_path, guess_seed=1) if protocol in SEEDED else asking
    wrong = []
    for place, edit_set in enumerate(rows(protocol)["sets"]):
        of = judgements(protocol, asking, edit_set)
        for name, number in edit_set["numbers"].items():
            by = guessing if name.startswith("guessed ") or number == STOPS else asking
            our_number = ours(by, name.removeprefix("guessed "), of)
            same = (
                our_number == number
                if isinstance(number, str) or isinstance(our_number, str)
                else (our_number == pytest.approx(number, abs=DIGITS.get(protocol, 1e-9)))
            )
            if not same:
                wrong.append(f"{place} {edit_set['kind']}: {name} is {our_number}, theirs {number}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])


def theirs(cls: Any, folder: Path) -> Any:
    """A protocol of two edits in words that lie where the authors' do."""
    for file in cls.official_files:
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        told = {"system_prompt": "Of them.", "user_prompt": [{"text": "{{ instruction }}"}]}
        place.write_text("PROMPT_TEXT = 'Of them.'" if cls is GenArena else yaml.safe_dump(told), "utf-8")
    parameters = cls.Parameters(prompts="official", prompts_path=str(folder))
    return cls(parameters, cls.texts(parameters))


PAIRS = {"genarena": GenArena, "geditbench_v2": GEditBenchV2}


@pytest.mark.parametrize("protocol", PAIRS)
def test_their_points_from_our_readings_or_none(protocol: str, tmp_path: Path) -> None:
    """A reply that we do not read and they may read takes their name from the points."""
    asking = theirs(PAIRS[protocol], tmp_path)
    rated, withheld = 0, set()
    for edit_set in rows(protocol)["sets"]:
        battles = []
        for edit in edit_set["edits"]:
            first, second = edit["models"]
            of, said = sample(edit["category"], "pairs"), replies(rows(protocol), edit["said"])
            if said is None:
                made = judgement(asking, of, Status.EDIT_FAILED, reason="no picture")
            else:
                made = judged(asking, of, said)
            battles.append(replace(made, edit_model=first, other=second))
        points = as_others_rate(battles, [*asking.scores]).get(protocol)
        if others_may_read(battles):
            assert points is None
            withheld.add(edit_set["kind"])
        else:
            assert points == pytest.approx(edit_set["numbers"], abs=DIGITS[protocol]), edit_set["kind"]
            rated += 1
    assert rated >= 10
    assert {"other capitals", "cut"} <= withheld
    assert withheld.isdisjoint({"clean", "fenced", "empty", "prose", "refusal", "no reply"})


@pytest.mark.parametrize("place", range(len(rows("magicbrush")["sets"])))
def test_the_distances_of_pictures_are_the_authors(place: int) -> None:
    edit_set = rows("magicbrush")["sets"][place]
    measures = PictureMetrics.measures(PictureMetrics.Parameters(bicubic=True))
    asking = MagicBrushScores(Numbers.Parameters(measures=measures))
    of = []
    for edit in edit_set["edits"]:
        shown = sample(edit["id"], edit["category"])
        if edit["said"] is None:
            of.append(judgement(asking, shown, Status.EDIT_FAILED, reason="no picture"))
            continue
        pictures = {}
        for name in ("reference", "edit"):
            seed, width, height = edit[name]
            drawn = random.Random(seed).randbytes(3 * width * height)
            pictures[name] = Image.frombytes("RGB", (width, height), drawn)
        request = JudgeRequest(
            user="", pictures={"source": pictures["reference"], **pictures}, form="measured", sample_id=edit["id"]
        )
        (reply,) = PictureMetrics(PictureMetrics.Parameters(bicubic=True)).judge([request])
        of.append(judged(asking, shown, {"numbers": reply}))
    for name, number in edit_set["numbers"].items():
        our_number = ours(asking, name, of)
        assert (
            our_number == number
            if isinstance(number, str)
            else our_number == pytest.approx(number, abs=DIGITS["magicbrush"])
        )


@pytest.mark.one_in(25)
@pytest.mark.parametrize("row", rows("structeditbench")["pictures"], ids=lambda row: "{}x{}".format(*row))
def test_structeditbench_shows_a_picture_as_the_authors_do(row: list[int]) -> None:
    """Scaled to which size and cut where is theirs; each pixel is held."""
    width, height, scaled_width, scaled_height, *box = row
    picture = Image.frombytes("RGB", (width, height), random.Random(width).randbytes(3 * width * height))
    scaled = picture.resize((scaled_width, scaled_height), Image.Resampling.LANCZOS)
    expected = scaled.crop((box[0], box[1], box[2], box[3]))
    shown = with_steps(picture, COVERED)
    assert (shown.size, shown.tobytes()) == (expected.size, expected.tobytes())


@pytest.mark.parametrize(
    ("protocol", "side", "quality"), [("wiseedit", 512, 90), ("risebench", 768, 75), ("unireditbench", 768, 75)]
)
def test_a_thumbnail_as_jpeg_is_what_these_authors_show(protocol: str, side: int, quality: int, tmp_path: Path) -> None:
    """As held on 54 pictures each against `encode_image_to_base64` of the certificates' commits, on 2026-11-28."""
    asking = official(PROTOCOLS[protocol], tmp_path)
    asks = ["following"] if protocol == "wiseedit" else ["consistency"]
    about = sample("a", "Awareness", facts={"asks": asks, "hint": "", "reference": "So."})
    steps = {view.steps for question in asking.questions(about) for view in question.shows}
    assert len(steps) == 1
    for width, height in ((900, 620), (300, 1000), (200, 100)):
        picture = Image.frombytes("RGB", (width, height), random.Random(width).randbytes(3 * width * height))
        small, buffer = picture.copy(), io.BytesIO()
        small.thumbnail((side, side))
        small.save(buffer, "JPEG", quality=quality)
        shown = with_steps(picture, *steps)
        assert shown.tobytes() == Image.open(buffer).tobytes()


@pytest.mark.parametrize("protocol", CERTIFICATES)
def test_a_certificate_says_what_its_rows_are(protocol: str) -> None:
    certificate, document = CERTIFICATES[protocol], rows(protocol)
    assert (certificate.repository, certificate.commit, certificate.on) == (
        document["repository"],
        document["commit"],
        document["on"],
    )
    numbers = [name for of in document["sets"] for name in of["numbers"] if not name.startswith("guessed ")]
    assert (certificate.sets, certificate.numbers) == (len(document["sets"]), len(numbers))


def test_the_list_says_what_is_certified_and_imports_nothing_for_it() -> None:
    """All but one of ours have one; it is read from the source."""
    assert len(CERTIFICATES) == 14
    listed = {
        component.name: dict(component.certificate)
        for component in list_components("protocol")
        if ".published." in component.class_path and component.certificate  # others have no number of authors
    }
    stated = {name: {**vars(certificate)} for name, certificate in CERTIFICATES.items()}
    nothing = {"beside": "", "without": ()}
    assert {name: nothing | certificate for name, certificate in listed.items()} == stated


def shown_by(protocol: str, folder: Path, *, words: str) -> Any:
    """The protocol asked in the authors' words or in ours; one that only measures is asked in none."""
    if protocol == "magicbrush":
        measure = {"lowest": 0.0, "highest": 1.0, "higher_is_better": False, "needs": ["edit"]}
        return MagicBrushScores(Numbers.Parameters(measures=dict.fromkeys([*MAGICBRUSH, "l1"], measure)))
    if words == "official":
        return theirs(PAIRS[protocol], folder) if protocol in PAIRS else official(PROTOCOLS[protocol], folder)
    cls: Any = {**PROTOCOLS, **PAIRS}[protocol]
    parameters = cls.Parameters()
    return cls(parameters, json.loads(json.dumps(cls.texts(parameters))))


def test_every_published_benchmark_is_judged_by_a_protocol_with_a_certificate() -> None:
    benchmarks = [component for component in PUBLISHED if component.kind == "benchmark"]
    assert len(benchmarks) == 14
    for component in benchmarks:
        protocol = import_class("benchmark", component.class_path).protocol
        assert (protocol in CERTIFICATES) == (protocol not in NOT_CERTIFIED), component.name


@pytest.mark.parametrize("protocol", CERTIFICATES)
def test_a_certificate_covers_no_number_that_its_rows_lack(protocol: str, tmp_path: Path) -> None:
    there = {name.removeprefix("guessed ") for edit_set in rows(protocol)["sets"] for name in edit_set["numbers"]}
    for name in getattr(shown_by(protocol, tmp_path, words="official"), "published", {}):
        assert (name in there) == (name not in CERTIFICATES[protocol].without), name


@pytest.mark.parametrize("words", ["official", "ours"])
@pytest.mark.parametrize("protocol", [name for name in CERTIFICATES if name not in PAIRS])
def test_every_number_that_a_report_shows_is_certified_or_renamed(protocol: str, words: str, tmp_path: Path) -> None:
    asking = shown_by(protocol, tmp_path, words=words)
    numbers_of = {name: SimpleNamespace(value=1.0) for name in asking.published}
    whose = {"edit_model": "mine", "judge": "judge", "certificate": certificate_of(asking)}
    document: Any = SimpleNamespace(results=[SimpleNamespace(**whose, published=numbers_of)])
    *numbers, last = published_lines(document)
    assert len(numbers) == len(asking.published) > 0
    in_theirs = words == "official" or protocol == "magicbrush"
    for name, line in zip(asking.published, numbers, strict=True):
        certified = in_theirs and name not in CERTIFICATES[protocol].without
        assert line.startswith("As the authors define it: " if certified else "By the authors' formula: "), line
    assert (CERTIFICATES[protocol].commit[:7] if in_theirs else "`prompts: official`") in last
    for title, those in published(document).items():
        assert {name for _, _, name, _ in those} == {
            name for name, line in zip(asking.published, numbers, strict=True) if line.startswith(f"{title}: ")
        }


@pytest.mark.parametrize("asked", [*PAIRS, "pairwise"])
@pytest.mark.parametrize("words", ["official", "ours"])
def test_points_are_an_arenas_only_by_its_protocol_in_its_words(asked: str, words: str, tmp_path: Path) -> None:
    judges = certificate_of(shown_by(asked, tmp_path, words=words)) if asked in PAIRS else None
    for arena in PAIRS:
        certified = is_certified(certificate_of_points(arena, asked, judges), arena)
        assert certified == (arena == asked and words == "official")


def test_edits_in_a_size_of_their_own_are_shown_as_gedit_does_not_show_them(tmp_path: Path) -> None:
    of = certificate_of(official(VIEScore, tmp_path, edit_size="own"))
    assert not of["certified"]
    assert "edit_size: own" in of["why"]


def test_a_number_is_the_authors_only_in_their_words(tmp_path: Path) -> None:
    asking = official(KrisScores, tmp_path)
    assert certificate_of(asking)["certified"]
    parameters = KrisScores.Parameters()
    of = certificate_of(KrisScores(parameters, KrisScores.texts(parameters)))
    assert not of["certified"]
    assert "prompts: official" in of["why"]
    mine = official(type("Mine", (KrisScores,), {}), tmp_path)
    assert mine.is_official
    assert not certificate_of(mine)["certified"], "another class asks or reads in another way"


@pytest.mark.skipif("EDIT_EVAL_AUTHORS" not in os.environ, reason="the authors' files are not here")
@pytest.mark.parametrize("protocol", CERTIFICATES)
def test_the_rows_are_what_their_scripts_give(protocol: str) -> None:
    """In a process of its own, as their scripts change what a process is."""
    code = f"import json, scripts; print(json.dumps(scripts.rows_of({protocol!r})))"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROWS.parent, capture_output=True, check=True, text=True)
    again, there = json.loads(made.stdout), rows(protocol)
    assert {**again, "sets": []} == {**{name: value for name, value in there.items() if name != "on"}, "sets": []}
    for fresh, frozen in zip(again["sets"], there["sets"], strict=True):
        assert {**fresh, "numbers": {}} == {**frozen, "numbers": {}}
        assert fresh["numbers"].keys() == frozen["numbers"].keys()
        for name, number in frozen["numbers"].items():  # other versions of numpy and scipy differ in the last digits
            exact = isinstance(number, str) or isinstance(fresh["numbers"][name], str)
            assert fresh["numbers"][name] == (number if exact else pytest.approx(number, rel=1e-9, abs=1e-9)), name
