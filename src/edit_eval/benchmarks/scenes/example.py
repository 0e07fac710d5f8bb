"""One drawn scene and its right edit, for questions that are asked before anything is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edit_eval.benchmarks.scenes.benchmark import picture_of
from edit_eval.benchmarks.scenes.descriptions import describe
from edit_eval.benchmarks.scenes.edits import apply
from edit_eval.benchmarks.scenes.language import write
from edit_eval.benchmarks.scenes.plans import category_of, plan
from edit_eval.records import Sample

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = (512, 384)


def example_sample(language: str) -> Sample:
    """What is asked of the first scene, in `en` or `zh`. It has no file."""
    planned = plan(0, 0, *SIZE)
    return Sample(
        id="example",
        index=0,
        category=category_of(0),
        source="",
        source_digest="",
        instruction=write(planned.edit, language, 0),
        description=describe(planned.scene, language),
        language=language,
    )


def example_pictures() -> dict[str, Image]:
    """The `source`, and what it is to become, `edited`: RGB."""
    planned = plan(0, 0, *SIZE)
    return {"source": picture_of(planned.scene), "edited": picture_of(apply(planned.scene, planned.edit))}
