"""The authors' own scripts, run over the same sets of replies: their numbers, frozen in `rows/`.

    EDIT_EVAL_AUTHORS=FOLDER python tests/plugins/published/conformance/scripts.py [PROTOCOL ...]

makes the rows anew (GEdit-Bench v2's script needs the package json_repair). FOLDER holds a checkout of each repository
of `REPOSITORIES` as OWNER+NAME at that commit; nothing of theirs is part of this project. Their parsers, loops and
means run as they are; only what would ask a server, load a model or open a picture is replaced by the replies of a
set. A number that is `STOPS` does not exist: their script ends with an error, or asks for ever. One that is `GUESSES`
has a random number in it; `guessed` has what it comes to if each guess is `GUESS`.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import os
import pickle
import random
import runpy
import sys
import tempfile
import time
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[3]))
from plugins.published.conformance.replies import RISE, SETS, Edit, Set, sizes_of_pictures
from plugins.published.conformance.stand_ins import (
    STOPS,
    Anything,
    Counted,
    Numbers,
    guesses,
    numbers_of,
    raising,
    stub,
    theirs,
    with_guesses,
)

VARIABLE = "EDIT_EVAL_AUTHORS"
ROWS = Path(__file__).parent / "rows"


def module_of(name: str) -> Any:
    """A module of theirs, of which no type checker knows what it has."""
    return importlib.import_module(name)


REPOSITORIES: Mapping[str, tuple[str, str]] = {
    "viescore": ("stepfun-ai/Step1X-Edit", "570eba6ebda0c45c013983a483afbf2fd12bfcbc"),
    "imgedit": ("PKU-YuanGroup/ImgEdit", "547185d12c08267a862b94248576e1746e479937"),
    "rededit": ("FireRedTeam/FireRed-Image-Edit", "456d010bd3f9bd727f1ab7fe60838caf6ee479e6"),
    "kris": ("ByteDance-Seed/Bagel", "056b5fd51a88c1eb4547318609e25d40080fcf87"),
    "risebench": ("PhoenixZ810/RISEBench", "5f226519b25c005bb32fb83864bbd1845ab85c23"),
    "unireditbench": ("Maplebb/UniREditBench", "a7015c5c2d17aecb1a5af4af1b234c357d86cc7d"),
    "magicbrush": ("OSU-NLP-Group/MagicBrush", "fcfc8921396b5e2b047c388028b7c995f5e0ee19"),
    "wiseedit": ("beepkh/WiseEdit", "58cadba788b56ee718724e27d64c2c76c297d046"),
    "omnicontext": ("VectorSpaceLab/OmniGen2", "0f72fa92564d9f8ba76f53fcc3c05aca2372458f"),
    "structeditbench": ("zhuole1025/Structured-Visuals", "c8cc9f41261af5accaa9fd591daf87f1fd2671d3"),
    "msebench": ("ByteDance-Seed/VINCIE", "30fcf3694c246494bf51093ec12c35d9e255c855"),
    "picabench": ("Andrew0613/PICABench", "0514acddffccce9612cafc528a3334881af9a72c"),
    "genarena": ("ruihanglix/genarena", "dd09b86b6fb4801b5fab5d16c23ae9745f510534"),
    "geditbench_v2": ("ZhangqiJiang07/GEditBench_v2", "82bc00ed59963b597dea0b9162bdd9e38fc8fbe6"),
}


def folder_of(protocol: str) -> Path:
    return Path(os.environ[VARIABLE]) / REPOSITORIES[protocol][0].replace("/", "+")


PICTURE = Image.new("RGB", (16, 16))
MEGFILE = {"smart_open": open, "smart_exists": os.path.exists}


def viescore(edit_set: Set) -> Numbers:
    names = ["G_SC", "G_PQ", "G_O"]
    said = {edit["id"]: edit for edit in edit_set["edits"]}
    counted = Counted()

    class Model:
        about: str

        def __init__(self, *values: Any, **named: Any) -> None:
            self.use_encode = False

        def prepare_prompt(self, images: Any, text: str) -> tuple[str, str]:
            return ("SC" if isinstance(images, list) else "PQ", self.about)

        def get_parsed_output(self, prompt: tuple[str, str]) -> str:
            question, about = prompt
            counted(f"{about} {question}")
            return said[about]["said"][question] or ""  # their client returns this where the server failed

    def run(guess: int | None) -> Mapping[str, Any]:
        path = folder_of("viescore") / "GEdit-Bench"
        groups = list(dict.fromkeys(edit["category"] for edit in edit_set["edits"]))
        openai = stub("mllm_tools.openai", GPT4o=Model)
        stubs = {"megfile": stub("megfile", **MEGFILE), "datasets": stub("datasets"), "mllm_tools__openai": openai}
        with theirs(path, **stubs), guesses(guess), tempfile.TemporaryDirectory() as results:
            os.chdir(path)
            sys.path.insert(0, str(path / "viescore"))
            judge, means = module_of("test_gedit_score"), module_of("calculate_statistics")
            vie = module_of("viescore").VIEScore(backbone="gpt4o", task="tie")
            judge.save_path, judge.megfile = results, types.SimpleNamespace(smart_open=lambda *_: None)
            judge.Image = types.SimpleNamespace(open=lambda *_: PICTURE)
            means.GROUPS = groups
            fields = ["source_image", "edited_image", "instruction", "sementics_score", "quality_score"]
            for group in groups:
                judge.group_name = group
                with open(Path(results) / f"m_{group}_gpt_score.csv", "w", newline="") as file:
                    writer = csv.DictWriter(file, [*fields, "intersection_exist", "instruction_language"])
                    writer.writeheader()
                    for edit in edit_set["edits"]:
                        if edit["category"] == group and edit["said"] is not None:
                            Model.about = edit["id"]
                            item = {"instruction": "Do.", "key": edit["id"], "task_type": group}
                            item |= {"instruction_language": "en", "Intersection_exist": True}
                            if row := judge.process_single_item(item, vie):
                                writer.writerow(row)
            averages = means.analyze_scores(results, ["m"], "en")
            kinds = ("avg_semantics", "avg_quality", "avg_overall")
            return {name: of["m"][kind] for name, of, kind in zip(names, averages, kinds, strict=False)}

    return with_guesses(names, run)


def imgedit(edit_set: Set) -> Numbers:
    def run() -> Mapping[str, Any]:
        with theirs(folder_of("imgedit") / "Benchmark/Basic"):
            first, second = module_of("step1_get_avgscore"), module_of("step2_typescore")
            replies = {}
            for edit in edit_set["edits"]:
                reply = next(iter(edit["said"].values())) if edit["said"] is not None else None
                replies[edit["id"]] = {"error": "no reply"} if reply is None else reply
            about = {edit["id"]: {"edit_type": edit["category"]} for edit in edit_set["edits"]}
            types_ = second.compute_edit_type_averages(first.compute_averages(replies), about)
            return {"Overall": sum(types_.values()) / len(types_)}

    return numbers_of(["Overall"], run)


def rededit(edit_set: Set) -> Numbers:
    """Where nothing can be read they print 0; here there is none."""
    edits, genai = edit_set["edits"], stub("google.genai", types=stub("google.genai.types"))
    google = {"google": stub("google", genai=genai), "google__genai": genai, "tqdm": stub("tqdm")}

    def run() -> Mapping[str, Any]:
        with theirs(folder_of("rededit") / "rededit_bench", **google):
            script = module_of("redbench_eval")
            said = {str(n): next(iter((edit["said"] or {"": None}).values())) for n, edit in enumerate(edits)}
            about = [{"task": edit["category"]} for edit in edits]
            tasks = script.compute_edit_type_averages(script.compute_averages(said), about)
            return {"Overall": sum(tasks.values()) / len(tasks), **tasks}

    os.environ.setdefault("GEMINI_API_KEY", "none")
    return numbers_of(["Overall", *dict.fromkeys(edit["category"] for edit in edits)], run)


KRIS_PROMPTS = {
    "prompt_consist": ("consistency",),
    "prompt_quality": ("quality",),
    "prompt_instruction_following": ("instruction", "correction"),
    "prompt_abnormal_instruction_following": ("correction",),
    "prompt_view_instruction_following": ("viewpoint",),
    "prompt_dual_evaluation": ("knowledge",),
    "prompt_consist_temporal": ("consistency_frames",),
    "prompt_instruction_temporal": ("instruction_frames",),
    "prompt_consist_multi": ("consistency_parts",),
    "prompt_instruction_multi": ("instruction_parts",),
}


def kris(edit_set: Set) -> Numbers:
    said = {edit["id"]: edit["said"] for edit in edit_set["edits"]}
    names = ["Overall", "factual", "conceptual", "procedural"]

    def run() -> Mapping[str, Any]:
        path = folder_of("kris") / "eval/gen/kris"
        with tempfile.TemporaryDirectory() as place:
            bench, results = Path(place) / "bench", Path(place) / "results"
            for edit in edit_set["edits"]:
                category, key = edit["category"], edit["id"].rpartition("_")[2]
                held = ["1-1.png", "1-2.png", "1-3.png"]
                several = category in ("temporal_prediction", "multi-element_composition")
                entry = {
                    "ori_img": held if several else held[0],
                    "gt_img": held[1],
                    "ins_en": "Do.",
                    "explain_en": "E.",
                }
                for folder in (bench / category, results / "m" / category):
                    folder.mkdir(parents=True, exist_ok=True)
                for name in held:
                    (bench / category / name).write_bytes(b"-")
                file = bench / category / "annotation.json"
                file.write_text(json.dumps((json.loads(file.read_text()) if file.exists() else {}) | {key: entry}))
                if edit["said"] is not None:
                    (results / "m" / category / f"{key}.png").write_bytes(b"-")
            prompts = stub("prompts", **{name: name for name in KRIS_PROMPTS})

            def judge(prompt: str, *pictures: Any, **named: Any) -> str:
                paths = [
                    shown
                    for value in (*pictures, *named.values())
                    for shown in (value if isinstance(value, list) else [value])
                ]
                edited = Path(next(shown for shown in map(str, paths) if "/results/" in shown))
                replies = said[f"{edited.parent.name}_{edited.stem}"]
                return next(replies[name] for name in KRIS_PROMPTS[prompt] if name in replies) or ""

            argv = ("--results_dir", str(results), "--models", "m", "--max_workers", "1")
            with theirs(path, argv=argv, openai=stub("openai"), prompts=prompts):
                for script in ("common", "knowledge", "temporal_prediction", "multi_element", "view_change"):
                    module = module_of(f"metrics_{script}")
                    module.BENCH_DIR, module.encode_image_to_base64 = str(bench), lambda path: str(path)
                    for name in [
                        name for name in vars(module) if name.startswith("evaluate_") and name.endswith("with_gpt")
                    ]:
                        setattr(module, name, judge)
                    next(run for name, run in vars(module).items() if name.startswith("run_"))()
                summary = module_of("summarize")
                _, _, levels, overall = summary.summarize_benchmark_scores_with_normalization(str(results / "m"))
            averages = {name.partition(" ")[0].lower(): of["AVG"] for name, of in levels.items()}
            return averages | {"Overall": overall.get("AVG")}

    return numbers_of(names, run)


def risebench(edit_set: Set) -> Numbers:
    free = any(
        len(edit["said"] or "??") < len(RISE[edit["category"]])
        for edit in edit_set["edits"]
        if edit["said"] is not None
    )
    rows, judged = [], {}
    for edit in edit_set["edits"]:
        row = {"index": edit["id"], "category": edit["category"], "instruction": "Do.", "image": "1.png"}
        row |= {"reference": "So.", "reference_txt": "So.", "subtask": "s", "reasoning_img": None}
        asked = edit["said"]
        if free:
            is_free = asked is not None and len(asked) < len(RISE[edit["category"]])
            row["consistency_free"] = 1.0 if is_free else float("nan")
        rows.append(row)
        if asked is not None:
            replies = ["Failed to obtain answer via API. " if text is None else text for text in asked.values()]
            replies = replies if len(replies) == len(RISE[edit["category"]]) else [None, *replies]
            judged[edit["id"]] = {f"judge{place}": text for place, text in enumerate(replies, 1)}

    def run() -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory() as place, theirs(folder_of("risebench")):
            return _rise(module_of("gpt_eval"), Path(place), rows, judged, [])

    return numbers_of(["Accuracy", "Score"], run)


def _rise(module: Any, place: Path, rows: Any, judged: Any, more: list[str]) -> Mapping[str, Any]:
    os.chdir(place)
    (place / "out").mkdir()
    (place / "data.json").write_text(json.dumps(rows))
    (place / "out/m.pkl").write_bytes(pickle.dumps(judged))
    real = module.dump
    module.dump = lambda data, file, **named: None if str(file).endswith("xlsx") else real(data, file, **named)
    sys.argv = ["theirs", "--data", "data.json", "--output", "out", "--model", "m", *more]
    module.main()
    with open(place / "out/m_judge.csv") as file:
        overall = {row["-"]: row for row in csv.DictReader(file)}["Overall"]
    return {name: overall[key] or "nan" for name, key in (("Accuracy", "Accuracy"), ("Score", "Score-Origin"))}


def unireditbench(edit_set: Set) -> Numbers:
    rows, judged = [], {}
    for edit in edit_set["edits"]:
        name, _, idx = edit["id"].rpartition("_")
        rows.append({"name": name, "idx": int(idx), "instruction": "Do.", "category": name})
        replies = ["", "", ""]  # what a missing edit leaves
        if edit["said"] is not None:
            replies = ["Failed to obtain answer via API. " if text is None else text for text in edit["said"].values()]
        judged[f"{name}#{idx}"] = {f"judge{place}": text for place, text in enumerate(replies, 1)}

    def run() -> Mapping[str, Any]:
        path = folder_of("unireditbench") / "eval"
        with tempfile.TemporaryDirectory() as place, theirs(path, openai=stub("openai")):
            return _rise(module_of("gpt_eval_uniredit"), Path(place), rows, judged, ["--input", "in"])

    return numbers_of(["Accuracy", "Score"], run)


def picture(seed: int, width: int, height: int) -> Image.Image:
    """Returns a picture of random pixels, the same for the same seed."""
    return Image.frombytes("RGB", (width, height), random.Random(seed).randbytes(3 * width * height))


def magicbrush(edit_set: Set) -> Numbers:
    import numpy
    import torch

    def to_tensor() -> Callable[[Image.Image], Any]:
        """Stands for torchvision's: channels first, 0 to 1."""
        return lambda shown: torch.from_numpy(numpy.asarray(shown, dtype="float32").transpose(2, 0, 1) / 255)

    transforms = types.SimpleNamespace(ToTensor=to_tensor)
    vision = stub("torchvision.transforms", transforms=transforms)
    stubs = {"clip": stub("clip"), "pyiqa__utils__img_util": stub("img_util"), "torchvision__transforms": vision}
    stubs |= {
        "pyiqa": stub("pyiqa"),
        "pyiqa__utils": stub("utils"),
        "torchvision": stub("torchvision", transforms=vision),
    }
    stubs |= {"torchvision__transforms__functional": stub("functional")}

    def run() -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory() as place, theirs(folder_of("magicbrush") / "evaluation", **stubs):
            made, right = Path(place) / "made", Path(place) / "right"
            for edit in edit_set["edits"]:
                session, _, turn = edit["id"].partition("_")
                for folder in (made / session, right / session):
                    folder.mkdir(parents=True, exist_ok=True)
                if edit["said"] is not None:
                    names = (
                        [f"{session}_1.png"]
                        if turn == "1"
                        else [f"{session}_inde_{turn}.png", f"{session}_iter_{turn}.png"]
                    )
                    for name in names:
                        picture(*edit["edit"]).save(made / session / name)
                picture(*edit["reference"]).save(right / session / f"{session}-output{turn}.png")
            module = module_of("image_eval")
            args = types.SimpleNamespace(generated_path=str(made), gt_path=str(right))
            _, final = module.load_data(args)
            return {"L1": module.eval_distance(final, "l1"), "L2": module.eval_distance(final, "l2")}

    return numbers_of(["L1", "L2"], run)


