"""An edit model's folder from a stranger: pickles in it are not opened, and programs in it are not run."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest

from edit_eval.errors import LoadError
from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit

pytestmark = pytest.mark.real_models


class Evil:
    """What a pickle may do when it is read."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.canary), "w")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("diffusers")
    from tiny_models import build

    return build(tmp_path_factory.mktemp("models"), ["qwen-image-edit"])["qwen-image-edit"]


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def load(folder: Path) -> None:
    QwenImageEdit(QwenImageEdit.Parameters(model_name=str(folder), dtype="float32")).load(["cpu"])


@pytest.mark.parametrize(
    ("part", "name"), [("transformer", "diffusion_pytorch_model.bin"), ("text_encoder", "pytorch_model.bin")]
)
def test_a_pickle_is_not_opened(folder: Path, tmp_path: Path, part: str, name: str) -> None:
    """Not even by a library that would take care: it is said that there are no safetensors."""
    canary = tmp_path / "was run"
    for weights in (folder / part).glob("*.safetensors*"):
        weights.unlink()
    (folder / part / name).write_bytes(pickle.dumps({"weight": Evil(canary)}, protocol=2))
    with pytest.raises(LoadError, match="safetensors"):
        load(folder)
    assert not canary.exists()
    pickle.loads((folder / part / name).read_bytes())["weight"].close()
    assert canary.exists(), "and it would have done something"


def test_a_program_beside_the_weights_is_not_run(folder: Path, tmp_path: Path) -> None:
    canary = tmp_path / "was run"
    program = f"open({str(canary)!r}, 'w')\nclass Evil: pass\n"
    for part in ("transformer", "text_encoder"):
        (folder / part / "evil.py").write_text(program)
        path = folder / part / "config.json"
        config = json.loads(path.read_text())
        config["auto_map"] = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForCausalLM"), "evil.Evil")
        path.write_text(json.dumps(config))
    (folder / "evil.py").write_text(program)
    load(folder)
    path = folder / "model_index.json"
    index = json.loads(path.read_text())
    index["transformer"] = ["evil", "Evil"]
    path.write_text(json.dumps(index))
    with pytest.raises((LoadError, ImportError)):
        load(folder)
    assert not canary.exists()
