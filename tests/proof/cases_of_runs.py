"""Cases about runs: what is made, what goes wrong, how it goes on, what is shown of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proof.classes import KILLS, OWN
from proof.inputs import answers, config, model, rows_of, scored, table, write, write_rows
from proof.recording import Apart, Case, Done, Records, Typed, read_page
from small_benchmark import sample_id, write_benchmark

T, A, R, D = Typed, Apart, Records, Done
QUIET = "--progress none"


def means(*runs: str) -> Callable[[Path], Any]:
    """Runs as the Python API has them: their means, and the first rows of their data frames."""

    def found(folder: Path) -> Any:
        from edit_eval import Run

        return {
            run: {
                "means": [{"text": str(mean), **asdict(mean)} for mean in opened.means()],
                "reached": opened.has_required_coverage,
                **{of: rows(opened, of) for of in ("scores", "judgements", "edits", "controls")},
            }
            for run, opened in ((run, Run(Path(run))) for run in runs)
        }

    def rows(run: Any, of: str) -> str:
        frame = run.to_frame(of, library="pandas")
        head = f"{len(frame)} rows of {' '.join(frame.columns)}\n"
        return head + str(frame.drop(columns=["seconds"], errors="ignore").head(3).to_csv(index=False))

    return found


def notebook(run: str) -> Callable[[Path], Any]:
    """What a notebook shows of a run, as text."""

    def found(folder: Path) -> str:
        from edit_eval import Run

        (folder / "notebook.html").write_text(Run(Path(run))._repr_html_(), "utf-8")
        return read_page(folder / "notebook.html", folder)

    return found


def refused(folder: Path) -> Any:
    """What the Python API says to what it cannot do."""
    import edit_eval

    run = edit_eval.Run(Path("run"))
    tries: dict[str, Callable[[], Any]] = {
        "mean of several": run.mean,
        "mean of nobody": lambda: run.mean("nobody"),
        "no such frame": lambda: run.to_frame("zebras"),
        "no such library": lambda: run.to_frame(library="polars"),
        "no such file": lambda: edit_eval.evaluate("nowhere.yaml"),
        "no run": lambda: edit_eval.Run(Path("nowhere")).summary,
        "no such status": lambda: edit_eval.evaluate("config.yaml", run_dir="run", retry=["zebra"]),
        "no such type": lambda: edit_eval.evaluate({"benchmark": "scenes", "edit_models": {"a": {"type": "zebra"}}}),
        "compare with itself": lambda: edit_eval.compare("run", score="zebra"),
    }
    said = {"names": dir(edit_eval)}
    for what, do in tries.items():
        try:
            said[what] = f"no error: {do()}"
        except Exception as error:
            said[what] = f"{type(error).__name__}: {error}"
    return said


def matrix(folder: Path, stack: ExitStack) -> None:
    """Two edit models and two judges over three categories, with tags and controls, some of it failing."""
    both = ("fast", "slow")
    strict, kind = answers(both, 24, 1, 1.2), answers(both, 24, 2, 0.9)
    strict[f"fast/{sample_id(3)}"] = "I cannot say."
    config(
        folder,
        count=24,
        edit_models={"fast": model(steps=2, fail=[sample_id(5)]), "slow": model(steps=5)},
        judges={"strict": model(answers=strict), "kind": model(answers=kind, batch_size=4)},
        evaluation={"controls": 3, "min_coverage": 0.9},
    )


FAULTS: dict[str, Any] = {
    "edit": {"fail": [sample_id(0)], "crash": [sample_id(1)], "out_of_memory": [sample_id(2)], "nan": [sample_id(3)]},
    "judge": {
        "fail": [sample_id(6)],
        "crash": [sample_id(7)],
        "out_of_memory": [sample_id(8)],
        "device_error": [sample_id(16)],
        "answers": {
            sample_id(10): "no idea",
            sample_id(11): "Score: 12.000",
            sample_id(12): "I'm sorry, I can't rate this image.",
            sample_id(13): "Score: 6.000 or perhaps Score: 7.000",
            sample_id(14): "The light is",
        },
        "cut_off": [sample_id(14)],
    },
}


def failing(folder: Path, stack: ExitStack) -> None:
    """Failures of each kind, a bad sample among them."""
    items = json.loads(write_benchmark(folder, 18).read_text("utf-8"))
    items[17]["src_img_b64"] = "?"
    write(folder, "benchmark.json", json.dumps(items, ensure_ascii=False))
    config(
        folder,
        benchmark={"on_bad_sample": "skip"},
        diffusion_model=model(**FAULTS["edit"], black=[sample_id(4)]),
        reward_model=model(**FAULTS["judge"]),
        execution={"pilot": False},
        evaluation={"controls": 2},
    )
    config(folder, "all_edits_fail.yaml", diffusion_model=model(fail=[sample_id(n) for n in range(9)]))
    config(folder, "no_edit_model.yaml", diffusion_model=model(fail_to_load="no weights\nin /nowhere"))
    config(folder, "no_judge.yaml", reward_model=model(fail_to_load="no weights for the judge"))
    config(folder, "bad_sample.yaml")


def mended(folder: Path) -> None:
    """The same evaluation by a model that fails no more: its parameters are part of keys, so the run is another."""
    config(folder, "mended.yaml", benchmark={"on_bad_sample": "skip"}, execution={"pilot": False})


def ended(signal: str) -> Callable[[Path, ExitStack], None]:
    """An edit model that sends this signal to the engine in the middle of the run."""

    def make(folder: Path, stack: ExitStack) -> None:
        write(folder, "mine.py", KILLS)
        mine = {"class_path": "mine:Ends", "params": {"device_ids": "cpu:1", "sample": sample_id(4), "signal": signal}}
        config(folder, edit_models={"mine": mine}, execution={"pilot": False, "progress": "none"})

    return make


def turns(folder: Path, stack: ExitStack) -> None:
    """Three pictures with two turns each; the edit of one first turn fails."""
    rows = rows_of(6, folder)
    for number in (1, 3, 5):
        rows[number] |= {"image": "", "follows": f"p{number - 1}"}
    write(folder, "turns.csv", table([{"follows": "", **row} for row in rows]))
    plain = {
        "benchmark": {"type": "table", "data_path": "turns.csv", "cache_dir": "cache"},
        "edit_models": {"painter": model(fail=["p2"])},
        "judges": {"judge": model(answers={f"p{n}": f"Score: {n}.25" for n in range(6)})},
        "evaluation": {"controls": 0},
    }
    write(folder, "config.yaml", plain)


def own(folder: Path, stack: ExitStack) -> None:
    """Classes of one's own, found beside the configuration."""
    write(folder, "own.py", OWN)
    plain = {
        "benchmark": {"class_path": "own:Squares"},
        "edit_models": {"a_little": {"class_path": "own:Lightens", "params": {"device_ids": "cpu:1"}}},
        "judges": {"counts": {"class_path": "own:Counts", "params": {"device_ids": "cpu:1"}}},
        "protocol": {"class_path": "own.py:TwoQuestions", "retries": 1},
        "evaluation": {"controls": 0},
    }
    write(folder, "config.yaml", plain)


