"""Preference pairs: only what is beyond a judge's noise, never a failure, people above judges; how many are wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.pairs.analysis import NEAR, PairsAnalysis, card, find_copies, print_of, write_pairs
from edit_eval.plugins.pairs.preference_pairs import Noise, PreferencePairs, estimate_wrong_pairs, find_preference_pairs
from edit_eval.records import CONTROL, ExaminedJudge, Picture, Results, Status
from edit_eval.reporting.analyses import RunRecords, section_of
from edit_eval.reporting.table import markdown_sheet
from edit_eval.statistics.votes import Vote


def asked_twice(
    make_sample, make_results, *, count: int = 40, noise: float = 0.5, judges=("judge",), seed: int = 1
) -> Results:
    """Two edit models, judged twice by each judge, with errors of its own."""
    random = np.random.default_rng(seed)
    samples = [make_sample(n) for n in range(count)]
    true = {model: random.normal(6, 1.5, count) for model in ("ours", "theirs")}
    rows = {
        (model, judge): [[float(of[n] + random.normal(0, noise)) for _ in range(2)] for n in range(count)]
        for model, of in true.items()
        for judge in judges
    }
    return make_results(samples, rows)


def test_a_pair_is_beyond_the_judges_noise(make_sample, make_results) -> None:
    results = asked_twice(make_sample, make_results)
    document = find_preference_pairs(results)
    [judge] = document.judges
    assert judge.noise_from == "repeats"
    assert judge.noise_sd == pytest.approx(0.5, rel=0.25)
    assert 5 < len(document.pairs) < 40 == document.compared
    means = {
        (judgement.sample_id, judgement.edit_model): np.mean(
            [
                of.scores["score"]
                for of in results.judgements
                if (of.sample_id, of.edit_model) == (judgement.sample_id, judgement.edit_model)
            ]
        )
        for judgement in results.judgements
    }
    chosen = {pair.sample for pair in document.pairs}
    for sample in results.samples:
        margin = abs(means[sample.id, "ours"] - means[sample.id, "theirs"])
        assert (sample.id in chosen) == (margin > 2.02 * judge.noise_sd), "t of 80 degrees of freedom, two answers each"
    for pair in document.pairs:
        assert means[pair.sample, pair.chosen.edit_model] > means[pair.sample, pair.rejected.edit_model]


def test_without_repeats_or_passport_nothing_is_told(make_sample, make_results) -> None:
    results = make_results([make_sample(n) for n in range(9)], {(m, "judge"): [[5.0]] * 9 for m in ("ours", "theirs")})
    with pytest.raises(ConfigurationError, match="noise is known"):
        find_preference_pairs(results)
    with pytest.raises(ConfigurationError, match="nothing is scored"):
        find_preference_pairs(
            replace(
                results,
                judgements=tuple(
                    replace(judgement, status=Status.UNPARSEABLE, scores={}) for judgement in results.judgements
                ),
            )
        )
    examined = {"judge": ExaminedJudge(line="", ended="passed", retest_sd=0.4)}
    known = replace(results, provenance=replace(results.provenance, examined=examined))
    assert find_preference_pairs(known).judges[0].noise_from == "passport"


def test_a_failure_is_in_no_pair(make_sample, make_results) -> None:
    results = asked_twice(make_sample, make_results)
    lost = find_preference_pairs(results).pairs[0].sample
    edits = tuple(
        replace(edit, status=Status.EDIT_FAILED, image="")
        if edit.sample_id == lost and edit.edit_model == "ours"
        else edit
        for edit in results.edits
    )
    assert lost not in {pair.sample for pair in find_preference_pairs(replace(results, edits=edits)).pairs}
    same = tuple(replace(edit, pixels="same") if edit.sample_id == lost else edit for edit in results.edits)
    assert lost not in {pair.sample for pair in find_preference_pairs(replace(results, edits=same)).pairs}


def test_people_count_above_judges(make_sample, make_results) -> None:
    results = asked_twice(make_sample, make_results)
    pair = find_preference_pairs(results).pairs[0]
    against = Vote(sample_id=pair.sample, left=pair.rejected.edit_model, right=pair.chosen.edit_model, choice="left")
    turned = {preference.sample: preference for preference in find_preference_pairs(results, [against]).pairs}[
        pair.sample
    ]
    assert (turned.by, turned.chosen.edit_model, turned.margin) == (("people",), pair.rejected.edit_model, 1.0)
    tie = find_preference_pairs(results, [replace(against, choice="tie")])
    assert pair.sample not in {preference.sample for preference in tie.pairs}
    assert tie.opposed == 1


def test_nothing_is_learned_from_a_judge_that_is_blind_to_controls(make_sample, make_results) -> None:
    results = asked_twice(make_sample, make_results, judges=("sees", "blind"))
    controls = tuple(
        replace(judgement, edit_model=f"{CONTROL}source", scores={"score": 0.0 if judgement.judge == "sees" else 9.0})
        for judgement in results.judgements
        if judgement.edit_model == "ours"
    )
    results = replace(results, controls=controls)
    document = find_preference_pairs(results)
    assert ([judge.judge for judge in document.judges], document.unfit) == (["sees"], ("blind",))
    assert document.pairs == find_preference_pairs(results, judges=["sees"]).pairs
    said = markdown_sheet(PairsAnalysis().sheet(document), "en")
    assert "blind is left out: it does not clearly score edits above pictures that are no edits" in said
    named = find_preference_pairs(results, judges=["blind"])
    assert named.pairs
    assert "Do not train on this" in markdown_sheet(PairsAnalysis().sheet(named), "en")
    assert "Do not train on this" in card(named)
    kept = tuple(judgement for judgement in results.judgements if judgement.judge == "blind")
    alone = replace(results, judges=("blind",), judgements=kept)
    with pytest.raises(ConfigurationError, match="blind does not clearly score edits above"):
        find_preference_pairs(alone)


def test_families_agree_or_there_is_no_pair(make_sample, make_results) -> None:
    results = asked_twice(make_sample, make_results, judges=("one", "other"))
    alone, both = find_preference_pairs(results), find_preference_pairs(results, agree=2)
    assert {pair.sample for pair in both.pairs} < {pair.sample for pair in alone.pairs}
    assert all(pair.by == ("one", "other") and pair.agree == 2 for pair in both.pairs)
    with pytest.raises(ConfigurationError, match="2 families"):
        find_preference_pairs(results, agree=3)
    with pytest.raises(ConfigurationError, match="not in this run"):
        find_preference_pairs(results, judges=["another"])


def planted(seed: int, *, images: int = 120, edits: int = 4, noise: float = 1.0, asked: int = 2):
    """Margins of all pairs of edits, what their true signs are, and the pairs that would be chosen."""
    random = np.random.default_rng(seed)
    quality = random.normal(6, 1, (images, edits))
    answers = quality[:, :, None] + random.normal(0, noise, (images, edits, asked))
    known = Noise(float(np.sqrt(answers.var(2, ddof=1).mean())), images * edits * (asked - 1), "repeats")
    first, second = np.triu_indices(edits, 1)
    margins = (answers.mean(2)[:, first] - answers.mean(2)[:, second]).ravel()
    wrong = np.sign((quality[:, first] - quality[:, second]).ravel()) != np.sign(margins)
    errors = np.full(len(margins), known.sd * np.sqrt(2 / asked))
    by_image = np.abs(margins).reshape(images, -1)
    best = by_image.argmax(1) + np.arange(images) * len(first)
    chosen = [int(place) for place in best if abs(margins[place]) > known.reach(errors[:1])[0]]
    return margins, errors, np.repeat(np.arange(images), len(first)), chosen, known, wrong


def test_the_expected_share_of_wrong_pairs_holds_what_is_wrong() -> None:
    margins, errors, clusters, chosen, noise, wrong = planted(5)
    expected = estimate_wrong_pairs(margins, errors, clusters, chosen, noise)
    assert expected.ci95[0] <= wrong[chosen].mean() <= expected.ci95[1] < 0.08
    careless = [place for place in range(len(margins)) if place % 6 == 0]  # whatever their margin
    all_of_them = estimate_wrong_pairs(margins, errors, clusters, careless, noise)
    assert all_of_them.ci95[0] <= wrong[careless].mean() <= all_of_them.ci95[1]
    assert all_of_them.share > 3 * expected.share


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("edits", "rare", "jump"), [(2, 0.05, 3), (4, 0.04, 4)])
def test_true_ties_are_wrong_where_a_judge_nearly_always_repeats_itself(edits: int, rare: float, jump: int) -> None:
    """Its long-run mean is its usual score, but near the ends of the scale, which no edit comes close to."""
    within, said, wrong, normal = 0, 0.0, 0.0, 0.0
    for seed in range(4):
        random = np.random.default_rng(seed)
        usual = np.clip(np.round(random.normal(5, 1, (120, edits, 1))), jump, 10 - jump)
        form = (120, edits, 2)
        jumps = random.integers(1, jump + 1, form) * random.choice([-1, 1], form)
        answers = usual + (random.random(form) < rare) * jumps
        differences = (answers[..., 0] - answers[..., 1]).ravel()
        noise = Noise(float(np.sqrt(np.mean(differences**2) / 2)), differences.size, "repeats", tuple(differences))
        first, second = np.triu_indices(edits, 1)
        margins = (answers.mean(2)[:, first] - answers.mean(2)[:, second]).ravel()
        true = (usual[:, first, 0] - usual[:, second, 0]).ravel()
        errors = np.full(len(margins), noise.sd)
        [chosen] = np.nonzero(np.abs(margins) > noise.reach(errors[:1]))
        clusters = np.repeat(np.arange(120), len(first))
        expected = estimate_wrong_pairs(margins, errors, clusters, chosen.tolist(), noise)
        share = float((np.sign(true) != np.sign(margins))[chosen].mean())
        within += expected.ci95[0] - 1e-9 <= share <= expected.ci95[1] + 1e-9
        said, wrong = said + expected.share, wrong + share
        normal += estimate_wrong_pairs(margins, errors, clusters, chosen.tolist(), replace(noise, differences=())).share
    assert within >= 3, "of 4"
    assert wrong / 2 <= said <= 3 * wrong
    assert normal < wrong / 2, "else the jumps would need no term of their own"


@pytest.mark.chaos
@pytest.mark.parametrize(("edits", "noise", "asked"), [(4, 1.0, 2), (2, 1.5, 2), (4, 2.0, 3)])
def test_it_holds_in_95_of_100(edits: int, noise: float, asked: int) -> None:
    within = 0
    for seed in range(100):
        margins, errors, clusters, chosen, known, wrong = planted(seed, edits=edits, noise=noise, asked=asked)
        expected = estimate_wrong_pairs(margins, errors, clusters, chosen, known)
        within += expected.ci95[0] - 1e-9 <= wrong[chosen].mean() <= expected.ci95[1] + 1e-9
    assert within >= 90, "of 100, where 95 are to be expected"


@pytest.fixture
def with_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_sample, make_results) -> Results:
    """Forty samples whose sources and edits are there, as those of a run of this user's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    random = np.random.default_rng(2)
    results = asked_twice(make_sample, make_results)
    run = tmp_path / "run"
    (run / "images").mkdir(parents=True)
    for name in (*(f"s{n}" for n in range(40)), *(f"e{n}" for n in range(80))):
        Image.fromarray(random.integers(0, 255, (8, 8, 3)).astype("uint8")).resize((64, 64)).save(
            run / f"images/{name}.png"
        )
    sources = [run / f"images/s{n}.png" for n in range(len(results.samples))]
    samples = tuple(
        replace(
            sample,
            instruction='把它改亮 & "quoted"',
            pictures={"source": Picture(path=str(source), digest=file_digest(source))},
        )
        for sample, source in zip(results.samples, sources, strict=True)
    )
    remember_sources(samples)
    edits = tuple(replace(edit, image=f"images/e{n}.png") for n, edit in enumerate(results.edits))
    return replace(
        results,
        directory=str(run),
        samples=samples,
        edits=edits,
        provenance=replace(results.provenance, about={"licence": "CC BY 4.0"}),
    )


