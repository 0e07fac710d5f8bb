"""Looks at an environment from within: what `edit-eval doctor` asks a model's interpreter before anything is loaded.

Started like a worker, with one pipe to answer into; the order is a JSON object on stdin. Answers are JSON objects, one
a line, to be merged; `doing` says what is under way, so that a process that dies or hangs has said where. No model is
loaded, and no device memory is taken; a remote model is asked one question.

    python, pip                    version; whether there is a pip to install with
    pillow                         version; empty if it is missing
    libraries                      versions of installed packages, by name (found without importing)
    absent                         those of `packages` that are not installed (found without importing)
    missing_class, class_error     why the class cannot be imported: a missing module, or another error
    needs                          one {name, version, missing, error} for each library that the class imports
    torchvision                    why an installed torchvision cannot be imported
    cuda                           {built, devices, error, architectures} of torch
    examined                       {text, values, normalised, ended, seconds, about} or {error}: a remote model's answer
                                   to one question; of an edit model {size, seconds, about}, `size` of
                                   the picture, empty without one

Standard library only at module level, like everything beside a model; Pillow may be what is missing.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any, TypedDict

from edit_eval.privacy import secrets_of
from edit_eval.workers.failures import one_line
from edit_eval.workers.messages import Message

Say = Callable[..., None]

LONGEST_ANSWER = 10_000  # the beginning of a longer answer tells enough

IMPLIED = ("accelerate", "safetensors")
"""Libraries that diffusers and transformers import only to put weights straight onto a device."""


def main(arguments: list[str]) -> None:
    """Answers the order on stdin into the descriptor given as `arguments[0]`."""
    out = int(arguments[0])

    def say(**fields: Any) -> None:
        os.write(out, json.dumps(fields).encode() + b"\n")

    probe_environment(json.load(sys.stdin), say)
    os._exit(0)  # at once: imported libraries need not clean up


def probe_environment(order: Message, say: Say) -> None:
    """Finds out everything, cheap things first.

    `order`: class_path, path, parameters, methods, libraries, request (what a model is told about the example: the
    fields of `EditRequest`, or of `JudgeRequest` with `shows`, the names, in place of its pictures; without: source and
    edit), packages (of a server's environment; then nothing else is looked at).
    """
    say(python=".".join(map(str, sys.version_info[:3])), pip=importlib.util.find_spec("pip") is not None)
    say(libraries={name: version for name in order["libraries"] if (version := _version(name))})
    if order.get("packages"):
        return say(absent=[name for name in order["packages"] if importlib.util.find_spec(name) is None])
    say(doing="importing Pillow")
    pillow = _import("PIL.Image")
    say(pillow=pillow["version"], **({"pillow_error": pillow["error"]} if pillow["error"] else {}))
    if pillow["missing"] or pillow["error"]:
        return
    needs: list[str] = []
    if order["class_path"]:
        say(doing=f"importing {order['class_path']}")
        needs = _probe_class(order, say)
    else:
        needs = [name for name in ("torch", "diffusers", "transformers") if _version(name)]
    imports = []
    for name in needs:
        say(doing=f"importing {name}")
        imports.append(_import(name))
        say(needs=imports)
    if "torch" in sys.modules:
        _probe_torch(needs, say)
    if order.get("request") and not any(need["missing"] or need["error"] for need in imports):
        _examine(order, say)


def _probe_torch(needs: list[str], say: Say) -> None:
    if importlib.util.find_spec("torchvision") is not None and {"transformers", "diffusers"} & set(needs):
        say(doing="importing torchvision")
        imported = _import("torchvision")
        if fault := imported["error"] or (f"No module named {imported['missing']}" if imported["missing"] else ""):
            say(torchvision=fault)
    say(doing="asking torch for GPUs")
    say(cuda=_cuda())


def _probe_class(order: Message, say: Say) -> list[str]:
    """Imports the model's class as a worker does; returns the libraries that it will need."""
    from edit_eval.workers.model_class import find_class, make_parameters

    try:
        model_class = find_class(order["class_path"], order["path"])
        make_parameters(model_class, order["parameters"])
        absent = [name for name in order["methods"] if not callable(getattr(model_class, name, None))]
        if absent:
            say(class_error=f"it has no method `{absent[0]}`")
    except ModuleNotFoundError as error:
        say(missing_class=error.name or str(error))
        return []
    except (Exception, SystemExit) as error:
        say(class_error=one_line(error))
        return []
    named = getattr(model_class, "requires", None)
    if named is not None:
        return [str(name) for name in named]
    return find_needed_modules(model_class.__module__)


def _examine(order: Message, say: Say) -> None:
    """Asks a remote model, if its class can, about the example."""
    from edit_eval.edit_models.contract import EditRequest
    from edit_eval.judges.contract import JudgeRequest
    from edit_eval.workers.example import example_pictures
    from edit_eval.workers.model_class import find_class, make_parameters

    model_class = find_class(order["class_path"], order["path"])
    if not callable(getattr(model_class, "examine", None)):
        return
    say(doing="asking it about the example")
    about = dict(order["request"])
    if "labels" in about:
        about["labels"] = tuple(about["labels"])
    there = example_pictures()
    edits = "edit" in order["methods"]
    shows = ["source"] if edits else about.pop("shows", list(there))
    pictures = {name: there[name] for name in shows if name in there}
    request = (EditRequest if edits else JudgeRequest)(pictures=pictures, **about)
    try:
        model = model_class(make_parameters(model_class, order["parameters"]))
        begin = time.monotonic()
        reply = model.examine(request)
        seconds = time.monotonic() - begin
        about = {str(key): str(value) for key, value in getattr(model, "about", dict)().items()}
    except (Exception, SystemExit) as error:
        say(examined={"error": one_line(error)})
        return
    if edits:
        return say(examined={"size": list(getattr(reply, "size", ())), "seconds": seconds, "about": about})
    ended = getattr(reply, "ended", "ok")
    text = str(getattr(reply, "text", reply))[:LONGEST_ANSWER]
    answer = {"text": text, "ended": str(getattr(ended, "value", ended)), "seconds": seconds, "about": about}
    answer |= {"values": dict(getattr(reply, "values", {})), "normalised": getattr(reply, "normalised", False)}
    say(examined=secrets_of(os.environ).hide_in_value(answer))


def find_needed_modules(module: str) -> list[str]:
    """Returns the libraries that a module of models always imports, at any depth of its functions, in order.

    An import under an `if` or a `try` is optional. For edit-eval's own modules, their imports count.
    """
    libraries: dict[str, None] = {}
    todo, seen = [module], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for imported in _imports(name):
            top = imported.partition(".")[0]
            if top == "edit_eval":
                todo.append(imported)
            elif top not in sys.stdlib_module_names and top != "PIL":
                libraries[top] = None
    if module.startswith("edit_eval.") and {"diffusers", "transformers"} & set(libraries):
        libraries.update(dict.fromkeys(IMPLIED))
    order = ("torch", "diffusers", "transformers")  # so that an error names the first of a chain
    return sorted(libraries, key=lambda name: order.index(name) if name in order else len(order))


def _imports(module: str) -> Iterator[str]:
    try:
        spec = importlib.util.find_spec(module) if module not in sys.modules else sys.modules[module].__spec__
        source = spec.loader.get_source(module) if spec is not None and spec.loader is not None else None  # type: ignore[attr-defined]
        tree = ast.parse(source or "")
    except (ImportError, AttributeError, SyntaxError, ValueError, OSError):
        return
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
            if node.module.startswith("edit_eval"):  # perhaps modules of that package
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, (ast.If, ast.Try)):
            todo.extend(ast.iter_child_nodes(node))


def _import(name: str) -> dict[str, str]:
    """Imports a library; returns its version, or the name of what is missing, or another error."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        return {"name": name, "version": "", "missing": error.name or name, "error": ""}
    except (Exception, SystemExit) as error:
        return {"name": name, "version": "", "missing": "", "error": one_line(error)}
    version = getattr(module, "__version__", None) or _version(name.partition(".")[0])
    return {"name": name, "version": str(version or ""), "missing": "", "error": ""}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return ""


class TorchSees(TypedDict):
    """What torch says of GPUs."""

    built: str
    """The version of CUDA that it is built for; empty for none."""
    devices: int
    error: str
    architectures: list[str]
    """Those that it has kernels for: `sm_90`, `compute_90`."""


def _cuda() -> TorchSees:
    import torch

    cuda: TorchSees = {"built": torch.version.cuda or "", "devices": 0, "error": "", "architectures": []}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if torch.cuda.is_available():
                cuda["devices"] = torch.cuda.device_count()
            cuda["architectures"] = torch.cuda.get_arch_list()
        cuda["error"] = next((" ".join(str(w.message).split()) for w in caught if "CUDA" in str(w.message)), "")
    except Exception as error:
        cuda["error"] = one_line(error)
    return cuda
