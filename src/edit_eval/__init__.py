"""edit-eval: measures instruction-based image editing models."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "evaluate"]


def __getattr__(name: str) -> object:
    # Lazy: a worker in a foreign environment imports this package without any of the libraries `evaluate` needs.
    if name == "evaluate":
        from edit_eval.evaluation import evaluate

        return evaluate
    raise AttributeError(f"module 'edit_eval' has no attribute {name!r}")
