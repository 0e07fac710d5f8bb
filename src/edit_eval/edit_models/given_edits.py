"""Base of edit models whose edits were made elsewhere, and are read like a benchmark's sources."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.errors import ConfigurationError, LoadError, ModelError, Stopped
from edit_eval.pictures import open_picture
from edit_eval.records import Sample

if TYPE_CHECKING:
    from PIL.Image import Image


class GivenEdits:
    """Returns each sample's edit unchanged. Subclasses say where the edits are."""

    holds_device = False

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters
        self._edits: Mapping[str, Sample] = {}

    @staticmethod
    @abstractmethod
    def read(parameters: Any) -> Mapping[str, Sample]:
        """Returns each sample id's edit, as the source of a sample; a missing one has a fault.

        Raises `ConfigurationError` if they cannot be read.
        """

    @abstractmethod
    def absent(self, sample_id: str) -> tuple[str, str]:
        """Returns what lacks an edit of a sample, and why, if it has no row for it."""

    def load(self, devices: Sequence[str]) -> None:
        """Reads the rows; needs no device. Raises `LoadError` if there are none."""
        try:
            self._edits = self.read(self._parameters)
        except (ConfigurationError, Stopped) as error:
            raise LoadError(str(error)) from error

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture unchanged, RGB.

        Raises `ModelError`, with the reason, if there is none, and `UnreadableError` for one that has changed.
        """
        edit = self._edits.get(request.sample_id)
        if edit is None or edit.fault:
            what, why = self.absent(request.sample_id)
            raise ModelError(": ".join((what, edit.fault if edit else why)))  # a reason is English
        picture = edit.pictures["source"]
        edited = open_picture(picture.path, digest=picture.digest, keep_file=True)
        on_step(1, 1)
        return edited

    @classmethod
    def revision(cls, parameters: Any) -> str:
        """Returns the SHA-256 over the ids and the contents of the pictures, so that changes are noticed.

        Raises `ConfigurationError` like `read`.
        """
        digest = hashlib.sha256()
        for name, edit in cls.read(parameters).items():
            digest.update(f"{name}\0{edit.source_digest}\n".encode())
        return digest.hexdigest()
