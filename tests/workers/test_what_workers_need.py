"""What runs beside a model needs torch, transformers, diffusers and Pillow, and nothing else of ours."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edit_eval.workers.probe import probe_environment

SOURCES = Path(__file__).resolve().parents[2] / "src"
LAYERS = (
    *("workers", "testing", "edit_models", "judges", "benchmarks", "endpoints", "pretrained"),
    *("plugins/metrics", "plugins/scenes/in_worker"),
)
REFUSED = ("pydantic", "typer", "rich", "yaml", "scipy", "altair", "jinja2", "filelock", "psutil", "openai")

# Found by every Python that the program starts. transformers may have these libraries; ours may not ask for them.
REFUSAL = f"""
import sys
class Refusal:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in {REFUSED!r}:
            return None
        frame = sys._getframe(1)
        while "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        asked = frame.f_code.co_filename
        if asked.startswith({str(SOURCES)!r}):
            raise ImportError(f"{{asked}} asks for {{name}}")
sys.meta_path.insert(0, Refusal)
"""


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which our code can import none of what is not to be there."""
    folder = tmp_path_factory.mktemp("refusal")
    (folder / "sitecustomize.py").write_text(REFUSAL)
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


def test_nothing_but_torch_transformers_diffusers_and_pillow(refusing: dict[str, str]) -> None:
    pytest.importorskip("transformers")
    names = [f"edit_eval.{name}" for name in ("records", "errors", "privacy", "pictures")]
    for layer in LAYERS:
        paths = (SOURCES / "edit_eval" / layer).rglob("*.py")
        names.extend(".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths)
    code = (
        "import importlib, sys\n"
        f"sys.path.insert(0, {str(SOURCES)!r})\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        "try:\n    import edit_eval.config.sections\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=refusing, timeout=200)
    assert done.returncode == 0, done.stderr[-600:]
    assert "asks for" in done.stdout  # the refusal works


def test_syntax_of_python_3_10() -> None:
    paths = [path for layer in LAYERS for path in (SOURCES / "edit_eval" / layer).rglob("*.py")]
    assert len(paths) > 20
    for path in paths:
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 10))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("edit_models.image_folder:ImageFolder", {"folder": "edits"}),
        ("edit_models.table_column:TableColumn", {"table": "mine.parquet", "column": "edit"}),
        ("plugins.people.in_worker.edit_of_pair:EditOfPair", {"data": "mmrb2", "data_path": "mmrb2", "side": "A"}),
    ],
)
def test_edits_that_are_there_need_no_library(name: str, parameters: dict[str, str]) -> None:
    """Their tables, and those on the hub, are read before a worker starts."""
    said: dict[str, object] = {}
    order = {"class_path": f"edit_eval.{name}", "path": [], "methods": [], "libraries": []}
    probe_environment({**order, "parameters": parameters}, lambda **fields: said.update(fields))
    assert "class_error" not in said
    assert "missing_class" not in said
    assert not said.get("needs")
