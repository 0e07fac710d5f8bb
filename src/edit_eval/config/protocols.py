"""What each judge is asked: the benchmark's own protocol, changed by `protocol:`, changed by the judge's `protocol`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edit_eval.config.components import staying_here
from edit_eval.config.faults import Faults, Place
from edit_eval.config.parameters import check_parameters, names_of
from edit_eval.config.schema import ModelSection, ProtocolSection
from edit_eval.text import Text
from edit_eval.workers.model_class import make_parameters

DEFAULT_PROTOCOL = "rubric"
MEASURING_PROTOCOL = "numbers"
"""Of a judge that measures, and is asked nothing."""
WHICH = ("type", "class_path")
PROTOCOL_KEYS = (*WHICH, "retries")
"""The keys that are not parameters of the protocol's class."""

Found = tuple[str, str, type[Any] | None]
"""A class: its registered name or "", its class path or "", itself."""


@dataclass(frozen=True)
class Layer:
    """Some keys of a protocol, and where they were written."""

    keys: Mapping[str, Any]
    place: Place

    @property
    def named(self) -> tuple[Any, ...] | None:
        """Which protocol it is about; None where it does not say. Below the name of another one nothing counts."""
        names = tuple(self.keys.get(key) for key in WHICH)
        return names if any(name is not None for name in names) else None


@dataclass(frozen=True)
class JudgeDraft:
    """A judge before its protocol is known."""

    section: ModelSection
    judge_class: type[Any] | None
    """None: only its own environment can import it."""
    place: Place
    own: Layer
    """What it says of its protocol."""

    @property
    def measures(self) -> bool:
        """Whether it gives numbers, and is asked nothing."""
        return callable(getattr(self.judge_class, "measures", None))


def own_layer(
    judge_class: type[Any] | None, written: Mapping[str, Any], params: dict[str, Any], place: Place, faults: Faults
) -> Layer:
    """The `protocol` of the judge at `place`, as `written`; with the `images` of its `params`, which are taken out.

    There they stood before there were protocols; they stay where the judge's class has a parameter of that name.
    """
    keys, there = dict(written), (*place, "protocol")
    names = declared(judge_class)
    if "images" in params and names and "images" not in names and not hasattr(judge_class, "measures"):
        images, before = params.pop("images"), (*place, "params", "images")
        if images is not None and keys.setdefault("images", images) != images:
            faults.add(before, Text("`protocol.images` is also given and says otherwise; keep that one"))
        elif images is not None and "images" not in written:
            faults.origins[*there, "images"] = faults.name(before)
    return Layer(keys, there)


def default_layer(benchmark_class: type[Any] | None, faults: Faults) -> Layer:
    """The benchmark's own protocol: what its class says (`protocol`, a name or a mapping), else the rubrics."""
    said = getattr(benchmark_class, "protocol", DEFAULT_PROTOCOL)
    where = f"{getattr(benchmark_class, '__name__', '')}.protocol"
    keys = {"type": said} if isinstance(said, str) else said
    if not isinstance(keys, Mapping):
        faults.add(("benchmark",), Text("{} must be a protocol's name, or a mapping with `type`", where))
        keys = {"type": DEFAULT_PROTOCOL}
    return Layer(keys, (where,))


def notes_on_readings(judges: Mapping[str, ModelSection], readings: int) -> list[str]:
    """A line for each judge whose several readings would all say the same, and for orders that never change."""
    notes: list[str] = []
    for name, judge in judges.items():
        asked = judge.protocol.parameters if judge.protocol else {}
        orders, greedy = asked.get("orders"), judge.parameters.get("temperature") == 0
        drawn = (judge.parameters.get("call") or {}).get("do_sample")
        certain = asked.get("answer") == "probabilities"  # nothing is drawn there
        if readings > 1 and not orders and (certain or (greedy and not drawn)):
            why = Text("probabilities are not sampled") if certain else "temperature: 0"
            remedy = (
                Text("leave readings out") if certain else Text("set its temperature above 0, or leave readings out")
            )
            others = Text("write `protocol: {{orders: [criteria]}}`, ") if "orders" in asked else ""
            notes.append(
                Text(
                    "{}: `readings: {}` are {} equal answers ({}); {}{}", name, readings, readings, why, others, remedy
                )
            )
        elif readings == 1 and orders:
            notes.append(
                Text("{}: `protocol.orders` has no effect on a single reading; set `evaluation.readings`", name)
            )
    return notes


def declared(cls: type[Any] | None) -> tuple[str, ...]:
    """The names of a class's parameters; none where its `Parameters` are wrong, which `check_parameters` says."""
    try:
        return names_of(cls) if cls is not None else ()
    except TypeError:
        return ()


