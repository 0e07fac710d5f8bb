"""What an audit found, on a terminal, and the words for it in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console

from edit_eval.passports import Passport
from edit_eval.reporting import formats
from edit_eval.reporting.page.texts import filled, short_category, texts
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import Name, numbers, plain_table, print_beside, print_dim, stdout_console
from edit_eval.statistics.audit.measure import Measure
from edit_eval.statistics.audit.order import NOTICED


def words(key: str, language: str, **values: object) -> str:
    """The text `key` in `language` with its `{fields}` filled in. Raises `KeyError` for a key there is not."""
    return filled(texts("audit.yaml")[key][language], values)


def measure_words(name: str, language: str) -> str:
    """What a measure is called: one of the texts, or the two rungs of a pair; its plain name where another version has
    measured what this one does not know."""
    known = texts("audit.yaml")
    if f"measure.{name}" in known:
        return words(f"measure.{name}", language)
    if not {f"rung.{one}" for one in name.split("_over_")} <= known.keys():
        return name.replace("_", " ")
    return words("pair", language, **_pair(name, language))


def _pair(name: str, language: str) -> dict[str, str]:
    better, worse = name.split("_over_")
    return {"better": words(f"rung.{better}", language), "worse": words(f"rung.{worse}", language)}


def failed_words(key: str, language: str) -> str:
    """One of `Passport.failed` in words: `order (causal)` is the order within a category."""
    name, _, group = key.removesuffix(")").partition(" (")
    said = measure_words(name, language)
    return words("in_category", language, measure=said, category=_group(group, language)) if group else said


def _group(name: str, language: str) -> str:
    """What a category is called, or a kind of change (`hue`)."""
    kind = f"axis.{name}"
    return words(kind, language) if kind in texts("audit.yaml") else short_category(name, language)


class MeasureRow(NamedTuple):
    """One measure as it is shown."""

    label: str
    measure: Measure
    value: str
    interval: str
    asked: str
    of: str
    result: str
    """`passed`, `not_passed` or `not_shown`; empty where nothing is asked."""


def rows(passport: Passport, language: str, *, held: bool) -> list[MeasureRow]:
    """The measures that are held against something, categories last; or those that are only shown."""
    found = [(measure_words(name, language), name, one) for name, one in passport.measures.items()]
    for category, measures in passport.categories.items():
        for name, one in measures.items():
            label, title = measure_words(name, language), _group(category, language)
            found.append((words("in_category", language, measure=label, category=title), name, one))
    return [_row(label, name, one, language) for label, name, one in found if (one.floor is not None) == held]


def _row(label: str, name: str, one: Measure, language: str) -> MeasureRow:
    sign = "≥" if one.bound == "at_least" else "≤"
    return MeasureRow(
        label,
        one,
        formats.score(one.value, 3),
        formats.bracketed(one.ci95, 3),
        "" if one.floor is None else f"{sign} {one.floor:g}",
        words(
            f"of.{name}" if f"of.{name}" in texts("audit.yaml") else "of.value", language, n=one.n, scenes=one.scenes
        ),
        result_of(one),
    )


def result_of(one: Measure) -> str:
    """`passed`; `not_passed`; `not_shown`, where the value would do and its interval is too wide; or nothing."""
    if one.passed is None:
        return ""
    return "passed" if one.passed else "not_passed" if one.missed else "not_shown"


def weaknesses(passport: Passport, language: str) -> list[str]:
    """A sentence for each thing that it did not pass, of categories with their name: first what it prefers wrongly,
    last what could not be shown."""
    wrong: list[str] = []
    found: list[str] = []
    open_: list[str] = []
    for category, measures in (("", passport.measures), *passport.categories.items()):
        title = _group(category, language)
        for name, one in measures.items():
            if one.passed is not False:
                continue
            if fault := _fault(name, one, language):
                (wrong if one.reversed else found).append(f"{title}: {fault}" if category else fault)
            else:
                label = measure_words(name, language)
                open_.append(words("in_category", language, measure=label, category=title) if category else label)
    return [
        *wrong,
        *found,
        *([words("unshown", language, measures=("；" if language == "zh" else "; ").join(open_))] if open_ else []),
    ]


def _fault(name: str, one: Measure, language: str) -> str:
    """The sentence about a measure that was not passed; empty where too little was seen to say it."""
    if f"fault.{name}" in texts("audit.yaml"):
        return words(f"fault.{name}", language) if one.missed else ""
    if one.reversed:
        return words("fault.reversed", language, **_pair(name, language))
    blind = one.ci95 is not None and one.ci95[1] < NOTICED
    return words("fault.blind", language, **_pair(name, language)) if blind else ""


def beside_people(passport: Passport, language: str) -> str:
    """Whose scores were held against people's; empty where none were."""
    if not passport.people:
        return ""
    whose = {key: passport.people.get(key, "") for key in ("run", "judge")}
    return words("people.recorded" if passport.people.get("recorded") else "people.own", language, **whose)


def print_audit(passport: Passport, places: Iterator[str], console: Console | None = None, *, language: str) -> None:
    """Prints the verdict, the weaknesses and a table of all measures, in English or Chinese; then the `places`."""
    console = console or stdout_console()
    verdict = words(f"verdict.{passport.verdict}", language)
    style = {"passed": "bold green", "limited": "bold yellow", "failed": "bold red"}[passport.verdict]
    console.print(Styled(words("line", language, judge=passport.name, verdict=verdict), style=style))
    console.print(words(f"verdict.{passport.verdict}.means", language))
    for line in weaknesses(passport, language):
        print_beside(console, Styled("  - "), Styled(line))
    console.print()
    heads = ("value", "interval", "asked")
    table = plain_table(
        words("measure", language), *numbers(*(words(key, language) for key in heads)), words("result", language), gap=2
    )
    for row in rows(passport, language, held=True):
        said = Styled(
            words(row.result, language), style={"not_passed": "red", "not_shown": "yellow"}.get(row.result, "")
        )
        table.add_row(Name(row.label), row.value, row.interval, row.asked, said)
    for row in rows(passport, language, held=False):
        table.add_row(Name(row.label, "dim"), row.value, row.interval, "", "")
    console.print(table)
    if beside := beside_people(passport, language):
        console.print(Styled(words("line", language, judge=words("people", language), verdict=beside)))
    print_dim(console, words("hint.measures", language))
    for place in places:
        console.print(place, soft_wrap=True, highlight=False, markup=False)


def places_of(run: object, page: object, file: object, language: str) -> Iterator[str]:
    """Where run, page and passport are, a line each."""
    for key, path in (("run", run), ("page", page), ("file", file)):
        yield words(key, language, path=path)
