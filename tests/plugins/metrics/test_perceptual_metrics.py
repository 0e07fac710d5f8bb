"""LPIPS by networks of the real shapes with random weights, against the formula written out with numpy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.metrics.in_worker.perceptual_metrics import NETWORKS, SMALLEST, PerceptualMetrics
from late_imports import Late

torch = Late("torch")

Array = Any
CHANNELS = {"alex": (64, 192, 384, 256, 256), "vgg": (64, 128, 256, 512, 512)}


def weights(network: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """As torchvision and lpips name them: the network's, the linear layers'."""
    draw, before, backbone = numpy.random.default_rng(7), 3, dict[str, Array]()
    for layer in NETWORKS[network]:
        shape = (layer.channels, before, layer.side, layer.side)
        deviation = (2 / (before * layer.side**2)) ** 0.5
        backbone[f"features.{layer.number}.weight"] = draw.normal(0, deviation, shape).astype("float32")
        backbone[f"features.{layer.number}.bias"] = draw.normal(0, 0.1, layer.channels).astype("float32")
        before = layer.channels
    linear = {
        f"lin{number}.model.1.weight": draw.random((1, count, 1, 1)).astype("float32")
        for number, count in enumerate(CHANNELS[network])
    }
    return {**backbone, "classifier.6.weight": numpy.zeros((2, 2), "float32")}, linear


def written(folder: Path, network: str) -> PerceptualMetrics.Parameters:
    paths = folder / f"{network}.pth", folder / f"lin_{network}.pth"
    for path, arrays in zip(paths, weights(network), strict=True):
        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
    return PerceptualMetrics.Parameters(backbone=str(paths[0]), linear=str(paths[1]), network=network)


@pytest.fixture(scope="module")
def alex(tmp_path_factory: pytest.TempPathFactory) -> PerceptualMetrics:
    return loaded(written(tmp_path_factory.mktemp("alex"), "alex"))


def loaded(parameters: PerceptualMetrics.Parameters) -> PerceptualMetrics:
    judge = PerceptualMetrics(parameters)
    judge.prepare()
    judge.load(["cpu"])
    return judge


def measured(judge: PerceptualMetrics, edit: Image.Image, **pictures: Image.Image) -> tuple[float, str]:
    (reply,) = judge.judge([JudgeRequest(user="", pictures={**pictures, "edit": edit}, form="measured")])
    return reply.values.get(f"lpips_{judge.parameters.network}", numpy.nan), reply.text


def noise(seed: int, size: tuple[int, int] = (40, 35)) -> Image.Image:
    return Image.fromarray(numpy.random.default_rng(seed).integers(0, 256, (*reversed(size), 3), dtype="uint8"))


def by_hand(network: str, first: Image.Image, second: Image.Image) -> float:
    """The formula with numpy alone, place by place: the table of layers is written out a second time."""
    backbone, linear = weights(network)
    plan = {
        "alex": "0/4/2* pool3 3/1/2* pool3 6/1/1* 8/1/1* 10/1/1*",
        "vgg": "0 2* pool2 5 7* pool2 10 12 14* pool2 17 19 21* pool2 24 26 28*",
    }
    maps = [
        (
            numpy.asarray(x, dtype=float).transpose(2, 0, 1) / 127.5
            - 1
            - numpy.reshape([-0.030, -0.088, -0.188], (3, 1, 1))
        )
        / numpy.reshape([0.458, 0.448, 0.450], (3, 1, 1))
        for x in (first, second)
    ]
    total, compared = 0.0, 0
    for step in plan[network].split():
        if step.startswith("pool"):
            maps = [windows(x, int(step[4:]), 2).max((3, 4)) for x in maps]
            continue
        number, stride, padding = (int(part) for part in (step.rstrip("*") + "/1/1").split("/")[:3])
        kernel, bias = backbone[f"features.{number}.weight"], backbone[f"features.{number}.bias"]
        padded = [numpy.pad(x, ((0, 0), (padding, padding), (padding, padding))) for x in maps]
        maps = [
            numpy.maximum(
                0,
                numpy.einsum("cyxij,ocij->oyx", windows(x, kernel.shape[-1], stride), kernel, optimize=True)
                + bias[:, None, None],
            )
            for x in padded
        ]
        if step.endswith("*"):
            units = [x / numpy.sqrt((x**2).sum(0)) for x in maps]
            total += float((linear[f"lin{compared}.model.1.weight"][0] * (units[0] - units[1]) ** 2).sum(0).mean())
            compared += 1
    assert compared == 5
    return total


def windows(x: Array, side: int, stride: int) -> Array:
    """(channels, height, width, side, side)."""
    return numpy.lib.stride_tricks.sliding_window_view(x, (side, side), (1, 2))[:, ::stride, ::stride]


@pytest.mark.parametrize("network", CHANNELS)
def test_it_is_the_formula(network: str, tmp_path: Path) -> None:
    parameters = written(tmp_path, network)
    distance, words = measured(loaded(parameters), noise(1), source=noise(2))
    assert distance == pytest.approx(by_hand(network, noise(2), noise(1)), rel=1e-4)
    assert (distance > 0.1, words) == (True, "against the source")


def test_equal_pictures_are_no_distance_apart_and_either_may_come_first(alex: PerceptualMetrics) -> None:
    assert measured(alex, noise(1), source=noise(1))[0] == 0
    there, back = measured(alex, noise(1), source=noise(2))[0], measured(alex, noise(2), source=noise(1))[0]
    assert there == pytest.approx(back)
    near = Image.blend(noise(2), noise(1), 0.2)
    assert 0 < measured(alex, near, source=noise(2))[0] < there
    black = Image.new("RGB", (40, 35))
    assert measured(alex, black, source=black)[0] == 0


def test_the_reference_counts_and_another_size_is_said(alex: PerceptualMetrics) -> None:
    assert measured(alex, noise(1), source=noise(2), reference=noise(1)) == (0, "against the reference")
    larger = measured(alex, noise(1).resize((80, 70), Image.Resampling.NEAREST), source=noise(1))
    assert (larger[0] > 0, larger[1]) == (True, "against the source; the edit was scaled from 80x70 to 40x35")
    none, words = measured(alex, noise(1, (SMALLEST - 1, 90)), source=noise(2, (SMALLEST - 1, 90)))
    assert numpy.isnan(none)
    assert "fewer than" in words
    least = (SMALLEST, SMALLEST)
    assert measured(alex, noise(1, least), source=noise(2, least))[0] > 0


def test_the_files_decide_the_key_and_not_their_names(tmp_path: Path) -> None:
    parameters = written(tmp_path, "alex")
    before = PerceptualMetrics.revision(parameters)
    moved = Path(parameters.linear).rename(tmp_path / "moved.pth")
    with pytest.raises(ConfigurationError, match=r"linear: there is no file .*lin_alex\.pth"):
        PerceptualMetrics.revision(parameters)
    parameters.linear = str(moved)
    assert PerceptualMetrics.revision(parameters) == before
    moved.write_bytes(moved.read_bytes() + b" ")
    assert PerceptualMetrics.revision(parameters) != before


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    parameters = written(tmp_path, "alex")
    with pytest.raises(LoadError, match="weights are missing from the files of"):
        loaded(PerceptualMetrics.Parameters(backbone=parameters.backbone, linear=parameters.linear, network="vgg"))
    with pytest.raises(LoadError, match="10 weights are missing"):
        loaded(PerceptualMetrics.Parameters(backbone=parameters.linear, linear=parameters.linear))
    (tmp_path / "text.pth").write_text("no weights")
    with pytest.raises(LoadError, match=r"text\.pth cannot be loaded"):
        loaded(PerceptualMetrics.Parameters(backbone=str(tmp_path / "text.pth"), linear=parameters.linear))
    with pytest.raises(LoadError, match="not loaded"):
        measured(PerceptualMetrics(parameters), noise(1), source=noise(1))


def test_safetensors_are_read_too(tmp_path: Path, alex: PerceptualMetrics) -> None:
    from safetensors.numpy import save_file

    parameters = written(tmp_path, "alex")
    parameters.backbone = str(tmp_path / "alex.safetensors")
    save_file(weights("alex")[0], parameters.backbone)
    assert measured(loaded(parameters), noise(1), source=noise(2)) == measured(alex, noise(1), source=noise(2))
