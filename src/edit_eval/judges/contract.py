"""The interface of a judge. Your class needs no base class, only these methods."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.records import OnStep, Reply, Submitted


PROBABILITIES = "probabilities"
"""The form of a request for a distribution over its labels: nothing is written."""
ADDRESS = ("sample_id", "edit_model", "other", "edit_seed", "repeat", "reading", "question")
"""Where a question stands in a run."""
READABLE = ("instruction", "category", *ADDRESS)
"""What a judge is told only if its class `reads` it; it is then part of the key of its replies."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One question to a judge: its text, and the pictures to show."""

    system: str = ""
    user: str
    pictures: Mapping[str, Image] = field(default_factory=dict)
    """RGB, in the order of display: `source`, `edit`, `other`, `reference`, `mask`, or a view's own label."""
    form: str = "text"
    """The form of the answer (`edit_eval.protocols.contract.Question.form`)."""
    labels: tuple[str, ...] = ()
    """With the form `probabilities`: the legal answers; their probabilities are the reply's `values`."""
    schema: str = ""
    """With the forms `json` and `labels`: the JSON schema, as JSON, to constrain the answer to if supported."""
    seed: int = 0
    """For judges that sample their answers; others ignore it. Each repeat and reading has its own."""
    key: str = ""
    """The key of the replies: the same for the same question, whatever it is about."""
    # What follows is blank, but for what the class `reads`.
    question: str = ""
    sample_id: str = ""
    edit_model: str = ""
    other: str = ""
    """If two edits are compared: the edit model of the second one."""
    edit_seed: int = 0
    repeat: int = 0
    reading: int = 0
    instruction: str = ""
    category: str = ""


class AnswerForm(NamedTuple):
    """How a judge is told to answer, as in its requests."""

    form: str = "text"
    labels: tuple[str, ...] = ()
    schema: str = ""


class MeasuredValue(TypedDict, total=False):
    """What a class that measures says of one of its values."""

    lowest: float | None
    """The end of its scale; None: open."""
    highest: float | None
    higher_is_better: bool
    needs: Sequence[str]
    """Pictures without which there is no such value, or a fact: `target_caption`, `target_text`."""
    where: str
    """Another value; if that is 0, this one does not apply."""


class AnswerPrice(TypedDict):
    """What a judge's answers cost that somebody else gives, in US dollars."""

    read: float
    """For a million tokens."""
    written: float
    longest: int
    """Most tokens of an answer."""
    attempts: int
    load: float
    """What loading it costs: its probes."""
    batch: float
    """The share of it that a question in a batch costs (`defers`)."""
    date: str
    source: str


class MakersJudge(TypedDict):
    """A judge that its maker alone runs, as its name is known."""

    params: Mapping[str, str]
    key: str
    """The variable that has the key."""
    price: Sequence[float] | None
    """US dollars for a million tokens read, and for a million written; None: not known."""


class MakersJudges(Protocol):
    """What the class that is registered as `chat_endpoint` knows of makers' judges."""

    @staticmethod
    def find_judge(name: str) -> MakersJudge | None:
        """Returns the judge that `MAKER/NAME` means; None if this is no maker's."""

    @staticmethod
    def list_makers(model: str) -> Sequence[str]:
        """Returns the makers that have a model of this name."""

    @staticmethod
    def find_address(maker: str) -> str:
        """Returns where a maker's judges are asked; empty for no maker."""


@dataclass(frozen=True, kw_only=True)
class DeferredQuestion:
    """A question whose answer comes later."""

    request: JudgeRequest
    submitted: Submitted | None
    """What was bought for it, or was about to be, in an earlier start."""
    note: Callable[[Submitted], threading.Event]
    """Has it written down that it is about to be submitted, or was; it is written once the event is set."""
    answer: Callable[[str | Reply | BaseException, int], None]
    """Takes the answer, or why there is none, and how many attempts came to nothing and may have been charged."""
    on_step: OnStep
    """Takes signs of life while `defer` waits."""


