from __future__ import annotations

import base64
import io
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from PIL import Image

from edit_eval.pictures import open_picture
from edit_eval.plugins.page.gallery import gallery
from edit_eval.plugins.page.shown_pictures import PageFiles, thumbnail, thumbnails
from edit_eval.records import Results, Status
from edit_eval.small_copies import PAGE_BUDGET, CopyLimits, keep_small_copy, size_for, size_of_run, small_copy_name
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import HOSTILE, build_run, pictured
from reporting.reports import Report


def of(results: Results) -> tuple[dict[str, Any], PageFiles]:
    pictures = PageFiles(Path(results.directory) / "report", Path(results.directory))
    return gallery(results, summarise(results), pictures), pictures


def test_each_sample_has_its_edits_and_they_have_their_judgements(several: Report) -> None:
    made, _ = of(several.results)
    assert [sample["id"] for sample in made["samples"]] == [sample.id for sample in several.results.samples]
    for sample in made["samples"]:
        assert [edit["model"] for edit in sample["edits"]] == ["first", "second"]
        assert all(
            [judgement["judge"] for judgement in edit["judgements"]] == ["strict", "kind"] for edit in sample["edits"]
        )


def test_judgements_are_those_of_the_records(several: Report) -> None:
    made, _ = of(several.results)
    shown = {
        (sample["id"], edit["model"], judgement["judge"]): (
            judgement["status"],
            judgement["scores"],
            judgement["reason"],
            judgement["readings"],
        )
        for sample in made["samples"]
        for edit in sample["edits"]
        for judgement in edit["judgements"]
    }
    assert shown == {
        (judgement.sample_id, judgement.edit_model, judgement.judge): (
            judgement.status.value,
            judgement.scores,
            judgement.reason,
            [
                {
                    question: {
                        "status": answer.status.value,
                        "reason": answer.reason,
                        "text": answer.text,
                        "values": answer.values,
                        "asked": answer.asked,
                    }
                    for question, answer in reading.items()
                }
                for reading in judgement.readings
            ],
        )
        for judgement in several.results.judgements
    }


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
    assert missing == [{"missing": "edit_gone"}]


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
        assert made["samples"][0]["edits"][0]["picture"] == {"missing": "edit_gone"}
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
            for judgement in edit["judgements"]:
                assert bool(judgement["scores"]) == (judgement["status"] == Status.OK.value)


SIZE = CopyLimits(side=64, file_bytes=20_000)


def noise(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3))


def opened(data: bytes | None) -> Image.Image:
    assert data is not None
    return Image.open(io.BytesIO(data))


def test_a_thumbnail_is_a_small_jpeg_of_the_same_shape(tmp_path: Path) -> None:
    Image.new("RGB", (400, 300), "teal").save(tmp_path / "a.png")
    made = opened(thumbnail(tmp_path / "a.png", SIZE))
    assert (made.format, made.size) == ("JPEG", (64, 48))
    assert made.convert("RGB").getpixel((30, 30)) == pytest.approx((0, 128, 128), abs=4)


def test_a_small_picture_is_not_enlarged(tmp_path: Path) -> None:
    Image.new("RGB", (20, 10)).save(tmp_path / "a.png")
    assert opened(thumbnail(tmp_path / "a.png", SIZE)).size == (20, 10)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "I;16", "1", "LA"])
