"""What an edit model is. A class of yours needs no base class, only this shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image

OnStep = Callable[[int, int], None]
"""`on_step(step, steps)`: called after each step of an edit, from 1 to `steps`; a sign of life and the progress bar."""


@dataclass(frozen=True, kw_only=True)
class EditRequest:
    """One edit that is wanted."""

    pictures: Mapping[str, Image]
    """`source`, `source_2`, ...: RGB, EXIF rotation applied; `info` holds the text entries of a picture's own file."""
    instruction: str
    seed: int
    sample_id: str = ""

    @property
    def source(self) -> Image:
        """The (first) source image."""
        return self.pictures["source"]


class EditModel(Protocol):
    """One replica of an edit model in a process of its own.

    A class carries its parameters as a nested standard-library dataclass `Parameters` with
    `__pydantic_config__ = {"extra": "forbid"}`; the configuration makes one from the YAML's `params` (all but those
    that say where and how a model runs) and hands it to `__init__`. They are part of every edit's key.

    Heavy libraries are imported inside the methods, never at module level.

    A class may also have

    * `revision(parameters) -> str`, a static method that imports nothing heavy: what else decides the pixels, for
      instance a digest of a local folder of weights. It becomes part of the key.
    * static and as light: `effective(parameters) -> dict`, parameters as they are meant that are null or left out
      until the model is known. They enter the key in the place of those of the same name.
    * static and as light: `sources(parameters) -> int | None`, how many sources an edit may have at most (None: any
      number). A benchmark with more is refused before anything is loaded.
    * static and as light: `cuts_source(parameters) -> bool`, whether the edit shows less than the source does. A judge
      that measures outside a mask is refused then.
    * static and as light: `card(parameters) -> dict[str, str]`, what is known of the model before it is loaded
      (`licence`, `terms`, `canvas_rule`, ...): `doctor` and `plan` tell it, and its `note` first. And
      `presets() -> list` of such, each with its `model_name`, for all that it knows by name: `describe` lists them.
    * static and as light: `duration(parameters) -> tuple[float, float, str] | None`, seconds of a load and of an edit
      as others have measured them, and who; for `plan`.
    * a keyword `offload` in `load`, if it can keep weights in host memory (`none`, `model`, `group`).
    * a keyword `server` in `load` (`edit_eval.endpoints.serving.ServerEnvironment`), if its parameter `serve` has a
      server started for it.
    * `prepare()`, called before `load`: imports, and all else that takes no device memory. It runs while the device
      still works for another model.
    * `about() -> dict[str, str]`, asked once after `load`: what is worth recording (versions, revisions, repairs made).
      An entry `note` is said when the model is loaded, and stands in the report.
    * `close()`, called before its worker ends by itself: ends what `load` has started. A worker may also be killed.
    * `holds_device = False`, if it takes no memory of its devices (it asks a server, or reads files): it is loaded at
      the start, and works beside any other model.
    * `capacity`, a number: how many edits it makes at once, each in a thread of its own; 1 without it.
    * `examine(request: EditRequest)`, for a model that is elsewhere: `edit-eval doctor` has one edit made before
      anything is loaded. It soon gives up, and raises `LoadError` with the reason.
    """

    def __init__(self, parameters: Any) -> None: ...

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices` (`["cuda:0"]`, `["cpu"]`); as seen by this process, counted from 0."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the edited picture.

        The same (pictures, instruction, seed) gives the same pixels in every process. Raises whatever it likes: a
        raised exception is a failed edit with that reason, never a number. `edit_eval.errors.Refused` with the model's
        words says that it declines to make this edit: the edit has the status `edit_refused`, which is final, and is
        counted apart."""
