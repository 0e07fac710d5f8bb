"""Edit models and judges with planted answers, and the pure functions that both they and the oracle ask.

An edit's picture carries its own story, a code in the pixels of its first row: edit model, sample, edit seed, rewriter,
round, and a digest of what it was made from. What a judge says follows from the codes that it is shown. So what must
come out of an evaluation can be computed by anybody who knows its draw, without keys, journals or an order of work.

Nothing of edit_eval is imported before a model has work: the oracle reads this file, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

WIDTH, HEIGHT = 32, 8
"""Of an edit. A code has three characters a pixel of the first row."""
STRIDE = 1_000_000
"""Between the seeds of a sample's edits (docs/records.md, `seed`)."""
GOOD_ENOUGH = 5.0
"""The answer to a first question from which a second one is asked."""
OF_A_CONTROL = 1.0
"""What every judge says of a picture that is no edit."""


# -- what is planted --


def share(*parts: object) -> float:
    """A number in [0, 1) that follows from the parts."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:13], 16) / 16**13


def child(model: str, sample: str, seed: int, rewriter: str, turn: int, made_from: str) -> str:
    """The code of an edit; `made_from` are the codes of the edits that its maker was shown and told of."""
    return f"{model}|{sample}|{seed}|{rewriter}|{turn}|{hashlib.sha256(made_from.encode()).hexdigest()[:8]}"


def fate(salt: int, code: str, bad: dict[str, float]) -> str:
    """What becomes of an edit: `ok`, `edit_failed`, `edit_refused`; `storm` is the share that fails while it lasts."""
    drawn = share(salt, "fate", code)
    for status in ("edit_failed", "edit_refused"):
        if drawn < bad.get(status, 0):
            return status
        drawn -= bad.get(status, 0)
    return "edit_failed" if share(salt, "storm", code) < bad.get("storm", 0) else "ok"


def rewritten(salt: int, sample: str) -> bool:
    """Whether the rewriter has anything to say about a sample."""
    return share(salt, "rewriter", sample) >= 0.15


def in_folder(salt: int, sample: str) -> bool:
    """Whether the folder of edits made elsewhere has one of a sample."""
    return share(salt, "folder", sample) >= 0.1


def mask_of(salt: int, sample: str) -> int:
    """Where a sample's mask begins, in eighths of the width, from 1 to 7; 0 for one that has none."""
    drawn = share(salt, "mask", sample)
    return 0 if drawn < 0.3 else 1 + int(7 * (drawn - 0.3) / 0.7)


def in_mask(begin: int) -> str:
    """What a mask adds to the codes that an edit was made from."""
    return f"#{begin}" if begin else ""


def quality(salt: int, code: str) -> float:
    """How good an edit is, 0.5 to 9.5: better where an instruction was rewritten, and from round to round."""
    model, _, _, rewriter, turn, _ = code.split("|")
    level = 3 + 3 * share(salt, model) + 0.6 * bool(rewriter) + 0.7 * int(turn) + 3 * share(salt, "quality", code) - 1.5
    return min(9.5, max(0.5, level))


def answer(
    salt: int, judge: str, code: str, repeat: int, reading: int, bad: dict[str, float], before: int = 0
) -> tuple[str, float]:
    """The status of a reading of an edit, and its score where that is `ok`: with `restless`, another one each time,
    where the same was asked so often `before`."""
    drawn = share(salt, judge, "status", code, repeat, reading)
    for status in ("unparseable", "refused", "judge_error", "cut_off", "out_of_range"):
        if drawn < bad.get(status, 0):
            return status, 0.0
        drawn -= bad.get(status, 0)
    noise = 2 * share(salt, judge, code, repeat, reading, *([before] if before and "restless" in bad else [])) - 1
    return "ok", round(min(10, max(0, quality(salt, code) + noise)), 3)


def hesitates(salt: int, judge: str, code: str, repeat: int, reading: int, bad: dict[str, float]) -> bool:
    """Whether a question has to be put twice before it is answered."""
    return share(salt, judge, "hesitates", code, repeat, reading) < bad.get("hesitating", 0)


def change(salt: int, judge: str, code: str, before: str, bad: dict[str, float]) -> float | None:
    """What is measured between an edit and what it is held against (empty: a source); None where nothing can be."""
    if code == before:
        return 0.0
    if share(salt, judge, "status", code, before) < bad.get("undefined", 0):
        return None
    return round(1 + 9 * share(salt, judge, code, before), 3)


def recorded(
    salt: int, column: str, sample: str, seed: int, repeat: int, reading: int, bad: dict[str, float]
) -> tuple[str, float]:
    """What was said elsewhere of an edit, as `answer`; it is found by address, whatever the picture shows."""
    return answer(salt, "recorded", f"{column}|{sample}|{seed}||1|", repeat, reading, bad)


