"""What is known of diffusers' pipelines and of their published weights, for whoever has loaded nothing."""

from __future__ import annotations

from collections.abc import Mapping

from edit_eval.plugins.diffusers.in_worker.preset_table import PIPELINES
from edit_eval.plugins.diffusers.in_worker.release_table import RELEASES
from edit_eval.pretrained.published import KnownClass, PublishedWeights

_RELEASES = {
    row.name: PublishedWeights(
        name=row.name,
        parts=row.parts if len(row.parts) > 1 else {},  # of one part alone the others are not known
        pipeline=row.pipeline,
        revision=row.revision,
        licence=row.licence,
    )
    for row in RELEASES
}
_CLASSES = {
    row.name: KnownClass(
        lineage=row.encoder,
        dtypes={part: keywords["dtype"] for part, keywords in row.load.items() if "dtype" in keywords},
        optional=row.rewriting if row.modular else "",
    )
    for row in PIPELINES
}


class PipelineWeights:
    """Pipelines of diffusers that edit, and their published weights."""

    def releases(self) -> Mapping[str, PublishedWeights]:
        """Returns the rows of `release_table.py`."""
        return _RELEASES

    def classes(self) -> Mapping[str, KnownClass]:
        """Returns the rows of `preset_table.py`."""
        return _CLASSES

    def lineage(self, model_type: str, name: str) -> str:
        """Returns nothing: no pipeline judges."""
        return ""
