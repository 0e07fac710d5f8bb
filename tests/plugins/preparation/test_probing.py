from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import time
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from edit_eval.execution.contract import Gpu
from edit_eval.execution.findings import Finding
from edit_eval.plugins.preparation import probing
from edit_eval.plugins.preparation.probing import EnvironmentProbe, environment_findings, probe
from edit_eval.workers.probe import find_needed_modules

MODEL = """
    class Judge:
        def load(self, devices): {load}
        def judge(self, requests): return []
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write(folder: Path, **modules: str) -> None:
    """Modules beside the configuration; `torch` there is found before the real one."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def question(folder: Path, module: str = "mine", **more: Any) -> EnvironmentProbe:
    values: dict[str, Any] = {"python": sys.executable, "kind": "judge", "class_path": f"{module}:Judge", **more}
    return EnvironmentProbe("judge mine", folder=str(folder), **values)


def examined(asked: EnvironmentProbe, *gpus: Gpu) -> list[Finding]:
    return environment_findings(asked, probe(asked), gpus)


def fake_torch(version: str = "2.13.0", cuda: str | None = "12.8", devices: int = 1, kernels: str = "'sm_90'") -> str:
    return f"""
        __version__ = {version!r}
        class version: cuda = {cuda!r}
        class cuda:
            is_available = staticmethod(lambda: {devices > 0})
            device_count = staticmethod(lambda: {devices})
            get_arch_list = staticmethod(lambda: [{kernels}])
    """


H100 = Gpu("cuda:0", "NVIDIA H100", "GPU-0", 80, 80, capability=(9, 0))


