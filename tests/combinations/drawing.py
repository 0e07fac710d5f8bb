"""What an evaluation can be made of, drawn at random: a draw is a number and a value for each feature.

A feature has a value at which it is off, so that a draw that found something is shrunk by switching features off, one
at a time. What the configuration refuses to put together is a table with reasons, `REFUSALS`; every other pair of
features has to be drawn.
"""

from __future__ import annotations

import csv
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from combinations import paid, planted

Draw = dict[str, Any]
"""The number of the draw (`salt`), how many rows its table has (`rows`), and a value for each feature."""


class Feature(NamedTuple):
    """Something that an evaluation may have."""

    off: Any
    values: tuple[Any, ...]
    """What it may be drawn to be besides."""
    share: float = 0.25
    """Of the draws that have it."""
    needs: Callable[[Draw], bool] = lambda draw: True
    """Whether it does anything beside the others; else it is off."""


def scores(draw: Draw) -> bool:
    """Whether a judge scores single edits in words, critics apart."""
    return any(draw[name] for name in ("scorer", "second", "third", "followed"))


def columns(draw: Draw) -> int:
    """How many columns of edits there are."""
    return (draw["models"] + draw["folder"]) * (1 + draw["rewrite"]) * draw["rounds"]


MOST_COLUMNS = 6
"""More say nothing new, and every two are compared by every judge."""


def measures(draw: Draw) -> bool:
    return bool(draw["measure"] or draw["drift"] or draw["start"])


def reports(draw: Draw) -> bool:
    return scores(draw) or measures(draw) or bool(draw["recorded"])


def can_be_gated(draw: Draw) -> bool:
    """Whether two of its edit models can be held against each other, each told what the sample says."""
    told = draw["rounds"] > 1 or draw["rewrite"]
    return draw["models"] > 1 and not told and bool(scores(draw) or measures(draw))


