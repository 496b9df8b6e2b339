"""The notation of sharded arrays: read, printed, refused with the place, and what chips hold."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import NamedSharding, PartitionSpec

import scaling_lib as sl
from scaling_lib import referee
from scaling_lib.sharding import NotationError, parse_sharding

MESH = {"X": 4, "Y": 2, "Z": 3}
SIZES = {"I": 24, "J": 48, "K": 72}


@st.composite
def shardings(draw, dims="IJK", axes="XYZ"):
    """(text, {dim: axes}, unreduced)."""
    cut = {dim: [] for dim in dims[: draw(st.integers(0, len(dims)))]}
    unreduced = []
    for axis in draw(st.permutations(axes)):
        where = draw(st.sampled_from([*cut, None, "U"]))
        (unreduced if where == "U" else cut.get(where, [])).append(axis)
    braces = draw(st.booleans())

    def below(names):
        return "" if not names else "_{" + ", ".join(names) + "}" if braces else "_" + "".join(names)

    text = "A[" + ", ".join(dim + below(names) for dim, names in cut.items()) + "]"
    return text + ("{U" + below(unreduced) + "}" if unreduced else ""), cut, unreduced


@given(shardings())
def test_what_is_printed_reads_back_as_the_same(given_):
    text, cut, unreduced = given_
    s = parse_sharding(text)
    assert parse_sharding(str(s)) == s and str(parse_sharding(str(s))) == str(s)
    assert (
        s.dims == tuple(cut) and s.axes == tuple(map(tuple, cut.values())) and s.unreduced == tuple(sorted(unreduced))
    )
    assert parse_sharding(text.replace(",", " , ").replace("[", " [ ")) == s == parse_sharding(text, MESH)


@given(shardings())
def test_blocks_tile_the_array_and_copies_fill_the_mesh(given_):
    s = parse_sharding(given_[0])
    sizes = {dim: SIZES[dim] for dim in s.dims}
    held = {}
    for place in itertools.product(*(range(n) for n in MESH.values())):
        chip = dict(zip(MESH, place, strict=True))
        held.setdefault((s.block(chip, MESH), *(chip[axis] for axis in s.unreduced)), []).append(place)
    assert {len(chips) for chips in held.values()} == {s.copies(MESH)}
    blocks = {block for block, *_ in held}
    assert blocks == set(itertools.product(*(range(n) for n in s.shards(MESH))))
    local = s.local_shape(sizes, MESH)
    assert all(n * k == sizes[dim] for n, k, dim in zip(local, s.shards(MESH), s.dims, strict=True))
    assert s.total_bytes(sizes, MESH) == 24 * s.local_bytes(sizes, MESH)


@settings(deadline=None)
@given(shardings(axes="XY"))
def test_blocks_are_those_of_jax(given_):
    s = parse_sharding(given_[0])
    mesh = referee.make_mesh(X=4, Y=2)
    spec = NamedSharding(mesh, PartitionSpec(*s.partition_spec()))
    sizes = {dim: SIZES[dim] for dim in s.dims}
    where = spec.devices_indices_map(tuple(sizes.values()))
    for x, y in itertools.product(range(4), range(2)):
        block = s.block({"X": x, "Y": y}, {"X": 4, "Y": 2})
        ours = [(b * n, (b + 1) * n) for b, n in zip(block, s.local_shape(sizes, {"X": 4, "Y": 2}), strict=True)]
        theirs = [i.indices(n)[:2] for i, n in zip(where[mesh.devices[x, y]], sizes.values(), strict=True)]
        assert ours == theirs


REFUSED = [  # text, what is said, the character pointed at
    ("A[I_X, J_X]", "axis X shards both I and J of A", 9),
    ("A[I_XX]", "stands twice on I", 5),
    ("A[I_X]{U_X}", "shards I of A and is unreduced too", 9),
    ("A[I]{U_XX}", "stands twice behind U", 8),
    ("A[I, I]", "dimension I stands twice", 5),
    ("A[I_X, J", "',' or ']'", 8),
    ("A[I_]", "a mesh axis, such as X", 4),
    ("A[I_{X]", "',' or '}'", 6),
    ("A[I_X1]", "goes in braces", 5),
    ("A[I_data]", "names of several letters go in braces", 7),
    ("A[1_X]", "the name of a dimension", 2),
    ("A(I)", r"'\[' and the dimensions", 1),
    ("A[I]{V_X}", "'U_'", 5),
    ("A[I] B", "nothing should follow", 5),
    ("", "the name of an array", 0),
    ("  \n", "the name of an array", 3),
    ("I_X, J", r"'\['", 3),
    ("A[Iₓ, J]", "axes stand behind an underscore: I_X", 3),
    ("A[α]", "names are of ASCII letters and digits", 2),
    ("A[I_α]", "names are of ASCII letters and digits", 4),
]


@pytest.mark.parametrize(("text", "says", "at"), REFUSED)
def test_text_that_is_not_the_notation_is_refused_at_the_place(text, says, at):
    with pytest.raises(NotationError, match=says) as caught:
        parse_sharding(text)
    assert caught.value.at == at and str(caught.value).splitlines()[-1] == "  " + " " * at + "^"


@pytest.mark.parametrize("text", [None, 5, ["A[I]"], b"A[I]"])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(sl.ScalingError, match="the notation looks like"):
        parse_sharding(text)


@given(st.text(alphabet="AIJXY_[]{}, U*->", max_size=24))
def test_any_text_is_read_or_refused_in_words(text):
    try:
        parse_sharding(text)
    except NotationError as error:
        assert 0 <= error.at <= len(error.text)


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("A[I_XQ]", 5, "axis 'Q' is unknown for this mesh"),
        ("A[I]{U_Q}", 7, "axis 'Q'"),
        ("A[I_{XY}]", 5, r"for several axes write _XY or _\{X,Y\}"),
    ],
)
def test_an_axis_that_the_mesh_lacks_is_pointed_at(text, at, says):
    for call in (lambda: parse_sharding(text, MESH), lambda: parse_sharding(text).local_shape({"I": 24}, MESH)):
        with pytest.raises(sl.UnknownAxis, match=says) as caught:
            call()
        assert str(caught.value).splitlines()[-1] == "  " + " " * at + "^"
    assert "known: X, Y, Z" in str(caught.value)


def test_long_names_want_braces():
    s = parse_sharding("W_in[D, F_{data,model}]", {"data": 2, "model": 4})
    assert s.shards({"data": 2, "model": 4}) == (1, 8) and str(s) == "W_in[D, F_{data,model}]"
    with pytest.raises(sl.UnknownAxis, match="several letters goes in braces"):
        parse_sharding("W[D_d]", {"data": 2})


@pytest.mark.parametrize("size", [10, 2, 1])
def test_a_size_that_does_not_divide_is_refused_with_what_is_possible(size):
    s = parse_sharding("A[J, I_X]")
    with pytest.raises(NotationError, match=r"do not divide by 4 chips \(X\): possible are") as caught:
        s.local_shape({"I": size, "J": 8}, MESH)
    assert caught.value.at == 5 and "pad=True" in str(caught.value)
    assert s.local_shape({"I": size, "J": 8}, MESH, pad=True) == (8, -(-size // 4))
    assert s.padding({"I": size, "J": 8}, MESH) == {"I": -size % 4}


@pytest.mark.parametrize("size", [0, -4, 4.5, float("nan"), "8", True, None])
def test_sizes_are_whole_and_positive(size):
    with pytest.raises(sl.ScalingError):
        parse_sharding("A[I_X]").local_shape({"I": size}, MESH)


def test_a_missing_size_is_pointed_at():
    with pytest.raises(NotationError, match="the size of J is missing; given are I") as caught:
        parse_sharding("A[I_X, J]").local_bytes({"I": 8}, MESH)
    assert caught.value.at == 7


@pytest.mark.parametrize(
    ("dim", "meant"), [("IX", "I_X"), ("IXY", "I_XY"), ("Idata", "I_{data}"), ("IXX", "I_{XX}"), ("K", "")]
)
def test_a_forgotten_underscore_is_guessed(dim, meant):
    mesh = {**MESH, "data": 2, "XX": 2}  # the longest name that fits is meant
    for call in (lambda: parse_sharding(f"A[{dim}, J]").local_shape({"I": 24, "J": 48}, mesh),):
        with pytest.raises(NotationError, match=f"the size of {dim} is missing") as caught:
            call()
        assert (f"is {meant} meant?" in str(caught.value)) == bool(meant)


@pytest.mark.parametrize(
    ("chip", "says"),
    [
        ({"X": 9, "Y": 0}, "X is 9: possible are 0 to 3"),
        ({"X": 0, "Y": -1}, "Y is -1: possible are 0 to 1"),
        ({"X": 1.0, "Y": 0}, "X is 1.0: possible are 0 to 3"),
        ({"X": True, "Y": 0}, "X is True"),
        ({"Y": 0}, "its place along X is missing: possible are 0 to 3"),
        ({}, "its place along X is missing"),
        ((0, 1), "give its place along each axis"),
    ],
)
def test_a_place_that_is_not_on_the_mesh_is_refused(chip, says):
    with pytest.raises(sl.ScalingError, match=says):
        parse_sharding("A[I_XY]").block(chip, {"X": 4, "Y": 2})


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: sl.Sharding("A", ("I", "I"), (("X",), ())), "dimension I stands twice"),
        (lambda: sl.Sharding("A", ("I", "J"), (("X",), ("X",))), "axis X shards both I and J"),
        (lambda: parse_sharding("A[I, J]").cut_as((("X",), ("X",))), "axis X shards both"),
        (lambda: parse_sharding("A[I, J]").cut_as((("X",), ()), ("X",)), "is unreduced too"),
        (lambda: parse_sharding("A[I, J]").cut_as(("XY", "")), "axes of I: got 'XY'; give a tuple"),
        (lambda: sl.Sharding("A", ("I",), "X"), r"A has dimensions I, got 'X'; give a tuple of mesh axes for each"),
        (lambda: sl.Sharding("A", ("I",), 3), "A has dimensions I, got 3"),
        (lambda: sl.Sharding("A", ("I",), ("X",)), "axes of I: got 'X'; give a tuple"),
        (lambda: sl.Sharding("A", ("I",), (None,)), "axes of I: got None; give a tuple"),
        (lambda: sl.Sharding("A", ("I J",), ((),)), "dims: 'I J' names no dimension"),
        (lambda: sl.Sharding("A", ("I,J",), ((),)), "dims: 'I,J' names no dimension"),
        (lambda: sl.Sharding("A", "IJ", ((), ())), "dims: got 'IJ'; give a tuple"),
        (lambda: sl.Sharding("A", ("I",), (("X Y",),)), "axes of I: 'X Y' names no mesh axis"),
        (lambda: sl.Sharding("A B", ("I",), ((),)), "name: 'A B' names no array"),
        (lambda: sl.Sharding(None, (), ()), "name: None names no array"),
        (lambda: sl.Sharding("A", ("I",), ((),), "XY"), "unreduced: got 'XY'; give a tuple"),
        (lambda: sl.Sharding("A", ("I",), ((),), ("X", "X")), "stands twice behind U"),
        (lambda: parse_sharding("A[I_X]").cut_as(None), "got None; give a tuple"),
        (lambda: sl.Sharding("A", ("I", "J", "K"), ((), ())), "A has dimensions I, J, K, got"),
    ],
)
def test_no_array_is_made_that_cannot_be_written(made, says):
    with pytest.raises(sl.ScalingError, match=says):
        made()


def test_shardings_made_by_hand_are_those_in_writing():
    by_hand = sl.Sharding("A", ["I", "J"], [["X"], []], ["Z", "Y"])
    assert by_hand == parse_sharding("A[I_X, J]{U_YZ}") and hash(by_hand) == hash(parse_sharding("A[I_X, J]{U_ZY}"))
    assert by_hand.used == ("X", "Y", "Z") and by_hand.partition_spec() == ("X", None)


def test_partial_sums_stay_when_an_array_is_cut_otherwise():
    s = parse_sharding("A[I_X, J]{U_Y}")
    assert s.cut_as(((), ("X",))) == parse_sharding("A[I, J_X]{U_Y}")
    assert s.cut_as(((), ("X",)), ()) == parse_sharding("A[I, J_X]")


def test_a_name_is_one_dimension_and_a_tuple_several():
    s = parse_sharding("A[batch, b_X, c_Y]{U_Z}")
    assert s.summed("batch") == parse_sharding("A[b_X, c_Y]{U_Z}")
    assert s.summed(("batch", "b")) == parse_sharding("A[c_Y]{U_XZ}")
    assert s.summed(()) == s
    for bad, says in (("bc", "no dimension 'bc'"), (("b", "Q"), "no dimension 'Q'"), (3, "dims: got 3")):
        with pytest.raises(sl.ScalingError, match=says):
            s.summed(bad)


def test_axes_of_any_name_a_mesh_can_have_are_read():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), tensor_parallel=4, _dp=2)
    s = sl.Sharding("W", ("D", "F"), (("_dp",), ("tensor_parallel",)))
    assert str(s) == "W[D_{_dp}, F_{tensor_parallel}]" and parse_sharding(str(s), mesh) == s
    with pytest.raises(sl.ScalingError, match="'_' names no mesh axis"):
        sl.Sharding("W", ("D",), (("_",),))  # would be written D__
    assert s.local_shape({"D": 8, "F": 8}, mesh) == (4, 2)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: s.local_shape([8, 16], MESH), r"sizes: got \[8, 16\]; give the elements of each dimension"),
        (lambda s: s.local_shape(None, MESH), "sizes: got None; give the elements of each dimension"),
        (lambda s: s.local_shape({0: 8}, MESH), "sizes: got 0 as a name"),
        (lambda s: s.describe([8, 16], MESH), r"sizes: got \[8, 16\]; give the elements"),
        (lambda s: s.shards({0: 4}), r"mesh: got 0 as a name in \{0: 4\}; give a Mesh, or axis sizes"),
        (lambda s: s.block([1, 0], MESH), r"chip: got \[1, 0\]; give its place along each axis"),
        (
            lambda s: s.local_elements({"I": np.array([8, 16, 24]), "J": np.array([8, 16])}, MESH),
            r"sizes\['I'\] \(3,\), sizes\['J'\] \(2,\): these shapes do not broadcast",
        ),
        (lambda s: s.same_as("A[I]"), r"other must be a Sharding, such as parse_sharding gives, got 'A\[I\]'"),
    ],
)
def test_an_argument_of_another_kind_is_named_and_shown(call, says):
    with pytest.raises(sl.ScalingError, match=says):
        call(parse_sharding("A[I_X, J_Y]"))


def test_padding_keeps_a_dimension_of_which_an_entry_is_masked():
    s = parse_sharding("A[I_X, J]")
    found = s.padding({"I": np.array([8, -1, 16]), "J": np.array([1.0, 2.5, 3.0])}, MESH)
    assert found["I"].tolist() == [0, None, 0] and found["J"].tolist() == [0, None, 0]
    assert found["I"].reason.tolist() == [sl.Reason.OK, sl.Reason.NEGATIVE, sl.Reason.OK]
    assert s.padding({"I": np.array([8, 4, 16]), "J": 3}, MESH) == {}


def test_a_part_of_an_element_is_called_so_whether_or_not_it_is_cut():
    s, half = parse_sharding("A[I_X, J]"), np.array([2.5, 4.0])
    whole = [sl.Reason.NOT_WHOLE, sl.Reason.OK]
    for sizes in ({"I": half, "J": 4}, {"I": 4, "J": half}):
        for pad in (False, True):
            assert s.local_elements(sizes, MESH, pad=pad).reason.tolist() == whole
    assert sl.Reason.NOT_WHOLE.says == "not whole"


def test_bytes_on_all_chips_count_what_is_filled_up():
    s = parse_sharding("A[I_X, J]")  # 24 chips hold 3 × 5 elements of 2 bytes each
    assert s.total_bytes({"I": 10, "J": 5}, MESH, pad=True) == 24 * 3 * 5 * 2
    with pytest.raises(NotationError, match="do not divide"):
        s.total_bytes({"I": 10, "J": 5}, MESH)


def test_padding_of_arrays_is_masked_and_sentences_are_of_single_sizes():
    s, sizes = parse_sharding("A[I_X]"), {"I": np.array([8, -3, 5.5, 9])}
    found = s.padding(sizes, {"X": 4})["I"]
    assert found.filled(-1).tolist() == [0, -1, -1, 3]
    with pytest.raises(sl.ScalingError, match="I is an array; a description is of one size"):
        s.describe(sizes, {"X": 4})
    assert type(s.local_shape({"I": np.int64(16)}, {"X": np.int32(4)})[0]) is int


def test_arrays_of_sizes_are_masked_where_they_are_illegal():
    s = parse_sharding("A[I_X, J]")
    found = s.local_bytes({"I": np.array([8, 10, -1, 4.5, 400]), "J": 3}, MESH, "f32")
    reasons = [sl.Reason.OK, sl.Reason.NOT_DIVISIBLE, sl.Reason.NEGATIVE, sl.Reason.NOT_WHOLE, sl.Reason.OK]
    assert found.reason.tolist() == reasons and found.compressed().tolist() == [24.0, 1200.0]
    assert s.local_shape({"I": np.array([8, 400]), "J": 3}, MESH)[0].tolist() == [2, 100]
    padded = s.local_shape({"I": np.array([[9], [1]]), "J": 3}, MESH, pad=True)[0]
    assert padded.tolist() == [[3], [1]]


@pytest.mark.parametrize("mesh", [{"X": 0}, {"X": 2.0}, {"X": True}, 4, None])
def test_a_mesh_is_a_mesh_or_sizes_of_axes(mesh):
    with pytest.raises(sl.ScalingError, match="mesh"):
        parse_sharding("A[I_X]").shards(mesh)


def test_a_real_mesh_will_do():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 8)), X=4, Y=8)
    assert parse_sharding("A[I_YX]").local_shape({"I": 64}, mesh) == (2,)


def test_unknown_dtypes_and_dimensions_are_refused():
    s = parse_sharding("A[I_X]")
    with pytest.raises(sl.UnknownDtype):
        s.local_bytes({"I": 4}, MESH, "bf17")
    with pytest.raises(sl.ScalingError, match="no dimension 'K'; it has I"):
        s.of("K")


def test_axes_of_one_chip_do_not_matter():
    one = {"X": 1, "Y": 4}
    assert parse_sharding("A[I_XY]").same_as(parse_sharding("A[I_Y]"), one)
    assert not parse_sharding("A[I_XY]").same_as(parse_sharding("A[I_YX]"), MESH)
    assert parse_sharding("A[I]{U_X}").same_as(parse_sharding("A[I]"), one)


DESCRIBED = {
    "A[I_XY, J]": "A: I is cut over X, then Y; J is whole. Each of 24 chips holds 3 × 48 of 24 × 48 elements (288 B), "
    "and each block lies on 3 chips (along Z).",
    "A[I, J]{U_X}": "A: I is whole; J is whole. Each of 24 chips holds 24 × 48 of 24 × 48 elements (2.3 kB), and each "
    "block lies on 6 chips (along Y and Z). It is unreduced over X: each chip holds a partial sum, and those along X "
    "add up to it.",
    "A[I_XYZ]": "A: I is cut over X, then Y, then Z. Each of 24 chips holds 1 of 24 elements (2 B).",
}


@pytest.mark.parametrize("text", DESCRIBED)
def test_a_sharding_is_said_in_a_sentence(text):
    assert parse_sharding(text).describe(SIZES, MESH) == DESCRIBED[text]


def test_padding_is_said():
    text = parse_sharding("A[I_X]").describe({"I": 10}, {"X": 4})
    assert text.endswith("elements (6 B); the chips do not divide it evenly, so it is padded: I by 2.")
    assert parse_sharding("A[]").describe() == "A: a single number."
    assert parse_sharding("A[I_X]").describe(mesh={"X": 4}) == "A: I is cut over X. 4 blocks, each on 1 chip."
