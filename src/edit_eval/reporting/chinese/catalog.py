"""English lines in Chinese: a catalog of templates beside the code, which itself knows no language.

A text of the program is an English literal or f-string, wherever it arises. What is printed of it is cut into clauses
(at `; ` and `: `), unless there is an entry for all of it. Of each clause the template is found that it was made from,
and what stood in its fields is put into the Chinese one, itself in Chinese if there is a template for it. What has none
stays as it is: a path, a name, a library's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from edit_eval import errors

LONGEST = 4_000
"""Characters of a line beyond which nobody looks for its templates."""
_FIELD = re.compile(r"\{(\w+)\}")
_FOLLOWS = re.compile(r"(?<=\w\})\{(\w+)\}")
_NUMBER = re.compile(r"[-+~<>]?\d[\d.,%/…–]*(?:, (?:\d+|…))*")
_CHINESE = "[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
_HAN, _LATIN = "[\u4e00-\u9fff]", r"[\w`/~+-]"
_JOINED = {"; ": "；", ": ": "："}
_PROSE = re.compile(r"(?<![\w-])[a-z]+ [a-z]+ [a-z]{2,}(?![\w-])")
"""English in a sentence."""
_TWO_WORDS = re.compile(r"(?<![\w./`'-])[A-Za-z][a-z]+ [a-z]{2,}(?![\w./`'(:=-])")
_ITEM = r"(?:`[^`]+`|[\w./:-]+(?: = [\w./:-]+| \d+)?|…)"
_NAMES = re.compile(rf"{_ITEM}(?:, {_ITEM})+")
"""Names, code or numbers with commas between them: in a Chinese sentence these are `、`."""
_EVERYWHERE = re.compile("an?|and|are|at|be|by|for|from|has|have|in|is|it|no|not|of|on|or|the|there|to|was|with")
_SAID_OF_SOMETHING = re.compile("(is|are|was|has|have|does|did|cannot|could|must|needs|takes|holds|ends|claims) ")
_DEEPEST = 6


def in_chinese(text: str) -> str:
    """`text` in Chinese as far as the catalog has its templates; the same text where it has none."""
    if len(text) > LONGEST or not re.search(r"[A-Za-z]{2}", text):
        return text
    return "\n".join(_line(line, _DEEPEST) for line in text.split("\n"))


def whole_in_chinese(text: str) -> str:
    """`text` in Chinese if the catalog has all of it as one; else as it is: nothing is looked for within it."""
    return _known_whole(text) or text


def word_in_chinese(word: str) -> str:
    """A heading, a tag or a cell: a word that may be a name elsewhere, and so is no part of any other text."""
    bare = word.strip()
    found = words().get(bare) or tags().get(bare)
    return word.replace(bare, found) if found else in_chinese(word)


def clauses(text: str) -> list[tuple[str, str]]:
    """The clauses of a text, each with what stands behind it: `; `, `: ` or nothing.

    Nothing is cut within backticks, or within brackets that are closed again.
    """
    found, begin, i = [], 0, 0
    while i < len(text):
        end = _closing(text, i)
        if end is None and text[i : i + 2] in _JOINED:
            found.append((text[begin:i], text[i : i + 2]))
            begin = i = i + 2
        else:
            i = i + 1 if end is None else end + 1
    return [*found, (text[begin:], "")]


def _closing(text: str, i: int) -> int | None:
    """Where what is opened at `i` is closed; None where nothing is, or it never is."""
    if text[i] == "`":
        end = text.find("`", i + 1)
        return None if end < 0 else end
    opening, closing = text[i], {"(": ")", "{": "}"}.get(text[i])
    if closing is None:
        return None
    depth = 0
    for j in range(i, len(text)):
        depth += {opening: 1, closing: -1}.get(text[j], 0)
        if not depth:
            return j
    return None


@dataclass(frozen=True)
class Template:
    """An English clause with fields, and its Chinese twin."""

    english: str
    chinese: str
    literals: tuple[str, ...]
    """The text before, between and behind the fields."""
    fields: tuple[str, ...]
    silent: tuple[str, ...]
    """Fields that follow another one at once: where that one ends nobody can tell, so it has all, and these nothing."""

    @classmethod
    def of(cls, english: str, chinese: str) -> Template:
        """From the two texts with `{names}`."""
        parts = _FIELD.split(_FOLLOWS.sub("", english))
        return cls(english, chinese, tuple(parts[::2]), tuple(parts[1::2]), tuple(_FOLLOWS.findall(english)))

    @property
    def weight(self) -> tuple[int, int]:
        """How much it says: of all templates that a clause may come from the one that says most is taken."""
        return sum(map(len, self.literals)), -sum(not _counts(name) for name in self.fields)

    @property
    def prose(self) -> int:
        """How many words it has."""
        return len(re.findall("[A-Za-z]{2,}", "".join(self.literals)))

    @property
    def says_nothing(self) -> bool:
        """Whether it has no word but such as stand in any English sentence."""
        return all(map(_EVERYWHERE.fullmatch, re.findall("[A-Za-z]{2,}", "".join(self.literals))))

    @property
    def key(self) -> str:
        """A word that every text of it has; empty where it has none that stands free of its fields."""
        free = re.findall(r"(?<![\w{])[A-Za-z]+(?![\w{])", _FIELD.sub("{", self.english))
        return max(free, key=len, default="")

    def is_code(self, name: str) -> bool:
        """Whether a field stands in backticks or behind a flag: then it is a name, whatever word it is."""
        return re.search(rf"`{{{name}}}`|--[\w-]+ {{{name}}}", self.english) is not None

    def values(self, text: str) -> dict[str, str] | None:
        """What stands in the fields of `text`; None where it is no text of this template."""
        first, *others = self.literals
        if not text.startswith(first):
            return None
        at, found = len(first), dict.fromkeys(self.silent, "")
        for name, literal in zip(self.fields, others, strict=True):
            if name == self.fields[-1]:
                end = len(text) - len(literal) if text.endswith(literal) else -1
            else:
                end = text.find(literal, at if self._may_be(name, "") else at + 1)
            if end < at or not self._may_be(name, text[at:end]):
                return None
            found[name] = text[at:end]
            at = end + len(literal)
        return found if at == len(text) else None

    def _may_be(self, name: str, value: str) -> bool:
        if name in ("s", "es"):
            return value in ("", name)
        if _counts(name):
            return _NUMBER.fullmatch(value) is not None
        if value:
            pair = value.startswith("= ")  # `category = type`: nothing is said of it
            return not pair and value.count("(") == value.count(")")
        here = "{" + name + "}"
        before, _, after = self.english.partition(here)
        return bool(before and not before[-1].isspace()) or bool(after and not after[0].isspace())


def _counts(name: str) -> bool:
    """Whether a field takes numbers only: its name begins with a capital."""
    return name[:1].isupper()


@cache
def templates() -> tuple[Template, ...]:
    """All of the catalog; what begins with a verb also behind whatever it may be said of."""
    known = {_FIELD.sub("{}", english) for english in entries()}
    made = [Template.of(english, chinese) for english, chinese in entries().items()]
    made += [
        Template.of(f"{{subject}} {english}", f"{{subject}} {chinese}")
        for english, chinese in entries().items()
        if _SAID_OF_SOMETHING.match(english) and "{} " + _FIELD.sub("{}", english) not in known
    ]
    return tuple(made)


@cache
def entries() -> dict[str, str]:
    """All clauses of the catalog: English to Chinese."""
    merged: dict[str, str] = {}
    for name, part in parts().items():
        if name not in ("words", "tags"):
            merged.update(part)
    return merged


@cache
def words() -> Mapping[str, str]:
    """Headings and tags: English to Chinese."""
    return parts()["words"]


@cache
def tags() -> Mapping[str, str]:
    """What stands in front of a line: English to Chinese."""
    return parts()["tags"]


@cache
def parts() -> dict[str, dict[str, str]]:
    """The files of the catalog, each English to Chinese: one a room, `words` and `tags`."""
    folder = files("edit_eval.reporting.chinese").joinpath("texts")
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".yaml"): read(file.read_text(encoding="utf-8")) for file in found}


def read(text: str) -> dict[str, str]:
    """One file's entries."""
    import yaml

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}