FEATURES: dict[str, Feature] = {
    # the table
    "broken": Feature(0, (1, 2)),
    "shared": Feature(0, (1, 2)),
    "categories": Feature(1, (2, 3), 0.5),
    "turns": Feature(0, (1, 2), 0.2),
    "language": Feature("en", ("zh",), 0.15),
    # filters
    "only": Feature(0, (1,), 0.25, lambda d: d["categories"] > 1),
    "limit": Feature(0, (2, 3), 0.2),
    "difficulty": Feature(0, (1,), 0.15),
    "tags": Feature(0, (1,), 0.15),
    "ids": Feature(0, (1,), 0.15),
    # edit models
    "models": Feature(1, (2, 3, 4), 0.6),
    "folder": Feature(0, (1,), 0.2),
    "seed": Feature(0, (7,), 0.15),
    "edit_failed": Feature(0.0, (0.1, 0.3), 0.3),
    "edit_refused": Feature(0.0, (0.1, 0.2), 0.2),
    # judges that score
    "scorer": Feature(1, (0,), 0.3),
    "blind": Feature(0, (1,), 0.15, lambda d: d["scorer"]),
    "second": Feature(0, (1,), 0.35),
    "third": Feature(0, (1,), 0.25, lambda d: d["second"]),
    "followed": Feature(0, (1,), 0.25),
    "recorded": Feature(0, (1,), 0.2),
    "unparseable": Feature(0.0, (0.1, 0.25), 0.3, scores),
    "refused": Feature(0.0, (0.1,), 0.2, scores),
    "judge_error": Feature(0.0, (0.1,), 0.2, scores),
    "cut_off": Feature(0.0, (0.1,), 0.2, scores),
    "out_of_range": Feature(0.0, (0.1,), 0.2, scores),
    "hesitating": Feature(0.0, (0.3,), 0.7, lambda d: d["followed"]),
    "retries": Feature(2, (0, 1), 0.2, lambda d: scores(d) or d["arena"]),
    # judges that measure, and that compare
    "measure": Feature(0, (1,), 0.2),
    "drift": Feature(0, (1,), 0.25),
    "start": Feature(0, (1,), 0.2),
    "undefined": Feature(0.0, (0.2,), 0.5, measures),
    "arena": Feature("", ("all", "all", "cycles", "extended"), 0.5, lambda d: columns(d) > 1),
    "garbled": Feature(0.0, (0.05, 0.2), 0.5, lambda d: d["arena"]),
    # rounds and rewriting
    "rounds": Feature(1, (2, 3), 0.35),
    "stop": Feature(0.0, (5.5, 6.5), 0.6, lambda d: d["rounds"] > 1),
    "last": Feature(0, (1,), 0.5, lambda d: d["rounds"] > 1),
    "rewrite": Feature(0, (1,), 0.25),
    # how often
    "edit_seeds": Feature(1, (2, 3), 0.4),
    "repeats": Feature(1, (2,), 0.25),
    "readings": Feature(1, (2,), 0.25),
    "controls": Feature(0, (2,), 0.25),
    "min_coverage": Feature(1.0, (0.7, 0.0), 0.4),
    # how it runs
    "batch": Feature(1, (3,), 0.2),
    "order": Feature("by_stage", ("by_category",), 0.2),
    "schedule": Feature("pull", ("round_robin", "batch_sync"), 0.2),
    "devices": Feature(1, (2,), 0.2),
    "pilot": Feature(0, (1,), 0.2),
    "together": Feature(0, (1,), 0.15),
    "swap": Feature(0, (1,), 0.15),
    "page": Feature(0, (1,), 0.05),
    "gate": Feature(0, (1,), 0.15, can_be_gated),
    "way": Feature("once", ("kill", "interrupt", "shards", "retry", "reuse", "added", "damage"), 0.5),
    # drawn last, as it came last: all else is as it was
    "paid": Feature(0, (1,), 0.2),
    "as_many": Feature(0, (1,), 0.6, lambda d: d["controls"]),
    "capped": Feature(0, (1, 3, 6), 0.6, lambda d: d["paid"]),
    "voted": Feature(0, (1,), 0.2, lambda d: columns(d) > 1),
    "container": Feature("csv", ("tsv", "semicolons", "json", "jsonl", "parquet"), 0.4),
    "column": Feature(0, (1,), 0.5, lambda d: d["folder"]),
    "twins": Feature(0, (1,), 0.3, lambda d: d["models"] > 1 and not d["paid"]),
    "one_judge": Feature(0, (1,), 0.4, lambda d: d["third"]),
    "doubled": Feature(0, (1,), 0.2, lambda d: not (d["folder"] or d["paid"])),
    # in a batch it may be asked once more for the others' sake, and a gate has runs of its own
    "restless": Feature(0, (1,), 0.5, lambda d: d["scorer"] and d["batch"] == 1 and not d["gate"]),
    "masked": Feature(0, (1,), 0.2, lambda d: d["models"] - d["paid"] > 0),
    "batched": Feature(0, (1,), 0.3, lambda d: any(d[name] for name in ("scorer", "followed")) and d["batch"] == 1),
}


def model_of(draw: Draw, name: str) -> str:
    """What an edit model, or a judge, is: `m1` may do what `m0` does, and `third` be the judge `second`."""
    same = {"m1": ("m0", draw["twins"]), "third": ("second", draw["one_judge"])}
    other, is_same = same.get(name, (name, 0))
    return other if is_same else name


def takes_mask(draw: Draw, name: str) -> bool:
    """Whether an edit model is given the masks of samples: those that are planted, but one."""
    return bool(draw["masked"]) and name[0] == "m" and name != "m2" and not (draw["paid"] and name == PAID)


SWITCHED = ("arena", "way", "schedule")
"""Features whose values are features of their own, so far as pairs are counted."""


class Refusal(NamedTuple):
    """What the configuration refuses."""

    features: Draw
    """The values that are refused together."""
    reason: str
    """Why that is right."""
    words: str
    """Part of the message."""


REFUSALS = (
    Refusal(
        {"turns": 1, "rounds": 2},
        "a turn is made from the edit before it, and so is a round: which of the two a critique is about is not said",
        "such a sample cannot have `rounds`",
    ),
    Refusal(
        {"turns": 1, "rewrite": 1},
        "a rewriter sees a source, and the source of a later turn is an edit",
        "such a sample cannot have `rewrite`",
    ),
    Refusal(
        {"arena": "all", "models": 1, "scorer": 1}, "one edit has nothing to meet", "compares the edits of two models"
    ),
    Refusal(
        {"arena": "extended", "models": 3},
        "two or three edit models have all met after one round",
        "`extended` takes 4 edit models or more",
    ),
    Refusal(
        {"rounds": 2, "scorer": 0, "models": 1}, "a critic would report on what it said itself", "add another judge"
    ),
    Refusal(
        {"rewrite": 1, "scorer": 0, "models": 1}, "who rewrites has no score, and nobody else is there", "only judge"
    ),
)


