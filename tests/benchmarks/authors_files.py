"""A folder with a benchmark as its authors lay it out, and a cache beside it."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.row_benchmark import RowBenchmark
from edit_eval.records import Sample


class Authors:
    """Writes files by name: bytes as they are, anything else as JSON."""

    def __init__(self, folder: Path, benchmark: type[RowBenchmark]) -> None:
        self.folder = folder / "data"
        self._benchmark = benchmark

    def write(self, files: Mapping[str, Any]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())

    def pack(self, name: str, files: Mapping[str, Any]) -> None:
        """Writes the files into a zip or tar instead."""
        self.write(files)
        with (
            zipfile.ZipFile(self.folder / name, "w")
            if name.endswith(".zip")
            else tarfile.open(self.folder / name, "w") as archive
        ):
            add = archive.write if isinstance(archive, zipfile.ZipFile) else archive.add
            for member in files:
                add(self.folder / member, member)
                (self.folder / member).unlink()

    def benchmark(self, **parameters: Any) -> Any:
        about = {"data_path": str(self.folder), "cache_dir": str(self.folder.parent / "cache")}
        return self._benchmark(self._benchmark.Parameters(**(about | parameters)))

    def samples(self, **parameters: Any) -> list[Sample]:
        return list(self.benchmark(**parameters).samples())
