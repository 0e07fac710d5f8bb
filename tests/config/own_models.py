"""Components as a user writes them; the tests' configurations name them by `class_path`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

FORBID = {"extra": "forbid"}


class Pairs:
    """A benchmark of one's own."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        data_path: str
        """The benchmark's file."""
        fields: dict[str, str] = field(default_factory=dict)
        language: str = "en"

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def samples(self):
        return []


class Editor:
    """An edit model of one's own.

    It has parameters of every kind.
    """

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        @dataclass
        class Sampler:
            __pydantic_config__: ClassVar[dict[str, str]] = FORBID

            name: str = "euler"
            shift: float = 3.0

        model_name: str = "Qwen/Qwen-Image-Edit"
        """Name on the hub,
        or a folder."""
        num_inference_steps: int = 50
        true_cfg_scale: float = 4.0
        negative_prompt: str = " "
        dtype: Literal["bfloat16", "float16"] = "bfloat16"
        size: tuple[int, int] | None = None
        """Width and height, in pixels."""
        sampler: Sampler = field(default_factory=Sampler)
        compiled: bool = False
        canvas: int | Literal["source"] = field(default="source", metadata={"doc": "Where it paints."})

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        return request.source


class Judge:
    """A judge of one's own."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        model_name: str
        """Which weights."""
        images: tuple[Literal["source", "edited"], ...] = ("source", "edited")
        max_new_tokens: int = 128
        api_key_env: str = "JUDGE_KEY"

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices, offload="none"):
        pass

    def judge(self, requests):
        return ["Score: 5.000" for _ in requests]


class Plain(Judge):
    """It shows what it is asked to show."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        model_name: str = "a/judge"


class Meter(Plain):
    """It is asked nothing."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        sizes: tuple[int, ...] = (8,)

    @staticmethod
    def measures(parameters):
        if 0 in parameters.sizes:
            raise ValueError("a size of 0")
        return {f"error_{size}": {"lowest": 0.0, "higher_is_better": False} for size in parameters.sizes}


class Readings:
    """The protocol of judges that measure."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        measures: dict[str, dict[str, float | bool | None]]
        headline: str = ""

    def __init__(self, parameters):
        self.parameters = parameters

    def questions(self, sample):
        return []

    def read(self, question, reply):
        raise NotImplementedError


class Restraint(Readings):
    """A protocol of one's own."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        strict: bool = False
        """Whether it is."""
        most: int | None = 3
        language: str = "?"


class Asking(Restraint):
    """It has prompts, too."""

    @dataclass
    class Parameters(Restraint.Parameters):
        prompts: dict[str, dict[str, str]] = field(default_factory=dict)
        images: tuple[str, ...] = ("source", "edited")


class PairsWithProtocol(Pairs):
    """It brings its own protocol."""

    protocol: ClassVar = {"class_path": "own_models:Restraint", "strict": True, "retries": 4}


class PairsWithName(Pairs):
    protocol = "rubrics"


class PairsWithNonsense(Pairs):
    def protocol(self): ...


class Careless(Editor):
    """Its Parameters do not forbid unknown keys."""

    @dataclass
    class Parameters:
        strength: float = 0.5


class Bare(Editor):
    """It has no Parameters at all."""

    Parameters = None


class NoDataclass(Editor):
    class Parameters:
        strength = 0.5


class TakesDevice(Editor):
    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        device: str = "cuda"


class Unannotated(Editor):
    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        size: NoSuchType = None  # type: ignore[name-defined]  # noqa: F821


class Checks(Editor):
    """It checks its own parameters."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = FORBID

        width: int = 64
        height: int = 64

        def __post_init__(self) -> None:
            if self.width % 32:
                raise ValueError(f"width: {self.width} is no multiple of 32")
            if self.height < 1:
                raise ValueError(f"height lies above 0, not at {self.height}")
            if self.width != self.height:
                raise ValueError("a square is wanted")


not_a_class = 3
