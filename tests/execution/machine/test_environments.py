from __future__ import annotations

import ast
import base64
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from glob import glob
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import edit_eval
from edit_eval.config.placement import Placement
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine import environments
from edit_eval.execution.machine.environments import (
    conda_interpreter,
    interpreter,
    layers_zip,
    uv_folder,
    uv_interpreter,
    worker_command,
)
from edit_eval.plugins.lookup.environments import create_environment
from edit_eval.run import Run, evaluate

ROOT = Path(edit_eval.__file__).parent


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "edit-eval"


def model(**placement: Any) -> ModelSection:
    """A judge that is placed like this."""
    names = {key: f"judge.params.{key}" for key in placement}
    return ModelSection(name="j", type="", class_path="", placement=Placement(**placement), names=names)


def program(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# -- the zip that travels --


class TestLayersZip:
    def test_it_holds_the_layers_that_run_beside_a_model_and_nothing_else(self, cache: Path) -> None:
        path = layers_zip()
        assert path.parent == cache / "workers"
        names = {name.removeprefix("edit_eval/") for name in zipfile.ZipFile(path).namelist()}
        assert all(re.search(r"/in_worker/|/__init__\.py$", name) for name in names if name.startswith("plugins/"))
        tops = {name.partition("/")[0] for name in names if not name.startswith("plugins/")}
        assert tops == {
            *("workers", "edit_models", "judges", "benchmarks", "endpoints", "pretrained", "files"),
            *("__init__.py", "errors.py", "privacy.py", "json_values.py", "records.py", "text.py"),
            "masks.py",
            "pictures.py",
            "small_copies.py",
        }
        for top in tops:
            here = {p.relative_to(ROOT).as_posix() for p in [ROOT / top, *(ROOT / top).rglob("*.py")] if p.is_file()}
            assert here == {name for name in names if name.partition("/")[0] == top}

    def test_what_is_in_it_imports_at_module_level_only_what_every_environment_has(self) -> None:
        archive = zipfile.ZipFile(layers_zip())
        inside = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in archive.namelist()}
        for name in archive.namelist():
            tree = ast.parse(archive.read(name), name, feature_version=(3, 10))
            for node in tree.body:
                modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                for module in modules:
                    top = module.partition(".")[0]
                    allowed = top in sys.stdlib_module_names or top == "PIL" or module in inside
                    assert allowed, f"{name} imports {module}"

    def test_the_same_content_is_the_same_file(self) -> None:
        first = layers_zip()
        data = first.read_bytes()
        environments._archive.cache_clear()
        assert layers_zip() == first
        assert first.read_bytes() == data

    def test_one_that_was_cut_off_or_deleted_is_written_again(self) -> None:
        path = layers_zip()
        data = path.read_bytes()
        path.write_bytes(data[:1000])
        assert layers_zip().read_bytes() == data
        path.unlink()
        assert layers_zip().read_bytes() == data

    def test_a_cache_that_cannot_be_written_is_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with pytest.raises(ConfigurationError, match="XDG_CACHE_HOME") as caught:
            layers_zip()
        assert str(tmp_path / "file") in str(caught.value)

    def test_only_a_foreign_interpreter_gets_it(self) -> None:
        assert str(ROOT.parent) in worker_command(sys.executable)
        assert str(layers_zip()) in worker_command("/elsewhere/bin/python")


# -- a bare Python of another version --