WISE = {
    "detail_preserving": "preserving",
    "instruction_following": "following",
    "visual_quality": "quality",
    "knowledge_fidelity": "knowledge",
    "creative_fusion": "fusion",
}


def wiseedit(edit_set: Set) -> Numbers:
    said = {edit["id"]: edit["said"] for edit in edit_set["edits"]}
    names = ["Awareness", "Interpretation", "Imagination", "Complex", "Basic Overall"]

    class Client:
        def __init__(self) -> None:
            self.chat = types.SimpleNamespace(completions=self)

        def create(self, messages: Any, **named: Any) -> Any:
            content = messages[0]["content"]
            shown = [
                part["image_url"]["url"].partition("base64,")[2] for part in content if part["type"] == "image_url"
            ]
            metric = WISE[content[0]["text"].split()[0]]
            edited = Path(next(path for path in shown if "/results/" in path))
            reply = said[f"{edited.parent.parent.name}_{edited.stem}"][metric]
            if reply is None:
                raise ConnectionError("no reply")
            return types.SimpleNamespace(choices=[types.SimpleNamespace(message=types.SimpleNamespace(content=reply))])

    def run() -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory() as place, theirs(folder_of("wiseedit"), openai=stub("openai")):
            data, results, scores = (Path(place) / name for name in ("data", "results", "scores"))
            by_subset: dict[str, list[str]] = {}
            for edit in edit_set["edits"]:
                subset, _, idx = edit["id"].rpartition("_")
                by_subset.setdefault(subset, []).append(idx)
                if edit["said"] is not None:
                    for language in ("en", "cn"):
                        (results / "m" / subset / language).mkdir(parents=True, exist_ok=True)
                        (results / "m" / subset / language / f"{idx}.png").write_bytes(b"-")
            runner, reader = module_of("run_eval"), module_of("Evaluation.evaluation_utils")
            reader.encode_image_to_base64, reader.init_client = lambda path: path, lambda *_: Client()
            reader.get_metric_prompt = lambda metric, several=False: metric
            for subset, rows in by_subset.items():
                task = subset.rpartition("_")[0]
                folder = data / "WiseEdit-Complex" / subset if "Complex" in task else data / "WiseEdit" / task / subset
                folder.mkdir(parents=True)
                file = folder / f"{subset}.csv"
                file.write_text("idx,prompt,input_1,hint,ref\n" + "".join(f"{idx},Do.,1.png,,\n" for idx in rows))
                runner.run_eval_for_one_csv(
                    str(file), 1, "judge", "", "", "m", str(results / "m"), str(scores / "m"), str(data)
                )
            (scores / "m").mkdir(parents=True, exist_ok=True)
            means = module_of("statistic")
            subsets = means.list_base_subsets_by_category(str(data))
            summary = means.summarize_one_model_by_category("m", subsets, str(data), str(scores))
            of_task = {
                name: summary[f"{'WiseEdit_Complex' if name == 'Complex' else name}_overall_en"] for name in names[:4]
            }
            return of_task | {"Basic Overall": summary["basic_overall_en"]}

    return numbers_of(names, run)