class Judge(Protocol):
    """One replica of a judge in a process of its own.

    Parameters and heavy imports are as for an edit model (`edit_eval.edit_models.contract`). What else a class may
    have is in `ModelExtras` there and in `JudgeExtras`.

    A judge is told and shown what is in the key of its replies, and nothing else, since equal questions are asked once.
    """

    def __init__(self, parameters: Any) -> None: ...

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices`, numbered from 0 as seen by this process.

        With a keyword `forms`, it is told how all requests will be answered (`AnswerForm`, each once), so that it can
        refuse at the start, with `LoadError`, what it does not support. A request of another form may still come.
        """

    def judge(self, requests: Sequence[JudgeRequest]) -> Sequence[str | Reply]:
        """Answers a batch: one raw text per request, in order. The judge does not interpret it.

        A judge that knows how an answer ended, or that gives numbers, returns a `Reply` (`edit_eval.records`): an
        answer cut off by a limit on its length is never a score, however it looks.

        With a keyword `on_step`, it tells how far it is, as an edit model does (`on_step(tokens, most)`): a judge that
        is silent for longer than `timeout` is taken for hung.
        """


class JudgeExtras(Protocol):
    """What a judge may have besides. Static methods import nothing heavy."""

    reads: tuple[str, ...] = ()
    """What it is told besides, of the names in `READABLE`: `("instruction",)`. It is then in the key of its replies."""
    sends_files: bool = False
    """True if it passes pictures' files on: one that is shown as it is stored, and whose bytes prove that it is the
    right one, is decoded only when its pixels are used. Needs `only_looks`."""
    probabilities: bool = False
    """True if it can tell the probability of each of a request's `labels` (the form `probabilities`): in `values`, for
    each label, the probability that the whole answer is this label, over the full vocabulary. Their sum, the mass,
    tells whether the judge answers in form at all. If only their ratios are known (a server that divides by the sum),
    the reply is `normalised`. A label of unknown probability is left out of `values`. Other classes are not asked such
    questions: that is refused at the start."""
    replays: bool = False
    """True if its replies were given elsewhere: they are found by address (sample, edit model, the other one of two,
    edit seed, question, repeat, reading), not by what is shown, so it is shown nothing."""

    def make_inputs(self, requests: Sequence[JudgeRequest]) -> Any:
        """Does the work on a batch that needs no device (scaling pictures, tokenising texts), in another thread while
        the previous batch is judged; its result is passed as `judge(requests, inputs=...)`. The answers must not depend
        on it: `judge` is called with `requests` alone for a part of a batch that did not fit into memory, and if this
        raised. Its pictures are shared with other questions, as with `only_looks`."""

    @staticmethod
    def defers(parameters: Any) -> bool:
        """Returns True if it is asked in batches whose answers come later, of a class with `defer`: its questions but
        for the pilot's go there, each alone, and wait without `timeout`."""

    def defer(self, question: DeferredQuestion) -> None:
        """Takes a question to be answered later, from any thread: soon calls its `note`, and `answer` in the end."""

    @staticmethod
    def measures(parameters: Any) -> Mapping[str, MeasuredValue]:
        """Says what a class measures that is asked nothing: each value in `values` of its replies; the first is the
        headline. A fact that it needs is passed as `user`. Its protocol is `numbers`. A value that is undefined for a
        pair of pictures is left out of `values`, and the reply's text says why. One that may be meaningless (the
        likeness of a face if there was none) names in `where` another value, present in every reply: if that is 0, it
        does not apply. The named value need not be a measure, but one measure must have no `where`."""

    @staticmethod
    def describe_unused_replies(parameters: Any, ids: Sequence[str], edit_models: Sequence[str]) -> str:
        """Returns a line on replies that are about none of these samples and edit models, of a class that `replays`:
        shown before anything is made."""

    def examine(self, request: JudgeRequest) -> str | Reply:
        """Asks a model that is elsewhere once about an example, with a short timeout; `doctor` calls it instead of
        `load`. Returns what `judge` would; raises `LoadError` with the reason why a run would get no answer, and where
        it asked. `about` is called afterwards."""


def seed_of(request: JudgeRequest) -> int:
    """Returns a 31 bit seed for the answer to a request, from its own seed and everything shown to the judge.

    Equal requests have equal seeds. A run asks about every sample with the same seed; with that alone all samples would
    be answered by the same draws: their scores would err together, and no mean would even that out.
    """
    from edit_eval.pictures import pixel_digest

    digests = [pixel_digest(picture) for picture in request.pictures.values()]
    seeded_by = repr((request.seed, request.system, request.user, digests))
    return int(hashlib.sha256(seeded_by.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) >> 1
