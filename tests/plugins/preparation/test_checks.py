"""The whole of `edit-eval doctor`, on machines of our choice; its parts have tests of their own."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import BenchmarkError, ConfigurationError, Stopped
from edit_eval.execution.checks import refuse, silent_judges
from edit_eval.execution.findings import Finding
from edit_eval.execution.machine import devices
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.memory import GIB
from edit_eval.plugins.preparation import checks, probing
from edit_eval.plugins.preparation import requests as preparation
from edit_eval.plugins.preparation.checks import examine, refusal
from fake_nvml import gpu, install


@pytest.fixture(autouse=True)
def machine_without_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU, 100 GiB of memory, empty caches; the current directory is the test's own."""
    install(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "PYTHONPATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(LocalMachine, "fault", lambda self: "")
    monkeypatch.setattr(devices, "free_host_memory", lambda: 100 * GIB)
    monkeypatch.setattr(checks, "hub_answers", lambda environment: True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_probes(monkeypatch: pytest.MonkeyPatch) -> list[probing.EnvironmentProbe]:
    """Environments answer that all is well; gives the questions that they were asked."""
    asked: list[probing.EnvironmentProbe] = []

    def probe(question: probing.EnvironmentProbe) -> dict[str, Any]:
        asked.append(question)
        return {"python": "3.11.7", "pip": True, "pillow": "12.0", "libraries": {}, "needs": []}

    monkeypatch.setattr(checks, "probe", probe)
    return asked


def item(index: int, subset: str = "物理", data: bytes | None = None) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.new("RGB", (20, 16), (index, 90, 90)).save(buffer, "PNG")
    return {
        "subset": subset,
        "edit_instruction": "改",
        "edit_instruction_en": "Change it",
        "original_description": "图",
        "original_description_en": "A picture",
        "original_image_path": f"{index:05d}_{subset}.png",
        "src_img_b64": base64.b64encode(buffer.getvalue() if data is None else data).decode(),
    }


Load = Callable[..., Configuration]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A configuration that would run: two samples, testing models on the CPU; parts of it can be replaced."""

    def load_with(items: list[Any] | None = None, **sections: Any) -> Configuration:
        path = tmp_path / "benchmark.json"
        path.write_text(json.dumps(items or [item(0), item(1, "环境")], ensure_ascii=False), encoding="utf-8")
        testing = {"type": "testing", "params": {"device_ids": "cpu:2"}}
        sections["benchmark"] = {"data_path": str(path), **sections.get("benchmark", {})}
        return load_configuration({"diffusion_model": testing, "reward_model": testing, **sections})

    return load_with


def of(findings: list[Finding], area: str) -> list[Finding]:
    return [finding for finding in findings if finding.area == area]


def stoppers(findings: list[Finding]) -> list[str]:
    return [finding.sentence for finding in findings if finding.stops]


def test_a_configuration_that_would_run(load: Load) -> None:
    """With the real environment, asked twice."""
    findings = examine(load())
    assert stoppers(findings) == []
    assert {finding.level for finding in findings} == {"ok", "note"}
    assert [f.sentence for f in of(findings, "configuration")] == ["run: testing, judged by testing"]
    assert "edit model testing: cpu:0, cpu:1 (set in the configuration)" in [
        f.sentence for f in of(findings, "devices")
    ]
    assert [f.sentence.partition(" (")[0] for f in of(findings, "environments")] == [
        f"edit model testing: {sys.executable}",
        f"judge testing: {sys.executable}",
    ]
    (benchmark,) = of(findings, "benchmark")
    assert benchmark.sentence.endswith("benchmark.json: 2 samples (physical 1, environmental 1)")
    (disk,) = of(findings, "disk")
    assert disk.sentence.startswith("the run (2 edits of about 2 MB)")
    assert not Path("runs").exists()


def test_without_a_configuration_the_machine_is_looked_at(no_probes: list[probing.EnvironmentProbe]) -> None:
    findings = examine(None)
    assert stoppers(findings) == []
    assert [finding.area for finding in findings] == ["configuration", "devices", "host", "environments", "disk"]
    assert no_probes[0].python == sys.executable


def test_a_refused_configuration_stops_and_the_machine_is_looked_at_all_the_same(
    tmp_path: Path, no_probes: list[probing.EnvironmentProbe]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration({"benchmark": {"data_path": "nowhere.json"}, "diffusion_model": {"type": "tesing"}})
    findings = examine(refused=caught.value)
    texts = stoppers(findings)
    assert len(texts) >= 3
    assert any("nowhere.json" in text for text in texts)
    assert any("did you mean `testing`" in text for text in texts)
    assert of(findings, "disk")


def test_as_json(load: Load, no_probes: list[probing.EnvironmentProbe]) -> None:
    document = [finding.as_plain() for finding in examine(load())]
    assert json.loads(json.dumps(document)) == document
    assert set(document[0]) == {"area", "level", "text", "advice", "stops"}


class TestModels:
    def big(self, load: Load, edit: dict[str, Any] | None = None, **judge: Any) -> Configuration:
        return load(
            diffusion_model={"type": "qwen_image_edit", "params": edit or {}},
            reward_model={"type": "qwen3_vl", "params": {"batch_size": 2, **judge}},
        )

    def test_on_two_h200_all_fits(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        install(monkeypatch, gpu(0, 139, 140), gpu(1, 139, 140))
        monkeypatch.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10**13}))
        findings = examine(self.big(load))
        assert stoppers(findings) == []
        texts = [finding.sentence for finding in of(findings, "models")]
        assert sum("fits on each of its 2 places" in text for text in texts) == 2
        assert sum("is not in the cache" in text for text in texts) == 2
        assert any("placement: auto is together here" in text for text in texts)
        assert all(question.on_gpu for question in no_probes)
        assert "weights still to come (119.8 GB)" in of(findings, "disk")[1].text

    def test_a_limit_that_cuts_answers_off(self, load: Load, no_probes: list[probing.EnvironmentProbe]) -> None:
        asked = {"protocol": {"answer": "reason_then_score"}}
        judge = {"type": "qwen3_vl", "params": {"device": "cpu", "max_new_tokens": 128}}
        findings = [f for f in examine(load(reward_model=judge, **asked)) if "is too low for" in f.sentence]
        assert [(f.level, f.stops, f.advice) for f in findings] == [
            ("warning", False, "set it to 512, or leave it out")
        ]

    def test_on_80_gib_with_one_gpu_in_use(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        install(monkeypatch, gpu(0, 79), gpu(1, 9, users=[(1 << 30, 70 * GIB)]), gpu(2, 79))
        findings = of(examine(self.big(load)), "models")
        short = [finding for finding in findings if "only 9.0 GiB free on cuda:1" in finding.sentence]
        assert [finding.level for finding in short] == ["warning", "warning"]
        assert all("device_ids: [0, 2]" in finding.advice for finding in short)

    def test_on_24_gib_what_would_make_it_fit_is_named(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        install(monkeypatch, gpu(0, 23.6, 24))
        editor, judge = [f for f in of(examine(self.big(load)), "models") if f.stops]
        assert "offload: group" in editor.advice
        assert "model_name: Qwen/Qwen3-VL-8B-Instruct" in judge.advice
        small = self.big(load, {"offload": "group"}, model_name="Qwen/Qwen3-VL-8B-Instruct", max_pixels=1 << 20)
        assert [f.sentence for f in of(examine(small), "models") if f.stops] == []

    def test_without_a_gpu_they_do_not_fit_into_this_host(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        monkeypatch.setattr(devices, "free_host_memory", lambda: 23 * GIB)
        texts = stoppers(of(examine(self.big(load)), "models"))
        assert len(texts) == 2
        assert all("of host memory for 1 CPU worker, but 23.0 GiB are free" in text for text in texts)

    def test_a_gpu_that_is_not_there(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        install(monkeypatch, gpu(0, 139), gpu(1, 139))
        findings = examine(self.big(load, {"device_ids": [0, 5]}))
        assert [text for text in stoppers(findings) if "cuda:5 is not there: 2 GPUs are visible" in text]

    def test_offline_and_not_in_the_cache_stops_the_run(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        install(monkeypatch, gpu(0, 139))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        findings = [f for f in of(examine(self.big(load, revision="v2")), "models") if f.stops]
        assert len(findings) == 2
        assert "HF_HUB_OFFLINE forbids asking the Hub" in findings[0].text
        assert "hf download Qwen/Qwen3-VL-30B-A3B-Instruct --revision v2" in findings[1].advice

    def test_a_folder_that_is_not_there_or_not_whole(
        self, load: Load, tmp_path: Path, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        (tmp_path / "judge").mkdir()
        (tmp_path / "judge" / "config.json").write_text("{}")
        texts = stoppers(examine(self.big(load, {"model_name": "./models/edit"}, model_name="judge")))
        assert f"edit model qwen_image_edit: there is no folder {tmp_path}/models/edit" in texts
        assert "judge qwen3_vl: judge has no safetensors" in texts
        context = checks.Context(self.big(load, {"device": "cpu"}, model_name="judge", device="cpu"), LocalMachine())
        with pytest.raises(ConfigurationError, match="judge has no safetensors"):
            refuse(context)

    @pytest.mark.parametrize(
        ("free", "error", "said"),
        [
            (23.6, ConfigurationError, r"but only 23\.6 GiB free on cuda:0.*offload"),
            (9.0, Stopped, r"only 9\.0 GiB free on cuda:0, used by .*70\.0 GiB.*when that is free"),
        ],
    )
    def test_what_does_not_fit_is_refused_before_anything_is_loaded(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, free: float, error: type[Exception], said: str
    ) -> None:
        """A GPU that is too small, or one that others hold."""
        install(monkeypatch, gpu(0, free, 24 if free > 20 else 80, users=[(os.getppid(), 70 * GIB)]))
        with pytest.raises(error, match=said):
            refuse(checks.Context(self.big(load), LocalMachine()))

    @pytest.mark.parametrize(("total", "error"), [(10, ConfigurationError), (200, Stopped)])
    def test_what_others_hold_of_the_host_is_waited_for(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, total: int, error: type[Exception]
    ) -> None:
        monkeypatch.setattr(devices, "free_host_memory", lambda: 9 * GIB)
        monkeypatch.setattr(checks, "host_memory", lambda: total * GIB)
        with pytest.raises(error, match=r"of host memory for 1 CPU worker, but 9\.0 GiB are free"):
            refuse(checks.Context(self.big(load, {"device": "cpu"}, device="cpu"), LocalMachine()))

    @pytest.mark.parametrize(
        ("memory", "params"),
        [
            ({"total": 0, "free": 0}, {}),
            ({}, {"load": {"quantization_config": {"quant_method": "one of tomorrow"}}}),
            ({}, {"model_name": "nobody/knows"}),
        ],
    )
    def test_an_estimate_that_is_not_known_refuses_nothing(
        self, load: Load, monkeypatch: pytest.MonkeyPatch, memory: dict[str, int], params: dict[str, Any]
    ) -> None:
        """On a GPU of 2 GiB, or one whose driver does not tell."""
        install(monkeypatch, {**gpu(0, 2, 2), **memory})
        judge = {"type": "transformers", "params": {"model_name": "Qwen/Qwen3-VL-8B-Instruct", **params}}
        refuse(checks.Context(load(reward_model=judge), LocalMachine()))

    def test_a_class_that_loads_in_a_way_of_its_own_is_warned_of_and_never_refused(
        self, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        install(monkeypatch, gpu(0, 2, 2))
        half = tmp_path / "judge"
        half.mkdir()
        (half / "config.json").write_text("{}")
        (tmp_path / "own.py").write_text(
            "from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL\n"
            "class Heir(Qwen3VL): pass\n"
            "class Own(Qwen3VL):\n    def load(self, devices): pass\n"
        )

        def judged(name: str, model: str) -> checks.Context:
            judge = {"class_path": f"{tmp_path / 'own.py'}:{name}", "params": {"model_name": model}}
            return checks.Context(load(reward_model=judge), LocalMachine())

        for model, said in ((str(half), "no safetensors"), ("Qwen/Qwen3-VL-8B-Instruct", "only 2.0 GiB free")):
            with pytest.raises(ConfigurationError, match=said):
                refuse(judged("Heir", model))
            refuse(judged("Own", model))
            warned = [f for f in examine(judged("Own", model).configuration) if said in f.sentence]
            assert [finding.level for finding in warned] == ["warning"]


class TestEnvironments:
    def foreign(self, load: Load, **where: Any) -> list[Finding]:
        model = {"type": "testing", "params": {"device_ids": "cpu", **where}}
        return of(examine(load(reward_model=model)), "environments")

    def test_each_model_s_own_interpreter_is_asked(
        self, load: Load, tmp_path: Path, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        (tmp_path / "python").symlink_to(sys.executable)
        self.foreign(load, python=str(tmp_path / "python"))
        assert [question.python for question in no_probes] == [sys.executable, str(tmp_path / "python")]
        assert no_probes[1].kind == "judge"
        assert no_probes[1].class_path == "edit_eval.plugins.rehearse.in_worker.fake_models:FakeJudge"

    def test_a_conda_environment_that_is_not_there(
        self, load: Load, tmp_path: Path, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        findings = self.foreign(load, conda_env=str(tmp_path / "envs" / "judge"))
        (text,) = stoppers(findings)
        assert text.startswith(f"judge testing: reward_model.params.conda_env: {tmp_path}/envs/judge is not")
        assert [question.who for question in no_probes] == ["edit model testing"]

    def test_one_that_the_first_run_will_make_is_not_made_here(
        self, load: Load, tmp_path: Path, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        findings = self.foreign(load, uv=["transformers==4.57.1"])
        notes = [finding for finding in findings if finding.level == "note"]
        assert [note.sentence for note in notes] == [
            "judge testing: an environment with transformers==4.57.1 will be made once, by the first run"
        ]
        assert not (tmp_path / "cache" / "edit-eval" / "environments").exists()

    def test_a_python_path_reaches_foreign_environments(
        self, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        monkeypatch.setenv("PYTHONPATH", "/somewhere")
        (tmp_path / "python").symlink_to(sys.executable)
        findings = self.foreign(load, python=str(tmp_path / "python"))
        assert [f.level for f in findings if "PYTHONPATH" in f.sentence] == ["warning"]
        assert not [f for f in self.foreign(load) if "PYTHONPATH" in f.sentence]


class TestServed:
    """A model whose server edit-eval starts: its environment is looked at, and nothing is asked of it."""

    def examined(self, load: Load, *, python: str = sys.executable, **serve: Any) -> list[Finding]:
        params = {"device_ids": "cpu:1", "model": "Org/Model", "python": python, "serve": serve}
        return examine(load(reward_model={"type": "chat_endpoint", "params": params}))

    def test_its_engine_is_looked_for_in_its_environment_and_its_client_here(
        self, load: Load, tmp_path: Path, no_probes: list[probing.EnvironmentProbe]
    ) -> None:
        (tmp_path / "python").symlink_to(sys.executable)
        findings = self.examined(load, python=str(tmp_path / "python"), engine="sglang")
        assert sorted((q.who, q.python, q.packages, q.request) for q in no_probes[1:]) == [
            ("judge chat_endpoint", sys.executable, (), {}),
            ("judge chat_endpoint: its server", str(tmp_path / "python"), ("sglang",), {}),
        ]
        assert not of(findings, "keys")
        assert not of(findings, "servers")

    def test_what_it_lacks_is_named_with_the_line_that_installs_it(self, load: Load) -> None:
        pytest.importorskip("aiohttp")
        findings = of(self.examined(load, engine="vllm"), "environments")
        assert stoppers(findings) == [f"judge chat_endpoint: its server: {sys.executable} has no vllm"]
        (advice,) = (finding.advice for finding in findings if finding.stops)
        assert advice.endswith("vllm")

    @pytest.mark.check
    @pytest.mark.real_models
    def test_one_that_has_it_all_says_which_version(self, load: Load) -> None:
        pytest.importorskip("uvicorn")
        version = metadata.version("transformers")
        findings = of(self.examined(load, engine="transformers"), "environments")
        (finding,) = (f for f in findings if f.sentence.startswith("judge chat_endpoint: its server"))
        assert finding.level == "ok"
        assert f"transformers {version}" in finding.sentence

    @pytest.mark.usefixtures("no_probes")
    def test_a_command_whose_program_is_not_there(self, load: Load) -> None:
        findings = self.examined(load, engine="command", command=["no-such-server", "{port}"])
        assert stoppers(findings) == ["judge chat_endpoint: program not found: no-such-server"]


@pytest.mark.usefixtures("no_probes")
class TestBenchmark:
    def test_every_bad_sample_is_named(self, load: Load) -> None:
        items = [item(0), item(1, data=b"no picture"), item(2), item(0)]
        findings = of(examine(load(items)), "benchmark")
        assert [finding.level for finding in findings] == ["problem", "problem"]
        assert "sample 1 (00001_物理)" in findings[0].text
        assert "sample 3" in findings[1].text
        assert "on_bad_sample: skip" in findings[0].advice

    def test_one_that_is_skipped_is_a_warning(self, load: Load) -> None:
        configuration = load([item(0), item(1, data=b"no picture")], benchmark={"on_bad_sample": "skip"})
        findings = examine(configuration)
        assert stoppers(findings) == []
        ok, skipped = of(findings, "benchmark")
        assert ok.text.endswith("2 samples (physical 2)")
        assert skipped.level == "warning"
        assert "sample 1 (00001_物理) will be skipped" in skipped.text
        assert "1 edit " in of(findings, "disk")[0].text

    def test_nothing_but_bad_samples_stops_the_run(self, load: Load) -> None:
        findings = examine(load([item(0, data=b"")], benchmark={"on_bad_sample": "skip"}))
        [said] = stoppers(findings)
        assert said.startswith("no sample can be used, so there is nothing to edit. The first: ")

    def test_filters(self, load: Load) -> None:
        findings = examine(load(benchmark={"categories": ["physical"]}))
        assert of(findings, "benchmark")[0].text.endswith("1 of 2 samples (physical 1)")
        (text,) = stoppers(examine(load(benchmark={"categories": ["社会"]})))
        assert "benchmark.categories" in text

    def test_a_category_without_rubric_stops_the_run(self, load: Load) -> None:
        items = [item(0), *(item(number, "风格") for number in range(1, 23))]
        texts = stoppers(examine(load(items)))
        lacking = "sample 1 (00001_风格): no rubric for its category `风格`: add `prompts.风格.system_prompt`"
        assert texts[0] == f"{lacking}, or write `protocol: {{general: true}}` for the general one"
        assert (len(texts), texts[-1]) == (21, "and 2 more bad samples")

    def test_a_category_without_rubric_can_be_skipped(self, load: Load) -> None:
        findings = examine(load([item(0), item(1, "风格")], benchmark={"on_bad_sample": "skip"}))
        assert stoppers(findings) == []
        (warning,) = (finding.sentence for finding in findings if finding.level == "warning")
        assert warning.startswith("sample 1 (00001_风格) will be skipped: no rubric for its category `风格`")

    def test_a_file_that_is_no_benchmark(self, load: Load, tmp_path: Path) -> None:
        configuration = load()
        (tmp_path / "benchmark.json").write_text("3")
        assert len(stoppers(of(examine(configuration), "benchmark"))) == 1

    @pytest.mark.parametrize(
        ("error", "area"),
        [
            (Stopped("the disk is full"), "disk"),
            (RuntimeError("a mistake in the user's class"), "benchmark"),
            (BenchmarkError("two", ("first", "second")), "benchmark"),
        ],
    )
    def test_whatever_a_benchmark_raises_is_a_finding(
        self, load: Load, error: Exception, area: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def load_badly(*arguments: object) -> Any:
            raise error

        monkeypatch.setattr(checks, "load_samples", load_badly)
        findings = [f for f in examine(load()) if f.stops]
        assert {finding.area for finding in findings} == {area}


@pytest.mark.usefixtures("no_probes")
def test_keys_are_known_by_name_and_never_shown(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "remote.py").write_text(
        "from dataclasses import dataclass\n"
        "class Judge:\n"
        "    @dataclass\n"
        "    class Parameters:\n"
        "        api_key_env: str = 'MY_JUDGE_KEY'\n"
        "    def load(self, devices): pass\n"
        "    def judge(self, requests): return []\n"
    )
    configuration = load(reward_model={"class_path": f"{tmp_path}/remote.py:Judge", "params": {"device_ids": "cpu"}})
    monkeypatch.delenv("MY_JUDGE_KEY", raising=False)
    (missing,) = of(examine(configuration), "keys")
    assert missing.stops
    assert "the variable MY_JUDGE_KEY (api_key_env) is not set" in missing.text
    monkeypatch.setenv("MY_JUDGE_KEY", "sk-canary")
    findings = examine(configuration)
    assert [finding.sentence for finding in of(findings, "keys")] == ["Judge: MY_JUDGE_KEY is set"]
    assert "sk-canary" not in json.dumps([finding.as_plain() for finding in findings])


@pytest.mark.usefixtures("no_probes")
@pytest.mark.parametrize(
    ("takes", "params", "seconds", "said"),
    [
        ("requests", {"max_new_tokens": 8192}, {}, "8192 tokens within `timeout: 600` are 14 a second"),
        ("requests", {"max_new_tokens": 8192, "timeout": 3600}, {}, ""),
        ("requests, on_step", {"max_new_tokens": 8192}, {}, ""),
        ("requests", {}, {"Judge": 301.0}, "a batch took 301 s, and its `timeout` is 600"),
        ("requests", {}, {"Judge": 299.0}, ""),
    ],
)
def test_a_judge_that_tells_no_steps_may_be_taken_for_hung(
    load: Load, tmp_path: Path, takes: str, params: dict[str, Any], seconds: dict[str, float], said: str
) -> None:
    (tmp_path / "silent.py").write_text(
        "class Judge:\n"
        "    def __init__(self, parameters): ...\n"
        "    def load(self, devices): ...\n"
        f"    def judge(self, {takes}): return []\n"
    )
    judge = {"class_path": f"{tmp_path}/silent.py:Judge", "params": {"device_ids": "cpu", **params}}
    findings = [f.sentence for f in silent_judges(load(reward_model=judge), seconds)]
    assert [said in sentence for sentence in findings] == [True] * bool(said)


@pytest.mark.usefixtures("no_probes")
def test_finished_edits_are_counted_and_what_is_missing_is_named(load: Load, tmp_path: Path) -> None:
    edits = tmp_path / "edits"
    edits.mkdir()
    for name in ("00000_物理", "grid"):
        Image.new("RGB", (8, 8)).save(edits / f"{name}.png")
    model = {"type": "image_folder", "params": {"folder": str(edits), "device_ids": "cpu:1"}}
    [line] = [f for f in examine(load(diffusion_model=model)) if "of 2 edits" in f.text]
    assert (line.level, line.text) == ("warning", "image_folder: 1 of 2 edits; missing: 00001_环境; not used: grid.png")
    assert "files: {SAMPLE: FILE}" in line.advice
    model["params"] |= {"files": {"00001_环境": "grid.png"}}
    [line] = [f for f in examine(load(diffusion_model=model)) if "of 2 edits" in f.text]
    assert (line.level, line.text) == ("ok", "image_folder: 2 of 2 edits")


@pytest.mark.usefixtures("no_probes")
@pytest.mark.parametrize("reach", ["reached", "out of reach", "offline"])
def test_weights_that_are_still_to_come_are_counted_once(
    load: Load, monkeypatch: pytest.MonkeyPatch, reach: str
) -> None:
    """Even where this machine cannot download them: somebody has to bring them, and they need room."""
    monkeypatch.setattr(checks, "hub_answers", lambda environment: reach == "reached")
    if reach == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": 78 * 10**9}))
    editor, judge = ({"type": of, "params": {"device_ids": "cpu:1"}} for of in ("qwen_image_edit", "qwen3_vl"))
    several = {"edit_models": {"a": editor, "b": editor}, "judges": {"j": judge}}
    path = load().benchmark.parameters["data_path"]
    [whole] = [f for f in examine(load_configuration({"benchmark": path, **several})) if "still to come" in f.text]
    assert whole.stops
    assert whole.text.startswith("weights still to come (119.8 GB): 78.0 GB free at ")


@pytest.mark.usefixtures("no_probes")
def test_a_server_of_ones_own_may_need_no_key(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    own = "http://localhost:8000/v1"
    asked: tuple[tuple[dict[str, str], str], ...] = (
        ({"base_url": ""}, "problem"),
        ({"base_url": own}, "note"),
        ({"api": "openai"}, "problem"),
        ({"api": "openai", "base_url": own}, "note"),
    )
    for given, level in asked:
        params = {"device_ids": "cpu:1", "model": "m", **given}
        configuration = load(reward_model={"type": "chat_endpoint", "params": params})
        assert [finding.level for finding in of(examine(configuration), "keys")] == [level]


@pytest.mark.usefixtures("no_probes")
def test_without_the_benchmark_s_file_all_else_is_examine(load: Load, tmp_path: Path) -> None:
    configuration = load().as_plain()
    (tmp_path / "benchmark.json").unlink()
    (tmp_path / "benchmark.jsn").write_text("[]")
    findings = preparation.examine(configuration)
    (problem,) = stoppers(findings)
    assert "benchmark.data_path: no such file" in problem
    assert problem.endswith("benchmark.jsn")
    assert {"devices", "host", "disk"} <= {finding.area for finding in findings}
    assert [f.sentence for f in of(findings, "devices") if f.level == "ok"] == [
        "edit model testing: cpu:0, cpu:1 (set in the configuration)",
        "judge testing: cpu:0, cpu:1 (set in the configuration)",
    ]
    configuration["execution"]["pilot"] = 3
    assert not [f for f in preparation.examine(configuration) if f.area == "devices" and f.level == "ok"]


@pytest.mark.usefixtures("no_probes")
def test_a_size_that_nobody_knows_is_no_number(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    params = {"device_ids": "cpu:1", "model_name": "somebody/some-model"}
    findings = examine(load(diffusion_model={"type": "qwen_image_edit", "params": params}))
    text = " ".join(finding.sentence for finding in findings)
    assert "somebody/some-model (of unknown size) is not in the cache" in text
    assert "weights still to come (of unknown size)" in text
    assert "0.0 MB" not in text


@pytest.mark.usefixtures("no_probes")
def test_an_interpreter_that_is_not_there_can_be_made(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for variable in ("CONDA_EXE", "MAMBA_EXE"):
        monkeypatch.delenv(variable, raising=False)
    judge = {"type": "testing", "params": {"device_ids": "cpu:1", "conda_env": "nowhere"}}
    (missing,) = (f for f in of(examine(load(reward_model=judge)), "environments") if f.stops)
    assert missing.advice == "`edit-eval env create DIR --for judge` makes one"


def test_each_further_fault_of_a_configuration_is_a_line() -> None:
    error = ConfigurationError("first (and 1 more)")
    error.add_note("second")
    assert [(f.area, f.sentence, f.stops) for f in refusal(error)] == [
        ("configuration", "first (and 1 more)", True),
        ("configuration", "second", True),
    ]
