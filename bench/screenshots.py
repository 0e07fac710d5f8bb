"""Takes the pictures of the guides, each in English and in Chinese, of what the guide's own commands have made.

    python bench/screenshots.py [GUIDE...] [--language en] [--again]

A guide is followed in build/guides/LANGUAGE/GUIDE, unless that has been done before (`--again` does it anew), so no
picture shows what a reader would not get. Pictures are written to docs/images and docs/images/zh. Needs Playwright
and Chromium (Debian: `apt-get install chromium fonts-noto-cjk fonts-inter`). Exits with 1 if a page logged an error or
asked anything of another machine.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from markupsafe import escape
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, FloatRect, Locator, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from closed_providers import Providers  # noqa: E402
from documented_blocks import DOCS, blocks, done, follow  # noqa: E402
from edit_eval import compare  # noqa: E402
from edit_eval.plugins.closed_models.in_worker.providers import PROVIDERS  # noqa: E402
from edit_eval.reporting.language import translate  # noqa: E402
from edit_eval.reporting.verdict import answer_lines  # noqa: E402
from edit_eval.reporting.verdict_drawing import draw_verdict  # noqa: E402

WIDEST = 1280
"""Pixels of a picture."""
MARGIN = 16


def nothing(tab: Page) -> None:
    """The page as it opens."""


@dataclass(frozen=True)
class Picture:
    """What is to be seen of a guide."""

    page: str
    """A page below the folder in which the guide was followed."""
    parts: tuple[str, ...] = ()
    """Selectors: the smallest rectangle that holds all of them is cut out; empty for the window."""
    steps: Callable[[Page], None] = nothing
    commands: tuple[str, ...] = ()
    """Typed when the guide's own have been."""
    prepare: Callable[[Path, Mapping[str, str]], None] | None = None
    """Called in place of following the guide, with the folder and the environment."""
    server: Callable[[Path, Mapping[str, str]], AbstractContextManager[str]] | None = None
    """A context whose value is the address of a server to look at."""
    where: str = ""
    """Another picture, whose folder this one is taken in."""
    width: int = 1024
    height: int = 800
    """Of the window, in CSS pixels."""


def worst_beside_other(tab: Page) -> None:
    """The worst edit of the first model, beside that of the second."""
    model = tab.locator("[name=edit_model] option").nth(1).get_attribute("value")
    tab.select_option("[name=edit_model]", model)
    tab.click("#chips [value=worst] + span")
    tab.locator(".card .instruction a").first.click()
    tab.keyboard.press("Shift+1")
    tab.keyboard.press("2")
    tab.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.dataset.whole)")
    tab.mouse.move(0, 0)


def service(tab: Page) -> None:
    """The page of a service, once its newest edits are there."""
    tab.locator(".latest figure:nth-child(5)").wait_for()


def with_stub_providers(folder: Path, environment: Mapping[str, str]) -> None:
    """Types the commands of docs/closed-models.md against stubs of the providers, which charge by our tables."""
    for index in range(8):
        for kind in ("photos", "ours"):
            (folder / kind).mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), (30 * index, 90, len(kind))).save(folder / kind / f"p{index}.png")
        (folder / "photos" / f"p{index}.txt").write_text(f"make it {index}")
    (typed,) = [block for block in blocks(DOCS / "closed-models.md") if block.language == "sh"]
    keys = {provider.key: f"key-of-{name}" for name, provider in PROVIDERS.items()}
    with Providers() as providers:
        addresses = {f"{name}_BASE_URL".upper(): providers.address(name) for name in ("gemini", "openai")}
        for line in typed.text.splitlines():
            done(["bash", "-c", line], 0, folder, {**environment, **keys, **addresses})


def a_rehearsal(folder: Path, environment: Mapping[str, str]) -> None:
    """What docs/before-the-night.md has a reader type last, as a terminal shows it, in each language."""
    for language in ("en", "zh"):
        spoken = {**environment, "EDIT_EVAL_LANG": language, "COLUMNS": "100"}
        command = ["edit-eval", "rehearse", "demo", "--faults"]
        told = subprocess.run(command, cwd=folder, env=spoken, capture_output=True, text=True, check=True).stdout
        (folder / f"rehearsal-{language}.html").write_text(f"{HEAD}<pre>{escape(told)}</pre>")


