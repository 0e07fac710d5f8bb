"""What a judge is. A class of yours needs no base class, only this shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.records import Reply


PROBABILITIES = "probabilities"
"""The form of a request whose answer is a distribution over its labels: nothing is written."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One question to a judge: what it is told, and the pictures it is shown."""

    system: str = ""
    user: str
    pictures: Mapping[str, Image] = field(default_factory=dict)
    """RGB, in the order in which they are to be shown: `source`, `edit`, `other`, `reference`, `mask`, or a view's own
    label."""
    form: str = "text"
    """How it is told to answer (`edit_eval.protocols.contract.Question.form`)."""
    labels: tuple[str, ...] = ()
    """With the form `probabilities`: the legal answers, of which the reply's `values` give the probabilities."""
    schema: str = ""
    """With the forms `json` and `labels`: the JSON schema, as JSON, to hold the answer to where the judge can."""
    seed: int = 0
    """For a judge that samples its answers; one that does not has no use for it."""
    question: str = ""
    sample_id: str = ""
    edit_model: str = ""
    other: str = ""
    """Where two edits are held against each other, whose the second one is."""
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


class Judge(Protocol):
    """One replica of a judge in a process of its own.

    Parameters, heavy imports, `revision`, `card`, `prepare`, `offload`, `server`, `about`, `close` and `holds_device`
    are as for an edit model (`edit_eval.edit_models.contract`). A class that serves several requests at once by itself
    (an endpoint) has an attribute `capacity`: how many calls of `judge` may be under way at the same time, in threads.
    Without it: one.

    A class may also have `make_inputs(requests)`: what of a batch can be made before the device is free for it
    (pictures scaled, texts tokenised). It is called in another thread while the batch before is judged, and what it
    returns comes back as `judge(requests, inputs=...)`. Answers are the same without: `judge` is called with
    `requests` alone for a part of a batch that did not fit into memory, and where `make_inputs` raised.

    A class that never changes a picture may have `only_looks = True`: it is handed those that other questions show,
    too, and no copies. So is one with `make_inputs`.

    A class whose `load` takes `forms` is told there how all of its requests will be answered (`AnswerForm`, each once),
    so that it can refuse at the start, with `LoadError`, what it cannot do. A request of another form may come all the
    same.

    A class whose model is elsewhere may have `examine(request)`: `edit-eval doctor` calls it instead of `load`, with
    one request about a drawn scene. It asks once, soon gives up, and returns what `judge` would for this request; it
    raises `LoadError` with the reason why a run would get no answer, and where it asked. `about` is asked afterwards.

    A class that measures, and is asked nothing, has a static method `measures(parameters)`: for each value that its
    replies have in `values` a mapping with `lowest`, `highest` (None: open), `higher_is_better`, and `needs`, the
    pictures without which there is no such value (or a fact that is handed over as `user`: `target_caption`,
    `target_text`); the first is the headline. Its protocol is `numbers`. A value that is not defined for a pair of
    pictures is left out of `values`, and the reply's text says why. One that has no meaning for it (the likeness of a
    face where there was none) names with `where` another value, of those that every reply has: where that is 0, it does
    not apply. The value that is named need not be a measure, but one measure has to be without `where`.

    A class that can say how likely each of a request's `labels` is (the form `probabilities`) has an attribute
    `probabilities = True`, and gives in `values` for each label the probability that the whole answer is this label,
    before anything is left out of the vocabulary: their sum, the mass, tells whether it answers in form at all. Where
    only their ratios are known (a server that divides by the sum), the reply is `normalised`. A label whose probability
    is not known is left out of `values`. No other class is asked such a question: that is refused at the start.

    A class whose replies were given elsewhere has `replays = True`: its replies are known by their address (sample,
    edit model, the other one of two, edit seed, question, repeat, reading), not by what is shown, so it is shown
    nothing.
    """

    def __init__(self, parameters: Any) -> None: ...

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices`; as seen by this process, counted from 0."""

    def judge(self, requests: Sequence[JudgeRequest]) -> Sequence[str | Reply]:
        """Answers a batch: one raw text a request, in order. What the text means is not the judge's affair.

        A judge that knows how an answer came to its end, or that gives numbers, says it with a `Reply`
        (`edit_eval.records`): an answer that a limit on its length cut off is never a score, whatever it looks like.
        """
