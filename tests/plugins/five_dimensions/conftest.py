"""The benchmark's files are made as those of the core's benchmarks are."""

from benchmarks.conftest import place

__all__ = ["place"]
