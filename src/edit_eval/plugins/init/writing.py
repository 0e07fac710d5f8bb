"""What `init` makes of pictures and models as its flags name them: a configuration, with comments.

Pictures are a benchmark of ours, a table, a folder with texts, or a folder without texts. Models are finished edits, a
column of the table, weights, a server, a class or a name; and there are the judges that are offered.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from edit_eval.benchmarks.contract import language_of
from edit_eval.benchmarks.file_tree import is_archive
from edit_eval.benchmarks.table import NoColumn, TableBenchmark, ids_of
from edit_eval.benchmarks.tables import PICTURES, TEXT_TABLES, CsvTable, JsonTable, PictureFolder, find_table
from edit_eval.config import components
from edit_eval.config.faults import Place, did_you_mean, nearest_path
from edit_eval.config.known_weights import find_release, list_releases
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import read_devices_flag
from edit_eval.config.shipped import find_shipped_files
from edit_eval.config.shorthand import (
    HERE,
    HUB_MODEL,
    SERVER,
    Kind,
    ModelDraft,
    import_chat_endpoint,
    plain_name,
    read_judge_flag,
    read_model_flag,
    server,
    set_devices,
    weights,
)
from edit_eval.config.yaml_text import parse
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.edit_models.image_folder import SUFFIXES, ImageFolder
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.prices import TYPICAL
from edit_eval.files.addresses import is_address
from edit_eval.files.matching import likely
from edit_eval.files.new import harmless, refuse_existing
from edit_eval.json_values import Unchecked
from edit_eval.plugins.lookup.yaml_writing import write_yaml
from edit_eval.reporting.language import current_language, translate, translate_description
from edit_eval.text import Text, pluralize

# -- configuration --


STANDARD = "evaluation.yaml"
_FIRST_TRY = Text("a first try: two samples of each category")


@dataclass(frozen=True)
class Started:
    """The files that were written."""

    file: Path
    others: tuple[Path, ...]
    """The table to be filled in, if one was made."""
    pictures: Pictures | None = None


def refuse_to_overwrite(file: Path, force: bool) -> None:
    """Raises `ConfigurationError` for an existing file unless forced, for a folder, and for a link even if forced."""
    if file.is_dir():
        raise ConfigurationError(
            Text("{} is a folder; for the pictures in it type `edit-eval init --pictures {}`", file, file)
        )
    if file.suffix.lower() not in (".yaml", ".yml"):
        taken = "--from" if str(file) in find_shipped_files() else "--pictures" if file.exists() else ""
        meant = f"{taken} {file}" if taken else f"{file}.yaml"
        raise ConfigurationError(
            Text("{}: a configuration's name ends with .yaml; did you mean `edit-eval init {}`?", file, meant)
        )
    refuse_existing(file, force=force)


def copy_shipped(name: str, file: Path) -> Started:
    """Writes one of the configurations of `list`. Raises `ConfigurationError` for an unknown name."""
    configurations = find_shipped_files()
    if name not in configurations:
        meant = did_you_mean(name, configurations) or Text("; `edit-eval list` shows all")
        raise ConfigurationError(Text("--from {}: no configuration of that name{}", name, meant))
    text = configurations[name].read_text(encoding="utf-8").replace(f"configs/{name}.yaml", str(file))
    _write(file, text)
    return Started(file, ())


def write_configuration(
    file: Path,
    pictures: Pictures,
    edits: Sequence[ModelDraft],
    judges: Sequence[ModelDraft],
    devices: str,
    reasons: bool = False,
) -> Started:
    """Writes the YAML, and a table of instructions if the pictures have none.

    Raises `ConfigurationError` if that is not possible; then nothing is written.
    """
    try:
        read_devices_flag(devices)
    except ValueError as error:
        raise ConfigurationError(Text("--devices {}: {}", devices, error)) from None
    text = configuration_text(str(file), pictures, edits, judges, devices, reasons)
    load_configuration(parse(text, str(file)), data_may_be_missing=True)
    others = []
    if pictures.template is not None and pictures.new_file:
        _write(pictures.template, pictures.new_file)
        others.append(pictures.template)
    _write(file, text)
    return Started(file, tuple(others), pictures)


_NO_JUDGES = re.compile(r"^judges:[ \t]*(\{[ \t]*\}|null|~)?[ \t]*(#.*)?\n?$", re.MULTILINE)


def add_judges(file: Path, judges: Sequence[ModelDraft], devices: str, reasons: bool) -> Started:
    """Writes judges into a configuration that has none; every other line of it stays as it is.

    With `reasons`, judges give reasons where they and the benchmark's protocol can. Raises `ConfigurationError` for a
    configuration that has judges, or that cannot be read with these.
    """
    text = file.read_text(encoding="utf-8")
    written = parse(text, str(file))
    if (isinstance(written, Mapping) and written.get("judges")) or len(_NO_JUDGES.findall(text)) > 1:
        raise ConfigurationError(
            Text("{} has judges already: write this one below them by hand, or replace the file with --force", file)
        )
    benchmark = load_configuration(written, data_may_be_missing=True).benchmark.type
    reasons = reasons and lets_judges_reason(str(benchmark))
    block = _models_block("judges", judges, devices, current_language(""), reasons=reasons)
    here = _NO_JUDGES.search(text)
    text = f"{text[: here.start()]}{block}{text[here.end() :]}" if here else f"{text.rstrip()}\n\n{block}"
    load_configuration(parse(text, str(file)), data_may_be_missing=True)
    _write(file, text)
    return Started(file, ())


def lets_judges_reason(benchmark: str) -> bool:
    """True if the own protocol of the benchmark of this name lets a judge give reasons."""
    described = components.describe(benchmark)
    return any(each.kind == "benchmark" and each.about["protocol"] == "rubric" for each in described)


def configuration_text(
    file: str,
    pictures: Pictures,
    edits: Sequence[ModelDraft],
    judges: Sequence[ModelDraft],
    devices: str,
    reasons: bool = False,
) -> str:
    """Returns the YAML; with `reasons`, judges that can give reasons do."""
    language = current_language(str(pictures.section.get("language", "")))
    first_try = f"  # limit: 2    # {translate(_FIRST_TRY, language)}\n"
    blocks = [_block({"benchmark": pictures.section}, {("benchmark", "type"): pictures.words}, language) + first_try]
    blocks.append(_models_block("edit_models", edits, devices, language, reasons=reasons))
    blocks.append(_models_block("judges", judges, devices, language, reasons=reasons))
    return _head(file, language) + "\n".join(blocks)


def _models_block(key: str, models: Sequence[ModelDraft], devices: str, language: str, *, reasons: bool) -> str:
    """Returns the YAML of edit models, or of judges."""
    named = make_names_unique(list(models))
    where = {
        name: set_devices(each.section, devices) if each.wants_device else each.section for name, each in named.items()
    }
    words: dict[Place, str] = {
        (key, name, which): each.words for name, each in named.items() for which in ("type", "class_path")
    }
    for name, each in named.items():
        if reasons and each.writes:
            where[name] = {**where[name], "protocol": {"answer": "reason_then_score"}}
            words[key, name, "protocol", "answer"] = Text("`score` is several times faster")
    if not models:
        words[(key,)] = Text(
            "nobody yet: `edit-eval view` collects votes; `edit-eval init THIS_FILE --judge WHAT` adds one"
        )
    return _block({key: where}, words, language)


def _head(file: str, language: str) -> str:
    """Returns the comment at the top: what to type next."""
    lines: list[str] = [
        Text("Written by `edit-eval init`. Paths count from the folder in which you type:"),
        "",
        f"  edit-eval doctor {file}      {translate(Text('is everything here, and will it fit?'), language)}",
        f"  edit-eval run {file}",
        "",
        Text("`edit-eval describe TYPE` shows what else can be set beside a `type`."),
    ]
    return "".join(f"# {translate(line, language)}".rstrip() + "\n" for line in lines) + "\n"


def _block(section: Unchecked, words: dict[Place, str], language: str) -> str:
    def remark(place: Place) -> str:
        text = words.get(place, "")
        return translate(text, language) if isinstance(text, Text) else translate_description(text, language)

    return write_yaml(section, remark)


def _write(file: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    part = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be written: {}", file, error.strerror or error)) from None


# -- pictures, as `--pictures` names them --


TEMPLATE = "instructions.csv"
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+(@[\w.-]+)?")
_PATH = 500
"""Limit of characters of a path in a table; anything longer is a picture in base64."""
_LIKELY = ("pictures", "photos", "images", "source", "sources", "input", "inputs", "original", "originals", "src")
"""Usual names of a folder of pictures."""
_NO_EDITS = (*_LIKELY, "mask", "masks")
_LOOKED_FOR = 200  # rows by whose pictures a folder of pictures is known
_OUR_FORMAT = {"src_img_b64", "original_image_path"}
"""Columns that only a file of the benchmark `five_dimensions` has."""


@dataclass
class Pictures:
    """The pictures to edit."""

    section: Unchecked
    """Section `benchmark` of the configuration."""
    words: str
    ids: tuple[str, ...] = ()
    """Ids of the samples, by which finished edits are found; empty if not known before the benchmark is read."""
    names: tuple[str, ...] = ()
    """The sources' file names without folder and ending, sample by sample."""
    folders: frozenset[Path] = frozenset()
    """Folders of the sources, resolved: not a model's edits."""
    sources: tuple[str, ...] = ()
    """Their paths, as a table has them."""
    choices: tuple[str, ...] = ()
    """Folders with the pictures that the table names, where they are not beside it; one of them has the sources."""
    table: str = ""
    columns: tuple[str, ...] = ()
    """Columns of the table with unknown contents."""
    empty: int = 0
    """Number of samples without an instruction so far."""
    template: Path | None = None
    """Table in which instructions are to be written."""
    new_file: str = field(default="", repr=False)
    """Text of the template, if it is to be made."""

    @property
    def takes_reasons(self) -> bool:
        """True if the benchmark's own protocol lets a judge give reasons."""
        return lets_judges_reason(self.section["type"])

    def set_folder(self, folder: str) -> str:
        """Has the table's paths count from this folder; returns a line that says so."""
        self.section["pictures_path"], self.choices = folder, ()
        self.folders = _folders_of(folder, self.sources)
        here = sum(os.path.isfile(Path(folder, source)) for source in self.sources)
        return Text(
            "{} names {} that are not beside it; {} are in {}/. Taken: pictures_path: {}.",
            Path(self.table).name,
            pluralize(len(self.sources), "file"),
            Text("all of them") if here == len(self.sources) else Text("{} of them", here),
            folder,
            folder,
        )


