"""Meshes: which links each named axis owns, in what order its chips lie, and what is refused."""

from itertools import pairwise
from math import prod

import numpy as np
import pytest

import scaling_lib as sl
from scaling_lib.hardware.links import Axis
from scaling_lib.hardware.order import ring_order, snake


def axes_of(mesh, name):
    return mesh.links(name).levels[0].axes


CUBE = sl.TpuSlice("tpu-v4", (4, 4, 8))
POD = sl.TpuSlice("tpu-v5e", (16, 16))


def test_names_get_whole_hardware_axes_whatever_their_order():
    assert axes_of(sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 8)), X=8, Y=4), "X") == (Axis(8),)
    m = sl.Mesh(CUBE, X=8, Y=16)
    assert [p.key for p in m.links("X").pieces] == [2] and [p.key for p in m.links("Y").pieces] == [0, 1]
    assert axes_of(m, "Y") == (Axis(4, True), Axis(4, True))
    assert [p.key for p in sl.Mesh(CUBE, X=4, Y=4, Z=8).links("Y").pieces] == [1]


def test_an_axis_may_say_which_hardware_axes_it_owns():
    m = sl.Mesh(CUBE, X=(0, 2), Y=4)
    assert m.sizes == {"X": 32, "Y": 4}
    assert axes_of(m, "X") == (Axis(4, True), Axis(8, True)) and axes_of(m, "Y") == (Axis(4, True),)
    assert [p.key for p in sl.Mesh(CUBE, X=(1,), Y=(0,), Z=(2,)).links("X").pieces] == [1]


def test_part_of_a_ring_is_a_line_and_every_kth_chip_shares_its_links():
    m = sl.Mesh(POD, A=4, B=4, Y=16)
    assert axes_of(m, "B") == (Axis(4, wraps=False),)  # neighbours
    assert axes_of(m, "A") == (Axis(4, wraps=True, stride=4),)  # 0, 4, 8, 12: all the way round
    assert axes_of(m, "AB") == (Axis(16, True),)  # together the whole ring
    assert sl.all_gather_time(1e9, m, "AB").bandwidth_s == sl.all_gather_time(1e9, m, "Y").bandwidth_s
    # A and B gather a quarter as much data each; A's links are shared by four groups, B's do not close.
    a, b = (sl.all_gather_time(1e9, m, name) for name in "AB")
    assert a.bandwidth_s == pytest.approx(1e9 * 3 / 4 / (2 * 45e9 / 4))
    assert b.bandwidth_s == pytest.approx(1e9 * 3 / 4 / 45e9)
    assert a.latency_s == pytest.approx(8e-6) and b.latency_s == pytest.approx(3e-6)


def test_two_parts_of_an_axis_with_another_between_make_no_torus():
    m = sl.Mesh(POD, A=2, B=4, C=2, Y=16)
    with pytest.raises(sl.ScalingError, match="hardware axis 0 with another mesh axis between"):
        sl.all_gather_time(1e9, m, "AC")
    assert sl.all_gather_time(1e9, m, "ABC").bandwidth_s == sl.all_gather_time(1e9, m, "Y").bandwidth_s


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ({"X": 4, "Y": 4}, "is 16 chips, but the machine has 128: add an axis of 8"),
        ({"X": 16, "Y": 16}, "is 256 chips, larger than the machine of 128 chips"),
        ({"X": 3, "Y": 32}, "is 96 chips, but the machine has 128: the sizes must multiply to it"),
        ({"X": 0, "Y": 128}, r"X must be a whole number of chips.*1 or more, got 0"),
        ({"X": -4, "Y": -32}, r"X must be a whole number of chips.*got -4"),
        ({"X": (0, 5), "Y": 8}, "axis 5 is unknown for X: hardware.*known: 0, 1, 2"),
        ({"X": "ring"}, "axis 'ring' is unknown"),
        ({"X": 2.5}, r"X must be a whole number of chips, such as X=4.*got 2\.5"),
        ({"X": 4.0}, r"X must be a whole number of chips.*got 4\.0"),
        ({"X": "4"}, r"X must be a whole number of chips, such as X=4, got '4' \(text\)"),
        ({"X": ()}, "X: name at least one of the hardware axes 0, 1, 2"),
        ({"X": [[0]]}, r"axis \[0\] is unknown"),
        ({"X": (0,), "Y": (0, 1, 2)}, "belongs to two names"),
        ({}, "needs at least one"),
    ],
)
def test_wrong_sizes_and_axes_are_refused_with_what_is_possible(axes, says):
    with pytest.raises(sl.ScalingError, match=says):
        sl.Mesh(CUBE, **axes)


