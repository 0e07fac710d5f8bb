"""`init`: makes a configuration from pictures, edits and judges that the user has.

Pictures are a benchmark of ours, a table, a folder with texts, or a folder without texts.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from edit_eval.benchmarks.file_tree import is_archive
from edit_eval.benchmarks.table import NoColumn, TableBenchmark, ids_of
from edit_eval.benchmarks.tables import PICTURES, TEXT_TABLES, CsvTable, JsonTable, PictureFolder, find_table
from edit_eval.config import components
from edit_eval.config.faults import Place, did_you_mean, nearest_path
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import read_devices_flag
from edit_eval.config.sections import NAME
from edit_eval.config.shipped import shipped
from edit_eval.config.yaml_text import parse, write_yaml
from edit_eval.edit_models.image_folder import SUFFIXES
from edit_eval.edit_models.release_table import RELEASES
from edit_eval.errors import ConfigurationError
from edit_eval.hub import is_address
from edit_eval.judges.closed_judges import MAKERS, judge_of
from edit_eval.new_files import harmless, refuse_existing
from edit_eval.pictures import slug
from edit_eval.reporting.language import said, said_own, spoken
from edit_eval.text import Text, counted

TEMPLATE = "instructions.csv"
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+(@[\w.-]+)?")
_PATH = 500
"""Limit of characters of a path in a table; anything longer is a picture in base64."""
_CHINESE = re.compile("[\u4e00-\u9fff]")
_LIKELY = ("pictures", "photos", "images", "source", "sources", "input", "inputs", "original", "originals", "src")
"""Usual names of a folder of pictures."""
_OUR_FORMAT = {"src_img_b64", "original_image_path"}
"""Columns that only a file of the benchmark `five_dimensions` has."""


@dataclass
class Pictures:
    """The pictures to edit."""

    section: dict[str, Any]
    """Section `benchmark` of the configuration."""
    words: str
    ids: tuple[str, ...] = ()
    """Ids of the samples, by which finished edits are found; empty if not known before the benchmark is read."""
    names: tuple[str, ...] = ()
    """The sources' file names without folder and ending, sample by sample."""
    folders: frozenset[Path] = frozenset()
    """Folders of the sources, resolved: not a model's edits."""
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
        return any(one.kind == "benchmark" and one.about["protocol"] == "rubric" for one in described)

    def by_their_sources(self) -> None:
        """Uses picture names as sample ids, if edits are named like that and no two are alike."""
        if self.table and ids_of(self.names) == list(self.names):
            self.section["fields"] = {**self.section.get("fields", {}), "id": ""}
            self.ids = self.names


def look_at_pictures(written: str, *, instruction: str = "", fields: Mapping[str, str] | None = None) -> Pictures:
    """Reads the argument of `--pictures`. `instruction` applies to every picture of a folder without its own.

    Raises `ConfigurationError` saying what to give instead.
    """
    name, equals, path = written.partition("=")
    if equals and components.locate("benchmark", name):
        return _benchmark(name, path)
    if not os.path.lexists(written) and components.locate("benchmark", written):
        return _benchmark(written, "")
    if is_address(written) or (not os.path.lexists(written) and _HUB_NAME.fullmatch(written)):
        return _on_the_hub(written)
    given = Path(written)
    if not given.exists():
        named = did_you_mean(written, components.names("benchmark"))
        bare = not (os.path.dirname(written) or given.suffix)  # rather a benchmark's name than a file's
        meant = named or nearest_path(given) if bare else nearest_path(given) or named
        raise ConfigurationError(Text("--pictures: no such file or folder: {}{}", written, meant))
    found = _folder(given, instruction) if given.is_dir() else _file(given, dict(fields or {}))
    if instruction and not found.new_file:
        raise ConfigurationError(Text("--instruction: these pictures already have instructions; leave it out"))
    return found


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
    missing = [parameter.name for parameter in described.parameters if parameter.required]
    if missing and not path:
        raise ConfigurationError(Text("--pictures {}: it needs its data: `--pictures {}=FILE`", name, name))
    if path and not (is_address(path) or os.path.exists(path)):
        raise ConfigurationError(Text("--pictures: no such file or folder: {}{}", path, nearest_path(path)))
    licence = Text("; licence: {}", described.about["licence"]) if "licence" in described.about else ""
    return Pictures(
        {"type": name, **({"data_path": path} if path else {})}, Text("{}{}", described.summary.rstrip("."), licence)
    )


