"""`edit-eval push`: publishes a run as a data set on the Hugging Face Hub.

It is written as Parquet for the library `datasets` and the Hub's viewer: one row per edit, with its pictures. Each edit
model has its own files, `data/<edit model>/00000.parquet`, so that no sample occurs twice in a folder (with one seed
and one repeat), and the benchmark `table` can read it. The same run gives the same bytes.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import yaml

from edit_eval.benchmarks.known_sources import read_known_source
from edit_eval.errors import ConfigurationError, EditEvalError, Stopped
from edit_eval.json_values import JsonObject
from edit_eval.plugins.leaderboard.pushed_run import FILE, encode_run
from edit_eval.plugins.push.hub_results import FOLDER, encode_results
from edit_eval.records import LANGUAGES, Edit, Judgement, Results, Sample
from edit_eval.reporting.comparison_tables import columns_table, comparison_by_judge, pairs_table
from edit_eval.reporting.documents import encode_document
from edit_eval.reporting.entries import controls_of, entries
from edit_eval.reporting.result_tables import SCORE, results_table
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import card_table, inline, markdown_sheet
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.run import Run
from edit_eval.statistics.summary import Summary
from edit_eval.store.run_directory import RunDirectory, read_run_file, refuse_copy
from edit_eval.text import Text

# -- sending --


_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)


@dataclass(frozen=True)
class Pushed:
    """A data set that was sent, or would be."""

    repository: str
    address: str
    """Address of its page; empty if nothing was sent."""
    files: dict[str, int]
    """Sizes in bytes by path."""
    rows: int
    notes: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(self.files.values())

    def as_plain(self) -> JsonObject:
        """Returns plain data for JSON."""
        return {
            "repository": self.repository,
            "sent": bool(self.address),
            "address": self.address,
            "files": self.files,
            "bytes": self.bytes,
            "rows": self.rows,
            "notes": list(self.notes),
        }


def push(
    run: Run,
    repository: str,
    *,
    private: bool = False,
    images: bool = True,
    sources: bool = False,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Pushed:
    """Publishes the run's current state as the data set `OWNER/NAME`, in one commit; returns what was sent.

    Without `images`, sends only texts and numbers. Source pictures are included if the benchmark's licence allows it,
    or with `sources`. With `dry_run`, the Hub is not contacted. After a failure, the next try does not upload the same
    files again, since a run always gives the same bytes.

    Raises `ConfigurationError` for anything that would be refused, and `Stopped` if the Hub or the disk fails.
    """
    if not _NAME.fullmatch(repository):
        raise ConfigurationError(Text("{}: not a repository's name; write OWNER/NAME", repository))
    try:
        import pyarrow  # noqa: F401
        from huggingface_hub import HfApi, constants
    except ImportError as error:
        raise ConfigurationError(
            Text("push needs pyarrow and huggingface_hub: `pip install 'edit-eval[hub]'`")
        ) from error
    refuse_copy(run.path)
    results = run.results
    if RunDirectory(run.path).is_held():
        raise ConfigurationError(Text("{} is still at work; push it when it has ended", run.path))
    api = HfApi()
    if not dry_run:
        if constants.HF_HUB_OFFLINE:
            raise ConfigurationError(Text("HF_HUB_OFFLINE forbids asking the Hub; unset it, or use --dry-run"))
        if api.token is None and _token() is None:
            raise ConfigurationError(Text("push needs a token that may write: set HF_TOKEN, or `hf auth login`"))
        _refuse_what_is_there(api, repository, private)
    licence = _sources_licence(results)
    with_sources = images and bool(sources or licence)
    try:
        with tempfile.TemporaryDirectory(prefix="edit-eval-push-") as temporary:
            folder = Path(temporary)
            written = write_rows(run.path, results, folder, images=images, sources=with_sources)
            for name, content in encode_results(results, run.summary, repository, constants.ENDPOINT).items():
                (folder / FOLDER).mkdir(exist_ok=True)
                (folder / name).write_text(content, "utf-8", "backslashreplace")
            text = card(repository, results, run.summary, written, licence=licence, images=images, sources=with_sources)
            (folder / "README.md").write_text(text, "utf-8", "backslashreplace")
            (folder / "summary.json").write_text(encode_document(run.summary), "utf-8")
            (folder / FILE).write_text(
                json.dumps(encode_run(run), ensure_ascii=False, allow_nan=False), "utf-8", "backslashreplace"
            )
            passports = sorted((run.path / "passports").glob("*.json"))
            if passports:
                (folder / "passports").mkdir()
            for passport in passports:
                shutil.copyfile(passport, folder / "passports" / passport.name, follow_symlinks=False)
            paths = sorted(path for path in folder.rglob("*") if path.is_file())
            files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
            notes = tuple(_notes(run, written, images=images, sources=with_sources, asked=sources))
            address = ""
            if not dry_run:
                for note in notes:
                    tell(note)
                address = _send(api, repository, folder, private)
            return Pushed(repository, address, files, written.rows, notes)
    except OSError as error:
        raise Stopped(
            Text("{}: {}; TMPDIR names another folder", tempfile.gettempdir(), error.strerror or error)
        ) from error


def _token() -> str | None:
    from huggingface_hub import get_token

    return str(get_token() or "") or None


def _notes(run: Run, written: Written, *, images: bool, sources: bool, asked: bool) -> list[str]:
    notes: list[str] = []
    if not run.has_required_coverage:
        notes.append(Text("the run is not complete; what is missing is null"))
    if images and not sources:
        said = run.results.provenance.about.get("licence") or "unknown"
        notes.append(
            Text(
                "source pictures are left out: their licence ({}) is not known to allow it; `--sources`, if you may",
                said,
            )
        )
    if sources and written.sources < written.rows:
        notes.append(Text("{} rows without a source: it is not in your cache", written.rows - written.sources))
    if written.lost:
        notes.append(Text("{} edits without a picture: its file is not in the run", written.lost))
    return notes


def _refuse_what_is_there(api: Any, repository: str, private: bool) -> None:
    """Raises `ConfigurationError` if the name is taken by something else."""
    from huggingface_hub import errors

    try:
        there = api.repo_info(repository, repo_type="dataset")
    except errors.RepositoryNotFoundError as error:
        if _status(error) == 401 and not isinstance(error, errors.GatedRepoError):
            _refuse_a_bad_token(api)
        try:
            api.repo_info(repository, repo_type="model")
        except Exception:
            return
        raise ConfigurationError(Text("{} is a model; give the data set a name of its own", repository)) from None
    except Exception as error:
        raise _explain_failure(repository, error) from error
    names = {file.rfilename for file in there.siblings or ()} - {".gitattributes", "README.md"}
    if names and MARK not in (there.tags or ()) and "summary.json" not in names:
        raise ConfigurationError(Text("{} holds another data set; give this one a name of its own", repository))
    if private and there.private is False:
        raise ConfigurationError(
            Text("{} is public already; change that in its settings, or use another name", repository)
        )


def _refuse_a_bad_token(api: Any) -> None:
    from huggingface_hub import constants

    try:
        api.whoami()
    except Exception as error:
        if _status(error) in (401, 403):
            raise ConfigurationError(
                Text("{} does not accept your token: is HF_TOKEN right?", constants.ENDPOINT)
            ) from None


def _send(api: Any, repository: str, folder: Path, private: bool) -> str:
    """Sends everything in one commit, so that readers never see a mix of two runs; `upload_folder` may make several."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    try:
        api.create_repo(repository, repo_type="dataset", private=private or None, exist_ok=True)
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        there = api.list_repo_files(repository, repo_type="dataset")
        gone = [name for name in there if name.startswith(("data/", "passports/", f"{FOLDER}/")) and name not in files]
        api.create_commit(
            repository,
            [
                *(CommitOperationAdd(name, str(path)) for name, path in files.items()),
                *(CommitOperationDelete(name) for name in gone),  # files no longer in the run
            ],
            commit_message="A run of edit-eval",
            repo_type="dataset",
        )
    except Exception as error:  # the library's errors, its HTTP client's, and the disk's
        raise _explain_failure(repository, error) from error
    return f"{api.endpoint}/datasets/{repository}"


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _explain_failure(repository: str, error: Exception) -> EditEvalError:
    from huggingface_hub import constants, errors

    status, hub = _status(error), constants.ENDPOINT
    if status == 401:
        return ConfigurationError(Text("{} does not accept your token for {}: is HF_TOKEN right?", hub, repository))
    if status == 403:
        return ConfigurationError(
            Text("{}: your token may not write to {}: it needs the permission `write`", hub, repository)
        )
    if status == 404 or isinstance(error, errors.RepositoryNotFoundError):
        return ConfigurationError(Text("{} has no {}, and you cannot make it: is the owner right?", hub, repository))
    if status is not None:
        return Stopped(Text("{} answers {}; what was sent is kept: run it again", hub, status))
    words = " ".join([f"{type(error).__name__}:", *str(error).split()])[:200]
    return Stopped(Text("{} cannot be reached ({}); what was sent is kept: run it again", hub, words))


