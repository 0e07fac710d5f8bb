import base64
import hashlib
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from edit_eval.records import Status
from edit_eval.reporting.language import catalogue
from edit_eval.reporting.page.files import markdown, write_report
from edit_eval.reporting.page.page import page
from reporting.reported_runs import HOSTILE, build_run
from reporting.reports import Elements, Report, headline, report_on

REPORTS = ["complete", "incomplete", "several", "hostile"]


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Report:
    return request.getfixturevalue(request.param)


def test_nothing_is_fetched_from_anywhere(report: Report) -> None:
    page = Elements(report.html)
    addresses = [
        value
        for _, attributes in page.all
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data", "srcset", "poster", "formaction")
    ]
    assert addresses
    beside = r"#[\w=&%+.*~-]+|summary\.json|scores\.csv|replies\.jsonl|report\.md"
    assert [one for one in addresses if not re.fullmatch(beside, one or "")] == []
    assert not {"link", "iframe", "object", "embed", "base", "img"} & {tag for tag, _ in page.all}
    assert "url(" not in "".join(page.styles)
    assert "@import" not in "".join(page.styles)


def test_the_policy_allows_the_scripts_of_the_page_and_no_others(report: Report) -> None:
    page = Elements(report.html)
    policy = next(
        attributes["content"]
        for tag, attributes in page.all
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    scripts = [text for text, kind in zip(page.scripts, script_types(page), strict=True) if kind is None]
    assert rules["script-src"].split() == [digest(text) for text in scripts]
    assert rules["style-src"].split() == [digest(text) for text in page.styles]


def script_types(page: Elements) -> list[str | None]:
    return [attributes.get("type") for tag, attributes in page.all if tag == "script"]


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_scripts_are_the_same_whatever_the_data(complete: Report, hostile: Report) -> None:
    def code(report: Report) -> list[str]:
        page = Elements(report.html)
        return [text for text, kind in zip(page.scripts, script_types(page), strict=True) if kind is None]

    assert code(complete) == code(hostile)


def test_the_data_is_one_json_that_parses_back(report: Report) -> None:
    page = Elements(report.html)
    assert script_types(page).count("application/json") == 1
    text = page.text_of["data"]
    assert "<" not in text
    assert text.isascii()
    data = json.loads(text)
    assert [sample["id"] for sample in data["samples"]] == [sample.id for sample in report.results.samples]
    assert set(data["titles"]) == set(data["charts"]) == {"en", "zh"}
    assert data["chinese"]["Edit of {} by {}"] == catalogue()["Edit of {} by {}"]


def test_what_a_reader_needs_first_comes_first(several: Report) -> None:
    """Numbers, data, the scripts that make the cards; only then Vega and tens of megabytes of thumbnails."""
    marks = ("<table>", 'id="data">', "startGallery();", "window.vegaEmbed", 'id="thumbnail-0"')
    places = [several.html.index(mark) for mark in marks]
    assert places == sorted(places)


def test_thumbnails_are_pictures_at_the_places_the_samples_name(several: Report) -> None:
    data = several.data
    pictures = [sample["source"] for sample in data["samples"]]
    pictures += [edit["picture"] for sample in data["samples"] for edit in sample["edits"]]
    places = [picture["thumbnail"] for picture in pictures if "missing" not in picture]
    assert sorted(places) == list(range(len(several.thumbnails)))
    unreadable = [place for place in places if not several.thumbnails[place]]
    assert len(unreadable) == 1
    for place in set(places) - set(unreadable):
        made = Image.open(io.BytesIO(base64.b64decode(several.thumbnails[place])))
        assert (made.format, made.size) == ("WEBP", (96, 72))


def test_hostile_words_make_no_elements(hostile: Report, several: Report) -> None:
    tags = {tag for tag, _ in Elements(hostile.html).all}
    assert tags <= {tag for tag, _ in Elements(several.html).all}
    assert not any(name.startswith("on") for _, attributes in Elements(hostile.html).all for name in attributes)
    assert HOSTILE not in hostile.html
    assert "{{7*7}}" in hostile.html  # shown as it is, not as 49


def test_second_askings_stand_beside_the_coverage(complete: Report) -> None:
    told = {**complete.summary, "coverage": {**complete.summary["coverage"], "asked_again": 3}}
    words = "3 of 10 scores came only when asked again."
    assert words in "".join(page(complete.results, told, Path(complete.results.directory), language="en"))
    assert words in markdown(complete.results, told, "en")
    assert "asked again." not in markdown(complete.results, complete.summary, "en")


def test_coverage_and_bounds_stand_where_scores_are_missing(incomplete: Report) -> None:
    html = incomplete.html
    covered = incomplete.summary["coverage"]
    assert 0 < html.index(f"{covered['scored']} of {covered['total']} scored") < html.index('id="gallery"')
    overall = headline(incomplete.summary["results"][0])
    assert f"{overall['worst_case_mean']:.2f}–{overall['best_case_mean']:.2f}" in html


def test_a_complete_run_claims_no_worst_case(complete: Report) -> None:
    headline = complete.html.split('id="breakdown"')[0]
    assert "Worst to best case" not in headline
    assert "10 of 10 scored" in headline


def test_the_page_opens_in_the_language_of_the_run(complete: Report, tmp_path: Path) -> None:
    assert '<html lang="en">' in complete.html
    write_report(complete.results, complete.summary, tmp_path, language="zh")
    chinese = (tmp_path / "index.html").read_text("utf-8")
    assert '<html lang="zh-CN">' in chinese
    assert "10 个样本，评审" in chinese


def test_what_it_takes_to_repeat_the_run_is_there(complete: Report) -> None:
    page = Elements(complete.html)
    assert "model_name: Qwen/Qwen-Image-Edit" in page.text_of["configuration"]
    assert "You judge edits." in page.text_of["resolved"]
    assert "diffusers: 0.42.0" in page.text_of["environment"]
    assert complete.results.notes[0] in complete.html


def test_the_tab_says_the_run_and_what_came_out_of_it(complete: Report, several: Report) -> None:
    def tab(report: Report) -> str:
        return report.html.split("<title>")[1].split("</title>")[0]

    mean = headline(complete.summary["results"][0])["mean"]
    assert tab(complete) == f"{complete.results.name}: qwen_image_edit {mean:.2f}, 10/10 scored"
    means = {(p["edit_model"], p["judge"]): headline(p)["mean"] for p in several.summary["results"]}
    each = [f"{m} · {j} {means[m, j]:.2f}" for j in ("strict", "kind") for m in ("first", "second")]
    assert tab(several) == f"{several.results.name}: {', '.join(each)}"  # two judges are not averaged


def test_the_judges_have_a_section_where_there_is_something_to_say(complete: Report, several: Report) -> None:
    assert 'id="judges"' not in complete.html
    section = several.html.split('id="judges"')[1].split('id="time"')[0]
    alpha = several.summary["agreement"]["between_judges"]
    assert f">{alpha['alpha']:.2f}<" in section
    assert several.summary["agreement"]["median"] is None
    assert "judges.median" not in section
    assert f">{alpha['pairs'][0]['apart']['difference']:+.2f}<" in section
    assert "ICC" not in section  # nothing was judged twice
    document = (several.folder / "report.md").read_text(encoding="utf-8")
    assert f"| strict, kind | {alpha['edits']} | {alpha['alpha']:.2f} |" in document


def test_repeats_are_held_against_each_other(tmp_path: Path) -> None:
    report = report_on(build_run(tmp_path, samples=6, size=(24, 16), repeats=3))
    [card] = report.summary["agreement"]["judges"].values()
    section = report.html.split('id="judges"')[1].split('id="time"')[0]
    assert f"± {card['retest']['sd']:.2f}" in section
    assert f">{card['retest']['icc']:.2f}<" in section
    assert "18 answers about 6 edits" in section
    assert "Agreement between" not in section  # there is only one judge


def test_a_failure_is_never_a_number(incomplete: Report) -> None:
    unscored = [one for one in incomplete.results.judgements if one.status is not Status.OK]
    samples = {sample["id"]: sample for sample in incomplete.data["samples"]}
    for one in unscored:
        [shown] = samples[one.sample_id]["edits"][0]["judgements"]
        assert shown["scores"] == {}
        assert shown["reason"] == one.reason


def test_every_form_field_and_button_has_a_name(several: Report) -> None:
    page = several.html
    unnamed = [
        (tag, attributes)
        for tag, attributes in Elements(page).all
        if tag in ("select", "input", "meter") and not attributes.get("aria-label") and not attributes.get("name")
        if attributes.get("type") not in ("range", "radio")
    ]
    assert unnamed == []