def two_editors(folder: Path, environment: Mapping[str, str]) -> None:
    """The configurations of two runs, each with an editor of its own."""
    for name, steps in (("mine", 4), ("theirs", 1)):
        (folder / f"{name}.yaml").write_text(
            "extends: demo\nedit_models:\n  "
            f'{name}: {{type: scene_editor, params: {{steps: {steps}, device_ids: "cpu:1"}}}}\n'
        )


def a_bridge(folder: Path, environment: Mapping[str, str]) -> None:
    """Three edit models by two judges, the newer one of which is stricter: what docs/bridge.md has one judge, and then
    nobody, know."""
    (folder / "strict.py").write_text(STRICT)
    (folder / "bridge.yaml").write_text(BRIDGE)
    done(["bash", "-c", "edit-eval run bridge.yaml --run-dir runs/bridge"], 0, folder, environment)


STRICT = """
from edit_eval.plugins.scenes.in_worker.judge import SceneJudge


class Strict(SceneJudge):
    def judge(self, requests):
        said = super().judge(requests)
        return [f"Score: {float(text.split()[-1]) ** 2 / 10:.3f}" for text in said]
"""
BRIDGE = """
benchmark: {type: scenes, count: 30, size: 256}
edit_models:
  weak: {type: scene_editor, params: {steps: 1, device_ids: "cpu:1"}}
  middling: {type: scene_editor, params: {steps: 2, device_ids: "cpu:1"}}
  strong: {type: scene_editor, params: {steps: 4, device_ids: "cpu:1"}}
judges:
  old: {type: scene_judge, params: {device_ids: "cpu:1"}}
  new: {class_path: "strict.py:Strict", params: {device_ids: "cpu:1"}}
"""


def a_gate(folder: Path, environment: Mapping[str, str]) -> None:
    """An editor that takes three strokes in place of four, before the gate of docs/gate.md; its verdict as drawings."""
    for name, steps in (("baseline", 4), ("candidate", 3)):
        (folder / f"{name}.yaml").write_text(
            "benchmark: {type: scenes, count: 120, size: 128}\n"
            f'edit_models: {{editor: {{type: scene_editor, params: {{steps: {steps}, device_ids: "cpu:1"}}}}}}\n'
            'judges: {scene_judge: {type: scene_judge, params: {device_ids: "cpu:1"}}}\n'
        )
    done(
        ["bash", "-c", f"edit-eval gate baseline.yaml candidate.yaml --margin {MARGIN_OF_GATE} || [ $? = 3 ]"],
        0,
        folder,
        environment,
    )
    compared = compare([folder / "runs/gate/baseline", folder / "runs/gate/candidate"], margin=MARGIN_OF_GATE)
    assert compared.verdict is not None
    (opinion,) = compared.verdict.opinions
    for language in ("en", "zh"):
        words = "".join(f"<p>{escape(translate(line, language))}</p>" for line in answer_lines(compared.verdict))
        drawn = draw_verdict(opinion, 2, language, standalone=True)
        (folder / f"gate-{language}.html").write_text(f"{HEAD}{words}{drawn}")


HEAD = (
    "<!doctype html><meta charset='utf-8'><style>body {font: 20px Inter, 'Noto Sans CJK SC', sans-serif} "
    "pre {font: 15px 'Noto Sans Mono CJK SC', monospace; width: max-content}</style><body>"
)
MARGIN_OF_GATE = 0.5