def test_every_mode_becomes_a_picture(mode: str, tmp_path: Path) -> None:
    path = tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
    picture = Image.new("L", (40, 30), 200).convert("RGB").convert("L" if mode == "I;16" else mode)
    if mode == "I;16":
        picture = Image.frombytes("I;16", (40, 30), (200 * 257).to_bytes(2, "little") * 1200)
    picture.save(path)
    made = opened(thumbnail(path, SIZE)).convert("RGB")
    assert made.size == (40, 30)
    if mode not in ("1", "P"):  # of a palette Pillow takes the nearest colour
        assert made.getpixel((20, 15)) == pytest.approx((200, 200, 200), abs=6)


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 30), (0, 0, 0, 0)).save(tmp_path / "a.png")
    assert opened(thumbnail(tmp_path / "a.png", SIZE)).convert("RGB").getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_a_rotated_picture_stands_upright(suffix: str, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.new("RGB", (60, 30)).save(tmp_path / f"a.{suffix}", exif=exif)
    assert opened(thumbnail(tmp_path / f"a.{suffix}", SIZE)).size == (30, 60)


def test_a_picture_of_noise_stays_within_its_bytes(tmp_path: Path) -> None:
    noise(600, 400).save(tmp_path / "a.png")
    made = thumbnail(tmp_path / "a.png", CopyLimits(side=512, file_bytes=6_000))
    assert made is not None
    assert len(made) <= 6_000
    assert opened(made).width / opened(made).height == pytest.approx(1.5, abs=0.05)


def test_what_is_no_picture_is_none_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    Image.new("RGB", (9, 9)).save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    paths = [tmp_path / name for name in ("good.png", "bad.png", "gone.png", "good.png")]
    made = list(thumbnails(paths, SIZE))
    assert [picture is None for picture in made] == [False, True, True, False]
    assert opened(base64.b64decode(made[0] or "")).size == (9, 9)


def test_many_pictures_stay_within_the_budget_of_the_page() -> None:
    for count in (1, 100, 900, 3600, 20_000):
        size = size_for(count)
        assert size.file_bytes * count * 4 / 3 <= PAGE_BUDGET
        assert 160 <= size.side <= 512
    assert size_for(10).side == 512
    assert size_for(3600).side >= 320


def test_thumbnails_are_made_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edit_eval.plugins.page import shown_pictures as module

    made = []
    monkeypatch.setattr(module, "thumbnail", lambda path, size: made.append(path) or b"x")
    coming = thumbnails([tmp_path / str(number) for number in range(500)], SIZE)
    next(coming)
    assert len(made) <= 2 * module._THREADS
    assert len(list(coming)) == 499


def test_a_kept_copy_is_the_thumbnail_whoever_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edit_eval.plugins.page import shown_pictures as module

    noise(700, 500).save(tmp_path / "a.png")
    size = CopyLimits(side=300, file_bytes=9_000)
    keep_small_copy(open_picture(tmp_path / "a.png"), str(tmp_path / "workers"), "ab" * 32, size)
    ours, theirs = tmp_path / "ours" / small_copy_name("ab" * 32), tmp_path / "workers" / small_copy_name("ab" * 32)
    first = thumbnail(tmp_path / "a.png", size, ours)
    assert ours.read_bytes() == theirs.read_bytes() == first == thumbnail(tmp_path / "a.png", size)
    assert len(first or b"") <= 9_000
    assert opened(first).size[0] <= 300
    monkeypatch.setattr(module, "open_picture", None)
    monkeypatch.setattr(module, "small_copy", None)
    assert thumbnail(tmp_path / "a.png", size, theirs) == first


@pytest.mark.parametrize(("kept_at", "wanted", "shown"), [(300, 200, 200), (300, 320, 300), (100, 300, 300)])
def test_a_copy_for_another_page_serves_where_it_is_large_enough(
    kept_at: int, wanted: int, shown: int, tmp_path: Path
) -> None:
    Image.linear_gradient("L").resize((700, 500)).save(tmp_path / "a.png")
    keep_small_copy(open_picture(tmp_path / "a.png"), str(tmp_path), "ab" * 32, CopyLimits(kept_at, 64_000))
    kept = tmp_path / small_copy_name("ab" * 32)
    assert opened(thumbnail(tmp_path / "a.png", CopyLimits(wanted, 64_000), kept)).width == shown
    assert opened(kept.read_bytes()).width == max(kept_at, shown)  # a larger one is not lost


def test_the_size_of_a_run_is_known_before_its_first_edit(tmp_path: Path) -> None:
    done = build_run(tmp_path, samples=6, size=(16, 12), edit_models=("first", "second"))
    to_come = [replace(edit, status=Status.PENDING, image="", pixels="") for edit in done.edits]
    assert size_of_run(done.samples, done.edits) == size_of_run(done.samples, to_come) == size_for(18)
    assert size_of_run(done.samples * 300, done.edits * 300).side < 350


@pytest.mark.parametrize("what", ["older", "damaged", "cut short", "a link"])
def test_a_copy_that_is_not_to_be_trusted_is_made_again(what: str, tmp_path: Path) -> None:
    Image.new("RGB", (80, 60), "red").save(tmp_path / "a.png")
    kept = tmp_path / "kept.jpg"
    Image.new("RGB", (80, 60), "blue").save(kept)
    good = kept.read_bytes()
    if what == "older":
        os.utime(kept, (1, 1))
    elif what == "a link":
        kept.rename(tmp_path / "elsewhere.jpg")
        kept.symlink_to(tmp_path / "elsewhere.jpg")
    else:
        kept.write_bytes(good[:-9] if what == "cut short" else b"RIFF nothing")
    made = opened(thumbnail(tmp_path / "a.png", SIZE, kept)).convert("RGB")
    assert made.getpixel((30, 20))[0] > 200
    assert not kept.is_symlink()