def parse_pictures(written: str, *, instruction: str = "", fields: Mapping[str, str] | None = None) -> Pictures:
    """Reads the argument of `--pictures`. `instruction` applies to every picture of a folder without its own.

    Raises `ConfigurationError` saying what to give instead.
    """
    name, equals, path = written.partition("=")
    if equals and components.locate("benchmark", name):
        return _benchmark(name, path)
    if not os.path.lexists(written) and components.locate("benchmark", written):
        return _benchmark(written, "")
    if is_address(written) or (not os.path.lexists(written) and _HUB_NAME.fullmatch(written)):
        address = written if is_address(written) else f"hub:{written}"
        plain = address.removeprefix("hub:").removeprefix("hf://datasets/").partition("@")[0].lower()
        for entry in components.list_components("benchmark"):
            if plain in entry.about.get("source", "").lower().replace(",", " ").split():
                return _benchmark(entry.name, address)
        return Pictures({"type": "table", "data_path": address}, Text("a table on the Hugging Face Hub"))
    given = Path(written)
    if not given.exists():
        named = did_you_mean(written, components.names("benchmark"))
        bare = not (os.path.dirname(written) or given.suffix)  # rather a benchmark's name than a file's
        meant = named or nearest_path(given) if bare else nearest_path(given) or named
        raise ConfigurationError(Text("--pictures: no such file or folder: {}{}", written, meant))
    pictures = _folder(given, instruction) if given.is_dir() else _file(given, dict(fields or {}))
    if instruction and not pictures.new_file:
        raise ConfigurationError(Text("--instruction: these pictures already have instructions; leave it out"))
    return pictures