def test_sizes_that_cut_no_hardware_axis_evenly_are_refused():
    odd = sl.TpuSlice("tpu-v4", (4, 4, 12))
    with pytest.raises(sl.ScalingError, match="X=6 does not fit on the hardware axes"):
        sl.Mesh(odd, X=6, Y=32)
    assert axes_of(sl.Mesh(odd, X=12, Y=16), "X") == (Axis(12, True),)


def test_axes_are_named_as_in_jax_and_unknown_ones_are_refused():
    m = sl.Mesh(CUBE, data=32, X=2, Y=2)
    assert m.parse("data") == ("data",) and m.parse("XY") == ("X", "Y") and m.parse("data,Y") == ("data", "Y")
    assert m.parse(("Y", "data")) == ("Y", "data") and m.size("XY") == 4
    assert (m.names, m.shape, m.n_chips) == (("data", "X", "Y"), (32, 2, 2), 128)
    for bad in ("Z", "XZ", ("X", "Z"), 3, ""):
        with pytest.raises(sl.UnknownAxis, match="known: data, X, Y"):
            m.group(bad)
    with pytest.raises(sl.ScalingError, match="named once"):
        m.group("XX")
    with pytest.raises(sl.ScalingError, match="name at least one of data, X, Y"):
        sl.all_gather_time(1.0, m, ())
    with pytest.raises(sl.ScalingError, match="TpuSlice, MultiSlice, GpuCluster"):
        sl.Mesh("v5e", X=4)


def test_numpys_whole_numbers_are_whole_numbers():
    s = sl.TpuSlice("tpu-v5e", tuple(np.array([16, 16])))
    assert sl.Mesh(s, X=np.int64(16), Y=np.int32(16)) == sl.Mesh(POD, X=16, Y=16)
    assert sl.permute_time(1.0, s, shift=np.int64(3)).upper_s == sl.permute_time(1.0, POD, shift=3).upper_s


def test_equal_meshes_are_equal():
    assert sl.Mesh(CUBE, X=8, Y=16) == sl.Mesh(CUBE, X=8, Y=16)
    assert hash(sl.Mesh(CUBE, X=8, Y=16)) == hash(sl.Mesh(CUBE, X=8, Y=16))
    assert sl.Mesh(CUBE, X=4, Y=4, Z=8) != sl.Mesh(CUBE, X=(1,), Y=(0,), Z=8)


# ---- order of the chips ---------------------------------------------------------------------------------------------


def test_four_chips_of_a_square_lie_in_a_ring_not_in_rows():
    links = sl.Mesh(sl.TpuSlice("tpu-v4", (2, 2, 1)), X=4).links("X")
    assert (links.hops_around, links.max_hop, links.is_ring) == (4, 1, True)
    rows = [(0, 0), (0, 1), (1, 0), (1, 1)]
    s = sl.TpuSlice("tpu-v4", (2, 2, 1))
    assert (s.hops_around(rows), max(s.steps(rows))) == (6, 2)
    assert "4 hops round the cycle, longest step 1" in repr(links)


@pytest.mark.parametrize(
    ("chip", "shape"),
    [
        ("tpu-v5e", (2, 4)),
        ("tpu-v5e", (4, 8)),
        ("tpu-v5e", (8, 16)),
        ("tpu-v4", (2, 2, 2)),
        ("tpu-v4", (2, 4, 4)),
        ("tpu-v5p", (4, 8, 12)),
    ],
)
def test_a_whole_slice_of_several_axes_lies_in_a_ring_of_neighbours(chip, shape):
    s = sl.TpuSlice(chip, shape)
    links = sl.Mesh(s, X=s.n_chips).links("X")
    assert sorted(links.order) == s.coordinates()
    assert links.is_ring and links.hops_around == s.n_chips
    t = sl.permute_time(1e9, sl.Mesh(s, X=s.n_chips), "X")
    assert t.bandwidth_s == pytest.approx(1e9 / s.link_bytes_per_s) and t.latency_s == pytest.approx(1e-6)


