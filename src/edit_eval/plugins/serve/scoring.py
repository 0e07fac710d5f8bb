"""`score`: judges existing edits without a configuration.

from edit_eval import score
print(score("cat.png", "make it red", "red_cat.png", judge="MODEL@http://127.0.0.1:8000/v1").score)

It evaluates a table with a column of edits, so statuses, readings, passports and the run directory are as with `run`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.contract import language_of
from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.benchmarks.table import EDIT_COLUMNS, TableBenchmark
from edit_eval.config.faults import did_you_mean
from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.config.shipped import find_shipped_files
from edit_eval.config.shorthand import read_judge_flag, set_devices
from edit_eval.errors import ConfigurationError
from edit_eval.files.durable import write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.json_values import JsonObject
from edit_eval.protocols.asked import make_judges
from edit_eval.records import Judgement, Scale, Status
from edit_eval.reporting.remarks import examination_words
from edit_eval.run import Run, evaluate
from edit_eval.store.run_directory import refuse_copy, resolve_ledger
from edit_eval.text import Text

EDITS = "edits"
"""Name given to the unknown model whose edits are scored."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One judge's score of one edit."""

    id: str
    judge: str
    status: Status
    """There is a score only with `ok`."""
    reason: str
    """Why there is no score; else the judge's words, if it gave any."""
    score: float | None
    """The judge's headline score, in points of its `scale`."""
    error: float | None
    """Standard error over the readings, in points; None for a single reading."""
    readings: int
    scores: Mapping[str, float]
    """All scores by name."""
    missing: Mapping[str, str]
    """Status of each missing score."""
    scale: Scale
    passport: str
    """The judge's passport: `audited 2026-11-21: passed`, `not audited`; empty for one that only measures."""
    run: str
    """The run directory, with all questions and replies."""

    @classmethod
    def from_judgement(cls, judgement: Judgement, run: Run) -> Scored:
        """Builds it from a judgement of a run."""
        readings, known = len(judgement.readings), run.judge_examinations.get(judgement.judge)
        spread = judgement.spread.get(judgement.headline)
        return cls(
            id=judgement.sample_id,
            judge=judgement.judge,
            status=judgement.status,
            reason=judgement.reason,
            score=judgement.score,
            error=None if spread is None else spread / math.sqrt(readings),
            readings=readings,
            scores=judgement.scores,
            missing={name: status.value for name, (status, _) in judgement.missing.items()},
            scale=run.results.scoring[judgement.judge].scales[judgement.headline],
            passport="" if known is None else examination_words(known.document),
            run=str(run.path),
        )

    def as_plain(self) -> JsonObject:
        """Plain data for `--json`."""
        return {**asdict(self), "status": self.status.value}


def score(
    source: str | Path, instruction: str, edit: str | Path, *, judge: str | Path, category: str = "", **options: Any
) -> Scored:
    """Scores one edit by one judge; `judge` and `options` as for `score_table`.

    Raises `ConfigurationError` for a file that cannot be read, or if several judges are named, and whatever `evaluate`
    raises. An edit without a score is not an error: its `status` says why.
    """
    scores = score_pair(source, instruction, edit, judge=judge, category=category, **options)
    if len(scores) > 1:
        names = [scored.judge for scored in scores]
        raise ConfigurationError(Text("{} has several judges ({}); name one with `only`", judge, names))
    return scores[0]


def score_pair(
    source: str | Path, instruction: str, edit: str | Path, *, judge: str | Path, category: str = "", **options: Any
) -> list[Scored]:
    """Scores one edit by each of several judges; see `score`."""
    row = {
        "id": Path(edit).stem,
        "source": _base64(source),
        "instruction": instruction,
        "edit": _base64(edit),
        **({"category": category} if category else {}),
    }
    text = json.dumps(row)
    # The path depends on the content, so that a repeated question is reused; `gc` deletes old ones.
    table = cache_folder() / "scored" / f"{hashlib.sha256(text.encode()).hexdigest()}.jsonl"
    if not table.exists():
        write_durably(text.encode(), table)
    if options.get("progress", "auto") == "auto" and not sys.stderr.isatty():
        options["progress"] = "none"  # only the number is wanted, unless a person is watching
    return score_table(table, judge=judge, **{"language": language_of([instruction]), **options})


def table_of(run: Run) -> Path:
    """Writes the edits of a run, usually a service's, as a table for another judge to score; ids are the run's own.

    Edits are named `ID MODEL SEED` if the run has several per sample. Raises `ConfigurationError` for sources that no
    run of this user's has used: the run may be a stranger's, and name any file.
    """
    refuse_copy(run.path)
    results = run.results
    samples = {sample.id: sample for sample in with_known_sources(results.samples)}
    if unknown := next((s.id for s in samples.values() if not all(p.path for p in s.pictures.values())), ""):
        what = Text("sample {}: its pictures are not among those that your runs have used", unknown)
        raise ConfigurationError(Text("{}: {}; run its benchmark here first", run.path, what))
    rows = []
    for edit in results.edits:
        if edit.status is Status.OK:
            sample = samples[edit.sample_id]
            several = len(results.edits) > len(results.samples)
            name = f"{sample.id} {edit.edit_model} {edit.edit_seed}" if several else sample.id
            rows.append(
                {
                    "id": name,
                    **{name: picture.path for name, picture in sample.pictures.items()},
                    "instruction": sample.instruction,
                    "category": sample.category,
                    "edit": str(run.path.absolute() / edit.image),
                }
            )
    text = "".join(json.dumps(row) + "\n" for row in rows)
    table = cache_folder() / "scored" / f"{hashlib.sha256(text.encode()).hexdigest()}.jsonl"
    if not table.exists():
        write_durably(text.encode(), table)
    return table


