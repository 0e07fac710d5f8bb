"""Maps names to classes, for entry points of packages, ours among them, and for dotted paths; the only such place.

A component with a name is an entry point `KIND.NAME` in the group `edit_eval.components`. Nothing is imported before it
is used; what a class says of itself is read from its source.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from edit_eval.config.faults import did_you_mean, nearest_path
from edit_eval.config.kinds import KINDS, Kind
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.text import Text
from edit_eval.workers.failures import one_line

if TYPE_CHECKING:
    from edit_eval.config.parameters import Parameter

_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]

GROUP = "edit_eval.components"
HOUSE = "edit-eval"
"""Our own distribution; its entry points count as built in."""


class NotHere(ConfigurationError):
    """A class that this interpreter cannot import; its own environment's may be able to."""


class NotNamed(NotHere):
    """A class that is not registered, and that the user has not named: a record names it alone."""


_NAMED: set[tuple[str, str]] = set()
"""Class paths that the user has named, each with the folder in which it is searched first."""
_CODE: dict[Path, None] = {}
"""Folders that the user has named (`--code`): classes that records name are looked for there, and nowhere else."""


@dataclass(frozen=True)
class Component:
    """One registered component, as `edit-eval list` shows it."""

    name: str
    class_path: str
    origin: str
    """`built in`, or the package that registers it."""
    summary: str
    """First line of the class's docstring; empty if its source is not found."""
    about: Mapping[str, str] = field(default_factory=dict)
    """A class's `about`, plain texts: on a benchmark's data `source`, `licence`, ...; of what is typed, its `group`."""
    certificate: Mapping[str, Any] = field(default_factory=dict)
    """What a protocol's class calls with as its `certificate` (`protocols.certificates`)."""
    problem: str = ""
    """Why its name cannot be used here, as far as can be told without importing it."""


class Registered(NamedTuple):
    """A name registered for a class."""

    kind: Kind
    name: str
    class_path: str
    package: str
    """`my-benchmark 1.0`; empty for edit-eval's own."""


@dataclass(frozen=True)
class Description:
    """One component, as `edit-eval describe` shows it."""

    kind: Kind
    name: str
    class_path: str
    summary: str
    parameters: tuple[Parameter, ...]
    placement_keys: tuple[str, ...]
    """Other keys allowed in `params`, which are never part of a result's key."""
    problem: str = ""
    """Why the class cannot be imported here; then its parameters are not known."""
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For a protocol, the scale of each score (`edit_eval.records.Scale`); empty if that depends on its parameters."""
    headline: str = ""
    presets: Sequence[Mapping[str, str]] = ()
    """For an edit model, the models it knows by name, and facts on each."""
    about: Mapping[str, str] = field(default_factory=dict)
    """As in `Component`; for a benchmark, or a key with judges below it, also its protocol."""
    certificate: Mapping[str, Any] = field(default_factory=dict)
    """As in `Component`."""
    origin: str = ""
    """As in `Component`; empty for a class path."""


def list_registrations() -> tuple[Registered, ...]:
    """Returns all names, edit-eval's own first. A name may appear twice; `locate` refuses it."""
    return _read_entry_points(_find_package_folders()).registered


def names(kind: Kind) -> list[str]:
    """Returns all names of a kind."""
    return [registration.name for registration in list_registrations() if registration.kind == kind]


def list_entry_point_faults() -> tuple[str, ...]:
    """Returns an error for each entry point of our group whose name lacks a kind, or that does not name a class."""
    return _read_entry_points(_find_package_folders()).faults


def _find_package_folders() -> tuple[tuple[str, int], ...]:
    """Returns the folders on Python's path that have installed packages, and when each last changed."""
    places = ((path if os.path.isabs(path) else os.path.abspath(path), _read_mtime(path)) for path in sys.path)
    return tuple(place for place in dict.fromkeys(places) if _has_packages(*place))


