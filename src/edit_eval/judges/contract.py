"""What a judge is. A class of yours needs no base class, only this shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.records import Reply


@dataclass(frozen=True)
class JudgeRequest:
    """One question to a judge: what it is told, and the pictures it may look at."""

    system: str
    user: str
    images: Mapping[str, Image]
    """`source` and `edited`, RGB. Which of them the judge is shown is a parameter of its class (`images`)."""
    sample_id: str = ""
    edit_model: str = ""
    instruction: str = ""
    category: str = ""
    form: str = "score"
    """How it is told to answer: `score` (bare) or `reason_then_score`."""


class Judge(Protocol):
    """One replica of a judge in a process of its own.

    Parameters, heavy imports, `revision`, `prepare`, `offload` and `about` are as for an edit model
    (`edit_eval.edit_models.contract`). A class that serves several requests at once by itself (an endpoint) has an
    attribute `capacity`: how many calls of `judge` may be under way at the same time, in threads. Without it: one.

    A class may also have `make_inputs(requests)`: what of a batch can be made before the device is free for it
    (pictures scaled, texts tokenised). It is called in another thread while the batch before is judged, and what it
    returns comes back as `judge(requests, inputs=...)`. Answers are the same without: `judge` is called with
    `requests` alone for a part of a batch that did not fit into memory, and where `make_inputs` raised.

    A class whose model is elsewhere may have `examine(request)`: `edit-eval doctor` calls it instead of `load`, with
    one request about a drawn scene. It asks once, soon gives up, and returns what `judge` would for this request; it
    raises `LoadError` with the reason why a run would get no answer, and where it asked. `about` is asked afterwards.
    """

    def __init__(self, parameters: Any) -> None: ...

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices`; as seen by this process, counted from 0."""

    def judge(self, requests: Sequence[JudgeRequest]) -> Sequence[str | Reply]:
        """Answers a batch: one raw text a request, in order. What the text means is not the judge's affair.

        A judge that knows how an answer came to its end says it with a `Reply` (`edit_eval.records`): an answer that
        a limit on its length cut off is never a score, whatever it looks like.
        """
