import io
import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from documents import plain
from edit_eval.records import ExaminedJudge, Scale
from edit_eval.reporting.comparison import gate_lines, letter, print_comparison
from edit_eval.reporting.formats import format_signed, format_signed_span, p_value
from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.comparison import Comparison, compare
from edit_eval.store.comparable import NOTES, Note
from small_columns import column, drawn, failing

CATEGORIES = ("physical", "environmental", "social") * 30
WORDS = "影子与光线一致，但边缘略有瑕疵；The shadow follows the light, but its edge bleeds slightly into the sky."


def printed(comparison: Comparison, *, terminal: bool = False, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system="standard" if terminal else None)
    print_comparison(comparison, console, full=True)
    return file.getvalue()


def lines(comparison: Comparison, **how: Any) -> list[str]:
    return printed(comparison, **how).splitlines()


def row(comparison: Comparison, start: str, table: int = 0) -> list[str]:
    """The words of the line that begins with `start`, in the first, second, ... table that has one."""
    return [line for line in lines(comparison) if line.startswith(start)][table].split()


@pytest.fixture
def clear() -> Comparison:
    """Three columns: the second is worse than the first, the third cannot be told from either."""
    words = {f"s{n:04d}": WORDS for n in range(90)}
    return compare(
        [
            column("runs/a", drawn(2, 0.5), categories=CATEGORIES, words=words, edit_model="qwen"),
            column("runs/b", drawn(3), categories=CATEGORIES, words=words, edit_model="flux"),
            column("runs/c", drawn(7, 0.4), categories=CATEGORIES, edit_model="kontext"),
        ],
        detect=0.2,
    )


def test_a_row_for_each_column_with_its_rank(clear: Comparison) -> None:
    first = clear.columns[0]
    low, high = first.ci95 or (0.0, 0.0)
    figures = (f"{first.mean:.2f}", f"{low:.2f}–{high:.2f}")
    assert row(clear, "A  ") == ["A", "runs/a", "qwen", "90/90", "90", *figures, "1"]
    assert [row(clear, f"{name}  ")[-1] for name in "ABC"] == [str(summary.rank) for summary in clear.columns]


def test_every_number_of_a_pair_stands_in_its_row(clear: Comparison) -> None:
    for pair, name in zip(clear.pairs, ("A - B", "A - C", "B - C"), strict=True):
        assert row(clear, name)[3:] == [
            "90",
            "90",
            f"{pair.difference:+.2f}",
            *format_signed_span(pair.ci95).split(),
            p_value(pair.p),
            p_value(pair.p_adjusted),
            f"{pair.detectable:.2f}",
            *(["A", "better"] if pair.better == "runs/a" else ["undecided"]),
        ]
        needed = pair.needed or {}
        assert row(clear, name, 1)[3:] == [
            *map(str, (pair.wins, pair.ties, pair.losses)),
            "90/90",
            str(needed["samples"]),
        ]
    assert [pair.better for pair in clear.pairs] == ["runs/a", None, None], "a difference and a tie to look at"


def test_a_tie_comes_with_what_it_does_not_mean(clear: Comparison) -> None:
    text = " ".join(printed(clear).split())
    assert "Undecided is not equal. Detectable: the true difference that would have been found with a " in text
    assert "Holm over 3 tests" in text
    sure = compare([column("a", drawn(2, 2.0)), column("b", drawn(3))])
    assert "undecided" not in printed(sure)


def test_categories_are_marked_exploratory(clear: Comparison) -> None:
    social = [line for line in lines(clear) if line.startswith("Social")]
    assert len(social) == 1
    category = clear.pairs[0].categories["social"]
    assert social[0].split()[1:6] == ["A", "-", "B", "30", "30"]
    assert p_value(category.p_adjusted) == social[0].split()[-1]
    assert "Exploratory; p adj.: Benjamini-Hochberg over 9 tests." in printed(clear)


def test_the_mean_of_categories_stands_below_them(clear: Comparison) -> None:
    [line] = [line for line in lines(clear) if line.startswith("Mean of categories")]
    mean = clear.pairs[0].category_mean
    assert line.split()[3:8] == ["A", "-", "B", "90", "90"]
    assert line.split()[8:] == [format_signed(mean.difference), *format_signed_span(mean.ci95).split()]