def score_table(
    table: str | Path,
    *,
    judge: str | Path,
    edits: str = "",
    only: str = "",
    readings: int | None = None,
    language: str = "",
    devices: str | None = None,
    run_dir: str | Path | None = None,
    examinations: Path | None = None,
    progress: str = "auto",
    command: Sequence[str] = (),
) -> list[Scored]:
    """Scores each edit of a table, in the table's order: CSV, TSV, JSON, JSONL or Parquet.

    Each row has a source, an instruction and an edit, as for the benchmark `table`; `table` can also be a run, or a
    service's ledger, whose edits are judged again. `edits` names the column of edits, if it has no common name. `judge`
    is a configuration (a YAML file, or a name shown by `list`), whose judges are used (or `only` one of them), or
    anything `init --judge` takes. Each judge is asked `readings` times. Everything else, including errors raised, is as
    for `evaluate`.
    """
    pictures: str | None = None
    if (folder := resolve_ledger(Path(table)) / "config").is_dir():
        run = Run(folder.parent)
        table, language, pictures = table_of(run), language or run.language, "/"
    configuration = configuration_of(
        table,
        judge,
        pictures=pictures,
        edits=edits,
        only=only,
        readings=readings,
        language=language,
        devices=devices,
        progress=progress,
    )
    run = evaluate(configuration, run_dir=run_dir, examinations=examinations, report=False, command=command)
    return [Scored.from_judgement(judgement, run) for judgement in run.results.judgements]


def configuration_of(
    table: str | Path,
    judge: str | Path,
    *,
    pictures: str | None = None,
    edits: str = "",
    only: str = "",
    readings: int | None = None,
    language: str = "",
    devices: str | None = None,
    progress: str = "auto",
) -> Configuration:
    """Builds the evaluation that scores a table; its paths are relative to `pictures`, by default the table's folder.

    Raises `ConfigurationError`.
    """
    judges, rest = judges_of(str(judge), devices or "auto")
    if only and only not in judges:
        raise ConfigurationError(Text("{}: there is no judge {} of one edit; there are {}", judge, only, judges))
    spoken = language or rest.get("language", "en")
    column = edits or _column_of(table)
    where = {} if pictures is None else {"pictures_path": pictures}
    evaluation = {"controls": 0, "min_coverage": 0.0, "readings": readings or rest.get("readings", 1)}
    configuration = load_configuration(
        {
            **({"import_from": rest["import_from"]} if "import_from" in rest else {}),
            "benchmark": {
                "type": "table",
                "data_path": str(table),
                "language": spoken,
                "on_bad_sample": "skip",
                **where,
            },
            "edit_models": {
                EDITS: {
                    "type": "table_column",
                    "params": {"table": str(table), "column": column, "device_ids": "cpu:1", **where},
                }
            },
            "judges": {name: section for name, section in judges.items() if only in ("", name)},
            "evaluation": evaluation,
            "execution": {"pilot": False, "progress": progress},
        }
    )
    return configuration.model_copy(update={"name": "score"})


def judges_of(written: str, devices: str) -> tuple[JsonObject, JsonObject]:
    """Returns the judges that `--judge` names, as configuration sections, and their language, readings and imports.

    Of a configuration those that are asked about one edit: here there is no other to compare it with. Raises
    `ConfigurationError` saying what to give instead.
    """
    if not written.lower().endswith((".yaml", ".yml")) and written not in find_shipped_files():
        try:
            draft = read_judge_flag(written)
        except ConfigurationError as error:
            if meant := did_you_mean(written, find_shipped_files()):
                error.add_note(Text("--judge takes a configuration, too{}", meant))
            raise
        return {draft.name: set_devices(draft.section, devices) if draft.wants_device else draft.section}, {}
    configuration = load_configuration(
        written, data_may_be_missing=True, devices=None if devices == "auto" else devices
    )
    plain, of_one = configuration.as_plain(), [judge.name for judge in make_judges(configuration) if judge.of_one]
    if not of_one:
        raise ConfigurationError(
            Text("{}: its judges compare two edits; `score` needs one that is asked about one edit", written)
        )
    plain["judges"] = {name: section for name, section in plain["judges"].items() if name in of_one}
    for section in plain["judges"].values():
        protocol = section["protocol"]
        if protocol.get("type") == "rubric":  # edits from elsewhere have no category, or an unknown one
            protocol["general"] = True
    rest = {"language": configuration.benchmark.language, "readings": configuration.evaluation.readings}
    return plain["judges"], rest | ({"import_from": plain["import_from"]} if "import_from" in plain else {})


def _column_of(table: str | Path) -> str:
    """Finds the column of edits by its name. Raises `ConfigurationError` if no column has a known name."""
    there = TableBenchmark(TableBenchmark.Parameters(str(table))).inspect_table()[0].columns()
    plain = {name.lower().replace(" ", "_"): name for name in there}
    for name in EDIT_COLUMNS:
        if name in plain:
            return plain[name]
    raise ConfigurationError(
        Text("{} has no column of edits that is known by its name; it has {}; name it: `--edits NAME`", table, there)
    )


def _base64(picture: str | Path) -> str:
    try:
        return f"data:;base64,{base64.b64encode(Path(picture).expanduser().read_bytes()).decode()}"
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be read ({})", picture, error.strerror or error)) from error
