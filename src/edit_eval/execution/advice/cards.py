"""What a model's class knows of it before it is loaded: licence, steps, canvas, pictures, and what to be wary of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from edit_eval.config.components import Kind, import_class
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text, joined
from edit_eval.workers.model_class import make_parameters

SAID: Mapping[str, Callable[[str], str]] = {
    "licence": lambda said: Text("licence: {}", said),
    "terms": lambda said: Text("terms: {}", said),
    "steps": lambda said: Text("{} steps", said),
    "guidance": lambda said: Text("weights: {}", said),
    "canvas_rule": lambda said: Text("size: {}", said),
    "sources": lambda said: Text("sources: {}", said),
    "prompt_rewriting": lambda said: Text("prompt rewriting: {}", said),
    "pictures": lambda said: Text("tokens per picture: {}", said),
    "thinking": lambda said: Text("thinking: {}", said),
}


def card_of(section: ModelSection, folder: Path) -> Mapping[str, str]:
    """The card of a model; empty where its class has none, or only its own environment can import it.

    Raises `ConfigurationError` for what the model does not take.
    """
    card: Mapping[str, str] = asked(section, folder, "card") or {}
    return card


def asked(section: ModelSection, folder: Path, method: str) -> Any:
    """What a static method of a model's class says of its parameters; None where there is no such method."""
    try:
        kind: Kind = "judge" if section.protocol else "edit_model"
        model_class = import_class(kind, section.class_path, folder)
    except ConfigurationError:  # only its own environment can import it
        return None
    found = getattr(model_class, method, None)
    return found(make_parameters(model_class, section.parameters)) if found is not None else None


def told(card: Mapping[str, str]) -> Iterator[str]:
    """A card in lines for people."""
    if not card:
        return
    facts = joined(words(card[name]) for name, words in SAID.items() if card.get(name))
    yield Text("{}: {}", card.get("pipeline", ""), facts) if card.get("pipeline") else facts
    if card.get("note"):
        yield card["note"]
    if card.get("environment"):
        yield Text("it needs {}", card["environment"])
    if card.get("notes"):
        yield card["notes"]
