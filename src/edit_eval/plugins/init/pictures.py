"""Pictures as `--pictures` names them: a benchmark of ours, a table, a folder with texts, or a folder without texts."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from edit_eval.benchmarks.contract import language_of
from edit_eval.benchmarks.file_tree import is_archive
from edit_eval.benchmarks.table import NoColumn, TableBenchmark, ids_of
from edit_eval.benchmarks.tables import PICTURES, TEXT_TABLES, CsvTable, JsonTable, PictureFolder, find_table
from edit_eval.config import components
from edit_eval.config.faults import did_you_mean, nearest_path
from edit_eval.errors import ConfigurationError
from edit_eval.files.hub import is_address
from edit_eval.files.matching import likely
from edit_eval.files.new import harmless
from edit_eval.json_values import Unchecked
from edit_eval.text import Text, pluralize

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
        described = components.describe(self.section["type"])
        return any(
            description.kind == "benchmark" and description.about["protocol"] == "rubric" for description in described
        )

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

    def use_source_names(self) -> None:
        """Uses picture names as sample ids, if edits are named like that and no two are alike."""
        if self.table and ids_of(self.names) == list(self.names):
            self.section["fields"] = {**self.section.get("fields", {}), "id": ""}
            self.ids = self.names


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
        return _find_hub_table(written)
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


def _find_hub_table(written: str) -> Pictures:
    address = written if is_address(written) else f"hub:{written}"
    plain = address.removeprefix("hub:").removeprefix("hf://datasets/").partition("@")[0].lower()
    for entry in components.list_components("benchmark"):
        if plain in entry.about.get("source", "").lower().replace(",", " ").split():
            return _benchmark(entry.name, address)
    return Pictures({"type": "table", "data_path": address}, Text("a table on the Hugging Face Hub"))


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
    """Returns the subfolders whose pictures have, or may mean, at least half of `names`, but for those of sources."""
    wanted = set(names)
    folders = []
    for name in sorted(name for name in _folders(folder) if name.lower() not in _NO_EDITS):
        there = {stem(picture): picture for picture in pictures_of(folder / name)}
        near = likely(wanted - there.keys(), (there[stem] for stem in there.keys() - wanted))
        if wanted and (len(there.keys() & wanted) + len(near)) * 2 >= len(wanted):
            folders.append(os.path.normpath(folder / name))
    return folders


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
