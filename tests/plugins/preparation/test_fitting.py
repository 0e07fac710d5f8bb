from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.placement import Placement
from edit_eval.config.recorded import ProtocolSection
from edit_eval.config.schema import ModelSection
from edit_eval.execution.contract import Gpu
from edit_eval.execution.findings import Finding
from edit_eval.execution.machine.memory import GIB
from edit_eval.plugins.preparation.fitting import (
    CONTEXT,
    PlacedModel,
    claim_of,
    fit_findings,
    gpu_sharing_findings,
    host_findings,
    need_of,
    remedies,
    weights_of,
)
from edit_eval.plugins.preparation.weights import Weights, find_weights
from edit_eval.scheduling.tasks import Model

EDITOR, JUDGE = "Qwen/Qwen-Image-Edit", "Qwen/Qwen3-VL-30B-A3B-Instruct"


def gpu(number: int, free: float, total: float | None = None, **more: Any) -> Gpu:
    return Gpu(f"cuda:{number}", "NVIDIA H100", f"GPU-{number}", int((total or free) * GIB), int(free * GIB), **more)


def wanted(
    name: str, *devices: str, batch_size: int = 1, places: tuple[tuple[str, ...], ...] = (), **more: Any
) -> PlacedModel:
    """The published model of that name on these devices, one replica each."""
    placement = {key: more.pop(key) for key in ("offload", "devices_per_replica") if key in more}
    kind = "judge" if name == JUDGE else "edit"
    parameters = {"model_name": name, "dtype": "bfloat16", **more}
    section = ModelSection(
        name="m",
        type="t",
        class_path="a:b",
        parameters=parameters,
        placement=Placement(batch_size=batch_size, **placement),
    )
    weights = find_weights(name, None, parameters["dtype"], {"HF_HOME": "/nowhere"})
    chosen = places or tuple((device,) for device in devices)
    return PlacedModel(Model.from_key(f"{kind}:m", chosen), section, weights, can_offload=True)


def levels(findings: list[Finding]) -> list[str]:
    return [finding.level for finding in findings]


class TestNeed:
    def test_the_measured_peak_of_an_edit_is_met(self) -> None:
        need = need_of(wanted(EDITOR, "cuda:0"))
        assert need is not None
        assert need.weights == pytest.approx(53.7 * GIB, rel=0.01)
        assert need.total == pytest.approx(59.7 * GIB, rel=0.02)  # vLLM-Omni on an H200

    def test_every_part_of_flux_kontext_counts(self) -> None:
        """Counted by hand: 22.2 GiB, T5 8.9, CLIP and VAE .4."""
        need = need_of(wanted("black-forest-labs/FLUX.1-Kontext-dev", "cuda:0"))
        assert need is not None
        assert need.weights == pytest.approx(31.5 * GIB, rel=0.005)

    def test_what_changes_it(self) -> None:
        plain = need_of(wanted(EDITOR, "cuda:0"))
        assert plain is not None

        def weights(**more: Any) -> float:
            need = need_of(wanted(EDITOR, "cuda:0", **more))
            assert need is not None
            return need.weights / 1e9

        assert weights() == pytest.approx(57.7, abs=0.1)
        assert weights(dtype="float32") == pytest.approx(115.4, abs=0.1)
        assert weights(devices_per_replica=2) == pytest.approx(28.8, abs=0.1)
        assert weights(offload="model") == pytest.approx(40.9, abs=0.1)  # the transformer
        assert weights(offload="group") < 2
        quantised = {"transformer": {"quantization_config": {"load_in_4bit": True}}}
        assert weights(load=quantised) == pytest.approx(40.9 * 0.05 + 40.9 * 0.95 * 0.5625 / 2 + 16.8, rel=0.05)
        small = need_of(wanted(EDITOR, "cuda:0", canvas=1 << 18))
        assert small is not None
        assert plain.work - small.work == pytest.approx(4.5 * GIB)

    def test_a_judge_s_work_grows_with_its_batch(self) -> None:
        one, eight = need_of(wanted(JUDGE, "cuda:0")), need_of(wanted(JUDGE, "cuda:0", batch_size=8))
        assert one is not None
        assert eight is not None
        assert eight.work - one.work == 7 * GIB

    def test_a_tiny_model_needs_little(self) -> None:
        tiny = Weights("tiny", Path("tiny"), {"vae": 1000})
        need = need_of(replace(wanted(EDITOR, "cuda:0"), weights=tiny))
        assert need is not None
        assert need.total < CONTEXT + 2000

    def test_what_is_not_known_is_none(self) -> None:
        assert need_of(wanted("somebody/model", "cuda:0")) is None
        assert need_of(wanted(EDITOR, "cuda:0", load={"quantization_config": {"quant_method": "x"}})) is None


