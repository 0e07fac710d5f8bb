"""What a run has cost, as a sheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edit_eval.plugins.costs.sums import CostOfModel, Costs
from edit_eval.reporting import formats
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.text import Text


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


def costs_sheet(costs: Costs) -> Sheet:
    """Returns the sum, a row for each model that costs something, and the devices' time where it has a price."""
    return list(_lines(costs))


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
