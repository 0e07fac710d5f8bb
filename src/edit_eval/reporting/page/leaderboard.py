"""A leaderboard as files: a page, Markdown, JSON, or a folder with all three, whose Markdown is a card for the Hub."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml
from markupsafe import Markup

from edit_eval.errors import ConfigurationError
from edit_eval.new_files import refuse_existing, written_whole
from edit_eval.reporting.language import said
from edit_eval.reporting.leaderboard import TITLE, leaderboard_sheet
from edit_eval.reporting.page.html import page_sheet
from edit_eval.reporting.page.page import asset, digest_of
from edit_eval.reporting.page.rendering import template_environment
from edit_eval.reporting.table import markdown_sheet
from edit_eval.reporting.terminal_text import readable
from edit_eval.store.leaderboard import Leaderboard
from edit_eval.text import Text


def write_leaderboard(board: Leaderboard, target: Path, *, language: str, force: bool) -> None:
    """Writes FILE.html, FILE.md or FILE.json, or a folder with all three that can be pushed to the Hub as a data set.

    Raises `ConfigurationError` for any other ending, an existing file without `force`, or a file that cannot be
    written.
    """
    if target.suffix and target.suffix not in _DRAWN:
        raise ConfigurationError(Text("--out {}: name a folder, or a file that ends in {: or }", target, list(_DRAWN)))
    files = {target: _DRAWN[target.suffix](board, language)} if target.suffix else _folder(board, target, language)
    for file in files:
        refuse_existing(file, force=force)
    for file, text in files.items():
        with written_whole(file) as written:
            written.write_text(text, "utf-8")


def _folder(board: Leaderboard, folder: Path, language: str) -> dict[Path, str]:
    front = {"pretty_name": "Leaderboard", "license": "unknown", "tags": ["edit-eval", "image-editing", "leaderboard"]}
    card = f"---\n{yaml.safe_dump(front, sort_keys=False).rstrip()}\n---\n\n{_markdown(board, 'en')}"
    page = _page(board, language)
    return {folder / "README.md": card, folder / "index.html": page, folder / "leaderboard.json": _plain(board, "")}


def _page(board: Leaderboard, language: str) -> str:
    style = "\n".join(asset(name) for name in ("page.css", "audit.css"))
    made: str = (
        template_environment(autoescape=True, language=language)
        .get_template("leaderboard.html.j2")
        .render(
            language=language,
            title=said(TITLE, language),
            style=Markup(style),
            policy=f"default-src 'none'; style-src {digest_of(style)}",
            sheet=page_sheet(leaderboard_sheet(board), language),
        )
    )
    return made


def _markdown(board: Leaderboard, language: str) -> str:
    return f"# {said(TITLE, language)}\n\n{markdown_sheet(leaderboard_sheet(board), language)}\n"


def _plain(board: Leaderboard, language: str) -> str:
    return json.dumps(readable(board.document()), ensure_ascii=False, indent=1) + "\n"


_DRAWN: Mapping[str, Callable[[Leaderboard, str], str]] = {".html": _page, ".md": _markdown, ".json": _plain}
