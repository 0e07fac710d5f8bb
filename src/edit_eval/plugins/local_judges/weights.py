"""What is known of transformers' image-text-to-text models and of published judges, for whoever has loaded nothing."""

from __future__ import annotations

from collections.abc import Mapping

from edit_eval.plugins.local_judges.in_worker.judge_table import (
    FAMILIES,
    NOT_KNOWN,
    PUBLISHED,
    family_of_type,
    lineage_of_name,
)
from edit_eval.pretrained.published import KnownClass, PublishedWeights

COUNTED = {
    "Qwen/Qwen3-VL-30B-A3B-Instruct": 31.07,
    "Qwen/Qwen3-VL-8B-Instruct": 8.77,
    "Qwen/Qwen3.5-9B": 9.41,
    "Qwen/Qwen3.5-27B": 27.36,
    "Qwen/Qwen3.6-27B": 27.36,
}
"""10^9 parameters, counted by building them from their configurations without weights; others have what their names
say."""
_RELEASES = {
    row.name: PublishedWeights(
        name=row.name, parts={"model": COUNTED.get(row.name, row.billions)}, billions=row.billions
    )
    for row in PUBLISHED
}
_CLASSES = {name: KnownClass(lineage=lineage) for name, lineage in NOT_KNOWN.values() if lineage}
_CLASSES |= {family.model: KnownClass(lineage=family.lineage) for family in FAMILIES}


class JudgeWeights:
    """Families of image-text-to-text models, and published judges."""

    def releases(self) -> Mapping[str, PublishedWeights]:
        """Returns the published weights of `judge_table.py`."""
        return _RELEASES

    def classes(self) -> Mapping[str, KnownClass]:
        """Returns the classes of transformers that read pictures: edit models have them as encoders, too."""
        return _CLASSES

    def lineage(self, model_type: str, name: str) -> str:
        """Returns a family, by the type of the weights, else by their name."""
        family = family_of_type(model_type)
        return family.lineage if family else NOT_KNOWN.get(model_type, ("", ""))[1] or lineage_of_name(name)
