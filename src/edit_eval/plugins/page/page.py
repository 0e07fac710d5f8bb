"""The HTML page: one file that opens from disk without a network, in all languages, light and dark.

It holds, in this order: all numbers and tables, readable at once; the data (one JSON with the gallery and the charts,
compressed on disk, where it would be most of the page); our scripts, which build the cards; Vega, which draws the
charts; the thumbnails, one element each, written one by one. Thumbnails come last so that the page can be used while
the browser is still reading tens of megabytes of them; only those on screen are decoded. Of a run of more than
`MOST_EMBEDDED` pictures the report's page links to the folder of thumbnails beside it instead. A policy in the page's
head allows exactly the page's own scripts and style, by digest, and no network requests; Vega's expressions are
interpreted, because that policy forbids `eval`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

import altair
import jinja2
import vl_convert
import yaml
from markupsafe import Markup

from edit_eval import __version__
from edit_eval.files.durable import write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.json_values import JsonObject
from edit_eval.plugins.page.charts import TITLES, charts, histogram_hint, most_tags
from edit_eval.plugins.page.gallery import gallery
from edit_eval.plugins.page.html import language_markup, page_environment, page_sheet, page_table
from edit_eval.plugins.page.shown_pictures import PageFiles, PageFilesBeside, PictureAddresses, thumbnails
from edit_eval.plugins.page.verdict import verdict_content
from edit_eval.records import Results, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import sections
from edit_eval.reporting.entries import Entry, link, link_to_part
from edit_eval.reporting.language import catalogue, recognise, translate, translate_reason
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.names import NAMES, judge_words, name_of, scale_words, score_name
from edit_eval.reporting.report_content import RunContent, content_of, translate_template
from edit_eval.reporting.table import Sheet, map_languages
from edit_eval.small_copies import CopyLimits, size_of_run
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text, join_texts

_STYLES = ("page.css", "results.css", "gallery.css", "detail.css", "print.css")
_EARLY = "early.js"
"""Runs before anything is drawn, so that a page in a theme or language the reader chose does not flash."""
_SCRIPTS = (
    "elements.js",
    "charts.js",
    "comparison.js",
    "samples.js",
    "filters.js",
    "gallery.js",
    "stage.js",
    "words.js",
    "detail.js",
    "address.js",
    "selection.js",
    "start.js",
)
_QUOTED = re.compile(r"""//.*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|("(?:[^"\\\n]|\\.)*")""")
_TITLE_NAMES = 4
MOST_EMBEDDED = 2000
"""Pictures of a report's page that is one file: of more, each would be small and the page large."""
_DATA_HERE, _THUMBNAILS_HERE = "<!--data-->", "<!--thumbnails-->"  # cannot come from records: "<" is escaped


_NOTHING = Markup()


@dataclass(frozen=True)
class Served:
    """Additions to a page handed out by a server: its pictures are addresses, and none is embedded."""

    pictures: PictureAddresses
    above: Markup = _NOTHING
    """Goes above the results."""
    style: str = ""
    script: str = ""
    """Runs after all other scripts, in their scope."""
    data: Mapping[str, Any] = field(default_factory=dict)


def page(results: Results, summary: Summary, folder: Path, *, language: str) -> Iterator[str]:
    """Yields the parts of the page in order, together one HTML document for `folder`."""
    count = sum(len(sample.pictures) for sample in results.samples) + len(results.edits)
    kind = PageFilesBeside if count > MOST_EMBEDDED else PageFiles
    pictures = kind(Path(os.path.abspath(folder)), Path(os.path.abspath(results.directory)))
    yield from _parts(results, summary, language, pictures)


def portable_page(
    results: Results, summary: Summary, pictures: PageFiles, size: CopyLimits | None, *, language: str
) -> Iterator[str]:
    """Yields the same page for sending to others: no link points outside what is sent; `size` limits its pictures."""
    yield from _parts(results, summary, language, pictures, size=size, linked=False)


def server_page(results: Results, summary: Summary, served: Served, *, language: str) -> str:
    """Returns the same page for a server, from which it fetches pictures as they are looked at."""
    return "".join(_parts(results, summary, language, served.pictures, served))