def test_the_folder_is_read_by_others(tmp_path: Path, with_pictures: Results) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    document = find_preference_pairs(with_pictures)
    folder = tmp_path / "pairs"
    write_pairs(document, Path(with_pictures.directory), folder)
    lines = [json.loads(line) for line in (folder / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == len(document.pairs)
    edits = {(edit.sample_id, edit.edit_model): edit.image for edit in with_pictures.edits}
    table = parquet.read_table(folder / "data/train-00000.parquet").to_pylist()
    dpo = parquet.read_table(folder / "dpo/train-00000.parquet").to_pylist()
    for line, row, other, pair in zip(lines, table, dpo, document.pairs, strict=True):
        chosen = Path(with_pictures.directory, edits[pair.sample, pair.chosen.edit_model]).read_bytes()
        rejected = Path(with_pictures.directory, edits[pair.sample, pair.rejected.edit_model]).read_bytes()
        assert (folder / line["chosen"]).read_bytes() == row["chosen"]["bytes"] == chosen
        assert (folder / line["rejected"]).read_bytes() == row["rejected"]["bytes"] == rejected
        assert other["jpg_0" if other["label_0"] == 1 else "jpg_1"] == chosen
        assert other["caption"] == row["prompt"] == line["prompt"]
        assert len(row["images"]) == 1
    assert {example["label_0"] for example in dpo} == {0.0, 1.0}
    card = (folder / "README.md").read_text("utf-8")
    assert "CC BY 4.0" in card
    assert f"{len(document.pairs)} pairs of {document.compared}" in card


@pytest.mark.check
def test_the_library_datasets_opens_both(tmp_path: Path, with_pictures: Results) -> None:
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "pairs"
    write_pairs(find_preference_pairs(with_pictures), Path(with_pictures.directory), folder)
    dataset = datasets.load_dataset(
        "parquet", data_files=str(folder / "data/*.parquet"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert dataset[0]["chosen"].size == dataset[0]["images"][0].size == (64, 64)
    assert set(dataset.column_names) >= {"prompt", "images", "chosen", "rejected"}


def test_a_lost_picture_leaves_no_folder(tmp_path: Path, with_pictures: Results) -> None:
    pytest.importorskip("pyarrow")
    document = find_preference_pairs(with_pictures)
    Path(with_pictures.directory, document.pairs[0].chosen.image).unlink()
    with pytest.raises(ConfigurationError, match="lost edits"):
        write_pairs(document, Path(with_pictures.directory), tmp_path / "pairs")
    assert not (tmp_path / "pairs").exists()


def test_a_test_set_stays_away_with_its_near_copies(tmp_path: Path, with_pictures: Results) -> None:
    away = tmp_path / "test set"
    away.mkdir()
    with Image.open(with_pictures.samples[0].source) as image:
        image.resize((48, 48)).save(away / "smaller.jpg", quality=30)
    with Image.open(with_pictures.samples[1].source) as image:
        image.point(lambda value: min(255, int(value * 1.1))).save(away / "brighter.png")
    copies = {sample.id for sample in with_pictures.samples[:2]}
    assert set(find_copies(with_pictures.samples, sorted(away.iterdir()))) == copies
    document = PairsAnalysis().compute(RunRecords(with_pictures), PairsAnalysis.Parameters(leave_out=away))
    assert isinstance(document, PreferencePairs)
    assert (document.left_out, document.of) == (2, 38)
    assert not copies & {pair.sample for pair in document.pairs}
    assert "2 samples are left out" in markdown_sheet(section_of("pairs", document).sheet(), "en")
    first, second = (print_of(Path(sample.source)) for sample in with_pictures.samples[:2])
    assert (first != second).sum() > 3 * NEAR
    with pytest.raises(ConfigurationError, match="leave-out"):
        PairsAnalysis().compute(RunRecords(with_pictures), PairsAnalysis.Parameters(leave_out=tmp_path / "nothing"))