def other_pythons() -> list[str]:
    """Interpreters 3.10 to 3.12 that are not this one: on the PATH, or among pyenv's."""
    pythons = [p for minor in (10, 12, 11) if (p := shutil.which(f"python3.{minor}"))]
    pyenv = os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"  # of another user perhaps, and closed
    pythons += [p for minor in (10, 12, 11) for p in sorted(glob(f"{pyenv}/versions/3.{minor}.*/bin/python"))]
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    working = []
    for python in pythons:
        said = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True)
        if said.returncode == 0 and said.stdout.decode().strip() != ours:
            working.append(python)
    return working


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter of another version, in an environment with nothing but Pillow."""
    pythons, uv = other_pythons(), environments.find_uv()
    if not pythons or not uv:
        pytest.skip("no Python 3.10 to 3.12 besides this one, or no uv")
    folder = tmp_path_factory.mktemp("bare") / "environment"
    variables = {**os.environ, **environments.uv_variables(os.environ)}
    for command in (
        [uv, "venv", "-q", "--python", pythons[0], str(folder)],
        [uv, "pip", "install", "-q", "--python", str(folder / "bin/python"), "pillow"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, env=variables)
        if done.returncode:
            pytest.skip(f"Pillow cannot be installed for {pythons[0]}: {done.stderr.strip()[-200:]}")
    return str(folder / "bin" / "python")


def benchmark_file(path: Path) -> Path:
    """Four samples with noise for pictures, one of them with transparency."""
    items = []
    for index, subset in enumerate(("物理", "环境", "社会", "因果")):
        mode = "RGBA" if index == 3 else "RGB"
        picture = Image.frombytes(mode, (40, 30), random.Random(index).randbytes(40 * 30 * len(mode)))
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        items.append(
            {
                "subset": subset,
                "edit_instruction": "让它下雨",
                "edit_instruction_en": "Let it rain",
                "original_description": "噪声",
                "original_description_en": "Noise",
                "original_image_path": f"{index:05d}_{subset}_hard.png",
                "src_img_b64": base64.b64encode(buffer.getvalue()).decode(),
            }
        )
    path.write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    return path


def test_a_bare_python_edits_and_judges_like_this_one(bare_python: str, tmp_path: Path) -> None:
    data = benchmark_file(tmp_path / "benchmark.json")

    def run(name: str, **where: str) -> Run:
        params: dict[str, Any] = {"device_ids": "cpu:2", "seed": 7, **where}
        configuration = {
            "benchmark": {"data_path": str(data), "cache_dir": str(tmp_path / "sources")},
            "diffusion_model": {"type": "testing", "params": params},
            "reward_model": {"type": "testing", "params": {**params, "default_answer": "Score: 6.250"}},
            "execution": {"pilot": False},
        }
        return evaluate(configuration, run_dir=tmp_path / name, report=False)

    here, there = run("here"), run("there", python=bare_python)
    edits = {e.sample_id: e for e in there.results.edits}
    assert len(edits) == 4
    assert {i: e.pixels for i, e in edits.items()} == {e.sample_id: e.pixels for e in here.results.edits}
    assert {e.key for e in edits.values()} == {e.key for e in here.results.edits}  # where it ran is no part of a key
    assert [j.score for j in there.results.judgements] == [6.25] * 4
    versions = {model["python"] for model in there.results.provenance.environment["models"].values()}  # type: ignore[attr-defined]
    assert len(versions) == 1
    assert versions != {".".join(map(str, sys.version_info[:3]))}
    for edit in edits.values():
        with Image.open(there.path / edit.image) as picture:
            assert picture.size == (40, 30)


def test_a_bare_python_imports_everything_that_travels(bare_python: str) -> None:
    code = (
        "import importlib, sys, zipfile; sys.path.insert(0, sys.argv[1])\n"
        "for name in zipfile.ZipFile(sys.argv[1]).namelist():\n"
        "    importlib.import_module(name[:-3].replace('/', '.').removesuffix('.__init__'))\n"
        "print(len(sys.modules))"
    )
    done = subprocess.run([bare_python, "-I", "-c", code, str(layers_zip())], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- which interpreter --


class TestPython:
    def test_none_is_this_one(self) -> None:
        assert interpreter(model()) == ""

    def test_a_path_is_taken_as_it_is_and_no_link_is_followed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = tmp_path / "venv" / "bin" / "python"
        link.parent.mkdir(parents=True)
        link.symlink_to(sys.executable)
        monkeypatch.chdir(tmp_path)
        assert interpreter(model(python="venv/bin/python")) == str(link)

    def test_a_name_is_looked_for_on_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        python = program(tmp_path / "python-of-mine", "#!/bin/sh\n")
        monkeypatch.setenv("PATH", str(tmp_path))
        assert interpreter(model(python="python-of-mine")) == str(python)

    def test_what_is_not_there_is_said_with_its_key(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=rf"^judge\.params\.python: {tmp_path}/python is not there"):
            interpreter(model(python=str(tmp_path / "python")))

    def test_what_cannot_be_run_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "python").touch(mode=0o644)
        with pytest.raises(ConfigurationError, match="cannot be run"):
            interpreter(model(python=str(tmp_path / "python")))


class TestConda:
    """A stand-in on the PATH answers `conda env list --json` as conda does."""

    @pytest.fixture(autouse=True)
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        monkeypatch.delenv("CONDA_EXE", raising=False)
        monkeypatch.delenv("MAMBA_EXE", raising=False)

    @pytest.fixture
    def conda(self, tmp_path: Path) -> Callable[..., list[Path]]:
        """Installs a conda of the given name that knows environments of the given names, each with a Python."""

        def install(*names: str, root: str = "miniforge3", called: str = "bin/conda", before: str = "") -> list[Path]:
            folders = [tmp_path / root, *(tmp_path / root / "envs" / name for name in names)]
            for folder in folders:
                program(folder / "bin" / "python", "#!/bin/sh\n")
            answer = json.dumps({"envs": [str(folder) for folder in folders], "envs_details": {}})
            check = 'if [ "$*" != "env list --json" ]; then exit 2; fi\n'
            program(tmp_path / called, f"#!/bin/sh\n{check}echo '{before}{answer}'\n")
            return folders

        return install

    def test_by_name(self, conda: Callable[..., list[Path]]) -> None:
        _, _, judge = conda("edit", "judge")
        assert interpreter(model(conda_env="judge")) == str(judge / "bin" / "python")

    def test_base_is_the_installation_itself(self, conda: Callable[..., list[Path]]) -> None:
        base, *_ = conda("edit")
        assert conda_interpreter("base") == str(base / "bin" / "python")

    def test_by_folder_no_conda_is_asked(self, tmp_path: Path) -> None:
        python = program(tmp_path / "environments" / "judge" / "bin" / "python", "#!/bin/sh\n")
        assert conda_interpreter(str(tmp_path / "environments" / "judge")) == str(python)
        with pytest.raises(ConfigurationError, match="is not there"):
            conda_interpreter(str(tmp_path / "environments" / "jugde"))

    @pytest.mark.parametrize("name", ["mamba", "micromamba"])
    def test_its_relatives_will_do(self, conda: Callable[..., list[Path]], name: str) -> None:
        _, judge = conda("judge", called=f"bin/{name}")
        assert conda_interpreter("judge") == str(judge / "bin" / "python")

    @pytest.mark.parametrize("variable", ["CONDA_EXE", "MAMBA_EXE"])
    def test_where_it_is_a_function_of_the_shell_the_variable_tells(
        self, conda: Callable[..., list[Path]], variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, judge = conda("judge", called="hidden/the-program")
        monkeypatch.setenv(variable, str(tmp_path / "hidden" / "the-program"))
        assert conda_interpreter("judge") == str(judge / "bin" / "python")

    def test_all_of_them_are_asked(self, conda: Callable[..., list[Path]], tmp_path: Path) -> None:
        program(tmp_path / "bin" / "mamba", "#!/bin/sh\necho broken >&2; exit 1\n")
        conda("edit", called="bin/micromamba", root="micromamba")
        _, judge = conda("judge")
        assert conda_interpreter("judge") == str(judge / "bin" / "python")

    def test_a_warning_before_the_answer_is_passed_over(self, conda: Callable[..., list[Path]]) -> None:
        _, judge = conda("judge", before="WARNING: a newer conda exists\n")
        assert conda_interpreter("judge") == str(judge / "bin" / "python")

    def test_an_unknown_name_gets_the_nearest_or_all(self, conda: Callable[..., list[Path]]) -> None:
        conda("qwen-edit", "qwen-judge")
        with pytest.raises(ConfigurationError, match="no environment `qwen-jugde`; did you mean `qwen-judge`"):
            conda_interpreter("qwen-jugde")
        with pytest.raises(ConfigurationError, match=r"^judge\.params\.conda_env: .*: miniforge3, qwen-edit, qwen"):
            interpreter(model(conda_env="x"))

    def test_a_name_that_two_have_is_refused(self, conda: Callable[..., list[Path]]) -> None:
        conda("judge", called="bin/mamba", root="mambaforge")
        conda("judge")
        with pytest.raises(ConfigurationError, match="miniforge3/envs/judge") as caught:
            conda_interpreter("judge")
        assert "mambaforge/envs/judge" in str(caught.value)

    def test_an_environment_without_python_is_said(self, conda: Callable[..., list[Path]]) -> None:
        _, tools = conda("tools")
        (tools / "bin" / "python").unlink()
        with pytest.raises(ConfigurationError, match="tools holds no Python"):
            conda_interpreter("tools")

    def test_without_any_conda_the_way_out_is_named(self) -> None:
        with pytest.raises(ConfigurationError, match="python: FOLDER/bin/python"):
            conda_interpreter("judge")

    @pytest.mark.parametrize("text", ["echo no", "echo '{}'", "echo oops >&2; exit 3", "echo '{\"envs\": 3}'"])
    def test_one_that_does_not_answer_is_one_line(self, text: str, tmp_path: Path) -> None:
        program(tmp_path / "bin" / "conda", f"#!/bin/sh\n{text}\n")
        with pytest.raises(ConfigurationError, match=r"env list --json` failed") as caught:
            conda_interpreter("judge")
        assert "\n" not in str(caught.value)


# -- environments that are made --


FAKE_UV = """#!/bin/sh
echo "$* | $UV_FIND_LINKS | $UV_DEFAULT_INDEX" >> "$UV_LOG"
if [ "$1" = venv ]; then
    for last; do :; done
    mkdir -p "$last/bin" && touch "$last/pyvenv.cfg" && ln -s "$UV_PYTHON_HERE" "$last/bin/python"