class TestFit:
    def test_one_line_where_it_fits_everywhere(self) -> None:
        gpus = [gpu(0, 79), gpu(1, 78)]
        (finding,) = fit_findings(wanted(EDITOR, "cuda:0", "cuda:1"), gpus, None)
        assert finding.level == "ok"
        assert finding.text.endswith("which fits on each of its 2 places")
        assert "from its published configuration" in finding.text

    def test_a_gpu_in_use_is_named_with_its_users_and_the_others_are_offered(self) -> None:
        busy = gpu(1, 12, 80, users=("1234 python (68.0 GiB)",))
        gpus = [gpu(0, 79), busy, gpu(2, 79)]
        (finding,) = fit_findings(wanted(EDITOR, "cuda:0", "cuda:1"), gpus, None)
        assert finding.level == "warning"
        assert "only 12.0 GiB free on cuda:1, used by 1234 python (68.0 GiB)" in finding.text
        assert finding.advice == "it will not be used; device_ids: [0, 2] have room"

    def test_where_it_fits_nowhere_the_run_would_stop(self) -> None:
        gpus = [gpu(0, 47), gpu(1, 47)]
        findings = fit_findings(wanted(EDITOR, "cuda:0", "cuda:1"), gpus, 200 * GIB)
        assert levels(findings) == ["problem"], "the same of both is said once"
        assert "but only 47.0 GiB free on cuda:0, cuda:1" in findings[0].text
        assert "devices_per_replica: 2" in findings[0].advice
        assert "offload: model" in findings[0].advice

    def test_where_only_the_weights_fit_it_is_a_warning(self) -> None:
        (finding,) = fit_findings(wanted(EDITOR, "cuda:0"), [gpu(0, 56)], None)
        assert finding.level == "warning"
        assert finding.text.endswith("and 56.0 GiB free on cuda:0: it may run out of memory")

    def test_of_several_devices_a_replica_the_fullest_counts(self) -> None:
        pair = wanted(EDITOR, devices_per_replica=2, places=(("cuda:0", "cuda:1"),))
        assert levels(fit_findings(pair, [gpu(0, 40), gpu(1, 40)], None)) == ["ok"]
        assert levels(fit_findings(pair, [gpu(0, 40), gpu(1, 9)], None)) == ["problem"]

    def test_a_gpu_that_does_not_tell_its_memory_gets_no_verdict(self) -> None:
        silent = Gpu("cuda:0", "NVIDIA GB10", "GPU-0", None, None)
        (finding,) = fit_findings(wanted(EDITOR, "cuda:0"), [silent], None)
        assert finding.level == "note"

    def test_an_unknown_model_gets_no_verdict(self) -> None:
        assert fit_findings(wanted("somebody/model", "cuda:0"), [gpu(0, 1)], None) == []

    def test_workers_on_the_cpu_need_host_memory(self) -> None:
        assert levels(fit_findings(wanted(EDITOR, "cpu:0"), [], 100 * GIB)) == ["warning"]  # hours a sample
        (finding,) = fit_findings(wanted(EDITOR, "cpu:0", "cpu:1"), [], 100 * GIB)
        assert finding.level == "problem"
        assert finding.advice == "device_ids: cpu:1"
        (finding,) = fit_findings(wanted(EDITOR, "cpu:0"), [], 20 * GIB)
        assert finding.level == "problem"
        assert "a GPU" in finding.advice


