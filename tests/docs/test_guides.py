"""What the guides tell a reader to type is typed: quick checks of each block; the whole of each page by `make docs`."""

from __future__ import annotations

import functools
import os
import re
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml

from documented_blocks import DOCS, Block, blocks, commands, done, follow, hold, number_of_words, write
from edit_eval import cli
from edit_eval.config.loading import load_configuration
from edit_eval.verbs.command_line import command_of
from installed_packages import install, with_pip

ROOT = DOCS.parent
RUN = ("sh", "python", "yaml")
OWN_TESTS = {"models-and-judges.md", "python.md", "configuration.md", "trust.md", "benchmarks.md", "clusters.md"}
WITH_WEIGHTS = {"your-protocol.md"}
"""Pages whose judge needs weights: `test_your_protocol.py` types them with tiny ones."""
WITH_SERVERS = {"gate.md"}
"""Pages whose servers `test_gate.py` starts."""
"""Pages of reference, whose blocks have tests of their own."""
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = sorted(path for path in DOCS.rglob("*.md"))
GUIDES = [
    page
    for page in PAGES
    if page.name not in {*OWN_TESTS, *WITH_WEIGHTS, *WITH_SERVERS} and any(b.language in RUN for b in blocks(page))
]
TRANSLATED = sorted((DOCS / "zh").glob("*.md"))
CONFIGURED = [*GUIDES, *READMES, *(DOCS / name for name in sorted(WITH_WEIGHTS | WITH_SERVERS))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def goes_on(page: Path) -> bool:
    """True for the details of a guide."""
    return page.stem.endswith("-details")


def to_type(page: Path) -> bool:
    """True if a page, or its details, has a command or a program that is typed."""
    both = [path for path in (page, page.with_name(f"{page.stem}-details.md")) if path.exists()]
    return any(b.language in ("sh", "python") and not b.not_run and not b.file for path in both for b in blocks(path))


def has_a_package(page: Path) -> bool:
    """True if a page has its reader make a package, and install it."""
    return any(block.file == "pyproject.toml" for block in blocks(page))


@functools.cache
def flags() -> dict[str, set[str]]:
    """The flags of every verb, those of a group as `group verb`."""
    by_verb: dict[str, set[str]] = {}
    for name, verb in command_of(cli.app).commands.items():
        inner: dict[str, Any] = getattr(verb, "commands", None) or {"": verb}
        for sub, command in inner.items():
            by_verb[f"{name} {sub}".strip()] = {"--help", "-h", *(flag for p in command.params for flag in p.opts)}
    return by_verb


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=named)
def test_every_command_has_a_verb_and_flags_that_there_are(page: Path) -> None:
    known, text = flags(), page.read_text("utf-8")
    of_its_package = re.findall(r'^"(?:analysis|verb)\.([\w-]+)" = ', text, re.M)
    for command in commands(text):
        words = command.split()[1:]
        if words[0].startswith("--") or words[0] in of_its_package:
            continue
        verb = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        assert verb in known, command
        asked = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert asked <= known[verb], f"{command}: {asked - known[verb]}"


def test_the_page_of_commands_has_them_all() -> None:
    page = (DOCS / "commands.md").read_text("utf-8")
    assert not [verb for verb in flags() if not re.search(rf"`{verb}[ `]", page)]


@pytest.mark.parametrize("page", CONFIGURED, ids=named)
def test_every_configuration_of_a_guide_loads(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("image,prompt\na.png,Make it red.\n")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page):
        if block.file:
            write(block, tmp_path)
    if has_a_package(page):
        install(tmp_path, site := tmp_path_factory.mktemp("site"))
        monkeypatch.syspath_prepend(str(site))
    for block in blocks(page):
        if block.language == "yaml" and not block.not_run:
            assert block.file, f"what file is this?\n{block.text}"
            load_configuration(tmp_path / block.file, data_may_be_missing=True)


def test_every_configuration_of_the_benchmarks_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block shows what matters; what it leaves out is filled in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("image,prompt,mine,other\na.png,Make it red.,b.png,c.png\n")
    rest = {"benchmark": "gedit", "diffusion_model": {"type": "testing"}, "reward_model": {"type": "testing"}}
    several = {"edit_models": "diffusion_model", "judges": "reward_model"}
    shown = [yaml.safe_load(block.text) for block in blocks(DOCS / "benchmarks.md") if block.language == "yaml"]
    assert len(shown) >= 5
    for written in shown:
        given = {several.get(key, key) for key in written}
        missing = {key: value for key, value in rest.items() if key not in given}
        (tmp_path / "shown.yaml").write_text(yaml.safe_dump(written | missing), "utf-8")
        load_configuration(tmp_path / "shown.yaml", data_may_be_missing=True)


@pytest.mark.parametrize("page", GUIDES, ids=named)
def test_what_is_not_run_says_why(page: Path) -> None:
    for block in blocks(page):
        assert block.language in (*RUN, "text", "json", "toml", "bash", ""), block
        assert block.language != "bash", "a block that is typed is `sh`"
        assert block.not_run or block.language != "python" or compile(block.text, str(page), "exec")