def _parts(
    results: Results,
    summary: Summary,
    language: str,
    pictures: PictureAddresses,
    served: Served | None = None,
    size: CopyLimits | None = None,
    linked: bool = True,
) -> Iterator[str]:
    drawn = map_languages(partial(charts, results, summary))
    content = content_of(results, summary)
    titles = map_languages(partial(title, results.name, content.parts))
    above, rest = _document(
        content,
        language,
        drawn[language],
        titles[language],
        served,
        linked=linked and not served,
        files_beside=size is None and not served,
    ).split(_DATA_HERE)
    scripts, end = rest.split(_THUMBNAILS_HERE)
    yield above
    data = {
        "language": language,
        "titles": titles,
        **script_translations(join_scripts(*_SCRIPTS, more=served.script if served else "")),
        "charts": drawn,
        "reasons": _reasons(results),
        "groups": _groups(summary),
        "remarks": _remarks(summary),
        **gallery(results, summary, pictures),
    }
    if served:
        data = {**data, **served.data}
    yield script_json(data) if served else base64.b64encode(zlib.compress(_json(data).encode())).decode("ascii")
    yield scripts
    if isinstance(pictures, PageFiles):
        size = size or size_of_run(results.samples, results.edits)
        pictures.make_copies(size)
        yield from _thumbnails(pictures, size)
    yield end


def _groups(summary: Summary) -> JsonObject:
    """Returns by its key each group of samples that an analysis tells: its label in each language, and their ids."""
    return {
        group.key: {"label": map_languages(partial(translate, group.label)), "samples": list(group.sample_ids)}
        for section in sections(summary)
        for document in section.documents
        for group in section.of.groups(document)
    }


def _remarks(summary: Summary) -> list[JsonObject]:
    """Returns for each analysis that says something of single samples its title, and its sentences by sample."""
    return [
        {
            "title": map_languages(partial(translate, section.title)),
            "of": {
                sample: [map_languages(partial(translate, line)) for line in lines]
                for document in section.documents
                for sample, lines in section.of.remarks(document).items()
            },
        }
        for section in sections(summary)
        if any(section.of.remarks(document) for document in section.documents)
    ]


def _reasons(results: Results) -> dict[str, dict[str, str]]:
    """Returns by language what the recorded reasons, in English, of failed edits and judgements are in it.

    A judge's own words are left out.
    """
    judged = results.answers
    given = {edit.reason for edit in results.edits}
    given |= {judgement.reason for judgement in judged if judgement.status is not Status.OK}
    given |= {reason for judgement in judged for _, reason in judgement.missing.values()}
    in_language = map_languages(lambda language: {reason: translate_reason(reason, language) for reason in given})
    return {
        language: {reason: translated for reason, translated in of.items() if translated != reason}
        for language, of in in_language.items()
    }


def script_translations(script: str) -> JsonObject:
    """Returns what `elements.js` has to know to say a script's sentences: the languages, and what is said in each."""
    return {
        "languages": {code: {"tag": row.tag, "dates": row.dates} for code, row in SPOKEN.items()},
        "translations": map_languages(lambda language: _select_translations(sentences(script), catalogue(language))),
    }


def _select_translations(said: Sequence[str], translations: Mapping[str, str]) -> dict[str, str]:
    return {words: translations[words] for words in said if words in translations}


def sentences(script: str) -> list[str]:
    """Returns a script's texts for people: its strings in double quotes. All its other strings are in single ones."""
    return [json.loads(words) for words in _QUOTED.findall(script) if words]


def _thumbnails(pictures: PageFiles, size: CopyLimits) -> Iterator[str]:
    """Yields an inert element for each picture with its base64, empty if the picture cannot be read."""
    for place, made in enumerate(thumbnails(pictures.paths, size, pictures.kept)):
        yield f'<script type="text/plain" id="thumbnail-{place}">{made or ""}</script>\n'


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def script_json(data: Any) -> str:
    """Returns JSON that is safe inside a script element: ASCII, without a `<` that could end it."""
    written = _json(data)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _document(
    content: RunContent,
    language: str,
    drawn: Mapping[str, list[Any]],
    title: str,
    served: Served | None,
    *,
    linked: bool | None,
    files_beside: bool,
) -> str:
    style = stylesheet(*_STYLES, more=served.style if served else "")
    script = join_scripts(*_SCRIPTS, more=served.script if served else "")
    early, drawing = asset(_EARLY), vega()
    results, parts = content.results, content.parts
    return (
        page_templates(language)
        .get_template("page.html.j2")
        .render(
            **content.variables,
            linked=linked,
            files_beside=files_beside,
            style=Markup(style),
            script=Markup(script),
            early=Markup(early),
            vega=Markup(drawing),
            policy=policy(style, (early, script, drawing), served=served is not None),
            served=served,
            title=title,
            **vars(verdict_content(results, content.summary, language)),
            made=_count_charts(drawn),
            chart_titles={
                **TITLES,
                **{section.name: section.of.chart_title or section.title for section in content.sections},
            },
            histogram_hint=histogram_hint,
            language=language,
            only=parts[0] if len(parts) == 1 else None,
            facts=_facts(results),
            most_tags=most_tags(parts) if any(len(part.tags) > most_tags(parts) for part in parts) else None,
            listings=_listings(results),
            version=__version__,
            data_here=Markup(_DATA_HERE),
            thumbnails_here=Markup(_THUMBNAILS_HERE),
        )
    )