def omnicontext(edit_set: Set) -> Numbers:
    names = ["Prompt Following", "Subject Consistency", "Overall"]

    def run(guess: int | None) -> Mapping[str, Any]:
        util = stub("omnicontext.openai_util")
        stubs = {"datasets": stub("datasets"), "megfile": stub("megfile"), "omnicontext__openai_util": util}
        with theirs(folder_of("omnicontext"), **stubs), guesses(guess):
            module, scorer = (
                module_of(f"omnicontext.{name}") for name in ("test_omnicontext_score", "omnicontext_score")
            )
            module.Image = types.SimpleNamespace(open=lambda path: PICTURE)
            lines: dict[str, list[Any]] = {}
            for edit in edit_set["edits"]:
                if edit["said"] is None:
                    continue
                tries = [edit["said"], *edit.get("again", [edit["said"]] * 2)]
                asked = [text for said in tries for _, text in sorted(said.items())]  # PF before SC
                # An exception at PF of a try leaves out its SC: the number of the question says which it is.
                counter = {"try": -1}

                def ask(pictures: Any, prompt: str, *rest: Any, asked: Any = asked, counter: Any = counter) -> str:
                    counter["try"] += prompt == "PF"
                    reply = asked[2 * counter["try"] + (prompt != "PF")]
                    if reply is None:
                        raise ConnectionError("no reply")
                    return str(reply)

                scorer.ask_gpt4o = ask
                judge = scorer.OmniContextScore("", "")
                judge.prompt_generator = lambda *_, task_type, **named: (
                    "PF" if task_type == "prompt_following" else "SC"
                )
                item = {
                    "instruction": "Do.",
                    "key": edit["id"],
                    "instruction_language": "en",
                    "input_images": [PICTURE],
                }
                item |= {"output_image_path": "x", "task_type": edit["category"]}
                lines.setdefault(edit["category"], []).append(module.process_single_item(item, judge))
            means = module_of("omnicontext.calculate_statistics")
            import numpy

            averages = means.analyze_scores(lines, "en")
            return {name: numpy.mean([*of.values()]) for name, of in zip(names, averages, strict=True)}

    return with_guesses(names, run)