def _read_mtime(path: str) -> int:
    try:
        return os.stat(path or ".").st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=1024)
def _has_packages(path: str, changed: int) -> bool:
    """True if a folder may have packages; checking this is a hundred times faster than reading their metadata."""
    try:
        return not os.path.isdir(path) or any(name.endswith((".dist-info", ".egg-info")) for name in os.listdir(path))
    except OSError:
        return True


@dataclass(frozen=True)
class EntryPoints:
    """What the installed packages register."""

    registered: tuple[Registered, ...]
    """Names, edit-eval's own first."""
    faults: tuple[str, ...] = ()
    """An error for each entry point of our group that registers nothing."""

    @cached_property
    def packages(self) -> dict[tuple[Kind, str], dict[str, str]]:
        """By kind and name, who registers it for which class path."""
        packages: dict[tuple[Kind, str], dict[str, str]] = {}
        for kind, name, class_path, package in self.registered:
            packages.setdefault((kind, name), {})[class_path] = package or HOUSE
        return packages

    def locate(self, kind: Kind, name: str) -> str | None:
        """As the function of that name."""
        package_by_path = self.packages.get((kind, name), {})
        if len(package_by_path) > 1:
            raise ConfigurationError(
                Text(
                    "`{}` is {} of {: and }; uninstall one package, or in place of the name "
                    "give one of the class paths {}",
                    name,
                    KINDS[kind].word,
                    package_by_path.values(),
                    package_by_path,
                )
            )
        return next(iter(package_by_path), None)


@lru_cache(maxsize=1)
def _read_entry_points(path: object) -> EntryPoints:
    """Returns the entry points of the packages on Python's `path`."""
    valid, wrong = [], []
    said_of: dict[object, tuple[str, str]] = {}  # reading a package's metadata takes milliseconds
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.dist not in said_of:
            about = None if point.dist is None else point.dist.metadata
            said_of[point.dist] = ("", "") if about is None else (about["Name"], about["Version"])
        own_name, version = said_of[point.dist]
        package = f"{own_name} {version}" if point.dist else Text("an installed package")
        said, _, name = point.name.partition(".")
        kind = next((kind for kind in KINDS if kind == said), None)
        if kind is None or not name:
            right = [f"{kind}.{point.name}" for kind in KINDS]
            wrong.append(Text("{}: the entry point `{}` must be called {: or }", package, point.name, right))
        elif not point.attr:
            text = Text("{}: the entry point `{}` must name a class: `{}:ClassName`", package, point.name, point.module)
            wrong.append(text)
        else:
            valid.append(Registered(kind, name, f"{point.module}:{point.attr}", "" if own_name == HOUSE else package))
    own_first = sorted(valid, key=lambda registration: (registration.package != "", registration))
    return EntryPoints(tuple(own_first), tuple(wrong))


def list_components(kind: Kind, asked: Collection[str] | None = None) -> list[Component]:
    """Returns all registered components of a kind, or those of these names, built-in ones first. Imports none."""
    entries = []
    points = _read_entry_points(_find_package_folders())
    for registration in points.registered:
        if registration.kind != kind or (asked is not None and registration.name not in asked):
            continue
        said = _read_class_facts(registration.class_path)
        problem = said.problem
        try:
            points.locate(kind, registration.name)
        except ConfigurationError as error:
            problem = str(error)
        origin = registration.package or Text("built in")
        of = (said.summary, said.about, said.certificate, problem if registration.package else "")
        entries.append(Component(registration.name, registration.class_path, origin, *of))
    return entries


def locate(kind: Kind, name: str) -> str | None:
    """Returns the class path of a registered name, or None. Raises `ConfigurationError` for an ambiguous name."""
    return _read_entry_points(_find_package_folders()).locate(kind, name)


def resolve_class_path(kind: Kind, name: str, recorded: str) -> str:
    """Returns the class path of a component that a run has recorded: by its registered name, as modules move."""
    return (name and locate(kind, name)) or recorded


