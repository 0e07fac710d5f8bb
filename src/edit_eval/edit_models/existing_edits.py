"""Base of edit models whose edits were made elsewhere: whose is which is known before anything is loaded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edit_eval.edit_models.contract import FINISHED, EditRequest, Finished, OnStep, SampleNames
from edit_eval.files.matching import Matching, likely
from edit_eval.records import Sample
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image


class ExistingEdits:
    """Returns each sample's edit unchanged. Subclasses say where the edits are."""

    holds_device = False
    only_looks = True
    requires = ()  # what reads tables and the hub is the engine's: a request brings its edit

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters

    @staticmethod
    @abstractmethod
    def match_edits(parameters: Any, asked: SampleNames) -> Finished:
        """Returns the samples' edits. Raises `ConfigurationError` if they cannot be read."""

    def load(self, devices: Sequence[str]) -> None:
        """Does nothing: each request brings its edit."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture unchanged, RGB."""
        on_step(1, 1)
        return request.pictures[FINISHED]


def edits_of_rows(
    asked: SampleNames, found: Matching[str, str], rows: Mapping[str, tuple[str, Sample]], where: str
) -> Finished:
    """Returns the edits that are the sources of rows; `rows` have what each is called, and maybe a fault."""
    lacking, likely = lacking_edits(asked.ids, found, {of: called for of, (called, _) in rows.items()}, where)
    files = {}
    for sample_id, of in found.pairs.items():
        edit = rows[of][1]
        if edit.fault:
            lacking[sample_id] = Text("no edit of sample {!r} in {}: {}", sample_id, where, edit.fault)
        else:
            files[sample_id] = (edit.pictures["source"].path, edit.pictures["source"].digest)
    return Finished(files, lacking, found.left, likely)


def lacking_edits(
    ids: Sequence[str], found: Matching[str, str], called: Mapping[str, str], where: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns why samples have no edit `where` it was looked for, and which edit such a sample may mean.

    `called` is what each edit is called there.
    """
    missing = [sample_id for sample_id in ids if sample_id not in found.pairs]
    left = {called[edit]: edit for edit in found.left}
    meant = {of: left[name] for of, name in likely([of for of in missing if of not in found.rivals], left).items()}
    lacking: dict[str, str] = {}
    for sample_id in missing:
        said = Text("no edit of sample {!r} in {}", sample_id, where)
        reason = found.why_not(sample_id) or (Text("did you mean {}?", meant[sample_id]) if sample_id in meant else "")
        lacking[sample_id] = Text("{}: {}", said, reason) if reason else said
    return lacking, meant
