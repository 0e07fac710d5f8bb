"""Writes the current state of a service into its ledger, for `edit-eval view`."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections import Counter, deque
from typing import NamedTuple, Protocol

from edit_eval.errors import PictureError
from edit_eval.plugins.serve.ledger import Ledger
from edit_eval.plugins.serve.openers import Openers
from edit_eval.plugins.serve.pictures import Sent
from edit_eval.plugins.serve.submissions import Submission
from edit_eval.plugins.serve.watch import Watch
from edit_eval.records import JUDGE_FAILED, Judgement
from edit_eval.reporting.live import Count, DeviceView, LatestEdit, ServiceView, Snapshot, write_live

EVERY = 2.0
"""Seconds between two updates."""
SHOWN = 12
"""Number of latest edits shown."""
SIDE = 96
"""Largest side of their pictures, in pixels."""
OVER = 60.0
"""Seconds over which the pace is averaged."""
_STATES = {"loading": "loading", "starting": "starting"}


class JudgeOnDevices(NamedTuple):
    """A judge as it is loaded."""

    judge: str
    devices: list[str]
    state: str
    hands: int
    """Batches under way."""


class LiveService(Protocol):
    """What of a service is shown."""

    began: float
    """Seconds since 1970."""
    ledger: Ledger
    openers: Openers
    watch: Watch | None
    latest: deque[tuple[float, float]]
    """The latest answers: time (seconds since 1970) and duration in seconds."""
    shown: deque[tuple[Submission, Judgement]]
    """The latest edits of clients, with the first judge's judgements."""

    @property
    def n_waiting(self) -> int: ...

    def count_by_status(self) -> Counter[tuple[str, str]]: ...

    def replicas(self) -> list[JudgeOnDevices]: ...


class ServiceLive:
    """A thread that writes the `live.json` of the current run until it is closed."""

    def __init__(self, service: LiveService) -> None:
        self._service = service
        self._end = threading.Event()
        self._small: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops writing. Readers see the run's end by its lock."""
        self._end.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._end.wait(EVERY):
            directory = self._service.ledger.directory
            with contextlib.suppress(Exception):  # only a display: a failure must not end the service
                write_live(directory, self.snapshot())

    def snapshot(self) -> Snapshot:
        """Returns the current state of the service."""
        service, now = self._service, time.time()
        statuses: dict[str, dict[str, int]] = {}
        for (judge, status), count in service.count_by_status().items():
            statuses.setdefault(judge, {})[status] = count
        every = Counter({status: count for of in statuses.values() for status, count in of.items()})
        failed = sum(every[status.value] for status in JUDGE_FAILED)
        answers = list(service.latest)
        seconds = sorted(took for _, took in answers)
        lately = [at for at, _ in answers if now - at < OVER]
        over = max(1.0, now - lately[0] if len(lately) == len(answers) and lately else OVER)
        watch = service.watch
        window = watch.windows[-1] if watch is not None and watch.windows else None
        devices = [
            DeviceView(
                device="+".join(replica.devices),
                activity=_STATES.get(replica.state, "judging" if replica.hands else ""),
                model=replica.judge,
            )
            for replica in service.replicas()
        ]
        view = ServiceView(
            waiting=service.n_waiting,
            per_second=len(lately) / over,
            p50=seconds[len(seconds) // 2] if seconds else None,
            p99=seconds[len(seconds) * 99 // 100] if seconds else None,
            statuses=statuses,
            near_copies=None if window is None else window.share,
            canaries={} if window is None else window.canary_rewards(),
            alarms=tuple(map(str.__str__, watch.alarms[-5:])) if watch is not None else (),
            latest=tuple(self._latest()),
        )
        return Snapshot(
            devices=tuple(devices),
            judgements=Count(ok=every["ok"], failed=failed, total=every.total(), settled=every.total()),
            seconds=now - service.began,
            service=view,
        )

    def _latest(self) -> list[LatestEdit]:
        shown = list(self._service.shown)[::-1]
        small = {picture.digest: self._small.get(picture.digest) for pair, _ in shown for picture in _pictures(pair)}
        for pair, _ in shown:
            for picture in _pictures(pair):
                if small[picture.digest] is None:
                    small[picture.digest] = self._data_url(picture)
        self._small = {digest: url for digest, url in small.items() if url is not None}
        return [_latest_edit(pair, judgement, self._small) for pair, judgement in shown]

    def _data_url(self, picture: Sent) -> str:
        try:
            data = self._service.openers.decode_small(picture.data, SIDE)
        except PictureError:  # damaged
            return ""
        return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


def _pictures(pair: Submission) -> tuple[Sent, Sent]:
    return pair.pictures["source"], pair.edit


def _latest_edit(pair: Submission, judgement: Judgement, small: dict[str, str]) -> LatestEdit:
    source, edit = (small[picture.digest] for picture in _pictures(pair))
    return LatestEdit(
        id=judgement.sample_id,
        instruction=pair.instruction[:300],
        source=source,
        edit=edit,
        status=judgement.status.value,
        reason=str.__str__(judgement.reason)[:300],
        score=judgement.score,
    )
