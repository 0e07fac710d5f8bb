"""docs/python.md and the notebooks of `examples/` are run: the blocks in their order, on the run of a notebook."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from documented_blocks import DOCS, blocks

EXAMPLES = DOCS.parent / "examples"
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))
FINISHED = "config-20261122-120000"
PAGE = (DOCS / "python.md").read_text("utf-8")


def cells(name: str, kind: str = "code") -> list[str]:
    notebook = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def executed(code: str, names: dict[str, Any]) -> Any:
    """Runs a cell, and returns what its last line is worth, as a notebook would show it."""
    body = ast.parse(code).body
    last = body[-1]
    shown = last if isinstance(last, ast.Expr) and not code.endswith(";") else None
    if shown:
        body.pop()
    exec(compile(ast.Module(body, []), "cell", "exec", dont_inherit=True), names)
    return eval(compile(ast.Expression(shown.value), "cell", "eval", dont_inherit=True), names) if shown else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Where all of it happens."""
    made, before = tmp_path_factory.mktemp("python"), Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(made / "cache"))
        os.chdir(made)
        yield made
        os.chdir(before)


@pytest.fixture(scope="module")
def own_pictures(folder: Path) -> tuple[dict[str, Any], list[Any]]:
    """The names that the notebook has at its end, and what its cells show."""
    pytest.importorskip("pandas")
    names: dict[str, Any] = {"__name__": "__main__"}
    return names, [executed(code, names) for code in cells("own_pictures.ipynb")]


def test_own_pictures_come_to_a_verdict(own_pictures: tuple[dict[str, Any], list[Any]]) -> None:
    names, shown = own_pictures
    run, (lost,) = names["run"], names["frame"].query("status != 'ok'").to_dict("records")
    assert (lost["sample_id"], lost["edit_model"], lost["status"]) == ("disc-5", "hasty", "edit_missing")
    assert "edits/hasty" in lost["why_no_score"]
    careful, hasty = shown[4]
    assert careful > hasty + 1
    assert names["pair"].better == "careful"
    picture = run._repr_html_()
    assert "<strong>careful is better than hasty, by 2.35 (out of 10; 95% interval 1.78 to 2.92).</strong>" in picture
    assert "27/28" in picture
    assert picture.count("<img") == 3 * 6
    assert run.page.is_file()


def test_every_block_of_the_page_is_run(own_pictures: tuple[dict[str, Any], list[Any]], folder: Path) -> None:
    names = own_pictures[0]
    (folder / "config.yaml").write_text(yaml.safe_dump(names["config"]))
    names["run"].path.rename(folder / "runs" / FINISHED)  # a finished run is given back as it is
    namespace: dict[str, Any] = {"__name__": "__main__"}
    every = blocks(DOCS / "python.md")
    assert len(every) > 8
    for block in every:
        assert (block.language, block.not_run) == ("python", "")
        exec(compile(block.text, "docs/python.md", "exec", dont_inherit=True), namespace)
    assert namespace["run"].path.name == FINISHED
    there = {path.name.partition("-")[0] for path in (folder / "runs").iterdir()}
    assert there == {"config", "score", "few"}  # and no second one of the same evaluation
    assert namespace["found"].score == 10.0
    assert namespace["counter"].edits == 8  # two of each category by each model
    assert namespace["counter"].scores == sum(mean.scored for mean in namespace["few"].means())
    assert list(namespace["lost"]) == ["disc-5"]
    assert set(namespace["controls"].index) == {"control:source", "control:blank", "control:shuffled"}
    shown = re.search(r"# (careful, judged by .*)", PAGE)
    assert shown is not None
    assert shown[1] == str(namespace["run"].means("careful")[0])


def test_every_notebook_is_in_the_table_and_has_no_outputs() -> None:
    for name in NOTEBOOKS:
        assert f"(../examples/{name})" in PAGE
        notebook = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
        for cell in notebook["cells"]:
            assert not cell.get("outputs")
            assert cell.get("execution_count") is None
    assert len(NOTEBOOKS) == 4


def test_the_chinese_twin_has_the_same_code() -> None:
    assert cells("first_run.ipynb") == cells("first_run.zh-CN.ipynb")
    words = cells("first_run.zh-CN.ipynb", "markdown")
    assert len(words) == len(cells("first_run.ipynb", "markdown"))
    assert all(re.search(r"[\u4e00-\u9fff]", text) for text in words)


@pytest.mark.models
@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name != "first_run.zh-CN.ipynb"])
def test_a_kernel_executes_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # by which a kernel leaves its streams alone
    notebook = nbformat.read(EXAMPLES / name, 4)
    nbformat.validate(notebook)
    options = {"resources": {"metadata": {"path": str(tmp_path)}}, "kernel_name": "python3", "timeout": 250}
    nbclient.NotebookClient(notebook, **options).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    pictures = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("data:image/jpeg" in picture for picture in pictures)  # a run
    if name != "training_loop.ipynb":  # which shows no progress
        (progress,) = [picture for picture in pictures if picture.startswith("<pre") and "schedule" in picture]
        assert "end" in progress
