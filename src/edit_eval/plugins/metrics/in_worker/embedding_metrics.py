"""`embedding_metrics`: similarity of two pictures, or a picture and a text, by a pretrained encoder.

Cosines of embeddings, -1 to 1:

| value              | of what                                                                                    |
|--------------------|--------------------------------------------------------------------------------------------|
| `image_similarity` | the edit and the sample's `reference`, else its `source`                                   |
| `text_similarity`  | the edit and the sample's `target_caption`, if it has one (with `text_similarity: true`)    |

One encoder per judge: any model that transformers loads with `AutoModel` and `AutoImageProcessor`. If it has a common
space for pictures and texts (CLIP, SigLIP), the embedding in that space is used, else (DINO, DINOv2) the class token
after the last norm. The encoder's own files determine how a picture is scaled and cropped: most keep only a square from
its middle.

Metrics that benchmarks report, each a judge of its own:

| name   | encoder                      | source                                                                   |
|--------|------------------------------|--------------------------------------------------------------------------|
| CLIP-I | openai/clip-vit-base-patch32 | MagicBrush: OSU-NLP-Group/MagicBrush@44745b5, evaluation/image_eval.py   |
| CLIP-T | openai/clip-vit-base-patch32 | the same, `eval_clip_t`                                                  |
| DINO   | facebook/dino-vits16         | the same, with `short_side: 256`: its own file squeezes all of it        |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from edit_eval.errors import LoadError, ModelError
from edit_eval.judges.contract import JudgeRequest, MeasuredValue
from edit_eval.plugins.metrics.in_worker.picture_metrics import target_of
from edit_eval.pretrained import folders
from edit_eval.pretrained.loading import (
    DTYPES,
    check_complete,
    check_value,
    dtype_named,
    library_versions,
    load_errors,
    prepare_devices,
    runs_on_cpu,
)
from edit_eval.pretrained.processors import IMAGE_BACKEND
from edit_eval.records import Reply

if TYPE_CHECKING:
    from PIL.Image import Image

COSINE: MeasuredValue = {"lowest": -1.0, "highest": 1.0, "higher_is_better": True}
KIND = "an encoder that transformers knows"
_target = partial(target_of, judge="embedding_metrics")


class EmbeddingMetrics:
    """Measures the similarity of embeddings (CLIP, SigLIP, DINO, DINOv2): edit and reference, edit and caption."""

    @dataclass
    class Parameters:
        model_name: str = "openai/clip-vit-base-patch32"
        """A folder, or a name on the Hugging Face Hub."""
        revision: str | None = None
        """Branch, tag or commit on the Hub."""
        dtype: str = "float32"
        """bfloat16, float16, float32, or auto: as the weights are stored."""
        text_similarity: bool = False
        """Compare the edit with the sample's `target_caption`, too; for an encoder of pictures and texts."""
        short_side: int = 0
        """Scale the short side to this many pixels (bicubic), and keep the square in the middle that the encoder reads;
        0: as the encoder's own file says."""

        def __post_init__(self) -> None:
            check_value("dtype", self.dtype, (*DTYPES, "auto"))

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._model: Any = None
        self._images: Any = None
        self._tokenizer: Any = None
        self._side = 0
        self._device = "cpu"
        self._about: dict[str, str] = {}

    @staticmethod
    def measures(parameters: Parameters) -> dict[str, MeasuredValue]:
        """Returns scale and needs of every value; the first is the headline."""
        measures: dict[str, MeasuredValue] = {"image_similarity": {**COSINE, "needs": ["edit"]}}
        if parameters.text_similarity:
            measures["text_similarity"] = {**COSINE, "needs": ["edit", "target_caption"]}
        return measures

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Returns what, besides the parameters, fixes the numbers: a local folder's digest, or the Hub's revision."""
        return folders.revision(parameters.model_name, parameters.revision)

    def prepare(self) -> None:
        """Imports what loading needs, while another model may still use the device."""
        with load_errors(self.parameters.model_name):
            import torch  # noqa: F401
            from transformers import AutoImageProcessor, AutoModel, AutoTokenizer  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Loads the encoder onto the first of `devices`. Raises `LoadError`; passes on out-of-memory errors."""
        parameters, name = self.parameters, self.parameters.model_name
        with load_errors(name):
            location = folders.locate(name, parameters.revision, "config.json", KIND)
            prepare_devices(devices, "none")
            from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

            model, report = AutoModel.from_pretrained(
                location.name, dtype=dtype_named(parameters.dtype), output_loading_info=True, **location.keywords
            )
            check_complete(_ignore_pooler(report, model), location.name)
            self._images = AutoImageProcessor.from_pretrained(location.name, backend=IMAGE_BACKEND, **location.keywords)
            if parameters.text_similarity:
                if not hasattr(model, "get_text_features"):
                    kind = type(model).__name__
                    raise LoadError(f"text_similarity: {name} ({kind}) does not embed text; use a CLIP or a SigLIP")
                self._tokenizer = AutoTokenizer.from_pretrained(location.name, **location.keywords)
        self._side = int(getattr(model.config, "vision_config", model.config).image_size)
        self._device = "cpu" if runs_on_cpu(devices) else devices[0]
        self._model = model.eval().to(self._device)
        self._about = {
            "model": type(model).__name__,
            "commit": location.commit,
            "dtype": parameters.dtype,
            "embedding": "common space" if hasattr(model, "get_image_features") else "class token",
            "image_processor": type(self._images).__name__,
            **library_versions("torch", "transformers", "safetensors", "tokenizers", "pillow"),
        }

    def make_inputs(self, requests: Sequence[JudgeRequest]) -> list[Any]:
        """Returns the encoder's input pixels of each target followed by each edit: float32, on the host."""
        targets = [request.pictures[_target(request)] for request in requests]
        edits = [request.pictures["edit"] for request in requests]
        return [self._pixels(picture) for picture in (*targets, *edits)]

    def judge(self, requests: Sequence[JudgeRequest], inputs: Any = None) -> list[Reply]:
        """Returns the values of each request; `inputs` comes from `make_inputs` for these requests."""
        import torch

        if self._model is None:
            raise LoadError("the judge is not loaded: call load(devices) first")
        if not requests:
            return []
        inputs = self.make_inputs(requests) if inputs is None else inputs
        with torch.inference_mode():
            embedded = self._embed_pixels(torch.stack(inputs))
            targets, edits = embedded.chunk(2)
            alike = _cosines(targets, edits)
            replies = []
            for request, similarity, edit in zip(requests, alike, edits, strict=True):
                values, words = {"image_similarity": similarity}, f"against the {_target(request)}"
                if self._tokenizer is not None and request.user.strip():
                    text, cut = self._text(request.user)
                    values["text_similarity"] = _cosines(text, edit[None])[0]
                    words += "; the caption was cut off: it is too long for the encoder" if cut else ""
                replies.append(Reply(text=words, values=values))
        return replies

    def about(self) -> dict[str, str]:
        """Returns versions, the model's class, the kind of its embedding, the commit of the weights."""
        return dict(self._about)

    def _pixels(self, picture: Image) -> Any:
        picture = picture.convert("RGB")
        if self.parameters.short_side:
            picture = _middle(picture, self.parameters.short_side, self._side)
        return self._images(images=picture, return_tensors="pt")["pixel_values"][0]

    def _embed_pixels(self, pixels: Any) -> Any:
        """Maps (pictures, 3, height, width) to (pictures, width of the embedding), in 64 bits."""
        pixels = pixels.to(self._device, self._model.dtype)
        if hasattr(self._model, "get_image_features"):
            embeddings = _plain(self._model.get_image_features(pixel_values=pixels))
        else:
            embeddings = self._model(pixel_values=pixels).last_hidden_state[:, 0]
        if embeddings.ndim != 2:
            raise ModelError(
                f"{type(self._model).__name__} does not give an embedding of a picture, but {tuple(embeddings.shape)}"
            )
        return embeddings.double()

    def _text(self, text: str) -> tuple[Any, bool]:
        """Returns (1, width of the embedding), and whether the text was truncated to what the encoder reads."""
        limit = self._model.config.text_config.max_position_embeddings
        tokens = self._tokenizer(text, truncation=True, max_length=limit, padding="max_length", return_tensors="pt")
        embedded = _plain(self._model.get_text_features(**tokens.to(self._device))).double()
        return embedded, len(self._tokenizer(text)["input_ids"]) > limit