def pictures_of(folder: Path) -> list[str]:
    """Returns the names of the pictures in a folder, in order."""
    try:
        there = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be read: {}", folder, error.strerror)) from None
    return [name for name in there if name.lower().endswith(PICTURES) and not name.startswith(".")]


def stem(name: str) -> str:
    """Returns the name without folder and ending: `photos/cat.jpg` is `cat`."""
    return PurePosixPath(name.replace("\\", "/")).stem


def _benchmark(name: str, path: str) -> Pictures:
    described = next(d for d in components.describe(name) if d.kind == "benchmark")
    missing = [parameter.name for parameter in described.parameters if parameter.is_required]
    if missing and not path:
        raise ConfigurationError(Text("--pictures {}: it needs its data: `--pictures {}=FILE`", name, name))
    if path and not (is_address(path) or os.path.exists(path)):
        raise ConfigurationError(Text("--pictures: no such file or folder: {}{}", path, nearest_path(path)))
    licence = Text("; licence: {}", described.about["licence"]) if "licence" in described.about else ""
    return Pictures(
        {"type": name, **({"data_path": path} if path else {})}, Text("{}{}", described.summary.rstrip("."), licence)
    )


def _file(path: Path, fields: dict[str, str]) -> Pictures:
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        raise ConfigurationError(
            Text("--pictures {}: that is already a configuration: `edit-eval doctor {}`", path, path)
        )
    if suffix in PICTURES:
        raise ConfigurationError(
            Text("--pictures {}: that is one picture; give its folder: `--pictures {}`", path, path.parent)
        )
    if is_archive(path):
        return Pictures({"type": "table", "data_path": str(path)}, Text("pictures and their table in an archive"))
    try:
        table = find_table(path)
        columns = table.columns()
    except ConfigurationError as error:
        raise _from_flag(error) from None
    if isinstance(table, JsonTable) and set(columns) >= _OUR_FORMAT:
        return Pictures({"type": "five_dimensions", "data_path": str(path)}, Text("pictures with an instruction each"))
    return _table(path, fields)


