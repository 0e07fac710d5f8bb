"""A detector and an embedder with the inputs and outputs of YuNet and SFace, whose answers can be worked out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
from PIL import Image

POINTS = ((38.2946, 51.6963), (73.5318, 51.5014), (56.0252, 71.7366), (41.5493, 92.3655), (70.7299, 92.2041))
"""Where SFace has eyes, nose and corners of the mouth in its 112 x 112 pixels (OpenCV, face_recognize.cpp)."""
SIDE = 112
RED = (255, 0, 0)


def build(folder: Path) -> tuple[Path, Path]:
    """Detector and embedder. A face is where a block of 8 pixels is pure red: 112 pixels around it, its points those
    of SFace, so that it is embedded as it is: as the mean colours of 4 x 4 fields."""
    return _detector(folder / "detector.onnx"), _embedder(folder / "embedder.onnx")


def picture(seed: int, *faces: tuple[int, int], size: tuple[int, int] = (400, 240)) -> Image.Image:
    """Noise without red, with a face around each of these points, which are multiples of 8."""
    pixels = numpy.random.default_rng(seed).integers(0, 120, (*reversed(size), 3), dtype="uint8")
    for x, y in faces:
        assert (x % 8, y % 8) == (4, 4)
        pixels[y - 4 : y + 4, x - 4 : x + 4] = RED
    return Image.fromarray(pixels)


def embedding(of: Image.Image, face: tuple[int, int]) -> Any:
    """What the embedder makes of the face around this point: 48 numbers."""
    left, top = (at - SIDE // 2 for at in face)
    fields = numpy.asarray(of, dtype=float)[top : top + SIDE, left : left + SIDE].reshape(4, 28, 4, 28, 3)
    return fields.mean((1, 3)).transpose(2, 0, 1).ravel()


class _Graph:
    def __init__(self) -> None:
        self.nodes, self.constants, self.outputs = list[Any](), list[Any](), list[Any]()

    def constant(self, array: Any) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, named: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = named or f"node{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def output(self, name: str, shape: list[int]) -> None:
        from onnx import TensorProto, helper

        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def save(self, path: Path, given: str, shape: list[int]) -> Path:
        import onnx
        from onnx import TensorProto, helper

        there = [helper.make_tensor_value_info(given, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "tiny", there, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path


def _detector(path: Path) -> Path:
    """As the published file it says that it wants 640 x 640, and takes any multiple of 32."""
    graph = _Graph()
    for stride in (8, 16, 32):
        pooled = graph.node("AveragePool", "input", kernel_shape=[stride, stride], strides=[stride, stride])
        of_blue_green_red, bias = ((-1.0, -1.0, 1.0), -250.0) if stride == 8 else ((0.0, 0.0, 0.0), -9.0)
        points = [(at - SIDE / 2) / stride + 0.5 for point in POINTS for at in point]
        heads = {
            "cls": (numpy.reshape(of_blue_green_red, (1, 3)), [bias]),
            "obj": (numpy.reshape(of_blue_green_red, (1, 3)), [bias]),
            "bbox": (numpy.zeros((4, 3)), [0.5, 0.5, *[numpy.log(SIDE / stride)] * 2]),
            "kps": (numpy.zeros((10, 3)), points),
        }
        for name, (weight, biases) in heads.items():
            constants = (weight[:, :, None, None].astype("float32"), numpy.asarray(biases, "float32"))
            layer = graph.node("Conv", pooled, *map(graph.constant, constants), kernel_shape=[1, 1])
            if name in ("cls", "obj"):
                layer = graph.node("Sigmoid", layer)
            layer = graph.node("Transpose", layer, perm=[0, 2, 3, 1])
            shape = graph.constant(numpy.array([1, -1, len(biases)]))
            graph.node("Reshape", layer, shape, named=f"{name}_{stride}")
            graph.output(f"{name}_{stride}", [1, (640 // stride) ** 2, len(biases)])
    return graph.save(path, "input", [1, 3, 640, 640])


def _embedder(path: Path) -> Path:
    graph = _Graph()
    pooled = graph.node("AveragePool", "data", kernel_shape=[28, 28], strides=[28, 28])
    graph.node("Flatten", pooled, named="fc1", axis=1)
    graph.output("fc1", [1, 48])
    return graph.save(path, "data", [1, 3, SIDE, SIDE])
