"""Every wrong key, type, value and path is one readable line: golden, since people read them (golden_errors.yaml)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.config.loading import load_configuration
from edit_eval.config.yaml_text import parse_ours
from edit_eval.errors import ConfigurationError

GOLDEN = parse_ours(Path(__file__).with_name("golden_errors.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['change']}={case.get('value', 'nothing')}")
def test_one_line(case: dict[str, Any], changed: Callable[..., str]) -> None:
    assert changed(*case["change"].split("."), case.get("value", ...)) == f"config.yaml: {case['line']}"


def test_no_line_is_longer_than_people_read() -> None:
    assert max(len(case["line"]) for case in GOLDEN) < 220


def test_several_faults_are_one_line_and_a_note_each(folder: Path) -> None:
    (folder / "bad.yaml").write_text(
        "benchmark: {class_path: own_models.Pairs, data_path: pairs.json, limit: many}\n"
        "diffusion_model: {class_path: 'own_models:Editor', params: {num_inference_steps: x, dtype: y}}\n"
        "judges:\n"
    )
    with pytest.raises(ConfigurationError) as caught:
        load_configuration("bad.yaml")
    assert str(caught.value) == (
        "bad.yaml: benchmark.limit: must be a whole number, not 'many' (and 3 more:"
        " diffusion_model.params.num_inference_steps, diffusion_model.params.dtype, judges)"
    )
    assert caught.value.__notes__ == [
        "bad.yaml: diffusion_model.params.num_inference_steps: must be a whole number, not 'x'",
        "bad.yaml: diffusion_model.params.dtype: must be `bfloat16` or `float16`, not 'y'",
        "bad.yaml: judges: no judge; give `reward_model` or `judges` (`judges: {}`: people look and vote)",
    ]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "bad.yaml: empty; a configuration is a mapping with the keys benchmark, "),
        (b"# nothing\n", "bad.yaml: empty; "),
        (b"- 1\n", "bad.yaml: holds [1]; a configuration is a mapping"),
        (b"just text\n", "bad.yaml: holds 'just text'; a configuration is a mapping"),
        ("a: é".encode("latin-1"), "bad.yaml:1: not UTF-8 (byte 3); save the file as UTF-8"),
        (b"a: 1\nb: 1\na: 2\n", "bad.yaml:3: `a` is given twice"),
        (
            b"[" + b"1," * (3 << 20) + b"]",
            "bad.yaml: larger than 4 MiB, so it is not a configuration; put the benchmark's file",
        ),
    ],
)
def test_files_that_are_no_configuration(folder: Path, data: bytes, line: str) -> None:
    (folder / "bad.yaml").write_bytes(data)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration("bad.yaml")
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("confg.yaml", "confg.yaml: no such file; nearest existing: config.yaml"),
        ("no/config.yaml", "no/config.yaml: no such file; the folder no does not exist"),
        (".", ".: is a folder; give the YAML file in it: config.yaml, e2.yaml, pipe.yaml"),
        (
            "nothere.yaml",
            "nothere.yaml: no such file; `edit-eval init` writes one, `edit-eval list` shows those to start from",
        ),
        ("pipe.yaml", "pipe.yaml: is a pipe or a device, not a file; save the YAML as a file"),
        ("/dev/null", "/dev/null: is a pipe or a device, not a file; save the YAML as a file"),
    ],
)
def test_paths_that_are_no_configuration(folder: Path, path: str, line: str) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "e2.yaml").touch()
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    "key", ["api_key", "apikey", "OPENAI_API_KEY", "hf_token", "token", "password", "client_secret", "secret-key"]
)
def test_a_secret_is_refused_and_never_repeated(folder: Path, key: str) -> None:
    for source, overrides in (
        ({"reward_model": {"params": {key: "sk-CANARY"}}, "execution": {"pilot": 3}}, ()),
        ("config.yaml", (f"reward_model.params.{key}=sk-CANARY", "execution.pilot=3")),
        ({"reward_model": {"params": {"headers": [{key: ["sk-CANARY"]}]}}}, ()),
        ({"reward_model": {"params": {"base_url": "https://me:sk-CANARY@host/v1"}}}, ()),
    ):
        with pytest.raises(ConfigurationError, match="do not put secrets") as caught:
            load_configuration(source, overrides=overrides)
        assert "CANARY" not in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize("key", ["max_new_tokens", "pad_token", "api_key_env", "tokenizer", "secretary"])
def test_what_only_resembles_a_secret_is_an_ordinary_key(folder: Path, key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration("config.yaml", overrides=[f"diffusion_model.params.{key}=x"])
    assert str(caught.value).startswith(f"--set diffusion_model.params.{key}: unknown key")


@pytest.mark.parametrize("path", ["x" * 5000, "a/" * 3000, "/root/.ssh/x", "\0", "file:///x", "~nobody/x", " "])
def test_paths_that_cannot_be(folder: Path, path: str) -> None:
    for key, value in (
        ("benchmark.data_path", path),
        ("diffusion_model.params.python", path + "/python"),
        ("diffusion_model.class_path", path + ".py:Class"),
    ):
        raw = yaml.safe_load((folder / "config.yaml").read_text())
        *keys, last = key.split(".")
        target = raw
        for step in keys:
            target = target[step]
        target[last] = value
        with pytest.raises(ConfigurationError, match=f"^configuration: {key}: (no such file|`.*` is not a class path)"):
            load_configuration(raw)
    with pytest.raises(ConfigurationError, match=r"no such file|is a directory|cannot be read"):
        load_configuration(path)


def test_nothing_is_written_and_nothing_heavy_imported(folder: Path) -> None:
    (folder / "qwen.yaml").write_text(
        "benchmark: {data_path: pairs.json}\ndiffusion_model: {type: qwen_image_edit}\nreward_model: {type: qwen3_vl}\n"
    )
    before = sorted(folder.rglob("*"))
    code = (
        "import sys; from edit_eval.config.loading import load_configuration as load;"
        "load('config.yaml'); load('qwen.yaml');"
        "print({'torch', 'diffusers', 'transformers', 'numpy', 'scipy', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert sorted(folder.rglob("*")) == before
