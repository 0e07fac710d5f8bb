""""""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from markupsafe import escape
from msgspec.structs import replace as changed
from PIL import Image

from drawn_pages import unpack_data
from edit_eval.plugins.page.page import asset, page, sentences, vega
from edit_eval.plugins.page.verdict import verdict_content
from edit_eval.records import NO_EDIT, Scale, Status
from edit_eval.reporting import language as language_module
from edit_eval.reporting.entries import category_names, choices, entries, link, series_names
from edit_eval.reporting.language import catalogue, current_language, translate
from edit_eval.reporting.languages import SPOKEN, Typography
from edit_eval.reporting.names import NAMES, name_of, short_category
from edit_eval.reporting.report import markdown, write_report
from edit_eval.reporting.verdict import next_lines
from edit_eval.statistics.summary import summarise
from edit_eval.text import Text
from reporting.reported_runs import HOSTILE, build_run
from reporting.reports import Elements, Report, headline, report_on
from source_texts import READERS, SRC, has_words

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
    assert [address for address in addresses if not re.fullmatch(beside, address or "")] == []
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


def test_the_data_is_one_json_that_unpacks(report: Report) -> None:
    page = Elements(report.html)
    assert script_types(page).count("application/zlib") == 1
    assert "<" not in page.text_of["data"]
    data = report.data
    assert [sample["id"] for sample in data["samples"]] == [sample.id for sample in report.results.samples]
    assert set(data["titles"]) == set(data["charts"]) == {"en", "zh"}
    assert data["translations"]["zh"]["Edit of {} by {}"] == catalogue("zh")["Edit of {} by {}"]


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
        assert (made.format, made.size) == ("JPEG", (96, 72))


def test_hostile_words_make_no_elements(hostile: Report, several: Report) -> None:
    tags = {tag for tag, _ in Elements(hostile.html).all}
    assert tags <= {tag for tag, _ in Elements(several.html).all}
    assert not any(name.startswith("on") for _, attributes in Elements(hostile.html).all for name in attributes)
    assert HOSTILE not in hostile.html
    assert "{{7*7}}" in hostile.html  # shown as it is, not as 49


def test_second_askings_stand_beside_the_coverage(complete: Report) -> None:
    told = changed(complete.summary, coverage=changed(complete.summary.coverage, asked_again=3))
    words = "3 of 10 scores came only when asked again."
    assert words in "".join(page(complete.results, told, Path(complete.results.directory), language="en"))
    assert words in markdown(complete.results, told, "en")
    assert "asked again." not in markdown(complete.results, complete.summary, "en")


def test_coverage_and_bounds_stand_where_scores_are_missing(incomplete: Report) -> None:
    html = incomplete.html
    covered = incomplete.summary.coverage
    assert 0 < html.index(f"{covered.scored} of {covered.total} scored") < html.index('id="gallery"')
    overall = headline(incomplete.summary.results[0])
    assert f"{overall.worst_case_mean:.2f}–{overall.best_case_mean:.2f}" in html


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


