"""What `offload: group` has on a card at once, counted without one: diffusers' own hooks, on a stream of nobody's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest


class _NoStream:
    """A stream that is always done, and the device that it belongs to."""

    def __init__(self, *_: Any) -> None: ...

    def synchronize(self) -> None: ...

    def stream(self, _: Any) -> Any:
        return contextlib.nullcontext()

    def current_stream(self) -> _NoStream:
        return self


@contextlib.contextmanager
def counted() -> Iterator[list[int]]:
    """Yields the bytes of all groups that are on the device, after each that comes.

    The next group is asked for while one computes, as on a card: without a stream diffusers asks for none.
    """
    from diffusers.hooks import group_offloading

    here: dict[int, Any] = {}
    seen: list[int] = []
    own = group_offloading._apply_group_offloading
    come, go = group_offloading.ModuleGroup.onload_, group_offloading.ModuleGroup.offload_

    def with_stream(module: Any, config: Any) -> None:
        config.stream = _NoStream()
        config.low_cpu_mem_usage = True  # as on a card: nothing is pinned before it is copied
        own(module, config)

    def comes(group: Any) -> None:
        come(group)
        here[id(group)] = group
        tensors = (tensor for loaded in here.values() for tensor in _tensors(loaded))
        seen.append(sum({tensor.data_ptr(): tensor.nbytes for tensor in tensors}.values()))

    def goes(group: Any) -> None:
        go(group)
        here.pop(id(group), None)

    @contextlib.contextmanager
    def unpinned(group: Any) -> Iterator[Any]:
        yield dict(group.cpu_param_dict)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_offloading, "TorchDeviceBackend", _NoStream)
        patch.setattr(group_offloading, "_apply_group_offloading", with_stream)
        patch.setattr(group_offloading.ModuleGroup, "_pinned_memory_tensors", unpinned)
        patch.setattr(group_offloading.ModuleGroup, "onload_", comes)
        patch.setattr(group_offloading.ModuleGroup, "offload_", goes)
        yield seen


def _tensors(group: Any) -> Iterator[Any]:
    for module in group.modules:
        yield from module.parameters()
        yield from module.buffers()
    yield from group.parameters
    yield from group.buffers