def is_registered(kind: Kind, class_path: str) -> bool:
    """True if some name of that kind is registered for the class."""
    return any((each.kind, each.class_path) == (kind, class_path) for each in list_registrations())


def name_class(kind: Kind, class_path: str, folder: Path | None = None) -> type[Any]:
    """Imports a class that the user names, by a configuration or a flag. Raises as `import_class` does."""
    _NAMED.add((class_path, _place(folder)))
    return import_class(kind, class_path, folder)


def name_code(folders: Sequence[str | Path]) -> None:
    """Takes folders of the user's own code, in which classes that runs name are found (`--code`).

    Raises `ConfigurationError` for what is no folder, and for one that is within a run.
    """
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise ConfigurationError(Text("--code {}: no such folder{}", folder, nearest_path(folder)))
        if run := next((each for each in (folder.resolve(), *folder.resolve().parents) if _is_run(each)), None):
            raise ConfigurationError(Text("--code {}: is within the run {}; name a folder of your own", folder, run))
        _CODE[folder.resolve()] = None


def get_named_code() -> tuple[list[tuple[str, str]], list[str]]:
    """Returns what the user has named so far, for another process: class paths with their folders, folders of code."""
    return sorted(_NAMED), [*map(str, _CODE)]


def set_named_code(named: Sequence[tuple[str, str]], folders: Sequence[str]) -> None:
    """Takes what `get_named_code` of another process of ours returned."""
    _NAMED.update((path, folder) for path, folder in named)
    _CODE.update(dict.fromkeys(map(Path, folders)))


def _place(folder: Path | None) -> str:
    return os.path.abspath(folder) if folder else ""


def _is_run(folder: Path) -> bool:
    return (folder / "config").is_dir() and any((folder / "config").glob("[0-9]*.json"))


def _locate_allowed(kind: Kind, class_path: str, folder: Path | None) -> tuple[str, Path | None]:
    """Returns where a class may be imported from: its class path and folder. Raises `NotNamed` for any other class.

    Whatever runs, passports and other files of strangers name passes here: a name that is registered is found among
    installed packages, never in a folder beside them; a class of the user's own where the user has said.
    """
    if (class_path, _place(folder)) in _NAMED:
        return class_path, folder
    if is_registered(kind, class_path):
        return class_path, None
    module, _, name = class_path.rpartition(":")
    for code in _CODE:
        parts = (
            [Path(module).name] if module.endswith(".py") else [*module.split(".")[:-1], f"{module.split('.')[-1]}.py"]
        )
        for file in (code.joinpath(*parts), code.joinpath(*parts).with_suffix("") / "__init__.py"):
            between = file.parents[: len(file.parents) - len(code.parents) - 1]
            plain = file.is_file() and file.resolve().is_relative_to(code)
            if plain and all((each / "__init__.py").is_file() and not _is_run(each) for each in between):
                return (f"{file}:{name}" if module.endswith(".py") else class_path), code
    raise NotNamed(
        Text(
            "`{}` is a class of the user's own, and what a run names is not imported; "
            "`--code FOLDER` names the folder that has it",
            class_path,
        )
    )


def import_registered(kind: Kind, name: str) -> Any:
    """Returns the class of a registered name. Raises `ConfigurationError` as `import_class` does."""
    path = locate(kind, name)
    if path is None:
        raise ConfigurationError(unknown_type(kind, name))
    return import_class(kind, path)


def find_single_class(kind: Kind) -> str | None:
    """Returns the class path of a kind of which one at most is asked, a package's in place of ours; None without."""
    registrations = [each for each in list_registrations() if each.kind == kind]
    first = min(registrations, key=lambda each: (not each.package, each), default=None)
    return first.class_path if first else None