class TestRealEnvironments:
    """Each of these starts the interpreter as a worker would be started."""

    def test_an_environment_that_has_all_is_one_line_with_versions(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="import torch"), torch=fake_torch())
        (finding,) = examined(question(tmp_path, on_gpu=True), H100)
        assert finding.level == "ok"
        assert finding.area == "environments"
        assert finding.sentence.startswith(f"judge mine: {sys.executable} (Python {sys.version_info[0]}.")

    def test_a_missing_library_is_one_line_with_the_command(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="import torch, no_such_library, cv3.functions"), torch=fake_torch())
        (finding,) = examined(question(tmp_path))
        assert finding.stops
        assert finding.text == f"judge mine: {sys.executable} has no no_such_library and cv3"
        python = shlex.quote(sys.executable)
        assert finding.advice.startswith(python) or f"--python {python}" in finding.advice
        assert finding.advice.endswith(" no-such-library cv3")

    def test_what_a_class_names_itself_is_looked_for_instead(self, tmp_path: Path) -> None:
        text = MODEL.format(load="import not_looked_for") + "        requires = ('json', 'no_such_library')\n"
        write(tmp_path, mine=text)
        (finding,) = examined(question(tmp_path))
        assert finding.text.endswith("has no no_such_library")

    def test_a_library_missing_when_the_class_is_imported(self, tmp_path: Path) -> None:
        write(tmp_path, mine="import no_such_library\n" + textwrap.dedent(MODEL.format(load="pass")))
        (finding,) = examined(question(tmp_path))
        assert finding.stops
        assert finding.text == f"judge mine: {sys.executable} has no no_such_library, which mine:Judge imports"

    def test_a_library_missing_inside_another(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="import outer"), outer="import inner_that_is_not_there")
        (finding,) = examined(question(tmp_path))
        assert finding.text.endswith("has no inner_that_is_not_there")

    def test_a_broken_library(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="import broken"), broken="raise OSError('libcudart.so.12: not there')")
        (finding,) = examined(question(tmp_path))
        assert finding.stops
        assert "broken in" in finding.text
        assert "cannot be imported: OSError: libcudart.so.12" in finding.text

    def test_the_module_itself_is_not_there(self, tmp_path: Path) -> None:
        (finding,) = examined(question(tmp_path, "package_of_mine.judges"))
        assert finding.stops
        assert "cannot find the module `package_of_mine.judges`" in finding.text

    def test_the_class_is_not_one_of_its_kind(self, tmp_path: Path) -> None:
        write(tmp_path, mine="class Judge: pass")
        (finding,) = examined(question(tmp_path))
        assert finding.text.endswith(": it has no method `load`")

    def test_parameters_that_the_class_refuses(self, tmp_path: Path) -> None:
        text = """
            from dataclasses import dataclass
            class Judge:
                @dataclass
                class Parameters:
                    size: int
                    def __post_init__(self):
                        if self.size < 1: raise ValueError("size: 0 is too small")
                def load(self, devices): pass
                def judge(self, requests): return []
        """
        write(tmp_path, mine=text)
        assert examined(question(tmp_path, parameters={"size": 3}))[0].level == "ok"
        assert "size: 0 is too small" in examined(question(tmp_path, parameters={"size": 0}))[0].text
        assert "no parameter `colour`" in examined(question(tmp_path, parameters={"size": 1, "colour": 2}))[0].text

    def test_what_modules_print_is_no_answer(self, tmp_path: Path) -> None:
        noisy = "import os\nprint('{}')\nos.write(2, b'warning')\nos.system('echo {}')\n"
        write(tmp_path, mine=noisy + textwrap.dedent(MODEL.format(load="pass")))
        assert examined(question(tmp_path))[0].level == "ok"

    def test_nothing_is_loaded(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="open('loaded', 'w')") + "        prepare = load\n")
        examined(question(tmp_path))
        assert not (tmp_path / "loaded").exists()

    def test_an_interpreter_that_dies_says_over_what(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="import fatal"), fatal="import os; os.kill(os.getpid(), 11)")
        (finding,) = examined(question(tmp_path))
        assert finding.stops
        assert "was killed by SIGSEGV while importing fatal" in finding.text

    def test_an_interpreter_that_hangs_is_ended(self, tmp_path: Path) -> None:
        write(tmp_path, mine=MODEL.format(load="import slow"), slow="import time; time.sleep(60)")
        asked = question(tmp_path)
        begin = time.monotonic()
        answer = probe(asked, seconds=1.5)
        assert time.monotonic() - begin < 20
        (finding,) = environment_findings(asked, answer, ())
        assert finding.text.endswith("did not answer within 1.5 s while importing slow")

    @pytest.mark.parametrize("program", ["true", "false", "cat"])
    def test_a_program_that_is_no_python(self, tmp_path: Path, program: str) -> None:
        asked = question(tmp_path, python=shutil.which(program))
        (finding,) = environment_findings(asked, probe(asked, seconds=5), ())
        assert finding.stops
        assert "does not behave like a Python" in finding.text

    def test_a_program_that_cannot_be_started(self, tmp_path: Path) -> None:
        (finding,) = examined(question(tmp_path, python=str(tmp_path)))
        assert "cannot be started: Permission denied" in finding.text

    def test_a_python_without_pillow(self, tmp_path: Path) -> None:
        """A copy of this interpreter without site-packages."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
        python = str(tmp_path / "bare" / "bin" / "python")
        (finding,) = examined(question(tmp_path, python=python))
        assert finding.stops
        assert finding.text == f"judge mine: {python} has no Pillow"
        assert finding.advice.startswith(f"uv pip install --python {python} 'pillow>=")

    def test_a_python_that_is_too_old(self, tmp_path: Path) -> None:
        pyenv = os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"  # of another user perhaps, and closed
        old = [p for v in ("2.7", "3.6", "3.8", "3.9") for p in sorted(glob(f"{pyenv}/versions/{v}.*/bin/python"))]
        old += [p for v in ("2", "3.8", "3.9") if (p := shutil.which(f"python{v}"))]
        working = [p for p in old if subprocess.run([p, "-c", "0"], stderr=subprocess.DEVNULL).returncode == 0]
        if not working:
            pytest.skip("no Python older than 3.10 here")
        for python in working:
            (finding,) = examined(question(tmp_path, python=python))
            assert finding.stops
            assert "and a worker needs 3.10 or newer" in finding.text
            assert "edit-eval env create" in finding.advice


class TestTorch:
    """What the environment's own torch says of the GPUs."""

    def found(self, tmp_path: Path, torch: str, *gpus: Gpu, on_gpu: bool = True) -> list[Finding]:
        write(tmp_path, mine=MODEL.format(load="import torch"), torch=torch)
        first, *others = examined(question(tmp_path, on_gpu=on_gpu), *gpus)
        assert first.level == "ok"  # the environment itself is in order
        return others

    def test_a_torch_without_cuda_stops_a_model_that_is_to_run_on_a_gpu(self, tmp_path: Path) -> None:
        torch = fake_torch(version="2.13.0+cpu", cuda=None, devices=0)
        (finding,) = self.found(tmp_path, torch, H100)
        assert finding.stops
        assert "torch 2.13.0+cpu" in finding.text
        assert "built without CUDA" in finding.text
        assert self.found(tmp_path, torch, on_gpu=False) == []

    def test_a_torch_that_sees_no_gpu_says_why(self, tmp_path: Path) -> None:
        torch = fake_torch(devices=0) + (
            "\n            @staticmethod\n"
            "            def is_available():\n"
            "                import warnings\n"
            "                warnings.warn('CUDA initialization: The NVIDIA driver is too old (found 11040).')\n"
            "                return False\n"
        )
        (finding,) = self.found(tmp_path, torch, H100)
        assert finding.stops
        assert "sees no GPU (CUDA initialization: The NVIDIA driver is too old" in finding.text

    def test_gpus_that_torch_does_not_see_are_said(self, tmp_path: Path) -> None:
        (finding,) = self.found(tmp_path, fake_torch(devices=1), H100, H100)
        assert finding.level == "warning"
        assert "sees 1 of 2 GPUs" in finding.text

    @pytest.mark.parametrize(
        ("kernels", "capability", "runs"),
        [
            ("'sm_80', 'sm_90'", (9, 0), True),
            ("'sm_80', 'sm_86'", (8, 9), True),
            ("'sm_80', 'sm_86'", (9, 0), False),
            ("'sm_80', 'compute_80'", (12, 0), True),
            ("'sm_90', 'sm_90a'", (12, 0), False),
            ("'sm_100', 'sm_120'", (12, 0), True),
            ("'sm_120'", (9, 0), False),
            ("'gfx942'", (9, 4), True),
            ("", (9, 0), True),
        ],
    )
    def test_kernels(self, tmp_path: Path, kernels: str, capability: tuple[int, int], runs: bool) -> None:
        names = [name.strip(" '") for name in kernels.split(",") if name]
        assert probing._has_kernels(Gpu("cuda:0", "x", "GPU", 1, 1, capability=capability), names) is runs

    def test_a_torch_without_kernels_for_this_gpu_is_a_warning(self, tmp_path: Path) -> None:
        (finding,) = self.found(tmp_path, fake_torch(kernels="'sm_70', 'sm_80'"), H100)
        assert "no kernels for NVIDIA H100 (only sm_70, sm_80)" in finding.text

    @pytest.mark.parametrize(("version", "known"), [("2.9.0+cu128", True), ("2.9.1", True), ("2.10.0", False)])
    def test_the_slow_convolutions_of_one_version(self, tmp_path: Path, version: str, known: bool) -> None:
        findings = self.found(tmp_path, fake_torch(version=version), H100)
        assert [finding.level for finding in findings] == ["warning"] * known
        assert all("convolutions" in finding.text for finding in findings)


