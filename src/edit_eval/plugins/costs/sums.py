"""What a run has cost, added up from its records."""

from __future__ import annotations

import math
from collections import Counter

import msgspec

from edit_eval.records import Results, Status
from edit_eval.statistics.timing import compute_timing, tokens


class CostOfModel(msgspec.Struct, frozen=True):
    """What an edit model or a judge has cost."""

    model: str
    stage: str
    """`editing` or `judging`."""
    done: int
    """Edits that were made, or judgements for which it was asked."""
    usd: float | None = None
    """US dollars, over all starts and with attempts that failed; None if nothing is known to be charged."""
    feared: float = 0.0
    """At most so much more, for what was under way when a start was killed."""
    told: bool = False
    """True if the provider told all of `usd`; else it is computed from its price."""
    requests: int = 0
    """Requests that were, or may have been, charged."""
    read: int = 0
    """Tokens, as its server counted them."""
    written: int = 0
    at_price: float | None = None
    """These tokens at its parameter `price`, in that price's currency."""


class Costs(msgspec.Struct, frozen=True):
    """What a run has cost."""

    models: list[CostOfModel]
    """Those that charged something, or whose server counted tokens, in the order of the run."""
    usd: float | None
    """US dollars of them all; None if nothing is known to be charged."""
    feared: float
    device_seconds: float
    """For which the run held its devices, summed over devices and including idle time."""
    on_gpus: bool
    price: float | None = None
    """Of one device for an hour, in any currency."""
    of_devices: float | None = None
    """The devices' time at that price."""


def costs(results: Results, price: float | None = None) -> Costs:
    """Adds up what was charged, the tokens, and the time of the devices at the `price` of an hour."""
    charged = {bill.model: bill for bill in results.spent}
    counted = {f"judge:{use.judge}": use for use in tokens(results)}
    made = (f"edit:{edit.edit_model}" for edit in results.unique_results.edits if edit.status is Status.OK)
    asked = (f"judge:{answer.judge}" for answer in results.answers if answer.answers)
    done = Counter((*made, *asked))
    order = [f"edit:{name}" for name in results.edit_models] + [f"judge:{name}" for name in results.every_judge]
    models = []
    for key in dict.fromkeys((*order, *charged, *counted)):
        bill, use = charged.get(key), counted.get(key)
        if bill is None and use is None:
            continue
        kind, _, name = key.partition(":")
        models.append(
            CostOfModel(
                model=name,
                stage="editing" if kind == "edit" else "judging",
                done=done[key],
                usd=bill.usd if bill else None,
                feared=bill.feared if bill else 0.0,
                told=bool(bill and bill.told),
                requests=bill.attempts if bill else 0,
                read=use.read if use else 0,
                written=use.written if use else 0,
                at_price=use.cost if use else None,
            )
        )
    devices = compute_timing(results).devices
    held = math.fsum(seconds for kinds in devices.values() for seconds in kinds.values())
    return Costs(
        models=models,
        usd=math.fsum(bill.usd for bill in charged.values()) if charged else None,
        feared=math.fsum(bill.feared for bill in charged.values()),
        device_seconds=held,
        on_gpus=bool(devices) and not any(name.startswith("cpu") for name in devices),
        price=price,
        of_devices=None if price is None else held / 3600 * price,
    )
