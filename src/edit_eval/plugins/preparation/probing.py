"""Looks at environments from within: starts their interpreter as for a worker, and reports what is missing; reads what
a model behind a server said about the example."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.config.kinds import KINDS, Kind
from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import Gpu
from edit_eval.execution.drivers.local import how_it_ended, kill_group
from edit_eval.execution.findings import Finding, Level
from edit_eval.execution.machine.environments import bounds, import_path, install_line
from edit_eval.privacy import hide_secrets
from edit_eval.protocols import contract as protocols
from edit_eval.protocols.asked import AskedJudge
from edit_eval.protocols.judging import read
from edit_eval.records import Reply, Status
from edit_eval.text import Text
from edit_eval.workers.messages import Message

SECONDS = 180.0  # limit for an environment; libraries on a cold network disk take a minute
LIBRARIES = ("torch", "torchvision", "diffusers", "transformers", "accelerate", "safetensors")
OLDEST = (3, 10)

# Must run on any Python at all: one too old for our syntax reports its version and ends.
PROBE = """import os, sys
path, out = sys.argv[1:3]
if sys.version_info < (3, 10):
    os.write(int(out), ('{"python": "%d.%d.%d"}' % tuple(sys.version_info[:3])).encode())
else:
    sys.path[:] = [path] + [p for p in sys.path if p]
    from edit_eval.workers.probe import main
    main([out])
"""


@dataclass(frozen=True)
class EnvironmentProbe:
    """A model's environment, and what to look for in it."""

    who: str
    """`judge qwen3_vl`; `this environment`."""
    python: str
    """Path of the interpreter."""
    kind: Kind | None = None
    class_path: str = ""
    """Empty: no model, only installed packages."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""
    """Folder of the configuration, which has the user's own classes."""
    on_gpu: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    """What a remote model is asked about the example: an `EditRequest` or `JudgeRequest` without its pictures."""
    asked: tuple[AskedJudge, protocols.Question] | None = None
    """The judge that will read the answer, and the question."""
    packages: tuple[str, ...] = ()
    """Packages that a server's environment must have, the engine first; they are found without importing them."""


