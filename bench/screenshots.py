"""Takes screenshots of a report for the documentation: `python bench/screenshots.py runs/NAME docs/images`.

Needs Playwright and Chromium (Debian: `apt-get install chromium fonts-noto-cjk fonts-inter`). Exits with 1 if the page
logged an error or requested anything but files.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

VIEWS = {
    "report-top": {"size": (1360, 1000)},
    "report-gallery": {"size": (1360, 1000), "section": "#gallery"},
    "report-time": {"size": (1360, 1000), "section": "#time"},
    "report-detail": {"size": (1360, 900), "detail": True},
    "report-dark-chinese": {"size": (1360, 1000), "dark": True, "language": "zh"},
    "report-detail-dark-chinese": {"size": (1360, 900), "dark": True, "language": "zh", "detail": True},
    "reading-top": {"size": (1360, 1200)},
    "reading-top-chinese": {"size": (1360, 1200), "language": "zh"},
    "pairs-worst": {"size": (1360, 760), "steps": 2, "section": "#gallery"},
    "pairs-beside": {"size": (1360, 860), "steps": 4},
    "pairs-zoomed": {"size": (1360, 860), "steps": 6},
    "report-narrow": {"size": (390, 844), "section": "#gallery"},
}


def steps(tab: Page) -> list:
    """Steps to the worst edit of the page's first model, enlarged beside that of the second."""
    model = tab.locator("[name=edit_model] option").nth(1).get_attribute("value")
    return [
        lambda: tab.select_option("[name=edit_model]", model),
        lambda: tab.select_option("[name=sort]", "worst"),
        lambda: tab.locator(".card .instruction a").first.click(),
        lambda: [tab.keyboard.press("Shift+1"), tab.keyboard.press("2")],
        lambda: tab.keyboard.press("z"),
        lambda: [tab.keyboard.press("+") for _ in range(4)],
    ]


def take(browser: Browser, page: Path, folder: Path, name: str, view: dict) -> list[str]:
    """Takes one screenshot; returns the page's errors."""
    width, height = view["size"]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if view.get("dark") else "light",
        device_scale_factor=1.5,
        reduced_motion="reduce",
    )
    tab = context.new_page()
    faults: list[str] = []
    tab.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("request", lambda made: None if made.url.startswith(("file:", "data:")) else faults.append(made.url))
    tab.goto(page.as_uri())
    arrange(tab, view)
    picture = Image.open(io.BytesIO(tab.screenshot()))
    picture.convert("RGB").save(folder / f"{name}.webp", quality=88, method=6)
    context.close()
    return [f"{name}: {fault}" for fault in faults]


def arrange(tab: Page, view: dict) -> None:
    """Brings the page into the state to show."""
    if "language" in view:
        tab.click(f"#language button[value={view['language']}]")
    for figure in tab.locator("[data-chart]").all():  # charts are drawn when near the window
        figure.evaluate("(one) => one.scrollIntoView({ behavior: 'instant' })")
        figure.locator(".chart-body svg, .chart-body canvas").first.wait_for()
    for step in steps(tab)[: view.get("steps", 0)]:
        step()
    if view.get("steps", 0) > 2:
        tab.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.dataset.whole)")
        tab.mouse.move(0, 0)
    elif view.get("detail"):
        tab.locator(".card .instruction a").nth(1).click()
        tab.mouse.move(0, 0)
    else:
        section = view.get("section", "body")
        tab.evaluate("(section) => document.querySelector(section).scrollIntoView()", section)
    tab.wait_for_timeout(500)  # until pictures are decoded


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run directory with a report")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--only", nargs="*", choices=VIEWS, help="only these views")
    arguments = parser.parse_args()
    page = (arguments.run / "report" / "index.html").absolute()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not page.is_file() or chromium is None:
        print(f"{page}: no report there" if chromium else "Chromium is not installed", file=sys.stderr)
        return 2
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        views = {name: view for name, view in VIEWS.items() if not arguments.only or name in arguments.only}
        faults = [fault for name, view in views.items() for fault in take(browser, page, arguments.folder, name, view)]
        browser.close()
    print("\n".join(faults), end="", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
