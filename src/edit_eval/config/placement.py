"""Where and how a model runs: the keys of `params` that never reach its class, and are not part of any result's key."""

from __future__ import annotations

import os.path
import re
import shutil
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edit_eval.config.faults import Faults, Place, format_value, nearest_path, validate_values
from edit_eval.config.yaml_text import models_written
from edit_eval.json_values import JsonObject
from edit_eval.text import Text

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInteger = Annotated[int, Field(ge=1)]
NotEmpty = Annotated[str, Field(min_length=1)]
Devices = Literal["auto"] | tuple[str, ...]


class _Placed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    devices_per_replica: PositiveInteger = 1
    """Spreads each replica over so many devices, for a model that does not fit on one."""
    offload: Literal["none", "model", "group"] = "none"
    """`model`, `group`: keeps weights in host memory, for a small GPU; slower. Only for classes that support it."""
    python: NotEmpty | None = None
    """The interpreter of the model's own environment: a path, or a name on the `PATH`."""
    conda_env: NotEmpty | None = None
    """Or: the name of a conda environment."""
    uv: Annotated[tuple[str, ...], Field(min_length=1)] = ()
    """Or: a list of requirements, from which `uv` makes an environment once."""
    timeout: PositiveNumber = 600.0
    """Seconds without a step of an edit, or a token of a local judge's answer, until a worker is presumed dead and
    replaced."""
    load_timeout: PositiveNumber = 3600.0
    """Seconds for loading; they begin again while weights are downloaded."""
    batch_size: PositiveInteger = 1
    """Edits that one call of a judge scores. An edit model takes one sample at a time."""


class Placement(_Placed):
    """Where and how one model runs."""

    device_ids: Devices = "auto"
    """`auto`, or names: `cuda:3` among the GPUs visible to the command, `cpu:0` for a CPU worker."""
    single: bool = False
    """True if one `device` was asked for."""

    @property
    def foreign(self) -> bool:
        """True if the model runs in an environment of its own."""
        return bool(self.python or self.conda_env or self.uv)

    def as_plain(self) -> JsonObject:
        """Returns the keys as in a file, without unused ones."""
        plain = self.model_dump(mode="json", exclude={"device_ids", "single"})
        plain = {key: value for key, value in plain.items() if value not in (None, [])}
        if self.single and self.device_ids != "auto":
            device = self.device_ids[0]
            return {"device": "cpu" if device.startswith("cpu:") else device, **plain}
        return {"device_ids": self.device_ids if self.device_ids == "auto" else list(self.device_ids), **plain}


class WrittenPlacement(_Placed):
    """The keys as written in a file."""

    device: str | int | None = None
    """One replica on one device: `cuda:1`, `1`, `cpu`."""
    device_ids: str | int | list[str | int] = "auto"
    """One replica on each of these, in this order: `[2, 3, 0]`, counted among the GPUs visible to the command. `auto`:
    every visible GPU; without one, small models run on the CPU, and a model of more than 2 GB is refused. `cpu:4`: four
    workers on the CPU; `cpu:1` for a model that needs no GPU, such as a server's client."""
    python_path: NotEmpty | None = None
    """`python`, in files of the original scripts."""
    use_batch_inference: bool = True
    """`batch_size: 1` if false, in files of the original scripts."""
    enable_batch_sync: bool | None = None
    """`execution.schedule`, in files of the original scripts."""
    disable_progress_bar: bool | None = None
    """Has no effect."""


PLACEMENT_KEYS = tuple(dict.fromkeys(("device", "device_ids", *WrittenPlacement.model_fields)))
"""Keys taken out of `params`, on where and how a model runs."""
SAMPLE_KEYS = {"edit_model": ("seed", "mask"), "judge": ("seed",)}
"""Keys taken out, too, by the kind of model: on what it gets with each sample."""
PLACEMENT_KEYS_BEFORE = ("python_path", "use_batch_inference", "enable_batch_sync", "disable_progress_bar")
"""Those found only in the base system's files: accepted, but never listed."""


def strip_placement(plain: Mapping[str, Any]) -> JsonObject:
    """Returns a full configuration (as in the YAML) without the keys on where and how it runs."""
    left = {key: value for key, value in plain.items() if key not in ("execution", "trackers")}
    for section, name, model in models_written(left):
        params = {key: value for key, value in model["params"].items() if key not in PLACEMENT_KEYS}
        left[section] = {**left[section], name: {**model, "params": params}}
    return left