def package_of(kind: Kind, class_path: str) -> str:
    """Returns the package that registers a class (`my-benchmark 1.0`); empty for edit-eval's own, or if none does."""
    if class_path.startswith("edit_eval."):
        return ""
    packages = [each.package for each in list_registrations() if (each.kind, each.class_path) == (kind, class_path)]
    return packages[0] if packages else ""


def identify_class(kind: Kind, name: str) -> tuple[str, str]:
    """Returns the class path of a registered name, and what identifies the class: that, and the package it comes from.

    Raises `ConfigurationError` as `named` does.
    """
    import_registered(kind, name)
    path = locate(kind, name) or ""
    return path, f"{path} {package_of(kind, path)}".rstrip()


def format_class_name(kind: Kind, class_path: str) -> str:
    """Returns a class's name for messages, with the package it comes from."""
    package = package_of(kind, class_path)
    return Text("`{}` of {}", class_path, package) if package else Text("`{}`", class_path)


def explain_misnamed(kind: Kind, name: str) -> str:
    """Returns `; ` and the error of an installed package's entry point that was to be this name; else nothing."""
    called = {f"`{name}`", f"`{kind}.{name}`", f".{name}`"}
    wrong = next((line for line in list_entry_point_faults() if any(spelling in line for spelling in called)), "")
    return Text("; {}", wrong) if wrong else ""


def unknown_type(kind: Kind, name: str) -> str:
    """Returns the error for a name that is not registered."""
    if not locate("protocol", "rubric"):
        return Text(
            "`{}`: the installed edit-eval is older than its source; install it again (`pip install -e .`)", name
        )
    for other in KINDS:
        if other != kind and locate(other, name):
            return Text("`{}` is {}, not {}", name, KINDS[other].word, KINDS[kind].word)
    if "." in name or ":" in name:
        return Text("`{}` is not registered; a class path goes under `class_path`", name)
    meant = did_you_mean(name, names(kind))
    if wrong := explain_misnamed(kind, name):
        return Text("`{}` is not {}{}", name, KINDS[kind].word, wrong)
    return Text("`{}` is not {}{} `edit-eval list` shows all", name, KINDS[kind].word, meant or Text(";"))


def normalise_class_path(written: str, folder: Path | None = None) -> str:
    """Returns `pkg.module:Class` for `pkg.module.Class`; an absolute `/folder/file.py:Class` for a file.

    A file's path counts from `folder`, and from the current directory if there is no such file. Raises
    `ConfigurationError`.
    """
    module, colon, name = written.strip().rpartition(":")
    if not colon:
        module, _, name = written.strip().rpartition(".")
    if not module or not all(part.isidentifier() for part in name.split(".")):
        raise ConfigurationError(Text("`{}` is not a class path; write package.module:Class or file.py:Class", written))
    if module.endswith(".py"):
        file = Path(os.path.expanduser(module))
        places = [Path(os.path.relpath((folder or Path()) / file)), file]
        place = next((place for place in places if os.path.isfile(place)), None)
        if place is None:
            raise ConfigurationError(
                Text("no such file: {}{}", module, next(filter(None, map(nearest_path, places)), ""))
            )
        return f"{place.resolve()}:{name}"
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigurationError(Text("`{}` is not a class path; write package.module:Class or file.py:Class", written))
    return f"{module}:{name}"


@contextlib.contextmanager
def preserve_cwd() -> Iterator[None]:
    """Restores the current directory in case the user's code changes it: all paths are relative to it."""
    here = os.open(".", os.O_RDONLY)
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


@contextlib.contextmanager
def _forbid_exit() -> Iterator[None]:
    """Makes `os._exit` an exception: a module that ends its process would end ours, with 0 and without a word."""
    ends, here = os._exit, os.getpid()

    def refuses(status: int) -> NoReturn:
        if os.getpid() != here:  # a process that the module has forked may end
            ends(status)
        raise SystemExit(f"it ends the process (os._exit({status}))")

    os._exit = refuses
    try:
        yield
    finally:
        os._exit = ends