_LICENCES = frozenset(
    [
        "mit",
        "apache-2.0",
        "cc0-1.0",
        "cc-by-4.0",
        "cc-by-3.0",
        "cc-by-2.0",
        "cc-by-sa-4.0",
        "cc-by-sa-3.0",
        "cc-by-nc-4.0",
        "cc-by-nc-sa-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-4.0",
        "odc-by",
        "pddl",
    ]
)
"""Licences that allow sharing, as SPDX identifiers in lower case, which are also the Hub's names. With another licence,
or one with a condition attached (as MagicBrush's), a benchmark's pictures are not sent."""

_DRAWN = ("scenes", "ladder")
"""Benchmarks whose pictures edit-eval draws itself."""


def _sources_licence(results: Results) -> str:
    """Returns the Hub's name of a licence that allows sharing the sources; empty if none is known."""
    benchmark = results.provenance.configuration.get("benchmark")
    if isinstance(benchmark, dict) and benchmark.get("type") in _DRAWN:
        return "apache-2.0"
    licence = str(results.provenance.about.get("licence", "")).strip().lower()
    return licence if licence in _LICENCES else ""


# -- rows --


FILE_BYTES, GROUP_BYTES = 400 << 20, 32 << 20
"""Largest size of a file, and of a row group, which readers load at once."""
GROUP_ROWS = 500

