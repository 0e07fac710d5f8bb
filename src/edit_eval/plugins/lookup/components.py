"""`edit-eval list` and `edit-eval describe`: the components a configuration can name, and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from edit_eval.config.components import Component, Description, describe, list_components, list_entry_point_faults
from edit_eval.config.kinds import KINDS, Kind
from edit_eval.config.shipped import find_shipped_files, summary
from edit_eval.json_values import JsonObject
from edit_eval.protocols.certificates import Certificate
from edit_eval.reporting.language import code_to_text, current_language, translate_description
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.terminal_text import Styled, one_line, pad_text, print_with_head, stdout_console
from edit_eval.text import Text

PRESET_FACTS = {
    "licence": "licence",
    "terms": "terms",
    "steps": "steps",
    "weights": "guidance",
    "size": "canvas_rule",
    "takes a mask": "mask",
    "tokens of a picture": "tokens",
    "thinking": "thinking",
    "needs": "environment",
    "USD an edit": "edit_price",
    "USD for a million tokens read and written": "token_price",
    "temperature": "temperature",
    "ends on": "ends",
}
"""Facts printed about a model known by name, and the keys that hold them."""
_WORDS: dict[Kind, str] = {kind: each.word.partition(" ")[2] for kind, each in KINDS.items()}


# -- edit-eval list --


def components_document() -> JsonObject:
    """Returns `{"benchmarks": [...], "edit_models": [...], ..., "configurations": [...], "problems": [...]}`: a list
    for each kind, by its plural.

    Each component has name, class path, origin, summary, what is known about its data, and why it cannot be used; a
    protocol of others also `certificate` (`published.certificates.Certificate`); a configuration has name, path and
    summary. Problems are entry points of packages that name no component, a line each.
    """
    document: JsonObject = {KINDS[kind].plural: [_as_plain(entry) for entry in list_components(kind)] for kind in KINDS}
    files = [{"name": name, "path": str(path), "summary": summary(path)} for name, path in find_shipped_files().items()]
    return {**document, "configurations": files, "problems": list(list_entry_point_faults())}


def print_components(console: Console | None = None) -> None:
    """Prints the groups and the configurations known by name, a line for each entry."""
    console = console or stdout_console()
    entries = {kind: some for kind in KINDS if (some := list_components(kind))}
    files = find_shipped_files()
    width = max(len(entry.name) for some in entries.values() for entry in some)
    for kind, some in entries.items():
        console.print(
            Styled(code_to_text(KINDS[kind].plural.replace("_", " ").capitalize()), style="bold").append(
                f"  ({KINDS[kind].named_in})", style="dim"
            )
        )
        for entry in some:
            words = _whole(entry.summary)
            if entry.origin != "built in":
                words.append(f" ({one_line(entry.origin)})", style="dim")
            if licence := entry.about.get("licence"):
                terms = _join_facts([_fact("licence", licence), _whole(entry.about.get("source", "")).plain])
                gap = "" if words.plain.endswith("。") else " "
                words.append(f"{gap}{terms[0].upper()}{terms[1:]}", style="dim")
            if of := _certificate(entry):
                words.append(" ").append(Text("Its authors' number: {}.", of.full_words), style="dim")
            if entry.problem:
                words.append(" ").append(entry.problem, style="yellow")
            print_with_head(console, Styled(f"  {pad_text(one_line(entry.name), width)}  ", style="cyan"), words)
        console.print()
    console.print(Styled(Text("Configurations"), style="bold").append("  (edit-eval run NAME)", style="dim"))
    width = max(map(len, files), default=0)
    for name, path in files.items():
        print_with_head(console, Styled(f"  {pad_text(name, width)}  ", style="cyan"), _whole(summary(path)))
    console.print()
    for line in list_entry_point_faults():
        console.print(Styled(line, style="yellow"))
    console.print(Styled(Text("`edit-eval describe TYPE` prints the parameters of one."), style="dim"))
    console.print(Styled(Text("`edit-eval init --from NAME` writes a copy of a configuration."), style="dim"))


def _as_plain(entry: Component | Description) -> JsonObject:
    plain = {name: value for name, value in asdict(entry).items() if name != "certificate"}
    if certificate := _certificate(entry):
        plain["certificate"] = {**asdict(certificate), "words": certificate.full_words}
    return plain


def _certificate(entry: Component | Description) -> Certificate | None:
    """Returns what a protocol's authors' numbers were held against; None for all others."""
    try:
        return Certificate(**entry.certificate)
    except TypeError:  # it has none, or a package's is something else
        return None


# -- edit-eval describe --


def description_document(type_: str) -> JsonObject:
    """Returns `{"type": ..., "components": [...]}`, one entry per kind. Raises `ConfigurationError` like `describe`."""
    return {"type": type_, "components": [_plain(description) for description in describe(type_)]}


def print_description(type_: str, console: Console | None = None) -> None:
    """Prints parameters with type, default and meaning. Raises `ConfigurationError` like `describe`."""
    console = console or stdout_console()
    for number, description in enumerate(describe(type_)):
        if number:
            console.print()
        _print(description, console)


def _plain(description: Description) -> JsonObject:
    parameters = [
        asdict(parameter) | {"required": parameter.is_required} | ({"default": None} if parameter.is_required else {})
        for parameter in description.parameters
    ]
    return {**_as_plain(description), "parameters": parameters}


def _print(description: Description, console: Console) -> None:
    head = Styled(one_line(description.name), style="bold cyan")
    head.append("  ").append(code_to_text(_WORDS[description.kind]), style="bold").append("  ")
    path = Styled(one_line(description.class_path), style="dim")
    if head.cell_len + path.cell_len > console.width:  # a path has no place to break
        print_with_head(console, head, Styled())
        print_with_head(console, "  ", path)
    else:
        print_with_head(console, head, path)
    if description.origin not in ("", "built in"):
        print_with_head(console, "  ", Styled(Text("from the package {}", one_line(description.origin)), style="dim"))
    if description.summary:
        print_with_head(console, "  ", _whole(description.summary))
    if of := _certificate(description):
        fact = Styled(Text("Its authors' number: {}.", of.full_words), style="dim")
        print_with_head(console, "  ", fact)
    for name, text in description.about.items():
        print_with_head(console, "  ", Styled(_fact(one_line(name), ""), style="dim").append(_whole(text).plain))
    console.print()
    if description.problem:
        print_with_head(console, "  ", Styled(one_line(description.problem), style="yellow"))
        print_with_head(
            console, "  ", Styled(Text("Its parameters can only be shown where it can be imported."), style="dim")
        )
    elif description.kind == "verb":
        print_with_head(console, "  ", Styled(Text("`edit-eval {} --help` shows its flags.", description.name)))
    elif description.kind == "columns" and description.about.get("protocol"):
        below = Text(
            "Each name below it is a judge, written as below `judges`. `edit-eval describe TYPE` shows what a type of "
            "judge takes, `edit-eval describe {}` what its protocol takes.",
            description.about["protocol"],
        )
        print_with_head(console, "  ", Styled(below))
    elif not description.parameters:
        print_with_head(console, "  ", Styled(Text("It has no parameters.")))
    for parameter in description.parameters:
        line = Styled(one_line(parameter.name), style="cyan").append(f": {one_line(parameter.type)}", style="default")
        if parameter.is_required:
            line.append("  ").append(Text("required"), style="yellow")
        else:
            line.append(f" = {one_line(parameter.default)}", style="dim")
        print_with_head(console, "  ", line)
        if parameter.doc:
            print_with_head(console, "      ", _whole(parameter.doc))
    if description.scores:
        console.print()
        print_with_head(console, "  ", Styled(Text("It gives these scores:"), style="dim"))
    for name, scale in description.scores.items():
        line = Styled(one_line(name), style="cyan").append(": ").append(_range(scale), style="default")
        if name == description.headline:
            line.append("  ").append(Text("headline"), style="dim")
        print_with_head(console, "      ", line)
    if description.presets:
        console.print()
        knows = Text("It knows these models by name:")
        of_type = Text(
            "Families that differ, by the `model_type` of their weights; others are used as the library has them:"
        )
        print_with_head(console, "  ", Styled(of_type if description.name == "transformers" else knows, style="dim"))
    for preset in description.presets:
        line = Styled(one_line(preset["model_name"]), style="cyan").append("  ")
        facts = [_fact(name, preset[key]) for name, key in PRESET_FACTS.items() if preset.get(key)]
        families = [_whole(preset["family"]).plain] if preset.get("family") else []  # a closed model tells none
        line.append(_join_facts([*families, *facts]), style="default")
        print_with_head(console, "      ", line)
    if description.placement_keys:
        console.print()
        print_with_head(console, "  ", Styled(Text("Also in `params`, where and how it runs:"), style="dim"))
        print_with_head(console, "      ", Styled(", ".join(description.placement_keys), style="dim"))


def _whole(text: str) -> Styled:
    """Returns a component's own words, uncut."""
    return Styled(translate_description(one_line(text)))


def _fact(name: str, text: str) -> str:
    """Returns `licence: MIT`."""
    known = translate_description(f"{name}:")
    return f"{known}{'' if known.endswith('：') else ' '}{_whole(text).plain}"


def _join_facts(facts: list[str]) -> str:
    return SPOKEN[current_language()].translate_separator("; ").join(filter(None, facts))


def _range(scale: Mapping[str, Any]) -> str:
    """Returns `0 to 10, higher is better`."""
    lowest, highest = (Text("open") if scale[end] is None else f"{scale[end]:g}" for end in ("lowest", "highest"))
    better = Text("higher is better") if scale["higher_is_better"] else Text("lower is better")
    mean = Text("; its mean is taken over categories") if scale["mean_over"] == "categories" else ""
    return Text("{} to {}, {}{}", lowest, highest, better, mean)