def structeditbench(edit_set: Set) -> Numbers:
    names = ["Overall", "Editing", "Maintain", "chart", "math", "graph", "puzzle", "science", "table"]
    said = {edit["id"]: edit for edit in edit_set["edits"]}
    rows = [
        {
            "category": edit["category"],
            "qa_list": [
                {"question": f"{edit['id']}#{place}?", "ground_truth_answer": about["right"], "label": about["label"]}
                for place, about in enumerate(edit["questions"], 1)
            ],
            "output_image_m": None if edit["said"] is None else PICTURE,
        }
        for edit in edit_set["edits"]
    ]

    class Judge:
        def __init__(self, *values: Any, **named: Any) -> None:
            pass

        def generate(self, asked: Any, sampling: Any) -> list[Any]:
            return [types.SimpleNamespace(outputs=self._outputs(request["prompt"])) for request in asked]

        def _outputs(self, prompt: str) -> list[Any]:
            if "Task: Evaluate" not in prompt:
                return [types.SimpleNamespace(text="6")]
            about, _, place = prompt.partition("[Question]: ")[2].partition("?")[0].partition("#")
            reply = said[about]["said"][place]
            return [] if reply is None else [types.SimpleNamespace(text=reply)]

    class Processor:
        from_pretrained = classmethod(lambda cls, *_, **__: cls())

        def apply_chat_template(self, messages: Any, **named: Any) -> str:
            return str(messages[0]["content"][-1]["text"])

    def run() -> Mapping[str, Any]:
        stubs = {
            "datasets": stub("datasets", load_dataset=lambda *_, **__: rows),
            "vllm": stub("vllm", LLM=Judge),
            "transformers": stub("transformers", AutoProcessor=Processor),
        }
        stubs["datasets"].Dataset = types.SimpleNamespace(
            from_list=lambda listed: types.SimpleNamespace(save_to_disk=lambda path: None)
        )
        with tempfile.TemporaryDirectory() as place:
            argv = ("--dataset_path", "d", "--output_dir", place, "--model_path", "j", "--img_size", "512")
            with theirs(folder_of("structeditbench"), argv=argv, **stubs):
                runpy.run_path(str(folder_of("structeditbench") / "qwen_scoring.py"), run_name="__main__")
            (file,) = Path(place).glob("*_analysis.json")
            analysis = json.loads(file.read_text())
        overall = {
            f"global_{kind}_accuracy": name
            for kind, name in zip(("weighted", "editing", "maintain"), names, strict=False)
        }
        groups = {category: of["accuracy"] for category, of in analysis["group_accuracies"].items()}
        return {name: analysis[key] for key, name in overall.items()} | groups

    wanted = [*names[:3], *dict.fromkeys(edit["category"] for edit in edit_set["edits"])]
    return numbers_of(wanted, run)


