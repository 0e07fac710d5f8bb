"""Checks this machine: its GPUs, its memory, its disks."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from edit_eval.execution.contract import Gpu, Machine
from edit_eval.execution.findings import Finding, Level
from edit_eval.execution.machine.devices import visible
from edit_eval.execution.machine.memory import gib
from edit_eval.execution.machine.places import describe_lost_gpus
from edit_eval.text import Text, pluralize

IMAGE_BYTES = 2_000_000
"""Size of an edit's PNG: about one megapixel at two bytes a pixel."""


def gpu_findings(machine: Machine, environment: Mapping[str, str]) -> list[Finding]:
    """Reports the GPUs that the command sees, who uses them, and which are free."""
    gpus = machine.gpus()
    findings = _group_findings(gpus)
    entries = visible(environment)
    lost = machine.lost()
    for said in describe_lost_gpus(lost):
        advice = Text("`nvidia-smi` and `dmesg` (Xid) say more; a reset or a reboot often helps")
        findings.append(Finding("devices", "warning", said, advice))
    if fault := machine.fault():
        advice = Text("`nvidia-smi` fails too until the driver works; a reboot often helps")
        findings.append(Finding("devices", "warning", Text("the NVIDIA driver does not answer: {}", fault), advice))
    elif entries is not None and not (gpus or lost):
        text = Text("no GPU is visible: CUDA_VISIBLE_DEVICES is `{}`", environment["CUDA_VISIBLE_DEVICES"])
        findings.append(
            Finding("devices", "note", text, Text("unset it to see all GPUs; models run on the CPU otherwise"))
        )
    elif not (gpus or lost):
        text = Text("no GPU is visible: models run on the CPU, with one worker or as many as `--devices cpu:N` says")
        findings.append(Finding("devices", "note", text))
    elif entries is not None and len(entries) > (count := machine.gpu_count()):
        text = Text(
            "CUDA_VISIBLE_DEVICES names `{}`, which does not exist: CUDA ignores it and everything after it",
            entries[count],
        )
        findings.append(Finding("devices", "warning", text, Text("`nvidia-smi -L` lists indices and UUIDs")))
    if environment.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID") != "PCI_BUS_ID" and len(gpus) > 1:
        order = environment["CUDA_DEVICE_ORDER"]
        text = Text("CUDA_DEVICE_ORDER={} is not used: GPUs count in PCI order, as those of nvidia-smi", order)
        findings.append(Finding("devices", "note", text))
    kinds = dict.fromkeys(gpu.title for gpu in gpus)
    if len(kinds) > 1:
        text = Text("GPUs of {} kinds ({}): the same seed gives the same pixels only on one kind", len(kinds), kinds)
        findings.append(
            Finding("devices", "note", text, Text("use device_ids of one kind, for results that others can reproduce"))
        )
    free = [gpu.name.partition(":")[2] for gpu in gpus if is_free(gpu)]
    if gpus and len(free) < len(gpus):
        text = Text("{} of {} GPUs are free", len(free), len(gpus))
        advice = Text("device_ids: [{}]", free) if free else Text("wait, or stop what uses them")
        findings.append(Finding("devices", "note", text, advice))
    return findings


def is_free(gpu: Gpu) -> bool:
    """True unless other processes hold a tenth of the GPU's memory."""
    return gpu.memory is None or gpu.free is None or gpu.free >= 0.9 * gpu.memory


def _group_findings(gpus: Sequence[Gpu]) -> list[Finding]:
    """Returns one finding for each GPU; neighbours that are alike share one."""
    findings: list[Finding] = []
    for (text, level), alike in itertools.groupby(gpus, _describe_gpu):
        names = [gpu.name for gpu in alike]
        shown = names[0] if len(names) == 1 else Text("{} to {},", names[0], names[-1].partition(":")[2])
        findings.append(
            Finding(
                "devices", level, Text("{} {}", shown, text) if len(names) == 1 else Text("{} each {}", shown, text)
            )
        )
    return findings


def _describe_gpu(gpu: Gpu) -> tuple[str, Level]:
    if gpu.memory is None or gpu.free is None:
        memory = Text("the driver does not report its memory")
    else:
        memory = Text("{:.1f} of {} free", gpu.free / 2**30, gib(gpu.memory))
    busy = Text(", {} % busy", gpu.utilisation) if gpu.utilisation is not None else ""
    users = Text(", used by {}", gpu.users) if gpu.users else ""
    return Text("{}: {}{}{}", gpu.title, memory, busy, users), "ok" if is_free(gpu) else "note"


# -- memory of the host --


def host_finding(free: int | None) -> Finding:
    """Reports processors and memory."""
    memory = Text("{} of memory free", gib(free)) if free is not None else Text("its free memory is unknown")
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("host", "ok", Text("{}, {}", pluralize(processors, "processor"), memory))


# -- disks --


def disk_findings(run_folder: Path, images: int | None, downloads: Mapping[Path, int | None]) -> list[Finding]:
    """Checks whether there is room for the run's images and for weights that are still to come.

    `images` is how many edits the run will write, `downloads` are bytes of weights by folder; None if unknown.
    """
    needs: dict[Path, tuple[str, int]] = {}
    if images is None:
        needs[run_folder] = ("runs", 0)
    else:
        needs[run_folder] = (Text("the run ({} of about 2 MB)", pluralize(images, "edit")), images * IMAGE_BYTES)
    for folder, count in downloads.items():
        size = gb(count) if count else Text("of unknown size")
        needs[folder] = (Text("weights still to come ({})", size), count or 0)
    on_disk: dict[int, int] = {}
    findings = []
    for folder, (what, count) in needs.items():
        existing = nearest_folder(folder)
        try:
            free, disk = shutil.disk_usage(existing).free, existing.stat().st_dev
        except OSError as error:
            findings.append(Finding("disk", "problem", Text("{} cannot be inspected: {}", existing, error.strerror)))
            continue
        on_disk[disk] = on_disk.get(disk, 0) + count  # two folders may share it
        text = Text("{}: {} free at {}", what, gb(free), existing)
        if not os.access(existing, os.W_OK):
            advice = Text("give a folder that can be written (--run-dir, HF_HOME)")
            findings.append(Finding("disk", "problem", Text("{}: {} cannot be written", what, existing), advice))
        elif on_disk[disk] > free:
            advice = Text("free {}, or use another disk (--run-dir, HF_HOME)", gb(on_disk[disk] - free))
            findings.append(Finding("disk", "problem", text, advice))
        elif on_disk[disk] * 1.5 > free or free < 1e9:
            advice = Text("that is little; a full disk stops the run, which can be resumed once there is space")
            findings.append(Finding("disk", "warning", text, advice))
        else:
            findings.append(Finding("disk", "ok", text))
    return findings


def gb(count: float) -> str:
    """Formats bytes of files: `57.7 GB`; small numbers in MB. Memory is counted in GiB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def nearest_folder(path: Path) -> Path:
    """Returns the folder itself, or its nearest existing parent."""
    path = path.expanduser().absolute()
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path
