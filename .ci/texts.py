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
PO = ROOT / "src/edit_eval/reporting/zh.po"
HEAD = r"""# What edit-eval says, in Chinese. `make texts` keeps it in step with the code.
msgid ""
msgstr ""
"Language: zh\n"
"Content-Type: text/plain; charset=utf-8\n"
"""


def main() -> None:
    from edit_eval.text import CONTEXT
    from source_texts import templates, wants_chinese

    old = read_po(io.BytesIO(PO.read_bytes()), locale="zh") if PO.exists() else Catalog(locale="zh")
    new = Catalog(locale="zh", charset="utf-8")
    lacking = []
    for template, place in sorted(templates().items(), key=lambda item: (item[1].partition(":")[0], item[0])):
        context, _, words = template.rpartition(CONTEXT)
        known = old.get(words, context or None)
        chinese = str(known.string) if known and known.string else ""
        if chinese or wants_chinese(words):
            file = place.partition(":")[0].replace(" ", "_")
            new.add(words, chinese, locations=[(file, None)], context=context or None)
        if not chinese and wants_chinese(words):
            lacking.append(f"{place}: {words}" + (f" ({context})" if context else ""))
    written = io.BytesIO()
    write_po(written, new, width=0, include_lineno=False, sort_output=False)
    lines = written.getvalue().decode().splitlines(keepends=True)
    PO.write_text("".join([HEAD, *lines[lines.index("\n") :]]), encoding="utf-8")
    print("\n".join([*lacking, f"{len(new)} templates, {len(lacking)} without Chinese"]))
    if "--check" in sys.argv and lacking:
        sys.exit(1)


if __name__ == "__main__":
    main()
