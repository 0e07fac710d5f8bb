"""Rubrics: the prompts for judges. Ours are packaged; the configuration's `prompts:` replace any of them.

The prompts of a category have two fields, `{original_description}` and `{edit_instruction}`. A brace that does not
enclose a bare name is plain text: `{"score": 1}` needs no escaping.

Our system prompts end with the form of the answer (`protocol.answer`), which is written in one place. A user's own
system prompt is used unchanged: it already says how to answer, and nothing is appended. Either way the reply is read by
the grammar of the configured form.

A score has six items: five criteria, each of which adds up to 1 to 5, adds nothing or takes up to 1 away; and how much
of the change was made, which limits the score (`limits`).
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.benchmarks.contract import CATEGORIES, SUBSETS, canonical, title
from edit_eval.config.yaml_text import parse_ours
from edit_eval.errors import ConfigurationError
from edit_eval.files.hub import local_path
from edit_eval.files.user_files import UnfitFile, read_bytes
from edit_eval.json_values import Unchecked
from edit_eval.records import LANGUAGES
from edit_eval.text import Text

RUBRICS = ("five_dimensions.v1", "five_dimensions.v2")
"""Rubrics of the five dimensions, the default first."""
GENERAL = "general"
"""The rubric for any edit, and its key in `prompts:`."""
FIELDS = ("original_description", "edit_instruction")
IMAGES = "images"
"""The field of a user prompt that says which image is which."""
STEPS = {"A": 1.0, "B": 0.0, "C": -1.0}
"""What a criterion adds to the score by its letter: raised, kept, lowered."""

_KEYS = ("system_prompt", "user_prompt_template")
_FIELD = re.compile(r"\{([^\W\d]\w*)\}")


@dataclass(frozen=True)
class RubricText:
    """The prompts for one category in one language."""

    category: str
    """The canonical name, or the benchmark's own word."""
    title: str
    """Display name, in the rubric's language."""
    version: str
    """`five_dimensions.v1.1`, the second wording of that rubric; `+prompts` is appended if the user replaced a part,
    `prompts` if all of it."""
    system_prompt: str
    """Without the form of the answer."""
    user_prompt_template: str
    ask_again: Mapping[str, str] = field(compare=False)
    """Form of the answer -> the line added after an unreadable answer. It is in no key, and rubrics that differ only
    there are equal: they ask the same question."""
    answer: Mapping[str, str]
    """Form of the answer -> the text that ends the system prompt; empty with a system prompt of the user's own."""
    criteria: tuple[str, ...] = ()
    """The five sub-criteria; empty with a system prompt of the user's own."""
    no_description: str = ""
    """Replaces a missing description."""
    limit: str = ""
    """The item that limits the score; like `criteria` empty with a system prompt of the user's own."""
    highest: Mapping[str, float] = field(default_factory=dict)
    """Letter of that item, the best first -> the highest score it allows."""
    form: Mapping[str, str] = field(default_factory=dict)
    """Words in the example of a JSON object: for `reasons`, `letter` and `number`."""
    images: Mapping[str, str] = field(default_factory=dict)
    """`source` and `edited` -> how `{images}` refers to them. If empty, the system prompt fixes the order."""
    one: str = ""
    """Ends the user prompt of a question about one item; if empty, items cannot be asked about one by one."""

    def system(self, answer: str, shown: str = "") -> str:
        """Returns the full system prompt template for a form of the answer; `shown` replaces `{form}`."""
        asked_for = self.answer.get(answer, "").replace("{form}", shown)
        return f"{self.system_prompt}\n\n{asked_for}" if asked_for else self.system_prompt


def load_rubrics(
    overrides: Mapping[str, Mapping[str, str]] | None, language: str, name: str = RUBRICS[0], version: str = ""
) -> dict[str, RubricText]:
    """Returns the rubrics of the five categories and the general one in `language` (`en` or `zh`), after `overrides`.

    `name` is one of `RUBRICS`, `version` that of its wording, by default the newest.

    `overrides` maps a category (`物理` or `physical`, or a word of the user's own benchmark) to a `system_prompt`, a
    `user_prompt_template` or both. A category of the user's own needs at least its `system_prompt`. Raises
    `ConfigurationError` for an invalid language, key, value or field.
    """
    rubrics = {category: _ours(name, category, language, version) for category in (*CATEGORIES, GENERAL)}
    fields = (*FIELDS, IMAGES) if rubrics[GENERAL].images else FIELDS
    named: dict[str, str] = {}
    for written, override in (overrides or {}).items():
        category = canonical(written)
        if category in named:
            raise ConfigurationError(
                f"prompts: `{named[category]}` and `{written}` are the same category; keep one of them"
            )
        named[category] = written
        check_prompts(written, override, fields)
        ours = rubrics.get(category)
        if ours is None and "system_prompt" in override:
            # The parts that the five share: the user prompt and the line for asking again.
            ours = replace(rubrics[CATEGORIES[0]], category=category, title=title(category, language))
        rubrics[category] = _override_rubric(written, override, ours)
    return rubrics


