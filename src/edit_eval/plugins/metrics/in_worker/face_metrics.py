"""`face_metrics`: whether the person in an edit is still the person in the source.

| value               | what it is                                                                                   |
|---------------------|----------------------------------------------------------------------------------------------|
| `face_identity`     | cosine of the embeddings of the source's largest face and of that face of the edit which is |
|                     | most like it, -1 to 1; `undefined` if no face is found in the edit                           |
| `face_lost`         | 1 if no face is found in the edit, else 0                                                    |
| `face_count_change` | how many faces more or fewer than in the source are found in the edit                        |

The first two apply only if a face is found in the source. An edit that has lost it has no cosine: read the mean of
`face_identity` together with its coverage, which such edits lower, or with `face_lost`. The instruction is ignored: an
edit that is meant to turn a head away has lost its face.

The models are two files supplied by the user, YuNet (a detector, MIT) and SFace (embeddings, Apache-2.0), from
opencv/opencv_zoo, models/face_detection_yunet and models/face_recognition_sface; OpenCV reads them on the CPU, aligns
the five points of a face with those that SFace was trained on, and embeds the 112 x 112 pixels there
(`cv2.FaceDetectorYN`, `cv2.FaceRecognizerSF`). OpenCV's tutorial (doc/tutorials/dnn/dnn_face) takes two photographs to
show one person from a cosine of 0.363 on, with 99.6 % right on LFW. YuNet was trained on faces of 10 to 300 pixels
(opencv_zoo): faces are detected in a picture scaled down to `longest_side`, and embedded from the picture itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edit_eval.errors import LoadError, ModelError
from edit_eval.judges.contract import JudgeRequest, MeasuredValue
from edit_eval.pretrained import folders
from edit_eval.pretrained.loading import library_versions
from edit_eval.records import Reply

if TYPE_CHECKING:
    from PIL.Image import Image

BOX, POINTS = slice(0, 4), slice(4, 14)
"""Parts of a row from the detector: left, top, width, height; x and y of eyes, nose and corners of the mouth."""


class FaceMetrics:
    """Measures whether faces are kept, and whether the largest is the same person's, with models given by path."""

    @dataclass
    class Parameters:
        detector: str = field(metadata={"in_key": False})
        """YuNet, a file of opencv_zoo: face_detection_yunet_2023mar.onnx."""
        embedder: str = field(metadata={"in_key": False})
        """SFace, a file of opencv_zoo: face_recognition_sface_2021dec.onnx."""
        least_score: float = 0.9
        """How sure the detector has to be that something is a face, 0 to 1."""
        longest_side: int = 640
        """Pixels of the longer side to which a larger picture is scaled before faces are looked for."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._detector: Any = None
        self._embedder: Any = None

    @staticmethod
    def measures(parameters: Parameters) -> dict[str, MeasuredValue]:
        """Returns scale and needs of every value; the first is the headline."""
        needs = ["source", "edit"]
        of_a_face: MeasuredValue = {"needs": needs, "where": "source_faces"}
        return {
            "face_identity": {"lowest": -1.0, "highest": 1.0, "higher_is_better": True, **of_a_face},
            "face_lost": {"lowest": 0.0, "highest": 1.0, "higher_is_better": False, **of_a_face},
            "face_count_change": {"lowest": 0.0, "highest": None, "higher_is_better": False, "needs": needs},
        }

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Returns a digest of both files. Raises `ConfigurationError` if one is missing."""
        return folders.files_revision(detector=parameters.detector, embedder=parameters.embedder)

    def prepare(self) -> None:
        """Imports the libraries."""
        import cv2  # noqa: F401
        import numpy  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Loads both models on the CPU, ignoring `devices`. Raises `LoadError` if they are not such models."""
        import cv2
        import numpy

        cv2.setNumThreads(1)  # replicas share the machine
        path, model = self.parameters.detector, "YuNet"
        try:  # only outputs tell another model, so each is tried
            self._detector = cv2.FaceDetectorYN.create(
                os.path.expanduser(path), "", (320, 320), self.parameters.least_score
            )
            self._detector.detect(numpy.zeros((320, 320, 3), numpy.uint8))
            path, model = self.parameters.embedder, "SFace"
            self._embedder = cv2.FaceRecognizerSF.create(os.path.expanduser(path), "")
            self._embedder.feature(numpy.zeros((112, 112, 3), numpy.uint8))
        except cv2.error as error:
            raise LoadError(f"OpenCV {cv2.__version__} cannot use {path} as {model}: {error.err}") from error

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns the values of each request; the text says how many faces there are."""
        if self._embedder is None:
            raise LoadError("the judge is not loaded: call load(devices) first")
        return [self._measure_faces(request) for request in requests]

    def about(self) -> dict[str, str]:
        """Returns versions."""
        return library_versions("opencv-python-headless", "opencv-python", "numpy", "pillow")

    def _measure_faces(self, request: JudgeRequest) -> Reply:
        if lacking := next((name for name in ("source", "edit") if name not in request.pictures), ""):
            raise ModelError(f"face_metrics compares pictures; it was not given the picture `{lacking}`")
        source, edit = (self._embed_faces(request.pictures[name]) for name in ("source", "edit"))
        values = {"source_faces": float(len(source)), "face_count_change": float(abs(len(edit) - len(source)))}
        if not source:
            return Reply(text="no face in the source", values=values)
        values["face_lost"] = float(not edit)
        if not edit:
            return Reply(text="a face in the source, none in the edit", values=values)
        values["face_identity"] = min(
            1.0, max(-1.0, max(self._embedder.match(source[0], embedding) for embedding in edit))
        )
        return Reply(text=f"faces: {len(source)} in the source, {len(edit)} in the edit", values=values)

    def _embed_faces(self, picture: Image) -> list[Any]:
        """Returns an embedding of each face, the largest first."""
        import numpy

        factor = min(1.0, self.parameters.longest_side / max(picture.size))
        small = picture.resize([max(1, round(length * factor)) for length in picture.size])
        self._detector.setInputSize(small.size)
        _, faces = self._detector.detect(_pixels(small))
        pixels, embeddings = _pixels(picture), []
        for face in sorted([] if faces is None else faces, key=lambda face: -float(face[BOX][2] * face[BOX][3])):
            stretch = numpy.divide(picture.size, small.size)
            face[POINTS] = (face[POINTS].reshape(5, 2) * stretch).ravel()
            embedding = self._embedder.feature(self._embedder.alignCrop(pixels, face)).copy()  # it reuses its memory
            if not numpy.isfinite(embedding).all() or not embedding.any():
                raise ModelError("the embedding of a face is not finite, or 0; is the embedder SFace?")
            embeddings.append(embedding)
        return embeddings


def _pixels(picture: Image) -> Any:
    """Returns pixels for OpenCV: (height, width, 3), blue first."""
    import numpy

    return numpy.ascontiguousarray(numpy.asarray(picture.convert("RGB"))[:, :, ::-1])
