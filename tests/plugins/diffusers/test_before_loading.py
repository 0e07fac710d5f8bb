"""What is refused and told of an edit model before anything is loaded: sources, cropping, licence, size, durations."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.known_weights import find_release
from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel
from edit_eval.plugins.lookup.components import description_document, print_description
from edit_eval.plugins.preparation import checks
from edit_eval.plugins.preparation.fitting import weights_of
from edit_eval.plugins.preparation.prediction import durations_of
from edit_eval.records import Picture, Sample
from imagined_tasks import make_plan

KLEIN, LONGCAT = "black-forest-labs/FLUX.2-klein-4B", "meituan-longcat/LongCat-Image-Edit"
JOY = "jdopensource/JoyAI-Image-Edit-Diffusers"


class Pairs:
    """A benchmark of one sample with two sources and a mask."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.folder = Path(parameters["folder"])
        self.names = parameters["pictures"]

    def samples(self) -> Iterator[Sample]:
        pictures = {}
        for number, name in enumerate(self.names):
            path = self.folder / f"{name}.png"
            Image.new("RGB", (64, 48), (40 * number, 90, 90)).save(path)
            pictures[name] = Picture(path=str(path), digest=hashlib.sha256(path.read_bytes()).hexdigest())
        yield Sample(id="pair", index=0, category="physical", pictures=pictures, instruction="Put one into the other.")


Load = Callable[..., Configuration]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    def configuration(name: str, *pictures: str, judge: str = "testing", **more: Any) -> Configuration:
        params = {"model_name": name, "device_ids": "cpu:1", **more.pop("params", {})}
        return load_configuration(
            {
                "benchmark": {
                    "class_path": f"{__file__}:Pairs",
                    "folder": str(tmp_path),
                    "pictures": list(pictures or ("source",)),
                },
                "diffusion_model": {"type": more.pop("type", "diffusers"), "params": params},
                "reward_model": {"type": judge, "params": {"device_ids": "cpu:1"}},
            }
        )

    return configuration


def experiment(configuration: Configuration) -> Experiment:
    return make_experiment(configuration, load_samples(configuration))


class TestRefusals:
    def test_more_sources_than_a_model_takes(self, load: Load) -> None:
        said = r"diffusers takes 1 source at most, and sample 0 \(pair\) has 2"
        with pytest.raises(ConfigurationError, match=said):
            experiment(load(LONGCAT, "source", "source_2"))
        assert len(experiment(load(KLEIN, "source", "source_2")).samples) == 1
        assert len(experiment(load(LONGCAT, "source", "reference")).samples) == 1
        with pytest.raises(ConfigurationError, match="qwen_image_edit takes 1 source at most"):
            experiment(load("Qwen/Qwen-Image-Edit", "source", "source_2", type="qwen_image_edit"))
        assert experiment(load("Qwen/Qwen-Image-Edit-2511", "source", "source_2", type="qwen_image_edit"))

    def test_what_is_measured_outside_of_a_mask_where_the_source_is_cropped(self, load: Load) -> None:
        with pytest.raises(ConfigurationError, match=r"diffusers crops its sources, so what picture_metrics measures"):
            experiment(load(JOY, "source", "mask", judge="picture_metrics"))
        assert experiment(load(JOY, "source", judge="picture_metrics"))
        assert experiment(load(JOY, "source", "mask"))
        assert experiment(load(KLEIN, "source", "mask", judge="picture_metrics"))

    def test_what_a_class_does_not_take(self, load: Load) -> None:
        with pytest.raises(ConfigurationError, match=r"guidance: .*has no true_cfg_scale; it has guidance"):
            experiment(load(KLEIN, params={"guidance": {"true_cfg_scale": 4.0}}))


class TestToldBefore:
    def test_doctor(self, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "probe", lambda question: {"python": "3.11", "libraries": {}, "needs": []})
        lines = [
            finding.sentence
            for finding in checks.examine(load("black-forest-labs/FLUX.2-dev"))
            if finding.area == "models"
        ]
        (card,) = (line for line in lines if "Flux2Pipeline" in line)
        for said in ("FLUX.2-dev, non-commercial", "have to be accepted", "50 steps", "first source's size", "off"):
            assert said in card
        assert any("it needs torchvision" in line for line in lines)
        assert any("the first one decides" in line for line in lines)
        (section,) = load("black-forest-labs/FLUX.2-dev").edit_models.values()
        assert weights_of(section, {"HF_HUB_CACHE": "/nowhere"}).stored == 112e9

    def test_doctor_says_what_a_class_does_not_take(self, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "probe", lambda question: {"python": "3.11", "libraries": {}, "needs": []})
        findings = checks.examine(load(LONGCAT, params={"size": [64, 64]}))
        assert any(
            finding.stops and "size: LongCatImageEditPipeline takes none" in finding.sentence for finding in findings
        )

    def test_plan_takes_published_durations_and_tells_the_card(self, load: Load) -> None:
        configuration = load("Qwen/Qwen-Image-Edit-2511")
        assert durations_of(configuration, None)["edit:diffusers"].unit == pytest.approx(80 * 0.5 + 1.2)
        own = load("Qwen/Qwen-Image-Edit", type="qwen_image_edit", params={"num_inference_steps": 8})
        assert durations_of(own, None)["edit:qwen_image_edit"].unit == pytest.approx(16 * 0.5 + 1.2)
        notes = make_plan(configuration, None, gpus=1, samples=1).notes
        assert any("QwenImageEditPlusPipeline: licence: Apache-2.0" in note for note in notes)
        assert "edit:diffusers" not in durations_of(load(KLEIN), None)

    def test_what_sets_a_model_apart_is_its_note(self) -> None:
        def note(name: str, **more: Any) -> str:
            return DiffusersModel.card(DiffusersModel.Parameters(name, **more))["note"]

        assert note(KLEIN) == ""
        assert "the source is cropped" in note(JOY)
        rewritten = note("black-forest-labs/FLUX.2-dev", call={"caption_upsample_temperature": 0.15})
        assert rewritten == "prompts are rewritten before the edit (caption_upsample_temperature)"
        assert "NewPipeline is not in the table" in note("someone/new", pipeline="NewPipeline")

    def test_describe_lists_the_models_that_are_known_by_name(self) -> None:
        (component,) = description_document("diffusers")["components"]
        assert {KLEIN, LONGCAT, JOY} <= {preset["model_name"] for preset in component["presets"]}
        file = io.StringIO()
        print_description("diffusers", console=Console(file=file, width=400, _environ={}))
        line = next(line for line in file.getvalue().splitlines() if line.strip().startswith(KLEIN))
        assert "licence: Apache-2.0" in line
        assert "steps: 4" in line

    def test_sizes_are_published_where_all_large_parts_are_known(self) -> None:
        assert find_release(KLEIN).parts == {"transformer": 4.0, "text_encoder": 4.0}
        assert not find_release("nvidia/ChronoEdit-14B-Diffusers").parts, "of its text encoder nothing is known"
