"""Rubrics: what a judge is told. Ours are packaged; the configuration's `prompts:` replace any.

The prompts of a category have two fields, `{original_description}` and `{edit_instruction}`. A brace that does not
enclose a bare name is text: `{"score": 1}` needs no escaping.

A system prompt of ours ends with the form of the answer (`protocol.answer`), which is written in one place. A system
prompt of the user's own is taken as it is: it already says how to answer, and nothing is appended to it. What comes
back is read by the grammar of the configured form in either case.

A score is made of six items: five criteria, each of which adds up to 1 to 5, adds nothing or takes up to 1 away; and
how much of the change was made, which says how high the score can be (`limits`).
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
from edit_eval.hub import local_path
from edit_eval.records import LANGUAGES

RUBRICS = ("five_dimensions.v1", "five_dimensions.v2")
"""Those of the five dimensions, the default first."""
GENERAL = "general"
"""The rubric for any edit, and the name under which `prompts:` replace it."""
FIELDS = ("original_description", "edit_instruction")
IMAGES = "images"
"""The field of a user prompt that says which image is which."""
STEPS = {"A": 1.0, "B": 0.0, "C": -1.0}
"""What a criterion adds to the score by its letter: raised, kept, lowered."""

_KEYS = ("system_prompt", "user_prompt_template")
_FIELD = re.compile(r"\{([^\W\d]\w*)\}")
_NUMBERED = re.compile(r"(?m)^[1-9]\. ")


@dataclass(frozen=True)
class RubricText:
    """What a judge is told for one category, in one language."""

    category: str
    """The canonical name, or the benchmark's own word."""
    title: str
    """For people to read, in the rubric's language."""
    version: str
    """`five_dimensions.v1`; with `+prompts` where the user's own text replaced a part; `prompts` where it is all."""
    system_prompt: str
    """Without the form of the answer."""
    user_prompt_template: str
    ask_again: Mapping[str, str] = field(compare=False)
    """Form of the answer -> the line that is added when an answer could not be read. It is in no key, and rubrics that
    differ only there are the same: they ask the same question."""
    answer: Mapping[str, str]
    """Form of the answer -> the text that ends the system prompt; empty under a system prompt of the user's own."""
    criteria: tuple[str, ...] = ()
    """The five sub-criteria; none under a system prompt of the user's own."""
    no_description: str = ""
    """What stands in for the description of a sample that has none."""
    limit: str = ""
    """The item that says how high a score can be; none under a system prompt of the user's own, as with `criteria`."""
    highest: Mapping[str, float] = field(default_factory=dict)
    """Its letters, the best first -> the highest score with each."""
    form: Mapping[str, str] = field(default_factory=dict)
    """Words in the line that shows a JSON object: what `reasons` are called, what stands for a `letter`, a `number`."""
    images: Mapping[str, str] = field(default_factory=dict)
    """`source` and `edited` -> how `{images}` says where it is. Without, the order is fixed by the system prompt."""
    one: str = ""
    """What ends the user prompt where one item is asked about; without, none can be asked about alone."""

    def system(self, answer: str, shown: str = "") -> str:
        """The whole system prompt template for one form of the answer; `shown` is what stands in it for `{form}`."""
        asked_for = self.answer.get(answer, "").replace("{form}", shown)
        return f"{self.system_prompt}\n\n{asked_for}" if asked_for else self.system_prompt

    def turned(self, by: int) -> RubricText:
        """The rubric with its criteria in another order: the first `by` of them behind the others, numbered anew."""
        by %= len(self.criteria) or 1
        if not by:
            return self
        head, *blocks = _NUMBERED.split(self.system_prompt)
        blocks[-1], *tail = blocks[-1].split("\n\n", 1)
        ends = ["\n"] * (len(blocks) - 1) + ["".join(f"\n\n{one}" for one in tail)]
        ordered = [block.rstrip("\n") for block in (*blocks[by:], *blocks[:by])]
        text = "".join(f"{n}. {block}{end}" for n, (block, end) in enumerate(zip(ordered, ends, strict=True), 1))
        return replace(self, system_prompt=head + text, criteria=self.criteria[by:] + self.criteria[:by])


def load_rubrics(
    overrides: Mapping[str, Mapping[str, str]] | None, language: str, name: str = RUBRICS[0]
) -> dict[str, RubricText]:
    """The rubrics of the five categories and the general one in `language` (`en` or `zh`), with `prompts` in place.

    `name` is one of `RUBRICS`.

    `overrides` maps a category (`物理` or `physical`, or a word of the user's own benchmark) to a `system_prompt`, a
    `user_prompt_template` or both. A category of the user's own needs at least its `system_prompt`.
    Raises `ConfigurationError` for a language, key, value or field that cannot be meant.
    """
    rubrics = {category: _ours(name, category, language) for category in (*CATEGORIES, GENERAL)}
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
            # What the five have in common: the user prompt and the line for asking again.
            ours = replace(rubrics[CATEGORIES[0]], category=category, title=title(category, language))
        rubrics[category] = _replaced(written, override, ours)
    return rubrics