def read_placement(written: Mapping[str, Any], place: Place, faults: Faults, notes: list[str]) -> Placement:
    """Builds a `Placement` from the placement keys in the `params` at `place`; faults are noted, not raised."""
    given = {key: value for key, value in written.items() if value is not None}
    keys, wrong = validate_values(WrittenPlacement.model_validate_json, given)
    for where, text in wrong:
        faults.add(place + where, text)
    if keys is None:
        return Placement()
    values = keys.model_dump(include=set(_Placed.model_fields), exclude_defaults=True)
    environments = [key for key in ("python", "python_path", "conda_env", "uv") if key in given]
    if len(environments) > 1:
        text = Text("the environment is already given by `{}`; keep one of them", environments[0])
        faults.add((*place, environments[1]), text)
    if python := keys.python or keys.python_path:
        values["python"] = python
        is_path = "/" in python
        if not (os.path.isfile(python) if is_path else shutil.which(python)):
            near = nearest_path(python) if is_path else Text(" (nor a program of that name)")
            faults.add((*place, "python" if keys.python else "python_path"), Text("no such file: {}{}", python, near))
    if not keys.use_batch_inference:
        values["batch_size"] = 1
    if keys.offload != "none" and keys.devices_per_replica > 1:
        faults.add((*place, "offload"), Text("needs one device per replica; leave out this or `devices_per_replica`"))
    device = None if keys.device == "auto" else keys.device
    try:
        if device is not None:
            if "device_ids" in given:
                raise ValueError(Text("`device_ids` is also given; keep one of them"))
            names = device_names(["cpu:0"] if device == "cpu:0" else device)
            if len(names) > 1:
                raise ValueError(Text("one device; for {} workers write `device_ids: {}`", len(names), device))
            if keys.devices_per_replica > 1:
                words = Text(
                    "one device cannot hold `devices_per_replica: {}`; write `device_ids`", keys.devices_per_replica
                )
                raise ValueError(words)
            values |= {"device_ids": names, "single": True}
        elif keys.device_ids != "auto":
            values["device_ids"] = device_names(keys.device_ids)
            _check_replicas(values["device_ids"], keys.devices_per_replica)
        elif keys.device == "auto" and "device_ids" not in given:
            notes.append(Text("{:.}.device: auto means one replica on each device (device_ids: auto)", place))
    except ValueError as error:
        faults.add((*place, "device_ids" if device is None else "device"), str(error))
    return Placement(**values)


def _check_replicas(names: tuple[str, ...], count: int) -> None:
    if len(names) % count:
        raise ValueError(
            Text("{} devices cannot be split into replicas of {} (`devices_per_replica`)", len(names), count)
        )


def device_names(written: str | int | list[str | int]) -> tuple[str, ...]:
    """Returns device names: `3` is `cuda:3`; `cpu:4` alone is four workers `cpu:0` to `cpu:3`, but a name in a list.

    Raises `ValueError` with a readable text.
    """
    if isinstance(written, str) and (match := re.fullmatch(r"cpu(?::([0-9]+))?", written)):
        workers = int(match[1] or 1)
        if not 1 <= workers <= 1024:
            raise ValueError(Text("{} asks for {} CPU workers; allowed are 1 to 1024", written, workers))
        return tuple(f"cpu:{i}" for i in range(workers))
    if isinstance(written, list) and not written:
        raise ValueError(Text("an empty list; write `auto` for every GPU"))
    names = tuple(_device_name(device) for device in (written if isinstance(written, list) else [written]))
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice:
        raise ValueError(Text("{} is given twice", twice))
    return names


def _device_name(written: str | int) -> str:
    text = str(written)
    if re.fullmatch(r"[0-9]+", text):
        return f"cuda:{int(text)}"
    if match := re.fullmatch(r"(cuda|cpu)(?::([0-9]+))?", text):
        return f"{match[1]}:{int(match[2] or 0)}"
    raise ValueError(
        Text("{} is not a valid device; write 1, cuda:1, cpu:2 (two CPU workers) or auto", format_value(written))
    )


def find_written_name(key: str, written: Mapping[str, Any]) -> str:
    """Returns the name under which a key of `Placement` was written in a file."""
    other = {"device_ids": "device", "python": "python_path"}.get(key, key)
    return other if written.get(key) is None and written.get(other) is not None else key


def read_devices_flag(text: str) -> Devices:
    """Parses `--devices`: `auto`, `cpu:4`, or `0,2,3`. Raises `ValueError` with a readable text."""
    text = text.strip()
    if text == "auto":
        return "auto"
    parts: list[str | int] = [part.strip() for part in text.split(",") if part.strip()]
    return device_names(parts[0] if len(parts) == 1 and "," not in text and isinstance(parts[0], str) else parts)


def replace_devices(placement: Placement, devices: Devices) -> Placement:
    """Returns `placement` with other devices; one that asked for a single `device` keeps one. Raises `ValueError`."""
    if devices != "auto":
        if placement.single:
            devices = devices[:1]
        _check_replicas(devices, placement.devices_per_replica)
    elif placement.single:
        return placement
    return placement.model_copy(update={"device_ids": devices})
