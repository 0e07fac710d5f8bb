"""Finds out, by small requests before judging, what a server supports beyond the chat protocol.

Each request is about a picture of one colour. Only what is needed is asked for: a judge that writes a score, with
thinking left as it is, costs its server nothing here. The content of the answer decides, not that there is one: some
servers silently drop unknown fields.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from edit_eval.errors import LoadError
from edit_eval.json_values import JsonObject
from edit_eval.judges.contract import PROBABILITIES, AnswerForm
from edit_eval.plugins.endpoints.in_worker.chat_interfaces import ChatInterface, Completion
from edit_eval.plugins.endpoints.in_worker.chat_servers import TOKEN_IDS, Decision, Way
from edit_eval.plugins.endpoints.in_worker.client import Ask, Client, Failure, plain

LOGPROBS_ROAD = "logprobs"
FEW, MOST_IDS = 64, 128
"""Tokens of an answer that shows whether a schema holds; ids that a request may name."""

HELD: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["held"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
"""A schema that no answer fits by chance: the question is a different one."""

ONE_WORD = "Answer with one word: is this a picture?"

Fields = Mapping[str, Any]
Chat = Callable[[str, int, Fields], Ask[Completion]]
"""Text, limit on the answer's tokens, further fields -> a request about the picture."""


@dataclass(frozen=True)
class WayOfAsking:
    """How questions of one form are asked."""

    fields: Fields = field(default_factory=dict)
    """Of the request, besides those of all requests."""
    ids: Mapping[str, Sequence[int]] | None = None
    """By label, if its tokens are requested by id."""
    one_token: bool = False
    """True if each label is known to be one token."""
    decision: Decision | None = None
    """If the server asks in its own words."""

    def values(self, entries: Sequence[Any], labels: Sequence[str]) -> dict[str, float]:
        """Returns probabilities by label. Raises `ValueError`, `KeyError` or `TypeError` for invalid entries."""
        if self.ids is not None:
            return probabilities_by_id(entries, self.ids)
        return probabilities_by_text(entries, labels, one_token=self.one_token)


