"""The embedded benchmark: what its samples are, and how its sources lie in the cache."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.errors import ConfigurationError, ModelError
from edit_eval.pictures import open_picture
from edit_eval.plugins.scenes.in_worker.benchmark import Scenes
from edit_eval.plugins.scenes.in_worker.language import language_of
from edit_eval.plugins.scenes.in_worker.scene import Scene, scene_of
from edit_eval.records import Sample
from own_components import adapter_of

SMALL = 128


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scenes")


@pytest.fixture(scope="module")
def samples(folder: Path) -> list[Sample]:
    return list(Scenes(Scenes.Parameters(size=SMALL, cache_dir=str(folder))).samples())


@pytest.mark.check
def test_fifty_samples_balanced_over_the_categories(samples: list[Sample]) -> None:
    assert Counter(sample.category for sample in samples) == dict.fromkeys(CATEGORIES, 10)
    assert [sample.index for sample in samples] == list(range(50))
    assert len({sample.id for sample in samples}) == 50
    assert samples[12].id == "scene-012-social"
    for category in CATEGORIES:
        difficulties = {sample.difficulty for sample in samples if sample.category == category}
        assert difficulties == {"easy", "medium", "hard"}, category


def test_every_sample_is_whole(samples: list[Sample]) -> None:
    for sample in samples:
        data = Path(sample.source).read_bytes()
        assert hashlib.sha256(data).hexdigest() == sample.source_digest
        picture = open_picture(sample.source)
        assert picture.size == (SMALL, SMALL * 3 // 4)
        assert len(scene_of(picture, "the test").things) >= 3
        assert sample.tags
        assert sample.description
        assert sample.rationale
        assert not sample.fault
        assert set(sample.instructions) == {"en", "zh"}
        assert [language_of(sample.instructions[language]) for language in ("en", "zh")] == ["en", "zh"]


def test_no_two_samples_are_the_same(samples: list[Sample]) -> None:
    assert len({sample.source_digest for sample in samples}) == 50
    assert len({(sample.instruction, sample.description) for sample in samples}) == 50


def test_the_language_changes_words_and_nothing_else(samples: list[Sample], folder: Path) -> None:
    chinese = list(Scenes(Scenes.Parameters(size=SMALL, language="zh", cache_dir=str(folder))).samples())
    for english, other in zip(samples, chinese, strict=True):
        assert (english.id, english.source_digest, english.instructions) == (
            other.id,
            other.source_digest,
            other.instructions,
        )
        assert other.language == "zh"
        assert other.instruction == english.instructions["zh"]
        assert language_of(other.description) == language_of(other.rationale) == "zh"
        assert language_of(english.description) == language_of(english.rationale) == "en"


def test_the_files_are_the_same_bytes_wherever_they_are_drawn(samples: list[Sample], tmp_path: Path) -> None:
    """In another process, so that nothing can come from what this one remembers."""
    script = (
        "import sys; from edit_eval.plugins.scenes.in_worker.benchmark import Scenes;"
        "p = Scenes.Parameters(size=int(sys.argv[1]), count=10, cache_dir=sys.argv[2]);"
        "print(*[s.source_digest for s in Scenes(p).samples()])"
    )
    command = [sys.executable, "-c", script, str(SMALL), str(tmp_path)]
    digests = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert digests == [sample.source_digest for sample in samples[:10]]


def test_fewer_samples_are_the_first_ones(samples: list[Sample], folder: Path) -> None:
    few = list(Scenes(Scenes.Parameters(size=SMALL, count=7, cache_dir=str(folder))).samples())
    assert few == samples[:7]


@pytest.mark.check
def test_after_all_scenarios_come_other_scenes(tmp_path: Path) -> None:
    parameters = Scenes.Parameters(size=SMALL, count=51, cache_dir=str(tmp_path))
    planned = list(Scenes(parameters).samples())
    assert planned[50].id == "scene-050-physical"
    assert planned[50].tags == planned[0].tags
    assert planned[50].source_digest != planned[0].source_digest


def test_another_seed_is_another_set_in_another_folder(samples: list[Sample], folder: Path) -> None:
    benchmark = Scenes(Scenes.Parameters(size=SMALL, count=3, seed=1, cache_dir=str(folder)))
    others = list(benchmark.samples())
    assert not {sample.source_digest for sample in others} & {sample.source_digest for sample in samples}
    assert str(benchmark.directory) not in samples[0].source


def test_what_is_there_is_reused_and_what_is_damaged_is_drawn_again(tmp_path: Path) -> None:
    benchmark = Scenes(Scenes.Parameters(size=SMALL, count=4, cache_dir=str(tmp_path)))
    first = list(benchmark.samples())
    paths = [Path(sample.source) for sample in first]
    before = [path.stat().st_ino for path in paths]
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: len(whole) // 2])
    paths[2].write_bytes(paths[3].read_bytes())
    assert list(benchmark.samples()) == first
    after = [path.stat().st_ino for path in paths]
    assert after[0] == before[0]
    assert after[3] == before[3]
    assert paths[1].read_bytes() == whole
    assert sorted(path.name for path in benchmark.directory.iterdir()) == sorted(path.name for path in paths)


def test_the_users_cache_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Scenes(Scenes.Parameters()).directory.parent == tmp_path / "edit-eval" / "scenes"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Scenes(Scenes.Parameters()).directory.parent == tmp_path / ".cache" / "edit-eval" / "scenes"


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    benchmark = Scenes(Scenes.Parameters(size=SMALL, count=1, cache_dir=str(tmp_path / "file")))
    with pytest.raises(ConfigurationError, match=r"cache_dir") as caught:
        list(benchmark.samples())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"language": "fr"}, {"count": 0}, {"size": 100}, {"size": 100_000}, {"seeed": 1}, {"count": "many"}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        adapter_of(Scenes).validate_python(wrong)


def test_a_scene_survives_its_journey_through_text(samples: list[Sample]) -> None:
    for sample in samples:
        scene = scene_of(open_picture(sample.source), "the test")
        assert Scene.from_json(scene.to_json()) == scene
        assert scene.to_json().isascii()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"width":512}',
        Scene(512, 384, 1, "meadow").to_json().replace("meadow", "moon"),
        Scene(512, 384, 1, "meadow").to_json().replace("clear", "clear?"),
        Scene(10**6, 10**6, 1, "meadow").to_json(),
    ],
)
def test_what_is_no_scene_is_refused_in_one_line(text: str) -> None:
    from PIL import Image

    picture = Image.new("RGB", (8, 8))
    picture.info["scene"] = text
    with pytest.raises(ModelError, match="somebody") as caught:
        scene_of(picture, "somebody")
    assert "\n" not in str(caught.value)


def test_editor_and_judge_need_only_pillow() -> None:
    script = (
        "import sys;"
        "import edit_eval.edit_models.controls;"
        "from edit_eval.plugins.scenes.in_worker import benchmark, editor, judge;"
        "tops = {name.split('.')[0] for name in sys.modules};"
        "print(*(tops & {'numpy', 'torch', 'scipy', 'pydantic', 'yaml', 'rich', 'typer'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
