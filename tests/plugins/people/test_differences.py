"""What people would say of two edit models: whose answers count, on which scale, and whom to ask next."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import msgspec
import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.people.analysis import explanation
from edit_eval.plugins.people.differences import NEXT, compare_by_votes, correct_difference, peoples_differences
from edit_eval.records import Scale
from edit_eval.statistics.comparison import columns_to_test
from edit_eval.statistics.intervals import holm
from edit_eval.statistics.people import read_answers, read_people
from edit_eval.statistics.votes import Rating, Vote
from small_columns import column, drawn, failing

SCORES = {"a": drawn(2, 0.5), "b": drawn(3)}


@pytest.fixture
def columns():
    return [column(name, scores, edit_model=name) for name, scores in SCORES.items()]


def sample(number):
    return f"s{number:04d}"


def votes(numbers, rater="Ann", left="a", right="b", choice=None):
    """By whoever sees the edits a little differently from the judge."""
    g = np.random.default_rng(len(rater))
    choices = []
    for number in numbers:
        ahead = SCORES[left][number] - SCORES[right][number] + g.normal()
        choices.append(choice or ("left" if ahead > 0.3 else "right" if ahead < -0.3 else "tie"))
    return [Vote(sample(n), left, right, said, rater) for n, said in zip(numbers, choices, strict=True)]


def test_votes_are_shares_won_less_shares_lost(columns):
    cast = votes(range(0, 90, 3))
    (pair,) = peoples_differences(columns, cast).pairs
    values = [{"left": 1.0, "right": -1.0, "tie": 0.0}[vote.choice] for vote in cast]
    assert pair.people_alone.difference == pytest.approx(np.mean(values))
    people = np.full(90, np.nan)
    people[::3] = values
    by_hand = correct_difference(people, np.array(SCORES["a"]) - np.array(SCORES["b"]), np.arange(90))
    assert pair.corrected.difference == pytest.approx(by_hand.value)
    assert pair.corrected.ci95 == pytest.approx(by_hand.interval(lowest=-1, highest=1))
    assert (pair.answers, pair.raters, pair.images, pair.total_images) == (30, 1, 30, 90)
    judged = np.sign(np.array(SCORES["a"]) - np.array(SCORES["b"]))
    assert pair.judge_alone.difference == pytest.approx(judged.mean()), "it votes, too"


def test_which_side_an_edit_was_on_does_not_matter(columns):
    cast = votes(range(40))
    sides = {"left": "right", "right": "left"}
    turned = [replace(vote, left="b", right="a", choice=sides.get(vote.choice, vote.choice)) for vote in cast]
    assert peoples_differences(columns, cast).pairs == peoples_differences(columns, turned).pairs
    (other,) = peoples_differences(columns[::-1], cast).pairs
    (pair,) = peoples_differences(columns, cast).pairs
    assert (other.a, other.corrected.difference) == ("b", pytest.approx(-pair.corrected.difference))


def test_two_bad_ones_are_a_tie_and_who_skips_says_nothing(columns):
    cast = [*votes(range(20), choice="both_bad"), *votes(range(20, 40), choice="skip")]
    people = peoples_differences(columns, cast)
    (pair,) = people.pairs
    assert (pair.answers, pair.people_alone.difference, people.unmatched) == (20, 0.0, 0)
    assert pair.corrected.no_ci95 == "no_spread"


def test_of_ratings_one_persons_difference_counts_whatever_the_person_is_like(columns):
    """A strict rater and a kind one, who have seen different pictures; and one who saw only one of the models."""
    g = np.random.default_rng(1)
    ratings = []
    for number in range(30):
        strict = 3.0 if number < 15 else 0.0
        for name in SCORES:
            score = SCORES[name][number] / 2 - strict + g.normal(0, 0.2)
            ratings.append(Rating(sample(number), name, score, "strict" if number < 15 else "kind"))
    alone = [Rating(sample(number), "a", 10.0, "Cy") for number in range(30, 40)]
    people = peoples_differences(columns, [*ratings, *alone])
    (pair,) = people.pairs
    apart = [ratings[2 * n].score - ratings[2 * n + 1].score for n in range(30)]
    assert pair.people_alone.difference == pytest.approx(np.mean(apart))
    assert (people.kind, people.unmatched, pair.answers) == ("ratings", 10, 30)
    assert (people.lowest, people.highest) == (min(rating.score for rating in ratings), 10.0)
    stretched = np.mean(np.array(SCORES["a"]) - np.array(SCORES["b"])) * (10 - people.lowest) / 10
    assert pair.judge_alone.difference == pytest.approx(stretched)


def test_a_failed_edit_is_no_answer_and_not_asked_about(columns):
    a, b = columns
    columns = [failing(a, range(10)), failing(b, [])]
    cast = votes(range(5, 40), choice="left")
    people = peoples_differences(columns, cast)
    (pair,) = people.pairs
    assert (people.unmatched, pair.answers, pair.total) == (5, 30, 80)
    assert not {sample(number) for number in range(10)} & set(pair.next_samples)


def test_what_the_judge_could_not_score_is_still_asked_about(columns):
    """There is an edit, and no score: people's answer counts, and the judge is taken to prefer neither."""
    a, b = columns
    scores = {name: None if name in (sample(1), sample(50)) else score for name, score in a.scores.items()}
    failed = {name: {0: False} for name in a.scores}
    unscored = [replace(a, scores=scores, failed=failed), replace(b, failed=failed)]
    (pair,) = peoples_differences(unscored, votes(range(30))).pairs
    assert (pair.answers, pair.total) == (30, 90)
    same = [replace(a, scores={**a.scores, **{sample(n): SCORES["b"][n] for n in (1, 50)}}), b]
    (equal,) = peoples_differences(same, votes(range(30))).pairs
    assert pair.corrected == equal.corrected


