"""Cases about what is believed: judges, protocols, gates, people, audits, servers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from image_server import ImageServer, refused
from judge_server import Asked, JudgeServer, Reply
from photographs import name, opinion
from proof import doors
from proof.cases_of_runs import QUIET
from proof.classes import COMPARES, KILLS, OWN
from proof.inputs import answers, config, model, of_photographs, photographs, table, write, write_rows
from proof.recording import Apart, Case, Done, Records, Typed, read_page
from small_benchmark import sample_id

T, A, R, D = Typed, Apart, Records, Done
KEY = {"OPENAI_API_KEY": "sk-none"}

FORMS: dict[str, dict[str, Any]] = {
    "score": {},
    "reasons": {"answer": "reason_then_score"},
    "json": {"answer": "json"},
    "labels": {"answer": "labels", "rubric": "five_dimensions.v2"},
    "probabilities": {"answer": "probabilities"},
    "one_by_one": {"answer": "probabilities", "asked": "one_by_one", "rubric": "five_dimensions.v2"},
    "blind": {"images": ["edited"]},
    "viescore": {"type": "viescore"},
    "criteria": {"type": "criteria", "rubric": "rubric.yaml"},
}
RUBRIC = {
    "lowest": 1,
    "highest": 5,
    "opening": "Judge.",
    "quotation": "Quoted.",
    "answer": "From {lowest} to {highest}: [{form}]",
    "closing": "Go.",
    "ask_again": "Again: [{form}]",
    "tells": {"edit_instruction": "Asked:"},
    "untold": "(none)",
    "questions": {
        kind: {
            "shows": ["sources", "edit"],
            "tells": ["edit_instruction"],
            "criteria": {"a": {"title": "A", "asks": "Is it?"}, "b": {"title": "B", "asks": "Is it well?"}},
        }
        for kind in ("physical", "environmental", "social")
    },
}


def forms(folder: Path, stack: ExitStack) -> None:
    """One edit model, and a judge for each form in which it can be asked; one that measures."""
    write(folder, "rubric.yaml", RUBRIC)
    judges: dict[str, Any] = {
        judge: {**model(), "protocol": {"type": "rubric", **form}} for judge, form in FORMS.items()
    }
    judges["criteria"]["params"]["default_answer"] = "[3, 4]"
    judges["measured"] = model("picture_metrics")
    config(folder, count=3, judges=judges, evaluation={"controls": 1}, execution={"pilot": False})
    write(folder, "own.py", OWN)
    write(folder, "checklist.yaml", {
        "benchmark": {"class_path": "own:Squares"},
        "edit_models": {"copy": model("copy_source")},
        "judges": {"judge": model(default_answer="yes")},
        "protocol": {"type": "checklist"},
        "evaluation": {"controls": 0},
    })  # fmt: skip


def another_judge(folder: Path) -> None:
    """The same edits, a judge more, and the first one asked otherwise."""
    both = {
        "recorded": model("recorded", path="replies.csv"),
        "others": {**model("recorded", path="others.csv"), "protocol": {"retries": 0}},
    }
    write(folder, "two.yaml", of_photographs(judges=both, evaluation={"min_coverage": 0.5}))
    kept = [json.loads(line) for line in (folder / "run/report/replies.jsonl").read_text("utf-8").splitlines()]
    names = ("sample", "edit_model", "question", "repeat", "edit_seed", "reading", "text")
    write_rows(folder, "kept.jsonl", [{name: reply[name] for name in names} for reply in kept])
    again = {"kept": model("recorded", path="kept.jsonl")}
    write(folder, "again.yaml", of_photographs(judges=again, evaluation={"min_coverage": 0.5}))


def gate(folder: Path, stack: ExitStack) -> None:
    """Runs of one model each: as good, worse, worse by failing, judged otherwise, on other samples."""
    of = {"released": 0.0, "same": 0.0, "worse": -1.5, "failing": 0.3}
    for order, (run, better) in enumerate(of.items()):
        said = answers([run], 30, order)
        said = {edit: f"Score: {max(0.0, float(text[7:]) + better):.2f}" for edit, text in said.items()}
        fails = {"fail": [sample_id(n) for n in range(0, 8)]} if run == "failing" else {}
        config(
            folder,
            f"{run}.yaml",
            count=30,
            edit_models={run: model(steps=order + 1, **fails)},  # four rivals, not one of four names
            judges={"judge": model("recorded", path=f"{run}.csv")},
            execution={"pilot": False},
        )
        rows = [
            {"sample": edit.partition("/")[2], "edit_model": run, "question": "score", "text": text}
            for edit, text in said.items()
        ]
        write(folder, f"{run}.csv", table(rows))
    both = [*(folder / f"{run}.csv" for run in of)]
    lines = [line for file in both for line in file.read_text("utf-8").splitlines()[1:]]
    text = "sample,edit_model,question,text\n" + "".join(f"{line}\n" for line in lines)
    for run in of:
        write(folder, f"{run}.csv", text)  # all judges are one judge: the digest of its file is its key


def people(folder: Path, stack: ExitStack) -> None:
    """Three edit models, two judges, and people who rate and vote."""
    three = ("a", "b", "c")
    config(
        folder,
        count=18,
        edit_models={editor: model(steps=order + 1) for order, editor in enumerate(three)},
        judges={"sharp": model(answers=answers(three, 18, 3, 1.0)), "dull": model(answers=answers(three, 18, 4, 0.1))},
        execution={"pilot": False},
    )
    chance = random.Random(5)
    levels = answers(three, 18, 3, 1.0)
    rows = [
        {
            "sample_id": sample_id(number),
            "edit_model": editor,
            "rater": rater,
            "score": f"{min(10, max(0, float(levels[f'{editor}/{sample_id(number)}'][7:]) + chance.gauss(0, 1))):.0f}",
        }
        for rater in ("ann", "bo", "cy")
        for editor in three
        for number in range(12)
    ]
    write(folder, "people.csv", table(rows))
    write(folder, "short.csv", "sample_id,edit_model\nx,a\n")


def cast(folder: Path) -> None:
    """Votes: `ann` and `bo` look, `left` does not."""
    chance = random.Random(6)
    pairs = (("a", "b"), ("b", "c"), ("c", "a"))
    worth = {"a": 0.0, "b": 0.7, "c": 1.4}
    votes = []
    for rater in ("ann", "bo"):
        for left, right in pairs:
            for number in range(12):
                seen = worth[left] - worth[right] + chance.gauss(0, 1)
                choice = "both" if abs(seen) < 0.2 else "left" if seen > 0 else "right"
                votes.append(
                    {"sample": sample_id(number), "left": left, "right": right, "choice": choice, "rater": rater}
                )
    for number in range(14):
        left, right = pairs[number % 3]
        votes.append({"sample": sample_id(number), "left": left, "right": right, "choice": "left", "rater": "always"})
    doors.vote(folder / "run", votes)


def audited(folder: Path, stack: ExitStack) -> None:
    """A judge that sees, and one that does not."""
    for judge, section in {"sees": model("scene_judge"), "content": model(default_answer="Score: 7.000")}.items():
        write(folder, f"{judge}.yaml", {
            "benchmark": {"type": "scenes", "count": 5, "size": 128},
            "edit_models": {"editor": model("scene_editor")},
            "judges": {judge: section},
            "evaluation": {"controls": 1},
            "execution": {"pilot": False, "progress": "none"},
        })  # fmt: skip


def page(file: str) -> Callable[[Path], Any]:
    """The text of a page."""
    return lambda folder: read_page(folder / file, folder)


def servers(folder: Path, stack: ExitStack) -> None:
    """An edit model and a judge behind servers that stumble."""
    edits, judge = stack.enter_context(ImageServer()), stack.enter_context(JudgeServer())

    def rate(asked: Asked) -> Reply:
        number = int(asked.text.rpartition("turn it into ")[2].split()[0].strip(".\"'`"))
        if number == 3:
            return Reply("I cannot help with that.", finish_reason="content_filter")
        if number == 4:
            return Reply("Score:", finish_reason="length")
        return Reply(f"Score: {number}.250") if number != 5 else Reply.error(400, "no such thing")

    judge.answer, judge.usage = rate, (1000, 5)
    for server in (edits, judge):
        server._server.handle_error = lambda *of: None  # that a client hung up is no news
    edits.script += [Reply.error(429, retry_after=0.1), refused()]
    judge.script += [Reply(manner="half"), Reply.error(503, retry_after=0.1)]
    config(
        folder,
        count=7,
        edit_models={"served": model("image_endpoint", model="editor", base_url=edits.base_url, concurrency=1)},
        judges={
            "served": model("chat_endpoint", model="judge", base_url=judge.base_url, concurrency=1, price=[2.0, 10.0])
        },
        execution={"pilot": False},
        evaluation={"min_coverage": 0.4},
    )
    config(folder, "nobody.yaml", reward_model=model("chat_endpoint", model="judge", base_url="http://127.0.0.1:9/v1"))
    config(folder, "no_model.yaml", reward_model=model("chat_endpoint", model="zebra", base_url=judge.base_url))


def newcomer(folder: Path, stack: ExitStack) -> None:
    """Photographs, two folders of edits, and a judge's server."""
    photographs(folder, stack)
    server = stack.enter_context(JudgeServer(lambda asked: Reply(opinion(asked))))
    write(folder, "server.txt", server.base_url)
    (folder / "photos/instructions.csv").unlink()