def _table(path: Path, fields: dict[str, str]) -> Pictures:
    section = {"type": "table", "data_path": str(path), **({"fields": fields} if fields else {})}
    try:
        table, column_of = TableBenchmark(TableBenchmark.Parameters(str(path), fields=fields)).inspect_table()
        columns = table.columns()
        wanted = {column_of[name] for name in ("id", "source", "instruction") if name in column_of}
        texts = isinstance(table, CsvTable | JsonTable | PictureFolder)
        rows = [_texts(row, column_of) for row in table.rows(wanted, lambda share: None)] if texts else []
    except NoColumn as error:
        raise NoColumn(str(_from_flag(error)), error.ours, error.there) from None
    except ConfigurationError as error:
        raise _from_flag(error) from None
    if texts and not rows:
        raise ConfigurationError(Text("--pictures {}: the table has no rows; write one for each picture", path))
    unused = tuple(name for name in columns if name not in column_of.values())
    if not texts:
        return Pictures(section, Text("a table of pictures and instructions"), table=str(path), columns=unused)
    empty = sum(not instruction for _, _, instruction in rows)
    if (language := language_of(instruction for _, _, instruction in rows)) != "en":
        section["language"] = language
    sources = [source for _, source, _ in rows if source]
    ids = ids_of([source for _, source, _ in rows])
    return Pictures(
        section,
        Text("{}: {}", pluralize(len(rows), "row"), (f"{ours} = {theirs}" for ours, theirs in column_of.items())),
        ids=tuple(own or name for (own, _, _), name in zip(rows, ids, strict=True)),
        names=tuple(stem(source) for _, source, _ in rows),
        table=str(path),
        columns=unused,
        empty=empty,
        choices=_pictures_paths(path.parent, sources[:_LOOKED_FOR]),
        sources=tuple(sources),
        folders=_folders_of(path.parent, sources),
        template=path if empty else None,
    )


def _folders_of(top: str | Path, sources: Sequence[str]) -> frozenset[Path]:
    return frozenset(Path(top, source).parent.resolve() for source in sources)


def _pictures_paths(beside: Path, sources: Sequence[str]) -> tuple[str, ...]:
    """Returns the folders from which the sources' paths may count; none if it is the table's."""
    tops = dict.fromkeys((beside, Path()))
    counts = {
        os.path.normpath(folder): len([source for source in sources if os.path.isfile(folder / source)])
        for folder in (*tops, *(top / name for top in tops for name in sorted(_folders(top))))
    }
    most = max(counts.values())
    if counts[os.path.normpath(beside)] or not most:
        return ()
    best = [folder for folder, count in counts.items() if count == most]
    named = [folder for folder in best if Path(folder).name.lower() in _LIKELY]
    return tuple(named if len(named) == 1 else best)