MOST_WORDS = 700
"""Of a guide; what does not fit is for its page of details, or for a page of reference."""


def shown_first() -> list[Path]:
    """The guides: what the READMEs lead to below "Where to go next"; what is to be looked up has its own table."""
    guides = []
    for readme, heading in zip(READMES, ("Where to go next", "接下来读什么"), strict=True):
        section = re.search(rf"^## {heading}\n(.*?)^#", readme.read_text("utf-8"), re.M | re.S)
        assert section, heading
        guides += [ROOT / path for path in re.findall(r"\]\((docs/[\w/-]+\.md)", section[1])]
    return sorted(set(guides))


@pytest.mark.parametrize("page", [page for page in PAGES if has_a_package(page)], ids=named)
def test_a_page_about_a_package_is_short(page: Path) -> None:
    assert number_of_words(page) <= MOST_WORDS


@pytest.mark.parametrize("page", shown_first(), ids=named)
def test_a_guide_is_short_and_has_one_picture(page: Path) -> None:
    assert number_of_words(page) <= MOST_WORDS
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text("utf-8"))
    assert (page.parent / picture).exists()


def test_how_words_are_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n\nTwo `words` [here](x.md).\n\n| a | row |\n\n    a command\n\n```sh\na block\n```\n\n四个汉字。\n",
        "utf-8",
    )
    assert number_of_words(page) == 2 + 3 + 2


def bare(block: Block) -> str:
    """A block without comments and docstrings: what a translation leaves as it is. Output is in its own language."""
    return "" if block.language == "text" else re.sub(r" *#(?! exit code).*|\"{3}.*?\"{3}", "", block.text)


@pytest.mark.parametrize("page", TRANSLATED, ids=named)
def test_a_translation_has_the_sections_and_blocks_of_its_original(page: Path) -> None:
    original = DOCS / page.name
    both = [[(b.language, b.file, bool(b.not_run), bare(b)) for b in blocks(path)] for path in (page, original)]
    assert both[0] == both[1]
    output = [block.text for block in blocks(page) if block.language == "text"]
    assert all(re.search("[\u4e00-\u9fff]", text) for text in output), "it shows what a reader of Chinese sees"
    headings = [re.findall(r"^(#+) ", path.read_text("utf-8"), re.M) for path in (page, original)]
    assert headings[0] == headings[1]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A reader's of English: a terminal of 80 columns, without keys and without a cache."""
    return {
        **{name: value for name, value in os.environ.items() if not re.search("KEY|TOKEN", name)},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "EDIT_EVAL_LANG": "en",
        "COLUMNS": "80",
    }


@pytest.mark.docs
@pytest.mark.parametrize("page", [page for page in GUIDES if not goes_on(page) and to_type(page)], ids=named)
def test_a_guide_does_what_it_says(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """In the language that it is written in; its details go on where it ends."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    language = {"EDIT_EVAL_LANG": "zh" if page in TRANSLATED else "en"}
    if has_a_package(page):
        environment = with_pip(tmp_path, environment)
    follow(page, folder, environment | language)
    details = page.with_name(f"{page.stem}-details.md")
    if details.exists():
        follow(details, folder, environment | language)


@pytest.mark.docs
def test_six_commands_go_from_ten_pictures_to_a_compiled_table(tmp_path: Path, environment: dict[str, str]) -> None:
    page = DOCS / "tutorial.md"
    for block in blocks(page):
        if block.file in ("draw.py", "stand_ins.py"):
            (tmp_path / block.file).write_text(block.text, "utf-8")
    listed = re.search(r"(?:^ {4}.*\n)+", page.read_text("utf-8"), re.M)
    assert listed
    install, *others = listed[0].replace("\\\n", " ").splitlines()
    assert install.split()[:2] == ["pip", "install"], "that is what made this environment"
    assert len(others) == 5
    if not which("latexmk"):
        others.pop()
    for command in others:
        done(["bash", "-c", command.strip()], 0, tmp_path, environment)
    assert r"\textbf{8.01}" in (tmp_path / "paper/table.tex").read_text("utf-8")
    assert (tmp_path / "paper/paper.pdf").exists() == bool(which("latexmk"))


@pytest.mark.docs
def test_the_readmes_show_what_the_demo_prints(tmp_path: Path, environment: dict[str, str]) -> None:
    for page, language in zip(READMES, ("en", "zh"), strict=True):
        printed = done(["edit-eval", "demo"], 0, tmp_path, environment | {"EDIT_EVAL_LANG": language})
        (shown,) = [block.text for block in blocks(page) if block.language == "text"]
        hold(shown, printed, page.name)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", READMES, ids=named)
def test_a_readme_leads_to_what_there_is(page: Path) -> None:
    """The site's own links are checked where it is built."""
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        file = ROOT / path if path else page
        assert file.exists(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.M) if anchor else []
        assert not anchor or anchor in map(slug, headings), target