def init(folder: Path) -> Any:
    """`init` with a server, whose address no line can name beforehand."""
    address = (folder / "server.txt").read_text()
    line = "init mine.yaml --pictures photos --instruction 'Make it blue' --edits edits_a --edits grey=edits_b"
    document = Typed(f"{line} --judge judge@{address} --devices cpu:1 --no-reasons", KEY).record(folder)
    made = folder / "mine.yaml"
    return {**document, "file": made.read_text("utf-8") if made.exists() else ""}


def battles(folder: Path, stack: ExitStack) -> None:
    """Three edit models, of which one ends the engine once and one fails once; a judge that compares, and another."""
    write(folder, "mine.py", KILLS)
    write(folder, "compares.py", COMPARES)
    models = {
        "mine": {"class_path": "mine:Ends", "params": {"device_ids": "cpu:1", "sample": sample_id(7)}},
        "fast": model(steps=2, fail=[sample_id(5)]),
        "slow": model(steps=5),
    }
    compares = {"class_path": "compares:Compares", "params": {"device_ids": "cpu:1", "batch_size": 2}}
    arena = {**compares, "protocol": {"type": "pairwise", "answer": "label"}}
    judges = {"arena": arena, "score": model(answers=answers([*models], 12, 1))}
    lenient: dict[str, Any] = {"evaluation": {"controls": 2, "min_coverage": 0.5}}
    config(folder, count=12, edit_models=models, judges=judges, execution={"pilot": False}, **lenient)
    order = {name: models[name] for name in ("slow", "mine", "fast")}
    fewer = {**arena, "protocol": {**arena["protocol"], "pairs": "cycles"}}
    config(folder, "alone.yaml", edit_models=order, judges={"arena": fewer}, **lenient)


