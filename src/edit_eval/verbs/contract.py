"""What a command is that comes by the door: ours among the plug-ins, and those of packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


class Verb:
    """What is typed behind `edit-eval`. A class's docstring is its help.

    The first line stands in `edit-eval --help`, all of it in the verb's own.
    Its parameters are typer's: an `Annotated[..., typer.Argument(...)]` or `typer.Option(...)` each. Those that verbs
    share are in `edit_eval.verbs.command_line`: `Config`, `RunFolder`, `RunDir`, `Force`, `Markdown`, and `options:
    Options` for the flags that filter and replace. It prints through `answer`, so that `--json` has one document.
    """

    about: ClassVar[Mapping[str, str]] = {}
    """`group`: the heading below which `edit-eval --help` lists it, by default that of the analyses; `before`: the verb
    before which it stands there, by default behind all. Both are literals: `--help` imports nothing."""
    below: ClassVar[Mapping[str, type[Verb]]] = {}
    """The verbs that are typed behind its name, such as `export` of `vote export`."""
    call: Callable[..., None]
    """What it does: a static method. Errors are `ConfigurationError`s, one line; `end_if_short` ends it with code 3.
    Where others are `below` it, it has no parameters, and is called before each of them."""


class VerbOption:
    """What is added to a verb of the core: `option.VERB.NAME` of the register.

    Its nested dataclass `Parameters` becomes flags of that verb, as those of an analysis do. `VERB` is one that asks:
    `report` (about a `run`), `compare` and `gate` (which have a `comparison`, and what is `wrong` with it), `init`
    (which has written a `file`), `run` (which has finished a `run` of a `configuration`), `score` and `serve`.
    """

    @dataclass(frozen=True)
    class Parameters:
        """No flags."""

    def answer_instead(self, parameters: Any, **given: Any) -> bool:
        """Is asked before the verb does anything; True if it has answered in the verb's place."""
        return False

    def extra_arguments(self, parameters: Any) -> Mapping[str, Any]:
        """Returns what it adds to what the verb asks for: arguments of the function of Python behind it."""
        return {}

    def write_files(self, parameters: Any, **given: Any) -> Sequence[Path]:
        """Is told what the verb has written; returns the files that it has written beside that."""
        return ()

    def reasons(self, parameters: Any, **given: Any) -> Sequence[str]:
        """Returns why the verb ends with 3, a line each, when it has answered; empty if nothing is wrong."""
        return ()
