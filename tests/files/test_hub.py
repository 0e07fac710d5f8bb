"""Data on a hub, through the real `huggingface_hub`: the cache, and each way in which there is no data."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.config.components import import_class
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError, EditEvalError, Stopped
from edit_eval.files.addresses import is_address
from edit_eval.files.hub import Repository, fetch_model, local_path, snapshot
from edit_eval.files.user_cache import cache_folder
from edit_eval.workers.model_class import make_parameters
from small_hub import SmallHub

constants = pytest.importorskip("huggingface_hub.constants")
FILES = {"data/a.parquet": b"a" * 1000, "data/b.parquet": b"b" * 1000, "README.md": b"# data"}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    with SmallHub() as server:
        server.stands_in(monkeypatch, tmp_path / "hub")
        yield server


def parquet(address: str) -> Path:
    return local_path(address, ("*.parquet",))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


class TestWhatIsThere:
    def test_only_what_is_wanted_is_downloaded_and_a_second_use_asks_for_no_data(self, hub: SmallHub) -> None:
        commit = hub.put("o/n", FILES)
        folder = parquet("hub:o/n")
        assert (folder.name, names(folder)) == (commit, ["data/a.parquet", "data/b.parquet"])
        assert len(hub.asked_for_data) == 2
        hub.asked.clear()
        assert parquet("hub:o/n") == folder
        assert hub.asked_for_data == []

    def test_a_commit_needs_seven_digits_and_no_network_once_it_is_there(
        self, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = hub.put("o/n", FILES)
        hub.put("o/n", {"data/a.parquet": b"new"})
        folder = parquet(f"hub:o/n@{old[:7]}")
        assert (folder.name, (folder / "data/a.parquet").read_bytes()) == (old, FILES["data/a.parquet"])
        hub.asked.clear()
        monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        assert parquet(f"hub:o/n@{old[:7]}") == parquet(f"hf://datasets/o/n@{old}") == folder
        assert hub.asked_for_data == []

    def test_one_file_or_folder_of_it(self, hub: SmallHub) -> None:
        hub.put("o/n", FILES)
        assert parquet("hub:o/n/data/b.parquet").read_bytes() == FILES["data/b.parquet"]
        assert names(parquet("hub:o/n/data").parent) == ["data/a.parquet", "data/b.parquet"]
        with pytest.raises(ConfigurationError, match=r"o/n does not contain data/c\.parquet"):
            parquet("hub:o/n/data/c.parquet")

    def test_a_model(self, hub: SmallHub) -> None:
        hub.put("o/m", {"config.json": b"{}", "m.bin": b"x"}, kind="models")
        folder = snapshot(Repository("o/m", kind="model"), ["*"], "model_name", ignored=["*.bin"])
        assert names(folder) == ["config.json"]

    def test_of_a_models_files_only_what_loading_reads(self, hub: SmallHub) -> None:
        index = json.dumps({"_class_name": "P", "vae": ["diffusers", "A"], "scheduler": [None, None]}).encode()
        files = {"model_index.json": index, "all.safetensors": b"x", "vae/a.safetensors": b"x", "vae/a.bin": b"x"}
        hub.put("o/pipeline", files, kind="models")
        assert names(fetch_model(Repository("o/pipeline", kind="model"), "m")) == [
            "model_index.json",
            "vae/a.safetensors",
        ]
        hub.put("o/old", {"config.json": b"{}", "m.bin": b"x", "m.h5": b"x"}, kind="models")
        assert names(fetch_model(Repository("o/old", kind="model"), "m")) == ["config.json", "m.bin"]

    def test_a_path_is_taken_as_it_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert local_path("a/b.parquet") == tmp_path / "a/b.parquet"
        assert not is_address("a/b.parquet")

    @pytest.mark.parametrize(
        "address", ["hub:o", "hub:o/n@", "hub:o/../n", "hf://o/n", "hub:o/n@a@b", "hub:o/n/../x", "hub:../x"]
    )
    def test_an_address_is_written_in_one_way(self, address: str) -> None:
        with pytest.raises(ConfigurationError, match="is not a Hub address; write hub:OWNER/NAME@REVISION"):
            local_path(address)


@pytest.mark.parametrize("name", ["gedit", "imgedit", "risebench", "magicbrush", "picabench", "wiseedit"])
def test_a_benchmark_lies_on_the_hub_and_its_construction_asks_for_nothing(
    hub: SmallHub, tmp_path: Path, name: str
) -> None:
    written = tmp_path / "c.yaml"
    judge = "picture_metrics" if name == "magicbrush" else "testing"
    models = f"diffusion_model: {{type: testing}}\nreward_model: {{type: {judge}}}\n"
    written.write_text(f"benchmark: {{type: {name}, cache_dir: {tmp_path}}}\n{models}")
    section = load_configuration(written).benchmark
    cls = import_class("benchmark", section.class_path, tmp_path)
    benchmark = cls(make_parameters(cls, section.parameters))
    assert is_address(benchmark.parameters.data_path)
    assert hub.asked == []
    with pytest.raises(ConfigurationError, match=f"^benchmark.data_path: {hub.url} has no data set "):
        list(benchmark.samples())
    assert hub.asked


class TestWhatIsNot:
    @pytest.mark.parametrize(
        ("refuses", "error", "text"),
        [
            ((401, {"X-Error-Message": "Invalid credentials in Authorization header"}), ConfigurationError, "denies"),
            ((401, {"X-Error-Code": "GatedRepo"}), ConfigurationError, "accept its terms at"),
            ((403, {}), ConfigurationError, r"denies you access \(403\)"),
            ((429, {}), Stopped, "it answers 429.*run it again, or download it by hand: `hf download o/n --repo-type"),
            ((503, {}), Stopped, "it answers 503"),
        ],
    )
    def test_what_the_hub_says_is_one_line(
        self, hub: SmallHub, refuses: Any, error: type[EditEvalError], text: str
    ) -> None:
        hub.put("o/n", FILES)
        hub.refuses = refuses
        with pytest.raises(error, match=f"^benchmark.data_path: .*{text}") as caught:
            parquet("hub:o/n")
        assert "\n" not in str(caught.value)

    def test_no_such_repository_or_revision(self, hub: SmallHub) -> None:
        hub.put("o/n", FILES)
        with pytest.raises(ConfigurationError, match=r"has no data set o/x, or denies you access \(401\)"):
            parquet("hub:o/x")
        for gone in ("v9", "abcdef1", "a" * 40):
            with pytest.raises(ConfigurationError, match=f"o/n has no revision {gone}: it may have been deleted"):
                parquet(f"hub:o/n@{gone}")

    @pytest.mark.parametrize("name", ["o/.n", "o/n--m", "o/t", "o/u"])
    def test_a_name_that_cannot_be_is_not_tried_again(self, hub: SmallHub, name: str) -> None:
        hub.put("o/t", {"../a.parquet": b"a"})
        hub.put("o/u", {"data/../../a.parquet": b"a"})
        with pytest.raises(ConfigurationError, match=f"{name} cannot be downloaded") as caught:
            parquet(f"hub:{name}")
        assert "complete files are kept" not in str(caught.value)

    def test_a_cache_that_cannot_be_written(
        self, hub: SmallHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub.put("o/n", FILES)
        (tmp_path / "file").touch()
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
        with pytest.raises(ConfigurationError, match=r"file/hub cannot be written .* set HF_HOME"):
            parquet("hub:o/n")

    def test_half_a_file_is_none_and_the_rest_comes_later(self, hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
        hub.put("o/n", FILES)
        hub.half = True
        with pytest.raises(Stopped, match=r"did not send all of o/n .*; complete files are kept, so run it again"):
            parquet("hub:o/n")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(ConfigurationError, match="o/n is only partly in the cache"):
            parquet("hub:o/n")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        hub.half = False
        assert (parquet("hub:o/n") / "data/a.parquet").read_bytes() == FILES["data/a.parquet"]

    def test_without_a_network_it_says_what_to_fetch_and_where_to_put_it(
        self, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub.put("o/n", FILES)
        folder = parquet("hub:o/n")
        monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        assert parquet("hub:o/n") == folder
        with pytest.raises(
            ConfigurationError, match="cannot be reached: on a machine with a network, run `edit-eval fetch"
        ):
            parquet("hub:o/x@58159f3")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(ConfigurationError) as caught:
            parquet("hub:o/x@58159f3")
        assert str(caught.value) == (
            f"benchmark.data_path: o/x@58159f3 is not in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE "
            "forbids asking: on a machine with a network, run `edit-eval fetch CONFIG` with the same HF_HOME, or `hf "
            'download o/x --repo-type dataset --revision 58159f3 --include "*.parquet" --local-dir DIR` and give its '
            "folder as data_path"
        )


def test_fetched_where_there_is_a_network_and_run_where_there_is_none(tmp_path: Path) -> None:
    """By the environment alone, as a user has it: `fetch` through `HF_ENDPOINT`, then `run` with `HF_HUB_OFFLINE`."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as written

    picture, file = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (32, 24), "teal").save(picture, "PNG")
    rows = [{"image": {"bytes": picture.getvalue(), "path": "a.png"}, "prompt": f"Add {n} hats."} for n in range(3)]
    written.write_table(pyarrow.Table.from_pylist(rows), file)
    config = tmp_path / "c.yaml"
    config.write_text(
        "benchmark: hub:o/n@main\ndiffusion_model: {type: copy_source}\nreward_model: {type: testing}\n"
        "evaluation: {controls: 0}\nexecution: {pilot: false}\n"
    )
    own = {"HF_HOME": str(tmp_path / "hf"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")} | own

    def command(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "edit_eval", *words]
        return subprocess.run(line, cwd=tmp_path, env={**environment, **more}, capture_output=True, text=True)

    with SmallHub() as hub:
        commit = hub.put("o/n", {"data/train-00000-of-00001.parquet": file.getvalue(), "README.md": b"#"})
        refused = command("run", "c.yaml", HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="1")
        assert refused.returncode == 2
        assert "o/n@main is not in the cache" in refused.stderr
        assert "`edit-eval fetch CONFIG` with the same HF_HOME" in refused.stderr
        assert hub.asked == []
        fetched = command("fetch", "c.yaml", "--json", HF_ENDPOINT=hub.url)
        (benchmark,) = json.loads(fetched.stdout)
        assert (benchmark["what"], benchmark["name"]) == ("benchmark", "hub:o/n@main")
        assert benchmark["path"] == f"{own['HF_HOME']}/hub/datasets--o--n/snapshots/{commit}"
    evaluated = "from edit_eval import evaluate; print(evaluate('c.yaml', report=False).summary.coverage.scored)"
    made = subprocess.run(
        [sys.executable, "-c", evaluated],
        cwd=tmp_path,
        env={**environment, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert made.stdout == "3\n", made.stderr


@pytest.mark.parametrize("named", [None, "", "not/absolute"])  # a relative one is ignored, says the standard
def test_in_the_home(named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if named is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() == tmp_path / ".cache" / "edit-eval"


def test_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "edit-eval"