def _on_the_hub(written: str) -> Pictures:
    address = written if is_address(written) else f"hub:{written}"
    plain = address.removeprefix("hub:").removeprefix("hf://datasets/").partition("@")[0].lower()
    for entry in components.known("benchmark"):
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
        table, found = TableBenchmark(TableBenchmark.Parameters(str(path), fields=fields)).looked_at()
        columns = table.columns()
        wanted = {found[name] for name in ("id", "source", "instruction") if name in found}
        texts = isinstance(table, CsvTable | JsonTable | PictureFolder)
        rows = [_texts(row, found) for row in table.rows(wanted, lambda share: None)] if texts else []
    except NoColumn as error:
        raise NoColumn(str(_from_flag(error)), error.ours, error.there) from None
    except ConfigurationError as error:
        raise _from_flag(error) from None
    if texts and not rows:
        raise ConfigurationError(Text("--pictures {}: the table has no rows; write one for each picture", path))
    unused = tuple(name for name in columns if name not in found.values())
    if not texts:
        return Pictures(section, Text("a table of pictures and instructions"), table=str(path), columns=unused)
    empty = sum(not instruction for _, _, instruction in rows)
    chinese = sum(bool(_CHINESE.search(instruction)) for _, _, instruction in rows)
    if chinese * 2 > len(rows) - empty:
        section["language"] = "zh"
    ids = ids_of([source for _, source, _ in rows])
    return Pictures(
        section,
        Text("{}: {}", counted(len(rows), "row"), (f"{ours} = {theirs}" for ours, theirs in found.items())),
        ids=tuple(own or name for (own, _, _), name in zip(rows, ids, strict=True)),
        names=tuple(stem(source) for _, source, _ in rows),
        table=str(path),
        columns=unused,
        empty=empty,
        folders=frozenset((path.parent / source).parent.resolve() for _, source, _ in rows if source),
        template=path if empty else None,
    )


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
            words = Text("{}{}", counted(len(pictures), "picture"), said)
            return Pictures(section, words, ids=ids, names=ids, folders=sources, empty=without)
        table = None
    if table is not None:
        return _file(table.files[0], {}) if len(table.files) == 1 else _table(folder, {})
    if not pictures:
        inside = [name for name in sorted(_folders(folder)) if pictures_of(folder / name)]
        has = Text("; these folders in it have: {}", (str(folder / name) for name in inside[:5])) if inside else ""
        raise ConfigurationError(Text("--pictures {}: no pictures in it ({}, ...){}", folder, PICTURES[:4], has))
    return _without_instructions(folder, pictures, instruction)


