"""The interface of an edit model. Your class needs no base class, only these methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from edit_eval.records import OnStep as OnStep
from edit_eval.records import Submitted as Submitted
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, kw_only=True)
class EditRequest:
    """A request for one edit."""

    pictures: Mapping[str, Image]
    """`source`, `source_2`, ...: RGB, EXIF rotation applied; `info` has the text entries of the picture's file."""
    instruction: str
    seed: int
    mask: Image | None = None
    """Of a class that `takes_mask`: where the (first) source may change, `L` in its size: 255 there, else 0; None: the
    sample has none."""
    sample_id: str = ""
    submitted: Submitted | None = None
    """What an earlier start has bought for it: to be fetched, not bought again."""
    on_submitted: Callable[[Submitted], None] = lambda submitted: None
    """Called before something is bought that must be fetched later, and with its id once it is. It is written down."""

    @property
    def source(self) -> Image:
        """The (first) source image."""
        return self.pictures["source"]


FINISHED = "finished"
"""What the finished edit of a sample is called among the pictures of a request."""


@dataclass(frozen=True)
class SampleNames:
    """What of a benchmark decides which finished edit is which sample's."""

    ids: Sequence[str]
    """Of all samples, in order, whatever filters leave out."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """What the benchmark calls the source of a sample, by its id, as far as it calls it anything."""
    data_path: str = ""


@dataclass(frozen=True)
class Finished:
    """Edits that were made elsewhere, by their samples' ids."""

    files: Mapping[str, tuple[str, str]]
    """The path of a sample's edit, and the SHA-256 of its bytes, of which its key is made."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Why a sample has none."""
    left: Sequence[str] = ()
    """What is there and no sample's."""
    likely: Mapping[str, str] = field(default_factory=dict)
    """What of that a sample without an edit may mean."""

    @property
    def words(self) -> str:
        """How many edits there are, which are missing, and what is not used."""
        missing = [Text("{} (there is {})", of, self.likely[of]) if of in self.likely else of for of in self.lacking]
        unused = [name for name in self.left if name not in self.likely.values()]
        return Text(
            "{} of {} edits{}{}",
            len(self.files),
            len(self.files) + len(self.lacking),
            Text("; missing: {}", [*missing[:_MOST_NAMED], *["..."] * (len(missing) > _MOST_NAMED)]) if missing else "",
            Text("; not used: {}", [*unused[:_MOST_NAMED], *["..."] * (len(unused) > _MOST_NAMED)]) if unused else "",
        )


_MOST_NAMED = 5
"""Of edits that are missing or not used."""


class EditPrice(TypedDict, total=False):
    """What an edit costs that somebody else makes, in US dollars."""

    usual: float | None
    """None: not known."""
    most: float | None
    """With all attempts."""
    told: str
    """`told` by the provider, or `computed`."""
    date: str
    source: str


class Charged(TypedDict):
    """What an edit has cost, with each attempt that may have been charged."""

    usd: float
    told: bool
    """True if the provider said so."""
    attempts: int