@pytest.mark.parametrize("count", [40, 22])
def test_few_large_losses_that_decide_are_named(count: int) -> None:
    generator = random.Random(3)
    a = [7 + generator.gauss(0, 0.1) for _ in range(count)]
    b = [score + (0.5 if index not in (4, 20) else -7) for index, score in enumerate(a)]
    b[9] += 0.1
    text = " ".join(printed(compare([column("a", a), column("b", b)])).split())
    assert "A - B: a few large losses of B widen the interval, and may decide: see s0004, s0020." in text
    assert "may decide" not in printed(compare([column("a", drawn(2)), column("b", drawn(3))]))


def test_one_image_with_nearly_all_samples_is_too_uneven() -> None:
    clusters = [0] * 300 + list(range(1, 31))
    columns = [column(name, drawn(seed, count=330), clusters=clusters) for name, seed in (("a", 2), ("b", 3))]
    text = printed(compare(columns))
    assert row(compare(columns), "A - B")[-2:] == ["too", "uneven"]
    assert "No interval: a few source images hold nearly all samples." in " ".join(text.split())


def test_one_category_is_the_whole_and_not_printed_again() -> None:
    text = printed(compare([column("a", drawn(2)), column("b", drawn(3))]))
    assert "Exploratory" not in text


def test_the_samples_that_differ_most_with_the_judges_words(clear: Comparison) -> None:
    text = printed(clear)
    part = text.split("A - B: the samples that differ most")[1].split("A - C:")[0].splitlines()
    sample = clear.pairs[0].largest[0]
    scores = [format_signed(sample.difference), "A", f"{sample.a:.2f}", "B", f"{sample.b:.2f}"]
    category = ("Physical", "Environmental", "Social")[int(sample.sample_id[1:]) % 3]
    assert part[1].split() == [*scores, sample.sample_id, category]
    assert part[2].startswith("        A: 影子与光线一致")
    assert part[2].endswith("…")
    assert cell_len(part[2]) == 80
    assert len([line for line in part if "s00" in line]) == 3, "with several pairs three each"


def test_with_many_pairs_only_the_first_column_is_shown_in_full() -> None:
    columns = [column(str(n), drawn(n + 2), categories=CATEGORIES) for n in range(4)]
    text = printed(compare(columns))
    assert "A - D: the samples" in text
    assert "B - C: the samples" not in text
    assert text.count("B - C") == 2, "in the two tables of pairs, not among the categories"
    assert "Categories and samples of the pairs without A are in `--json`." in text


def test_missing_scores_are_bounds_and_a_star() -> None:
    holes = [None if n % 4 == 0 else score for n, score in enumerate(drawn(2, 1.5))]
    comparison = compare([column("a", drawn(3)), column("b", holes)])
    (pair,) = comparison.pairs
    assert row(comparison, "A - B")[-2:] == ["B", "better*"]
    assert "67/90" in row(comparison, "A - B", 1)
    assert format_signed_span([pair.worst_case_difference, pair.best_case_difference]) in printed(comparison)
    assert "* Missing scores could reverse this" in printed(comparison)
    whole = compare([column("a", drawn(3)), column("b", drawn(2, 1.5))])
    assert "Worst to best" not in printed(whole)
    assert "*" not in printed(whole)


FAILURES = [
    (drawn(3), range(20), "B fails more", "A - B: neither is shown to score better, but B fails more edits: 20 of 90"),
    (drawn(3, 2.0), range(20), "trade", "A - B is a trade: B scores better on what both made, but B fails more edits:"),
    (
        drawn(3, -2.0),
        range(20),
        "A better",
        "A - B: B scores worse on what both made, and B fails more edits: 20 of 90",
    ),
    (
        drawn(3),
        range(4),
        "undecided†",
        "† A - B: B is not shown to score worse, but fails more edits: 4 of 90 against 0 (p adj.",
    ),
    (drawn(3, 2.0), range(4), "B better†", "† A - B: B scores better, but fails more edits: 4 of 90"),
    (drawn(3, -2.0), range(4), "A better", None),
    (drawn(3), [], "undecided", None),
]