def title(name: str, parts: Sequence[Entry], language: str) -> str:
    """Returns the title of the browser's tab: the run and its means."""
    means = [f"{part.series} {part.number(part.overall.mean)}" for part in parts[:_TITLE_NAMES]]
    means += ["…"] if len(parts) > _TITLE_NAMES else []
    if len(parts) == 1:
        means.append(translate(Text("{} scored", formats.coverage(parts[0].coverage)), language))
    return f"{name}: {translate(join_texts(means, ''), language)}" if means else name


def _count_charts(drawn: Mapping[str, list[Any]]) -> dict[str, Counter[str | None]]:
    """Counts charts by name and choice of scores; None groups charts that belong to no choice."""
    return {name: Counter(chart.get("usermeta", {}).get("score") for chart in some) for name, some in drawn.items()}


def policy(style: str, scripts: tuple[str, ...], *, served: bool = False) -> str:
    """Returns a page's Content-Security-Policy: these scripts, this style, pictures from disk, nothing else.

    A served page may fetch pictures and data from its own server alone.
    """
    allowed = " ".join(digest_of(script) for script in scripts)
    reaches = "img-src 'self' data:; connect-src 'self'" if served else "img-src 'self' file: data:"
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest_of(style)}; "
        f"{reaches}; base-uri 'none'; form-action 'none'"
    )


def stylesheet(*names: str, more: str = "") -> str:
    """Joins style sheets of the page."""
    return "\n".join([*map(asset, names), more]).strip()


def join_scripts(*names: str, more: str = "") -> str:
    """Joins scripts of the page in a scope of their own."""
    return "(async () => {\n'use strict';\n" + "\n".join([*map(asset, names), more]).strip() + "\n})();"


def digest_of(source: str) -> str:
    """Returns the digest by which a page's policy allows a style or a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


@cache
def asset(name: str) -> str:
    """Returns the text of one of the page's scripts or style sheets."""
    return files("edit_eval.plugins.page").joinpath(f"templates/{name}").read_text(encoding="utf-8").strip()


def page_templates(language: str) -> jinja2.Environment:
    """Returns the page's templates, with words that follow the language the reader chooses."""
    environment = page_environment()
    follow = partial(language_markup, language=language)

    def sentence(words: str, *fields: Any, context: str = "") -> dict[str, str]:
        """Returns a sentence in each language, its fields translated, too, if they have words of their own."""
        return map_languages(
            lambda language: translate_template(
                language, words, *(_pick_language(language, field) for field in fields), context=context
            )
        )

    def option(value: str, words: str) -> Markup:
        said = sentence(words)
        return Markup('<option value="{}" data-words="{}">{}</option>').format(value, json.dumps(said), said[language])

    def attribute(name: str, words: str, mark: str) -> Markup:
        said = sentence(words)
        return Markup(' {}="{}" data-words-{}="{}"').format(name, said[language], mark, json.dumps(said))

    def durations(seconds: float | None) -> dict[str, str]:
        return map_languages(lambda language: formats.duration(seconds, language))

    environment.globals.update(
        table=lambda table: page_table(table, language),
        sheet=lambda sheet: page_sheet(sheet, language),
        say=lambda *pieces, **how: follow(sentence(*pieces, **how)),
        label=lambda words: attribute("aria-label", words, "label"),
        placeholder=lambda words: attribute("placeholder", words, "placeholder"),
        option=option,
        words=lambda kind, key: follow(name_of(kind, key)),
        names=NAMES,
        score_name=score_name,
        judge_words=judge_words,
        link=link,
        to_part=link_to_part,
        scale_words=lambda part, **how: scale_words(part.scale, **how),
    )
    environment.filters.update(
        listed=lambda names: join_texts(names, ", "),
        follow=follow,
        recognise=recognise,
        durations=durations,
        duration=lambda seconds: follow(durations(seconds)),
    )
    return environment


