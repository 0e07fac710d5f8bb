"""`make texts`: updates the catalogue's templates from the code, and lists those without Chinese, one per line.

Keeps translations, and removes those whose template no longer exists. With `--check`, exits with 1 if any is missing.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
SRC = ROOT / "src/edit_eval"
PO = SRC / "reporting/zh.po"
HEAD = r"""# What edit-eval says, in Chinese. `make texts` keeps it in step with the code.
msgid ""
msgstr ""
"Language: zh\n"
"Content-Type: text/plain; charset=utf-8\n"
"""


def main() -> None:
    import registered_here

    registered_here.register()
    from edit_eval.text import CONTEXT
    from source_texts import templates, wants_chinese

    files = sorted({PO, *SRC.glob("guests/*/zh.po")})
    old = [read_po(io.BytesIO(file.read_bytes()), locale="zh") for file in files if file.exists()]
    new: dict[Path, Catalog] = {PO: Catalog(locale="zh", charset="utf-8")}
    lacking = []
    for template, place in sorted(templates().items(), key=lambda item: (item[1].partition(":")[0], item[0])):
        context, _, words = template.rpartition(CONTEXT)
        found = (one.get(words, context or None) for one in old)
        chinese = next((str(known.string) for known in found if known and known.string), "")
        if chinese or wants_chinese(words):
            file = place.partition(":")[0].replace(" ", "_")
            catalog = new.setdefault(catalogue_of(file), Catalog(locale="zh", charset="utf-8"))
            catalog.add(words, chinese, locations=[(file, None)], context=context or None)
        if not chinese and wants_chinese(words):
            lacking.append(f"{place}: {words}" + (f" ({context})" if context else ""))
    for file in files:
        if file not in new:
            file.unlink()
    for file, catalog in new.items():
        written = io.BytesIO()
        write_po(written, catalog, width=0, include_lineno=False, sort_output=False)
        lines = written.getvalue().decode().splitlines(keepends=True)
        file.write_text("".join([HEAD, *lines[lines.index("\n") :]]), encoding="utf-8")
    print("\n".join([*lacking, f"{sum(map(len, new.values()))} templates, {len(lacking)} without Chinese"]))
    if "--check" in sys.argv and lacking:
        sys.exit(1)


def catalogue_of(file: str) -> Path:
    """The catalogue that has the words of a file: a guest's own, or the core's."""
    top, _, rest = file.partition("/")
    return SRC / "guests" / rest.partition("/")[0] / "zh.po" if top == "guests" else PO


if __name__ == "__main__":
    main()
