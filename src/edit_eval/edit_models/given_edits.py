"""Base of edit models whose edits were made elsewhere: whose is which is known before anything is loaded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edit_eval.edit_models.contract import FINISHED, EditRequest, Finished, OnStep, SampleNames
from edit_eval.errors import ConfigurationError, ModelError
from edit_eval.files.matching import Matching, near
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image


class GivenEdits:
    """Returns each sample's edit unchanged. Subclasses say where the edits are."""

    holds_device = False
    only_looks = True
    requires = ()  # what reads tables and the hub is the engine's: a request brings its edit

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters

    @staticmethod
    @abstractmethod
    def finished(parameters: Any, asked: SampleNames) -> Finished:
        """Returns the samples' edits. Raises `ConfigurationError` if they cannot be read."""

    def load(self, devices: Sequence[str]) -> None:
        """Does nothing: each request brings its edit."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture unchanged, RGB. Raises `ModelError`, with the reason, if there is none."""
        if FINISHED not in request.pictures:
            raise ModelError(request.lacking or f"no edit of sample {request.sample_id!r}")
        on_step(1, 1)
        return request.pictures[FINISHED]


def lacking_words(
    ids: Sequence[str], found: Matching[str, str], called: Mapping[str, str], where: str
) -> dict[str, str]:
    """Returns why samples have no edit `where` it was looked for: what else claims it, or what may be meant.

    `called` is what each edit is called there. Raises `ConfigurationError` if no sample has one.
    """
    words: dict[str, str] = {}
    lacking = [sample_id for sample_id in ids if sample_id not in found.pairs]
    left = {called[edit]: edit for edit in found.left}
    for number, sample_id in enumerate(lacking):
        said = Text("no edit of sample {!r} in {}", sample_id, where)
        meant = left.get(near(sample_id, left)) if number < MOST_NEAR else ""
        reason = found.why_not(sample_id) or (Text("did you mean {}?", meant) if meant else "")
        words[sample_id] = Text("{}: {}", said, reason) if reason else said
    if lacking and not found.pairs:
        raise ConfigurationError(Text("{}; it has {}", words[lacking[0]], list(called.values())[:3]))
    return words


MOST_NEAR = 20
"""For so many samples without an edit a near miss is looked for."""