def refuse_unknown(overrides: Mapping[str, Mapping[str, str]] | None, categories: Iterable[str]) -> None:
    """Raises `ConfigurationError` for `prompts:` of a category that is not among the five and that no sample has.

    `categories` are those of all samples of the benchmark, before filters.
    """
    known = dict.fromkeys((*CATEGORIES, GENERAL, *map(canonical, categories)))
    for name in overrides or {}:
        if canonical(name) not in known:
            written = dict.fromkeys((*known, *SUBSETS.values()))  # as files may spell them
            raise ConfigurationError(f"prompts.{name}: no sample has that category; {_nearest(name, list(written))}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Returns `template` with its fields replaced by `values` in one pass: braces in a value stay text.

    The tags around texts in our templates are broken up inside the values (`</` becomes `< /`), so that an instruction
    cannot end its own quotation.
    """
    names = tuple(values)
    pieces = _pieces(template, names)
    if len(pieces) == 1:
        return template
    pieces = pieces.copy()
    for number in range(1, len(pieces), 2):
        value = values[pieces[number]]
        pieces[number] = _tag(names).sub("< ", value) if "<" in value else value
    return "".join(pieces)


@cache
def _pieces(template: str, names: tuple[str, ...]) -> list[str]:
    """Splits a template at its fields: text, field, text, ..., text. Cached, as many samples share few templates."""
    return re.split(r"\{(" + "|".join(names) + r")\}", template)


@cache
def _tag(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(names)})\b)", re.IGNORECASE)


@cache
def load_packaged(name: str, language: str, version: str = "") -> Any:
    """Returns the content of our file `name` (`viescore.v1`) in `language`.

    `version` is that of the wording: `v1`, `v1.1`; by default the newest. Raises `ConfigurationError` if it is not
    available in that language.
    """
    if language not in LANGUAGES:
        raise ConfigurationError(f"no rubrics in the language `{language}`; there are {' and '.join(LANGUAGES)}")
    text = _text(f"{name}.{language}.yaml")
    first, before = name.rpartition(".")[2], _first_wordings(language).get(name, {})
    there = (first, f"{first}.1") if before else (first,)
    if version and version not in there:
        raise ConfigurationError(
            f"version: {name} has no wording `{version}` in `{language}`; there are {', '.join(there)}"
        )
    if not before or version != first:
        return parse_ours(text)
    for now, then in before.items():
        text = text.replace(now, then)
    data = parse_ours(text)
    return {**data, "version": name} if "version" in data else data


def _first_wordings(language: str) -> Mapping[str, Mapping[str, str]]:
    """Returns for each file with a second wording what is in it and what stood in its place; the Chinese have none."""
    wordings: Mapping[str, Mapping[str, str]] = parse_ours(_text("first.en.yaml")) if language == "en" else {}
    return wordings


@cache
def _text(name: str) -> str:
    return (resources.files("edit_eval.rubrics") / name).read_text(encoding="utf-8")


def _ours(name: str, category: str, language: str, version: str) -> RubricText:
    data = load_packaged(name, language, version)
    if category not in data["categories"]:  # the general rubric's first version is a file of its own
        name = f"{category}{name[name.rindex('.') :]}"
        data = load_packaged(name, language, version)
    rubric, limits = data["categories"][category], data["limits"]
    return RubricText(
        category=category,
        title=title(category, language),
        version=data["version"],
        system_prompt="\n\n".join((data["opening"], rubric["system_prompt"], data["scale"])),
        user_prompt_template=data["user_prompt_template"],
        ask_again=data["ask_again"],
        answer=data["answer"],
        criteria=tuple(rubric["criteria"]),
        no_description=data.get("no_description", ""),
        limit=limits["name"],
        highest={letter: float(highest) for letter, highest in limits["highest"].items()},
        form=data["form"],
        images=data.get("images", {}),
        one=data.get("one", ""),
    )


def _override_rubric(name: str, override: Mapping[str, str], ours: RubricText | None) -> RubricText:
    system = override.get("system_prompt")
    if ours is None:
        raise ConfigurationError(
            f"prompts.{name}.system_prompt is missing: add it, for `{name}` is none of our categories and has no "
            f"rubric to fall back on; {_nearest(name, CATEGORIES)}"
        )
    version = "prompts" if set(override) == set(_KEYS) else f"{ours.version}+prompts"
    user = override.get("user_prompt_template", ours.user_prompt_template)
    if system is None:
        return replace(ours, version=version, user_prompt_template=user)
    bare = replace(ours, answer={}, criteria=(), limit="", highest={}, form={}, one="")
    return replace(bare, version=version, system_prompt=system, user_prompt_template=user)


def check_prompts(name: str, override: object, fields: Sequence[str]) -> None:
    """Raises `ConfigurationError` for an invalid key, value or field of `prompts.NAME`."""
    if not isinstance(override, Mapping):
        raise ConfigurationError(f"prompts.{name} must be a mapping with {' and/or '.join(_KEYS)}")
    if not override:
        raise ConfigurationError(f"prompts.{name} is empty; give it {' and/or '.join(_KEYS)}, or leave it out")
    for key, text in override.items():
        if key not in _KEYS:
            raise ConfigurationError(f"prompts.{name}.{key}: no such key; {_nearest(key, _KEYS)}")
        if not isinstance(text, str):
            raise ConfigurationError(f"prompts.{name}.{key} must be a text, not {type(text).__name__}")
        if key == "user_prompt_template" and not text.strip():
            raise ConfigurationError(f"prompts.{name}.{key} is empty; write it, or leave it out for ours")
        for word in _FIELD.findall(text):
            if word not in fields:
                nearest = _nearest(word, [f"{{{known}}}" for known in fields])
                raise ConfigurationError(f"prompts.{name}.{key}: no such field `{{{word}}}`; {nearest}")


def _nearest(word: object, names: Sequence[str]) -> str:
    """Returns the end of an error message: the name probably meant, or all names."""
    if not names:
        return "there are none"
    written = str(word).lower()

    def likeness(name: str) -> float:
        bare = name.strip("{}")
        return 1.0 if bare.startswith(written) else difflib.SequenceMatcher(None, written, bare).ratio()

    best = max(names, key=likeness)
    return f"did you mean `{best}`?" if likeness(best) >= 0.5 else f"there are {', '.join(names)}"


def own_prompts(path: str, questions: Collection[str]) -> Unchecked:
    """Returns the prompts in a YAML file, by question. Raises `ConfigurationError` if it is not such a file."""
    file = Path(path).expanduser()
    try:
        prompts = yaml.safe_load(read_text(file, "prompts"))
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f"protocol.prompts: {file} is not valid YAML ({' '.join(str(error).split())})"
        ) from None
    if not isinstance(prompts, dict):
        raise ConfigurationError(f"protocol.prompts: {file} must be a mapping with {' and '.join(questions)}")
    return prompts


def authors_texts(path: str | None, official: AuthorsFile, wanted: Collection[str]) -> dict[str, str]:
    """Returns the `wanted` texts of the authors' file at `path`, or in the folder `path`; None: of the downloaded one.

    In a Python file they are the strings assigned to plain names, at any depth, and what an f-string that ends with
    `{NAME}` has before that, as `{NAME}`; in a JSON file its members. Raises `ConfigurationError` for a file that
    cannot be read or lacks one of them.
    """
    name = official.name
    if path:
        file = local_path(path, (name, f"*/{name}"), "protocol.prompts_path")
        file = file / name if file.is_dir() else file
    else:
        file = official.path_in_cache()
    text = read_text(file, "prompts_path")
    texts: dict[str, str] = {}
    try:
        if file.suffix == ".json":
            members = json.loads(text)
            pairs = members.items() if isinstance(members, dict) else ()
            texts = {key: value for key, value in pairs if isinstance(value, str)}
        else:
            for line in ast.walk(ast.parse(text, str(file))):  # outer lines first
                match line:
                    case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Constant(value=str(value))):
                        texts.setdefault(variable, value)
                    case ast.JoinedStr(values=[*parts, ast.FormattedValue(value=ast.Name(id=variable))]):
                        said = [part.value for part in parts if isinstance(part, ast.Constant)]
                        texts.setdefault(f"{{{variable}}}", "".join(map(str, said)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: brackets without end
        kind = "JSON" if file.suffix == ".json" else "Python"
        raise ConfigurationError(f"protocol.prompts_path: {file} is no {kind} file ({error})") from None
    if lacking := [key for key in wanted if key not in texts]:
        raise ConfigurationError(f"protocol.prompts_path: {file} has no `{lacking[0]}`; is it the authors' {name}?")
    return {key: texts[key] for key in wanted}


def read_text(file: Path, key: str) -> str:
    """Returns a file's text. Raises `ConfigurationError`, naming `protocol.KEY`, if it is missing or not UTF-8."""
    try:
        return read_bytes(file).decode("utf-8")
    except UnfitFile as error:
        raise ConfigurationError(Text("protocol.{}: {}", key, error)) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"protocol.{key}: {file}: not UTF-8") from None
