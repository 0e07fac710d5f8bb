"""What a configuration takes from the hub, fetched where there is a network for machines without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.benchmarks.row_benchmark import FilesBenchmark
from edit_eval.config.components import import_class
from edit_eval.config.schema import Configuration
from edit_eval.hub import Repository, fetch_model, is_address, local_path
from edit_eval.pretrained.folders import is_hub_name
from edit_eval.text import Text
from edit_eval.workers.model_class import make_parameters


class Fetched(NamedTuple):
    """One thing that a configuration needs."""

    what: str
    """`benchmark`, `rows of the benchmark`, `edit model NAME`, `judge NAME`, `prompts of judge NAME`."""
    name: str
    """As the configuration has it."""
    path: str
    """Where it lies now."""
    bytes: int

    def as_plain(self) -> dict[str, Any]:
        return self._asdict()


def fetch(configuration: Configuration) -> Iterator[Fetched]:
    """Downloads benchmark and weights as far as they lie on the hub, and prompts, which may lie on GitHub, too.

    Yields each as soon as it is here.

    What is in the cache already is not downloaded again. Raises `ConfigurationError` for what the hub does not have or
    give, and for a path that is not there; `Stopped` for a hub that fails, prompts that do not come, a full disk.
    """
    benchmark = configuration.benchmark
    cls = import_class("benchmark", benchmark.class_path, configuration.folder)
    if data_path := str(benchmark.parameters.get("data_path") or ""):
        yield _fetched("benchmark", data_path, local_path(data_path, getattr(cls, "wanted", ("*",))))
        if issubclass(cls, FilesBenchmark) and (rows := cls(make_parameters(cls, benchmark.parameters)).rows_file):
            yield _fetched(Text("rows of the benchmark"), str(rows), rows.fetch())
    models = [(Text("edit model"), one) for one in configuration.edit_models.values()]
    for kind, section in [*models, *(("judge", one) for one in configuration.judges.values())]:
        name, revision = section.parameters.get("model_name"), section.parameters.get("revision")
        if isinstance(name, str) and name:
            folder = Path(name).expanduser().absolute()
            if not folder.is_dir() and is_hub_name(name):
                folder = fetch_model(Repository(name, revision, "model"), section.named("model_name"))
            yield _fetched(f"{kind} {section.name}", name, folder)
        protocol = section.protocol
        prompts = protocol.parameters.get("prompts_path") if protocol else None
        if protocol and not prompts and protocol.parameters.get("prompts") == "official":
            cls = import_class("protocol", protocol.class_path, configuration.folder)
            for file in getattr(cls, "official_files", ()) or filter(None, [getattr(cls, "official_file", None)]):
                yield _fetched(Text("prompts of judge {}", section.name), str(file), file.fetch())
        if isinstance(prompts, str) and is_address(prompts):
            path = local_path(prompts, ("*.py", "*.json", "*.txt", "*.yaml"), "protocol.prompts_path")
            yield _fetched(Text("prompts of judge {}", section.name), prompts, path)


def _fetched(what: str, name: str, path: Path) -> Fetched:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return Fetched(what, name, str(path), sum(file.stat().st_size for file in files))