def legal(draw: Draw) -> Draw:
    """The draw without what the configuration refuses, and without what would do nothing."""
    draw = dict(draw)
    if draw["turns"]:
        draw |= {"rounds": 1, "rewrite": 0}
    while columns(draw) > MOST_COLUMNS:
        name = max(("models", "rounds", "folder"), key=lambda name: draw[name])
        draw[name] -= 1
    for _ in range(2):  # what is switched off here may have been what another needed
        for name, feature in FEATURES.items():
            if draw[name] != feature.off and not feature.needs(draw):
                draw[name] = feature.off
        if draw["arena"] == "extended" and columns(draw) < 4:
            draw["arena"] = "all"
        if not reports(draw) and not draw["arena"]:
            draw["scorer"] = 1
    draw["broken"] = min(draw["broken"], draw["rows"] - 3)
    return draw


def off(rows: int = 6, salt: int = 0) -> Draw:
    """The plainest evaluation: an edit model and a judge."""
    return {"salt": salt, "rows": rows, **{name: feature.off for name, feature in FEATURES.items()}}


def drawn(salt: int, *, times: float = 1.0) -> Draw:
    """The draw with that number; with so many `times` as many features."""
    pick = random.Random(salt)
    draw = off(pick.randint(4, 9), salt)
    for name, feature in FEATURES.items():
        if pick.random() < feature.share * times:
            draw[name] = pick.choice(feature.values)
    return legal(draw)


def features(draw: Draw) -> list[str]:
    """Those that are on; of some also which."""
    on = [name for name, feature in FEATURES.items() if draw[name] != feature.off]
    return [f"{name}={draw[name]}" if name in SWITCHED else name for name in on]


# -- pairs --

EVERY = tuple(
    itertools.chain.from_iterable(
        [f"{name}={value}" for value in dict.fromkeys(feature.values)] if name in SWITCHED else [name]
        for name, feature in FEATURES.items()
    )
)


def _together(pair: tuple[str, str]) -> Draw | None:
    """A draw that has both features, or None where there is none."""
    pick = random.Random(repr(pair))
    for _ in range(400):
        draw = drawn(pick.getrandbits(40))
        for wanted in pair:
            name, _, value = wanted.partition("=")
            draw[name] = value or pick.choice(FEATURES[name].values)
        if {*pair} <= {*features(draw := legal(draw))}:
            return draw
    return None


def legal_pairs() -> dict[tuple[str, str], Draw]:
    """Every two features that may stand together, with a draw that has both."""
    draws = {}
    for first, second in itertools.combinations(EVERY, 2):
        if first.split("=")[0] != second.split("=")[0] and (draw := _together((first, second))):
            draws[first, second] = draw
    return draws


def pairs_of(draw: Draw) -> set[tuple[str, str]]:
    on = sorted(features(draw), key=EVERY.index)
    return set(itertools.combinations(on, 2))


RICHER = 2.2


def cost(draw: Draw) -> float:
    """About how long the readers of a draw take; half of it is the same for all."""
    return 8 + columns(draw) * len(judges(draw)) * (2 if draw["way"] == "once" else 3) / 2 + 20 * draw["page"]


def covering(count: int, first: int, worth: Callable[[Draw], object], *, among: int = 200) -> list[Draw]:
    """So many draws with as many pairs as can be, each the one of many with the most new ones for its cost, of those
    that are `worth` it."""
    seen: set[tuple[str, str]] = set()
    draws = []
    for place in range(count):
        candidates = [drawn(first + place * among + step, times=RICHER) for step in range(among)]
        best = max(filter(worth, candidates), key=lambda draw: len(pairs_of(draw) - seen) / cost(draw))
        seen |= pairs_of(best)
        draws.append(best)
    return draws


# -- shrinking --