class TestRemedies:
    """Only what would really fit is named."""

    @pytest.mark.parametrize(
        ("name", "room", "gpus", "named", "not_named"),
        [
            (EDITOR, 45, 2, ["devices_per_replica: 2", "offload: model", "load: {transformer: {quant"], ["group"]),
            (EDITOR, 45, 1, ["offload: model"], ["devices_per_replica"]),
            (EDITOR, 23, 1, ["offload: group"], ["offload: model"]),
            (EDITOR, 23, 4, ["devices_per_replica: 4", "offload: group"], ["devices_per_replica: 3", "free the"]),
            (JUDGE, 23, 1, ["Qwen3-VL-8B", "offload: model"], ["devices_per_replica", "quantization_config"]),
            ("Qwen/Qwen3.5-27B", 30, 1, ["load: {quantization_config"], []),
            (JUDGE, 12, 1, ["offload: model"], ["Qwen3-VL-8B"]),
        ],
    )
    def test_settings(self, name: str, room: int, gpus: int, named: list[str], not_named: list[str]) -> None:
        ways = remedies(wanted(name, "cuda:0"), [gpu(n, room) for n in range(gpus)], room * GIB, 500 * GIB)
        assert [words for words in named if words not in ways] == []
        assert [words for words in not_named if words in ways] == []

    def test_each_named_setting_makes_it_fit(self) -> None:
        room = 45 * GIB
        for more in ({"devices_per_replica": 2}, {"offload": "model"}):
            need = need_of(wanted(EDITOR, "cuda:0", **more))
            assert need is not None
            assert need.total <= room

    def test_offload_is_not_named_where_the_host_has_no_room(self) -> None:
        assert "offload" not in remedies(wanted(EDITOR, "cuda:0"), [gpu(0, 45)], 45 * GIB, 30 * GIB)

    def test_a_narrower_dtype_is_named(self) -> None:
        assert "dtype: bfloat16" in remedies(wanted(EDITOR, "cuda:0", dtype="float32"), [gpu(0, 79)], 79 * GIB, None)

    def test_memory_that_others_hold_is_named(self) -> None:
        assert "free the memory" in remedies(wanted(EDITOR, "cuda:0"), [gpu(0, 20, 80)], 20 * GIB, 0)

    def test_there_is_always_an_answer(self) -> None:
        ways = remedies(wanted(EDITOR, "cuda:0"), [gpu(0, 2)], 2 * GIB, 0)
        assert ways == "a GPU with more memory, or a smaller model"


class TestTogether:
    def models(self) -> list[PlacedModel]:
        return [wanted(EDITOR, "cuda:0", "cuda:1"), wanted(JUDGE, "cuda:0")]

    def test_both_on_an_h200_is_offered(self) -> None:
        (finding,) = gpu_sharing_findings(self.models(), [gpu(0, 139), gpu(1, 139)], "swap")
        assert finding.level == "note"
        assert "execution.placement: together" in finding.advice

    def test_both_on_80_gib_is_not(self) -> None:
        assert gpu_sharing_findings(self.models(), [gpu(0, 79), gpu(1, 79)], "swap") == []

    def test_asked_for_where_there_is_no_room_it_stops_the_run(self) -> None:
        (finding,) = gpu_sharing_findings(self.models(), [gpu(0, 79), gpu(1, 79)], "together")
        assert finding.stops
        assert finding.advice == "execution.placement: swap"

    def test_models_that_share_no_gpu_are_not_looked_at(self) -> None:
        apart = [wanted(EDITOR, "cuda:1"), wanted(JUDGE, "cuda:0")]
        assert gpu_sharing_findings(apart, [gpu(0, 139), gpu(1, 139)], "swap") == []


