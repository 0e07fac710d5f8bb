"""`edit-eval costs`, and its section of every report of a run that was charged for or whose tokens were counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import Analysis, RunRecords
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.statistics.timing import compute_timing, tokens
from edit_eval.text import Text

# -- document --


class CostOfModel(msgspec.Struct, frozen=True):
    """What an edit model or a judge has cost."""

    model: str
    """Name of the edit model or judge."""
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
    """Tokens that it wrote."""
    at_price: float | None = None
    """These tokens at its parameter `price`, in that price's currency."""


class Costs(msgspec.Struct, frozen=True):
    """What a run has cost."""

    models: list[CostOfModel]
    """Those that charged something, or whose server counted tokens, in the order of the run."""
    usd: float | None
    """US dollars of them all; None if nothing is known to be charged."""
    feared: float
    """At most so much more, in US dollars, for what was under way when a start was killed."""
    device_seconds: float
    """For which the run held its devices, summed over devices and including idle time."""
    on_gpus: bool
    """True if these devices were GPUs."""
    price: float | None = None
    """Of one device for an hour, in any currency."""
    of_devices: float | None = None
    """The devices' time at that price."""


# -- verb --


class CostsAnalysis(Analysis[Costs]):
    """What a run has cost: money, requests and tokens by model, and device time.

    What providers charged, over all starts; the tokens that judges' servers counted; and, with --price, what the
    run's devices cost.
    """

    @dataclass(frozen=True)
    class Parameters:
        price: float | None = field(default=None, metadata={"metavar": "PRICE"})
        """Price of one device for an hour, in any currency."""

    title = Text("Costs")
    document: ClassVar[type[Costs]] = Costs
    appendix = True

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Wherever something was charged, or tokens were counted."""
        return [{}] if costs(records.results).models else []

    def compute(self, records: RunRecords, parameters: Parameters) -> Costs:
        """Raises `ConfigurationError` for a price below 0."""
        if parameters.price is not None and not parameters.price >= 0:
            raise ConfigurationError(Text("--price {:g}: must be at least 0", parameters.price))
        return costs(records.results, parameters.price)

    def sheet(self, document: Costs) -> Sheet:
        """Shows the sum, a row for each model that costs something, and the devices' time where it has a price."""
        return list(_lines(document))

    def rows(self, document: Costs) -> Sequence[Mapping[str, Any]]:
        return [msgspec.structs.asdict(model) for model in document.models]


# -- computation --


def costs(results: Results, price: float | None = None) -> Costs:
    """Adds up what was charged, the tokens, and the time of the devices at the `price` of an hour."""
    charged = {bill.model: bill for bill in results.telemetry.spent}
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


# -- words --


def _is_charged(row: CostOfModel) -> bool:
    return row.usd is not None


def _is_counted(row: CostOfModel) -> bool:
    return row.read > 0


def _price(row: CostOfModel) -> str | None:
    return None if row.at_price is None else f"{row.at_price:,.2f}"


def _how(row: CostOfModel) -> Text | str:
    if not _is_charged(row):
        return ""
    return Text("as told by its provider") if row.told else Text("computed from its price")


_COLUMNS: tuple[Column[CostOfModel], ...] = (
    Column(Text("Model"), lambda row: row.model, "name"),
    Column(Text("Stage"), lambda row: NAMES["kind"][row.stage], "word", spare=True),
    Column(Text("Edits or answers"), lambda row: f"{row.done:,}", short=Text("Done")),
    Column(Text("Requests"), lambda row: f"{row.requests:,}" if _is_charged(row) else None, when=_is_charged),
    Column(Text("USD"), lambda row: None if row.usd is None else f"{row.usd:,.4f}", look="strong", when=_is_charged),
    Column(Text("How it is known"), _how, "word", roomy=True, when=_is_charged),
    Column(Text("Tokens read"), lambda row: f"{row.read:,}" if _is_counted(row) else None, when=_is_counted),
    Column(Text("Tokens written"), lambda row: f"{row.written:,}" if _is_counted(row) else None, when=_is_counted),
    Column(Text("At its price"), _price, look="strong", when=lambda row: row.at_price is not None),
)


def _lines(costs: Costs) -> Iterator[Line | Table[Any]]:
    if costs.usd is not None:
        yield Line(Text("{:,.2f} USD in all", costs.usd), "strong")
    if costs.feared:
        yield Line(Text("At most {:,.2f} USD more were under way when a start was killed.", costs.feared), "problem")
    if costs.models:
        yield Table(every=_COLUMNS, rows=costs.models, label=Text("Costs by model"))
    else:
        yield Line(Text("Nothing was charged, and no judge's server counted tokens."))
    if costs.of_devices is not None or not costs.models:
        took = formats.duration(costs.device_seconds)
        at = "" if costs.of_devices is None else Text(", at {:g} an hour {:,.2f}", costs.price, costs.of_devices)
        yield Line(Text("GPU time: {}{}", took, at) if costs.on_gpus else Text("Device time: {}{}", took, at))