Kind = str
"""`string`, `int64`, `float64`, `tags` or `image`."""
Row = dict[str, object]
"""A value for each column, as pyarrow takes it."""


class Copied(TypedDict):
    """A picture's file, in the row itself."""

    bytes: bytes
    path: str


@dataclass
class Written:
    """Files and counts of what was written."""

    files: list[Path] = field(default_factory=list)
    rows: int = 0
    lost: int = 0
    """Number of edits whose picture is missing from the run."""
    sources: int = 0
    """Number of rows with a source."""
    splits: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Of each edit model, its rows, their bytes in memory, and those of its files."""


def columns(results: Results, *, images: bool, sources: bool) -> dict[str, Kind]:
    """Returns the columns of every file, in order."""
    kinds: dict[str, Kind] = {"id": "string", "instruction": "string"}
    kinds |= {"source": "image"} if sources else {}
    kinds |= {"edit": "image"} if images else {}
    kinds |= dict.fromkeys(("category", "difficulty", "language"), "string")
    kinds |= {"tags": "tags", "edit_model": "string", "seed": "int64", "edit_seed": "int64", "repeat": "int64"}
    kinds |= {"status": "string", "reason": "string"}
    for judge in results.judges:
        kinds |= {f"{judge}_{name}": "float64" for name in results.scoring[judge].scales}
        kinds |= {f"{judge}_status": "string", f"{judge}_words": "string"}
    return kinds


def features(kinds: Mapping[str, Kind]) -> JsonObject:
    """Returns the columns as `datasets` describes them in a file's metadata."""
    value: JsonObject = {kind: {"dtype": kind, "_type": "Value"} for kind in ("string", "int64", "float64")}
    special: JsonObject = {"image": {"_type": "Image"}, "tags": {"feature": value["string"], "_type": "Sequence"}}
    return {name: (value | special)[kind] for name, kind in kinds.items()}


_YAML_TYPES: dict[Kind, dict[str, str]] = {"tags": {"sequence": "string"}}
"""What `datasets` writes in a card in place of `dtype: KIND`."""


def write_rows(run: Path, results: Results, folder: Path, *, images: bool, sources: bool) -> Written:
    """Writes the files below `folder`. Sources are copied unchanged from the user's cache, if there.

    Raises `OSError` if something cannot be written.
    """
    kinds, written = columns(results, images=images, sources=sources), Written()
    for model in results.edit_models:
        _write_model(run, results, model, folder / "data" / model, kinds, written)
    return written


