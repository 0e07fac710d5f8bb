"""`python -m edit_eval` is `edit-eval`."""

from edit_eval.cli import main

main()
