from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from edit_eval.records import Results, Status
from edit_eval.reporting.page.gallery import PageFiles, gallery
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import HOSTILE, pictured
from reporting.reports import Report
from reporting.three_scores import IDENTICAL


def of(results: Results) -> tuple[dict, PageFiles]:
    pictures = PageFiles(Path(results.directory) / "report", Path(results.directory))
    return gallery(results, summarise(results), pictures), pictures


def test_each_sample_has_its_edits_and_they_have_their_judgements(several: Report) -> None:
    made, _ = of(several.results)
    assert [sample["id"] for sample in made["samples"]] == [sample.id for sample in several.results.samples]
    for sample in made["samples"]:
        assert [edit["model"] for edit in sample["edits"]] == ["first", "second"]
        assert all([one["judge"] for one in edit["judgements"]] == ["strict", "kind"] for edit in sample["edits"])


def test_judgements_are_those_of_the_records(several: Report) -> None:
    made, _ = of(several.results)
    found = {
        (sample["id"], edit["model"], one["judge"]): (one["status"], one["scores"], one["reason"], one["readings"])
        for sample in made["samples"]
        for edit in sample["edits"]
        for one in edit["judgements"]
    }
    assert found == {
        (one.sample_id, one.edit_model, one.judge): (
            one.status.value,
            one.scores,
            one.reason,
            [
                {
                    question: {
                        "status": found.status.value,
                        "reason": found.reason,
                        "text": found.text,
                        "values": found.values,
                        "asked": found.asked,
                    }
                    for question, found in reading.items()
                }
                for reading in one.readings
            ],
        )
        for one in several.results.judgements
    }


def test_every_score_has_its_scale_and_says_why_it_is_missing(three_scores: Report) -> None:
    made, _ = of(three_scores.results)
    assert made["scoring"]["three"]["headline"] == "quality"
    assert made["scoring"]["three"]["scores"]["drift"] == {
        "lowest": -1.0,
        "highest": 1.0,
        "higher_is_better": False,
        "digits": 3,
        "title": {"en": "drift (lower is better)", "zh": "drift（越低越好）"},
    }
    judgements = [one for sample in made["samples"] for edit in sample["edits"] for one in edit["judgements"]]
    missing = [one["missing"] for one in judgements if one["judge"] == "three" and one["status"] == "ok"]
    assert {"psnr": ["undefined", IDENTICAL]} in missing
    assert {} in missing


def test_a_link_leads_from_the_report_to_the_file(complete: Report) -> None:
    made, pictures = of(complete.results)
    for sample in made["samples"]:
        for picture in (sample["source"], sample["edits"][0]["picture"]):
            assert not picture["file"].startswith("/")
            assert (pictures.folder / unquote(picture["file"])).is_file()
            assert pictures.paths[picture["thumbnail"]].is_file()


def test_a_source_in_a_cache_is_linked_by_its_full_path(complete: Report, tmp_path: Path) -> None:
    source = tmp_path / "a source#1.png"
    source.write_bytes(b"")
    first, *rest = complete.results.samples
    made, _ = of(replace(complete.results, samples=(pictured(first, source), *rest)))
    assert made["samples"][0]["source"]["file"] == source.as_uri()
    assert "#" not in made["samples"][0]["source"]["file"]


def test_a_source_that_several_samples_share_is_there_once(complete: Report) -> None:
    shared = complete.results.samples[0].source
    samples = tuple(pictured(sample, shared) for sample in complete.results.samples)
    made, pictures = of(replace(complete.results, samples=samples))
    assert {sample["source"]["thumbnail"] for sample in made["samples"]} == {0}
    assert len(pictures.paths) == 1 + len(samples)


def test_what_is_gone_is_said(several: Report) -> None:
    made, _ = of(several.results)
    assert made["samples"][3]["source"] == {"missing": "source_missing"}
    missing = [
        edit["picture"]
        for sample in made["samples"]
        for edit in sample["edits"]
        if edit["status"] == "ok" and "missing" in edit["picture"]
    ]
    assert missing == [{"missing": "edit_missing"}]


def test_an_edit_that_failed_has_no_picture(incomplete: Report) -> None:
    made, _ = of(incomplete.results)
    edits = [edit for sample in made["samples"] for edit in sample["edits"] if edit["status"] != "ok"]
    assert {edit["status"] for edit in edits} == {"edit_failed", "pending"}
    assert all(edit["picture"] == {"missing": "no_edit"} for edit in edits)


def test_no_picture_comes_from_outside_of_the_run_directory(complete: Report, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"")
    first, *rest = complete.results.edits
    for image in ("../" * 20 + str(secret).lstrip("/"), str(secret)):
        made, pictures = of(replace(complete.results, edits=(replace(first, image=image), *rest)))
        assert made["samples"][0]["edits"][0]["picture"] == {"missing": "edit_missing"}
        assert secret not in pictures.paths


def test_a_name_cannot_become_another_scheme(complete: Report, tmp_path: Path) -> None:
    (tmp_path / "javascript:alert(1)#x?.png").write_bytes(b"")
    link = PageFiles(tmp_path, tmp_path).add(tmp_path / "javascript:alert(1)#x?.png")
    assert link is not None
    assert link["file"] == "./javascript%3Aalert%281%29%23x%3F.png"


def test_names_are_there_in_both_languages(hostile: Report, complete: Report) -> None:
    made, _ = of(complete.results)
    assert made["names"]["category"]["physical"] == {"en": "Physical", "zh": "物理"}
    assert made["names"]["difficulty"]["hard"] == {"en": "hard", "zh": "困难"}
    assert of(hostile.results)[0]["names"]["difficulty"] == {HOSTILE: {"en": HOSTILE, "zh": HOSTILE}}


def test_scores_stand_only_where_the_status_is_ok(incomplete: Report) -> None:
    made, _ = of(incomplete.results)
    for sample in made["samples"]:
        for edit in sample["edits"]:
            for one in edit["judgements"]:
                assert bool(one["scores"]) == (one["status"] == Status.OK.value)
