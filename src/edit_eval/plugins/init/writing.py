"""The configuration that `init` writes, with comments; or a copy of one that comes with edit-eval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edit_eval.config.faults import Place, did_you_mean
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import read_devices_flag
from edit_eval.config.shipped import find_shipped_files
from edit_eval.config.shorthand import ModelDraft, set_devices
from edit_eval.config.yaml_text import parse, write_yaml
from edit_eval.errors import ConfigurationError
from edit_eval.files.new import refuse_existing
from edit_eval.json_values import Unchecked
from edit_eval.plugins.init.models import make_names_unique
from edit_eval.plugins.init.pictures import Pictures
from edit_eval.reporting.language import current_language, translate, translate_description
from edit_eval.text import Text

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
        meant = f"--from {file}" if str(file) in find_shipped_files() else f"{file}.yaml"
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
    for key, models in (("edit_models", edits), ("judges", judges)):
        named = make_names_unique(list(models))
        where = {
            name: set_devices(each.section, devices) if each.wants_device else each.section
            for name, each in named.items()
        }
        words: dict[Place, str] = {
            (key, name, which): each.words for name, each in named.items() for which in ("type", "class_path")
        }
        for name, each in named.items():
            if reasons and each.writes:
                where[name] = {**where[name], "protocol": {"answer": "reason_then_score"}}
                words[key, name, "protocol", "answer"] = Text("`score` is several times faster")
        if not models:
            words[(key,)] = Text("nobody yet: `edit-eval view` shows the edits and collects votes")
        blocks.append(_block({key: where}, words, language))
    return _head(file, language) + "\n".join(blocks)


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
