"""The documentation as a site: `make docs` writes it to build/site, where it needs neither a network nor a server."""

from __future__ import annotations

import re
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.search import SearchLanguage, languages
from sphinx.search.en import SearchEnglish

REPOSITORY = Path(__file__).parent.parent

project = "edit-eval"
release = version = installed("edit-eval")
html_title = f"edit-eval {version}"
copyright = "the authors of edit-eval, Apache-2.0"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["conf.py"]
nitpicky = True
suppress_warnings = ["config.cache"]  # the class of the search below is part of the configuration

myst_heading_anchors = 4  # the anchors that GitHub makes, too
myst_links_external_new_tab = False

html_theme = "furo"
html_static_path = ["images"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
html_search_language = "en_zh"
pygments_style, pygments_dark_style = "friendly", "github-dark"

HAN = r"\u3400-\u4dbf\u4e00-\u9fff"


class EnglishAndChinese(SearchEnglish):
    """Words as in English; Chinese, which has no spaces, by every two neighbouring characters.

    The page cuts what is looked for in the same way, so a phrase of any length is found, without a dictionary.
    """

    lang, language_name = "en_zh", "English"  # the stemmer of that name
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u3400-\u4dbf\u4e00-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) || []).flatMap((part) =>
    /^[\u3400-\u9fff]{2,}$/.test(part) ? [...part].slice(1).map((letter, i) => part[i] + letter) : [part]);
"""

    def split(self, input: str) -> list[str]:
        found = []
        for part in re.findall(rf"[{HAN}]+|[^\W{HAN}]+", input):
            pairs = [part[i : i + 2] for i in range(len(part) - 1)] if re.match(rf"[{HAN}]{{2}}", part) else [part]
            found += pairs
        return found

    def word_filter(self, word: str) -> bool:
        return bool(re.match(f"[{HAN}]", word)) or super().word_filter(word)


def as_on_the_site(app: Sphinx, document: str, source: list[str]) -> None:
    """Links that lead out of `docs/` are the checkout's: the site has no copy, so here such a file is only named."""
    elsewhere = r"(?:configs|examples|src|bench|tests|README|SECURITY)\b[^)]*"
    source[0] = re.sub(rf"\[([^\]]*)\]\((?:\.\./)+({elsewhere})\)", outside, source[0])


def outside(link: re.Match[str]) -> str:
    words, path = link[1].strip("`"), link[2].partition("#")[0]
    if not (REPOSITORY / path).exists():
        raise FileNotFoundError(f"a page of docs/ links to {path}, which is not there")
    return f"`{path}`" if words.rstrip("/") in path else f"{words} (`{path}` in a checkout)"


def setup(app: Sphinx) -> dict[str, Any]:
    language: type[SearchLanguage] = EnglishAndChinese
    languages["en_zh"] = language
    app.connect("source-read", as_on_the_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