def tables(folder: Path, stack: ExitStack) -> None:
    """The same rows as CSV, TSV, JSON, JSONL and Parquet, in a folder with texts, and in a zip."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    rows = rows_of(4, folder, category=lambda n: ("add", "remove")[n % 2], tags=lambda n: f"t{n}")
    csv = table(rows)
    for name, text in (("t.csv", csv), ("t.tsv", csv.replace(",", "\t"))):
        write(folder, name, text)
    write_rows(folder, "t.json", rows)
    write_rows(folder, "t.jsonl", rows)
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "t.parquet")
    (folder / "texts").mkdir()
    for number in range(4):
        shutil.copy(folder / "pictures" / f"p{number}.png", folder / "texts")
        write(folder, f"texts/p{number}.txt", f"do {number}\n")
    (folder / "zipped").mkdir()
    shutil.copytree(folder / "pictures", folder / "zipped" / "pictures")
    shutil.copy(folder / "t.csv", folder / "zipped")
    shutil.make_archive("t", "zip", folder / "zipped")
    write(folder, "config.yaml", {
        "benchmark": {"type": "table", "data_path": "t.csv", "cache_dir": "cache"},
        "edit_models": {"copy": model("copy_source")},
        "judges": {"judge": model()},
        "evaluation": {"controls": 0},
        "execution": {"pilot": False},
    })  # fmt: skip


PLACES = ("t.csv", "t.tsv", "t.json", "t.jsonl", "t.parquet", "texts", "t.zip")

OF_RUNS: dict[str, Case] = {
    "one_of_each": Case(
        "one edit model, one judge, and every verb that looks at a run",
        scored(),
        [
            T("doctor config.yaml"),
            T("doctor config.yaml --json"),
            T("plan config.yaml --samples 900 --gpus 4"),
            T(
                "plan config.yaml --gpus 8 --nodes 3 --price 2 --set diffusion_model.params.seconds=10 "
                "--set execution.load_concurrency=1"
            ),
            T("plan config.yaml --json"),
            T("config show config.yaml --set benchmark.limit=2"),
            T("config show config.yaml --resolved --devices cpu:2"),
            T("run config.yaml --run-dir run --progress lines"),
            R("run", numbers=True, page=True, markdown=True, samples=True),
            T("run config.yaml --run-dir run"),
            T("run config.yaml --run-dir run --json"),
            T("status run"),
            T(f"status run {sample_id(0)}"),
            T("status run --json"),
            T(f"status run {sample_id(0)} --json"),
            T("status run nobody"),
            T("report run"),
            T("agreement run"),
            T("compare run"),
            T("export run sent.html"),
            T("export run sent.html"),
            T("export run sent --json"),
            T("plan config.yaml --from run --gpus 2", words=False),
            T("gc"),
            T("gc run --json", words=False),
            T("gc run --delete"),
            D("means", means("run")),
            D("notebook", notebook("run")),
            D("refused", refused),
        ],
    ),
    "two_by_two": Case(
        "two edit models, two judges, categories and tags, controls, compared, agreed upon, drawn",
        matrix,
        [
            T("run config.yaml --run-dir run"),
            R("run", numbers=True, page=True, markdown=True),
            T("status run"),
            T("compare run"),
            T("compare run --detect 0.5 --json"),
            T("compare run --score zebra"),
            T("compare run --fail-if-worse"),
            T("compare run --fail-if-worse --allow-unscored 0.2"),
            T("compare run --fail-if-worse --allow-unscored 0.2 --margin 0.5"),
            T("agreement run --old strict --new kind"),
            T("agreement run --json"),
            D("means", means("run")),
        ],
    ),
    "failures": Case(
        "a run with failures of each kind, each by its status and reason; retried; runs that nothing can do",
        failing,
        [
            T("run bad_sample.yaml --run-dir none"),
            T("doctor config.yaml"),
            T(f"run config.yaml --run-dir run {QUIET}"),
            R("run", numbers=True, page=True, markdown=True),
            T("status run"),
            T("status run --json"),
            T(f"status run {sample_id(12)}"),
            T(f"run config.yaml --run-dir run --retry zebra {QUIET}"),
            T(f"run config.yaml --run-dir run --retry unparseable,edit_failed {QUIET}"),
            R("run", summary=False),
            T(f"run config.yaml --run-dir run --set evaluation.min_coverage=0.2 {QUIET}"),
            D("mended", mended),
            T("run mended.yaml --run-dir mended --reuse run"),
            R("mended", summary=False),
            T(f"run all_edits_fail.yaml --run-dir all {QUIET}"),
            T("status all"),
            T(f"run no_edit_model.yaml --run-dir no {QUIET}"),
            T(f"run no_judge.yaml --run-dir no_judge {QUIET}"),
        ],
    ),
    "seeds_and_repeats": Case(
        "several edits a sample, several judgements an edit, several readings a judgement",
        scored(6, evaluation={"edit_seeds": 2, "repeats": 2, "readings": 2, "controls": 1}),
        [
            T("plan config.yaml --samples 100 --gpus 2"),
            T("run config.yaml --run-dir run"),
            R("run", numbers=True, markdown=True),
            T("agreement run"),
            T("status run"),
            D("means", means("run")),
        ],
    ),
    "filters": Case(
        "parts of a benchmark by each filter, gone on with, and with seeds that keep their samples",
        scored(12),
        [
            T("run config.yaml --run-dir run --limit 1 --set diffusion_model.params.seed=7"),
            R("run", summary=False),
            T(f"run config.yaml --run-dir run --categories 物理,social {QUIET}"),
            T(f"run config.yaml --run-dir run --tags odd --difficulty easy {QUIET}"),
            R("run"),
            T(f"run config.yaml --run-dir run --sample-ids {sample_id(1)},{sample_id(2)} {QUIET}"),
            T("run config.yaml --run-dir run --sample-ids nobody"),
            T("run config.yaml --run-dir run --categories zebra"),
            T("run config.yaml --run-dir run --tags zebra"),
            T(f"run config.yaml {QUIET} --limit 2"),
            T("run config.yaml --limit 2 --devices cpu:2", sorted_lines=True),
            T(f"run config.yaml --run-dir checked --limit 1 --verify --strict-environment {QUIET} --json"),
            T("status run"),
        ],
    ),
    "killed": Case(
        "an engine that is killed in the middle, and goes on",
        ended("SIGKILL"),
        [A("run config.yaml --run-dir run"), T("run config.yaml --run-dir run"), R("run"), T("status run")],
    ),
    "interrupted": Case(
        "an engine that is told to end in the middle, and goes on",
        ended("SIGTERM"),
        [A("run config.yaml --run-dir run --grace 0"), T("run config.yaml --run-dir run"), R("run")],
    ),
    "shards": Case(
        "two engines, each with its part, in one folder",
        scored(evaluation={"controls": 2}, execution={"pilot": False}),
        [
            T("run config.yaml --shard 1/2"),
            T("run config.yaml --run-dir run --shard 3/2"),
            T(f"run config.yaml --run-dir run --shard 1/2 {QUIET}"),
            T("status run"),
            T(f"run config.yaml --run-dir run --shard 2/2 {QUIET}"),
            R("run"),
            T("status run"),
        ],
    ),
    "turns": Case(
        "edits that follow another edit",
        turns,
        [T("run config.yaml --run-dir run"), R("run", markdown=True, samples=True), T("status run p3")],
    ),
    "own_classes": Case(
        "a benchmark, an edit model, a judge and a protocol of one's own; questions that have other replies in them",
        own,
        [
            T("describe own:Lightens"),
            T("describe own.py:TwoQuestions"),
            T("run config.yaml --run-dir run"),
            R("run", markdown=True, samples=True),
            T("config show config.yaml --resolved"),
            T("compare run"),
            T("run config.yaml --run-dir run --set edit_models.a_little.params.zebra=3"),
        ],
    ),
    "tables": Case(
        "one table in seven forms: the same samples, the same keys",
        tables,
        [
            *(T(f"run config.yaml --run-dir {n} --set benchmark.data_path={p} {QUIET}") for n, p in enumerate(PLACES)),
            R("0", samples=True),
            *(R(str(number), summary=False) for number in range(1, len(PLACES))),
            D("by themselves", lambda folder: {place: os.path.exists(place) for place in PLACES}),
        ],
    ),
}