def _write_model(
    run: Path, results: Results, model: str, folder: Path, kinds: Mapping[str, Kind], written: Written
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    types = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}
    types |= {"image": image, "tags": pa.list_(pa.string())}
    extra = {"huggingface": json.dumps({"info": {"features": features(kinds)}}, ensure_ascii=False)}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()], metadata=extra)
    folder.mkdir(parents=True)
    group: list[Row] = []
    size = whole = loaded = 0
    before = written.rows
    writer: Any = None

    def flush() -> None:
        nonlocal size, whole, loaded, writer
        if writer is not None and whole + size > FILE_BYTES:
            writer.close()
            writer, whole = None, 0
        if writer is None:
            written.files.append(folder / f"{len(list(folder.iterdir())):05d}.parquet")
            writer = pq.ParquetWriter(written.files[-1], schema)
        writer.write_table(table := pa.Table.from_pylist(group, schema))
        loaded += table.nbytes
        group.clear()
        size, whole = 0, whole + size

    for row, weight in _rows(run, results, model, kinds, written):
        group.append(row)
        size += weight
        if size > GROUP_BYTES or len(group) >= GROUP_ROWS:
            flush()
    if group or writer is None:
        flush()
    writer.close()
    files = sum(path.stat().st_size for path in folder.iterdir())
    written.splits[model] = written.rows - before, loaded, files


def _rows(
    run: Path, results: Results, model: str, kinds: Mapping[str, Kind], written: Written
) -> Iterator[tuple[Row, int]]:
    """Yields each row, with the size of its pictures in bytes."""
    samples = {sample.id: sample for sample in results.samples}
    judged: dict[tuple[str, int, int], dict[str, Judgement]] = {}
    for judgement in results.judgements:
        if judgement.edit_model == model:
            judged.setdefault((judgement.sample_id, judgement.edit_seed, judgement.repeat), {})[judgement.judge] = (
                judgement
            )
    repeats = range(1 + max((repeat for _, _, repeat in judged), default=0))
    for edit in results.edits:
        if edit.edit_model != model:
            continue
        sample = samples[edit.sample_id]
        pictures = _pictures(run, sample, edit, kinds, written)
        weight = sum(len(picture["bytes"]) for picture in pictures.values() if picture)
        for repeat in repeats:
            written.rows += 1
            scores = _scores(judged.get((edit.sample_id, edit.edit_seed, repeat), {}), results)
            yield {**_about(sample, edit, repeat), **pictures, **scores}, weight


def _about(sample: Sample, edit: Edit, repeat: int) -> Row:
    return {
        "id": _text(sample.id),
        "instruction": _text(sample.instruction),
        "category": _text(sample.category),
        "difficulty": _text(sample.difficulty),
        "language": _text(sample.language),
        "tags": [_text(tag) for tag in sample.tags],
        "edit_model": edit.edit_model,
        "seed": edit.seed,
        "edit_seed": edit.edit_seed,
        "repeat": repeat,
        "status": edit.status.value,
        "reason": _text(edit.reason),
    }


def _pictures(
    run: Path, sample: Sample, edit: Edit, kinds: Mapping[str, Kind], written: Written
) -> dict[str, Copied | None]:
    pictures: dict[str, Copied | None] = {}
    if "edit" in kinds:
        data = read_run_file(run, edit.image) if edit.image else None
        written.lost += bool(edit.image) and data is None
        pictures["edit"] = None if data is None else {"bytes": data, "path": Path(edit.image).name}
    if "source" in kinds:
        picture = sample.pictures.get("source")
        data = read_known_source(picture) if picture else None
        written.sources += data is not None
        name = f"{picture.digest[:12]}{Path(picture.path).suffix}" if picture else ""
        pictures["source"] = None if data is None else {"bytes": data, "path": name}
    return pictures


def _scores(by_judge: Mapping[str, Judgement], results: Results) -> Row:
    """Returns the score columns: a missing score is null, never a number, and the status says why."""
    row: Row = {}
    for judge in results.judges:
        judgement = by_judge.get(judge)
        for name in results.scoring[judge].scales:
            score = judgement.scores.get(name) if judgement else None
            row[f"{judge}_{name}"] = score if score is not None and math.isfinite(score) else None
        row[f"{judge}_status"] = judgement.status.value if judgement else None
        row[f"{judge}_words"] = _text(judgement.answer) if judgement else None
    return row