class TestLibraries:
    """What the words of a probe mean; the words are made up here."""

    def words(self, **more: Any) -> dict[str, Any]:
        needs = [{"name": n, "version": v, "missing": "", "error": ""} for n, v in more.pop("versions", {}).items()]
        return {"python": "3.11.7", "pip": True, "pillow": "12.0", "libraries": {}, "needs": needs, **more}

    def asked(self) -> EnvironmentProbe:
        return EnvironmentProbe(
            "judge q", "/e/bin/python", "judge", "edit_eval.plugins.local_judges.in_worker.qwen3_vl:Qwen3VL"
        )

    def test_a_torchvision_of_another_torch(self) -> None:
        words = self.words(
            libraries={"torch": "2.13.0+cpu", "torchvision": "0.28.0"},
            torchvision="RuntimeError: operator torchvision::nms does not exist",
        )
        (finding,) = environment_findings(self.asked(), words, ())
        assert finding.stops
        assert "torchvision 0.28.0 does not match torch 2.13.0+cpu in /e/bin/python" in finding.text
        assert "edit-eval needs none" in finding.advice

    def test_libraries_older_than_the_models_are_made_for(self) -> None:
        words = self.words(versions={"transformers": "4.51.3", "accelerate": "1.15.0"})
        ok, old = environment_findings(self.asked(), words, ())
        assert ok.level == "ok"
        assert old.level == "warning"
        assert "transformers 4.51.3 in /e/bin/python is older than 4.57" in old.text
        assert old.advice == "/e/bin/python -m pip install 'transformers>=4.57'"

    def test_several_missing_libraries_are_one_line(self) -> None:
        words = self.words()
        for name in ("torch", "transformers", "accelerate"):
            words["needs"].append({"name": name, "version": "", "missing": name, "error": ""})
        (finding,) = environment_findings(self.asked(), words, ())
        assert finding.text == "judge q: /e/bin/python has no torch, transformers and accelerate"
        assert finding.advice.startswith("/e/bin/python -m pip install 'torch>=")

    def test_a_path_with_a_space_can_be_copied(self) -> None:
        asked = EnvironmentProbe("judge q", "/my envs/python", "judge", "a:B")
        words = self.words(needs=[{"name": "torch", "version": "", "missing": "torch", "error": ""}])
        assert environment_findings(asked, words, ())[0].advice.startswith("'/my envs/python' -m pip install")

    def test_without_a_model_only_versions_are_told(self) -> None:
        asked = EnvironmentProbe("this environment", "/e/bin/python")
        (finding,) = environment_findings(asked, self.words(libraries={}), ())
        assert finding.level == "note"
        assert "env create" in finding.advice