@cache
def _index() -> tuple[dict[str, str], dict[str, list[Template]]]:
    """Clauses without fields, and the others by a word that they have."""
    by_key: dict[str, list[Template]] = {}
    for template in templates():
        if template.fields:
            by_key.setdefault(template.key, []).append(template)
    return {one.english: one.chinese for one in templates() if not one.fields}, by_key


def candidates(clause: str) -> list[tuple[Template, dict[str, str]]]:
    """The templates with fields that a clause may come from, with what stands in them; the one that says most first."""
    _, by_key = _index()
    near = [one for word in dict.fromkeys(("", *re.findall("[A-Za-z]+", clause))) for one in by_key.get(word, ())]
    found = [(one, values) for one in near if (values := one.values(clause)) is not None]
    return sorted(found, key=lambda pair: pair[0].weight, reverse=True)


def _line(text: str, depth: int) -> str:
    """A text of several clauses."""
    if depth == 0 or not text.strip():
        return text
    if whole := _known_whole(text):
        return whole
    parts = clauses(text)
    made = [
        _theirs(clause, depth)
        if i and parts[i - 1][1] == ": " and _is_theirs(parts[i - 1][0])
        else _clause(clause, depth)
        for i, (clause, _) in enumerate(parts)
    ]
    if depth == _DEEPEST and len(parts) > 1:
        made[0] = tags().get(made[0].strip(), made[0])
        if parts[0][0] in ("error", "note") and parts[1][0] == "pilot":
            made[1] = tags()["pilot"]
    changed = [before != after for (before, _), after in zip(parts, made, strict=True)]
    if not any(changed):
        return text
    line = ""
    for i, (after, (_, joiner)) in enumerate(zip(made, parts, strict=True)):
        beside = any(changed[i : i + 2]) or bool(re.search(_CHINESE + "$", after))
        beside = beside and not (joiner == ": " and _is_theirs(parts[i][0]))
        line += after + (_JOINED.get(joiner, "") if beside else joiner)
    if not changed[-1] and not _PROSE.search(parts[-1][0]):
        ended = _without_stop(line)
        line = ended + "。" if ended != line else line
    return line


