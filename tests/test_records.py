"""The nouns, and what they are called."""

from edit_eval.records import model_title
from edit_eval.text import counted


def test_a_models_key_as_people_read_it() -> None:
    assert model_title("edit:testing") == "edit model testing"
    assert model_title("judge:a:b") == "judge a:b", "a name may hold a colon"


def test_numbers_of_things() -> None:
    assert [counted(number, "edit") for number in (0, 1, 2)] == ["0 edits", "1 edit", "2 edits"]
