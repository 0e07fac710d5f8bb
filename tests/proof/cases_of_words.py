"""Cases about words: help, lists, descriptions, mistakes, configurations, drawn scenes, Chinese."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from photographs import draw
from proof import doors
from proof.inputs import model, nothing, table, write
from proof.recording import Case, Done, Records, Typed

T, R, D = Typed, Records, Done
HERE = Path(__file__).parent
TESTS = HERE.parent

VERBS = """
init completion demo run doctor plan report compare gate status view export push gc agreement reanalyse audit
list describe fetch config config/show vote vote/export env env/create
"""
TYPES = """
five_dimensions gedit imgedit kris ladder magicbrush msebench omnicontext picabench risebench scenes structeditbench
table unireditbench wiseedit blank copy_source diffusers image_endpoint image_folder qwen_image_edit scene_editor
scene_rungs table_column testing chat_endpoint embedding_metrics face_metrics perceptual_metrics picture_metrics
technical_metrics text_metrics qwen3_vl recorded scene_judge transformers checklist criteria numbers on_trial rubric
viescore
"""

GOOD = """\
benchmark: {type: table, data_path: photos/instructions.csv, limit: 2}
diffusion_model: {type: image_folder, params: {folder: edits_a, device_ids: "cpu:1"}}
reward_model: {type: testing, params: {device_ids: "cpu:1"}}
evaluation: {controls: 0}
"""
FILES = {
    "good.yaml": GOOD,
    "tabs.yaml": "benchmark:\n\tdata_path: x\n",
    "cut_off.json": '{"benchmark": {"type": "scenes"},',
    "twice.yaml": f"{GOOD}evaluation: {{}}\n",
    "empty.yaml": "# nothing yet\n",
    "list.yaml": "- benchmark\n",
    "tag.yaml": "benchmark: !!python/object:os.system {}\n",
    "loop.yaml": "extends: loop.yaml\n",
    "lost.yaml": "extends: nowhere.yaml\n",
    "several.yaml": GOOD.replace("limit: 2", "limt: 2") + "execution: {shedule: pull, pilot: maybe}\nprompts: {x: 1}\n",
    "nocol.csv": "image,wish\nphotos/IMG_0000.jpg,x\n",
    "gone.csv": "image,instruction\nnowhere.jpg,Make it blue\n",
    "blank.csv": "image,instruction\nphotos/IMG_0000.jpg,\n",
    "commas.csv": "image,instruction\nphotos/IMG_0000.jpg,Make it, please, blue\n",
    "notes.txt": "no picture\n",
}
MISTAKES = """\
rnu good.yaml
config shwo good.yaml
run
run --config good.yaml
run good.yaml --run-dri x
run good.yaml more
run good.yaml --limit few
run good.yaml --limit 0
run good.yaml --grace -1
run good.yaml --tags a b
run good.yaml --progress loud
run good.yaml --driver slurm
run good.yaml --shard 1
run good.yaml --devices tpu:1
run good.yaml --devices 0
run good.yaml --reuse nowhere
run good.yaml --retry ok
run nothere.yaml
run good.yml
run dmeo
run photos
run nocol.csv
run tabs.yaml
run cut_off.json
run twice.yaml
run empty.yaml
run list.yaml
run tag.yaml
run loop.yaml
run lost.yaml
run several.yaml
run good.yaml --set benchmark
run good.yaml --set benchmark.typ=table
run good.yaml --set benchmark=gedti
run good.yaml --set reward_model=testing
run good.yaml --set reward_model.type=image_folder
run good.yaml --set reward_model.type=zebra
run good.yaml --set reward_model.class_path=nowhere:Judge
run good.yaml --set reward_model.params.api_key=sk-1234567890
run good.yaml --set reward_model.params.steps=3
run good.yaml --set reward_model.params.batch_size=0
run good.yaml --set diffusion_model.params.batch_size=2
run good.yaml --set diffusion_model.params.seed=-1
run good.yaml --set diffusion_model.params.folder=nowhere
run good.yaml --set protocol.answer=reason
run good.yaml --set protocol.type=scenes
run good.yaml --set protocol.images=[]
run good.yaml --set protocol.retries=1000
run good.yaml --set benchmark.language=fr
run good.yaml --set benchmark.fields.zebra=x
run good.yaml --set evaluation.min_coverage=2
run good.yaml --set evaluation.seed=3
run good.yaml --set execution.schedule=fast
run good.yaml --set execution.pilot=yes
run good.yaml --set trackers=[zebra]
run good.yaml --set benchmark.max_samples=3
run good.yaml --set benchmark.data_path=photos/instrctions.csv
run good.yaml --set benchmark.data_path=nocol.csv
run good.yaml --set benchmark.data_path=gone.csv
run good.yaml --set benchmark.data_path=blank.csv
run good.yaml --set benchmark.data_path=commas.csv
run good.yaml --set benchmark.data_path=notes.txt
plan good.yaml --nodes 2
plan good.yaml --price 2
plan good.yaml --samples 0
plan good.yaml --gpus 0
plan good.yaml --from nowhere
status nowhere
status photos
report photos
compare
compare photos photos
agreement photos
export photos x.html
describe zebra
describe notes.txt
audit good.yaml --scenes 0
audit good.yaml --people people.csv
votes photos
gc nowhere
gc --run photos
push photos me/x --dry-run
completion tcsh
env create x
view nowhere""".splitlines()
ONE_AT_A_TIME = "--set execution.load_concurrency=1"
"""Else how many load at once, and so how long all takes, depends on the memory of this machine."""
CHINESE = {"EDIT_EVAL_LANG": "zh"}


def world(folder: Path, stack: ExitStack) -> None:
    """Photographs, and configurations with mistakes in them."""
    draw(folder, 4)
    rows = [{"id": f"IMG_{n:04d}", "image": f"IMG_{n:04d}.jpg", "instruction": "Make it blue"} for n in range(4)]
    write(folder, "photos/instructions.csv", table(rows))
    for file, text in FILES.items():
        write(folder, file, text)


def scenes(folder: Path, stack: ExitStack) -> None:
    """Drawn scenes, an edit model that paints, a judge that knows what is right and says why."""
    for language in ("en", "zh"):
        write(folder, f"{language}.yaml", {
            "benchmark": {"type": "scenes", "count": 10, "size": 128, "language": language},
            "diffusion_model": model("scene_editor"),
            "reward_model": model("scene_judge"),
            "protocol": {"answer": "reason_then_score"},
            "evaluation": {"controls": 2},
        })  # fmt: skip


def base_system(folder: Path, stack: ExitStack) -> None:
    """The files of the original scripts, with data of ours."""
    for file in sorted((TESTS / "config/base_system").glob("*.yaml")):
        shutil.copy(file, folder / file.name)


OF_WORDS: dict[str, Case] = {
    "help": Case(
        "the help of every verb, and what a configuration can name",
        nothing,
        [
            T("--help"),
            T("--version"),
            *(T(f"{verb.replace('/', ' ')} --help") for verb in VERBS.split()),
            T("list"),
            D("registered", lambda folder: doors.registered()),
        ],
    ),
    "described": Case(
        "what `describe` says of every type, and the documents of it",
        nothing,
        [*(T(f"describe {name}") for name in TYPES.split()), T("describe rubric --json")],
    ),
    "mistakes": Case(
        "mistakes on the command line, in configurations and in tables: one line each",
        world,
        [T(line) for line in MISTAKES],
    ),
    "configurations": Case(
        "configurations that come with the package or with the original scripts, merged, resolved and planned",
        base_system,
        [
            *(T(f"config show {name}.yaml") for name in ("template",)),
            *(T(f"doctor {name}.yaml", words=False) for name in ("full_multi_gpu", "template")),
            *(
                T(f"plan {name}.yaml --samples 270 --gpus 6 --gpu-memory 80 {ONE_AT_A_TIME}")
                for name in ("full_multi_gpu", "multi_gpu")
            ),
            *(
                T(f"plan {name} --samples 270 --gpus 8 --gpu-memory 80 {ONE_AT_A_TIME}")
                for name in ("multi_gpu", "one_small_gpu")
            ),
            T("config show full_multi_gpu --resolved"),
            T("config show judge_qwen3_6_thinking --resolved"),
            T("config show flux_kontext --resolved --set edit_models={}"),
            T("config show qwen_image_edit_2511_lightning --resolved --set benchmark.limit=3"),
            T("config show vllm_judge --json"),
        ],
    ),
    "scenes": Case(
        "drawn scenes, an edit model of simple means, a judge that says why",
        scenes,
        [T("run en.yaml --run-dir run"), R("run", page=True, markdown=True, samples=True), T("status run nobody")],
    ),
    "chinese": Case(
        "a Chinese run, and the other verbs in Chinese: whoever mends the Chinese records this one again",
        scenes,
        [
            T("run zh.yaml --run-dir run"),
            R("run", page=True),
            T("run zh.yaml --run-dir run", {"EDIT_EVAL_LANG": "en"}),
            T("status run"),
            T("status run --json"),
            T("agreement run"),
            T("doctor zh.yaml", CHINESE),
            T(f"plan zh.yaml --gpus 2 {ONE_AT_A_TIME}", CHINESE),
            T("run --help", CHINESE),
            T("run zh.yml", CHINESE),
            T("run zh.yaml --set benchmark.typ=table", CHINESE),
            T("list", CHINESE),
        ],
    ),
}