class EditModel(Protocol):
    """One replica of an edit model in a process of its own.

    A class has its parameters as a nested standard-library dataclass `Parameters`; the configuration builds one from
    the YAML's `params` (without those that say where and how a model runs) and passes it to `__init__`. They are part
    of every edit's key. What else a class may have is in `ModelExtras` and `EditModelExtras`.

    Heavy libraries are imported inside the methods, never at module level.
    """

    def __init__(self, parameters: Any) -> None: ...

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices` (`["cuda:0"]`, `["cpu"]`), numbered from 0 as seen by this process.

        With a keyword `offload`, if it can keep weights in host memory (`none`, `model`, `group`); with a keyword
        `server` (`edit_eval.endpoints.serving.ServerEnvironment`), if its parameter `serve` has a server started.
        """

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the edited picture.

        The same (pictures, instruction, seed) gives the same pixels in every process. May raise any exception: the edit
        has then failed for that reason, and is never a number. `edit_eval.errors.Refused`, with the model's words, says
        that it declines to make this edit: the edit has the status `edit_refused`, which is final, and is counted
        separately.
        """


class ModelExtras(Protocol):
    """What an edit model or a judge may have besides. Static methods import nothing heavy."""

    holds_device: bool = True
    """False if it takes no memory of its devices (it asks a server, or reads files): it is loaded at the start, and
    works beside any other model."""
    capacity: int = 1
    """How many edits, or batches of questions, it takes at once, each in a thread of its own."""
    only_looks: bool = False
    """True if it never modifies a picture: it gets those that were opened, not copies, so that a server is sent the
    files that they have (`edit_eval.pictures.png`)."""
    spent: bool = False
    """True after a failure of which its library keeps a state that cannot be undone: its process is replaced."""

    @staticmethod
    def revision(parameters: Any) -> str:
        """Returns what else determines its results, such as a digest of a local folder of weights. It becomes part of
        the key."""

    @staticmethod
    def effective(parameters: Any) -> Mapping[str, Any]:
        """Returns the values of parameters that are null or left out until the model is known. In the key they replace
        the parameters of the same name."""

    @staticmethod
    def card(parameters: Any) -> Mapping[str, str]:
        """Returns what is known of it before it is loaded (`licence`, `terms`, ...): `doctor` and `plan` show it, its
        `note` first."""

    @staticmethod
    def presets() -> Sequence[Mapping[str, str]]:
        """Returns such cards, each with its `model_name`, of all models known by name: `describe` lists them."""

    def prepare(self) -> None:
        """Is called before `load`, for imports and all else that takes no device memory, while another model may still
        use the device."""

    def about(self) -> Mapping[str, str]:
        """Is called once after `load`; returns facts to record (versions, revisions, repairs). Its `note` is printed
        when the model is loaded, and shown in the report."""

    def close(self) -> None:
        """Is called before its worker exits normally: ends what `load` has started. A worker may also be killed."""


class EditModelExtras(Protocol):
    """What an edit model may have besides. Static methods import nothing heavy."""

    @staticmethod
    def match_edits(parameters: Any, asked: SampleNames) -> Finished:
        """Says whose edit is which, of a model whose edits are there already. An edit's key then has its bytes in place
        of parameters and revision. `edit` is asked with that picture as `FINISHED`, and not for what is `lacking`."""

    @staticmethod
    def sources(parameters: Any) -> int | None:
        """Returns how many sources an edit may have at most (None: any number). A benchmark with more is refused."""

    @staticmethod
    def cuts_source(parameters: Any) -> bool:
        """Returns True if the edit shows less than the source. A judge that measures outside a mask is refused then."""

    @staticmethod
    def takes_mask(parameters: Any) -> bool:
        """Returns True if a request's `mask` decides where it edits. Others are given none, which a note says."""

    @staticmethod
    def prices(parameters: Any) -> EditPrice | None:
        """Returns what an edit costs, if somebody else makes it."""

    def collect_costs(self) -> Charged:
        """Returns what an edit has cost, called in its thread after it; of a class with `prices`."""

    @staticmethod
    def duration(parameters: Any) -> tuple[float, float, str] | None:
        """Returns seconds of a load and of an edit as measured by others on a GPU, and the source; for `plan`."""

    @staticmethod
    def duration_anywhere(parameters: Any) -> tuple[float, float, str] | None:
        """Returns the same of a model that is as fast without a GPU."""

    def examine(self, request: EditRequest) -> None:
        """Asks a model that is elsewhere for one edit, before anything is loaded; for `doctor`. It has a short timeout,
        and raises `LoadError` with the reason."""


class ControlPicture:
    """A picture that no real edit should score below, judged in place of one.

    Such as the source upside down. It is made beside the judge, in the judge's environment, of the source alone, and
    must always come out the same. The first line of the class's docstring says what it is.
    """

    def picture(self, source: Image) -> Image:
        """Returns the picture to judge, made of an RGB source."""
        raise NotImplementedError