def test_lower_is_better_for_some_judges_and_never_for_people(columns):
    loss = Scale(lowest=0, highest=10, higher_is_better=False)
    turned = [replace(scored, scale=loss, scores={s: 10 - v for s, v in scored.scores.items()}) for scored in columns]
    (pair,), (other,) = (peoples_differences(some, votes(range(30))).pairs for some in (columns, turned))
    assert other.corrected.difference == pytest.approx(pair.corrected.difference)
    assert other.judge_alone.difference == pytest.approx(pair.judge_alone.difference)
    assert other.weight == pytest.approx(pair.weight)
    assert pair.weight > 0


def test_a_model_is_known_by_its_column_or_by_a_name_that_is_its_alone(columns):
    runs = [replace(scored, name=f"runs/{scored.name}") for scored in columns]
    cast = votes(range(30))
    assert peoples_differences(runs, cast).pairs[0].a == "runs/a"
    same_model = [replace(scored, edit_model="qwen") for scored in runs]
    with pytest.raises(ConfigurationError, match=r"none of the 30 answers .*runs/a, runs/b"):
        peoples_differences(same_model, cast)
    named = [replace(vote, left="runs/a", right="runs/b") for vote in cast]
    assert peoples_differences(same_model, named).pairs[0].answers == 30


def test_a_rater_of_a_run_who_always_takes_one_side_is_set_apart_and_named(columns, make_sample, make_results):
    rows = {(name, "judge"): [[value] for value in SCORES[name]] for name in SCORES}
    run = make_results([make_sample(number) for number in range(90)], rows)
    honest = votes(range(30))
    blind = [replace(vote, choice="left", rater="blind") for vote in honest]
    tested = columns_to_test(run)
    alone, both = compare_by_votes(tested, honest), compare_by_votes(tested, [*honest, *blind])
    assert alone.pairs[0].answers == 30
    assert msgspec.structs.replace(both, set_apart=[]) == alone
    assert (alone.set_apart, both.set_apart) == ([], ["blind"])
    assert any("blind" in line for line in explanation(both))
    with pytest.raises(ConfigurationError, match="none of the 0 answers"):
        compare_by_votes(tested, blind)
    assert peoples_differences(columns, blind).pairs[0].answers == 30, "a file says nothing of its sides"


def test_each_vote_counts_with_its_weight(columns):
    cast = votes(range(30))
    twice = [replace(vote, weight=2.0) if place < 10 else vote for place, vote in enumerate(cast)]
    doubled = [*cast, *cast[:10]]
    of_twice, of_doubled = peoples_differences(columns, twice), peoples_differences(columns, doubled)
    assert of_twice.weighted
    assert not of_doubled.weighted
    assert of_twice.pairs[0].corrected.ci95 == pytest.approx(of_doubled.pairs[0].corrected.ci95)


def test_a_score_with_another_name_is_not_held_against_this_one(columns):
    ratings = [Rating(sample(n), name, SCORES[name][n], score_name="PQ") for n in range(20) for name in SCORES]
    with pytest.raises(ConfigurationError, match="none of the 40 answers"):
        peoples_differences(columns, ratings)
    own = [replace(rating, score_name="score") for rating in ratings]
    assert peoples_differences(columns, own).pairs[0].answers == 20


