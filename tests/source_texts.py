"""Every template of src that may be put into another language, found in the code, in its HTML and Markdown, and in its
scripts. A template that has a context stands behind it, as `Text.key` has it."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import jinja2
import typer
from jinja2 import nodes

import edit_eval
from edit_eval.benchmarks.contract import CATEGORIES, title
from edit_eval.cli import app
from edit_eval.config.components import describe, import_registered
from edit_eval.config.kinds import KINDS
from edit_eval.config.shipped import find_shipped_files, summary
from edit_eval.execution.findings import Level
from edit_eval.plugins.init.verb import EDITS, PICTURES
from edit_eval.plugins.lookup.components import _WORDS, PRESET_FACTS
from edit_eval.text import CONTEXT
from edit_eval.verbs.command_line import JUDGE, command_of
from own_components import built_in

SRC = Path(edit_eval.__file__).parent
VOCABULARIES = (
    [*get_args(Level)],
    [*(word for name in CATEGORIES for word in (name.capitalize(), title(name)))],
    ["starting", "loading", "editing", "judging", "waiting", "unloading", "retired", "free"],
    ["loaded", "died", "failed", "refused", "batch", "note"],
    ["configuration", "benchmark", "devices", "models", "host", "environments", "servers", "keys", "disk", "machine"],
    [
        "edits",
        "judgements",
        "battles",
        "controls",
        "description",
        "rationale",
        "follows",
        "enough",
        "unknown",
        "too little",
    ],
    ["Options", "Commands", "Arguments", "required", "default", "env var", "Usage", "Show this message and exit"],
    [JUDGE],
    [*_WORDS.values(), *(kind.plural.replace("_", " ").capitalize() for kind in KINDS.values())],
)
"""Words that `worded` is given: levels of findings, categories, activities, tags of lines, areas of doctor, kinds."""


@cache
def templates() -> dict[str, str]:
    """Each template of a `Text`, with the place where it stands first."""
    places: dict[str, str] = {}
    for file in sorted(SRC.rglob("*"), key=lambda path: ("plugins" in path.parts, path)):  # a plug-in's own
        name = file.relative_to(SRC).as_posix()
        read = READERS.get(file.suffix)
        for line, words in read(file.read_text(encoding="utf-8")) if read else ():
            places[words] = shared(places.get(words, ""), f"{name}:{line}")
    for vocabulary in VOCABULARIES:
        for word in vocabulary:
            places.setdefault(word, "a vocabulary")
    for word in (PICTURES, EDITS):
        places.setdefault(word, "plugins/init/verb.py:0")
    for words, place in {**of_plugins(), **own_words()}.items():
        places.setdefault(words, of_plugins().get(words, f"edit-eval {place}"))
    return places


def shared(place: str, other: str) -> str:
    """The place of words that stand at another, too: no plug-in's own if a second has them, since each can go."""
    if not place or (plugin := re.match(r"plugins/\w+/", place)) is None:
        return place or other
    return place if other.startswith(plugin[0]) else SEVERAL


SEVERAL = "several plug-ins"


@cache
def of_plugins() -> dict[str, str]:
    """What plug-ins say of themselves, with their file: their docstrings and those of their parameters."""
    places = {}
    for kind, name, path in ((kind, *component) for kind, some in built_in().items() for component in some.items()):
        if path.startswith("edit_eval.plugins."):
            file = path.partition(":")[0].replace(".", "/").removeprefix("edit_eval/") + ".py:0"
            [described] = (part for part in describe(name) if part.kind == kind)
            docs = [described.summary, *(parameter.doc for parameter in described.parameters)]
            if kind in ("analysis", "verb"):  # its `--help` is put together of sentences
                cls = import_registered(kind, name)
                docs += [cls.sources.help] if kind == "analysis" and cls.sources.several else []
                docs += [sentence for doc in (inspect.getdoc(cls) or "", *docs) for sentence in sentences(doc)]
            if kind == "option":
                docs += [sentence for doc in docs for sentence in sentences(doc)]
            if kind == "verb":
                docs += set(of_help(command_of(app).commands[name])) - of_core_help() - of_options()
            places |= {words: shared(places.get(words, ""), file) for words in map(whole, docs)}
    return places


@cache
def of_options() -> set[str]:
    """What the flags say that a plug-in adds to a verb, which may be another's."""
    flags = (parameter for name in built_in()["option"] for part in describe(name) for parameter in part.parameters)
    return {whole(words) for flag in flags for words in sentences(flag.doc)}


@cache
def of_core_help() -> set[str]:
    """What the core's verbs say of themselves, and with it of the flags that all verbs have."""
    group: Any = typer.main.get_command(app)
    return {sentence for verb in group.commands.values() for sentence in of_help(verb)}


@cache
def own_words() -> dict[str, str]:
    """What commands and components say of themselves, with the place where it is shown: looked up as a whole."""
    places = dict.fromkeys(of_help(command_of(app)), "--help")
    return places | {words: place for place, words in of_components()}