else
    while [ -n "$UV_WAITS_FOR" ] && [ ! -e "$UV_WAITS_FOR" ]; do sleep 0.05; done
    if [ -n "$UV_FAULT" ]; then echo "No solution found:"; echo "  $UV_FAULT" >&2; exit 1; fi
fi
"""


@pytest.fixture
def fake_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A stand-in for uv that installs nothing; gives the commands it was called with."""
    folder = program(tmp_path / "programs" / "uv", FAKE_UV).parent
    log = tmp_path / "uv.log"
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("UV_LOG", str(log))
    monkeypatch.setenv("UV_PYTHON_HERE", sys.executable)
    for variable in ("UV_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(environments, "_pip_settings", dict)
    return lambda: log.read_text().splitlines() if log.exists() else []


class TestUv:
    def test_an_environment_is_made_once_for_a_list_of_requirements(
        self, fake_uv: Callable[[], list[str]], cache: Path
    ) -> None:
        notes: list[str] = []
        python = interpreter(model(uv=("torch==2.13.0", "transformers")), notes.append)
        assert Path(python).is_relative_to(cache / "environments")
        venv, install = fake_uv()
        assert venv.startswith(f"venv --quiet --python {sys.executable} {cache}")
        assert install.startswith(f"pip install --python {python} --quiet torch==2.13.0 transformers pillow |")
        assert "torch==2.13.0, transformers" in notes[0]
        assert interpreter(model(uv=("torch==2.13.0", "transformers")), notes.append) == python
        assert len(fake_uv()) == 2
        assert len(notes) == 1
        assert interpreter(model(uv=("transformers",)), notes.append) != python

    def test_pillow_is_added_only_where_it_is_not_asked_for(self, fake_uv: Callable[[], list[str]]) -> None:
        uv_interpreter(["Pillow>=11"], print)
        assert fake_uv()[1].partition(" --quiet ")[2].startswith("Pillow>=11 | ")

    def test_one_that_fails_leaves_nothing_behind_and_says_why(
        self, fake_uv: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("UV_FAULT", "there is no torch==0.1")
        with pytest.raises(ConfigurationError, match=r"`uv pip install .*` failed: No solution found: there is no"):
            uv_interpreter(["torch==0.1"], print)
        assert not uv_folder(["torch==0.1"]).exists()
        monkeypatch.delenv("UV_FAULT")
        assert uv_interpreter(["torch==0.1"], print)

    def test_one_that_a_killed_process_left_half_made_is_made_anew(self, fake_uv: Callable[[], list[str]]) -> None:
        folder = uv_folder(["transformers"])
        program(folder / "bin" / "python", "#!/bin/sh\n")
        (folder / "half").touch()
        uv_interpreter(["transformers"], print)
        assert len(fake_uv()) == 2
        assert not (folder / "half").exists()

    def test_one_whose_python_is_gone_is_made_anew(self, fake_uv: Callable[[], list[str]]) -> None:
        python = Path(uv_interpreter(["transformers"], print))
        python.unlink()
        uv_interpreter(["transformers"], print)
        assert len(fake_uv()) == 4
        assert python.exists()

    def test_of_two_processes_one_makes_it_and_the_other_waits(
        self, fake_uv: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("UV_WAITS_FOR", str(tmp_path / "both have spoken"))
        code = (
            "from edit_eval.execution.machine import environments; environments._pip_settings = dict\n"
            "print(environments.uv_interpreter(['transformers']))"
        )
        both = [
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        words = [process.stderr.readline() for process in both if process.stderr]
        (tmp_path / "both have spoken").touch()
        said = [process.communicate(timeout=60) for process in both]
        assert [process.returncode for process in both] == [0, 0], said
        assert said[0][0] == said[1][0]
        assert len(fake_uv()) == 2
        assert sorted(line.split()[0] for line in words) == ["making", "waiting"]

    def test_a_real_one_is_made_of_a_local_wheel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if environments.find_uv() is None:
            pytest.skip("no uv")
        wheel = tmp_path / "pillow-99.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("PIL/__init__.py", "__version__ = '99.0'\n")
            archive.writestr("pillow-99.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pillow\nVersion: 99.0\n")
            archive.writestr("pillow-99.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr("pillow-99.0.dist-info/RECORD", "")
        monkeypatch.setenv("UV_OFFLINE", "1")
        python = uv_interpreter([f"pillow @ {wheel.as_uri()}"], print)
        said = subprocess.run([python, "-c", "import PIL; print(PIL.__version__)"], capture_output=True, text=True)
        assert said.stdout == "99.0\n"


class TestCreate:
    def test_the_line_for_the_yaml_names_the_interpreter(
        self, fake_uv: Callable[[], list[str]], tmp_path: Path
    ) -> None:
        constraints = tmp_path / "constraints.txt"
        constraints.write_text("torch==2.13.0\n")
        line = create_environment(tmp_path / "judge", "judge", constraints=[constraints])
        assert line == f"python: {tmp_path}/judge/bin/python"
        install = fake_uv()[1]
        assert f"-c {constraints} " in install
        assert "transformers>=" in install
        assert "diffusers" not in install

    def test_a_path_that_yaml_would_misread_is_quoted(self, fake_uv: Callable[[], list[str]], tmp_path: Path) -> None:
        import yaml

        folder = tmp_path / "the judge: 评审 #2"
        line = create_environment(folder, "judge")
        assert yaml.safe_load(line) == {"python": f"{folder}/bin/python"}

    def test_one_that_is_there_is_gone_on_with(self, fake_uv: Callable[[], list[str]], tmp_path: Path) -> None:
        create_environment(tmp_path / "edit", "edit")
        create_environment(tmp_path / "edit", "edit")
        assert [line.split()[0] for line in fake_uv()] == ["venv", "pip", "pip"]

    def test_a_folder_with_something_else_in_it_is_left_alone(
        self, fake_uv: Callable[[], list[str]], tmp_path: Path
    ) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.tex").touch()
        with pytest.raises(ConfigurationError, match="mine already exists and is not an environment"):
            create_environment(tmp_path / "mine", "edit")
        assert fake_uv() == []

    def test_a_wrong_kind_and_missing_constraints_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="edit or judge"):
            create_environment(tmp_path / "x", "judges")
        with pytest.raises(ConfigurationError, match="no such file"):
            create_environment(tmp_path / "x", "judge", constraints=[tmp_path / "none.txt"])
        assert not (tmp_path / "x").exists()

    def test_without_uv_python_s_own_tools_do_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        commands: list[list[str]] = []
        monkeypatch.setattr(environments, "find_uv", lambda: None)
        monkeypatch.setattr(environments, "_run", lambda command, variables, shown: commands.append(command))
        create_environment(tmp_path / "judge", "judge")
        assert commands[0] == [sys.executable, "-m", "venv", str(tmp_path / "judge")]
        assert commands[1][:4] == [str(tmp_path / "judge" / "bin" / "python"), "-m", "pip", "install"]

    def test_a_base_python_that_is_not_there_is_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environments, "find_uv", lambda: None)
        with pytest.raises(ConfigurationError, match="cannot run /nowhere/python"):
            create_environment(tmp_path / "judge", "judge", python="/nowhere/python")