def _texts(row: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[str, str, str]:
    """Returns id, source and instruction of a row; the first of several sources, and nothing for one in base64."""
    values = [row.get(columns.get(name, "")) or "" for name in ("id", "source", "instruction")]
    first = values[1][0] if isinstance(values[1], list) else values[1]
    path = first.strip().replace("\\", "/") if isinstance(first, str) and len(first) < _PATH else ""
    return str(values[0]).strip(), path, str(values[2]).strip()


def _folder(folder: Path, instruction: str) -> Pictures:
    pictures = pictures_of(folder)
    try:
        table = find_table(folder)
    except ConfigurationError as error:
        if [name for name in _names(folder) if name.lower().endswith(TEXT_TABLES)]:  # several, none of them chosen
            raise _from_flag(error) from None
        table = None
    if isinstance(table, PictureFolder):
        row = [row for row in table.rows((), lambda share: None) if "instruction" in row]
        if row:
            without = len(pictures) - len(row)
            said = (
                Text(", {} of them without an instruction", without) if without else Text(" with an instruction each")
            )
            section = {"type": "table", "data_path": str(folder)}
            ids, sources = tuple(map(stem, pictures)), frozenset([folder.resolve()])
            words = Text("{}{}", pluralize(len(pictures), "picture"), said)
            return Pictures(section, words, ids=ids, names=ids, folders=sources, empty=without)
        table = None
    if table is not None:
        return _file(table.files[0], {}) if len(table.files) == 1 else _table(folder, {})
    if not pictures:
        inside = [name for name in sorted(_folders(folder)) if pictures_of(folder / name)]
        has = Text("; these folders in it have: {}", (str(folder / name) for name in inside[:5])) if inside else ""
        raise ConfigurationError(Text("--pictures {}: no pictures in it ({}, ...){}", folder, PICTURES[:4], has))
    return _write_template(folder, pictures, instruction)


def _write_template(folder: Path, pictures: Sequence[str], instruction: str) -> Pictures:
    """Prepares a table to be filled in, beside the pictures; ids are their names without the ending."""
    stems = Counter(map(stem, pictures))
    ids = [stem(name) if stems[stem(name)] == 1 else name.replace(".", "_") for name in pictures]
    # For a spreadsheet, which would run a file called `=...`; and tables are read as they are, apostrophes too.
    ids = [name if harmless(name) == name else f"_{name}" for name in ids]
    paths = [name if harmless(name) == name else f"./{name}" for name in pictures]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "image", "instruction"])
    writer.writerows(zip(ids, paths, [instruction] * len(pictures), strict=True))
    path = folder / TEMPLATE
    return Pictures(
        {"type": "table", "data_path": str(path)},
        Text("{}, the instructions in {}", pluralize(len(pictures), "picture"), TEMPLATE),
        ids=tuple(ids),
        names=tuple(map(stem, pictures)),
        folders=frozenset([folder.resolve()]),
        table=str(path),
        empty=0 if instruction else len(pictures),
        template=path,
        new_file=text.getvalue(),
    )


def find_near_table(pictures: Pictures) -> str:
    """Returns a table with instructions for most of these pictures, which have none of their own: beside their folder,
    or in the current one; empty if there is none."""
    if pictures.template is None or not pictures.new_file or not pictures.empty:
        return ""
    wanted = set(pictures.names)
    for folder in dict.fromkeys((pictures.template.parent.parent, Path())):
        for name in sorted(name for name in _names(folder) if name.lower().endswith(TEXT_TABLES)):
            with suppress(ConfigurationError, OSError):
                found = _table(folder / name, {})
                if found.empty < len(found.names) and 2 * len(wanted.intersection(found.names)) >= len(wanted):
                    return os.path.normpath(folder / name)
    return ""


def likely_pictures() -> str:
    """Returns the likely place of the user's pictures in the current folder; empty if that is not clear."""
    here = Path()
    tables = [name for name in sorted(_names(here)) if name.lower().endswith((".csv", ".tsv", ".jsonl"))]
    if pictures_of(here) or len(tables) == 1:
        return "." if pictures_of(here) else tables[0]
    folders = [name for name in sorted(_folders(here)) if pictures_of(here / name)]
    named = [name for name in folders if name.lower() in _LIKELY]
    return named[0] if len(named) == 1 else folders[0] if len(folders) == 1 else ""


