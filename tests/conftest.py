"""Fixtures for the whole house."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before any library reads them: no test reaches for the network, and torch does not fight its neighbours for the cores.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the five tiny models, each under its name. Not to be written into: copy what is to be changed."""
    pytest.importorskip("diffusers")
    pytest.importorskip("transformers")
    from edit_eval.testing.tiny_models import build

    folder = tmp_path_factory.mktemp("tiny_models")
    build(folder)
    return folder