def _is_theirs(clause: str) -> bool:
    """Whether it is the class of an error of Python's or of a library's, so that what follows are its own words."""
    found = re.search(r"\b([A-Z]\w*(?:Error|Exception))$", clause)
    return found is not None and not hasattr(errors, found[1])


def _theirs(text: str, depth: int) -> str:
    """A library's words, and in brackets behind them what the program says of them."""
    head, opened, inside = text.rpartition(" (")
    said = _line(inside[:-1], depth - 1) if opened and inside.endswith(")") and _TWO_WORDS.search(inside) else inside
    return text if said == inside or _TWO_WORDS.search(said) else f"{head}（{said}）"


def _known_whole(text: str) -> str:
    """The Chinese of a text that is an entry of the catalog, whatever joins its clauses; empty where it is none."""
    bare = _without_stop(text)
    found = entries().get(bare, "")
    return found + "。" if found and bare != text else found


def _without_stop(text: str) -> str:
    return text[:-1] if text.endswith(".") and not text.endswith("..") else text


def _clause(text: str, depth: int) -> str:
    bare = text.strip()
    said = _said(unended, depth) if (unended := _without_stop(bare)) != bare else None
    said = said + "。" if said else _said(bare, depth)
    if said is None:
        return text
    before = text[: len(text) - len(text.lstrip())]
    after = text[len(text.rstrip()) :]
    return before + said + after


def _said(bare: str, depth: int) -> str | None:
    """A clause without spaces around it, or None where nothing of it is known."""
    whole, _ = _index()
    if bare in whole:
        return whole[bare]
    found = candidates(bare)
    has_commas = bool(found) and found[0][0].prose > 1 and ", " in "".join(found[0][0].literals)
    if not has_commas and (said := _listed(bare, depth, every=True)) is not None:
        return said
    for template, values in found:
        made = {name: value if template.is_code(name) else _line(value, depth - 1) for name, value in values.items()}
        if template.prose > 2 or not any(_unknown(values[name], made[name], template) for name in made):
            return _filled(template.chinese, made)
    said = _bracketed(bare, depth)
    return _listed(bare, depth) if said is None else said


def _unknown(value: str, made: str, template: Template) -> bool:
    """Whether what stood in a field is English that was not found: then what stands around it was found by chance."""
    left = re.findall(r"(?<![\w./`'-])[a-z]{2,}(?![\w./`'(-])", made)
    if template.says_nothing and left and value == made and " " in value and not _NAMES.fullmatch(value):
        return True
    return (_PROSE.search(value) is not None and len(left) > 1) or _TWO_WORDS.search(made) is not None


def _bracketed(bare: str, depth: int) -> str | None:
    """`(text)`, or a text with one in brackets behind it."""
    begin = bare.find("(")
    if begin < 0 or not bare.endswith(")") or _closing(bare, begin) != len(bare) - 1:
        return None
    head, inside = bare[:begin], bare[begin + 1 : -1]
    said = _line(head, depth - 1), _line(inside, depth - 1)
    if said == (head, inside):
        return None
    return f"{_inserted(said[0].rstrip())}（{_inserted(said[1])}）"


def _listed(bare: str, depth: int, *, every: bool = False) -> str | None:
    """Texts with commas between them, none of which is English prose; with `every` all have to be known."""
    parts = bare.split(", ")
    if len(parts) == 1:
        return None
    names = all(re.fullmatch(r"[\w.-]+", part) for part in parts)  # or keys, any of which may be a word elsewhere
    said = parts if names else [_line(part, depth - 1) for part in parts]
    known = [a != b or not re.search("[A-Za-z]{2}", b) for a, b in zip(said, parts, strict=True)]
    changed = sum(a != b for a, b in zip(said, parts, strict=True))
    if changed < 1 + every or (every and not all(known)) or any(map(_PROSE.search, said)):
        return None
    line = said[0]
    for before, part, words in zip(parts, parts[1:], said[1:], strict=False):
        line += ("、" if re.search(r"\d$", before) and re.fullmatch(r"\d+|…", part) else "，") + words
    return line


def _inserted(value: str) -> str:
    """What stands in a field, with the commas of a Chinese sentence."""
    value = re.sub("^, ", "，", value)
    return value.replace(", ", "、") if _NAMES.fullmatch(value) else value


def _filled(chinese: str, values: Mapping[str, str]) -> str:
    """The Chinese template with its fields: a space where Chinese meets Latin, and none where it meets Chinese."""
    made = ""
    for i, part in enumerate(_FIELD.split(chinese)):
        piece = _inserted(values[part]) if i % 2 else part
        if re.search(_CHINESE + " ?$", made) and re.match(" ?" + _CHINESE, piece):
            made, piece = made.rstrip(), piece.lstrip()
        elif re.fullmatch(f"{_HAN}{_LATIN}|{_LATIN}{_HAN}", made[-1:] + piece[:1]):
            made += " "
        made += piece
    return made
