"""The verbs about what a configuration names: what there is, what it takes, and having it here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from edit_eval.command_line import answer, verb, wants_json
from edit_eval.reporting.language import said, worded
from edit_eval.text import Text
from edit_eval.verbs.arguments import Config

if TYPE_CHECKING:
    from edit_eval.config.loading import LoadingOptions as Options
else:
    Options = dict  # imported, it would hold up `--help`

components = typer.Typer()


@verb(components, name="list", short_help="List what a configuration can name.")
def list_() -> None:
    """List benchmarks, edit models, judges and protocols by their names, and configurations to start from."""
    from edit_eval.reporting.components import components_document, print_components

    answer(components_document, print_components)


@verb(components, short_help="Show the parameters of a benchmark, model, judge or protocol.")
def describe(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="A registered name, or a class path.")],
) -> None:
    """Show the parameters of a benchmark, edit model, judge or protocol, and a protocol's scores."""
    from edit_eval.reporting.components import description_document, print_description

    answer(lambda: description_document(type_), lambda: print_description(type_))


@verb(components, short_help="Download what a configuration needs, for machines without a network.")
def fetch(config: Config, *, options: Options) -> None:
    """Download the benchmark, weights and prompts of a configuration into their caches (HF_HOME, XDG_CACHE_HOME).

    A machine without a network that has the same caches can run it with HF_HUB_OFFLINE=1.
    """
    from edit_eval.config.loading import load_configuration
    from edit_eval.execution.advice import cards
    from edit_eval.reporting.formats import memory

    found = []
    for each in cards.fetch(load_configuration(config, **options)):
        found.append(each)
        if not wants_json():
            print(said(Text("{}: {}: {}, in {}", worded(each.what), each.name, memory(each.bytes), each.path)))
    answer(lambda: [each.as_plain() for each in found], lambda: None)
