"""The five-dimension benchmark: one JSON with embedded source images and instructions in Chinese and English.

The first use makes one streaming pass over the file (see `source_pass`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from edit_eval.benchmarks.categories import canonical
from edit_eval.benchmarks.item_fields import LANGUAGES, STEM_FIELD, Fields, nearest, shown
from edit_eval.benchmarks.item_sources import CheckedItem, SourceFinder
from edit_eval.benchmarks.json_items import MAX_TEXT, BenchmarkItem, ItemReader
from edit_eval.benchmarks.plain_files import PlainFiles
from edit_eval.benchmarks.source_cache import SourceCache
from edit_eval.benchmarks.source_pass import SourcePass, unique_id
from edit_eval.errors import ConfigurationError
from edit_eval.records import Picture, Sample
from edit_eval.text import Text

REGISTERED = {"five_dimensions": "FiveDimensions"}

_POLICIES = ("error", "skip")


class FiveDimensions:
    """A JSON or JSONL file of source images and instructions in Chinese and English, with a category each.

    The file is a list of items, an object of category -> list, or JSONL.

    A sample's source is the embedded picture (`src_img_b64`), or, for an item without one, the file that `src_img_path`
    or `original_image_path` names, which must lie in the folder of the JSON or below. Its id is the stem of
    `original_image_path`; without that the field `id`; without that index and category, as in `00003_物理`. With
    `fields: {id: NAME}` it is that field as it is. The item's own `seed` is not used: it is how its source was made.

    A sample with several things wrong names all of them in its `fault`. Of samples with one id all but the first are
    faulty, and get their index appended to it, so that ids are unique. The content of a picture decides what it is:
    a JPEG under a name with `.png` is used, and said in `notes`.
    """

    @dataclass
    class Parameters:
        """What the YAML's `benchmark` may say, filters aside."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        data_path: str
        """The JSON file."""
        language: str = "en"
        """`en` or `zh`: which instruction and description are used."""
        fields: dict[str, str] = field(default_factory=dict)
        """Our name of a field -> its name in the file, "" for one that the file does not have."""
        on_bad_sample: str = "error"
        """`error`: a bad sample stops the run before anything is loaded; `skip`: it is counted, and left out."""
        cache_dir: str | None = None
        """Where the source images are laid; None: `edit-eval/sources` in the user's cache."""
        allow_links: bool = False
        """Whether links to pictures may lead out of the folder of the JSON."""

    def __init__(self, parameters: Parameters) -> None:
        """Raises `ConfigurationError` for an unknown language, policy or field."""
        for key, value, valid in (
            ("language", parameters.language, LANGUAGES),
            ("on_bad_sample", parameters.on_bad_sample, _POLICIES),
        ):
            if value not in valid:
                raise ConfigurationError(
                    Text("benchmark.{}: {} is not valid; {}", key, shown(value), nearest(value, valid))
                )
        self.language = parameters.language
        self.on_bad_sample = parameters.on_bad_sample
        self.notes: tuple[str, ...] = ()
        """What is worth saying and no fault, one line each; there once `samples` has come to its end."""
        self.position = (0, 0)
        """Bytes of the file that the pass has read, and its size."""
        self._path = Path(parameters.data_path).expanduser().absolute()
        self._fields = Fields(parameters.fields, parameters.language)
        self._cache = SourceCache(parameters.cache_dir)
        self._files = PlainFiles(self._path.parent, parameters.allow_links)
        names = "\n".join(f"{ours}={','.join(self._fields.names[ours])}" for ours in sorted(self._fields.names))
        names += f"\nallow_links={parameters.allow_links}"
        self._pass = SourcePass([self._path], self._cache, names, share=3 / 4)  # base64 has 4 characters for 3 bytes

    def samples(self) -> Iterator[Sample]:
        """All samples in the file's order, bad ones with a `fault`; on the first use as the pass comes by them.

        Raises `ConfigurationError` for a file that is missing, empty, broken (with the byte) or without any item, and
        for a cache that cannot be written; `Stopped` for a full disk.
        """
        notes: list[str] = []
        ids: dict[str, int] = {}
        for finding in self._pass.findings(self._read):
            sample = self._sample(finding, ids)
            if finding.note:
                notes.append(Text("index {} ({}): {}", sample.index, shown(sample.id), finding.note))
            yield sample
        if not ids:
            raise ConfigurationError(Text("benchmark.data_path: {} has no samples", self._path))
        self.notes = (*notes, *self._pass.said)

    def _read(self) -> Iterator[CheckedItem]:
        """Reads the whole file. One item, and so one picture, is in memory at a time."""
        reader = ItemReader(self._path, self._fields.all_names, large=frozenset(self._fields.names["source"]))
        finder = SourceFinder(self._files, self._fields, self._cache)
        size = self._pass.bytes
        for item in reader.items():
            self.position = (reader.position, size)
            yield finder.find(item)
        self._pass.said = [Text("{} is not a list of items: ignored", shown(name)) for name in reader.ignored]

    def verify(self) -> str:
        """Reads every source in the cache again: those that are not what was recorded are gone afterwards.

        The next `samples` takes them from the benchmark's file. Returns one line where there were any.
        """
        return self._pass.verify()

    def _sample(self, finding: CheckedItem, ids: dict[str, int]) -> Sample:
        """Makes a sample of an item; what is wrong with it is its fault. `ids`: those so far, with their index."""
        item, fields, faults = finding.item, self._fields, [] if not finding.fault else [finding.fault]
        if item.problem:
            faults = [Text("the item {}", item.problem)]
        faults += [Text("{} is longer than {} characters", name, MAX_TEXT) for name in item.too_long]
        category = self._category(item, faults)
        texts = {language: self._texts(item, language, faults) for language in LANGUAGES}
        instruction, description, rationale = texts[self.language]
        difficulty, tags = fields.word(item, "difficulty", faults), self._tags(item, faults)
        named = self._id(item, category, faults)
        if named in ids:
            faults.append(
                Text(
                    "the id {} is already used at index {}: ids must be unique (fields: {{id: NAME}} "
                    "takes them from another field)",
                    shown(named),
                    ids[named],
                )
            )
        if others := fields.others(item, faults):
            faults.append(others)
        source = None if faults else finding.source
        return Sample(
            id=unique_id(named, item.index, ids),
            index=item.index,
            category=canonical(category),
            pictures={"source": Picture(path=source.path, digest=source.digest)} if source else {},
            instruction=instruction,
            description=description,
            language=fields.language,
            difficulty=difficulty,
            tags=tags,
            instructions={language: text[0] for language, text in texts.items() if text[0]},
            rationale=rationale,
            fault="; ".join(faults),
        )

    def _texts(self, item: BenchmarkItem, language: str, faults: list[str]) -> tuple[str, str, str]:
        """Instruction, description and rationale. Those of the run's language are needed, but for the rationale."""
        needed = language == self.language and not item.problem
        found = faults if needed else []  # what is wrong with the other language does not hurt
        instruction = self._fields.text(item, f"instruction_{language}", found, required=needed)
        # A file that has no descriptions says so: a judge's prompt with a hole in it would go unnoticed.
        described = bool(self._fields.names[f"description_{language}"])
        description = self._fields.text(item, f"description_{language}", found, required=needed and described)
        return instruction, description, self._fields.text(item, f"rationale_{language}", found)

    def _category(self, item: BenchmarkItem, faults: list[str]) -> str:
        group = item.group.strip()
        return self._fields.text(item, "category", faults, required=not (group or item.problem)) or group

    def _tags(self, item: BenchmarkItem, faults: list[str]) -> tuple[str, ...]:
        value = self._fields.value(item, "tags")
        if value is None:
            return ()
        if not isinstance(value, list):
            faults.append(self._fields.wrong("tags", value, Text("a list of strings")))
        elif not all(isinstance(tag, str) for tag in value):
            faults.append(Text("{} has entries that are not strings", self._fields.names["tags"][0]))
        else:
            return tuple(value)
        return ()

    def _id(self, item: BenchmarkItem, category: str, faults: list[str]) -> str:
        path = item.values.get(STEM_FIELD)
        if "id" not in self._fields.mapped and isinstance(path, str):
            name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
            stem = name.rpartition(".")[0] or name
            if stem.strip():
                return stem
        chosen = bool(self._fields.mapped.get("id")) and not item.problem
        return self._fields.word(item, "id", faults, required=chosen) or f"{item.index:05d}_{category}".rstrip("_")