def test_a_further_language_is_a_row_and_a_catalogue(
    complete: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue.cache_clear()  # another test may have asked for French, which was none then
    catalogue("zh")  # from the package, before a folder stands for it
    (tmp_path / "plugins").mkdir()
    (tmp_path / "fr.po").write_text('msgid "Verdict"\nmsgstr "Bilan"\n\nmsgid "only {}"\nmsgstr "seul {}"\n', "utf-8")
    monkeypatch.setattr(language_module, "files", lambda _: tmp_path)
    monkeypatch.setitem(SPOKEN, "fr", Typography("FR", tag="fr", dates="fr-FR", separators={" and ": " et "}))
    try:
        write_report(complete.results, complete.summary, tmp_path / "report", language="fr")
        assert translate(Text("{: and }", ["a", "b"]), "fr") == "a et b"
        assert current_language(environment={"LANG": "fr_FR.UTF-8"}) == "fr"
    finally:
        catalogue.cache_clear()
    french = (tmp_path / "report/index.html").read_text("utf-8")
    assert '<html lang="fr">' in french
    assert '<button type="button" value="fr" lang="fr" aria-pressed="true">FR</button>' in french
    assert ">Bilan</span></a>" in french
    assert unpack_data(Elements(french).text_of["data"])["translations"]["fr"] == {"only {}": "seul {}"}
    assert "10 samples" in french, "what has no translation stays English"


def test_what_it_takes_to_repeat_the_run_is_there(complete: Report) -> None:
    page = Elements(complete.html)
    assert "model_name: Qwen/Qwen-Image-Edit" in page.text_of["configuration"]
    assert "You judge edits." in page.text_of["resolved"]
    assert "diffusers: 0.42.0" in page.text_of["environment"]
    assert complete.results.provenance.notes[0] in complete.html


def test_the_tab_says_the_run_and_what_came_out_of_it(complete: Report, several: Report) -> None:
    def tab(report: Report) -> str:
        return report.html.split("<title>")[1].split("</title>")[0]

    mean = headline(complete.summary.results[0]).mean
    assert tab(complete) == f"{complete.results.name}: qwen_image_edit {mean:.2f}, 10/10 scored"
    means = {(p.edit_model, p.judge): headline(p).mean for p in several.summary.results}
    each = [f"{m} · {j} {means[m, j]:.2f}" for j in ("strict", "kind") for m in ("first", "second")]
    assert tab(several) == f"{several.results.name}: {', '.join(each)}"  # two judges are not averaged


def test_a_failure_is_never_a_number(incomplete: Report) -> None:
    unscored = [judgement for judgement in incomplete.results.judgements if judgement.status is not Status.OK]
    samples = {sample["id"]: sample for sample in incomplete.data["samples"]}
    for judgement in unscored:
        [shown] = samples[judgement.sample_id]["edits"][0]["judgements"]
        assert shown["scores"] == {}
        assert shown["reason"] == judgement.reason


def test_every_form_field_and_button_has_a_name(several: Report) -> None:
    page = several.html
    unnamed = [
        (tag, attributes)
        for tag, attributes in Elements(page).all
        if tag in ("select", "input", "meter") and not attributes.get("aria-label") and not attributes.get("name")
        if attributes.get("type") not in ("range", "radio")
    ]
    assert unnamed == []


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's cache, and no memory of this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vega.cache_clear()
    yield tmp_path
    vega.cache_clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was bundled, with a bundle that costs nothing; it has what the page must not: a script's end."""
    versions: list[str] = []

    def bundle(snippet: str, vl_version: str) -> str:
        versions.append(vl_version)
        return f"{snippet}\r\n// </script> of Vega-Lite {vl_version} \u2028"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return versions


def again() -> str:
    vega.cache_clear()
    return vega()


def test_the_second_report_takes_it_from_the_cache(cache: Path, made: list[str]) -> None:
    first = vega()
    assert again() == first
    assert len(made) == 1
    assert "</script" not in first
    assert "\r" not in first
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".js"], "nothing half-written is left"


