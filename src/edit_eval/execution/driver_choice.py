"""Which driver a configuration asks for."""

from __future__ import annotations

from edit_eval.config.schema import Configuration
from edit_eval.execution.contract import Driver
from edit_eval.execution.drivers.local import LocalDriver
from edit_eval.execution.drivers.ray import RayDriver


def driver_of(configuration: Configuration) -> Driver:
    """This machine, or a cluster of which as many GPUs are reserved as its models can name; nothing begins yet."""
    execution = configuration.execution
    if execution.driver == "local":
        return LocalDriver()
    wanted = [section.placement.device_ids for section in configuration.models.values()]
    if "auto" in wanted:
        return RayDriver(execution.address)
    numbers = [int(name.partition(":")[2]) for names in wanted for name in names if name.startswith("cuda")]
    return RayDriver(execution.address, max(numbers, default=-1) + 1)
