"""Votes over the wire: blind, kept the moment they are given, and in no score."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.viewer.pages import write_raters_page
from edit_eval.run import Run
from edit_eval.statistics.people import read_people_file
from edit_eval.store.journal import seal, unseal
from edit_eval.store.votes import FileHead, VoteLine, add_saved_votes, read_asked, write_votes
from plugins.viewer.large_run import write_large_run
from plugins.viewer.served import Viewer


@pytest.fixture
def polls(folder: Path) -> Any:
    with Viewer([folder]) as viewer:
        yield viewer


def kept_votes(run: Path) -> tuple[VoteLine, ...]:
    return Run(run).records.votes.lines


def following(viewer: Viewer, rater: str) -> dict[str, Any]:
    answer = viewer.ask("GET", f"/run/{viewer.id_of('first')}/next?rater={rater}")
    assert answer.status == 200, answer.body
    return dict(json.loads(answer.body))


def send(viewer: Viewer, **vote: Any) -> tuple[int, dict[str, Any]]:
    body = json.dumps(vote).encode()
    headers = {"Origin": viewer.address, "Content-Type": "application/json", "Content-Length": str(len(body))}
    answer = viewer.ask("POST", f"/run/{viewer.id_of('first')}/votes", headers, body)
    return answer.status, json.loads(answer.body)


def vote(viewer: Viewer, task: dict[str, Any], rater: str, choice: str) -> dict[str, Any]:
    status, told = send(viewer, ticket=task["ticket"], rater=rater, choice=choice, seconds=1.5)
    assert status == 200, told
    return told


def test_a_vote_is_kept_and_counts(polls: Viewer, folder: Path) -> None:
    before = Run(folder / "first").summary
    task = following(polls, "Ann")
    for choice in ("left", "right", "tie", "both_bad", "skip"):
        task = vote(polls, task, "Ann", choice)
    assert (task["mine"], task["all"]) == (4, 4)
    run = Run(folder / "first")
    assert [line.choice for line in kept_votes(folder / "first")] == ["left", "right", "tie", "both_bad", "skip"]
    assert run.analysis("votes").votes == 4
    after = run.summary
    said = dict(after.analyses)
    [votes], [people] = said.pop("votes"), said.pop("people")
    assert msgspec.structs.replace(after, analyses=said) == before, "in no other number"
    assert votes.votes == 4
    assert sum(pair.answers for pair in people.pairs) == 4


def test_a_rater_is_not_told_who_made_what(polls: Viewer, folder: Path) -> None:
    lefts = set()
    task = following(polls, "Ann")
    for _ in range(30):
        told = json.dumps(task)
        assert not any(model in told for model in ("first", "second", "third"))
        lefts.add(task["left"]["file"])
        task = vote(polls, task, "Ann", "left")
    assert len(lefts) > 10
    assert len({line.left for line in kept_votes(folder / "first")}) == 3


def test_a_vote_can_be_taken_back_and_the_votes_say_what_they_have_settled(polls: Viewer, folder: Path) -> None:
    first = following(polls, "Ann")
    assert (first["pairs"], first["settled"]) == (3, 0)
    vote(polls, first, "Ann", "left")
    assert vote(polls, first, "Ann", "tie")["mine"] == 1
    assert [line.choice for line in kept_votes(folder / "first")] == ["tie"]
    keys = {edit.key: edit.edit_model for edit in Run(folder / "first").results.edits}
    for rater in ("Ann", "Ben"):
        task = following(polls, rater)
        for _ in range(30):
            made = [keys[task[side]["file"].rpartition("/")[2]] for side in ("left", "right")]
            task = vote(polls, task, rater, "left" if made == sorted(made) else "right")
    told = Run(folder / "first").analysis("votes").differences
    assert task["settled"] == sum(pair.ci95 is not None and pair.ci95[0] > 0 for pair in told) > 0


def test_nobody_sees_a_pair_twice_and_it_ends(polls: Viewer, folder: Path) -> None:
    """30 samples, three pairs of models each."""
    task, shown = following(polls, "Ann"), set()
    while not task.get("done"):
        pair = frozenset((task["left"]["file"], task["right"]["file"]))
        assert pair not in shown
        shown.add(pair)
        task = vote(polls, task, "Ann", "skip" if len(shown) % 3 else "left")
    assert len(shown) == 90
    again = following(polls, "Ben")
    assert not again.get("done")


def test_votes_survive_the_viewer(folder: Path) -> None:
    with Viewer([folder]) as viewer:
        vote(viewer, following(viewer, "Ann"), "Ann", "left")
        old = following(viewer, "Ann")
    with (folder / "first" / "votes" / "0001.jsonl").open("ab") as file:
        file.write(b'{"ticket":"torn in the mid')  # killed while it wrote
    with Viewer([folder]) as viewer:
        status, told = send(viewer, ticket=old["ticket"], rater="Ann", choice="left", seconds=1)
        assert status == 409
        assert "not shown to you here" in told["error"]
        task = following(viewer, "Ann")
        assert task["mine"] == 1
        assert vote(viewer, task, "Ann", "right")["mine"] == 2
    run = Run(folder / "first")
    assert [line.choice for line in kept_votes(folder / "first")] == ["left", "right"]
    assert run.analysis("votes").damaged == 1
    assert sorted(path.name for path in (folder / "first" / "votes").iterdir()) == ["0001.jsonl", "0002.jsonl"]


BAD: list[dict[str, Any]] = [
    {"rater": ""},
    {"rater": "a" * 61},
    {"rater": "a\nb"},
    {"rater": 7},
    {"choice": "best"},
    {"choice": None},
    {"seconds": "1"},
    {"seconds": -1},
    {"seconds": True},
    {"seconds": 1e300},
    {"ticket": "x"},
    {"ticket": ["x"]},
    {"rater": "Somebody else"},
]


@pytest.mark.parametrize("change", BAD)
def test_what_is_no_vote_is_not_kept(change: dict[str, Any], polls: Viewer, folder: Path) -> None:
    task = following(polls, "Ann")
    good = {"ticket": task["ticket"], "rater": "Ann", "choice": "left", "seconds": 1}
    status, told = send(polls, **{**good, **change})
    assert 400 <= status < 500
    assert told["error"]
    assert not (folder / "first" / "votes").exists()


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 9000, b'{"rater": NaN}'])
def test_what_is_no_json_is_refused(body: bytes, polls: Viewer) -> None:
    headers = {"Origin": polls.address, "Content-Type": "application/json", "Content-Length": str(len(body))}
    answer = polls.ask("POST", f"/run/{polls.id_of('first')}/votes", headers, body)
    assert 400 <= answer.status < 500


def test_a_vote_on_an_edit_that_was_made_anew_does_not_count(polls: Viewer, folder: Path) -> None:
    vote(polls, following(polls, "Ann"), "Ann", "left")
    run = Run(folder / "first")
    line = kept_votes(folder / "first")[0]
    (folder / "first" / next(e.image for e in run.results.edits if e.key == line.left_key)).unlink()
    votes = Run(folder / "first").analysis("votes")
    assert (votes.votes, votes.outdated) == (0, 1)


def test_what_is_exported_is_what_agreement_reads(polls: Viewer, folder: Path, tmp_path: Path) -> None:
    for rater in ("Ann", "Ben"):
        task = following(polls, rater)
        for number in range(20):
            task = vote(polls, task, rater, ("left", "right", "tie")[number % 3])
    run = Run(folder / "first")
    write_votes(run.records.votes, run.results.samples, tmp_path / "people.csv", every=False)
    rows = read_people_file(tmp_path / "people.csv")
    assert {row.rater for row in rows} == {"Ann", "Ben"}
    assert run.analysis("agreement", people=tmp_path / "people.csv").people.people == 2


def test_votes_of_a_link_are_not_written(polls: Viewer, folder: Path, tmp_path: Path) -> None:
    task = following(polls, "Ann")
    (tmp_path / "elsewhere").mkdir()
    (folder / "first" / "votes").symlink_to(tmp_path / "elsewhere")
    status, told = send(polls, ticket=task["ticket"], rater="Ann", choice="left", seconds=1)
    assert (status, list((tmp_path / "elsewhere").iterdir())) == (507, [])
    assert "is a link" in told["error"]


MODELS = ("kestrel", "marmot", "pangolin")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    return write_large_run(tmp_path_factory.mktemp("named"), 30, size=(64, 48), models=MODELS)


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def saved(run: Path, file: Path, *, rater: str = "Ann", choice: str = "left", at: float = 1e9, page: str = "") -> Path:
    """A file as the page saves it."""
    lines = [pair for pair in read_asked(run) if page in ("", pair.page)]
    votes = [{"ticket": pair.ticket, "choice": choice, "seconds": 1.5, "at": at} for pair in lines]
    head = {"page": lines[0].page, "rater": rater, "votes": len(votes)}
    file.write_bytes(b"".join(seal(record) for record in (head, *votes)))
    return file


def test_a_rater_votes_with_no_network_and_the_votes_come_back(
    run: Path, tmp_path: Path, open_tab: Callable[..., Any]
) -> None:
    page = tmp_path / "sent" / "votes.html"
    assert write_raters_page(run, page, pairs=7) == 7
    kept = tmp_path / "kept"
    run.rename(kept)  # the page needs nothing of it
    tab = open_tab(page.as_uri(), offline=True, accept_downloads=True)
    tab.fill("#rater", "Ann Ng")
    tab.keyboard.press("Enter")
    progress = tab.locator(".vote-head .quiet")
    seen = set()
    for done, key in enumerate(("1", "2", "t", "0", "b")):
        tab.wait_for_function(f"() => document.querySelector('.vote-head .quiet').textContent === '{done} of 7'")
        tab.wait_for_function("() => [...document.querySelectorAll('.vote-pictures img')].every((i) => i.naturalWidth)")
        assert tab.locator(".vote-pictures img").count() == 3
        seen.add(tab.locator(".vote-instruction").inner_text())
        tab.keyboard.press(key)
    tab.reload()
    tab.keyboard.press("Enter")  # the name is known, and so is what was said
    tab.click("button.primary") if tab.locator(".vote-begin").is_visible() else None
    tab.wait_for_function("() => document.querySelector('.vote-head .quiet').textContent === '5 of 7'")
    tab.keyboard.press("s")
    tab.get_by_role("button", name="Second is better").focus()
    tab.keyboard.press("Space")  # a button is pressed as any other
    tab.get_by_text("That was the last pair").wait_for()
    assert progress.inner_text() == "7 of 7"
    with tab.expect_download() as download:
        tab.keyboard.press("Enter")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name.startswith("votes-Ann-Ng-")
    assert add_saved_votes(kept, [file]) == {"new": 7, "changed": 0, "already": 0}
    assert add_saved_votes(kept, [file]) == {"new": 0, "changed": 0, "already": 7}
    lines = kept_votes(kept)
    assert [line.choice for line in lines] == ["left", "right", "tie", "tie", "both_bad", "skip", "right"]
    assert {line.rater for line in lines} == {"Ann Ng"}
    asked = {pair.ticket: pair for pair in read_asked(kept)}
    assert all((line.left, line.right) == (asked[line.ticket].left, asked[line.ticket].right) for line in lines)
    assert Run(kept).analysis("votes").votes == 6


def test_nothing_in_the_page_tells_who_made_what(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "votes.html"
    assert write_raters_page(run, page, pairs=60) == 60
    text = page.read_text("utf-8")
    asked = read_asked(run)
    edits = Run(run).results.edits
    left_keys = [pair.left_key[:12] for pair in asked]
    for secret in (*MODELS, str(tmp_path), *left_keys, *(Path(e.image).stem for e in edits)):
        assert secret not in text, secret
    told = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert set(told["pairs"][0]) == {"ticket", "instruction", "language", "source", "left", "right"}
    sides = [(pair.left < pair.right) for pair in asked]
    assert 12 < sum(sides) < 48, "a coin of 60 throws"
    first = {model: sum(pair.left == model for pair in asked) for model in MODELS}
    assert min(first.values()) > 5


def test_other_pages_have_other_pairs_but_for_some(run: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_raters_page(run, tmp_path / f"{name}.html", pairs=40)
    asked = read_asked(run)
    items = [(pair.sample, frozenset((pair.left, pair.right))) for pair in asked]
    pages = [set(items[:40]), set(items[40:])]
    assert len(pages[0]) == len(pages[1]) == 40
    assert {pair.how for pair in asked[:40]} == {"telling"}
    shared = sum(pair.how == "shared" for pair in asked[40:])
    assert len(pages[0] & pages[1]) == shared
    assert 0 < shared < 25
    assert write_raters_page(run, tmp_path / "all.html", pairs=500) == 90


def test_votes_on_a_page_are_known_to_the_next_pair(run: Path, tmp_path: Path) -> None:
    """Two raters on one page agree; a later file of a rater takes the place of the earlier one, and not the reverse."""
    write_raters_page(run, tmp_path / "votes.html", pairs=30)
    files = [saved(run, tmp_path / f"{rater}.jsonl", rater=rater) for rater in ("Ann", "Ben")]
    assert add_saved_votes(run, files)["new"] == 60
    assert Run(run).analysis("votes", with_="Ann,Ben").agreement.pairs == 30
    again = saved(run, tmp_path / "again.jsonl", choice="right", at=2e9)
    assert add_saved_votes(run, [again, files[0]]) == {"new": 0, "changed": 30, "already": 30}
    assert {line.choice for line in kept_votes(run) if line.rater == "Ann"} == {"right"}


def test_a_later_import_counts_though_its_clock_is_behind(run: Path, tmp_path: Path) -> None:
    """Of files that come together the one that was saved last counts, in whichever order they are named."""
    write_raters_page(run, tmp_path / "votes.html", pairs=5)
    first, second = (
        saved(run, tmp_path / f"{name}.jsonl", choice=choice, at=at)
        for name, choice, at in (("first", "left", 1e9), ("second", "right", 2e9))
    )
    assert add_saved_votes(run, [second, first]) == {"new": 5, "changed": 5, "already": 0}
    assert {line.choice for line in kept_votes(run)} == {"right"}
    corrected = saved(run, tmp_path / "corrected.jsonl", choice="tie", at=5e8)
    assert add_saved_votes(run, [corrected]) == {"new": 0, "changed": 5, "already": 0}
    assert add_saved_votes(run, [second, corrected, first]) == {"new": 0, "changed": 0, "already": 15}
    assert {line.choice for line in kept_votes(run)} == {"tie"}


def test_a_page_and_people_s_scores_replace_nothing_unasked(run: Path, tmp_path: Path) -> None:
    write_raters_page(run, tmp_path / "votes.html", pairs=5)
    add_saved_votes(run, [saved(run, tmp_path / "votes.jsonl", rater="=SUM(A1)")])
    made = Run(run)

    def page(file: Path, force: bool) -> None:
        write_raters_page(run, file, pairs=5, force=force)

    def scores(file: Path, force: bool) -> None:
        write_votes(made.records.votes, made.results.samples, file, every=False, force=force)

    for write, file in ((page, tmp_path / "mine.html"), (scores, tmp_path / "mine.csv")):
        file.write_text("mine")
        asked = len(read_asked(run))
        with pytest.raises(ConfigurationError, match="--force"):
            write(file, False)
        link = tmp_path / f"link{file.suffix}"
        link.symlink_to(file)
        with pytest.raises(ConfigurationError, match="link"):
            write(link, True)
        assert (file.read_text(), len(read_asked(run))) == ("mine", asked)
        write(file, True)
        assert file.read_text() != "mine"
    assert ",=" not in (tmp_path / "mine.csv").read_text()
    assert {rating.rater for rating in read_people_file(tmp_path / "mine.csv")} == {"=SUM(A1)"}


def test_a_file_that_is_not_whole_or_not_ours_is_refused(run: Path, made: Path, tmp_path: Path) -> None:
    write_raters_page(run, tmp_path / "votes.html", pairs=5)
    other = tmp_path / "other"
    shutil.copytree(made, other)
    write_raters_page(other, tmp_path / "others.html", pairs=5)
    whole = saved(run, tmp_path / "good.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    head = unseal(lines[0][:-1], FileHead)
    assert head is not None
    renamed = seal({"page": head.page, "rater": "a" * 61, "votes": 5})
    bad = {
        b"": "not a file of votes",
        b"\x89PNG\r\n": "not a file of votes",
        whole.replace(b"Ann", b"Eve"): "first line is damaged",
        saved(other, tmp_path / "others.jsonl").read_bytes(): "of another run",
        b"".join(lines[:-1]): "4 votes where its first line says 5",
        whole[:-30]: "line 6 is damaged",
        whole.replace(b'"left"', b'"best"', 1): "line 2 is damaged",
        lines[0] + seal({"ticket": "x", "choice": "left", "seconds": 1, "at": 1}): "line 2 is damaged",
        renamed + b"".join(lines[1:]): "first line",
    }
    for content, why in bad.items():
        file = tmp_path / "bad.jsonl"
        file.write_bytes(content)
        with pytest.raises(ConfigurationError, match=why) as refused:
            add_saved_votes(run, [tmp_path / "good.jsonl", file])
        assert "\n" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        add_saved_votes(run, [tmp_path / "none.jsonl"])
    assert sorted(path.name for path in (run / "votes").iterdir()) == ["pages"], "nothing of a refused import is kept"


def test_what_cannot_be_asked_is_said(run: Path, tmp_path: Path, cache: Path) -> None:
    for target, options, why in (
        ("votes.txt", {}, "ends in .html"),
        ("votes.html", {"pairs": 0}, "--pairs 0"),
        ("votes.html", {"side": 9}, "--size 9"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            write_raters_page(run, tmp_path / target, **options)
    (tmp_path / "full").write_text("no folder")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_raters_page(run, tmp_path / "full" / "votes.html")
    assert not (run / "votes").exists(), "a page that was not written has asked nothing"