@pytest.mark.parametrize(("scores", "failed", "verdict", "sentence"), FAILURES)
def test_no_bare_tie_and_no_bare_better_where_one_fails_more(
    scores: list[float], failed: range, verdict: str, sentence: str | None
) -> None:
    comparison = compare([failing(column("a", drawn(2)), []), failing(column("b", scores), failed)])
    assert " ".join(row(comparison, "A - B")).endswith(f" {verdict}")
    words = " ".join(printed(comparison).split())
    assert words.count("fails more edits") == bool(sentence)
    assert sentence is None or sentence in words
    assert ("Failed edits" in words) == bool(failed)
    for language in ("en", "zh"):
        file = io.StringIO()
        print_comparison(comparison, Console(file=file, width=80, color_system=None), language=language, full=True)
        assert max(cell_len(line) for line in file.getvalue().splitlines()) <= 80
    assert set(re.findall("[A-Za-z]{3,}", file.getvalue())) <= {"judge", "Holm", "all"}


def test_the_failed_edits_of_columns_and_pairs_in_numbers() -> None:
    columns = [failing(column("a", drawn(2)), [0]), failing(column("b", drawn(3)), range(4))]
    comparison = compare([*columns, *(replace(column, judge="other") for column in columns)])
    low, high = comparison.columns[1].failed.ci95 or (0.0, 0.0)
    assert row(comparison, "B  ")[2:5] == ["86/90", "4/90", f"({100 * low:.0f}–{100 * high:.0f}%)"]
    p = p_value(comparison.pairs[0].failures.p)
    assert row(comparison, "A - B", 2)[3:] == ["90", "90", "1", ":", "4", "-3.3%", p, p]
    assert printed(comparison).count("Failed edits") == 1, "the same for both judges"
    assert printed(comparison).count("† A - B:") == 2, "what they make of it is not"
    assert "Holm over 1 test of failures" in " ".join(printed(comparison).split())


def test_identical_untested_and_hopeless_pairs_have_words() -> None:
    same = compare([column("a", drawn(2)), column("b", drawn(2))])
    assert row(same, "A - B")[3:] == ["90", "90", "0.00", "–", "–", "–", "–", "same", "on", "90"]
    assert "the samples that differ most" not in printed(same)
    nothing = compare([column("a", [None, 4]), column("b", [4, None])])
    assert row(nothing, "A - B")[3:] == ["0", "0", "–", "–", "–", "–", "–", "no", "test"]
    assert "No test: no sample is scored in both." in printed(nothing)
    assert "Holm over 0 tests." in " ".join(printed(nothing).split())
    assert "No interval: one source image." in printed(nothing), "of the columns"
    few = compare([column("a", [9, 8, 9, 7, 9]), column("b", [1, 2, 1, 1, 3])])
    assert row(few, "A - B")[-4:] == ["–", "too", "few:", "5"]
    assert "No interval: fewer than six source images." in " ".join(printed(few).split())
    assert "Undecided is not equal" not in printed(few), "nothing here is undecided"


def test_a_pair_without_a_common_sample_costs_the_others_nothing() -> None:
    columns = [column("a", drawn(2)), column("b", drawn(3)), column("c", [None] * 90)]
    two, three = compare(columns[:2]), compare(columns)
    assert three.document().tests == 1
    assert three.pairs[0].detectable == two.pairs[0].detectable
    assert three.pairs[0].p_adjusted == two.pairs[0].p_adjusted


def test_a_difference_that_is_always_the_same_has_no_interval_and_says_why() -> None:
    scores = [round(4 * score) / 4 for score in drawn(2)]
    constant = compare([column("a", scores), column("b", [score - 1 for score in scores])])
    assert row(constant, "A - B")[6:9] == ["–", "<0.0001", "<0.0001"]
    assert "No interval: no spread." in printed(constant)


def test_one_common_sample_is_not_called_a_tie() -> None:
    """The verdict says on how much it rests, and the text that it says nothing of the rest."""
    comparison = compare([column("a", [7, None]), column("b", [7, 3])])
    assert row(comparison, "A - B")[-4:] == ["–", "same", "on", "1"]
    assert "identical" not in printed(comparison)
    assert [column.no_ci95 for column in comparison.columns] == ["one_image", "few_images"]
    unread = compare([column("a", [None, None]), column("b", [7, 3])]).columns[0]
    assert (unread.ci95, unread.no_ci95) == (None, "no_scores")
    assert "This says nothing about other samples." in " ".join(printed(comparison).split())
    ten = compare([column("a", [7] * 9 + [6], clusters=[0] * 10), column("b", [7] * 10, clusters=[0] * 10)])
    assert row(ten, "A - B")[-3:] == ["too", "few:", "1"], "ten samples, one image"