def _pick_language(language: str, value: object) -> object:
    return value[language] if isinstance(value, dict) else value


def _facts(results: Results) -> list[tuple[Text, list[str]]]:
    """Returns (title, lines) for edit models, judges and benchmark, as far as the configuration has them."""
    facts = [
        (Text("Edit model") if len(results.edit_models) == 1 else Text("Edit models"), _models(results, "edit_models")),
        (Text("Judge") if len(results.judges) == 1 else Text("Judges"), _models(results, "judges")),
    ]
    benchmark = results.provenance.configuration.get("benchmark")
    if isinstance(benchmark, Mapping):
        kind, path = str(benchmark.get("type") or ""), str(benchmark.get("data_path") or "")
        said = [results.provenance.about.get(key, "") for key in ("source", "licence")]
        facts.append((Text("Benchmark"), [line for line in (kind, Path(path).name, *said) if line]))
    return [(key, lines) for key, lines in facts if lines]


def _models(results: Results, section: str) -> list[str]:
    names = results.edit_models if section == "edit_models" else results.judges
    lines = [(name, _weights(results, section, name)) for name in names]
    if len(lines) == 1:  # its name is in the page's title
        return [lines[0][1] or lines[0][0]]
    return [f"{name}: {weights}" if weights else name for name, weights in lines]


def _weights(results: Results, section: str, name: str) -> str:
    single = "diffusion_model" if section == "edit_models" else "reward_model"
    several = results.provenance.configuration.get(section)
    model = several.get(name) if isinstance(several, Mapping) else results.provenance.configuration.get(single)
    parameters = model.get("params") if isinstance(model, Mapping) else None
    weights = parameters.get("model_name") if isinstance(parameters, Mapping) else None
    return str(weights) if weights else ""


def _listings(results: Results) -> list[tuple[str, Text, str]]:
    """Returns (name, description, YAML) of everything needed to repeat the run."""
    names = {
        "configuration": Text("Configuration"),
        "resolved": Text("What was asked of whom: models, rubrics, prompts"),
        "environment": Text("The whole environment as recorded"),
    }
    return [(name, title, _as_yaml(getattr(results.provenance, name))) for name, title in names.items()]


def _as_yaml(data: Mapping[str, object]) -> str:
    if not data:
        return ""
    plain = json.loads(json.dumps(data, default=str))
    return yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=100)


_BEGIN = "window.vegaEmbed = vegaEmbed; dispatchEvent(new Event('vega'));"
_NO_CACHE = (OSError, ValueError, RuntimeError)
"""Raised by a cache that is missing, is not text, or would be in a home directory that does not exist."""


@cache
def vega() -> str:
    """Returns Vega, Vega-Lite and Vega-Embed as one script, with the version of Vega-Lite that Altair writes for.

    Bundling takes more than a second, so the bundle is kept in the user's cache under the versions it depends on. A
    damaged cache, or one that cannot be read or written, costs only that second.
    """
    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    version = wanted if wanted in known else known[-1]
    bundle = _read_bundle(version)
    if bundle is None:
        bundle = vl_convert.javascript_bundle(_BEGIN, vl_version=version)
        with contextlib.suppress(*_NO_CACHE):
            write_durably(f"{_digest(bundle)}\n{bundle}".encode(), _file(version))
    return "(() => {\n" + bundle.replace("\r\n", "\n").replace("</script", "<\\/script") + "\n})();"


def _read_bundle(version: str) -> str | None:
    """Returns the cached bundle if it is intact."""
    try:
        digest, _, bundle = _file(version).read_bytes().decode().partition("\n")
    except _NO_CACHE:
        return None
    return bundle if digest == _digest(bundle) else None


def _file(version: str) -> Path:
    """Returns the path of the cached bundle, named by everything it depends on."""
    key = _digest(f"{metadata.version('vl-convert-python')} {version} {_BEGIN}")
    return cache_folder() / "page" / f"vega-lite-{version}-{key[:12]}.js"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def document_page(title: Text, heading: Text, sheet: Sheet, language: str) -> str:
    """Returns a page of its own with sentences and tables, without a script."""
    style = asset("page.css")
    made: str = (
        page_environment(language)
        .get_template("analysis.html.j2")
        .render(
            language=language,
            title=translate(title, language),
            heading=translate(heading, language),
            style=Markup(style),
            policy=f"default-src 'none'; style-src {digest_of(style)}",
            sheet=page_sheet(sheet, language),
        )
    )
    return made