def shrunk(draw: Draw, fails: Callable[[Draw], bool]) -> Draw:
    """The draw with as few features, and as few rows, as still fail."""
    simpler = True
    while simpler:
        simpler = False
        for name in [*reversed(FEATURES), "rows"]:
            least = 4 if name == "rows" else FEATURES[name].off
            if draw[name] == least:
                continue
            less = legal({**draw, name: draw["rows"] - 1 if name == "rows" else least})
            if less != draw and len(features(less)) <= len(features(draw)) and fails(less):
                draw, simpler = less, True
    return draw


def told(draw: Draw) -> str:
    """The draw in so many words as it takes to make it again: `salt=7 rows=5 rounds=2`."""
    plain = off(draw["rows"], draw["salt"])
    return " ".join(
        f"{name}={value}" for name, value in draw.items() if name in ("salt", "rows") or value != plain[name]
    )


def read(words: Iterable[str]) -> Draw:
    """A draw from such words, or from its number alone."""
    given = dict(word.split("=") if "=" in word else ("salt", word) for word in words)
    if given.keys() == {"salt"}:
        return drawn(int(given["salt"]))
    kinds = {name: type(value) for name, value in off().items()}
    return off() | {name: kinds[name](value) for name, value in given.items()}


# -- what the draw comes to --


class Row(NamedTuple):
    """A sample of the table."""

    id: str
    picture: str
    category: str
    difficulty: str
    tag: str
    follows: str
    of: str = ""
    """The sample whose picture and instruction it has, too: all edits of both look alike."""


BROKEN = "broken.png"


def table(draw: Draw) -> list[Row]:
    """The rows of a draw's table."""
    pick, count = random.Random(draw["salt"]), draw["rows"]
    rows = []
    for place in range(count):
        twin = place % 2 and place // 2 < draw["shared"]  # two instructions on one picture
        labels = f"c{place % draw['categories']}", ("easy", "hard")[place % 3 == 1], ("warm", "cold")[place % 4 == 2]
        rows.append(Row(f"s{place}", f"p{place - bool(twin)}.png", *labels, ""))
    bad = {row.id for row in pick.sample(rows, draw["broken"])}
    rows = [row._replace(picture=BROKEN) if row.id in bad else row for row in rows]
    if draw["doubled"]:
        first, place = rows[0], count - 1 - IDS_LEFT_OUT
        rows[place] = first._replace(id=f"s{place}", difficulty=rows[place].difficulty, of=first.id)
    for place in range(draw["turns"]):
        for turn in (1, 2):
            before = f"s{place}" + (f"t{turn - 1}" if turn > 1 else "")
            labels = f"c{(place + turn) % draw['categories']}", ("easy", "hard")[turn % 2], "warm"
            rows.append(Row(f"s{place}t{turn}", "", *labels, before))
    return rows


IDS_LEFT_OUT = 1
"""`sample_ids` names all but the last of the plain rows."""


def judges(draw: Draw) -> dict[str, dict[str, float]]:
    """For each judge that is asked about edits, what its answers may come to."""
    words = {name: draw[name] for name in ("unparseable", "refused", "judge_error", "cut_off", "out_of_range")}
    by_judge = {"scorer": words | ({"restless": 1} if draw["restless"] else {})} if draw["scorer"] else {}
    by_judge |= {"second": {"unparseable": words["unparseable"] / 2}} if draw["second"] else {}
    third = by_judge.get("second", {}) if draw["one_judge"] else {"refused": words["refused"]}
    by_judge |= {"third": third} if draw["third"] else {}
    by_judge |= {"followed": {**words, "hesitating": draw["hesitating"]}} if draw["followed"] else {}
    by_judge |= {"recorded": {"judge_error": 0.1, "cut_off": words["cut_off"]}} if draw["recorded"] else {}
    by_judge |= {name: {"undefined": draw["undefined"]} for name in ("measure", "drift", "start") if draw[name]}
    by_judge |= {"arena": {"garbled": draw["garbled"]}} if draw["arena"] else {}
    return by_judge | ({"critic": {"unparseable": words["unparseable"] / 2}} if draw["rounds"] > 1 else {})


def column_names(draw: Draw) -> list[str]:
    """The columns of edits, in the order of the configuration."""
    models = [*(f"m{place}" for place in range(draw["models"])), *(["folder"] if draw["folder"] else [])]
    return [
        f"{model}{rewriter}{turn}"
        for model in models
        for rewriter in ("", *(["+rw"] if draw["rewrite"] else []))
        for turn in ("", *(f"@{number}" for number in range(2, draw["rounds"] + 1)))
    ]