def test_a_comparison_in_chinese(clear: Comparison) -> None:
    file = io.StringIO()
    print_comparison(clear, Console(file=file, width=80, color_system=None), language="zh", full=True)
    text = file.getvalue()
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    for words in ("由 judge 评分", "名次", "A 更好", "未定不等于相同", "校正 p：对 3 次检验", "社会", "差异最大的样本"):
        assert words in text
    english = {word for line in text.splitlines() if WORDS[:8] not in line for word in re.findall("[A-Za-z]{3,}", line)}
    assert english <= {"runs", "judge", "qwen", "flux", "kontext", "Holm", "Benjamini", "Hochberg"}


def test_every_verdict_and_warning_is_chinese() -> None:
    holes = [None if n % 4 == 0 else score for n, score in enumerate(drawn(2, 1.5))]
    few = [column(name, scores) for name, scores in (("a", [9, 8, 9]), ("b", [1, 2, 1]), ("c", [9, 8, 9]))]
    columns = [
        compare([column("a", drawn(3)), column("b", holes, differs=("x: 1, not 2",))], detect=0.2),
        compare(few),
        compare([column("a", [5, None]), column("b", [None, 4])]),
    ]
    for comparison in columns:
        file = io.StringIO()
        print_comparison(comparison, Console(file=file, width=80, color_system=None), language="zh", full=True)
        words = set(re.findall("[A-Za-z]{3,}", file.getvalue()))
        assert words <= {"judge", "not", "Holm", "all"}, "`all` is the category, `not` of what differs"


def test_each_judge_has_a_section_and_the_letters_are_the_same() -> None:
    columns = [
        column(name, drawn(seed), judge=judge, edit_model=name)
        for judge, seeds in (("strict", (2, 3)), ("kind", (4, 5)))
        for name, seed in zip(("x", "y"), seeds, strict=True)
    ]
    text = printed(compare(columns, notes=["y is not finished"]))
    strict, kind = text.split("judged by kind")
    for part in (strict, kind):
        assert "\nA   x" in part
        assert "\nA - B" in part
    assert "note: y is not finished" in strict
    assert "note" not in kind
    assert "Holm over 2 tests" in " ".join(strict.split())
    assert "Holm" not in kind, "what is the same for all judges is said once"


def test_how_the_edit_models_differ_is_said_once() -> None:
    columns = [column("a", drawn(2)), column("b", drawn(3), differs=("steps: 15, not 50", "seed: 1, not 0"))]
    text = printed(compare(columns))
    assert text.count("B unlike A  steps: 15, not 50; seed: 1, not 0") == 1


def test_images_stand_beside_samples_where_they_are_fewer() -> None:
    clusters = [n // 3 for n in range(90)]
    comparison = compare(
        [column("a", drawn(2), clusters=clusters), column("b", drawn(3), clusters=clusters)], detect=0.2
    )
    needed = comparison.pairs[0].needed or {}
    assert f"{needed['samples']} ({needed['clusters']} images)" in printed(comparison)


def test_chinese_names_do_not_shift_the_numbers() -> None:
    comparison = compare([column("编辑甲", drawn(2)), column("b", drawn(3))])
    rows = [line for line in lines(comparison) if line[:3] in ("A  ", "B  ")]
    assert len({cell_len(line) for line in rows}) == 1
    assert rows[0].index("编") == rows[1].index("b")


def test_colour_only_on_a_terminal(clear: Comparison) -> None:
    assert "\x1b" not in printed(clear)
    assert "\x1b[" in printed(clear, terminal=True)


def test_data_can_be_neither_markup_nor_steer_the_terminal() -> None:
    hostile = "[red]x[/red]\x1b[2J\x1b]0;title\x07\n"
    a, b = drawn(2), drawn(3)
    first = column(hostile + "1", a, edit_model=hostile, judge=hostile, words={"s0000": hostile}, differs=())
    second = column(hostile + "2", b, edit_model="b", judge=hostile, differs=(hostile,))
    comparison = compare([first, second], notes=[hostile])
    text = printed(comparison)
    assert "\x1b" not in text
    assert "title" not in text
    assert "[red]x[/red]" in text
    assert all("\x1b" not in line and "\n" not in line for line in map(one_line, gate_lines(comparison.gate)))


def test_the_document_can_be_written_whatever_a_judge_said() -> None:
    a = column("a", [9.0, 5.0], words={"s0000": "half a pair \ud83d"})
    document = plain(compare([a, column("b", [1.0, 5.0])]).document())
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    assert json.loads(text.encode("utf-8")) == document
    assert document["pairs"][0]["largest"][0]["words_a"] == "half a pair ?"
    wanted = {"a", "b", "n", "clusters", "difference", "ci95", "p", "p_adjusted", "detectable"}
    assert wanted <= set(document["pairs"][0])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.22, "+0.22"), (-0.05, "-0.05"), (-0.001, "0.00"), (0.0, "0.00"), (None, "–"), (10, "+10.00")],
)
def test_signed(value: float | None, shown: str) -> None:
    assert format_signed(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1.0000"),
        (0.0123, "0.0123"),
        (0.0001, "0.0001"),
        (0.00005, "<0.0001"),
        (0.05, "0.0500"),
        (0.05001, "0.050010"),  # rounded it would look like a finding that it is not
        (None, "–"),
    ],
)
def test_p_values(value: float | None, shown: str) -> None:
    assert p_value(value) == shown