@preserve_cwd()
@_forbid_exit()
def import_class(kind: Kind, class_path: str, folder: Path | None = None) -> type[Any]:
    """Imports a normalised class path as a worker does, and checks that it has the methods of its kind.

    `folder` is searched first, except for edit-eval's own classes. A class that is neither registered nor named by the
    user (`name_class`, `name_code`) is never imported: `NotNamed`. Raises `ConfigurationError`.
    """
    from edit_eval.workers.model_class import find_class  # the worker's function, so that both find the same class

    class_path, folder = _locate_allowed(kind, class_path, folder)
    module, _, name = class_path.rpartition(":")
    folder = None if module.startswith("edit_eval.") else folder
    called = format_class_name(kind, class_path)
    _forget_namesake(module, folder)
    try:
        cls = find_class(class_path, [str(folder)] if folder else [])
    except (Exception, SystemExit) as error:  # a user's module may do anything on import
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if isinstance(error, AttributeError) and last is not None and last.tb_frame.f_code is find_class.__code__:
            classes = [n for n, value in vars(error.obj).items() if isinstance(value, type)]
            if folder and module in sys.stdlib_module_names and (folder / f"{module}.py").is_file():
                raise ConfigurationError(
                    Text(
                        "`{}` is a module of Python itself; rename {}.py, or write `{}.py:{}`",
                        module,
                        module,
                        module,
                        name,
                    )
                ) from None
            raise ConfigurationError(
                Text("{}: `{}` has no class `{}`{}", called, module, name, did_you_mean(name, classes))
                if package_of(kind, class_path)
                else Text("`{}` has no class `{}`{}", module, name, did_you_mean(name, classes))
            ) from None
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            beside = [p.stem for p in folder.iterdir() if p.suffix in ("", ".py")] if folder else []
            meant = did_you_mean(module, beside)
            where = Text("beside the configuration or on Python's path") if folder else Text("on Python's path")
            text = Text("there is no module `{}` {}{}", module, where, meant)
            raise NotHere(Text("{}: {}", called, text) if package_of(kind, class_path) else text) from None
        remedy = ""
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            remedy = Text("; `{} -m pip install {}` installs it, if the package has that name", sys.executable, package)
            if kind in ("edit_model", "judge"):
                remedy += Text("; or name an environment that has it with `python`, `conda_env` or `uv` in `params`")
        raise NotHere(Text("{} cannot be imported here: {}{}", called, one_line(error), remedy)) from error
    if not isinstance(cls, type):
        raise ConfigurationError(Text("{} is not a class", called))
    missing = [method for method in KINDS[kind].methods if not callable(getattr(cls, method, None))]
    if missing:
        raise ConfigurationError(Text("{} is not {}: it has no method `{}`", called, KINDS[kind].word, missing[0]))
    return cls


def own_source(class_path: str, folder: Path) -> Path | None:
    """Finds the source file of a user's own class without importing anything; None for installed packages.

    The user's own classes are `file.py:Class`, and modules in `folder` or on Python's path outside `site-packages`.
    """
    module = class_path.rpartition(":")[0]
    if module.endswith(".py"):
        return Path(module)
    if module.partition(".")[0] == "edit_eval":
        return None
    file = _source(module, folder)
    if file is None or file.suffix != ".py":
        return None
    inside = file.relative_to(folder) if file.is_relative_to(folder) else file
    foreign = {"site-packages", "dist-packages"} & set(inside.parts) or inside.is_relative_to(_STANDARD_LIBRARY)
    return None if foreign else file