def refuse_unknown(overrides: Mapping[str, Mapping[str, str]] | None, categories: Iterable[str]) -> None:
    """Raises `ConfigurationError` for `prompts:` of a category that is none of the five and that no sample has.

    `categories` are those of all samples of the benchmark, whatever the filters.
    """
    known = dict.fromkeys((*CATEGORIES, GENERAL, *map(canonical, categories)))
    for name in overrides or {}:
        if canonical(name) not in known:
            written = dict.fromkeys((*known, *SUBSETS.values()))  # as files have them, too
            raise ConfigurationError(f"prompts.{name}: no sample has that category; {_nearest(name, list(written))}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with its fields replaced by their `values`, in one pass: braces in what is filled in stay text.

    The tags between which our templates put the texts are broken up inside of them (`</` becomes `< /`), so that an
    instruction cannot end its own quotation.
    """
    names = tuple(values)
    pieces = _pieces(template, names)
    if len(pieces) == 1:
        return template
    pieces = pieces.copy()
    for number in range(1, len(pieces), 2):
        pieces[number] = _tag(names).sub("< ", values[pieces[number]])
    return "".join(pieces)


@cache
def _pieces(template: str, names: tuple[str, ...]) -> list[str]:
    """The template cut at its fields: text, field, text, ..., text. A benchmark has few templates and many samples."""
    return re.split(r"\{(" + "|".join(names) + r")\}", template)


@cache
def _tag(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(names)})\b)", re.IGNORECASE)


@cache
def packaged(name: str, language: str) -> Any:
    """What our file `name` (`viescore.v1`) says in `language`.

    Raises `ConfigurationError` for a language that it is not written in.
    """
    if language not in LANGUAGES:
        raise ConfigurationError(f"no rubrics in the language `{language}`; there are {' and '.join(LANGUAGES)}")
    file = resources.files("edit_eval.rubrics") / f"{name}.{language}.yaml"
    return parse_ours(file.read_text(encoding="utf-8"))


def _ours(name: str, category: str, language: str) -> RubricText:
    data = packaged(name, language)
    if category not in data["categories"]:  # the general rubric's first version is a file of its own
        name = f"{category}{name[name.rindex('.') :]}"
        data = packaged(name, language)
    rubric, limits = data["categories"][category], data["limits"]
    return RubricText(
        category=category,
        title=title(category, language),
        version=name,
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


def _replaced(name: str, override: Mapping[str, str], ours: RubricText | None) -> RubricText:
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
    nothing: dict[str, Any] = {"answer": {}, "criteria": (), "limit": "", "highest": {}, "form": {}, "one": ""}
    return replace(ours, version=version, system_prompt=system, user_prompt_template=user, **nothing)


def check_prompts(name: str, override: object, fields: Sequence[str]) -> None:
    """Raises `ConfigurationError` for a key, value or field of `prompts.NAME` that cannot be meant."""
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
    """The end of a message: the name that was probably meant, or all there are."""
    if not names:
        return "there are none"
    written = str(word).lower()

    def likeness(name: str) -> float:
        bare = name.strip("{}")
        return 1.0 if bare.startswith(written) else difflib.SequenceMatcher(None, written, bare).ratio()

    best = max(names, key=likeness)
    return f"did you mean `{best}`?" if likeness(best) >= 0.5 else f"there are {', '.join(names)}"


def own_prompts(path: str, questions: Collection[str]) -> dict[str, Any]:
    """The prompts of a YAML file, by question. Raises `ConfigurationError` for a file that is none."""
    file = Path(path).expanduser()
    try:
        found = yaml.safe_load(read_text(file, "prompts"))
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f"protocol.prompts: {file} is not valid YAML ({' '.join(str(error).split())})"
        ) from None
    if not isinstance(found, dict):
        raise ConfigurationError(f"protocol.prompts: {file} must be a mapping with {' and '.join(questions)}")
    return found


def authors_texts(path: str | None, official: AuthorsFile, wanted: Collection[str]) -> dict[str, str]:
    """The `wanted` texts of the authors' file at `path`, or in the folder `path`; None: of that which was fetched.

    A Python file's are the strings that it assigns to plain names, a JSON file's its members. Raises
    `ConfigurationError` for a file that cannot be read, or lacks one of them.
    """
    name = official.name
    if path:
        file = local_path(path, (name, f"*/{name}"), "protocol.prompts_path")
        file = file / name if file.is_dir() else file
    else:
        file = official.fetched()
    text = read_text(file, "prompts_path")
    found: dict[str, str] = {}
    try:
        if file.suffix == ".json":
            members = json.loads(text)
            pairs = members.items() if isinstance(members, dict) else ()
            found = {key: value for key, value in pairs if isinstance(value, str)}
        else:
            for line in ast.parse(text, str(file)).body:
                match line:
                    case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Constant(value=str(value))):
                        found[variable] = value
    except (SyntaxError, ValueError) as error:
        kind = "JSON" if file.suffix == ".json" else "Python"
        raise ConfigurationError(f"protocol.prompts_path: {file} is no {kind} file ({error})") from None
    if lacking := [one for one in wanted if one not in found]:
        raise ConfigurationError(f"protocol.prompts_path: {file} has no `{lacking[0]}`; is it the authors' {name}?")
    return {one: found[one] for one in wanted}


def read_text(file: Path, key: str) -> str:
    """A file's text. Raises `ConfigurationError`, which names `protocol.KEY`, where there is none in UTF-8."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ConfigurationError(f"protocol.{key}: cannot read {file}: {said}") from None
