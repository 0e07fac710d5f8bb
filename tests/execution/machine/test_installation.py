from __future__ import annotations

import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import WorkerSpecification
from edit_eval.execution.machine import environments
from edit_eval.execution.machine.environments import install_command, install_line, make_environment
from edit_eval.plugins.lookup.environments import PACKAGES, requirements_for


def test_what_is_needed_is_said_once_in_the_metadata() -> None:
    edit, judge = requirements_for("edit"), requirements_for("judge")
    assert {r.partition(">")[0] for r in edit} == {*PACKAGES["edit"]}
    assert all(">=" in requirement for requirement in edit), "a package without a bound in pyproject's extra"
    assert {*judge} == {r for r in edit if not r.startswith(("diffusers", "peft", "ftfy"))}


def test_where_the_package_is_not_installed_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    with pytest.raises(ConfigurationError, match="not installed as a package"):
        requirements_for("judge")


def test_the_command_for_a_person() -> None:
    assert (
        install_command("/e/python", ["torch>=2.6", "pillow"], True) == "/e/python -m pip install 'torch>=2.6' pillow"
    )
    assert install_command("/e/python", ["pillow"], False) == "uv pip install --python /e/python pillow"


def test_a_long_failure_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\nfor i in $(seq 300); do echo tried $i; done\necho 'no such version' >&2\nexit 1\n")
    uv.chmod(0o755)
    monkeypatch.setattr(environments, "find_uv", lambda: str(uv))
    with pytest.raises(ConfigurationError, match=r"failed: \.\.\. .* tried 300 no such version$") as caught:
        make_environment(tmp_path / "environment", ["torch==0.1"])
    assert len(str(caught.value)) < 1000


class TestPipSettings:
    """uv does not read pip's configuration; what `pip install` would use is handed over."""

    def variables(self, monkeypatch: pytest.MonkeyPatch, listed: str, **environment: str) -> dict[str, str]:
        monkeypatch.setattr(environments, "_pip_settings", lambda: environments._read_pip_settings(listed))
        return environments.uv_variables(environment)

    def test_find_links_and_index(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "b").mkdir()
        listed = (
            f"global.find-links='{tmp_path} {tmp_path}/b\\n{tmp_path}/gone'\n"
            "global.index-url='https://packages.example/simple'\nglobal.timeout='60'\n"
        )
        assert self.variables(monkeypatch, listed) == {
            "UV_FIND_LINKS": f"{tmp_path},{tmp_path}/b",
            "UV_DEFAULT_INDEX": "https://packages.example/simple",
        }

    def test_a_variable_counts_more_than_a_file(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in "abc":
            (tmp_path / name).mkdir()
        listed = (
            f":env:.find-links='{tmp_path}/a'\ninstall.find-links='{tmp_path}/b'\nglobal.find-links='{tmp_path}/c'\n"
        )
        assert self.variables(monkeypatch, listed) == {"UV_FIND_LINKS": f"{tmp_path}/a"}

    def test_what_the_user_has_set_for_uv_stays(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        listed = f"global.find-links='{tmp_path}'\nglobal.index-url='https://packages.example/simple'\n"
        own = {"UV_FIND_LINKS": "/wheels", "UV_INDEX_URL": "https://mine.example"}
        assert self.variables(monkeypatch, listed, **own) == {}

    def test_pip_itself_is_asked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        configuration = tmp_path / "pip.conf"
        configuration.write_text(f"[global]\nfind-links = {tmp_path}\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(configuration))
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        if not environments._pip_settings():
            pytest.skip("there is no pip")
        assert environments.uv_variables({})["UV_FIND_LINKS"] == str(tmp_path)

    def test_without_pip_there_is_nothing_to_hand_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subprocess, "run", _no_program)
        assert environments._pip_settings() == {}


def _no_program(*arguments: Any, **named: Any) -> Any:
    raise FileNotFoundError("pip")


class TestInstallLine:
    def test_at_home_it_is_the_extra_elsewhere_the_package(self) -> None:
        python = shlex.quote(sys.executable)
        assert install_line(sys.executable, ["aiohttp"], True) == f"{python} -m pip install 'edit-eval[openai]'"
        line = install_line(sys.executable, ["torch", "diffusers", "cv2", "bs4"], True)
        assert line.endswith(" install 'edit-eval[diffusers]' 'edit-eval[metrics]' bs4")
        assert install_line("/e/python", ["aiohttp", "PIL"], False).startswith(
            "uv pip install --python /e/python 'aiohttp>=3.11' 'pillow>="
        )

    @pytest.mark.parametrize(
        ("lacks", "said"),
        [
            ("aiohttp", "/e/python has no aiohttp; install it: /e/python -m pip install 'aiohttp>=3.11'"),
            (
                "mine",
                "/e/python cannot find the module `mine.judges`; put it beside the configuration, or install it there",
            ),
            ("", "as it was"),
        ],
    )
    def test_what_a_worker_lacks_is_said_with_what_to_do(self, lacks: str, said: str) -> None:
        specification = WorkerSpecification("w", "m", ("cpu",), "mine.judges:Judge", {}, "/e/python")
        broken = {"event": "broken", "error": "as it was", "trace": "t", "lacks": lacks, "pip": True}
        assert environments.with_install_line(broken, specification) == {**broken, "error": said}
        assert environments.with_install_line({"error": "e"}, specification) == {"error": "e"}
