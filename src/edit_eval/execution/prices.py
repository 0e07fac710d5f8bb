"""What the models of a configuration cost, as their classes say, and what a run comes to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.checks import call_class_method
from edit_eval.execution.contract import Price
from edit_eval.records import Edit, Status
from edit_eval.text import Text, pluralize

TYPICAL = (3000, 100)
"""Tokens that a question about two pictures reads and writes, where nothing is known yet."""


def are_sold(configuration: Configuration) -> bool:
    """True if somebody else makes what one of the models is asked for, at a price, known or not."""
    return any(
        call_class_method(section, configuration.folder, "prices") is not None
        for section in configuration.models.values()
    )


def describe_submissions(submitted: Mapping[str, Mapping[str, Any]], edits: Iterable[Edit]) -> Iterator[str]:
    """Says what earlier starts have bought, or may have, and not fetched (`Timeline.submitted`)."""
    left = [submitted[edit.key] for edit in edits if edit.status is Status.PENDING and edit.key in submitted]
    left += [of for of in submitted.values() if of.get("token") and of["id"]]
    if bought := sum(bool(of["id"]) for of in left):
        yield Text("bought in an earlier start and not fetched yet: {}; fetched now, not bought again", bought)
    if unclear := len(left) - bought:
        yield Text(
            "being submitted when an earlier start was killed: {}; whether these were bought is not known, and they "
            "are submitted again",
            unclear,
        )


def prices_of(configuration: Configuration) -> dict[str, Price]:
    """Returns the price of each model that has one, by its key."""
    prices = {}
    for key, section in configuration.models.items():
        said = call_class_method(section, configuration.folder, "prices")
        if said is None:
            continue
        price = Price(
            usual=said.get("usual"),
            most=said.get("most") or 0.0,
            batch=said.get("batch", 1.0),
            batched=bool(call_class_method(section, configuration.folder, "defers")),
            read=said.get("read", 0.0),
            written=said.get("written", 0.0),
            longest=said.get("longest", 0),
            attempts=said.get("attempts", 1),
            load=said.get("load", 0.0),
            told=said.get("told") == "told",
            date=said.get("date", ""),
            source=said.get("source", ""),
        )
        if price.usual is not None or key.startswith("judge:"):
            prices[key] = price
        elif configuration.execution.max_cost is not None:
            name = section.name
            raise ConfigurationError(
                Text("max_cost: no price of {} is known; give what an edit costs at most as edit_price", name)
            )
    return prices


def refuse_unbounded(configuration: Configuration, priced: Collection[str], *, sharded: bool) -> None:
    """Raises `ConfigurationError` if `max_cost` could not be kept."""
    limit = configuration.execution.max_cost
    if limit is None:
        return
    if sharded:
        raise ConfigurationError(Text("max_cost: shards do not know what the others spend; leave out one of the two"))
    for section in configuration.judges.values():
        parameters = section.parameters
        elsewhere = section.type == "chat_endpoint" and not parameters.get("serve")
        elsewhere = elsewhere and (parameters.get("api") is not None or not parameters.get("base_url"))
        if elsewhere and f"judge:{section.name}" not in priced:
            name = section.name
            raise ConfigurationError(
                Text("max_cost: no price of {} is known; give price: [READ, WRITTEN] for a million tokens", name)
            )


def estimate_cost(prices: Mapping[str, Price], work: Mapping[str, tuple[int, int]]) -> float | None:
    """Returns US dollars for work by the table of prices, without retries; None if none of it is paid.

    `work` is as for `cost_words`.
    """
    paid = [_dollars(prices[key], *counts) for key, counts in work.items() if key in prices and any(counts)]
    return sum(paid) if paid else None


def _dollars(price: Price, count: int, controls: int) -> float:
    if price.usual is not None:
        return count * price.usual
    each = (TYPICAL[0] * price.read + TYPICAL[1] * price.written) / 1e6
    return (count + controls) * each * (price.batch if price.batched else 1.0)


def cost_words(prices: Mapping[str, Price], work: Mapping[str, tuple[int, int]]) -> Sequence[str]:
    """Returns what work costs by the table of prices, without retries: a line a model, then all together.

    `work` has, by the model's key, its edits or questions, and how many more are about controls.
    """
    lines, whole = list[str](), estimate_cost(prices, work)
    for key, (count, controls) in work.items():
        price, name = prices.get(key), key.partition(":")[2]
        if price is None or not count + controls:
            continue
        usd = _dollars(price, count, controls)
        if price.usual is not None:
            of = price.date or price.source
            lines.append(
                Text("{}: {} at {:.4g} USD ({}): {:,.2f} USD", name, pluralize(count, "edit"), price.usual, of, usd)
            )
        else:
            beside = Text(" and {} about controls", controls) if controls else ""
            share = price.batch if price.batched else 1.0
            of_tokens = price.read * share, price.written * share
            told = Text("{:g} and {:g} USD for a million tokens read and written", *of_tokens)
            told += Text(", in batches") if price.batched else ""
            asked = pluralize(count, "question")
            lines.append(Text("{}: {}{} at {}: about {:,.2f} USD", name, asked, beside, told, usd))
    return lines if whole is None else [*lines, Text("cost: about {:,.2f} USD in all, without retries", whole)]
