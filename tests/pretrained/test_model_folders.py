from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.pretrained.folders import BLOCK_BYTES, BLOCKS, folder_digest, locate, revision


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "transformer").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "some"}))
    (folder / "transformer" / "weights.safetensors").write_bytes(bytes(range(256)) * 40)
    return folder


def test_a_changed_weight_changes_the_digest(model: Path) -> None:
    before = folder_digest(model)
    weights = model / "transformer" / "weights.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[5000] ^= 1
    weights.write_bytes(changed)
    assert folder_digest(model) != before


def test_names_sizes_and_new_files_count(model: Path) -> None:
    digests = {folder_digest(model)}
    (model / "transformer" / "weights.safetensors").rename(model / "transformer" / "other.safetensors")
    digests.add(folder_digest(model))
    (model / "empty.json").touch()
    digests.add(folder_digest(model))
    (model / "config.json").write_text("{}")
    digests.add(folder_digest(model))
    assert len(digests) == 4


def test_a_copy_has_the_same_digest_and_what_is_no_weight_does_not_count(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / "README.md").write_text("read me")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "download").write_text("x")
    assert folder_digest(copy) == folder_digest(model)


def test_a_large_file_is_read_in_part_and_from_end_to_end(model: Path) -> None:
    size = 8 * BLOCK_BYTES * BLOCKS
    large = model / "large.safetensors"
    large.write_bytes(bytes(size))
    before = folder_digest(model)
    for place in (0, size - 1, (size - BLOCK_BYTES) * 100 // (BLOCKS - 1) + 17):
        with large.open("r+b") as file:
            file.seek(place)
            file.write(b"\1")
        after = folder_digest(model)
        assert after != before, place
        before = after
    with large.open("r+b") as file:  # as training does: everywhere a little
        for start in range(0, size, BLOCK_BYTES):
            file.seek(start + 1234)
            file.write(b"\2")
    assert folder_digest(model) != before


def test_links_are_followed_once(model: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (model / "transformer").rename(elsewhere)
    (model / "transformer").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(model)
    before = folder_digest(model)
    (elsewhere / "weights.safetensors").write_bytes(b"other")
    assert folder_digest(model) != before


def test_revision_of_a_folder_and_of_a_name(model: Path) -> None:
    assert revision(str(model), None) == folder_digest(model)
    assert revision("Qwen/Qwen-Image-Edit", "abc") == "abc"
    assert revision("Qwen/Qwen-Image-Edit", None) == ""
    for nowhere in (str(model / "gone"), "./gone", "~/gone/at/all", "a/b/c"):
        with pytest.raises(ConfigurationError, match=r"^model_name: there is no folder /.*; give the folder of the"):
            revision(nowhere, None)


def test_a_folder_is_located_with_its_index(model: Path) -> None:
    location = locate(str(model), None, "config.json", "a model")
    assert (location.name, location.commit, location.index) == (str(model), "", {"model_type": "some"})
    assert location.keywords == {}


@pytest.mark.parametrize("name", ["/no/such/folder", "./nothing", "../nothing", "a/b/c", ""])
def test_a_missing_folder_is_one_line(name: str) -> None:
    with pytest.raises(LoadError, match=r"there is no folder /.*give the folder of a model") as caught:
        locate(name, None, "config.json", "a model")
    assert "\n" not in str(caught.value)


def test_a_folder_without_its_index_is_one_line(model: Path) -> None:
    with pytest.raises(LoadError, match=r"has no model_index\.json, so it is not a diffusers pipeline"):
        locate(str(model), None, "model_index.json", "a diffusers pipeline")
    (model / "model_index.json").write_text("{")
    with pytest.raises(LoadError, match="is not JSON"):
        locate(str(model), None, "model_index.json", "a diffusers pipeline")
    (model / "model_index.json").write_text("[]")
    with pytest.raises(LoadError, match="no JSON object"):
        locate(str(model), None, "model_index.json", "a diffusers pipeline")


class TestHub:
    """Against a cache of the Hub's own layout; nothing is asked of a network."""

    @pytest.fixture
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        constants = pytest.importorskip("huggingface_hub.constants")
        assert constants.HF_HUB_OFFLINE, "huggingface_hub was imported before conftest.py forbade it the network"
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        repository = tmp_path / "models--some--model"
        commit = "0123456789" * 4
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(commit)
        snapshot = repository / "snapshots" / commit
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text('{"model_type": "cached"}')
        return tmp_path

    def test_a_cached_model_is_found_without_a_network_and_its_commit_is_known(self, cache: Path) -> None:
        location = locate("some/model", None, "config.json", "a model")
        assert location.index == {"model_type": "cached"}
        assert location.keywords == {"revision": "0123456789" * 4}
        assert location.name == "some/model"

    def test_what_is_not_cached_is_one_line_that_says_what_to_do(self, cache: Path) -> None:
        with pytest.raises(LoadError, match="hf download other/model --revision v2") as caught:
            locate("other/model", "v2", "config.json", "a model")
        assert "\n" not in str(caught.value)