OF_JUDGES: dict[str, Case] = {
    "battles": Case(
        "two edits in one question: a run that is killed and goes on; shards, other names' order, and no other judge",
        battles,
        [
            A(f"run config.yaml --run-dir run {QUIET}"),
            T(f"run config.yaml --run-dir run --shard 1/2 {QUIET}"),
            T(f"run config.yaml --run-dir run --shard 2/2 {QUIET}"),
            T(f"run config.yaml --run-dir run {QUIET}"),
            R("run", markdown=True),
            T("status run"),
            T(f"run alone.yaml --run-dir alone --reuse run {QUIET}"),
            R("alone", page=True),
        ],
    ),
    "forms": Case(
        "every form of an answer and every protocol, as ten judges of one run; one that measures",
        forms,
        [
            T(f"run config.yaml --run-dir run {QUIET}", words=False),
            R("run", summary=False, every=True),
            T(f"status run {sample_id(0)}"),
            T(f"run checklist.yaml --run-dir checked {QUIET}"),
            R("checked", markdown=True),
            T(f"run checklist.yaml --run-dir asked --set protocol.asked=together {QUIET}"),
            T("run checklist.yaml --run-dir none --set protocol.type=imgedit"),
        ],
    ),
    "replies": Case(
        "folders of finished edits and recorded replies; replies kept and judged again; another judge",
        photographs,
        [
            T("doctor config.yaml"),
            T("run config.yaml --run-dir run", sorted_lines=True),
            T("run config.yaml --run-dir run --set evaluation.min_coverage=0.5"),
            R("run", markdown=True, samples=True),
            D("another judge", another_judge),
            # A judge that is left with an edit that fails is loaded or not, whichever comes first.
            T("run two.yaml --run-dir two --reuse run", sorted_lines=True, by_chance="loaded: judge recorded on "),
            T(f"run again.yaml --run-dir again {QUIET}"),
            R("two"),
            R("again"),
            T("push run me/edits --dry-run"),
            T("agreement two --old recorded --new others"),
            T("agreement run again --json"),
            T("compare run again"),
            T("compare run two"),
        ],
    ),
    "gate": Case(
        "runs held against the first, with coverage and without",
        gate,
        [
            *(T(f"run {run}.yaml --run-dir {run} --json {QUIET}", words=False) for run in ("released", "same")),
            *(T(f"run {run}.yaml --run-dir {run} {QUIET}") for run in ("worse", "failing")),
            T("compare released same --fail-if-worse"),
            T("compare released same --fail-if-worse --margin 0.1"),
            T("compare released same --fail-if-worse --margin 2"),
            T("compare released worse --fail-if-worse"),
            T("compare released failing --fail-if-worse"),
            T("compare released failing --fail-if-worse --allow-unscored 0.5 --json"),
            T("compare released failing --fail-if-worse --allow-unscored 0.1"),
            T("compare released same worse failing"),
            T("compare released same worse failing --json"),
            T("compare released same --margin 1"),
            T("compare released same --fail-if-worse --score score"),
            T("compare released nowhere"),
            T(f"run released.yaml --run-dir fewer --limit 3 {QUIET}", words=False),
            T("compare released fewer"),
            T(f"run same.yaml --run-dir other --set protocol.answer=reason_then_score {QUIET}"),
            T("compare released other"),
        ],
    ),
    "people": Case(
        "people's scores and votes, beside judges and against them",
        people,
        [
            T(f"run config.yaml --run-dir run {QUIET}"),
            T("agreement run --people people.csv"),
            T("agreement run --people people.csv --json"),
            T("agreement run --people short.csv"),
            T("people run --people people.csv"),
            T("votes run"),
            D("votes", cast),
            T("votes run"),
            T("votes run --without bo --with always --json"),
            T("votes run --without nobody"),
            T("vote export run"),
            T("vote export run votes.csv --votes"),
            T("agreement run --people votes.csv"),
            T("report run"),
            R("run", page=True),
        ],
    ),
    "audit": Case(
        "two judges on trial, their passports, and a run that knows them",
        audited,
        [
            T("audit sees.yaml --scenes 1 --size 128 --seed 3 --run-dir trial --passports known"),
            R("trial", summary=False),
            D("page", page("trial/report/index.html")),
            T("report trial"),
            T("audit content.yaml --scenes 1 --size 128 --seed 3 --run-dir content --passports known --json"),
            T("audit sees.yaml --judge zebra"),
            T("run sees.yaml --run-dir run --passports known"),
            R("run", markdown=True),
            T("run sees.yaml --run-dir run --passports known --anchors"),
            T("compare run --passports known"),
        ],
    ),
    "servers": Case(
        "an edit model and a judge behind servers that stumble, refuse and break off; what they cost",
        servers,
        [
            T(f"run config.yaml --run-dir run {QUIET}", KEY),
            R("run", markdown=True),
            T("doctor config.yaml", KEY),
            T("status run"),
            T(f"run nobody.yaml --run-dir nobody {QUIET}", KEY),
            T("doctor no_model.yaml", KEY),
        ],
    ),
    "newcomer": Case(
        "somebody with photographs and edits: `init` to the first report",
        newcomer,
        [
            D("init", init),
            T("run mine.yaml --run-dir run", KEY, sorted_lines=True),
            R("run"),
            T(f"status run {name(5)}"),
            T("init"),
            T("init other.yaml --pictures photos"),
            T("init other.yaml --pictures edits_a --edits edits_b --judge testing"),
            T("init --from demo"),
            T("init --from demo"),
            T("init --from zebra"),
        ],
    ),
}