@pytest.mark.parametrize(
    "lengths", [(2, 3), (3, 2), (3, 4), (5, 2), (2, 3, 3), (3, 3, 2), (3, 2, 3), (4, 4, 4), (1, 6), (3, 3)]
)
def test_orders_go_from_neighbour_to_neighbour_and_home_where_the_count_is_even(lengths):
    order = ring_order(lengths, (False,) * len(lengths))
    assert len(set(order)) == len(order) == prod(lengths)

    def apart(a, b):
        return sum(abs(x - y) for x, y in zip(a, b, strict=True))

    assert all(apart(a, b) == 1 for a, b in pairwise(order))
    several = sum(n > 1 for n in lengths) > 1
    assert (apart(order[-1], order[0]) == 1) == (several and prod(lengths) % 2 == 0)
    assert all(apart(a, b) == 1 for a, b in pairwise(snake(lengths)))


def test_a_line_must_go_all_the_way_back_and_a_strided_axis_hops_over_its_neighbours():
    links = sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 8)), X=4, Y=8).links("Y")
    assert not links.is_ring and links.max_hop == 7 and links.hops_around == 14
    strided = sl.Mesh(POD, A=4, B=4, Y=16).links("A")
    assert strided.order == ((0, 0), (4, 0), (8, 0), (12, 0)) and strided.hops == (4, 4, 4, 4)
    assert not strided.is_ring and sl.Mesh(POD, A=4, B=4, Y=16).links("Y").is_ring


# ---- clusters and several slices ------------------------------------------------------------------------------------


def test_levels_of_a_cluster_go_to_the_names_that_fit_them():
    g = sl.GpuCluster("h100", 1024)
    for m in (sl.Mesh(g, node=8, outer=128), sl.Mesh(g, outer=128, node=8)):
        assert [level.name for level in m.group("node")] == ["nvlink"]
        assert [level.name for level in m.group("outer")] == ["scaleout"]
    m = sl.Mesh(g, data=128, tensor=8)
    assert m.group("tensor")[0].name == "nvlink" and m.group("data")[0].name == "scaleout"
    same = sl.Mesh(sl.GpuCluster("h100", 64), data=8, tensor=8)  # both fit: the last is the innermost, as in JAX
    assert same.group("tensor")[0].name == "nvlink" and same.group("data")[0].name == "scaleout"
    named = sl.Mesh(sl.GpuCluster("h100", 64), node=8, outer=8)
    assert named.group("node")[0].name == "nvlink"
    said = sl.Mesh(sl.GpuCluster("h100", 64), data="node", tensor="outer")
    assert said.group("data")[0].name == "nvlink"


def test_an_axis_inside_and_across_nodes_has_both_levels():
    m = sl.Mesh(sl.GpuCluster("h100", 1024), data=256, tensor=4)
    inside, across = m.group("data")
    assert (inside.name, inside.n, across.name, across.n) == ("nvlink", 2, "scaleout", 128)
    assert [(level.name, level.n) for level in m.group("tensor")] == [("nvlink", 4)]
    assert [(level.name, level.n) for level in m.group()] == [("nvlink", 8), ("scaleout", 128)]
    assert m.links("data").order is None and "scaleout" in repr(m.links("data"))


def test_slices_over_dcn_take_the_first_name_that_fits():
    joined = sl.MultiSlice(POD, n=4)
    m = sl.Mesh(joined, data=4, X=16, Y=16)
    assert m.group("data")[0].name == "dcn" and m.group("X")[0].name == "ici"
    first = sl.Mesh(sl.MultiSlice(sl.TpuSlice("tpu-v5e", (4, 8)), n=2), X=8, Y=8)
    assert [level.name for level in first.group("X")] == ["ici", "dcn"] and first.group("Y")[0].name == "ici"
    both = sl.Mesh(joined, X=64, Y=16)
    assert [level.name for level in both.group("X")] == ["ici", "dcn"]
    assert sl.Mesh(joined, dcn=4, X=16, Y=16).group("dcn")[0].n == 4
    assert sl.Mesh(joined, D="dcn", X=(1,), Y=(0,)).sizes == {"D": 4, "X": 16, "Y": 16}
