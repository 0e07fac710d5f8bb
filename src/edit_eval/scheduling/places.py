"""Whose a place is: rules 3 to 5 of `policies.py`.

It answers questions; what follows from the answers is done by the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Fleet
from edit_eval.scheduling.queues import PullQueue
from edit_eval.scheduling.replicas import Leaving, Replica, ReplicaState
from edit_eval.scheduling.tasks import Model, Work


class Places:
    """Which model takes a place, and whether the one that has it leaves."""

    def __init__(
        self,
        models: Sequence[Model],
        work: Work,
        estimates: Estimates,
        fleet: Fleet,
        queues: Mapping[str, PullQueue],
        *,
        dealt: bool,
        shared: bool,
        wake: Callable[[str], None],
    ) -> None:
        """`dealt`: edits belong to devices. `shared`: models stay on their place, side by side. `wake` is told of a
        model (its key) for which others may have to make room."""
        self._models = models
        self._work = work
        self._estimates = estimates
        self._fleet = fleet
        self._queues = queues
        self._dealt = dealt
        self._shared = shared
        self._wake = wake
        self._leaving = 0  # replicas that give up their place and still finish what they have in hand
        self._left: set[str] = set()  # devices that left editing early: they do not go back in this phase
        self._kept: dict[str, Replica] = {}  # devices that are kept free for a replica

    # -- rule 3: the next model --

    def next_on(self, device: str, judges_first: bool = False) -> Replica | None:
        """The replica that a place with room takes; none where none can end the run earlier."""
        order = self._fleet.on[device]
        if judges_first:
            order = sorted(order, key=lambda r: (r.model.kind == "edit", self._comes_after(r)))
        elif self._dealt:  # all places come to the judges at about the same time, and share them out
            order = sorted(order, key=lambda r: (0, 0.0) if r.model.kind == "edit" else (1, self._comes_after(r)))
        if self._work.piloting:
            order = sorted(order, key=lambda r: not self.is_called(r))
        if self._work.edits_wait_for_answers:  # a judge that can begin goes before one that would only wait
            order = sorted(order, key=lambda r: not self._queues[r.key].open_to(r.index))
        for replica in order:
            if replica.wanted or replica.state in (ReplicaState.STOPPING, ReplicaState.RETIRED):
                continue
            if not self._fleet.has_room(replica) or self._is_kept_from(replica) or self._gave_up(replica):
                continue
            if self._shortens(replica):
                self._keep_no_more(replica)
                return replica
        return None

    def _shortens(self, replica: Replica) -> bool:
        """Whether loading this replica can end the run earlier."""
        name, queue = replica.key, self._queues[replica.key]
        if queue.belongs_to(replica.index) or name in self._work.kept:
            return True
        there = self._fleet.active[name]
        if replica.model.kind == "edit":
            enough = queue.open_to(replica.index) <= self._fleet.coming[name]
        else:
            enough = self._work.left(name) - queue.closed_to(replica.index) <= there
            there += self._leaving
        if enough or not there:
            return not enough
        load, unit = self._estimates.load[name].value, self._estimates.unit[name].value
        if load is None or unit is None:
            return True
        takes = self._work.units_left(name) * unit / there
        if self._dealt and self._fleet.load_at_once(name):  # they have yet to load, too, and no longer than this one
            takes += load
        return takes > load

    def _gave_up(self, replica: Replica) -> bool:
        """Whether it is of an edit model, its place left editing early, and others still edit."""
        others_edit = replica.model.kind == "edit" and self._fleet.active[replica.key]
        if not others_edit or self._queues[replica.key].belongs_to(replica.index):
            return False
        return any(device in self._left for device in replica.held)

    def is_needed(self, replica: Replica) -> bool:
        """Whether others need the place of a replica with empty hands, or nothing is left for it."""
        if replica.key in self._work.kept:
            return False
        if self._shared or not replica.model.holds_device:  # it is in nobody's way, and a later category wants it again
            return not self._work.units_left(replica.key)
        if replica.leaving or not self._work.left(replica.key):
            return True
        if self._is_kept_from(replica):
            return True
        if self._queues[replica.key].awaits(replica.index):
            return False
        for rival in self._fleet.rivals(replica):
            # A judge that waits for edits stays: they are made elsewhere, and coming back would cost two loads. Unless
            # they may wait for another judge's answers.
            answers = self._work.edits_wait_for_answers and self._queues[rival.key].open_to(rival.index) > 0
            waits = rival.model.kind == "judge" and not answers
            stays = replica.model.kind == "judge" and (waits or self._gave_up(rival))
            if self.is_called(rival) or (not stays and self._shortens(rival)):
                self._keep(rival, replica)
                return True
        return False

    def _keep(self, replica: Replica, instead: Replica) -> None:
        """Where two replicas share only some devices, what becomes free for the one goes to nobody else meanwhile."""
        if replica.held != instead.held and not any(device in self._kept for device in replica.held):
            self._kept.update(dict.fromkeys(replica.held, replica))
            self._wake(replica.key)

    def _is_kept_from(self, replica: Replica) -> bool:
        """Whether a device of its place is kept free for a replica of an earlier model, or for one of the pilot."""
        for device in replica.held:
            other = self._kept.get(device, replica)
            if other.state is ReplicaState.RETIRED or not self._shortens(other):
                self._keep_no_more(other)
            elif other.number < replica.number or (other is not replica and self._work.pilot_ready(other.key)):
                return True
        return False

    def _keep_no_more(self, replica: Replica) -> None:
        for device in replica.held:
            if self._kept.get(device) is replica:
                del self._kept[device]

    # -- rules 4 and 5: leaving a model that still has something to do --

    def why_leave(self, replica: Replica) -> Leaving:
        """Whether the replica gives up its place, and why."""
        if self._shared or not replica.worked:
            return ""
        if self._is_called_away(replica) or self._is_owed(replica):
            return "pilot"
        return "early" if self._can_leave_early(replica) else ""

    def leave(self, replica: Replica, why: Leaving) -> None:
        """It gives up its place when its hands are empty; not any more where `why` is empty."""
        self._leaving += bool(why) - bool(replica.leaving)
        replica.leaving = why

    def left(self, replica: Replica) -> bool:
        """It is gone; whether it left early."""
        early = replica.leaving == "early"
        if early:
            self._left.update(replica.held)
        self.leave(replica, "")
        return early

    def begin_phase(self) -> None:
        """Whoever left editing early may come back."""
        self._left.clear()

    def leaves_still(self, replica: Replica) -> bool:
        """Whether it leaves now that its hands are empty: not if others have taken the judge meanwhile."""
        why = replica.leaving
        self.leave(replica, "")
        called = self._is_called_away(replica) or self._is_owed(replica)
        if called if why == "pilot" else self._judges_next(replica):
            self.leave(replica, why)
        return bool(replica.leaving)

    def successors(self, replica: Replica) -> list[Replica]:
        """The replicas that may have its place after it, as far as can be said."""
        return [one for one in self._fleet.rivals(replica) if self.is_called(one)] or self._judges_next(replica)

    def _can_leave_early(self, replica: Replica) -> bool:
        """Rule 4."""
        mine = replica.key
        if self._dealt or replica.model.kind == "judge":
            return False
        editing, seconds = self._fleet.active[mine] - self._leaving, self._estimates.unit[mine].value
        if editing < 2 or seconds is None:
            return False
        for model in self._models:
            if model.kind == "edit" and model.key != mine and self._work.units_left(model.key):
                return False
        finish_hands, edits_take = len(replica.hands) * seconds, self._work.units_left(mine) * seconds
        load, unit = self._estimates.load, self._estimates.unit
        # Of several judges, a place leaves for the one that it is going to load.
        rival = min(self._judges_next(replica), key=self._comes_after, default=None)
        if rival is None or unit[rival.key].value is None or (loading := load[rival.key].value) is None:
            return False
        rest = self._estimates.rest(self._work, rival.key)
        judging_takes = loading + rest / (self._fleet.active[rival.key] + self._leaving + 1)
        return (edits_take - finish_hands) / (editing - 1) <= finish_hands + judging_takes

    def _comes_after(self, judge: Replica) -> float:
        """Ranks judges for a place that is theirs: who has most to do for each of its places would be the last."""
        return -self._estimates.rest(self._work, judge.key) / (self._fleet.active[judge.key] + 1)

    def _judges_next(self, replica: Replica) -> list[Replica]:
        """The judges that would take its place by rule 3."""
        rivals = self._fleet.rivals(replica)
        return [rival for rival in rivals if rival.model.kind == "judge" and self._shortens(rival)]

    def is_called(self, replica: Replica) -> bool:
        """Rule 5: whether the pilot needs a place for its model."""
        name = replica.key
        if not self._work.pilot_ready(name) or self._fleet.active[name] or self._leaving:
            return False
        # Where edits are dealt, each waits for its own replica.
        dealt = self._dealt and replica.model.kind == "edit"
        return not dealt and self._queues[name].has_pilot_for(replica.index)

    def _is_called_away(self, replica: Replica) -> bool:
        """Rule 5: whether the pilot needs the replica's place, and not for its own model."""
        if not self._work.piloting or self._work.pilot_ready(replica.key):
            return False
        for rival in self._fleet.rivals(replica):
            kept = self._work.pilot_ready(rival.key) and rival in map(self._kept.get, replica.held)
            if kept or self.is_called(rival):
                self._keep(rival, replica)
                return True
        return False

    def _is_owed(self, replica: Replica) -> bool:
        """Whether a judge has done its pilot on a place to which edits were dealt, which wait for it."""
        if not self._dealt or replica.model.kind == "edit" or self._work.pilot_left(replica.key):
            return False
        if self._work.edits_wait_for_answers and not self._work.piloting:  # it does what it can before the next round
            return False
        rivals = (rival for rival in self._fleet.rivals(replica) if rival.model.kind == "edit")
        return any(self._queues[rival.key].belongs_to(rival.index) for rival in rivals)
