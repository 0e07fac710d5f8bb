"""What edit models have in common whose edits were made elsewhere, and are read as a benchmark reads its sources."""

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
    """Gives each sample's edit as it is. A subclass says where they are."""

    holds_device = False

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters
        self._edits: Mapping[str, Sample] = {}

    @staticmethod
    @abstractmethod
    def read(parameters: Any) -> Mapping[str, Sample]:
        """For each sample's id its edit, as the source of a sample; one that is missing has a fault.

        Raises `ConfigurationError` for what cannot be read.
        """

    @abstractmethod
    def absent(self, sample_id: str) -> tuple[str, str]:
        """What has no edit of a sample, and why where it has no row of it."""

    def load(self, devices: Sequence[str]) -> None:
        """Reads the rows; needs no device. Raises `LoadError` if there are none."""
        try:
            self._edits = self.read(self._parameters)
        except (ConfigurationError, Stopped) as error:
            raise LoadError(str(error)) from error

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture as it is, RGB.

        Raises `ModelError` if there is none, with its reason, and `UnreadableError` for one that has changed.
        """
        edit = self._edits.get(request.sample_id)
        if edit is None or edit.fault:
            what, why = self.absent(request.sample_id)
            raise ModelError(f"{what}: {edit.fault if edit else why}")
        picture = edit.pictures["source"]
        edited = open_picture(picture.path, digest=picture.digest)
        on_step(1, 1)
        return edited

    @classmethod
    def revision(cls, parameters: Any) -> str:
        """SHA-256 over the ids and the contents of the pictures, so that a changed one is noticed.

        Raises `ConfigurationError` as `read` does.
        """
        digest = hashlib.sha256()
        for name, edit in cls.read(parameters).items():
            digest.update(f"{name}\0{edit.source_digest}\n".encode())
        return digest.hexdigest()