def probe(question: EnvironmentProbe, seconds: float = SECONDS) -> Message:
    """Returns what the environment reports (see `edit_eval.workers.probe`); `fault` says why it reported no more."""
    order = {
        "class_path": question.class_path,
        "path": [question.folder] if question.folder else [],
        "parameters": dict(question.parameters),
        "methods": KINDS[question.kind].methods if question.kind else (),
        "libraries": (*question.packages, *LIBRARIES),
        "packages": question.packages,
        "request": dict(question.request),
    }
    with tempfile.TemporaryFile() as answers, tempfile.TemporaryFile() as errors:
        out = answers.fileno()
        try:
            process = subprocess.Popen(
                [question.python, "-c", PROBE, import_path(question.python), str(out)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(out,),
                start_new_session=True,
            )
        except OSError as error:
            return {"fault": Text("cannot be started: {}", error.strerror or error)}
        late = False
        try:
            process.communicate(json.dumps(order).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
            kill_group(process.pid)
            process.wait()
        answers.seek(0)
        errors.seek(0)
        answered, words = answers.read(), hide_secrets(errors.read().decode("utf-8", "replace")).split("\n")
    report: Message = {}
    for line in answered.splitlines():
        try:
            report.update(json.loads(line))
        except ValueError:
            break
    doing = Text(" while {}", report["doing"]) if report.get("doing") else ""
    last = next((" ".join(line.split()) for line in reversed(words) if line.strip()), "")
    said = Text(": {}", last[:300]) if last else ""
    how = how_it_ended(process.returncode)
    if late:
        report["fault"] = Text("did not answer within {:g} s{}", seconds, doing)
    elif "python" not in report:
        report["fault"] = Text("does not behave like a Python ({}{})", how, said)
    elif process.returncode:
        report["fault"] = Text("{}{}{}", how, doing, said)
    return report


# -- what it means --


def environment_findings(question: EnvironmentProbe, report: Mapping[str, Any], gpus: Sequence[Gpu]) -> list[Finding]:
    """Returns what an environment's report means for the model that is to run there."""
    findings = list(_stoppers(question, report))
    if not findings:
        findings = [_summary(question, report)]
    findings += _old_versions(question, report)
    findings += _torch_findings(question, report, gpus)
    return findings


def _stoppers(question: EnvironmentProbe, report: Mapping[str, Any]) -> list[Finding]:
    """Returns what keeps a worker from starting here."""

    def problem(text: str, advice: str) -> Finding:
        return Finding("environments", "problem", Text("{}: {}", question.who, text), advice)

    python, has_pip = question.python, bool(report.get("pip"))
    kind = "edit" if question.kind == "edit_model" else "judge"
    version = str(report.get("python", ""))
    if version and _numbers(version) < OLDEST:
        another = Text("`edit-eval env create DIR --for {}` makes an environment", kind)
        return [problem(Text("{} is Python {}, and a worker needs 3.10 or newer", python, version), another)]
    if report.get("fault"):
        return [problem(Text("{} {}", python, report["fault"]), Text("see what `{} -V` says", shlex.quote(python)))]
    if absent := report.get("absent"):
        return [problem(Text("{} has no {}", python, Text("{: and }", absent)), install_line(python, absent, has_pip))]
    if "pillow" in report and not report["pillow"]:
        broken = report.get("pillow_error")
        text = (
            Text("Pillow in {} cannot be imported: {}", python, broken) if broken else Text("{} has no Pillow", python)
        )
        return [problem(text, install_line(python, ["PIL"], has_pip))]
    missing_class = str(report.get("missing_class", ""))
    if missing_class:
        module = question.class_path.rpartition(":")[0]
        if f"{module}.".startswith(f"{missing_class}."):
            advice = Text("put it beside the configuration ({}), or install it there", question.folder)
            return [problem(Text("{} cannot find the module `{}`", python, module), advice)]
        text = Text("{} has no {}, which {} imports", python, missing_class, question.class_path)
        return [problem(text, install_line(python, [missing_class], has_pip))]
    if report.get("class_error"):
        return [
            problem(
                Text("{} cannot be used in {}: {}", question.class_path, python, report["class_error"]),
                Text("fix the class"),
            )
        ]
    findings = []
    needs = [need for need in report.get("needs", ()) if question.class_path]
    missing = list(dict.fromkeys(str(need["missing"]).partition(".")[0] for need in needs if need["missing"]))
    if missing:
        findings.append(
            problem(Text("{} has no {}", python, Text("{: and }", missing)), install_line(python, missing, has_pip))
        )
    torchvision = str(report.get("torchvision", ""))
    if torchvision:
        versions = report.get("libraries", {})
        text = Text(
            "torchvision {} does not match torch {}", versions.get("torchvision", ""), versions.get("torch", "")
        )
        advice = Text(
            "uninstall torchvision in {} (edit-eval needs none), or install the one built for this torch", python
        )
        findings.append(problem(Text("{} in {}: {}", text, python, torchvision), advice))
    for need in needs:
        if need["error"] and not (torchvision and "torchvision" in need["error"]):
            text = Text("{} in {} cannot be imported: {}", need["name"], python, need["error"])
            findings.append(problem(text, Text("reinstall it: {}", install_line(python, [need["name"]], has_pip))))
    return findings


def _summary(question: EnvironmentProbe, report: Mapping[str, Any]) -> Finding:
    libraries = dict(report.get("libraries", {}))
    shown = [f"Python {report.get('python', '')}"]
    names = dict.fromkeys((*question.packages, *LIBRARIES))
    shown += [f"{name.replace('_', '-')} {libraries[name]}" for name in names if name in libraries]
    text = Text("{} ({})", question.python, shown)
    if not (question.class_path or question.packages) and not {"torch", "transformers"} <= set(libraries):
        advice = Text(
            "Qwen's models need torch and transformers: `edit-eval env create DIR --for edit` (or "
            "`--for judge`) makes an environment with them"
        )
        return Finding("environments", "note", text, advice, question.who)
    return Finding("environments", "ok", text, who=question.who)


def _old_versions(question: EnvironmentProbe, report: Mapping[str, Any]) -> list[Finding]:
    """Returns libraries older than edit-eval's own models need."""
    if not question.class_path.startswith("edit_eval."):
        return []
    try:
        wanted = bounds()
    except ConfigurationError:
        return []
    findings = []
    for need in report.get("needs", ()):
        match = re.search(r">=\s*([\d.]+)", wanted.get(need["name"], ""))
        if match and need["version"] and _numbers(need["version"]) < _numbers(match[1]):
            text = Text(
                "{}: {} {} in {} is older than {}",
                question.who,
                need["name"],
                need["version"],
                question.python,
                match[1],
            )
            advice = install_line(question.python, [need["name"]], bool(report.get("pip")))
            findings.append(Finding("environments", "warning", text, advice))
    return findings


def _torch_findings(question: EnvironmentProbe, report: Mapping[str, Any], gpus: Sequence[Gpu]) -> list[Finding]:
    """Returns findings on the GPUs that torch sees, and on versions with known faults."""

    def make_finding(level: Level, text: str, advice: str = "") -> Finding:
        return Finding("environments", level, Text("{}: {}", question.who, text), advice)

    findings = []
    versions = {need["name"]: str(need["version"]) for need in report.get("needs", ())}
    torch, cuda = versions.get("torch", ""), report.get("cuda")
    where = Text("torch {} in {}", torch, question.python)
    if cuda is not None and question.on_gpu:
        said = Text(" ({})", cuda["error"]) if cuda["error"] else ""
        worst: Level = "problem" if question.class_path else "warning"
        if not cuda["devices"] and not cuda["built"]:
            findings.append(
                make_finding(
                    worst, Text("{} was built without CUDA", where), Text("install a CUDA build of torch there")
                )
            )
        elif not cuda["devices"]:
            advice = Text(
                "install a torch built for this driver (`nvidia-smi` shows up to which CUDA), or update the driver"
            )
            findings.append(make_finding(worst, Text("{} (CUDA {}) sees no GPU{}", where, cuda["built"], said), advice))
        elif cuda["devices"] < len(gpus):
            text = Text("{} sees {} of {} GPUs{}", where, cuda["devices"], len(gpus), said)
            findings.append(make_finding("warning", text, Text("a GPU that it cannot see is not used")))
        for title in dict.fromkeys(g.title for g in gpus if not _has_kernels(g, cuda["architectures"])):
            text = Text("{} has no kernels for {} (only {})", where, title, cuda["architectures"])
            findings.append(make_finding("warning", text, Text("install a torch built for this GPU")))
    if re.match(r"2\.9\.[01]\b", torch):
        text = Text(
            "{}: 3D convolutions in bfloat16 are 10 to 20 times slower and take 3 to 17 times the memory", where
        )
        advice = Text("torch 2.10 or newer, or cuDNN 9.15 or newer beside this one (pytorch issue 166122)")
        findings.append(make_finding("warning" if question.on_gpu else "note", text, advice))
    return findings


def _has_kernels(gpu: Gpu, architectures: Sequence[str]) -> bool:
    """True if a torch built for `architectures` (`sm_90`, `compute_90`) has code for this GPU.

    Machine code runs on a newer GPU of the same major version, and intermediate `compute` code on any newer one.
    """
    if gpu.capability is None or not architectures:
        return True
    for architecture in architectures:
        match = re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", architecture)
        if match is None:
            return True  # not CUDA's names
        built = (int(match[2]), int(match[3]))
        if built <= gpu.capability and (match[1] == "compute" or built[0] == gpu.capability[0]):
            return True
    return False


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers at the beginning of a version: (2, 13, 0) of `2.13.0+cpu`; empty if it has none."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(number) for number in match[0].split(".")) if match else ()


# -- engines that fix versions --


PINS = {
    "vllm": Text("vllm 0.33 asks for torch 2.14.0 and transformers 5.16 to 5.20"),
    "sglang": Text("sglang 0.5.23 asks for torch 2.14.1 and transformers 5.19.0"),
    "vllm_omni": Text("vllm-omni 0.30 asks for diffusers 0.40.0 and transformers 5.13 or 5.14"),
}
"""By package: versions pinned by its metadata on PyPI (read on 21 November 2026). The newest diffusers (0.42) and the
judges of `plugins/local_judges` are used with transformers 5.23 here; none of these engines accepts that."""


LOADERS = ("edit_eval.plugins.diffusers.", "edit_eval.plugins.local_judges.")
"""Our classes that load a model with diffusers or transformers."""


def check_engine_environments(questions: Sequence[EnvironmentProbe]) -> list[Finding]:
    """Reports what engines ask of their environments; warns if others share such an environment."""
    findings = []
    for engine in questions:
        pinned = next((package for package in engine.packages if package in PINS), "")
        if not pinned:
            continue
        who = re.sub(": its server$", "", engine.who)
        others = [
            question.who
            for question in questions
            if question.python == engine.python and _needs_other_versions(question, pinned)
        ]
        others = [other for other in dict.fromkeys(others) if other != engine.who and other != who]
        if others:
            text = Text("{} shares {} with {}: {}", engine.who, engine.python, others, PINS[pinned])
            advice = Text("`edit-eval env create DIR --for judge` makes an environment; give it as `python` to {}", who)
            findings.append(Finding("environments", "warning", text, advice))
        else:
            findings.append(Finding("environments", "note", Text("{}: {}", engine.who, PINS[pinned])))
    return findings


def _needs_other_versions(question: EnvironmentProbe, engine: str) -> bool:
    """True if another engine runs there, or a class that loads a model itself."""
    if question.packages:
        return engine not in question.packages and any(package in PINS for package in question.packages)
    return question.class_path.startswith(LOADERS)


# -- answers of models behind servers --


SHOWN = 80  # characters of an answer


def edit_finding(who: str, examined: Mapping[str, Any]) -> Finding:
    """Returns one line: the server is down, or what it made. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding(
            "servers", "problem", Text("{}: {}", who, error), Text("a run would get no edits from it like this")
        )
    about, size = examined["about"], " x ".join(map(str, examined["size"]))
    made = Text(" with a picture of {} pixels", size) if size else Text("; no edit was requested (probe: false)")
    where = Text("{}: {} answered in {:.1f} s", who, about.get("server", "its server"), examined["seconds"])
    if checked := about.get("checked"):
        if "not checked" in checked:
            return Finding("servers", "note", Text("{}: {} is up; key and model are not checked", who, about["server"]))
        made = Text("; the key is known, and no edit was requested")
    return Finding("servers", "ok", where + made)


def server_finding(who: str, examined: Mapping[str, Any], judge: AskedJudge, question: protocols.Question) -> Finding:
    """Returns one line: the server is down, or its answer and whether that can be read. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding(
            "servers", "problem", Text("{}: {}", who, error), Text("a run would get no scores from it like this")
        )
    text, about = str(examined["text"]), examined["about"]
    where = Text("{}: {} answered in {:.1f} s", who, about.get("server", "its server"), examined["seconds"])
    said = " ".join(text.split())
    shown = f"`{said[:SHOWN]}{'...' * (len(said) > SHOWN)}`"
    more = {"values": examined.get("values", {}), "normalised": examined.get("normalised", False)}
    reply = Reply(text=text, ended=Status(examined["ended"]), final=True, **more)
    reading = read(judge.protocol, question, [reply], 0)
    if reply.values:
        likely = sorted(reply.values.items(), key=lambda item: -item[1])[:3]
        shown = ", ".join(f"`{label}` {share:.1%}" for label, share in likely)
    if reading.status is Status.OK:
        return Finding("servers", "ok", Text("{}: {}", where, shown))
    if reading.status is Status.CUT_OFF:
        advice = (
            Text("write `thinking: off`, or raise thinking_tokens")
            if said.startswith("<think>")
            else Text("raise max_tokens")
        )
        return Finding("servers", "warning", Text("{}, and was cut off: {}", where, shown), advice)
    advice = Text("see which model answers there, and what its prompt asks for")
    if said.startswith("<think>") and "</think>" not in said:
        advice = Text(
            "the server's reasoning parser takes the answer for a thought: start the server with another one or none "
            "(vLLM, SGLang: `--reasoning-parser`), or write `thinking: off`"
        )
    elif question.form == "score":
        advice = Text("for a judge that answers in words: `protocol: {{answer: reason_then_score}}`")
    return Finding("servers", "warning", Text("{} without a score ({})", where, reading.reason), advice)


ABILITIES: Mapping[str, tuple[str, Text, Callable[[str], Text]]] = {
    "schema": ("not held", Text("does not enforce a schema"), lambda how: Text("enforces a schema ({})", how)),
    "probabilities": ("none", Text("gives no probabilities"), lambda how: Text("gives probabilities ({})", how)),
    "thinking": (
        "no switch",
        Text("has no switch for thinking"),
        lambda how: Text("takes a switch for thinking ({}), which its model may not heed", how),
    ),
}
"""What a judge reports about its server -> its word for a missing ability, that in a phrase, and the opposite."""


def ability_findings(who: str, examined: Mapping[str, Any]) -> list[Finding]:
    """Returns one line on what the server can do beyond the chat protocol, if that is known."""
    about = examined.get("about", {})
    can = [
        without if about[name] == none else having(about[name])
        for name, (none, without, having) in ABILITIES.items()
        if name in about
    ]
    return [Finding("servers", "note", Text("{}: its server {:; }", who, can))] if can else []