def of_python(source: str) -> Iterator[tuple[int, str]]:
    """Line and key of each Text."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first, last = node.args[0], node.args[-1]
        if isinstance(node.func, ast.Name) and node.func.id == "Text" and isinstance(first, ast.Constant):
            context = [ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg == "context"]
            yield node.lineno, CONTEXT.join([*context, first.value])
        elif _called(node) == "pluralize" and isinstance(last, ast.Constant):
            yield node.lineno, f"{{}} {ast.literal_eval(last)}"


def of_jinja(source: str) -> Iterator[tuple[int, str]]:
    """Line and key of each sentence of a template: what stands in double quotes in its expressions."""
    environment = jinja2.Environment()
    quoted = [(line, words) for line, kind, words in environment.lex(source) if kind == "string" and words[0] == '"']
    texts = [(line, ast.literal_eval(words)) for line, words in quoted]
    for call in environment.parse(source).find_all(nodes.Call):
        context = [keyword.value.as_const() for keyword in call.kwargs if keyword.key == "context"]
        if context:
            template = call.args[0].as_const()
            texts[texts.index((call.args[0].lineno, template))] = call.lineno, CONTEXT.join([*context, template])
    yield from texts


def of_script(source: str) -> Iterator[tuple[int, str]]:
    """Line and key of each sentence of a script."""
    from edit_eval.plugins.page.page import sentences as sentences_of  # draws charts, which is much to import

    for words in sentences_of(source):
        yield source[: source.index(json.dumps(words, ensure_ascii=False))].count("\n") + 1, words


READERS: dict[str, Callable[[str], Iterable[tuple[int, str]]]] = {
    ".py": of_python,
    ".j2": of_jinja,
    ".html": of_jinja,
    ".js": of_script,
}
"""How each kind of file is read."""


def of_help(command: Any) -> Iterator[str]:
    """What a command, its options and all below it say of themselves."""
    for text in (command.help, command.short_help, *(getattr(parameter, "help", "") for parameter in command.params)):
        yield from sentences((text or "").partition("\f")[0])
    for below in getattr(command, "commands", {}).values():
        yield from of_help(below)


def of_components() -> Iterator[tuple[str, str]]:
    """Where it is shown, and the whole text, of all that built-in components and configurations say of themselves."""
    for path in find_shipped_files().values():
        yield "list", whole(summary(path))
    yield from (("describe diffusers", f"{name}:") for name in PRESET_FACTS)
    for kind, names in built_in().items():
        for name in names:
            (described,) = (part for part in describe(name) if part.kind == kind)
            assert not described.problem, described.problem
            said = [described.summary, *described.about.values(), *(f"{fact}:" for fact in described.about)]
            said += [parameter.doc for parameter in described.parameters]
            said += [preset.get(key, "") for preset in described.presets for key in ("family", *PRESET_FACTS.values())]
            yield from ((f"describe {name}", whole(words)) for words in said if words)


def has_words(template: str, *, capital: bool = False) -> bool:
    """Whether it has words that are neither code nor a name; `capital`: a word with a capital is none."""
    keys = (
        r"[a-z]*_[a-z_]*|auto|cpu|folder|offload|path|\w+(?=: [a-z`])"  # of a configuration; `missing: {}` is English
    )
    key = rf"(?<![A-Za-z] )\b(?:{keys}): ?(?=\W|$)" if capital else r"\w+: ?(?=\W|$)"
    bare = re.sub(rf"`[^`]*`|\{{[^{{}}]*\}}|--[\w-]+|https?:\S+|\b\w*[._/]\w+\b|{key}", " ", template)
    return re.search(r"(?<![\w-])(?:[a-z]{2,}|[A-Z][a-z]+)" if capital else r"(?<![\w-])[a-z]{2,}", bare) is not None


def sentences(text: str) -> list[str]:
    """The sentences of a help text, each as the catalogue has it."""
    return [whole(sentence) for sentence in re.split(r"(?<=[.?])\s+(?=[A-Z])", " ".join(text.split())) if sentence]


def whole(words: str) -> str:
    """A text without its full stop."""
    return words if words.endswith("..") else words.removesuffix(".")


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


LOSING = {"partition", "rpartition", "replace", "format", "split", "rsplit", "splitlines"}
"""Methods of a string after which a Text is a plain one."""


MAKES_TEXT = re.compile(r"\b(?:Text|pluralize|join_texts)\(")


def losses(source: str) -> Iterator[int]:
    """Lines where a Text, or a list of them, is put through a method of strings and loses its template.

    As far as can be seen without types: a Text that is made there, or in the same function under a name.
    """
    if not MAKES_TEXT.search(source):
        return
    tree = ast.parse(source)
    lines = source.split("\n")
    every = [*ast.walk(tree)]
    functions = [node for node in every if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    making = [node for node in functions if MAKES_TEXT.search("\n".join(lines[node.lineno - 1 : node.end_lineno]))]
    for scope, within in ((tree, every), *((node, [*ast.walk(node)]) for node in making)):
        named = {
            target.id
            for node in within
            if scope is not tree and isinstance(node, ast.Assign) and _has_text(node.value, set())
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in within if named or scope is tree else ():
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            joins = call.func.attr == "join" and isinstance(call.func.value, ast.Constant)
            put = call.args[0] if joins and call.args else call.func.value
            if (joins or call.func.attr in LOSING) and _has_text(put, named):
                yield call.lineno


def _has_text(node: ast.AST, named: set[str]) -> bool:
    """Whether a value is a Text, or a list of some."""
    match node:
        case ast.Call(func=ast.Name(id="Text" | "pluralize" | "join_texts")):
            return True
        case ast.Name(id=name):
            return name in named
        case ast.IfExp(body=first, orelse=second):
            return _has_text(first, named) or _has_text(second, named)
        case ast.List(elts=some) | ast.Tuple(elts=some):
            return any(_has_text(value, named) for value in some)
        case ast.GeneratorExp(elt=value) | ast.ListComp(elt=value) | ast.Starred(value=value):
            return _has_text(value, named)
        case ast.BinOp(left=left, right=right):
            return _has_text(left, named) or _has_text(right, named)
    return False