def prefers(salt: int, judge: str, first: str, last: str, repeat: int, reading: int, bad: dict[str, float]) -> str:
    """Which of two edits is said to be the better one: `A`, the first, `B`, `C` for a tie; or a status."""
    if share(salt, judge, "status", first, last, repeat, reading) < bad.get("garbled", 0):
        return "unparseable"
    noise = 1.5 * share(salt, judge, first, last, repeat, reading) - 0.75
    gap = quality(salt, first) - quality(salt, last) + 0.5 + noise  # it leans to what it is shown first
    return "C" if abs(gap) < 0.4 else "A" if gap > 0 else "B"


# -- pictures with codes --


def written(picture: Any, code: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Any:
    """A picture of that size that carries the code."""
    data = code.encode().ljust(3 * WIDTH)
    made = picture.convert("RGB").resize(size)
    made.paste((200, 100, 50), (0, 0, *size))
    for place in range(0, 3 * WIDTH, 3):
        made.putpixel((place // 3, 0), tuple(data[place : place + 3]))
    return made


def code_in(picture: Any) -> str:
    """The code that a picture carries; empty for one that is no edit."""
    if picture.width < WIDTH:
        return ""
    data = b"".join(bytes(picture.convert("RGB").getpixel((x, 0))) for x in range(WIDTH))
    return data.decode("ascii", "ignore").strip() if b"|" in data else ""


# -- the models --


@dataclass
class Planted:
    """Parameters of an edit model, or of a judge."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    salt: int
    folder: str
    """Where `asked.jsonl` notes what is asked, and where a file `storm` makes more of it fail."""
    bad: dict[str, float]
    """Status -> the share of answers that end so."""
    column: str = ""
    """Where it stands in the configuration: two that are one model have a name, and what they do, in common."""
    masks: bool = False
    """Whether it edits in a mask."""

    def note(self, *what: object) -> None:
        """Writes down that it was asked."""
        with open(f"{self.folder}/asked.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


def times_asked(folder: str) -> Counter[tuple[str, str, int, int]]:
    """How often each judge was asked about an edit so far, by its name, the edit's code, repeat and reading."""
    with open(f"{folder}/asked.jsonl", encoding="utf-8") as file:
        noted = [json.loads(line) for line in file]
    of_edits = ((name, *rest) for what, name, *rest in noted if what == "judge" and not rest[0])
    return Counter((name, shown[0], repeat, reading) for name, _, _, shown, repeat, reading in of_edits)


def sample_in(instruction: str) -> str:
    """The sample that an instruction is of."""
    found = re.search(r"change (s\w+)", instruction)
    assert found
    return found[1]


def asked_for(seed: int) -> tuple[int, int]:
    """The repeat and the reading that a judge is asked for (docs/records.md, `seed`)."""
    return seed // STRIDE, seed % 1000


def edited(own: Planted, instruction: str, source: Any, seed: int, mask: Any = None) -> tuple[str, str]:
    """The code of an edit that was asked for, and what becomes of it; it is noted."""
    told, sample = re.search(r"SEEN<(.*?)>", instruction), sample_in(instruction)
    rewriter, turn = "rw" if "BETTER" in instruction else "", 0
    if told:
        _, _, _, rewriter, before, _ = told[1].split("|")
        turn = int(before)
    made_from = code_in(source) + ("+" + told[1] if told else "")
    if mask is not None:
        assert mask.size == source.size
        made_from += in_mask(8 * mask.getbbox()[0] // mask.width)
    code = child(own.name, sample, seed // STRIDE, rewriter, turn + 1, made_from)
    own.note("edit", own.name, code)
    bad = own.bad if os.path.exists(f"{own.folder}/storm") else {**own.bad, "storm": 0}
    return code, fate(own.salt, code, bad)


class Editor:
    """Makes edits that say what they are."""

    Parameters = Planted

    def __init__(self, parameters: Planted) -> None:
        self.own = parameters

    @staticmethod
    def takes_mask(parameters: Planted) -> bool:
        """Whether a mask says where it edits."""
        return parameters.masks

    def load(self, devices: object) -> None:
        pass

    def edit(self, request: Any, on_step: object) -> Any:
        from edit_eval.errors import Refused

        code, end = edited(self.own, request.instruction, request.source, request.seed, request.mask)
        if end == "edit_failed":
            raise RuntimeError("planted failure")
        if end == "edit_refused":
            raise Refused("planted refusal")
        return written(request.source, code)


class Judge:
    """Scores edits, compares them, criticises them, rewrites instructions: whatever it is asked."""

    Parameters = Planted
    reads = ("instruction", "question")

    def __init__(self, parameters: Planted) -> None:
        self.own = parameters

    def load(self, devices: object) -> None:
        pass

    def judge(self, requests: Any) -> Any:
        return [self.said(request) for request in requests]

    def said(self, request: Any) -> Any:
        own, pictures = self.own, {name: code_in(picture) for name, picture in request.pictures.items()}
        shown = [pictures[name] for name in ("A", "B", "edit", "edited") if name in pictures]
        sample, (repeat, reading) = sample_in(request.instruction), asked_for(request.seed)
        is_control = bool(shown) and f"|{sample}|" not in shown[0]
        own.note("judge", own.name, is_control, request.question, shown or [sample], repeat, reading)
        if not shown:
            return f"BETTER {request.instruction}" if rewritten(own.salt, sample) else ""
        if is_control:
            return f"{'Score: ' * (own.name == 'critic')}{OF_A_CONTROL:.3f}"
        if len(shown) == 2:
            said = prefers(own.salt, own.name, shown[0], shown[1], repeat, reading, own.bad)
            fields = json.loads(request.schema)["properties"]
            return (
                "hm"
                if said == "unparseable"
                else json.dumps({name: said if name == "better" else "so" for name in fields})
            )
        return self.scored(request, shown[0])

    def scored(self, request: Any, code: str) -> Any:
        from edit_eval.records import Reply, Status

        own, place = self.own, asked_for(request.seed)
        asked = own.name if request.question != "rest" else f"{own.name} of the rest"
        before = times_asked(own.folder)[own.name, code, *place] - 1 if "restless" in own.bad else 0
        status, score = answer(own.salt, asked, code, *place, own.bad, before)
        if status == "judge_error":
            raise RuntimeError("planted judge's failure")
        if status in ("refused", "cut_off"):
            return Reply(text="cannot", ended=Status(status))
        if status == "unparseable":
            return "hm"
        if status == "ok" and hesitates(own.salt, asked, code, *place, own.bad) and "AGAIN" not in request.user:
            return "let me see"
        score = 11.0 if status == "out_of_range" else score
        return f"SEEN<{code}> could be better.\nScore: {score:.3f}" if own.name == "critic" else f"{score:.3f}"


class BatchedJudge(Judge):
    """The same, asked in batches of one, by a maker that keeps them in files: what was bought is said once for all."""

    holds_device = False

    def __init__(self, parameters: Planted) -> None:
        super().__init__(parameters)
        self._waiting: list[dict[str, Any]] = []
        self.paced = False
        """True if another calls `look`."""

    def load(self, devices: object) -> None:
        if not self.paced:
            threading.Thread(target=self._keep_looking, daemon=True).start()

    def _keep_looking(self) -> None:
        while True:
            time.sleep(0.02)
            self.look()

    @staticmethod
    def defers(parameters: Planted) -> bool:
        """Its questions wait."""
        return True

    def defer(self, question: Any) -> None:
        """Takes a question, of which it is written down first that it is about to be bought."""
        earlier = question.submitted or {"id": "", "token": os.urandom(6).hex()}
        one = {"provider": "planted", "id": earlier["id"], "usd": None, "token": earlier["token"]}
        self._waiting.append({"question": question, "bought": one, "noted": question.note(dict(one))})

    def look(self) -> None:
        """Buys what is written down, and answers what it had bought before."""
        for one in list(self._waiting):
            question, bought = one["question"], one["bought"]
            file = os.path.join(self.own.folder, f"bought-{bought['token']}.json")
            if bought["id"]:
                self._waiting.remove(one)
                with open(file, encoding="utf-8") as there:
                    question.answer(_as_reply(json.load(there)), 0)
            elif one["noted"].is_set():
                if not os.path.exists(file):
                    with open(file, "x", encoding="utf-8") as new:
                        json.dump(self._said_to_it(question.request), new)
                bought["id"] = f"batch of {bought['token']}"
                question.note(dict(bought))

    def _said_to_it(self, request: Any) -> dict[str, str]:
        try:
            said = self.said(request)
        except RuntimeError as error:
            return {"error": str(error)}
        return {"text": said} if isinstance(said, str) else {"text": said.text, "ended": said.ended.value}


def _as_reply(said: dict[str, str]) -> Any:
    from edit_eval.records import Reply, Status

    if "error" in said:
        return RuntimeError(said["error"])
    return Reply(text=said["text"], ended=Status(said.get("ended", "ok")))


class Measure(Judge):
    """Measures how much changed between an edit and what it is held against."""

    @staticmethod
    def measures(parameters: Planted) -> dict[str, dict[str, object]]:
        """What it measures; `there` is measured even where the change is not."""
        measure = {"lowest": 0.0, "highest": 10.0, "higher_is_better": True, "needs": ["edit", "source"]}
        return {"change": measure, "there": measure}

    def said(self, request: Any) -> Any:
        from edit_eval.records import Reply

        code, before = code_in(request.pictures["edit"]), code_in(request.pictures["source"])
        self.own.note("judge", self.own.name, not code, before, [code], *asked_for(request.seed))
        value = change(self.own.salt, self.own.name, code, before, self.own.bad)
        return Reply(values={"there": 1.0} | ({} if value is None else {"change": value}), text="no such number")