def _without_instructions(folder: Path, pictures: Sequence[str], instruction: str) -> Pictures:
    """Prepares a table to be filled in, beside the pictures; ids are their names without the ending."""
    stems = Counter(map(stem, pictures))
    ids = [stem(name) if stems[stem(name)] == 1 else name.replace(".", "_") for name in pictures]
    # For a spreadsheet, which would run a file called `=...`; and tables are read as they are, apostrophes too.
    ids = [one if harmless(one) == one else f"_{one}" for one in ids]
    paths = [name if harmless(name) == name else f"./{name}" for name in pictures]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "image", "instruction"])
    writer.writerows(zip(ids, paths, [instruction] * len(pictures), strict=True))
    path = folder / TEMPLATE
    return Pictures(
        {"type": "table", "data_path": str(path)},
        Text("{}, the instructions in {}", counted(len(pictures), "picture"), TEMPLATE),
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
    """Returns the subfolders whose pictures have the names of at least half of `names`."""
    wanted = set(names)
    found = []
    for name in sorted(_folders(folder)):
        there = {stem(picture) for picture in pictures_of(folder / name)}
        if wanted and len(there & wanted) * 2 >= len(wanted):
            found.append(os.path.normpath(folder / name))
    return found


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


# -- edit models and judges: a folder of finished edits, weights, a server, a class, or a name that `list` shows --

Kind = Literal["edit_model", "judge"]
FLAGS: dict[Kind, str] = {"edit_model": "--edits", "judge": "--judge"}
_HUB_MODEL = re.compile(r"[\w-][\w.-]*/[\w.-]+")
_SERVER = re.compile(r"(?:(?P<model>[^@\s]+)@)?(?P<address>https?://\S+)")
_INDEXES = ("model_index.json", "modular_model_index.json")
_REPLIES = (".json", ".jsonl", ".csv", ".tsv")
_HERE = {"device_ids": "cpu:1"}
"""Device of models that compute nothing on this machine."""


@dataclass(frozen=True)
class ModelDraft:
    """One model of a configuration."""

    name: str
    section: dict[str, Any]
    words: str
    wants_device: bool = False

    @property
    def writes(self) -> bool:
        """True if it is a judge that can give reasons."""
        return self.section.get("type") in ("chat_endpoint", "transformers")


def look_at_model(kind: Kind, written: str, pictures: Pictures) -> ModelDraft:
    """Reads the argument of `--edits` or `--judge`, which may begin with a name of its own (`ours=folder`).

    Raises `ConfigurationError` saying what to give instead.
    """
    flag = FLAGS[kind]
    name, equals, rest = written.partition("=")
    if not equals or not NAME.fullmatch(name) or os.path.lexists(written):
        name, rest = "", written
    if not rest.strip():
        raise ConfigurationError(Text("{}: it is empty; `edit-eval init -h` shows what it accepts", flag))
    found = _edits(rest, pictures) if kind == "edit_model" else _judge(rest)
    if found is None:
        found = _either(kind, flag, rest)
    return ModelDraft(name or found.name, found.section, found.words, found.wants_device)


def _edits(written: str, pictures: Pictures) -> ModelDraft | None:
    if server := _SERVER.fullmatch(written):
        return _server("image_endpoint", "--edits", server)
    if os.path.isdir(written):
        folder = Path(written)
        if any((folder / index).exists() for index in _INDEXES):
            return _weights("diffusers", written, "weights in a folder")
        if (folder / "config.json").exists():
            raise ConfigurationError(
                Text(
                    "--edits {}: no {} in it, so it is not a diffusers pipeline; for a judge give `--judge {}`",
                    written,
                    _INDEXES[0],
                    written,
                )
            )
        return _finished(folder, pictures)
    if written in pictures.columns:
        params = {"table": pictures.table, "column": written, **_HERE}
        return ModelDraft(
            _name(written), {"type": "table_column", "params": params}, Text("the column {} of the table", written)
        )
    if os.path.isfile(written) and not written.endswith(".py"):
        raise ConfigurationError(
            Text("--edits {}: that is a file; give the folder of the edits or of the weights", written)
        )
    if (closed := _by_its_makers_name(written)) is not None:
        return closed
    known = [release.name for release in RELEASES]
    if _HUB_MODEL.fullmatch(written):
        release = next((each for each in RELEASES if each.name == written), None)
        licence = Text("not in our table of releases")
        if release and release.licence:
            licence = Text("licence: {}", release.licence)
        return _weights("diffusers", written, Text("on the Hugging Face Hub; {}", licence))
    last = {name.rpartition("/")[2].lower(): name for name in known}
    if written.lower() in last:
        raise ConfigurationError(Text("--edits {}: on the Hub it is `--edits {}`", written, last[written.lower()]))
    return None


def _by_its_makers_name(written: str) -> ModelDraft | None:
    """Returns a model that its maker alone runs, if a class of ours knows it by this name."""
    for one in components.known("edit_model"):
        if written.count("/") and one.origin == "built in":
            model_class = components.import_class("edit_model", one.class_path)
            found = getattr(model_class, "by_name", lambda name: None)(written)
            if found is not None:
                section = {"type": one.name, "params": {**found["params"], **_HERE}}
                return ModelDraft(_name(written), section, found["words"])
    return None


def _finished(folder: Path, pictures: Pictures) -> ModelDraft:
    """Returns a model for finished edits, each named like its sample or its source."""
    there = [name for name in pictures_of(folder) if name.lower().endswith(SUFFIXES)]
    if not there:
        raise ConfigurationError(
            Text("--edits {}: it has neither pictures ({}) nor a {}", folder, SUFFIXES, _INDEXES[0])
        )
    stems = {stem(name) for name in there}
    if not stems & set(pictures.ids) and stems & set(pictures.names):
        pictures.by_their_sources()
    count = len(stems & set(pictures.ids)) if pictures.ids else len(there)
    if not count:
        raise ConfigurationError(
            Text(
                "--edits {}: no picture in it has the name of a sample; rename {} and the others "
                "after the samples: {}, ...",
                folder,
                there[0],
                pictures.ids[:3],
            )
        )
    missing = [one for one in pictures.ids if one not in stems]
    lacks = Text("; without {}", [*missing[:5], *(["..."] if missing[5:] else [])]) if missing else ""
    of = Text("{} of {} edits", count, len(pictures.ids)) if pictures.ids else counted(count, "picture")
    section = {"type": "image_folder", "params": {"folder": str(folder), **_HERE}}
    return ModelDraft(_name(folder.resolve().name), section, Text("{}, found by their names{}", of, lacks))


def _judge(written: str) -> ModelDraft | None:
    if server := _SERVER.fullmatch(written):
        return _server("chat_endpoint", "--judge", server)
    if os.path.isdir(written):
        if not (Path(written) / "config.json").exists():
            raise ConfigurationError(Text("--judge {}: no config.json in it, so it is not a judge", written))
        return _weights("transformers", written, "weights in a folder")
    if os.path.isfile(written) and written.lower().endswith(_REPLIES):
        section = {"type": "recorded", "params": {"path": written, **_HERE}}
        return ModelDraft("recorded", section, Text("replies from a file"))
    maker, _, model = written.partition("/")
    if maker in MAKERS and model:
        row = judge_of(maker, model)
        cost = Text("price not in our table")
        if row.price is not None:
            cost = Text("{:g} and {:g} USD for a million tokens read and written", *row.price)
        params = {"api": maker, "model": model, **_HERE}
        words = Text("its key goes into ${}; {}", MAKERS[maker].key, cost)
        return ModelDraft(_name(model), {"type": "chat_endpoint", "params": params}, words)
    if _HUB_MODEL.fullmatch(written):
        return _weights("transformers", written, Text("on the Hugging Face Hub"))
    return None


def _either(kind: Kind, flag: str, written: str) -> ModelDraft:
    """Returns a model for a registered name, or for the user's own class."""
    if components.locate(kind, written):
        described = next(d for d in components.describe(written) if d.kind == kind)
        if required := [parameter.name for parameter in described.parameters if parameter.required]:
            raise ConfigurationError(
                Text("{} {}: it needs parameters ({}); {}", flag, written, required, _remedies(kind))
            )
        return ModelDraft(_name(written), {"type": written}, described.summary.rstrip("."), True)
    if ".py:" in written or re.fullmatch(r"[\w.]+:\w+|\w+(\.\w+)+", written):
        try:
            components.import_class(kind, components.normalise_class_path(written), Path.cwd())
        except ConfigurationError as error:
            raise ConfigurationError(Text("{}: {}", flag, error)) from None
        return ModelDraft(
            _name(written.rpartition(":")[2].rpartition(".")[2]), {"class_path": written}, Text("of your own"), True
        )
    if os.sep in written or os.path.lexists(written):
        raise ConfigurationError(Text("{}: no such folder: {}{}", flag, written, nearest_path(written)))
    meant = did_you_mean(written, components.names(kind)) or nearest_path(written)
    other = components.unknown_type(kind, written).partition(";")[0]
    raise ConfigurationError(Text("{}: {}{}", flag, other, meant or Text("; {}", _remedies(kind))))


def _remedies(kind: Kind) -> str:
    folder = Text("a folder of edits, ") if kind == "edit_model" else ""
    return Text("give {}OWNER/NAME on the Hub, MODEL@http://HOST:8000/v1, or FILE.py:CLASS", folder)


def _server(type_: str, flag: str, server: re.Match[str]) -> ModelDraft:
    address = server["address"].rstrip("/")
    model = server["model"] or only_model(flag, address)
    params = {"base_url": address, "model": model, **_HERE}
    return ModelDraft(
        _name(model), {"type": type_, "params": params}, Text("a server; a key for it goes into ${}", KEY)
    )


def _weights(type_: str, written: str, words: str) -> ModelDraft:
    return ModelDraft(_name(Path(written).name), {"type": type_, "params": {"model_name": written}}, words, True)


def _name(text: str) -> str:
    """Makes a name for a model from its argument."""
    name = re.sub(r"[^\w.-]+", "_", text.rpartition("/")[2]).strip("_.-")
    return name if NAME.fullmatch(name) else slug(name) or "model"


def apart(models: list[ModelDraft]) -> dict[str, ModelDraft]:
    """Returns models by their names, which are made different if two are the same."""
    found: dict[str, ModelDraft] = {}
    for model in models:
        name, count = model.name, 2
        while name.lower() in {each.lower() for each in found}:
            name, count = f"{model.name}_{count}", count + 1
        found[name] = model
    return found


def on_devices(section: Mapping[str, Any], devices: str) -> dict[str, Any]:
    """Returns a section with the given devices."""
    written: Any = devices
    if re.fullmatch(r"\d+(,\d+)*", devices):
        written = [int(number) for number in devices.split(",")]
    return {**section, "params": {**section.get("params", {}), "device_ids": written}}


# -- the models of a server: asked once, at its `/models`, as defined by the OpenAI protocol --

_SECONDS = 10.0
_LARGEST = 4 << 20
KEY = "OPENAI_API_KEY"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


def only_model(flag: str, address: str) -> str:
    """Returns the model of a server that has one. Raises `ConfigurationError` if it has others, or does not answer."""
    request = urllib.request.Request(f"{address.rstrip('/')}/models")
    if key := os.environ.get(KEY):
        request.add_header("Authorization", f"Bearer {key}")
    more = Text("name its model: `{} MODEL@{}`", flag, address)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            document = json.loads(answer.read(_LARGEST))
        names = [str(model["id"]) for model in document["data"]]
    except urllib.error.HTTPError as error:
        hint = Text("; does the address end with /v1?") if error.code == 404 else ""
        raise ConfigurationError(
            Text("{} {}: it does not say which models it has ({}){}; {}", flag, address, error.code, hint, more)
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        words = getattr(reason, "strerror", None) or str(reason)
        raise ConfigurationError(
            Text("{} {}: no answer ({}); start the server, or {}", flag, address, words, more)
        ) from None
    except (KeyError, TypeError):
        raise ConfigurationError(Text("{} {}: its list of models is unreadable; {}", flag, address, more)) from None
    if len(names) == 1:
        return names[0]
    there = Text("it has {}", names[:8]) if names else Text("it names no model")
    raise ConfigurationError(Text("{} {}: {}; say which: `{} MODEL@{}`", flag, address, there, flag, address))


# -- the configuration, with comments; or a copy of one that comes with edit-eval --

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
        meant = f"--from {file}" if str(file) in shipped() else f"{file}.yaml"
        raise ConfigurationError(
            Text("{}: a configuration's name ends with .yaml; did you mean `edit-eval init {}`?", file, meant)
        )
    refuse_existing(file, force=force)


def copy_shipped(name: str, file: Path) -> Started:
    """Writes one of the configurations of `list`. Raises `ConfigurationError` for an unknown name."""
    known = shipped()
    if name not in known:
        meant = did_you_mean(name, known) or Text("; `edit-eval list` shows all")
        raise ConfigurationError(Text("--from {}: no configuration of that name{}", name, meant))
    text = known[name].read_text(encoding="utf-8").replace(f"configs/{name}.yaml", str(file))
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


def configuration_text(
    file: str,
    pictures: Pictures,
    edits: Sequence[ModelDraft],
    judges: Sequence[ModelDraft],
    devices: str,
    reasons: bool = False,
) -> str:
    """Returns the YAML; with `reasons`, judges that can give reasons do."""
    language = spoken(str(pictures.section.get("language", "")))
    first_try = f"  # limit: 2    # {said(_FIRST_TRY, language)}\n"
    blocks = [_block({"benchmark": pictures.section}, {("benchmark", "type"): pictures.words}, language) + first_try]
    for key, models in (("edit_models", edits), ("judges", judges)):
        named = apart(list(models))
        where = {
            name: on_devices(each.section, devices) if each.wants_device else each.section
            for name, each in named.items()
        }
        words: dict[Place, str] = {
            (key, name, which): each.words for name, each in named.items() for which in ("type", "class_path")
        }
        for name, each in named.items():
            if reasons and each.writes:
                where[name] = {**where[name], "protocol": {"answer": "reason_then_score"}}
                words[key, name, "protocol", "answer"] = Text("`score` is several times faster")
        blocks.append(_block({key: where}, words, language))
    return _head(file, language) + "\n".join(blocks)


def _head(file: str, language: str) -> str:
    """Returns the comment at the top: what to type next."""
    lines: list[str] = [
        Text("Written by `edit-eval init`. Paths count from the folder in which you type:"),
        "",
        f"  edit-eval doctor {file}      {said(Text('does it all fit, is it all there?'), language)}",
        f"  edit-eval run {file}",
        "",
        Text("`edit-eval describe TYPE` shows what else may stand beside a `type`."),
    ]
    return "".join(f"# {said(line, language)}".rstrip() + "\n" for line in lines) + "\n"


def _block(section: dict[str, Any], words: dict[Place, str], language: str) -> str:
    def remark(place: Place) -> str:
        found = words.get(place, "")
        return said(found, language) if isinstance(found, Text) else said_own(found, language)

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
