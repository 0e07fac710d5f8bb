"""A written report, and its page taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from drawn_pages import unpack_data
from edit_eval.records import Results
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.report import write_report
from edit_eval.statistics.summary import Result, ScoreNumbers, Summary, summarise


@dataclass(frozen=True)
class Report:
    """A run, its summary and its written report."""

    results: Results
    summary: Summary
    folder: Path

    @property
    def html(self) -> str:
        return (self.folder / "index.html").read_text(encoding="utf-8")

    @property
    def data(self) -> dict[str, Any]:
        """The page's JSON, parsed from the page."""
        return unpack_data(Elements(self.html).text_of["data"])

    @property
    def thumbnails(self) -> list[str]:
        """The base64 of each thumbnail, in their order."""
        elements = Elements(self.html)
        names = [values["id"] for _, values in elements.all if (values.get("id") or "").startswith("thumbnail-")]
        assert names == [f"thumbnail-{place}" for place in range(len(names))]
        return [elements.text_of.get(name, "") for name in names]


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the raw text of those that have an id."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.text_of: dict[str, str] = {}
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._open: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.all.append((tag, values))
        self._open.append((tag, values.get("id")))
        if tag == "script":
            self.scripts.append("")
        if tag == "style":
            self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag, identifier = self._open[-1] if self._open else ("", None)
        if identifier:
            self.text_of[identifier] = self.text_of.get(identifier, "") + data
        if tag == "script":
            self.scripts[-1] += data
        if tag == "style":
            self.styles[-1] += data


def headline(entry: Result) -> ScoreNumbers:
    """What an entry of a summary's `results` says of the score that leads."""
    return entry.headline_numbers


def report_on(results: Results, language: str = "en", *, analyses: bool = False) -> Report:
    summary = (summary_of if analyses else summarise)(results)
    folder = Path(results.directory) / "report"
    write_report(results, summary, folder, language=language)
    return Report(results, summary, folder)


# -- in a browser --


def ids(tab: Any) -> list[str]:
    """The samples whose cards are there."""
    samples: list[str] = tab.locator(".card .id").all_text_contents()
    return samples


def show(tab: Any, kind: str) -> None:
    """Presses a chip above the gallery."""
    tab.click(f"#chips [value={kind}] + span")


def link_to(report: Report, place: int) -> str:
    """The end of the address that opens the sample at that place."""
    return f"#sample={quote(report.results.samples[place].id, safe='')}"