class Probe:
    """Finds out how to ask a server, once for each form."""

    def __init__(
        self,
        client: Client,
        chat: Chat,
        decide: Callable[[Decision, Sequence[str]], Ask[Any]],
        *,
        interface: ChatInterface,
        road: str,
        thinking: bool | None,
        thinking_tokens: int,
    ) -> None:
        """`decide` asks on a path of the interface's `decisions` about the picture; `road` is how probabilities are
        requested."""
        self._client, self._chat, self._decide, self._road = client, chat, decide, road
        self._interface, self._kinds = interface, (LOGPROBS_ROAD, *interface.decisions)
        self._thinking, self._thinking_tokens = thinking, thinking_tokens
        self.findings: dict[str, str] = {}
        """Findings for `about`."""
        self._plans: dict[AnswerForm, WayOfAsking] = {}
        self._switches: dict[bool, Fields | None] = {}
        self._schema_way: tuple[Way | None] | None = None
        self._tokenised: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Discards the findings, as another server may answer from now on."""
        self.findings, self._plans, self._switches, self._schema_way, self._tokenised = {}, {}, {}, None, {}

    def plan(self, form: AnswerForm) -> WayOfAsking:
        """Returns how to ask questions of this form. Raises `LoadError` if the server does not support it."""
        if (plan := self._plans.get(form)) is None:
            with self._lock:
                if (plan := self._plans.get(form)) is None:
                    plan = self._plans[form] = self._make_plan(form)
        return plan

    def all(self, form: AnswerForm) -> None:
        """Finds out everything, including what questions of this form do not need."""
        with self._lock:
            self._switch(False)
            self._schema()
            if form.form != PROBABILITIES:
                kinds = [kind for kind in self._kinds if self._can(kind)]
                self.findings["probabilities"] = ", ".join(kinds) or "none"

    def _make_plan(self, form: AnswerForm) -> WayOfAsking:
        if form.form == PROBABILITIES:
            plan, said = self._probabilities(self._road, form.labels)
            self.findings["probabilities"] = said
            return plan
        fields: JsonObject = {}
        if self._thinking is not None:
            fields |= self._thought()
        if form.schema:
            fields |= self._schema_fields(form.schema)
        return WayOfAsking(fields)

    def _try_chat(self, text: str, tokens: int, fields: Fields) -> Completion | None:
        got = self._client.try_answer(self._chat(text, tokens, fields))
        return None if isinstance(got, Failure) else got

    # -- thinking --

    def _switch(self, on: bool) -> Fields | None:
        """Returns the fields that switch thinking; None if the server has no switch."""
        if on not in self._switches:
            ways = ((name, way.asks(on)) for name, way in self._interface.thinking.items())
            taken = ((name, fields) for name, fields in ways if self._try_chat(ONE_WORD, 1, fields) is not None)
            name, self._switches[on] = next(taken, ("no switch", None))
            self.findings["thinking"] = name
        return self._switches[on]

    def _thought(self) -> Fields:
        on = bool(self._thinking)
        fields = self._switch(on)
        if fields is None:
            if not on:
                return {}
            text = "thinking: this server has no switch for it; leave it out, or set it with `call`"
            raise LoadError(text, final=True)
        for name, way in self._interface.budgets.items() if on else ():
            budget = way.asks(self._thinking_tokens)
            if self._try_chat(ONE_WORD, 1, {**fields, **budget}) is not None:
                self.findings["thinking"] += f", {name}"
                return {**fields, **budget}
        return fields

    # -- answers constrained to a schema --

    def _schema(self) -> Way | None:
        if self._schema_way is None:
            off = self._switch(False) or {}
            holds = ((name, way) for name, way in self._interface.schemas.items() if self._holds(way, off))
            name, way = next(holds, ("not held", None))
            self.findings["schema"], self._schema_way = name, (way,)
        return self._schema_way[0]

    def _holds(self, way: Way, off: Fields) -> bool:
        answer = self._try_chat(ONE_WORD, FEW, {**off, **way.asks(HELD)})
        try:
            return answer is not None and json.loads(answer.text) == {"answer": "held"}
        except (ValueError, RecursionError):
            return False

    def _schema_fields(self, schema: str) -> Fields:
        """Returns the fields that constrain an answer to this schema; empty if the server cannot."""
        if (way := self._schema()) is None:
            return {}
        fields = way.asks(json.loads(schema))
        if self._try_chat(ONE_WORD, 1, fields) is None:
            self.findings["schema"] = self.findings["schema"].partition(",")[0] + ", but not all of this protocol's"
            return {}
        return fields

    # -- probabilities --

    def _probabilities(self, road: str, labels: tuple[str, ...]) -> tuple[WayOfAsking, str]:
        """Returns how to ask for them, and a remark on it."""
        way_or_why = self._probe_logprobs(labels) if road == LOGPROBS_ROAD else self._probe_decision(road, labels)
        if isinstance(way_or_why, tuple):
            return way_or_why
        others = [kind for kind in self._kinds if kind != road and self._can(kind)]
        remedy = f"write `probabilities: {others[0]}`" if others else "let the judge write its answer"
        raise LoadError(f"this server gives no probabilities through {road} ({way_or_why}); {remedy}", final=True)

    def _can(self, kind: str) -> bool:
        two = ("A", "B")
        way_or_why = self._probe_logprobs(two) if kind == LOGPROBS_ROAD else self._probe_decision(kind, two)
        return isinstance(way_or_why, tuple)

    def _probe_logprobs(self, labels: tuple[str, ...]) -> tuple[WayOfAsking, str] | str:
        tokens = self._tokens(labels)
        try:
            ids = None if tokens is None else token_ids(labels, tokens)
            if ids is None:
                refuse_ambiguous(labels)
        except ValueError as error:
            raise LoadError(str(error), final=True) from None
        off = self._switch(False) or {}
        all_ids = [token for its in (ids or {}).values() for token in its]
        why = "it ignores the fields" if self._interface.logprobs else "this model has no way to them"
        for name, way in self._interface.logprobs.items():
            by_id = name == TOKEN_IDS
            if by_id and not 0 < len(all_ids) <= MOST_IDS:
                continue
            fields = {**off, **way.asks(all_ids)}
            plan = WayOfAsking(fields, ids=ids if by_id else None, one_token=ids is not None)
            got = self._client.try_answer(self._chat(f"Answer with one of these: {', '.join(labels)}.", 1, fields))
            if isinstance(got, Failure):
                why = str(got)
                continue
            try:
                values = plan.values(got.entries, labels)
            except (ValueError, KeyError, TypeError):
                continue
            if got.entries and (not by_id or len(values) == len(labels)):
                return plan, f"{name}, mass kept"
        return why

    def _tokens(self, labels: Sequence[str]) -> Tokens | None:
        """Returns the tokens of the labels, if the server reveals them (vLLM, SGLang: `POST /tokenize`)."""
        if not self._interface.tokenizes:
            return None
        for text in texts_to_tokenise(labels):
            if text in self._tokenised:
                continue
            body = {"model": self._client.served.model, "prompt": text, "add_special_tokens": False}
            got = self._client.try_answer(self._client.prepare_post("/tokenize", body, above=True))
            said = None if isinstance(got, Failure) else plain(got)
            ids = said.get("tokens") if isinstance(said, Mapping) else None
            if not (isinstance(ids, list) and ids and all(type(token) is int for token in ids)):
                return None
            self._tokenised[text] = ids
        return self._tokenised

    def _probe_decision(self, kind: str, labels: tuple[str, ...]) -> tuple[WayOfAsking, str] | str:
        why = "it has no such path"
        for name, row in self._interface.decisions.get(kind, {}).items():
            got = self._client.try_answer(self._decide(row, labels))
            if isinstance(got, Failure):
                why = str(got)
                continue
            try:
                _, normalised = row.read(got, labels)
            except ValueError as error:
                why = str(error)
                continue
            return WayOfAsking(decision=row), f"{name}, mass {'unknown' if normalised else 'kept'}"
        return why


# -- from the probabilities of an answer's first token to those of legal labels, correctly or not at all --
#
# The probability of a label is that of the tokens that equal it, up to space around them. This is the probability of
# the whole answer only if the label is one token: the first of two tokens of `10` is also that of `1`. So a server with
# a tokenizer endpoint is asked about each label, and a set with a label of several tokens is refused before judging.
# Without one, a set is refused if a label begins like another one. Labels of one ASCII letter or digit are one token of
# every tokenizer; the beginning of a longer one shows up if the model writes it as a token of its own, and then the
# label's probability is unknown.
#
# A server gives the most probable tokens only. The others have at most the rest, and each at most the least of those
# given: if that is negligible for all missing labels together, it is 0; else it is unknown and left out.

NEGLIGIBLE = 0.001
"""Probability that may be taken for 0. On a scale from 0 to 10 it moves the expected score by at most 0.01."""
VARIANTS = ("", " ", "\n")
"""Text before a label in tokenizer requests: alone, as a further word, and on a line of its own."""

REMEDY = "give labels of one token, such as single letters or digits"

Tokens = Mapping[str, Sequence[int]]
"""Text -> its tokens' ids: each label after each of `VARIANTS`, and each of those alone."""