def test_letters_go_on_after_z() -> None:
    assert [letter(n) for n in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]


def test_notes_are_said_in_both_languages_and_records_as_they_are() -> None:
    values = {"run": "night", "judge": "strict", "pending": 3, "total": 12, "sizes": "x 1, y 2", "line": "not audited"}
    values |= {"first": "day", "mean": "+0.80", "spread": "0.90", "noise": "0.10", "p": "<0.0001"}
    values |= {"columns": ["a", "b"]}
    details = {"language": "en", "passport": None, "anchors": None}
    document = ExaminedJudge(line="not audited", ended="not_audited", details=details)
    notes = [Note(kind, **values, document=document) for kind in NOTES]
    comparison = compare([column("a", drawn(2)), column("b", drawn(3))], notes=[*notes, "x: 2 damaged lines"])
    assert plain(comparison.document())["notes"] == [*map(str, notes), "x: 2 damaged lines"]
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=400, color_system=None), language="zh", full=True)
    assert "注意：night 尚未完成：12 个评分中还差 3 个\n" in file.getvalue()
    assert "注意：x: 2 damaged lines\n" in file.getvalue()
    assert "注意：评审 strict，于 night：未经检验\n" in file.getvalue()
    assert "note" not in file.getvalue()


DRIFT = Scale(lowest=0, highest=1, higher_is_better=False, mean_over="categories")


def test_where_lower_is_better_the_verdict_is_and_it_is_said() -> None:
    low, high = ([1 - score / 10 for score in scores] for scores in (drawn(2, 1.5), drawn(3)))
    a, b = (
        replace(column(name, scores, scale=DRIFT, categories=CATEGORIES), score="drift")
        for name, scores in (("runs/a", low), ("runs/b", high))
    )
    comparison = compare([a, b])
    text = printed(comparison)
    assert "drift: from 0 to 1, lower is better, mean of the categories" in text
    assert "A difference below 0 is in favour of the first of a pair." in text
    assert row(comparison, "A - B")[5] == f"{comparison.pairs[0].difference:+.3f}"
    assert comparison.pairs[0].difference < 0
    assert "A better" in text
    assert "Mean of samples" in text
    assert "Mean of categories" not in text
    assert max(map(cell_len, text.splitlines())) <= 80
    [line] = gate_lines(comparison.gate)
    assert line.startswith("runs/b scores worse than runs/a by judge judge: -0.1")


def test_an_open_scale_has_no_bounds_for_what_is_missing() -> None:
    psnr = Scale()
    scores = [20 + score for score in drawn(2)]
    worse: list[float | None] = [19 + score for score in drawn(3)]
    worse[4] = None
    comparison = compare(
        [column("runs/a", scores, scale=psnr), failing(column("runs/b", worse, scale=psnr), [4])], margin=0.5
    )
    assert row(comparison, "A - B", table=1)[-1] == "–"
    assert "Worst to best" in printed(comparison)
    assert "A better*" in printed(comparison)
    assert (comparison.gate.candidates[0].missing, comparison.gate.candidates[0].lower) == (1, None)
    assert all(translate(line, "zh") != line for line in gate_lines(comparison.gate))