def likely_edits(folder: Path, names: Collection[str]) -> list[str]:
    """Returns the subfolders whose pictures have, or may mean, at least half of `names`, but for those of sources; if
    there are none, those in subfolders."""
    inner = sorted(name for name in _folders(folder) if name.lower() not in _NO_EDITS)
    found = _find_edits(folder, inner, names)
    return found or [one for name in inner for one in _find_edits(folder / name, _folders(folder / name), names)]


def _find_edits(folder: Path, inner: Iterable[str], names: Collection[str]) -> list[str]:
    wanted = set(names)
    folders = []
    for name in sorted(inner):
        there = {stem(picture): picture for picture in pictures_of(folder / name)}
        near = likely(wanted - there.keys(), (there[stem] for stem in there.keys() - wanted))
        if wanted and (len(there.keys() & wanted) + len(near)) * 2 >= len(wanted):
            folders.append(os.path.normpath(folder / name))
    return folders


def find_edit_folders(written: str, pictures: Pictures) -> list[str]:
    """Returns the folders of edits in a folder that has no pictures itself; of anything else, what was written."""
    if not os.path.isdir(written) or pictures_of(Path(written)):
        return [written]
    found = likely_edits(Path(written), pictures.names)
    return [name for name in found if Path(name).resolve() not in pictures.folders] or [written]


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in os.scandir(folder) if entry.is_file()]


