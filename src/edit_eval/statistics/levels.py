"""The errors that tests may make."""

ALPHA = 0.05
"""How often a test may find a difference that is not there."""
POWER = 0.8
"""How often a plan wants one that is there to be found."""
