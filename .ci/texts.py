"""`make texts`: updates the catalogues' templates from the code, and lists those without a translation, one per line.

Keeps translations, and removes those whose template no longer exists. With `--check`, exits with 1 if any is missing.
A language is a row of `edit_eval.reporting.languages.SPOKEN`: write one, and this begins its catalogues.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from edit_eval.text import CONTEXT

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
SRC = ROOT / "src/edit_eval"
HEAD = r"""# What edit-eval says, in another language. `make texts` keeps it in step with the code.
msgid ""
msgstr ""
"Language: {}\n"
"Content-Type: text/plain; charset=utf-8\n"
"""


def main() -> None:
    import registered_here

    registered_here.register()
    from edit_eval.reporting.languages import ENGLISH, SPOKEN
    from source_texts import templates

    texts = sorted(templates().items(), key=lambda item: (item[1].partition(":")[0], item[0]))
    others = [language for language in SPOKEN if language != ENGLISH]
    known = {language: catalogues(language) for language in others}
    wanted = {template for template, place in texts if is_for_people(template, place, [*known.values()])}
    lacking = [line for language in others for line in updated(language, known[language], texts, wanted)]
    print("\n".join([*lacking, f"{len(texts)} templates, {len(lacking)} without a translation"]))
    if "--check" in sys.argv and lacking:
        sys.exit(1)


def catalogues(language: str) -> dict[Path, Catalog]:
    """A language's catalogues, as they are now."""
    files = sorted([*SRC.glob(f"reporting/{language}.po"), *SRC.glob(f"plugins/*/{language}.po")])
    return {file: read_po(io.BytesIO(file.read_bytes()), locale=language) for file in files}


def translation(template: str, known: dict[Path, Catalog]) -> str:
    """What catalogues have for a template; empty if they have nothing."""
    context, _, words = template.rpartition(CONTEXT)
    messages = (catalog.get(words, context or None) for catalog in known.values())
    return next((str(message.string) for message in messages if message and message.string), "")


def is_for_people(template: str, place: str, languages: list[dict[Path, Catalog]]) -> bool:
    """Whether a template has words. What a component says of itself may be a name alone, such as `MIT`."""
    from source_texts import has_words

    words = template.rpartition(CONTEXT)[2]
    written = not place.startswith("edit-eval ")
    return has_words(words, capital=written) or any(translation(template, known) for known in languages)


def updated(language: str, known: dict[Path, Catalog], texts: list[tuple[str, str]], wanted: set[str]) -> Iterator[str]:
    """Writes a language's catalogues, and yields a line for each template that they lack."""
    new: dict[Path, Catalog] = {}
    for template, place in texts:
        if template in wanted:
            context, _, words = template.rpartition(CONTEXT)
            file = place.partition(":")[0].replace(" ", "_")
            target = folder_of(file) / f"{language}.po"
            catalog = new.setdefault(target, Catalog(locale=language, charset="utf-8"))
            catalog.add(words, translation(template, known), locations=[(file, None)], context=context or None)
            if not translation(template, known):
                yield f"{language}: {place}: {words}" + (f" ({context})" if context else "")
    for file in known:
        if file not in new:
            file.unlink()
    for file, catalog in new.items():
        written = io.BytesIO()
        write_po(written, catalog, width=0, include_lineno=False, sort_output=False)
        lines = written.getvalue().decode().splitlines(keepends=True)
        file.write_text("".join([HEAD.format(language), *lines[lines.index("\n") :]]), encoding="utf-8")


def folder_of(file: str) -> Path:
    """The folder of the catalogue that has the words of a file: a plug-in's own, or reporting's for the core."""
    top, _, rest = file.partition("/")
    return SRC / "plugins" / rest.partition("/")[0] if top == "plugins" else SRC / "reporting"


if __name__ == "__main__":
    main()
