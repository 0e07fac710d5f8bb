"""Embeddings of real encoder classes with tiny weights, against what the library itself makes of the same files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from edit_eval.errors import ConfigurationError, LoadError, ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.metrics.in_worker.embedding_metrics import EmbeddingMetrics
from judges.tiny_encoders import build
from late_imports import Late

torch = Late("torch")
library = Late("transformers")

pytestmark = pytest.mark.real_models
NAMES = ("clip", "dinov2", "dino")


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("encoders"))


def loaded(folder: Path, **parameters: Any) -> EmbeddingMetrics:
    judge = EmbeddingMetrics(EmbeddingMetrics.Parameters(model_name=str(folder), **parameters))
    judge.prepare()
    judge.load(["cpu"])
    return judge


def picture(colour: str, at: int, size: tuple[int, int] = (48, 64)) -> Image.Image:
    made = Image.new("RGB", size, colour)
    ImageDraw.Draw(made).ellipse((at, 16, at + 24, 44), fill="white", outline="black")
    return made


def request(edit: Image.Image, user: str = "", **pictures: Image.Image) -> JudgeRequest:
    return JudgeRequest(user=user, pictures={**pictures, "edit": edit}, form="measured", sample_id="s")


def features(folder: Path, made: Image.Image) -> Any:
    """What the library's own classes give, called as its documentation calls them."""
    processor = library.AutoImageProcessor.from_pretrained(folder, backend="pil")
    inputs = processor(images=made, return_tensors="pt")
    with torch.no_grad():
        if folder.name == "clip":
            model = library.CLIPModel.from_pretrained(folder)
            return model.visual_projection(model.vision_model(**inputs).pooler_output)[0]
        kind = library.ViTModel if folder.name == "dino" else library.Dinov2Model
        return kind.from_pretrained(folder)(**inputs).last_hidden_state[0, 0]


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / first.norm() / second.norm())


@pytest.mark.parametrize("name", NAMES)
class TestEveryEncoder:
    def test_the_cosine_is_the_librarys_own(self, name: str, encoders: Path) -> None:
        source, edit = picture("red", 4), picture("green", 20)
        (reply,) = loaded(encoders / name).judge([request(edit, source=source)])
        wanted = cosine(features(encoders / name, source), features(encoders / name, edit))
        assert reply.values == {"image_similarity": pytest.approx(wanted, abs=1e-5)}
        assert reply.values["image_similarity"] < 0.999
        assert reply.text == "against the source"

    def test_a_picture_is_like_itself(self, name: str, encoders: Path) -> None:
        made = picture("blue", 10)
        (reply,) = loaded(encoders / name).judge([request(made, source=made)])
        assert reply.values["image_similarity"] == pytest.approx(1)
        assert reply.values["image_similarity"] <= 1

    def test_a_batch_of_many_sizes_is_each_alone(self, name: str, encoders: Path) -> None:
        judge = loaded(encoders / name)
        requests = [
            request(picture("red", at, (40 + at, 90 - at)), source=picture("navy", 30 - at)) for at in range(0, 24, 6)
        ]
        together = judge.judge(requests, inputs=judge.make_inputs(requests))
        for reply, asked in zip(together, requests, strict=True):
            alone = judge.judge([asked])[0]
            assert reply.values["image_similarity"] == pytest.approx(alone.values["image_similarity"], abs=1e-6)
        assert judge.judge([]) == []

    def test_a_reference_is_the_target(self, name: str, encoders: Path) -> None:
        made = picture("blue", 10)
        (reply,) = loaded(encoders / name).judge([request(made, source=picture("red", 0), reference=made)])
        assert reply.values["image_similarity"] == pytest.approx(1)
        assert reply.text == "against the reference"

    def test_the_middle_of_the_scaled_picture(self, name: str, encoders: Path) -> None:
        """As torchvision's `Resize(40)` and `CenterCrop`: 48 x 64 becomes 40 x 53, of which the middle is kept."""
        edit, source = picture("green", 20), picture("red", 4)
        judge = loaded(encoders / name, short_side=40)
        (reply,) = judge.judge([request(edit, source=source)])
        side = judge._side
        left, top = round((40 - side) / 2), round((53 - side) / 2)
        box = (left, top, left + side, top + side)
        first, second = (features(encoders / name, shown.resize((40, 53)).crop(box)) for shown in (source, edit))
        assert reply.values["image_similarity"] == pytest.approx(cosine(first, second), abs=1e-5)

    def test_it_can_be_loaded_in_16_bits(self, name: str, encoders: Path) -> None:
        edit, source = picture("green", 20), picture("red", 4)
        exact = loaded(encoders / name).judge([request(edit, source=source)])[0].values["image_similarity"]
        judge = loaded(encoders / name, dtype="bfloat16")
        assert judge.about()["dtype"] == "bfloat16"
        rough = judge.judge([request(edit, source=source)])[0].values["image_similarity"]
        assert rough != exact
        assert rough == pytest.approx(exact, abs=0.05)