def _text(value: str) -> str:
    """Escapes unpaired surrogates, which a judge's answer may contain and UTF-8 cannot encode."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


# -- card, for readers and for the Hub's metadata --


MARK = "edit-eval"
"""Tag that marks a data set as one of ours."""


def card(
    repository: str, results: Results, summary: Summary, written: Written, *, licence: str, images: bool, sources: bool
) -> str:
    """Returns the README.md. `licence` is the Hub's name of the sources' licence, empty if unknown."""
    header = _make_header(repository, results, written, licence, columns(results, images=images, sources=sources))
    rows = entries(summary.results)
    controls = [row for judge in results.judges for row in controls_of(summary, judge)]
    several = len({row.score for row in rows}) > 1 or None
    coverage, first = summary.coverage, results.edit_models[0]
    lines = [
        "---",
        yaml.safe_dump(header, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {repository}",
        "",
        "Edits of images by instruction and what judges say of them, made with `edit-eval`.",
        "",
        f"**{coverage.scored} of {coverage.total} scored**"
        + ("." if coverage.reached else ", which is fewer than the run asked for."),
        "",
        markdown_sheet(verdict_sheet(summary.verdict, full=True, drawn=False), "en"),
        "",
        *([card_table(results_table(rows, controls, group=several and SCORE))] if rows else []),
        *(
            f"\n{card_table(table)}"
            for _, columns, pairs in comparison_by_judge(summary)
            for table in (columns_table(columns), pairs_table(pairs))
        ),
        markdown_sheet(battle_sheet(summary.battles, results.edit_models), "en"),
        "",
        *(f"- Judge {inline(name)}: {inline(about.line)}" for name, about in summary.judges.items()),
        "",
        "## Source",
        "",
        f"- Benchmark: {inline(results.provenance.about.get('source') or _type(results))}",
        f"- Licence of its pictures: {inline(results.provenance.about.get('licence') or licence or 'unknown')}",
        _describe_pictures(images=images, sources=sources),
        "",
        "## Use",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'rows = load_dataset("{repository}", "{first}", split="test")',
        "```",
        "",
        "One row per edit. A score that is null was not given: `status` and the judge's `_status` say why; "
        "it is not 0. `summary.json` has all numbers with their intervals, `.eval_results/` the means in the form that "
        "the Hub reads in a model's own repository"
        + (", `passports/` what an audit found of the judges." if results.provenance.examined else "."),
    ]
    if images and sources:
        place = f"hub:{repository}/data/{first}"
        lines += [
            "",
            "The same edits, judged by a judge of yours:",
            "",
            "```yaml",
            f"benchmark: {{type: table, data_path: '{place}'}}",
            f"edit_models: {{{first}: {{type: table_column, params: {{table: '{place}', column: edit}}}}}}",
            "```",
        ]
    return "\n".join(lines) + "\n"


def _make_header(
    repository: str, results: Results, written: Written, licence: str, kinds: Mapping[str, str]
) -> dict[str, Any]:
    """Returns what the Hub reads of the card: its YAML."""
    listed = [{"name": name, **_YAML_TYPES.get(kind, {"dtype": kind})} for name, kind in kinds.items()]
    return {
        "license": licence or "unknown",
        "pretty_name": repository.rpartition("/")[2],
        "tags": [MARK, "image-editing"],
        "task_categories": ["image-to-image"],
        "language": sorted({sample.language for sample in results.samples} & {*LANGUAGES}) or ["en"],
        "configs": [
            {"config_name": model, "data_files": [{"split": "test", "path": f"data/{model}/*.parquet"}]}
            for model in results.edit_models
        ],
        "dataset_info": [
            {
                "config_name": model,
                "features": [dict(feature) for feature in listed],
                "splits": [{"name": "test", "num_bytes": loaded, "num_examples": rows}],
                "download_size": files,
                "dataset_size": loaded,
            }
            for model, (rows, loaded, files) in written.splits.items()
        ],
    }


def _type(results: Results) -> str:
    benchmark = results.provenance.configuration.get("benchmark")
    return str(benchmark.get("type") or benchmark.get("class_path")) if isinstance(benchmark, dict) else "unknown"


def _describe_pictures(*, images: bool, sources: bool) -> str:
    if not images:
        return "- Without pictures."
    return "- Edits and sources are in it." if sources else "- The edits are in it. The sources are left out."
