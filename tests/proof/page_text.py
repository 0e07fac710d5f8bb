"""What of an HTML page is to be read: its text without tags, a block or table row a line."""

from __future__ import annotations

from html.parser import HTMLParser

_INLINE = "a abbr b bdi code em i kbd mark q s small span strong sub sup time tspan u var wbr"
INLINE = frozenset(_INLINE.split())
SILENT = frozenset(("script", "style", "template", "noscript"))
READ = ("title", "aria-label", "alt", "placeholder")
"""Attributes that are read out or shown."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.blocks: list[str] = []
        self._line = ""
        self._silent = self._verbatim = 0

    def _end(self) -> None:
        if words := " ".join(self._line.split()).strip("| "):
            self.lines.append(words)
        self._line = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            self._silent += 1
        if tag == "pre":
            self._end()
            self._verbatim += 1
            self.blocks.append("")
        if tag not in (*INLINE, "td", "th"):
            self._end()
        if not self._silent:
            for name, value in attrs:
                if name in READ and value:
                    self._line += f" [{name}: {value}]"

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent -= 1
        if tag == "pre":
            self._verbatim -= 1
            self.lines.append(f"<BLOCK {len(self.blocks) - 1}>")
        elif tag in ("td", "th"):
            self._line += " | "
        elif tag not in INLINE:
            self._end()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._verbatim:
            self.blocks[-1] += data
        else:
            self._line += data


def page_text(html: str) -> tuple[list[str], list[str]]:
    """The lines of a page, and the contents of its `<pre>`s, for each of which there is a line `<BLOCK n>`."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader._end()
    return reader.lines, reader.blocks
