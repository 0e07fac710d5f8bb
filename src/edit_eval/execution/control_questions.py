"""How many questions about controls a run asks, and what that can show, before it is begun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edit_eval.experiment import CONTROLS, Experiment
from edit_eval.statistics.control_counts import FEWEST_WITH_CONTROLS, fewest
from edit_eval.text import Text, pluralize


@dataclass(frozen=True)
class ControlQuestions:
    """Controls of a run and the questions about them, to all its judges together."""

    asked: int
    """Samples with controls of each kind."""
    automatic: bool
    """True if the number was left to edit-eval."""
    kinds: int
    edit_models: int
    each: Mapping[str, float]
    """By judge that sees controls, its questions about one picture."""
    edits: int
    """Questions to these judges about edits."""
    images: int
    """Source images that could have controls."""

    @classmethod
    def from_experiment(cls, experiment: Experiment) -> ControlQuestions:
        """Returns those of an experiment."""
        judges = [judge for judge in experiment.judges if judge.sees_controls]
        each = {
            judge.name: experiment.questions_per_edit.get(judge.name, 0.0) * experiment.readings for judge in judges
        }
        samples = sum(not (sample.fault or sample.id in experiment.beside) for sample in experiment.samples)
        edits = samples * len(experiment.edit_models) * experiment.edit_seeds
        images = len({experiment.samples[n].cluster or n for n in experiment.independent_samples})
        return cls(
            asked=min(experiment.control_samples, len(experiment.samples_for_controls)),
            automatic=experiment.automatic_controls,
            kinds=len(CONTROLS) - (images < 2) + len(experiment.more_controls),
            edit_models=len(experiment.edit_models),
            each=each,
            edits=round(sum(edits * experiment.repeats_of(judge) * each[judge.name] for judge in judges)),
            images=images,
        )

    def count_questions(self, images: int) -> int:
        """Returns the questions about so many images of each kind."""
        return round(images * self.kinds * sum(self.each.values()))

    @property
    def sentence(self) -> str:
        """Says how many there are, what they cost and what that can show; empty without a judge that sees any."""
        if not self.each or not (self.automatic or self.asked):
            return ""
        shows = fewest(self.edit_models)
        line: str = Text(
            "controls: {} of each kind, {} beside {} about edits",
            self.asked,
            pluralize(self.count_questions(self.asked), "question"),
            self.edits,
        )
        if not self.asked:
            line = Text("controls: none, they would be more than a third of the {}", pluralize(self.edits, "question"))
        if self.asked >= shows:
            return line
        if self.images < shows:
            return Text("{}; with fewer than {} source images no judge can be shown to see edits", line, shows)
        enough = min(self.images, max(shows, FEWEST_WITH_CONTROLS))
        return Text(
            "{}; too few to show that a judge sees edits, for which `evaluation: {{controls: {}}}` asks {}",
            line,
            enough,
            self.count_questions(enough),
        )