class TestHost:
    def test_offloaded_weights_need_host_memory_for_each_replica(self) -> None:
        model = wanted(EDITOR, "cuda:0", "cuda:1", offload="group")
        assert host_findings([model], "auto", 200 * GIB) == []
        (finding,) = host_findings([model], "auto", 100 * GIB)
        assert finding.stops
        assert finding.advice == "use 1 GPU (device_ids)"

    def test_too_many_loads_at_once_are_a_warning(self) -> None:
        model = wanted(EDITOR, *(f"cuda:{n}" for n in range(8)))
        (finding,) = host_findings([model], 8, 6 * GIB)
        assert finding.level == "warning"
        assert finding.advice == "execution.load_concurrency: 4"
        assert host_findings([model], 4, 6 * GIB) == []
        assert host_findings([model], "auto", 6 * GIB) == []
        assert host_findings([model], 8, None) == []


def served(*devices: str, free: float = 79.0, size: float = 80.0, **serve: Any) -> tuple[PlacedModel, list[Gpu]]:
    """The published judge behind a server of ours on these devices, and these GPUs."""
    parameters = {"model": JUDGE, "serve": {"engine": "vllm", **serve}}
    asked = ProtocolSection(type="rubric", class_path="a:b")
    section = ModelSection(name="m", type="t", class_path="a:b", parameters=parameters, protocol=asked)
    gpus = [gpu(number, free, size) for number in range(len(devices))]
    places = tuple((device,) for device in devices)
    weights = weights_of(section, {"HF_HOME": "/nowhere"})
    claim = claim_of(section, places, gpus)
    return PlacedModel(Model.from_key("judge:m", places), section, weights, claim=claim), gpus


class TestServed:
    """A server takes its share of a GPU when it starts, whatever it needs."""

    def test_its_weights_are_those_of_its_model(self) -> None:
        assert served("cuda:0")[0].weights.name == JUDGE
        unknown = {"engine": "command", "command": ["x", "{port}"]}
        assert served("cuda:0", **unknown)[0].weights.name == ""

    def test_it_takes_what_its_engine_takes_or_what_it_is_told_to(self) -> None:
        for serve, share in (
            ({}, 0.92),
            ({"memory": 0.85}, 0.85),
            ({"args": ["--gpu-memory-utilization", 0.8]}, 0.8),
            ({"engine": "sglang", "memory": 0.8}, 0.8),
        ):
            judge, gpus = served("cuda:0", **serve)
            need = need_of(judge)
            assert need is not None
            assert need.weights == pytest.approx(share * 80 * GIB)
            (finding,) = fit_findings(judge, gpus, None)
            assert finding.level == "ok", finding

    def test_one_that_takes_what_it_needs_is_counted_by_its_weights(self) -> None:
        judge, _ = served("cuda:0", engine="transformers")
        need = need_of(judge)
        assert judge.claim is None
        assert need is not None
        assert need.weights == pytest.approx(57.9 * GIB, rel=0.01)

    def test_a_gpu_that_is_in_use_has_no_room_for_its_share(self) -> None:
        (finding,) = fit_findings(*served("cuda:0", free=70.0), None)
        assert finding.level == "problem"
        assert finding.text == (
            "judge m: 73.6 GiB a GPU, which its server takes when it starts, but only 70.0 GiB free on cuda:0"
        )
        assert finding.advice == "serve: {memory: 0.86}"

    def test_a_share_that_is_smaller_than_its_weights(self) -> None:
        (finding,) = fit_findings(*served("cuda:0", memory=0.5), None)
        text = "judge m: its server may take 40.0 GiB of each GPU, but its weights need more: 57.9 GiB"
        assert (finding.level, finding.text) == ("problem", text)
        (finding,) = fit_findings(*served("cuda:0", memory=0.5, args=["--quantization", "fp8"]), None)
        assert finding.level == "ok"

    def test_beside_another_model_it_must_be_told_its_share(self) -> None:
        judge, _ = served("cuda:0", size=141.0, free=140.0)
        gpus = [gpu(0, 140.0, 141.0)]
        other = wanted(EDITOR, "cuda:0")
        (finding,) = gpu_sharing_findings([other, judge], gpus, "together")
        assert finding.level == "problem"
        assert finding.advice == "execution.placement: swap, or a smaller `serve.memory`"
        smaller, _ = served("cuda:0", size=141.0, free=140.0, memory=0.5)
        assert not gpu_sharing_findings([other, smaller], gpus, "together")