def texts_to_tokenise(labels: Sequence[str]) -> list[str]:
    """Returns the texts for the tokenizer."""
    return [*(before for before in VARIANTS if before), *(before + label for label in labels for before in VARIANTS)]


def token_ids(labels: Sequence[str], tokens: Tokens) -> dict[str, list[int]]:
    """Returns the tokens that equal each label. Raises `ValueError` for a label that is not one token."""
    tokens_of_label: dict[str, list[int]] = {}
    for label in labels:
        ids: dict[int, None] = {}
        for before in VARIANTS:
            alone = list(tokens[before]) if before else []
            whole = list(tokens[before + label])
            if len(whole) == 1:
                ids[whole[0]] = None
            elif before and whole[:-1] == alone:
                ids[whole[-1]] = None
        if not ids:
            raise ValueError(f"the label `{label}` is {len(tokens[label])} tokens of this model; {REMEDY}")
        tokens_of_label[label] = list(ids)
    for first, second in permutations(labels, 2):
        if {*tokens_of_label[first]} & {*tokens_of_label[second]}:
            raise ValueError(f"the labels `{first}` and `{second}` share a token of this model; {REMEDY}")
    return tokens_of_label


def refuse_ambiguous(labels: Sequence[str]) -> None:
    """Raises `ValueError` for labels that cannot be told by their first token if the tokens are unknown."""
    for first, second in permutations(labels, 2):
        if second.startswith(first):
            text = f"the labels `{first}` and `{second}` begin the same way, and the server does not show its tokens"
            raise ValueError(f"{text}; {REMEDY}")


def probabilities_by_id(entries: Sequence[Any], ids: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Returns probabilities by label from entries whose `token` is `token_id:N`; leaves out labels with one missing."""
    probabilities = {str(entry["token"]).partition("token_id:")[2]: _probability(entry) for entry in entries}
    return {
        label: math.fsum(probabilities[str(token)] for token in its)
        for label, its in ids.items()
        if all(str(token) in probabilities for token in its)
    }


def probabilities_by_text(entries: Sequence[Any], labels: Sequence[str], *, one_token: bool) -> dict[str, float]:
    """Returns probabilities by label from the most probable tokens; leaves out missing ones that are not negligible.

    `one_token`: each label is known to be one token.
    """
    probabilities = [(str(entry["token"]).strip(), _probability(entry)) for entry in entries]
    values = {
        label: math.fsum(share for text, share in probabilities if text == label)
        for label in labels
        if any(text == label for text, _ in probabilities)
    }
    missing = [label for label in labels if label not in values]
    if missing:
        shares = [share for _, share in probabilities]
        left = max(0.0, 1 - math.fsum(shares))
        least = min(shares, default=1.0)
        bound = min(left, len(missing) * len(VARIANTS) * least)
        for text, share in probabilities:
            begins = text and not one_token and any(label.startswith(text) for label in missing)
            bound += share if begins else 0.0
        if bound < NEGLIGIBLE:
            values |= dict.fromkeys(missing, 0.0)
    return values


def _probability(entry: Any) -> float:
    """Raises `ValueError` for an invalid logprob."""
    value = entry["logprob"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) or value > 0.01:
        raise ValueError(f"{str(value)[:40]} is not a log probability")
    return math.exp(value)