@contextmanager
def a_service(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A service that has judged some edits, seen in `edit-eval view`; its address there."""
    (folder / "judge.yaml").write_text(
        "benchmark: scenes\nedit_models: {scene_editor: {type: scene_editor}}\n"
        'judges: {restraint: {class_path: "restraint.py:Restraint", params: {device_ids: "cpu:1"}}}\n'
        "protocol: {general: true}\n"
    )
    (judge,) = [block.text for block in blocks(DOCS / "your-judge.md") if block.file == "my_judge.py"]
    (folder / "restraint.py").write_text(judge)
    with ExitStack() as stack:
        serve = "edit-eval serve judge.yaml --port 0 --ledger runs/rewards --window 0"
        address = stack.enter_context(_started(serve, folder, environment))
        for index in range(12):
            body = json.dumps({"pairs": [_drawn_pair(index)]}).encode()
            with urllib.request.urlopen(f"{address}/v1/score", data=body, timeout=60) as answer:
                answer.read()
        yield stack.enter_context(_started("edit-eval view runs/rewards --port 0", folder, environment))


def _drawn_pair(index: int) -> dict[str, str]:
    pictures = []
    for colour in ("grey", f"hsl({30 * index}, 70%, 50%)"):
        picture = Image.new("RGB", (240, 160), (40 + 12 * index, 110, 130))
        ImageDraw.Draw(picture).ellipse((70 + 3 * index, 30, 170 + 3 * index, 130), fill=colour)
        data = io.BytesIO()
        picture.save(data, "PNG")
        pictures.append(base64.b64encode(data.getvalue()).decode())
    return {"source": pictures[0], "edit": pictures[1], "instruction": "Paint the disc.", "id": f"step 3, {index}"}


@contextmanager
def _started(command: str, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A server, until the context is left; its address, which it prints."""
    with (folder / f"{command.split()[1]}.log").open("w") as log:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=folder, env=dict(environment), stdout=log, stderr=log
        )
        try:
            end = time.monotonic() + 120
            while not (match := re.search(r"http://[\w.]+:\d+(?:/run/\w+)?", Path(log.name).read_text())):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{command}: {Path(log.name).read_text()}")
                time.sleep(0.2)
            yield match[0]
        finally:
            process.terminate()
            process.wait(60)


PAIRS = f"edit-eval run {ROOT / 'bench/pairs.yaml'} --run-dir runs/pairs"
DEMO = "edit-eval demo --run-dir runs/demo"
CLOSE = "".join(
    f" --set edit_models.{name}.params.skill={skill} --set edit_models.{name}.params.seed={seed}"
    for name, skill, seed in (("careful", 0.6, 0), ("middling", 0.5, 1000), ("careless", 0.4, 2000))
)
"""Editors between whom not every battle ends alike."""
EXAMPLE = f"ln -s {ROOT / 'examples'} examples; edit-eval run examples/pairwise.yaml{CLOSE} --run-dir runs/pairwise"
FOUR = "edit-eval run demo --devices cpu:4 --run-dir runs/four"
STAND_IN = "edit-eval run careful.yaml --set 'judges={stand_in: {type: testing, params: {device_ids: \"cpu:1\"}}}'"
TWO = [f"edit-eval run {name}.yaml --run-dir runs/{name}" for name in ("mine", "theirs")]
PICTURES = {
    "report": Picture("runs/demo/report/index.html", ("#verdict",), commands=(DEMO, PAIRS)),
    "reading-a-report": Picture("runs/reading/report/index.html", ("#verdict",)),
    "tutorial": Picture("runs/balls/report/index.html", ("#verdict",)),
    "viewing": Picture("runs/pairs/report/index.html", (), worst_beside_other, where="report", height=735),
    "your-benchmark": Picture("runs/discs-run/report/index.html", ("#gallery h2", "#cards")),
    "your-model": Picture("runs/have/report/index.html", ("#gallery h2", "#cards")),
    "your-judge": Picture("runs/restraint/report/index.html", ("#verdict",)),
    "your-protocol": Picture(
        "runs/careful/report/index.html", ("#results",), commands=(f"{STAND_IN} --run-dir runs/careful",), width=1280
    ),
    "before-the-night": Picture("rehearsal-LANGUAGE.html", ("pre",), prepare=a_rehearsal),
    "costs": Picture("runs/pilot/report/index.html", ("#time > h2", ".chart-timeline", ".chart-utilisation")),
    "pairwise": Picture("runs/pairwise/report/index.html", ("#verdict",), commands=(EXAMPLE,)),
    "best-of-n": Picture("runs/best/report/index.html", ("#best-of > h2", ".chart-best-of")),
    "training-data": Picture("runs/both/report/index.html", ("#slices > h2", ".chart-slices")),
    "sharing": Picture(
        "board/index.html",
        ("main",),
        commands=(*TWO, "edit-eval leaderboard runs/mine runs/theirs --to board"),
        prepare=two_editors,
    ),
    "serving": Picture("", ("#live",), service, prepare=lambda folder, environment: None, server=a_service, height=700),
    "closed-models": Picture("runs/all/report/index.html", ("#costs",), prepare=with_stub_providers),
    "gate": Picture("gate-LANGUAGE.html", ("p", "svg"), prepare=a_gate),
    "bridge": Picture("runs/bridge/report/index.html", (".chart-agreement",), prepare=a_bridge),
    "clusters": Picture(
        "runs/four/report/index.html", (".chart-timeline",), prepare=lambda folder, environment: None, commands=(FOUR,)
    ),
}
"""By guide. `report` is the first picture of the READMEs."""


