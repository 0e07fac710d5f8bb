"""`gedit`: GEdit-Bench (stepfun-ai/GEdit-Bench on the hub, arXiv 2504.17761), from its Parquet files as they are.

Facts: stepfun-ai/Step1X-Edit@570eba6, GEdit-Bench/generate_image_example.py (columns) and test_gedit_score.py (what is
judged against which picture); the card at revision 58159f3: one split `train`, 1,212 rows, 606 a language, MIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.item_fields import shown
from edit_eval.benchmarks.item_sources import Finding
from edit_eval.benchmarks.json_items import MAX_TEXT, Item
from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.benchmarks.source_cache import SourceCache
from edit_eval.benchmarks.source_pass import SourcePass, unique_id
from edit_eval.errors import PictureError
from edit_eval.records import Picture, Sample

REGISTERED = {"gedit": "GEdit"}

LANGUAGES = {"en": "en", "cn": "zh"}
"""The word in `instruction_language` -> ours."""
INTERSECTION = "intersection"
"""The tag of the samples that every model of the authors' comparison has edited (`Intersection_exist`)."""
_COLUMNS = ("task_type", "key", "instruction", "instruction_language", "Intersection_exist")


class GEdit:
    """GEdit-Bench: real instructions of eleven task types, in English or Chinese, judged as `viescore`.

    A sample's category is its task type; its id is made of task type, language and key, for keys repeat. A row whose
    language is unknown is a bad sample in either language.
    """

    @dataclass
    class Parameters:
        """What the YAML's `benchmark` may say, filters aside."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        data_path: str
        """A Parquet file of the data set, or the folder in which (or below which) they all lie."""
        language: str = "en"
        """`en` or `zh`: which half of the instructions. The files call the Chinese one `cn`."""
        subset: Literal["full", "intersection"] = "full"
        """`intersection`: only what every model of the authors' comparison has edited."""
        picture: Literal["input_image", "input_image_raw"] = "input_image"
        """The column with the source: the one with which the authors compare the edit, or the picture before it was
        scaled for that."""
        on_bad_sample: str = "error"
        """`error`: a bad sample stops the run before anything is loaded; `skip`: it is counted, and left out."""
        cache_dir: str | None = None
        """Where the source images are laid; None: `edit-eval/sources` in the user's cache."""

    protocol = "viescore"
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2504.17761; hub stepfun-ai/GEdit-Bench",
        "licence": "MIT",
        "samples": "606 of eleven task types in English, 606 in Chinese",
        "formula": "the root of least SC times least PQ, each 0 to 10; mean of the task types' means",
        "defects": "one key stands under two task types; the authors guess a number for a reply that they cannot read",
    }

    def __init__(self, parameters: Parameters) -> None:
        """Raises `ConfigurationError` for a folder without Parquet files."""
        self.notes: tuple[str, ...] = ()
        """What is worth saying and no fault, one line each; there once `samples` has come to its end."""
        self.position = (0, 0)
        """Bytes of the files that the pass has read, about, and their size."""
        self._parameters = parameters
        self._files = parquet_files(parameters.data_path)
        self._cache = SourceCache(parameters.cache_dir)
        self._pass = SourcePass(self._files, self._cache, parameters.picture)

    def samples(self) -> Iterator[Sample]:
        """All samples of the language and the subset, in the files' order, bad ones with a `fault`.

        Raises `ConfigurationError` for files that are missing, broken or without a column, and for a cache that cannot
        be written; `Stopped` for a full disk.
        """
        notes: list[str] = []
        ids: dict[str, int] = {}
        for finding in self._pass.findings(self._read):
            language = LANGUAGES.get(finding.item.values["instruction_language"])
            if language not in (None, self._parameters.language):
                continue
            sample = self._sample(finding, language, ids)
            if self._parameters.subset == "full" or sample.fault or INTERSECTION in sample.tags:
                notes += [f"index {sample.index} ({shown(sample.id)}): {finding.note}"] if finding.note else []
                yield sample
        self.notes = tuple(notes)

    def verify(self) -> str:
        """Reads every source in the cache again; those that are not what was recorded are taken from the files anew."""
        return self._pass.verify()

    def _read(self) -> Iterator[Finding]:
        size, column = self._pass.bytes, self._parameters.picture
        rows = ParquetRows(self._files, (*_COLUMNS, column))
        for index, row in enumerate(rows.rows()):
            self.position = (round(rows.share * size), size)
            yield self._find(_item(index, row), column, row[column])

    def _find(self, item: Item, column: str, picture: Any) -> Finding:
        data = picture.get("bytes") if isinstance(picture, Mapping) else picture
        if not isinstance(data, bytes) or not data:
            return Finding(item, fault=f"no source: {column} holds no bytes")
        try:
            return Finding(item, {"source": self._cache.lay(data, column)})
        except PictureError as error:
            return Finding(item, fault=str(error))

    def _sample(self, finding: Finding, language: str | None, ids: dict[str, int]) -> Sample:
        item, faults = finding.item, [finding.fault] if finding.fault else []
        faults += [f"{name} is longer than {MAX_TEXT} characters" for name in item.too_long]
        faults += [f"no {name}" for name in _COLUMNS[:3] if not item.values[name] and name not in item.too_long]
        if language is None:
            said = item.values["instruction_language"]
            faults.append(f"instruction_language is {shown(str(said))}, not {' or '.join(LANGUAGES)}")
        if item.values["Intersection_exist"] is None:
            faults.append("Intersection_exist is neither true nor false")
        task_type, key, instruction = (item.values[name] or "" for name in _COLUMNS[:3])
        named = f"{task_type}_{language or 'xx'}_{key}"
        if named in ids:
            faults.append(f"index {ids[named]} has the same task type, language and key")
        source = None if faults else finding.source
        return Sample(
            id=unique_id(named, item.index, ids),
            index=item.index,
            category=task_type,
            pictures={"source": Picture(path=source.path, digest=source.digest)} if source else {},
            instruction=instruction,
            language=self._parameters.language,
            tags=(INTERSECTION,) if item.values["Intersection_exist"] else (),
            instructions={self._parameters.language: instruction} if instruction else {},
            fault="; ".join(faults),
        )


def _item(index: int, row: Mapping[str, Any]) -> Item:
    """A row's texts, None for what is empty or of a wrong type."""
    values: dict[str, Any] = {}
    for name in _COLUMNS[:-1]:
        value = row[name]
        values[name] = value if isinstance(value, str) and value.strip() else None
    values["Intersection_exist"] = row["Intersection_exist"] if isinstance(row["Intersection_exist"], bool) else None
    too_long = tuple(name for name, value in values.items() if isinstance(value, str) and len(value) > MAX_TEXT)
    return Item(index, "", values=values | dict.fromkeys(too_long), too_long=too_long)
