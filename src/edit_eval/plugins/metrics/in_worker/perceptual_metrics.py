"""`perceptual_metrics`: LPIPS, the distance of two pictures by a network calibrated on human perception.

Zhang et al., CVPR 2018, version 0.1, as the package lpips 0.1.4 computes it (lpips.py, pretrained_networks.py): RGB in
[-1, 1] less `SHIFT`, divided by `SCALE`; the channels of some layers, normalised to length 1 at each place; the
squared difference of the two pictures, weighted by channel; the mean over places; the sum over layers.

| value        | network                  | its layers                               |
|--------------|--------------------------|------------------------------------------|
| `lpips_alex` | AlexNet of torchvision   | after each of its five convolutions      |
| `lpips_vgg`  | VGG16 of torchvision     | after the last of each of its five parts  |

0 for equal pictures, no upper bound, rarely above 1. The target is the sample's `reference`, else its `source`; an edit
of another size is scaled to its size first (LANCZOS), which the reply notes.

The weights are two files supplied by the user: torchvision's state dict of the network (its keys `features.N.weight`,
`features.N.bias`, as in pytorch/vision, torchvision/models/alexnet.py and vgg.py), and the linear layers
(`linN.model.1.weight`, 1 x channels x 1 x 1), which are in the wheel of lpips (BSD): lpips/weights/v0.1/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from edit_eval.errors import LoadError
from edit_eval.judges.contract import JudgeRequest, MeasuredValue
from edit_eval.plugins.metrics.in_worker.picture_metrics import target_of
from edit_eval.pretrained import folders
from edit_eval.pretrained.loading import check_complete, library_versions, load_errors, prepare_devices, runs_on_cpu
from edit_eval.records import Reply

if TYPE_CHECKING:
    from PIL.Image import Image

SHIFT, SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
TINY = 1e-10
"""Added to a length before dividing by it."""
SMALLEST = 32
"""Pixels of the shorter side from which on every layer has an output."""


class _Layer(NamedTuple):
    number: int
    """Index in torchvision's `features`."""
    channels: int
    side: int
    stride: int = 1
    pool: int = 0
    """Side of the max pooling before it, with stride two; 0: none."""
    compared: bool = True


NETWORKS = {
    "alex": (
        _Layer(0, 64, 11, stride=4),
        _Layer(3, 192, 5, pool=3),
        _Layer(6, 384, 3, pool=3),
        _Layer(8, 256, 3),
        _Layer(10, 256, 3),
    ),
    "vgg": (
        _Layer(0, 64, 3, compared=False),
        _Layer(2, 64, 3),
        _Layer(5, 128, 3, pool=2, compared=False),
        _Layer(7, 128, 3),
        _Layer(10, 256, 3, pool=2, compared=False),
        _Layer(12, 256, 3, compared=False),
        _Layer(14, 256, 3),
        _Layer(17, 512, 3, pool=2, compared=False),
        _Layer(19, 512, 3, compared=False),
        _Layer(21, 512, 3),
        _Layer(24, 512, 3, pool=2, compared=False),
        _Layer(26, 512, 3, compared=False),
        _Layer(28, 512, 3),
    ),
}
"""The convolutions, each followed by a ReLU; padded by two pixels if their side is above 3, else by one."""