def _middle(picture: Image, short: int, side: int) -> Image:
    """Scales the short side to `short` pixels (bicubic), and crops the central square of `side` pixels."""
    from PIL import Image as Images

    width, height = (int(short * length / min(picture.size)) for length in picture.size)
    left, top = round((width - side) / 2), round((height - side) / 2)
    return picture.resize((width, height), Images.Resampling.BICUBIC).crop((left, top, left + side, top + side))


def _ignore_pooler(report: Mapping[str, Any], model: Any) -> Mapping[str, Any]:
    """Returns what loading reports; of missing weights all but the unused pooler, which DINO's files lack."""
    if hasattr(model, "get_image_features"):
        return report
    missing = [key for key in report.get("missing_keys") or () if not key.startswith("pooler.")]
    return {**report, "missing_keys": missing}


def _plain(features: Any) -> Any:
    """transformers 4 returns the tensor, transformers 5 wraps it."""
    return getattr(features, "pooler_output", features)


def _cosines(ones: Any, others: Any) -> list[float]:
    import torch

    cosines = torch.nn.functional.cosine_similarity(ones, others).clamp(-1, 1)
    if not torch.isfinite(cosines).all():
        raise ModelError("the embedding of a picture is not finite; try `dtype: float32`")
    return [float(cosine) for cosine in cosines]