def test_whom_to_ask_next_is_spread_over_what_the_judge_says(columns):
    (pair,) = peoples_differences(columns, votes(range(30))).pairs
    assert len(set(pair.next_samples)) == NEXT
    assert not set(pair.next_samples) & {sample(number) for number in range(30)}
    says = {sample(n): SCORES["a"][n] - SCORES["b"][n] for n in range(30, 90)}
    order = sorted(says, key=lambda name: (says[name], name))
    assert sorted(order.index(name) // 6 for name in pair.next_samples) == list(range(NEXT)), "one of each tenth"


def test_votes_are_read_from_a_file_and_scores_made_of_them_for_who_wants_scores(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("sample_id,edit_seed,left,right,choice,rater,weight\ns1,2,a,b,left,Ann,1.5\ns1,,a,b,tie,,\n")
    assert read_answers(file) == [
        Vote("s1", "a", "b", "left", "Ann", 2, weight=1.5),
        Vote("s1", "a", "b", "tie", "", 0, weight=1.0),
    ]
    assert {(rating.edit_model, rating.rater, rating.score) for rating in read_people(file)} == {
        ("a", "Ann", 1.0),
        ("b", "Ann", 0.0),
        ("a", "", 0.5),
        ("b", "", 0.5),
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("s1,a,b,A,1", "line 2: 'A' is no choice; there are: left, right, tie"),
        ("s1,a,a,left,1", "line 2: `left` and `right` are both 'a'"),
        ("s1,a,b,left,0", "line 2: the weight '0' is not a number above 0"),
        ("s1,a,b,left,nan", "line 2: the weight 'nan' is not a number above 0"),
    ],
)
def test_a_wrong_vote_is_refused_with_its_line(tmp_path, row, message):
    file = tmp_path / "votes.csv"
    file.write_text(f"sample_id,left,right,choice,weight\n{row}\n")
    with pytest.raises(ConfigurationError, match=message):
        read_answers(file)
    file.write_text("sample_id,left,choice\ns1,a,left\n")
    with pytest.raises(ConfigurationError, match="does not name the column 'right'"):
        read_answers(file)


def test_an_answer_is_held_beside_the_judges_score_of_the_edit_that_was_rated():
    """Of three edits of a sample people saw the first: the judge agrees with them on that, and not on its mean."""
    g = np.random.default_rng(5)
    edits = {name: g.normal(5, 1, (60, 3)) for name in "ab"}
    seen = edits["a"][:, 0] - edits["b"][:, 0] + g.normal(0, 0.3, 60)
    several = [
        replace(
            column(name, of.mean(axis=1), edit_model=name),
            by_seed={sample(n): dict(enumerate(row)) for n, row in enumerate(of.tolist())},
        )
        for name, of in edits.items()
    ]
    rated = [
        Rating(sample(n), name, value, "Ann", 0)
        for n in range(0, 60, 2)
        for name, value in (("a", 5 + seen[n]), ("b", 5.0))
    ]
    (pair,) = peoples_differences(several, rated).pairs
    (by_mean,) = peoples_differences([replace(scored, by_seed={}) for scored in several], rated).pairs
    assert (pair.samples, pair.total, pair.images, pair.total_images) == (30, 60, 30, 60)
    widths = [either.corrected.ci95[1] - either.corrected.ci95[0] for either in (pair, by_mean)]
    assert widths[0] < 0.8 * widths[1], widths
    truth = (edits["a"] - edits["b"]).mean()
    assert pair.corrected.ci95[0] < truth < pair.corrected.ci95[1]


def test_who_is_preferred_is_corrected_for_all_pairs_and_an_interval_is_its_own_pairs():
    """Of equal models some pair's interval is beside 0 now and then; then nobody is said to be preferred yet."""
    g, alone = np.random.default_rng(0), 0
    models = {name: drawn(place + 2) for place, name in enumerate("abcd")}
    columns = [column(name, scores, edit_model=name) for name, scores in models.items()]
    pairs = list(combinations("abcd", 2))
    for _ in range(12):
        answers = [
            Vote(sample(n), a, b, str(g.choice(["left", "right", "tie"])), "Ann")
            for a, b in pairs
            for n in range(0, 90, 3)
        ]
        people = peoples_differences(columns, answers)
        assert people.family.tests == len(pairs)
        by_hand = holm([pair.p for pair in people.pairs])
        for pair, p_adjusted in zip(people.pairs, by_hand, strict=True):
            beside_zero = pair.corrected.ci95[0] > 0 or pair.corrected.ci95[1] < 0
            assert beside_zero == (pair.p < 0.05)
            assert pair.p_adjusted == p_adjusted
            leads = pair.a if pair.corrected.difference > 0 else pair.b
            assert pair.preferred == (leads if p_adjusted <= 0.05 else None)
            alone += beside_zero and pair.preferred is None
    assert alone