class Looked:
    """A picture that keeps what is done to it: `done` is its size, the size it is scaled to, and what is cut out."""

    def __init__(self, size: tuple[int, int], done: tuple[int, ...] = ()) -> None:
        self.size, self.done = size, done or size

    def resize(self, size: tuple[int, int], resample: int) -> Looked:
        assert resample == Image.Resampling.LANCZOS
        return Looked(size, (*self.done, *size))

    def crop(self, box: tuple[int, int, int, int]) -> Looked:
        return Looked((box[2] - box[0], box[3] - box[1]), (*self.done, *box))


def pictures_of_structeditbench() -> list[tuple[int, ...]]:
    """Returns what their Qwen script does to pictures before it shows them, with the size that it takes by default."""
    stubs = {"datasets": stub("datasets"), "vllm": stub("vllm"), "transformers": stub("transformers")}
    with theirs(folder_of("structeditbench"), **stubs):
        script = runpy.run_path(str(folder_of("structeditbench") / "qwen_scoring.py"))
    cut, shapes = script["var_center_crop"], script["ASPECT_RATIO_1024"]
    return [cut(Looked(size), shapes).done for size in sizes_of_pictures()]


def msebench(edit_set: Set) -> Numbers:
    names = [f"{name} {turn}" for name in ("Success", "Overall") for turn in range(1, 6)]
    sessions = len(edit_set["edits"]) // 5
    said = {edit["id"]: edit["said"] for edit in edit_set["edits"]}
    results = [
        {f"turn_{turn - 1}_image": None if said[f"{n:03d}_{turn}"] is None else PICTURE for turn in range(1, 6)}
        for n in range(sessions)
    ]
    data = [{"index": n, "context": [f"{n:03d}"] * 5, "image": PICTURE} for n in range(sessions)]

    class Client:
        def __init__(self, **named: Any) -> None:
            self.responses = self

        def create(self, input: Any, **named: Any) -> Any:
            text = input[0]["content"][0]["text"]
            told = text.partition("user editing prompts are: ")[2].partition("\n")[0]
            place, turn = told.partition("': '")[2][:3], told.count("turn")
            reply = said[f"{place}_{turn}"]["turn"]
            if reply is None:
                raise ConnectionError("no reply")
            return types.SimpleNamespace(output_text=reply)

    def load(name: str, split: str = "") -> Any:
        return results if split else {"train": data}

    class Pool:
        def __init__(self, **named: Any) -> None:
            self.imap = map

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *error: object) -> None:
            pass

    def run() -> Mapping[str, Any]:
        path = folder_of("msebench") / "evaluation"
        stubs = {"datasets": stub("datasets", load_dataset=load), "openai": stub("openai", OpenAI=Client)}
        with tempfile.TemporaryDirectory() as place:
            argv = ("--model_name", "m", "--res_path", f"{place}/out/r.json")
            with theirs(path, argv=argv, **stubs):
                os.chdir(place)
                os.environ.setdefault("OPENAI_API_KEY", "none")
                module = module_of("compute_score")
                module.multiprocessing = types.SimpleNamespace(Pool=Pool)
                module.main()
            with open(f"{place}/tmp_data/csv/r.json.csv") as file:
                rows = list(csv.DictReader(file))
        keys = {"Success": "Success Rate", "Overall": "Overall"}
        return {f"{name} {turn}": row[key] for name, key in keys.items() for turn, row in enumerate(rows, 1)}

    return numbers_of(names, run)