class TestText:
    def test_the_cosine_is_the_librarys_own(self, encoders: Path) -> None:
        edit, folder = picture("green", 20), encoders / "clip"
        judge = loaded(folder, text_similarity=True)
        replies = judge.judge([request(edit, "a hat", source=edit), request(edit, "a dog", source=edit)])
        model, tokenizer = library.CLIPModel.from_pretrained(folder), library.CLIPTokenizer.from_pretrained(folder)
        for words, reply in zip(("a hat", "a dog"), replies, strict=True):
            with torch.no_grad():
                pooled = model.text_model(**tokenizer(words, return_tensors="pt")).pooler_output
                text = model.text_projection(pooled)[0]
            assert reply.values["text_similarity"] == pytest.approx(cosine(text, features(folder, edit)), abs=1e-5)
        assert replies[0].values["text_similarity"] != pytest.approx(replies[1].values["text_similarity"])

    def test_without_a_caption_there_is_none(self, encoders: Path) -> None:
        edit = picture("green", 20)
        assert {*loaded(encoders / "clip", text_similarity=True).judge([request(edit, source=edit)])[0].values} == {
            "image_similarity"
        }
        told = loaded(encoders / "clip").judge([request(edit, "a hat", source=edit)])
        assert {*told[0].values} == {"image_similarity"}

    def test_a_caption_that_is_too_long_is_cut_off_and_says_so(self, encoders: Path) -> None:
        edit, judge = picture("green", 20), loaded(encoders / "clip", text_similarity=True)
        long, longer = judge.judge([request(edit, "a hat " * count, source=edit) for count in (30, 31)])
        assert long.values == longer.values
        assert long.text == "against the source; the caption was cut off: it is too long for the encoder"

    def test_an_encoder_without_texts_is_refused(self, encoders: Path) -> None:
        with pytest.raises(LoadError, match=r"text_similarity: .*\(Dinov2Model\) does not embed text"):
            loaded(encoders / "dinov2", text_similarity=True)


class TestLoading:
    def test_what_decides_the_numbers_is_in_the_revision(self, encoders: Path, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(encoders / "dinov2", tmp_path / "copy"))
        original, copied = (
            EmbeddingMetrics.Parameters(model_name=str(folder)) for folder in (encoders / "dinov2", copy)
        )
        assert EmbeddingMetrics.revision(original) == EmbeddingMetrics.revision(copied)
        settings = json.loads((copy / "preprocessor_config.json").read_text())
        (copy / "preprocessor_config.json").write_text(json.dumps({**settings, "do_center_crop": False}))
        assert EmbeddingMetrics.revision(original) != EmbeddingMetrics.revision(copied)
        with pytest.raises(ConfigurationError, match="there is no folder"):
            EmbeddingMetrics.revision(EmbeddingMetrics.Parameters(model_name="./nowhere"))
        hub = EmbeddingMetrics.Parameters(model_name="a/b", revision="main")
        assert EmbeddingMetrics.revision(hub) == "main"

    def test_missing_weights_are_no_random_numbers(self, encoders: Path, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        copy = Path(shutil.copytree(encoders / "dinov2", tmp_path / "copy"))
        weights = load_file(copy / "model.safetensors")
        weights.pop(next(name for name in weights if name.endswith("patch_embeddings.projection.weight")))
        save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(LoadError, match="1 weights are missing"):
            loaded(copy)

    @pytest.mark.parametrize(
        ("broken", "words"), [("config.json", "has no config.json"), ("preprocessor_config.json", "")]
    )
    def test_a_folder_that_lacks_a_file(self, broken: str, words: str, encoders: Path, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(encoders / "clip", tmp_path / "copy"))
        (copy / broken).unlink()
        with pytest.raises(LoadError, match=words or str(copy)):
            loaded(copy)

    def test_what_is_recorded(self, encoders: Path) -> None:
        about = loaded(encoders / "dino").about()
        assert (about["model"], about["embedding"], about["dtype"]) == ("ViTModel", "class token", "float32")
        assert loaded(encoders / "clip").about()["embedding"] == "common space"

    def test_it_is_not_asked_before_it_is_loaded_or_without_pictures(self, encoders: Path) -> None:
        made = picture("red", 0)
        with pytest.raises(LoadError, match="not loaded"):
            EmbeddingMetrics(EmbeddingMetrics.Parameters()).judge([request(made, source=made)])
        judge = loaded(encoders / "clip")
        with pytest.raises(ModelError, match="not given the picture `source`"):
            judge.judge([request(made)])
        with pytest.raises(ModelError, match="not given the picture `edit`"):
            judge.judge([JudgeRequest(user="", pictures={"source": made})])

    def test_a_dtype_that_does_not_exist(self) -> None:
        with pytest.raises(ValueError, match="dtype: 'float8' is none of"):
            EmbeddingMetrics.Parameters(dtype="float8")
