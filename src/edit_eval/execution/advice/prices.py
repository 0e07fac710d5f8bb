"""What the models of a configuration cost, as their classes say, and what a run comes to."""

from __future__ import annotations

from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.advice.cards import asked
from edit_eval.execution.contract import Price
from edit_eval.text import Text


def prices_of(configuration: Configuration) -> dict[str, Price]:
    """Returns the price of each model that has one, by its key."""
    found = {}
    for key, section in configuration.models.items():
        said = asked(section, configuration.folder, "prices")
        if said is None:
            continue
        price = Price(
            usual=said.get("usual"),
            most=said.get("most") or 0.0,
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
            found[key] = price
        elif configuration.execution.max_cost is not None:
            name = section.name
            raise ConfigurationError(
                Text("max_cost: no price of {} is known; give what an edit costs at most as edit_price", name)
            )
    return found


def refuse_unbounded(configuration: Configuration, *, sharded: bool) -> None:
    """Raises `ConfigurationError` if `max_cost` could not be kept."""
    limit = configuration.execution.max_cost
    if limit is None:
        return
    if sharded:
        raise ConfigurationError(Text("max_cost: shards do not know what the others spend; leave out one of the two"))
    for section in configuration.judges.values():
        parameters = section.parameters
        ours = parameters.get("base_url") or parameters.get("serve") or parameters.get("price") is not None
        if section.type == "chat_endpoint" and not ours:
            name = section.name
            raise ConfigurationError(
                Text("max_cost: no price of {} is known; give price: [READ, WRITTEN] for a million tokens", name)
            )