def picabench(edit_set: Set) -> Numbers:
    said = {edit["id"]: edit["said"] for edit in edit_set["edits"]}
    laws = list(dict.fromkeys(edit["category"] for edit in edit_set["edits"]))

    def run() -> Mapping[str, Any]:
        items = []
        for edit in edit_set["edits"]:
            asked = edit["said"] if edit["said"] is not None else {"1: yes": None}
            pairs = [
                {"question": f"{edit['id']}#{name}#", "answer": name.partition(": ")[2].capitalize(), "box": {}}
                for name in asked
            ]
            item = {"physics_category": "p", "physics_law": edit["category"], "edit_operation": "o"}
            item |= {"annotated_qa_pairs": pairs}
            items.append(item | ({} if edit["said"] is None else {"output_path": "a.png"}))

        class Client:
            def __init__(self, **named: Any) -> None:
                self.responses = self

            def create(self, input: Any, **named: Any) -> Any:
                about, name, _ = input[0]["content"][0]["text"].split("#", 2)
                reply = said[about][name]
                if reply is None:
                    raise ConnectionError("no reply")
                return types.SimpleNamespace(output_text=reply)

        with theirs(folder_of("picabench"), openai=stub("openai", OpenAI=Client)):
            module = module_of("PicaEval_gpt")
            module.create_visualization_and_question = lambda path, pair, *_: (pair["question"], "")
            module.load_image_base64 = lambda *_: ""
            args = types.SimpleNamespace(
                max_num=None, qa_field="annotated_qa_pairs", viz_mode="crop_box", api_key="k", api_base_url="u",
                num_workers=1, gpt_model="m", max_attempts=5, retry_backoff=2.0,
            )  # fmt: skip
            accuracy = module.calculate_accuracy_by_dimension(module.evaluate_with_gpt(items, "/", args))
        if not accuracy["sample_count"]:
            return {}
        return {"Overall": accuracy["overall_accuracy"]} | {
            law: of["accuracy"] for law, of in accuracy["by_law"].items()
        }

    return numbers_of(["Overall", *laws], run)