def configuration(draw: Draw, folder: Path) -> dict[str, Any]:
    """The configuration of a draw, whose files are in the folder."""
    here, where = Path(planted.__file__), {"device_ids": f"cpu:{draw['devices']}"}
    own = {"salt": draw["salt"], "folder": str(folder)}

    def model(kind: str, name: str, bad: Mapping[str, float], **more: Any) -> dict[str, Any]:
        what = {"name": model_of(draw, name), "bad": dict(bad), "column": name if kind == "Editor" else ""}
        what |= {"masks": True} if kind == "Editor" and takes_mask(draw, name) else {}
        return {"class_path": f"{here}:{kind}", "params": {**what, **own, **where, **more}}

    protocols: dict[str, dict[str, Any]] = {
        "followed": {"class_path": f"{here.with_name('followed.py')}:Followed"},
        "arena": {"type": "pairwise", "pairs": draw["arena"] or "all"}
        | ({"rounds": 2} if draw["arena"] == "extended" else {}),
        "critic": {"answer": "reason_then_score"},
        "drift": {"type": "numbers", "against": "last"},
        "start": {"type": "numbers", "against": "first"},
    }
    asked: dict[str, Any] = {}
    for name, bad in judges(draw).items():
        if name == "recorded":
            asked[name] = {
                "type": "recorded",
                "params": {"path": str(folder / "recorded.jsonl"), "device_ids": "cpu:1"},
            }
        else:
            measures = name in ("measure", "drift", "start")
            kind = "BatchedJudge" if draw["batched"] and name in BATCHED else "Measure" if measures else "Judge"
            asked[name] = model(kind, name, bad, batch_size=draw["batch"])
        if name in protocols:
            asked[name]["protocol"] = protocols[name]
        if name not in ("measure", "drift", "start", "recorded") and draw["retries"] != FEATURES["retries"].off:
            asked[name].setdefault("protocol", {})["retries"] = draw["retries"]
    fates = {"edit_failed": draw["edit_failed"], "edit_refused": draw["edit_refused"], "storm": STORM}
    edits = {f"m{place}": model("Editor", f"m{place}", fates, seed=draw["seed"]) for place in range(draw["models"])}
    if draw["paid"]:
        there = {"model": f"gemini/{PAID}", "base_url": paid.address(folder), "edit_price": PRICE}
        edits[PAID] = {"type": "api", "params": {**there, **where, "seed": draw["seed"]}}
    if draw["blind"]:
        asked["scorer"].setdefault("protocol", {})["images"] = ["edited"]
    if draw["folder"]:
        there = (
            {"table": str(folder / "edits.csv"), "column": "made"}
            if draw["column"]
            else {"folder": str(folder / "edits")}
        )
        kind = "table_column" if draw["column"] else "image_folder"
        edits["folder"] = {"type": kind, "params": {**there, "device_ids": "cpu:1"}}
    filters = {
        "categories": ["c1"] if draw["only"] else [],
        "limit": draw["limit"] or None,
        "difficulty": ["easy"] if draw["difficulty"] else [],
        "tags": ["warm"] if draw["tags"] else [],
        "sample_ids": [row.id for row in table(draw)][:-IDS_LEFT_OUT] if draw["ids"] else [],
    }
    benchmark = {
        "type": "table",
        "data_path": str(folder / container(draw)),
        "on_bad_sample": "skip",
        "language": draw["language"],
    }
    whole: dict[str, Any] = {
        "benchmark": benchmark | filters | {"cache_dir": str(folder / "cache")},
        "edit_models": edits,
        "judges": asked,
        "evaluation": {name: draw[name] for name in ("edit_seeds", "repeats", "readings", "min_coverage")}
        | {"controls": "auto" if draw["as_many"] else draw["controls"]},
        "execution": {name: draw[name] for name in ("order", "schedule")}
        | {"start": "together" if draw["together"] else "asap", "placement": "swap" if draw["swap"] else "auto"}
        | {"pilot": bool(draw["pilot"]), "progress": "none"},
    }
    if draw["rewrite"]:
        whole["rewrite"] = {"rw": model("Judge", "rw", {})}
    if draw["rounds"] > 1:
        whole["rounds"] = {"critic": "critic", "max": draw["rounds"], "from": "last" if draw["last"] else "source"}
        whole["rounds"] |= {"stop": draw["stop"]} if draw["stop"] else {}
    return whole