def test_other_versions_are_another_bundle(cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    vega()
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    again()
    monkeypatch.setattr(vl_convert, "get_vegalite_versions", lambda: ["5.8"])
    assert "Vega-Lite 5.8 " in again()
    assert len(made) == 3
    assert len(list(cache.rglob("*.js"))) == 3


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", None])
def test_a_damaged_one_is_made_anew(cache: Path, made: list[str], damage: bytes | None) -> None:
    first = vega()
    [file] = cache.rglob("*.js")
    file.write_bytes(file.read_bytes()[:-3] if damage is None else damage)
    assert again() == first
    assert len(made) == 2
    assert again() == first
    assert len(made) == 2, "and is whole again"


def test_without_a_cache_it_is_made_each_time(cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    first = vega()
    assert again() == first
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", classmethod(lambda _: (_ for _ in ()).throw(RuntimeError("no home"))))
    assert again() == first
    assert len(made) == 3


OpenPage = Callable[..., Any]
MODELS = tuple(f"an-edit-model-{number}" for number in range(1, 13))
JUDGES = ("judge-of-32b", "judge-of-235b", "another-judge", "a-fourth-judge")
PAPER = 703
"""Pixels of a sheet of A4 without its margins."""
MOST_SCREENS = {(1280, 900): 1.5, (768, 1024): 1.55, (390, 844): 3.0}


@pytest.fixture(
    scope="module",
    params=[(4, 2), pytest.param((8, 4), marks=pytest.mark.check)],
    ids=lambda counts: "{} by {}".format(*counts),
)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Failures of all kinds, so that every line that can be above the pictures is."""
    models, judges = request.param
    folder = tmp_path_factory.mktemp("first_screen")
    return report_on(
        build_run(folder, samples=8, size=(24, 18), edit_models=MODELS[:models], judges=JUDGES[:judges], failing=0.2)
    )


def test_the_first_screen_is_for_who_reads_it(drawn: Report) -> None:
    """What failed is counted in edits, judges are called so, and what to do next is what a terminal says, in its order;
    a command is only in what is folded."""
    above = drawn.html[drawn.html.index('<section id="verdict">') : drawn.html.index('<div class="folded">')]
    ended = Counter(edit.status for edit in drawn.results.edits if edit.status in NO_EDIT)
    assert ended
    assert all(f">{count} of {len(drawn.results.edits)} edits " in above for count in ended.values())
    assert "(judge)" in above
    verdict = drawn.summary.verdict
    places = [above.index(escape(str(line))) for line in next_lines(verdict, for_readers=True)[:2]]
    assert places == sorted(places)
    assert not re.search(r"edit-eval \w|--\w|evaluation\.", above)
    assert "edit-eval" in drawn.html[drawn.html.index("For whoever ran it") :]
    assert len(next_lines(verdict)) == len(next_lines(verdict, for_readers=True))
    categories = {sample.category for sample in drawn.results.samples}
    assert above.count('<text class="tick"') > 1
    assert all(above.count(escape(link(category=name))) >= 2 for name in categories), "a row for each of two judges"


@pytest.mark.check
def test_the_gallery_begins_soon(drawn: Report, open_page: OpenPage) -> None:
    tab = open_page(drawn)
    for code in ("en", "zh"):
        tab.click(f"#language button[value={code}]")
        for (width, height), most in MOST_SCREENS.items():
            tab.set_viewport_size({"width": width, "height": height})
            begins = tab.evaluate("document.getElementById('gallery').getBoundingClientRect().top + scrollY")
            assert begins / height <= most, (code, width)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, "nothing to scroll sideways"
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": PAPER, "height": 1000})
    assert tab.evaluate("document.querySelector('.standings').getBoundingClientRect().right") <= PAPER, (
        "nobody is cut off"
    )


def test_what_is_not_scored_is_accounted_for(tmp_path: Path) -> None:
    run = build_run(tmp_path, samples=30, size=(8, 6), edit_models=MODELS[:3], failing=0.4)
    summary = summarise(run)
    table = verdict_content(run, summary).standings
    no_edit, no_score = table.columns[-2:]
    for row in table.rows:
        coverage = row.parts["qwen3_vl"].coverage
        missing = int(no_edit.cell(row)) + int(no_score.cell(row))
        assert 0 < missing == coverage.total - coverage.scored, row.edit_model
        assert "status=edit_failed" in no_edit.to(row)
        assert "show=failed" in no_score.to(row), "of several statuses"


def test_several_models_are_drawn_over_an_axis_with_numbers(tmp_path: Path) -> None:
    run = build_run(tmp_path, samples=8, size=(8, 6), edit_models=MODELS)
    [(_, _, drawn)] = verdict_content(run, summarise(run)).drawings
    assert all(name in drawn for name in MODELS)
    assert len(re.findall(r'text-anchor="middle"[^>]*>[\d.]+<', drawn)) >= 3


def test_every_status_has_a_name() -> None:
    assert set(NAMES["status"]) == {status.value for status in Status}
    assert all(re.search("[\u4e00-\u9fff]", translate(status.words, "zh")) for status in Status)


def test_names_without_a_text_are_their_own() -> None:
    assert name_of("difficulty", "nightmare") == "nightmare"
    assert name_of("category", "colour") == short_category("colour") == "colour"
    assert (short_category("physical"), translate(short_category("physical"), "zh")) == ("Physical", "物理")


def test_sentences_of_scripts_are_those_in_double_quotes() -> None:
    script = """const a = 'span'; // the page's "own"
say('p', "{} of {} edits", [1, 2]); say(`a "quoted" one`, "it\'s", "a \\"b\\"");"""
    assert sentences(script) == ["{} of {} edits", "it's", 'a "b"']
    assert "Copied" in sentences(asset("start.js"))


def test_what_a_script_says_in_single_quotes_is_no_sentence() -> None:
    """A sentence there would never be put into Chinese."""
    calls = re.compile(r"\b(?:say\('\w+', |words\(|both\(|labelled\('\w+', )(['`])")
    for file in SRC.rglob("*.js"):
        assert not calls.findall(file.read_text(encoding="utf-8")), file
    said = [words for file in SRC.rglob("*.js") for _, words in READERS[".js"](file.read_text(encoding="utf-8"))]
    assert sum(map(has_words, said)) > 100


def test_templates_say_with_their_context() -> None:
    source = (
        """{% if a == 'x' %}{{ say("Edits", context='number') }} {{ say("Edits") }} {{ label("a \'b\'") }}{% endif %}"""
    )
    assert [words for _, words in READERS[".j2"](source)] == ["number\x04Edits", "Edits", "a 'b'"]


def test_entries_are_those_of_the_summary(several: Report) -> None:
    """The edit models of a judge stand together."""
    parts = entries(several.summary.results)
    assert [(part.edit_model, part.judge) for part in parts] == [
        ("first", "strict"),
        ("second", "strict"),
        ("first", "kind"),
        ("second", "kind"),
    ]
    blocks = {(result.edit_model, result.judge): headline(result) for result in several.summary.results}
    for part in parts:
        block = blocks[part.edit_model, part.judge]
        assert (part.overall, part.coverage, part.categories) == (block, block.coverage, block.categories)
        assert (part.leads, part.scale, part.digits) == (True, Scale(lowest=0.0, highest=10.0), 2)


def test_the_headline_leads_and_other_scores_are_chosen_by_name(three_scores: Report) -> None:
    parts = entries(three_scores.summary.results)
    assert [(part.judge, part.score, part.leads, part.digits) for part in parts if part.edit_model == "first"] == [
        ("three", "quality", True, 2),
        ("three", "drift", False, 3),
        ("three", "psnr", False, 2),
        ("kind", "score", True, 2),
    ]
    by_score = {choice.score: (choice.names, [part.judge for part in choice.parts]) for choice in choices(parts)}
    assert by_score == {
        "": (("quality", "score"), ["three", "three", "kind", "kind"]),
        "drift": (("drift",), ["three", "three"]),
        "psnr": (("psnr",), ["three", "three"]),
    }


def test_the_shortest_name_that_tells_them_apart() -> None:
    assert series_names([("a", "j")]) == {("a", "j"): "a"}
    assert series_names([("a", "j"), ("b", "j")]) == {("a", "j"): "a", ("b", "j"): "b"}
    assert series_names([("a", "j"), ("a", "k")]) == {("a", "j"): "j", ("a", "k"): "k"}
    assert series_names([("a", "j"), ("b", "k")]) == {("a", "j"): "a · j", ("b", "k"): "b · k"}


def test_the_five_dimensions_stand_in_their_order(several: Report) -> None:
    [part, *_] = entries(several.summary.results)
    names = ("own", "指代", "causal", "another", "physical")
    blocks = dict.fromkeys(names, next(iter(part.categories.values())))
    other = replace(part, overall=changed(part.overall, categories=blocks))
    assert category_names([other]) == ["physical", "causal", "指代", "own", "another"]


def test_a_summary_of_nothing_has_none() -> None:
    assert entries([]) == []
    assert choices([])[0].parts == ()


def test_a_link_says_what_it_is_given_in_one_order_and_escapes_it() -> None:
    assert link(show="failed", model="A&B = C #1") == "#model=A%26B+%3D+C+%231&show=failed"
    assert link(sample="a/b é", left="source", right="edit:B") == "#sample=a%2Fb+%C3%A9&left=source&right=edit%3AB"
    assert link(min=0, max=2.5, tag=None, category="") == "#min=0&max=2.5"


def test_a_link_to_nothing_in_particular_leads_to_all_samples() -> None:
    assert link() == link(model=None) == "#show=all"


def test_a_key_that_no_page_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="no address has colour"):
        link(colour="red")