def genarena(edit_set: Set) -> Numbers:
    path = folder_of("genarena")
    models = sorted({name for edit in edit_set["edits"] for name in edit["models"]})

    def run() -> Mapping[str, Any]:
        package = stub("genarena")
        package.__path__ = [str(path / "genarena")]
        stubs = {"genarena": package, "genarena__data": stub("genarena.data"), "genarena__vlm": stub("genarena.vlm")}
        with theirs(path, **stubs):
            battle = module_of("genarena.battle")
            prompts = module_of("genarena.prompts.mmrb2")
            prompts.build_prompt = lambda **shown: shown
            rating = module_of("genarena.bt_elo")
            fought = []
            for edit in edit_set["edits"]:
                if edit["said"] is None:
                    continue
                first, second = edit["models"]

                def call(shown: Any, edit: Edit = edit, first: str = first) -> str:
                    order = "forward" if shown["output_image_a"] == first else "backward"
                    reply = edit["said"][f"better_response.{order}"]
                    return raising(ConnectionError()) if reply is None else reply

                sample = types.SimpleNamespace(instruction="Do.", input_images=["x"], index=0)
                judge = types.SimpleNamespace(call=call)
                result = battle.execute_battle(judge, prompts, sample, first, second, first, second)
                fought.append((first, second, result.final_winner))
            return rating.compute_bt_elo_ratings(fought, models=models, max_iters=100_000, tol=1e-13)

    return numbers_of(models, run)