def describe(name: str, folder: Path | None = None) -> list[Description]:
    """Returns what `edit-eval describe` prints: a name under each kind it is registered as, or a class path.

    A class path is searched first in `folder`, by default the current directory. Raises `ConfigurationError` for an
    unknown name. A registered class that cannot be imported here has a `problem` instead of parameters.
    """
    from edit_eval.config.parameters import describe_parameters  # pydantic, for which `--help` does not wait

    registered_as = {kind: path for kind in KINDS if (path := locate(kind, name))}
    if not registered_as and "." not in name and ":" not in name:
        meant = did_you_mean(name, [registration.name for registration in list_registrations()])
        raise ConfigurationError(
            Text("`{}` is no name of a component{} `edit-eval list` shows all", name, meant or Text(";"))
        )
    descriptions, failures = [], []
    for kind, path in (registered_as or dict.fromkeys(KINDS, "")).items():
        beside, path = list_extra_keys(kind), path or normalise_class_path(name, folder)
        origin = package_of(kind, path) or Text("built in") if registered_as else ""
        try:
            cls = import_class(kind, path) if registered_as else name_class(kind, path, folder or Path.cwd())
            parameters = describe_parameters(cls)
        except NotHere as error:
            if not registered_as:
                raise
            said, problem = _read_class_facts(path), str(error)
            seen = Description(kind, name, path, said.summary, (), beside, problem)
            descriptions.append(replace(seen, about=said.about, certificate=said.certificate, origin=origin))
        except (ConfigurationError, TypeError) as error:
            failures.append(str(error))
        else:
            scores, headline = _scores(cls) if kind == "protocol" else ({}, "")
            summary = _first_line(cls.__doc__)
            presets = cls.presets() if hasattr(cls, "presets") else ()
            about = _plain_texts(getattr(cls, "about", None)) if kind == "benchmark" else {}
            about |= {"protocol": _protocol(cls)} if kind == "benchmark" else {}
            about |= {"protocol": cls.protocol} if kind == "columns" and cls.protocol else {}
            more = (scores, headline, presets, about, _read_class_facts(path).certificate, origin)
            descriptions.append(Description(kind, name, path, summary, parameters, beside, "", *more))
            if not registered_as:
                break
    if not descriptions:
        raise ConfigurationError(failures[0])
    return descriptions


def _scores(cls: type[Any]) -> tuple[dict[str, JsonObject], str]:
    """Returns the scales of a protocol's scores and its headline, if the class has them without parameters."""
    scores, headline = getattr(cls, "scores", None), getattr(cls, "headline", "")
    try:
        scales = {name: asdict(score.scale) for name, score in scores.items()} if isinstance(scores, Mapping) else {}
    except (AttributeError, TypeError):  # a user's own class
        scales = {}
    return scales, headline if isinstance(headline, str) and scales else ""


def list_extra_keys(kind: Kind) -> tuple[str, ...]:
    """Returns the keys allowed beside a model's own parameters in `params` that never reach its class."""
    if kind not in ("edit_model", "judge"):
        return ()
    from edit_eval.config.placement import PLACEMENT_KEYS, PLACEMENT_KEYS_BEFORE, SAMPLE_KEYS

    hidden = (*PLACEMENT_KEYS_BEFORE, *(("batch_size",) if kind == "edit_model" else ()))
    return (*SAMPLE_KEYS[kind], *(key for key in PLACEMENT_KEYS if key not in hidden))


def _forget_namesake(module: str, folder: Path | None) -> None:
    """Drops a module of that name imported from another folder: two files may each have their own `my_model.py`."""
    top = module.partition(".")[0]
    loaded = sys.modules.get(top)
    if folder is None or loaded is None or module.endswith(".py") or top in sys.stdlib_module_names:
        return
    spec = importlib.machinery.PathFinder.find_spec(top, [str(folder)])
    if spec is not None and spec.origin and spec.origin != getattr(loaded, "__file__", None):
        for name in [n for n in sys.modules if n == top or n.startswith(top + ".")]:
            del sys.modules[name]


@dataclass(frozen=True)
class _ClassFacts:
    """What a class says of itself in its source."""

    summary: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    """Why it says nothing."""