def environment(folder: Path) -> dict[str, str]:
    """A reader's, with a cache of its own: what an audit found elsewhere is not known here."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "HF_HUB_OFFLINE": "1",
        "EDIT_EVAL_LANG": "en",
        "COLUMNS": "80",
    }


def made(name: str, again: bool) -> Path:
    """Follows a guide and returns the folder in which that was done."""
    picture = PICTURES[name]
    folder = ROOT / "build" / "guides" / (picture.where or name)
    marker = folder / ".followed"
    if picture.where or (marker.exists() and not again):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    if picture.prepare:
        picture.prepare(folder, environment(folder))
    elif (page := DOCS / f"{name}.md").exists():
        follow(page, folder, environment(folder))
    for command in picture.commands:
        done(["bash", "-c", command], 0, folder, environment(folder))
    marker.touch()
    return folder


def take(browser: Browser, picture: Picture, language: str, address: str, to: Path) -> list[str]:
    """Takes one picture; returns what the page logged, and what it asked of other machines."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="light",
        device_scale_factor=WIDEST / picture.width,
        reduced_motion="reduce",
        locale={"en": "en-GB", "zh": "zh-CN"}[language],
    )
    tab = context.new_page()
    faults: list[str] = []
    here = ("file:", "data:", "blob:", "http://127.0.0.1:", "http://localhost:")
    tab.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("request", lambda made: None if made.url.startswith(here) else faults.append(made.url))
    tab.goto(address.replace("LANGUAGE", language))
    if tab.locator("#language").count():
        tab.click(f"#language button[value={language}]")
    for figure in filter(Locator.is_visible, tab.locator("[data-chart]").all()):  # drawn when near the window
        figure.evaluate("(one) => one.scrollIntoView({ behavior: 'instant' })")
        figure.locator(".chart-body svg, .chart-body canvas").first.wait_for()
    tab.evaluate("() => scrollTo(0, 0)")
    picture.steps(tab)
    tab.wait_for_timeout(500)  # until pictures are decoded
    shot = tab.screenshot(full_page=True, clip=rectangle(tab, picture)) if picture.parts else tab.screenshot()
    to.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(shot)).convert("RGB").save(to, quality=82, method=6)
    context.close()
    return [f"{to}: {fault}" for fault in faults]


def rectangle(tab: Page, picture: Picture) -> FloatRect:
    """What is cut out of the whole page, in CSS pixels."""
    boxes = [box for part in picture.parts for element in tab.locator(part).all() if (box := element.bounding_box())]
    left = max(0, min(box["x"] for box in boxes) - MARGIN)
    top = min(box["y"] for box in boxes)
    right = min(picture.width, max(box["x"] + box["width"] for box in boxes) + MARGIN)
    bottom = max(box["y"] + box["height"] for box in boxes) + MARGIN / 2
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guides", nargs="*", metavar="GUIDE", help=f"only these of {', '.join(PICTURES)}")
    parser.add_argument("--language", choices=("en", "zh"), help="only this one")
    parser.add_argument("--again", action="store_true", help="follow guides that were followed before")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("Chromium is not installed", file=sys.stderr)
        return 2
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in arguments.guides or PICTURES:
            picture, folder = PICTURES[name], made(name, arguments.again)
            with ExitStack() as stack:
                server = stack.enter_context(picture.server(folder, environment(folder))) if picture.server else ""
                address = server or (folder / picture.page).as_uri()
                for language in (arguments.language,) if arguments.language else ("en", "zh"):
                    if language == "zh" and not (name == "report" or (DOCS / "zh" / f"{name}.md").exists()):
                        continue  # no Chinese page to show it
                    to = DOCS / "images" / ("zh" if language == "zh" else "") / f"{name}.webp"
                    faults += take(browser, picture, language, address, to)
        browser.close()
    print("\n".join(faults), end="", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