class TestNeeds:
    """The libraries that a class will need, read from its source."""

    def needs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
        write(tmp_path, module_of_a_user=text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "module_of_a_user", raising=False)
        return find_needed_modules("module_of_a_user")

    def test_imports_at_any_depth_count_but_not_those_that_may_fail(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = """
            import os, numpy.linalg
            from typing import TYPE_CHECKING
            from . import beside
            if TYPE_CHECKING:
                import only_for_types
            try:
                import faster
            except ImportError:
                faster = None
            class Judge:
                def load(self, devices):
                    with open("x"):
                        from transformers.models import auto
                    import torch as t
                    for _ in devices:
                        import diffusers
        """
        assert self.needs(tmp_path, monkeypatch, text) == ["torch", "diffusers", "transformers", "numpy"]

    def test_our_own_modules_are_followed_but_for_a_user_nothing_is_implied(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "torch" in self.needs(tmp_path, monkeypatch, "from edit_eval.pretrained import loading")
        assert self.needs(tmp_path, monkeypatch, "import transformers") == ["transformers"]

    def test_our_adapters(self) -> None:
        judge = find_needed_modules("edit_eval.plugins.local_judges.in_worker.transformers")
        assert judge[:2] == ["torch", "transformers"]
        assert "accelerate" in judge
        assert "diffusers" not in judge
        assert find_needed_modules("edit_eval.plugins.diffusers.in_worker.diffusers")[:3] == [
            "torch",
            "diffusers",
            "transformers",
        ]
        assert find_needed_modules("edit_eval.plugins.rehearse.in_worker.fake_models") == []

    def test_a_module_without_source_needs_nothing_that_we_know(self) -> None:
        assert find_needed_modules("_struct") == []
        assert find_needed_modules("no.such.module") == []