BATCHED = ("scorer", "followed", "critic")
"""Judges that may be asked in batches."""
PAID, PRICE = "m0", 0.04
"""The edit model that may be a paid one, and what a request for an edit costs there, in US dollars."""
CAPPED = "spent-at-most.json"
"""What was asked of the paid model by the end of each start that might not spend more."""
STORM = 0.4
"""The share of edits that fail while a storm lasts (`--retry` makes them afterwards)."""


def container(draw: Draw) -> str:
    """The name of the file with the samples."""
    return "table." + {"semicolons": "csv"}.get(draw["container"], draw["container"])


def fill(path: Path, rows: list[dict[str, str]], form: str) -> None:
    """Writes a table in one of the forms."""
    if form == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif form == "json":
        path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            delimiter = {"tsv": "\t", "semicolons": ";"}.get(form, ",")
            lines = csv.DictWriter(file, rows[0], delimiter=delimiter)
            lines.writeheader()
            lines.writerows(rows)


def written(draw: Draw, folder: Path) -> Path:
    """Writes all that a draw's evaluation reads; the path of its configuration."""
    from PIL import Image

    folder.mkdir(parents=True)
    rows = table(draw)
    for place in range(draw["rows"]):
        size = (64, 16) if draw["masked"] else (40, 30)  # the shape of an edit, which a mask fits, too
        Image.new("RGB", size, (10 + place, 90, 7 * place)).save(folder / f"p{place}.png")
    (folder / BROKEN).write_bytes(b"no picture")
    (folder / "edits").mkdir()
    for row in rows:
        if planted.in_folder(draw["salt"], row.id):
            plain = Image.new("RGB", (planted.WIDTH, planted.HEIGHT))
            planted.written(plain, planted.child("folder", row.id, 0, "", 1, "")).save(
                folder / "edits" / f"{row.id}.png"
            )
    samples = [
        {
            "id": row.id,
            "source": row.picture,
            "instruction": f"change {row.of or row.id}",
            "category": row.category,
            "difficulty": row.difficulty,
            "tags": row.tag,
            **({"follows": row.follows} if draw["turns"] else {}),
            **({"mask": mask_file(draw, row)} if draw["masked"] else {}),
        }
        for row in rows
    ]
    for row in rows if draw["masked"] else ():
        if name := mask_file(draw, row):
            mask = Image.new("L", (32, 8))
            mask.paste(255, (32 * planted.mask_of(draw["salt"], row.of or row.id) // 8, 0, 32, 8))
            mask.save(folder / name)
    fill(folder / container(draw), samples, draw["container"])
    made = [(row.id, f"edits/{row.id}.png") for row in reversed(rows)]  # which row stands where decides nothing
    there = [{"id": name, "made": edit if (folder / edit).exists() else ""} for name, edit in made]
    fill(folder / "edits.csv", there, "csv")
    (folder / "asked.jsonl").touch()
    fates = {"edit_failed": draw["edit_failed"], "edit_refused": draw["edit_refused"], "storm": STORM}
    own = {"salt": draw["salt"], "folder": str(folder), "bad": fates}
    (folder / "paid.json").write_text(json.dumps(own), "utf-8")
    path = folder / "config.yaml"
    path.write_text(json.dumps(configuration(draw, folder), indent=1), "utf-8")
    return path


def mask_file(draw: Draw, row: Row) -> str:
    """The name of a sample's mask; empty if it has none."""
    sample = row.of or row.id
    return f"mask-{sample}.png" if planted.mask_of(draw["salt"], sample) else ""


def paid_requests(folder: Path) -> int:
    """How often the paid model was asked so far."""
    lines = (folder / "asked.jsonl").read_text("utf-8").splitlines()
    return sum(json.loads(line)[:2] == ["edit", PAID] for line in lines)


def counted(counts: Counter[Any]) -> dict[Any, int]:
    """A count without zeros, in a fixed order."""
    return {name: count for name, count in sorted(counts.items()) if count}
