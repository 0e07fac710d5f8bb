from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from edit_eval.execution.findings import Finding
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.plugins.preparation.machine import disk_findings, gpu_findings, host_finding
from fake_nvml import GIB, gpu, install


def findings() -> list[Finding]:
    return gpu_findings(LocalMachine(), os.environ)


class TestGpus:
    def test_each_gpu_is_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), gpu(1, free=79.5))
        assert [(f.level, f.text) for f in findings()] == [
            ("ok", "cuda:0 NVIDIA H100: 80.0 of 80.0 GiB free, 0 % busy"),
            ("ok", "cuda:1 NVIDIA H100: 79.5 of 80.0 GiB free, 0 % busy"),
        ]

    def test_those_that_are_alike_share_a_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, *(gpu(number) for number in range(6)), gpu(6, free=79.5), gpu(7))
        assert [f.text for f in findings()] == [
            "cuda:0 to 5, each NVIDIA H100: 80.0 of 80.0 GiB free, 0 % busy",
            "cuda:6 NVIDIA H100: 79.5 of 80.0 GiB free, 0 % busy",
            "cuda:7 NVIDIA H100: 80.0 of 80.0 GiB free, 0 % busy",
        ]

    def test_one_in_use_is_named_with_its_users_and_the_free_ones_are_offered(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(monkeypatch, gpu(0), gpu(1, free=12, busy=98, users=[(1 << 30, 68 * GIB)]), gpu(2))
        _, used, _, offer = findings()
        assert (used.level, used.text) == (
            "note",
            f"cuda:1 NVIDIA H100: 12.0 of 80.0 GiB free, 98 % busy, used by {1 << 30} ? (68.0 GiB)",
        )
        assert (offer.text, offer.advice) == ("2 of 3 GPUs are free", "device_ids: [0, 2]")

    def test_none_is_fine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", None)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(LocalMachine, "fault", lambda self: "")
        (finding,) = findings()
        assert finding.level == "note"
        assert "CPU" in finding.text

    def test_hidden_ones_are_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), visible="")
        (finding,) = findings()
        assert "CUDA_VISIBLE_DEVICES is ``" in finding.text

    def test_a_driver_that_does_not_answer_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), fault="Driver/library version mismatch")
        monkeypatch.setattr(os.path, "exists", lambda path: path == "/dev/nvidiactl")
        (finding,) = findings()
        assert finding.level == "warning"
        assert "Driver/library version mismatch" in finding.text

    @pytest.mark.parametrize("others", [0, 2])
    def test_one_that_is_lost_is_named_beside_the_others(self, monkeypatch: pytest.MonkeyPatch, others: int) -> None:
        install(monkeypatch, gpu(0, lost="MemoryInfo"), *(gpu(1 + n) for n in range(others)))
        *there, lost = findings()
        assert lost.level == "warning"
        assert "cuda:0 does not answer (GPU is lost)" in lost.text
        assert [finding.level for finding in there] == ["ok"] * bool(others)

    def test_an_entry_that_ends_the_list_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), gpu(1), visible="1,7,0")
        assert "names `7`, which does not exist" in findings()[1].text

    def test_gpus_of_two_kinds_and_another_order_are_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), gpu(1, title="NVIDIA A100"))
        monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
        texts = " ".join(finding.text for finding in findings())
        assert "2 kinds (NVIDIA H100, NVIDIA A100)" in texts
        assert "CUDA_DEVICE_ORDER=FASTEST_FIRST is not used" in texts

    def test_memory_that_is_not_told_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, {"uuid": "GPU-1", "title": "NVIDIA GB10"})
        assert [f.text for f in findings()] == ["cuda:0 NVIDIA GB10: the driver does not report its memory"]


class TestHost:
    def test_one_line(self) -> None:
        assert "3.0 GiB of memory free" in host_finding(3 * GIB).text
        assert "unknown" in host_finding(None).text


class TestDisk:
    @pytest.fixture
    def free(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
        """How many bytes are free."""
        room = {"bytes": 100e9}
        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=room["bytes"]))
        return room

    def test_room_for_the_images(self, tmp_path: Path, free: dict[str, float]) -> None:
        (finding,) = disk_findings(tmp_path / "runs" / "a", 900, {})
        assert (finding.level, finding.text) == (
            "ok",
            f"the run (900 edits of about 2 MB): 100.0 GB free at {tmp_path}",
        )

    def test_too_little_says_how_much_is_missing(self, tmp_path: Path, free: dict[str, float]) -> None:
        free["bytes"] = 1e9
        (finding,) = disk_findings(tmp_path, 900, {})
        assert finding.stops
        assert finding.advice.startswith("free 0.8 GB")

    def test_just_enough_is_a_warning(self, tmp_path: Path, free: dict[str, float]) -> None:
        free["bytes"] = 2e9
        (finding,) = disk_findings(tmp_path, 900, {})
        assert finding.level == "warning"

    def test_what_shares_a_disk_is_added_up(self, tmp_path: Path, free: dict[str, float]) -> None:
        first, second = disk_findings(tmp_path / "runs", 10_000, {tmp_path / "hub": 90_000_000_000})
        assert first.level == "ok"
        assert second.stops
        assert second.text.startswith("weights still to come (90.0 GB)")
        assert second.advice.startswith("free 10.0 GB")

    def test_without_a_configuration_only_the_room_is_told(self, tmp_path: Path, free: dict[str, float]) -> None:
        (finding,) = disk_findings(tmp_path, None, {})
        assert finding.text == f"runs: 100.0 GB free at {tmp_path}"

    def test_a_folder_that_cannot_be_written(self, free: dict[str, float]) -> None:
        (finding,) = disk_findings(Path("/proc/1/runs"), 10, {})
        if os.access("/proc/1", os.W_OK):
            pytest.skip("everything can be written here")
        assert finding.stops
        assert "cannot be written" in finding.text