def _folders(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []


def _from_flag(error: ConfigurationError) -> ConfigurationError:
    """Rewords a benchmark's error about its `data_path` to name the flag."""
    text = re.sub(r"--set benchmark\.fields\.", "--field ", str(error))
    return ConfigurationError(
        text.replace("benchmark.data_path", "--pictures").replace("benchmark.fields.", "--field ")
    )


# -- models, as `--edits` names them --


_INDEXES = ("model_index.json", "modular_model_index.json")
NOBODY = "nobody"
"""What `--judge` takes for no judge: people look and vote."""
CLOSED = {"openai": "gpt-6.1-terra", "gemini": "gemini-3.8-flash", "anthropic": "claude-sonnet-5-5"}
"""One model of each maker."""
SMALL, LARGE = "Qwen/Qwen3.5-9B", "Qwen/Qwen3.5-27B"
NEEDS = 72 * 2**30
"""Bytes of a card on which the large one has room beside its weights of 54 GB."""


def parse_model(kind: Kind, written: str, pictures: Pictures) -> ModelDraft:
    """Reads the argument of `--edits` or `--judge`, which may begin with a name of its own (`ours=folder`).

    Raises `ConfigurationError` saying what to give instead.
    """
    if kind == "judge":
        return read_judge_flag(written)
    return read_model_flag("edit_model", written, lambda rest: _edits(rest, pictures))


def _edits(written: str, pictures: Pictures) -> ModelDraft | None:
    if address := SERVER.fullmatch(written):
        return server("image_endpoint", "--edits", address)
    if os.path.isdir(written):
        folder = Path(written)
        if any((folder / index).exists() for index in _INDEXES):
            return weights("diffusers", written, "weights in a folder")
        if (folder / "config.json").exists():
            raise ConfigurationError(
                Text(
                    "--edits {}: no {} in it, so it is not a diffusers pipeline; for a judge give `--judge {}`",
                    written,
                    _INDEXES[0],
                    written,
                )
            )
        return draft_edit_folder(folder, pictures)
    if written in pictures.columns:
        params = {"table": pictures.table, "column": written, **HERE}
        return ModelDraft(
            plain_name(written), {"type": "table_column", "params": params}, Text("the column {} of the table", written)
        )
    if os.path.isfile(written) and not written.endswith(".py"):
        raise ConfigurationError(
            Text("--edits {}: that is a file; give the folder of the edits or of the weights", written)
        )
    if (closed := _find_closed_model(written)) is not None:
        return closed
    if HUB_MODEL.fullmatch(written):
        release = find_release(written)
        licence = Text("not in our table of releases")
        if release and release.licence:
            licence = Text("licence: {}", release.licence)
        return weights("diffusers", written, Text("on the Hugging Face Hub; {}", licence))
    last = {each.name.rpartition("/")[2].lower(): each.name for each in list_releases() if each.pipeline}
    if written.lower() in last:
        raise ConfigurationError(Text("--edits {}: on the Hub it is `--edits {}`", written, last[written.lower()]))
    return None


def _find_closed_model(written: str) -> ModelDraft | None:
    """Returns a model that its maker alone runs, if a class of ours knows it by this name."""
    for component in components.list_components("edit_model"):
        if written.count("/") and component.origin == "built in":
            model_class = components.import_class("edit_model", component.class_path)
            model = getattr(model_class, "find_model", lambda name: None)(written)
            if model is not None:
                section = {"type": component.name, "params": {**model["params"], **HERE}}
                return ModelDraft(plain_name(written), section, model["words"])
    return None


def draft_edit_folder(folder: Path, pictures: Pictures, files: Mapping[str, str] | None = None) -> ModelDraft:
    """Returns a model for finished edits, each named like its sample or its source, or told by `files`."""
    try:
        found = _match_edits(folder, pictures.ids, files)
        by_source = found if found.files else _match_edits(folder, pictures.names, files)
    except ConfigurationError:
        raise ConfigurationError(
            Text("--edits {}: it has neither pictures ({}) nor a {}", folder, SUFFIXES, _INDEXES[0])
        ) from None
    if (len(by_source.files), len(by_source.likely)) > (len(found.files), len(found.likely)):
        if pictures.table and ids_of(pictures.names) == list(pictures.names):
            pictures.section["fields"] = {**pictures.section.get("fields", {}), "id": ""}
            pictures.ids = pictures.names
        found = _match_edits(folder, pictures.ids, files)
    if pictures.ids and not (found.files or found.likely):
        raise ConfigurationError(
            Text(
                "--edits {}: no picture in it has the name of a sample; rename {} and the others "
                "after the samples: {}, ...",
                folder,
                found.left[0],
                pictures.ids[:3],
            )
        )
    params = {"folder": str(folder), **({"files": dict(files)} if files else {}), **HERE}
    words = found.words if pictures.ids else pluralize(len(found.left), "picture")
    section = {"type": "image_folder", "params": params}
    return ModelDraft(plain_name(folder.resolve().name), section, words, likely=found.likely)


def _match_edits(folder: Path, ids: Sequence[str], files: Mapping[str, str] | None) -> Finished:
    return ImageFolder.match_edits(ImageFolder.Parameters(str(folder), dict(files or {})), SampleNames(ids))


def make_names_unique(models: list[ModelDraft]) -> dict[str, ModelDraft]:
    """Returns models by their names, which are made different if two are the same."""
    models_by_name: dict[str, ModelDraft] = {}
    for model in models:
        name, count = model.name, 2
        while name.lower() in {each.lower() for each in models_by_name}:
            name, count = f"{model.name}_{count}", count + 1
        models_by_name[name] = model
    return models_by_name


class OfferedJudge(NamedTuple):
    """A judge that is offered, or another way to get edits judged."""

    answer: str
    """What `--judge` takes; empty: a server, whose name and address are still to be asked."""
    words: str
    works_here: bool


def can_reach_servers() -> bool:
    """True if what asks judges behind servers is installed."""
    return find_spec("aiohttp") is not None


def list_judge_offers(edits: int) -> list[OfferedJudge]:
    """Returns what is offered for judging so many edits; 0 if their number is not known yet."""
    offered = []
    makers, reaches = import_chat_endpoint(), can_reach_servers()
    for api, model in CLOSED.items():
        known = makers and makers.find_judge(f"{api}/{model}")
        if not known:
            continue
        key, price = known["key"], known["price"]
        there = bool(os.environ.get(key))
        words: str = Text("{} is set", key) if there else Text("needs {}", key)
        words = words if reaches else Text("{}; needs aiohttp, too", words)
        if price and edits:
            usd = edits * (TYPICAL[0] * price[0] + TYPICAL[1] * price[1]) / 1e6
            words = Text("{}; about {:.2f} USD for {}", words, usd, pluralize(edits, "edit"))
        offered.append(OfferedJudge(f"{api}/{model}", Text("{}  ({})", f"{api}/{model}", words), there and reaches))
    memory = max((gpu.memory or 0 for gpu in LocalMachine().gpus()), default=0)
    weights = LARGE if memory >= NEEDS else SMALL
    here = (
        Text("{} on this machine's GPU", weights) if memory else Text("{} on this machine's GPU (none here)", weights)
    )
    return [
        *offered,
        OfferedJudge("", Text("your own server: {}", "MODEL@http://localhost:8000/v1"), False),
        OfferedJudge(weights, here, bool(memory)),
        OfferedJudge(NOBODY, Text("nobody yet: I look and vote myself"), True),
    ]
