import dataclasses
import importlib.metadata
import json

import pytest

from headcount.core.errors import InputError
from headcount.core.refs import Ref
from headcount.core.registry import PartSpec, Registry, without_files
from headcount.core.spec import canonical_json
from headcount.memory.named import targets

REF = Ref("headcount")


class Shape:
    pass


@pytest.fixture
def shapes():
    registry = Registry("shape", Shape)

    @registry.register("disc", formula="r", ref=REF)
    @dataclasses.dataclass(frozen=True)
    class Disc(Shape):
        """A disc."""

        radius: float
        marks: tuple[int, ...] = ()

    @registry.register("pair", formula="a, b", ref=REF)
    @dataclasses.dataclass(frozen=True)
    class Pair(Shape):
        """Two of them."""

        first: Shape
        rest: tuple[Shape, ...] = ()

    @registry.register("made", formula="w", ref=REF)
    class Made(Shape):
        """Has weights."""

        def __init__(self, size, options):
            self.size, self.options = size, options

        @classmethod
        def init(cls, size, *, scale: float = 1.0):
            return cls(size, scale)

    yield registry
    del Registry.by_base[Shape]


def test_text_mapping_and_object_give_the_same_part(shapes):
    disc = shapes.build("disc:2,marks=1+5")
    assert (
        disc == shapes.build({"kind": "disc", "radius": 2, "marks": [1, 5]}) == shapes.build(disc)
    )
    assert (disc.radius, disc.marks) == (2.0, (1, 5))


def test_nested_parts_are_read_by_name(shapes):
    pair = shapes.build("pair:first=disc:1,rest=disc(2)+disc(3)")
    assert [d.radius for d in (pair.first, *pair.rest)] == [1.0, 2.0, 3.0]
    assert shapes.build(json.loads(canonical_json(pair))) == pair


def test_weights_come_from_init_with_context(shapes):
    made = shapes.build("made:scale=3", 7)
    assert (made.size, made.options) == (7, 3.0)
    assert shapes.spec("made") == PartSpec(kind="made", options={"scale": 1.0})
    assert shapes.build(PartSpec(kind="made", options={"scale": 2.0}), 1).options == 2.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("dsc:1", "unknown shape 'dsc' \\(nearest: 'disc'\\)"),
        ("disc", "'radius' is missing"),
        ("disc:1,mark=2", "unknown key 'mark' \\(nearest: 'marks'\\)"),
        ("disc:radius=wide", "radius is 'wide'"),
        ("disc:1,2,3", "at most 2"),
        ("disc:1,radius=2", "given twice"),
        ("pair:first=dsc:1", "first: unknown shape 'dsc'"),
        ({"radius": 1}, "without 'kind'"),
        (17, "text, a mapping, or a part"),
    ],
)
def test_refusals_say_what_was_wrong(shapes, value, message):
    with pytest.raises(InputError, match=message):
        shapes.build(value)


def test_a_spec_file_is_read(shapes, tmp_path):
    path = tmp_path / "disc.toml"
    path.write_text('kind = "disc"\nradius = 4.0\n')
    assert shapes.build(str(path)).radius == 4.0
    path.write_text("kind = ")
    with pytest.raises(InputError, match="cannot be parsed"):
        shapes.build(str(path))


def test_names_are_taken_once_and_by_subclasses_only(shapes):
    with pytest.raises(InputError, match="registered twice"):
        shapes.register("disc", formula="", ref=REF)(shapes["disc"].part)
    with pytest.raises(InputError, match="a subclass of Shape"):
        shapes.register("new", formula="", ref=REF)(int)


def test_third_parties_add_entries_through_entry_points(shapes, monkeypatch):
    class Point:
        name, value = "square", "elsewhere:Square"

        @staticmethod
        def load():
            @shapes.register("square", formula="s", ref=REF)
            @dataclasses.dataclass(frozen=True)
            class Square(Shape):
                side: float

    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: [Point] if group == "headcount.shape" else [],
    )
    assert shapes.build("square:2").side == 2.0


def test_a_broken_plug_in_is_named(shapes, monkeypatch):
    class Point:
        name, value = "square", "elsewhere:Square"

        @staticmethod
        def load():
            raise ImportError("no module named elsewhere")

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Point])
    with pytest.raises(InputError, match="plug-in 'square'"):
        shapes.names()


def test_a_kernel_where_a_memory_is_wanted_is_told_as_one():
    for text, memory in (("lag:300", "fixed:lags=300"), ("exp:0.1", "essential:kernel=exp:0.1")):
        with pytest.raises(InputError, match=f"expected a memory; write {memory}$"):
            targets.build(text)
        targets.build(memory)
    with pytest.raises(InputError, match="unknown memory 'nonsense'"):
        targets.build("nonsense:3")


@pytest.mark.parametrize("name", ["there.json", "there.npy", "nowhere.toml", "nowhere.csv"])
def test_where_files_are_closed_none_is_opened_or_looked_for(tmp_path, name):
    registry = Registry("thing", Shape, from_path=lambda path: pytest.fail("opened"))
    (tmp_path / "there.json").write_text('{"kind": "secret"}')
    (tmp_path / "there.npy").write_text("secret")
    file = str(tmp_path / name)
    with without_files(), pytest.raises(InputError, match="names a file; expected a thing by its"):
        registry.build(file)
