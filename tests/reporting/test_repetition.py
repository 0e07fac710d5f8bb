from dataclasses import replace
from pathlib import Path

from edit_eval.reporting.costs import repetition
from reporting.reported_runs import HOSTILE
from reporting.reports import Elements, Report, report_on


def test_seeds_versions_and_devices_are_those_of_the_records(complete: Report) -> None:
    found = repetition(complete.results)
    assert list(found["versions"].items())[:2] == [("python", "3.11.9"), ("edit-eval", "0.1.0")]
    assert found["devices"] == ["4 × NVIDIA A100-SXM4-80GB"]
    assert found["seeds"] == {"qwen_image_edit": 0}
    assert (found["edit_seeds"], found["repeats"]) == (1, 1)


def test_workers_on_the_cpu_are_called_so(complete: Report) -> None:
    results = replace(complete.results, devices=("cpu:0", "cpu:1"))
    assert repetition(results)["devices"] == ["2 × cpu"]


def test_records_may_lack_anything(complete: Report, hostile: Report) -> None:
    bare = replace(complete.results, environment={}, resolved={}, configuration={}, devices=())
    assert [one for one in repetition(bare).values() if one] == [1, 1]
    odd = replace(bare, environment={"libraries": 3, "gpus": "none", "command": ["x"]}, resolved={"edit_models": "m"})
    assert repetition(odd)["versions"] == {}
    assert (repetition(odd)["command"], repetition(odd)["folder"]) == ("", "")
    assert repetition(hostile.results)["seeds"] == {}


def test_they_stand_in_the_page_and_in_the_markdown(complete: Report) -> None:
    assert Elements(complete.html).text_of["command"] == "edit-eval run config.yaml"
    document = (complete.folder / "report.md").read_text(encoding="utf-8")
    assert "- qwen_image_edit: 0 + index of the sample in the benchmark" in document
    assert "Versions: python 3.11.9, edit-eval 0.1.0, torch 2.13.0" in document
    assert "Devices: 4 × NVIDIA A100-SXM4-80GB" in document


def test_the_command_that_was_typed_stands_there_as_text(complete: Report, tmp_path: Path) -> None:
    assert "typed" not in Elements(complete.html).text_of, "nothing was recorded"
    environment = {**complete.results.environment, "command": f"edit-eval run '{HOSTILE}'", "folder": "/home/<b>me"}
    results = replace(complete.results, environment=environment, directory=str(tmp_path))
    report = report_on(results)
    page = Elements(report.html)
    assert page.text_of["typed"] == f"edit-eval run '{HOSTILE}'"
    assert "As it was last started, in /home/&lt;b&gt;me:</span>" in report.html
    assert HOSTILE not in report.html
    assert {tag for tag, _ in page.all} <= {tag for tag, _ in Elements(complete.html).all}
    document = (report.folder / "report.md").read_text(encoding="utf-8")
    assert "As it was last started, in /home/\\<b\\>me: edit-eval run '\\</script\\>" in document
