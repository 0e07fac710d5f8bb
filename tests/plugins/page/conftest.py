"""Reports written once, and a browser to look at them."""

from reporting.written_reports import complete, faults, hostile, incomplete, open_page, several, tabs, three_scores

__all__ = ["complete", "faults", "hostile", "incomplete", "open_page", "several", "tabs", "three_scores"]