def _read_class_facts(class_path: str) -> _ClassFacts:
    """Returns what a class says of itself; imports nothing."""
    module, _, name = class_path.rpartition(":")
    source = _source(module)
    if source is None:
        return _ClassFacts(problem=Text("there is no module `{}` {}{}", module, Text("on Python's path"), ""))
    if source.suffix != ".py":
        return _ClassFacts()
    return _read_file_facts(source, name, _read_mtime(str(source)))


@lru_cache(maxsize=1024)
def _read_file_facts(source: Path, name: str, changed: int) -> _ClassFacts:
    """As `_said`, of a class in this file; every verb asks, and to parse a file takes milliseconds."""
    try:
        body = _body(source.read_bytes(), name)
    except (OSError, SyntaxError, ValueError) as error:
        return _ClassFacts(problem=Text("{} cannot be read: {}", source, one_line(error)))
    definition: ast.ClassDef | None = None
    for part in name.split("."):
        definition = next((s for s in body if isinstance(s, ast.ClassDef) and s.name == part), None)
        if definition is None:  # it may be imported from another module
            return _ClassFacts()
        body = definition.body
    summary, values = _first_line(ast.get_docstring(definition)) if definition else "", dict[str, object]()
    for statement in body:
        match statement:
            case (
                ast.AnnAssign(target=ast.Name(id="about" | "certificate" as name), value=value)
                | ast.Assign(targets=[ast.Name(id="about" | "certificate" as name)], value=value)
            ) if value is not None:
                with contextlib.suppress(ValueError):
                    values[name] = _literal(value)
    certificate = values.get("certificate")
    return _ClassFacts(summary, _plain_texts(values.get("about")), certificate if isinstance(certificate, dict) else {})


def _body(source: bytes, name: str) -> list[ast.stmt]:
    """Returns the statements of a file, or of the class alone: up to the next line that begins at its left edge."""
    starts = list(re.compile(rb"^class %s\b" % re.escape(name.encode()), re.MULTILINE).finditer(source))
    if len(starts) == 1:  # of two, one may be in a text
        (start,) = starts
        end = re.compile(rb"^[^\s#)\]}]", re.MULTILINE).search(source, start.end())
        with contextlib.suppress(SyntaxError, ValueError):  # a text in it may begin there, too
            return ast.parse(source[start.start() : end.start() if end else None]).body
    return ast.parse(source).body


def _literal(value: ast.expr) -> Any:
    """Returns the value of literals, and of a call of a class its keywords. Raises `ValueError` for anything else."""
    match value:
        case ast.Call(func=ast.Name(id="Text"), args=[ast.Constant(value=str(words))], keywords=[]):
            return Text(words)
        case ast.Call(args=[], keywords=keywords):
            return {str(keyword.arg): _literal(keyword.value) for keyword in keywords}
    return ast.literal_eval(value)


def _protocol(cls: type[Any]) -> str:
    said = getattr(cls, "protocol", "rubric")
    return str(said.get("type") or said.get("class_path")) if isinstance(said, Mapping) else str(said)


def _plain_texts(value: object) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, Mapping) else {}


def _source(module: str, folder: Path | None = None) -> Path | None:
    """Finds the file of a module, in `folder` first, without importing its packages."""
    if module.endswith(".py"):
        return Path(module)
    top, *rest = module.split(".")
    ours = top in sys.stdlib_module_names  # Python's own modules come first
    spec = importlib.machinery.PathFinder.find_spec(top, [str(folder)]) if folder and not ours else None
    try:
        spec = spec or importlib.util.find_spec(top)  # for a top-level name, this imports nothing
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin else None
    bodies = [Path(folder, *rest) for folder in spec.submodule_search_locations or ()]
    files = (file for body in bodies for file in (body.with_suffix(".py"), body / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _first_line(doc: str | None) -> str:
    return next((line.strip() for line in (doc or "").splitlines() if line.strip()), "")
