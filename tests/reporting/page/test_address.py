"""Links to samples."""

from __future__ import annotations

import pytest

from edit_eval.reporting.entries import link


def test_a_link_says_what_it_is_given_in_one_order_and_escapes_it() -> None:
    assert link(status="unscored", model="A&B = C #1") == "#model=A%26B+%3D+C+%231&status=unscored"
    assert link(sample="a/b é", left="source", right="edit:B") == "#sample=a%2Fb+%C3%A9&left=source&right=edit%3AB"
    assert link(min=0, max=2.5, tag=None, category="") == "#min=0&max=2.5"


def test_a_link_to_nothing_in_particular_leads_to_all_samples() -> None:
    assert link() == link(model=None) == "#sort=benchmark"


def test_a_key_that_no_page_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="no address has colour"):
        link(colour="red")