class PerceptualMetrics:
    """Measures LPIPS between edit and reference (or source), with weights that are given by path."""

    @dataclass
    class Parameters:
        """Which network; no other number can be changed."""

        backbone: str = field(metadata={"in_key": False})
        """The network's weights, a file of torchvision's: alexnet-owt-7be5be79.pth, vgg16-397923af.pth; or the same as
        .safetensors."""
        linear: str = field(metadata={"in_key": False})
        """The linear layers, a file out of the wheel of `lpips`: lpips/weights/v0.1/alex.pth, vgg.pth."""
        network: Literal["alex", "vgg"] = "alex"
        """Which network these are weights of."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._weights: dict[str, Any] = {}
        self._device = "cpu"

    @staticmethod
    def measures(parameters: Parameters) -> dict[str, MeasuredValue]:
        """Returns scale and needs of the one value."""
        scale: MeasuredValue = {"lowest": 0.0, "highest": None, "higher_is_better": False, "needs": ["edit"]}
        return {f"lpips_{parameters.network}": scale}

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Returns a digest of both files. Raises `ConfigurationError` if one is missing."""
        return folders.files_revision(backbone=parameters.backbone, linear=parameters.linear)

    def prepare(self) -> None:
        """Imports the library."""
        import torch  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Loads both files onto the first of `devices`. Raises `LoadError` if they are not such weights."""
        parameters = self.parameters
        prepare_devices(devices, "none")
        self._device = "cpu" if runs_on_cpu(devices) else devices[0]
        layers = NETWORKS[parameters.network]
        linear: dict[str, tuple[int, ...]]
        backbone, compared = dict[str, tuple[int, ...]](), [layer for layer in layers if layer.compared]
        for before, layer in zip((3, *(layer.channels for layer in layers)), layers, strict=False):
            backbone[f"features.{layer.number}.weight"] = (layer.channels, before, layer.side, layer.side)
            backbone[f"features.{layer.number}.bias"] = (layer.channels,)
        linear = {f"lin{number}.model.1.weight": (1, layer.channels, 1, 1) for number, layer in enumerate(compared)}
        for path, shapes in ((parameters.backbone, backbone), (parameters.linear, linear)):
            self._weights |= _read(path, shapes, self._device)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns the value of each request; the text says what it is compared with."""
        import torch

        if not self._weights:
            raise LoadError("the judge is not loaded: call load(devices) first")
        exact = partial(torch.backends.cudnn.flags, enabled=True, deterministic=True, allow_tf32=False)
        with torch.inference_mode(), exact():
            return [self._measure_edit(request) for request in requests]

    def about(self) -> dict[str, str]:
        """Returns versions, and the network."""
        return {"network": self.parameters.network, "scaling": "LANCZOS", **library_versions("torch", "pillow")}

    def _measure_edit(self, request: JudgeRequest) -> Reply:
        from PIL import Image as Images

        target = target_of(request, "perceptual_metrics")
        picture, edit = request.pictures[target], request.pictures["edit"]
        words = [f"against the {target}"]
        if edit.size != picture.size:
            size = f"{picture.width}x{picture.height}"
            words.append(f"the edit was scaled from {edit.width}x{edit.height} to {size}")
            edit = edit.resize(picture.size, Images.Resampling.LANCZOS)
        if min(picture.size) < SMALLEST:
            words.append(f"lpips: the shorter side has fewer than {SMALLEST} pixels")
            return Reply(text="; ".join(words))
        return Reply(text="; ".join(words), values={f"lpips_{self.parameters.network}": self._distance(picture, edit)})

    def _distance(self, first: Image, second: Image) -> float:
        import numpy
        import torch

        pictures = numpy.stack([numpy.asarray(picture.convert("RGB")) for picture in (first, second)])
        pixels = torch.from_numpy(pictures).to(self._device).permute(0, 3, 1, 2).float() / 127.5 - 1
        shift, scale = (torch.tensor(three, device=self._device).view(1, 3, 1, 1) for three in (SHIFT, SCALE))
        total = 0.0
        for number, features in enumerate(self._extract_features((pixels - shift) / scale)):
            unit = features / (features.square().sum(1, keepdim=True).sqrt() + TINY)
            weighted = (unit[0] - unit[1]).square() * self._weights[f"lin{number}.model.1.weight"][0]
            total += float(weighted.sum(0).double().mean())
        return total

    def _extract_features(self, pixels: Any) -> Iterator[Any]:
        """Yields (2, channels, height, width) for each compared layer."""
        from torch.nn import functional

        for layer in NETWORKS[self.parameters.network]:
            if layer.pool:
                pixels = functional.max_pool2d(pixels, layer.pool, stride=2)
            weight, bias = (self._weights[f"features.{layer.number}.{part}"] for part in ("weight", "bias"))
            padding = 2 if layer.side > 3 else 1
            pixels = functional.conv2d(pixels, weight, bias, stride=layer.stride, padding=padding).relu()
            if layer.compared:
                yield pixels


def _read(path: str, shapes: dict[str, tuple[int, ...]], device: str) -> dict[str, Any]:
    """Returns the weights of these names and shapes, 32 bits each. Raises `LoadError` if the file lacks them."""
    import torch

    file = Path(path).expanduser()
    with load_errors(path):
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            weights = load_file(file)
        else:
            weights = torch.load(file, map_location="cpu", weights_only=True)
    missing = [name for name in shapes if name not in weights]
    unlike = [name for name in shapes if name in weights and tuple(weights[name].shape) != shapes[name]]
    check_complete({"missing_keys": missing, "mismatched_keys": unlike}, path)
    return {name: weights[name].to(device, torch.float32) for name in shapes}