@dataclass
class Protocols:
    """Gives each judge its protocol, with all parameters."""

    faults: Faults
    """Where what is wrong is noted."""
    find: Callable[[Place, Mapping[str, Any]], Found]
    """Looks up the class that the keys of a place name."""
    default: Layer
    """The benchmark's protocol."""
    common: Layer
    """The configuration's `protocol:`."""
    filled_in: Mapping[str, Any]
    """What a class is given that declares it."""
    used: set[str] = field(default_factory=set)
    """Of `filled_in` and `protocol`, what some judge's protocol took."""

    def of(self, judges: Mapping[str, JudgeDraft]) -> dict[str, ModelSection]:
        """The judges with what they are asked."""
        found = {name: self._with_protocol(judge, judges) for name, judge in judges.items()}
        if all(model.protocol for model in found.values()):
            self._refuse_unused(found)
        return found

    def _refuse_unused(self, judges: Mapping[str, ModelSection]) -> None:
        types = {p.type or p.class_path: None for p in (model.protocol for model in judges.values()) if p}
        if self.filled_in.get("prompts") and "prompts" not in self.used:
            self.faults.add(("prompts",), Text("no judge uses it (protocols: {}); leave it out", types))
        changed = {key for key, value in self.common.keys.items() if value is not None} - {"retries"}
        if changed and "protocol" not in self.used:
            self.faults.add(self.common.place, Text("no judge follows it (protocols: {}); leave it out", types))

    def _with_protocol(self, judge: JudgeDraft, judges: Mapping[str, JudgeDraft]) -> ModelSection:
        """`protocol:` concerns the judges that are asked; those that measure, if it is theirs or all of them do."""
        if judge.measures:
            numbers = Layer({"type": MEASURING_PROTOCOL}, judge.own.place)
            default = self.default if self._is_for_measuring(self.default) else numbers
            concerned = all(one.measures for one in judges.values()) or self._is_for_measuring(self.common)
        else:
            default, concerned = self.default, True
        layers: list[Layer] = []
        named = default.named
        for layer in (default, *([self.common] if concerned else []), judge.own):
            if layer.named not in (None, named):
                layers, named = [], layer.named
            layers.append(layer)
        if self.common in layers:
            self.used.add("protocol")
        protocol = self._protocol(judge, layers)
        return judge.section.model_copy(update={"protocol": protocol})

    def _is_for_measuring(self, layer: Layer) -> bool:
        return layer.named is not None and "measures" in declared(self.find(layer.place, layer.keys)[2])

    def _protocol(self, judge: JudgeDraft, layers: list[Layer]) -> ProtocolSection | None:
        """The protocol of the judge, each key as the last of the layers has it."""
        place = judge.own.place if judge.own.keys else self.common.place
        written = [(key, value, layer.place) for layer in layers for key, value in layer.keys.items()]
        below = [(layer.keys.get("retries"), layer.place) for layer in (self.default, self.common)]
        written = [*(("retries", *one) for one in below), *written]  # it has a meaning under any protocol
        chosen = {key: (value, where) for key, value, where in written if not (value is None and key in PROTOCOL_KEYS)}
        for key, (_, where) in chosen.items():
            if where != place:
                self.faults.origins.setdefault((*place, key), self.faults.name((*where, key)))
        keys = {key: value for key, (value, _) in chosen.items()}
        type_name, class_path, cls = self.find(place, keys)
        which = (*place, "class_path" if "class_path" in keys else "type")
        if cls is None or (judge.measures and self.faults.within((*judge.place, "params"))):
            return None
        own = {key: value for key, value in keys.items() if key not in PROTOCOL_KEYS}
        named = type_name or class_path
        own |= self._given(judge, cls, own, which, named)
        own = check_parameters(cls, own, place, self.faults, PROTOCOL_KEYS, named)
        retries = {key: keys[key] for key in ("retries",) if key in keys}
        return ProtocolSection.model_construct(type=type_name, class_path=class_path, parameters=own, **retries)

    def _given(
        self, judge: JudgeDraft, cls: type[Any], own: Mapping[str, Any], which: Place, named: str
    ) -> dict[str, Any]:
        """What the class is given beside its `own` parameters; `which` is the place of its name."""
        names, add, called = declared(cls), self.faults.add, judge.section.type or judge.section.class_path
        given = {key: value for key, value in self.filled_in.items() if key in names and key not in own and value}
        self.used |= given.keys()
        if "measures" in own:
            add((*which[:-1], "measures"), Text("is what the judge's class says; leave it out"))
        if "images" in own and names and "images" not in names:
            add((*which[:-1], "images"), Text("`{}` itself decides what a judge is shown; leave it out", named))
        if judge.measures and "measures" not in names:
            add(
                which, Text("`{}` measures and is not asked anything; its protocol is `{}`", called, MEASURING_PROTOCOL)
            )
        elif judge.measures:
            given["measures"] = self._measures(judge)
        elif "measures" in names and judge.judge_class is None:
            add(which, Text("`{}` cannot be imported here, so what it measures is unknown", called))
        elif "measures" in names:
            add(
                which, Text("`{}` is for judges that measure, but `{}` is asked questions; name another", named, called)
            )
        return given

    @staying_here()
    def _measures(self, judge: JudgeDraft) -> dict[str, Any]:
        cls: Any = judge.judge_class
        try:
            return {
                name: dict(what) for name, what in cls.measures(make_parameters(cls, judge.section.parameters)).items()
            }
        except Exception as error:  # a class of the user's own
            text = Text("{}.measures: {}: {}", cls.__name__, type(error).__name__, error)
            self.faults.add((*judge.place, "params"), text)
            return {}