def geditbench_v2(edit_set: Set) -> Numbers:
    path = folder_of("geditbench_v2") / "src"
    models = sorted({name for edit in edit_set["edits"] for name in edit["models"]})
    questions = ("instruction_following", "visual_quality", "visual_consistency")

    class Registry:
        def register(self, name: str) -> Callable[[Any], Any]:
            return lambda pipe: pipe

    def run() -> Mapping[str, Any]:
        pipes = stub("pipes", BasePipe=object, PIPE_REGISTRY=Registry())
        pipes.__path__ = [str(path / "autopipeline/components/modules")]
        log = stub("common_utils.logging_util", get_logger=lambda: Anything())
        stubs = {
            "autopipeline": stub("autopipeline"),
            "autopipeline__components": stub("components"),
            "autopipeline__components__modules": pipes,
            "autopipeline__components__primitives": stub("primitives"),
            "autopipeline__components__primitives__clients": stub("clients"),
            "schemas__prompt_template": stub("schemas.prompt_template"),
            "common_utils__logging_util": log,
        }
        with theirs(path, **stubs):
            judging = module_of("autopipeline.components.modules.judge")
            schemas = module_of("schemas.pipeline_io")
            reading = module_of("common_utils.json_util")
            pairing = module_of("common_utils.pairwise")
            rating = module_of("common_utils.elo_score")
            data: list[list[Any]] = []
            for question in questions:
                data.append([])
                for edit in edit_set["edits"]:
                    if edit["said"] is None:
                        continue
                    first, second = pairing.canonical_pair(*edit["models"])
                    order = "forward" if first == edit["models"][0] else "backward"
                    reply = edit["said"][f"{question}.{order}"]
                    judge = object.__new__(judging.PairwiseJudge)
                    judge.output_schema = schemas.VLMPairJudgeOutput
                    judge.input_schema, judge.prompt_template = None, None
                    judge.prompt_adapter = types.SimpleNamespace(build_payload=lambda *_, **__: None)
                    judge.client = types.SimpleNamespace(
                        call_model=lambda *_, reply=reply: reply, parse_response_to_json=reading.parse_json, retries=1
                    )
                    result = judge({})["value"]
                    key = f"{edit['category']}_pair_{first}_vs_{second}"
                    data[-1].append({"key": key, "results": {"winner": result}})
            fit, fitted = rating._fit_joint_paired_comparison_model, []

            def keeping(*values: Any, **named: Any) -> Any:
                fitted.append(fit(*values, **named))
                return fitted[-1]

            rating._fit_joint_paired_comparison_model = keeping
            table = rating.calculate_joint_leaderboard(data, n_bootstrap=0, dimension_names=list(questions))
            # Their table rounds to whole points: the strengths before that.
            points = 1000 + 400 / math.log(10) * fitted[0][0]
            return dict(zip(sorted(table["Model"]), points, strict=True))

    return numbers_of(models, run)


SCRIPTS: dict[str, Callable[[Set], Numbers]] = {
    script.__name__: script
    for script in (
        *(viescore, imgedit, kris, risebench, unireditbench, magicbrush, wiseedit, omnicontext, structeditbench),
        *(msebench, picabench, genarena, geditbench_v2, rededit),
    )
}
PICTURES = {"structeditbench": pictures_of_structeditbench}
"""What is done to pictures before they are shown."""


def rows_of(protocol: str) -> dict[str, Any]:
    """Returns a file of rows: each set's replies by their number in `replies`, and `numbers`, the authors'."""
    texts: dict[str, int] = {}

    def place(said: Any) -> Any:
        if said is None:
            return None
        return {name: None if text is None else texts.setdefault(text, len(texts)) for name, text in said.items()}

    sets = []
    for edit_set in SETS[protocol]():
        numbers = SCRIPTS[protocol](edit_set)
        edits = [
            {**edit, "said": place(edit["said"])} | ({"again": [*map(place, edit["again"])]} if "again" in edit else {})
            for edit in edit_set["edits"]
        ]
        sets.append({"kind": edit_set["kind"], "numbers": numbers, "edits": edits})
    repository, commit = REPOSITORIES[protocol]
    head = {"protocol": protocol, "repository": repository, "commit": commit}
    if protocol in PICTURES:
        head |= {"pictures": [[*steps] for steps in PICTURES[protocol]()]}
    return {**head, "replies": [*texts], "sets": sets}


def write(document: Mapping[str, Any], on: str) -> None:
    """Writes a file of rows, one set a line."""
    head = {name: value for name, value in document.items() if name not in ("sets", "replies")} | {"on": on}
    lines = [
        json.dumps(head, ensure_ascii=False),
        *(json.dumps(reply, ensure_ascii=False) for reply in document["replies"]),
    ]
    body = ",\n".join(json.dumps(edit_set, ensure_ascii=False, separators=(",", ":")) for edit_set in document["sets"])
    replies = ",\n".join(lines[1:])
    text = f'{lines[0][:-1]}, "replies": [\n{replies}\n], "sets": [\n{body}\n]}}\n'
    (ROWS / f"{document['protocol']}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or SCRIPTS:
        begun = time.monotonic()
        document = rows_of(name)
        write(document, time.strftime("%Y-%m-%d", time.gmtime()))
        stops = sum(STOPS in edit_set["numbers"].values() for edit_set in document["sets"])
        print(
            f"{name}: {len(document['sets'])} sets, {stops} where it stops, {time.monotonic() - begun:.1f} s",
            flush=True,
        )
