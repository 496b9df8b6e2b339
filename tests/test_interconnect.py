"""Slices, clusters and their names: what exists, what wraps, how many hosts, and what is said of the rest."""

import math

import pytest

import scaling_lib as sl
from scaling_lib.hardware import rules
from scaling_lib.hardware.links import Axis, Switch, Torus
from scaling_lib.hardware.shapes import shapes_of

CUBED = ("tpu-v4", "tpu-v5p", "tpu-7x")
FLAT = ("tpu-v3", "tpu-v5e", "tpu-v6e")


# ---- shapes and wraparound -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", CUBED)
def test_cubes_wrap_on_every_axis_and_smaller_slices_on_none(chip):
    for shape in ((2, 2, 1), (2, 2, 2), (2, 2, 4), (2, 4, 4)):
        assert sl.TpuSlice(chip, shape).wraps == (False,) * 3  # a 4-long axis alone does not close
        assert sl.TpuSlice(chip, shape).n_cubes == 0
    for shape in ((4, 4, 4), (4, 4, 8), (8, 12, 16)):
        assert sl.TpuSlice(chip, shape).wraps == (True,) * 3
        assert sl.TpuSlice(chip, shape).n_cubes == math.prod(shape) // 64


@pytest.mark.parametrize("chip", ("tpu-v5e", "tpu-v6e"))
def test_on_2d_tori_only_an_axis_of_16_wraps(chip):
    closed = {shape: sl.TpuSlice(chip, shape).wraps for shape in ((4, 4), (8, 8), (8, 16), (16, 8), (16, 16))}
    assert list(closed.values()) == [(False,) * 2, (False,) * 2, (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("chip", CUBED + FLAT)
def test_the_whole_pod_of_the_catalogue_is_a_slice(chip):
    c = sl.chip(chip)
    pod = sl.TpuSlice(chip, c.pod_shape)
    assert pod.n_chips == c.pod_chips and all(pod.wraps)
    assert pod.n_hosts == c.pod_chips // c.chips_per_host


@pytest.mark.parametrize(
    ("chip", "shape", "says"),
    [
        ("tpu-v5e", (3, 5), r"15 chips make no slice; near are 8 \(2x4\) and 16 \(4x4\).*8x16, 16x16"),
        ("tpu-v5e", (2, 8), "of 16 chips 4x4"),
        ("tpu-v5e", (32, 32), r"near are 256 \(16x16\)"),
        ("tpu-v4", (2, 4, 2), "of 16 chips 2x2x4.*A <= B <= C multiples of 4"),
        ("tpu-v4", (4, 8, 4), "of 128 chips 4x4x8"),
        ("tpu-v4", (4, 4), "of 16 chips 2x2x4"),
        ("tpu-v4", (16, 16, 32), r"near are 4096 \(16x16x16"),
        ("tpu-v5p", (4, 4, 6), "near are 64 .*and 128"),
        ("tpu-v5p", (16, 20, 32), "near are 8960"),
        ("tpu-v5e", (4, 0), "whole numbers of chips"),
        ("tpu-v5e", (4.0, 8), "whole numbers of chips"),
        ("tpu-v5e", (True, 8), "whole numbers of chips"),
        ("tpu-v5e", "4x8", "whole numbers of chips"),
        ("tpu-v5e", (), "whole numbers of chips"),
    ],
)
def test_a_slice_that_does_not_exist_is_refused_with_those_that_do(chip, shape, says):
    with pytest.raises(sl.ScalingError, match=says):
        sl.TpuSlice(chip, shape)


def test_only_tpus_have_slices_and_only_gpus_have_clusters():
    with pytest.raises(sl.UnknownChip, match=r"slices: .*tpu-v5e"):
        sl.TpuSlice("h100", (2, 2))
    with pytest.raises(sl.ScalingError, match="TpuSlice"):
        sl.GpuCluster("tpu-v5e", 8)
    with pytest.raises(sl.UnknownChip, match="known"):
        sl.TpuSlice("tpu-v9", (2, 2))


# ---- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chip", "shape"),
    [("tpu-v5e", (4, 4)), ("tpu-v5e", (8, 16)), ("tpu-v4", (2, 2, 1)), ("tpu-v4", (4, 4, 8)), ("tpu-v5e", (1, 1))],
)
def test_links_diameter_and_bisection_are_what_counting_finds(chip, shape):
    s = sl.TpuSlice(chip, shape)
    chips = s.coordinates()
    pairs = [(a, b) for a in chips for b in chips]
    assert s.n_links == sum(s.distance(a, b) == 1 for a, b in pairs) // 2
    assert s.diameter_hops == max(s.distance(a, b) for a, b in pairs)
    assert s.ports == min(sum(s.distance(a, b) == 1 for b in chips) for a in chips)
    cuts = []
    for axis, n in enumerate(shape):
        if n > 1:
            cuts.append(sum(s.distance(a, b) == 1 and a[axis] < n // 2 <= b[axis] for a, b in pairs))
    assert s.bisection_links == min(cuts, default=0)


def test_the_vendors_bisection_is_ours_at_the_vendors_link_rate():
    for chip, other in (("tpu-v5e", 50e9), ("tpu-v6e", 100e9), ("tpu-v4", 47e9)):
        c = sl.chip(chip)
        links = sl.TpuSlice(c, c.pod_shape).bisection_links
        assert links * other == pytest.approx(c.pod_bisection_bytes_per_s, rel=0.01)


def test_hosts_and_devices():
    assert sl.TpuSlice("tpu-v5e", (16, 16)).n_hosts == 32  # machines of 8 chips
    assert sl.TpuSlice("tpu-v5e", (4, 4)).host_shape == (2, 4)
    assert sl.TpuSlice("tpu-v5e", (4, 2)).host_shape == (4, 2)
    assert sl.TpuSlice("tpu-v5e", (4, 4), chips_per_host=4).host_shape == (2, 2)
    assert sl.TpuSlice("tpu-v5e", (1, 1)).host_shape == (1, 1)
    assert sl.TpuSlice("tpu-v5p", (16, 20, 28)).n_hosts == 2240
    assert sl.TpuSlice("tpu-7x", (2, 2, 1)).n_devices == 8  # two a chip
    assert sl.TpuSlice("tpu-v4", (2, 2, 1)).n_devices == 4  # two cores work as one
    assert sl.TpuSlice("tpu-v3", (2, 2)).n_devices == 8
    for bad in (0, 3, 7, 16, 4.0):
        with pytest.raises(sl.ScalingError, match="chips_per_host"):
            sl.TpuSlice("tpu-v5e", (4, 4), chips_per_host=bad)
    with pytest.raises(sl.ScalingError, match="possible are 1, 2, 4, 8; got 3"):
        sl.TpuSlice("tpu-v5e", (4, 4), chips_per_host=3)


# ---- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "chips", "hosts", "devices", "shape"),
    [
        ("v3-8", 4, 1, 8, (2, 2)),
        ("v4-8", 4, 1, 4, (2, 2, 1)),
        ("v4-32", 16, 4, 16, (2, 2, 4)),
        ("v4-384", 192, 48, 192, (4, 4, 12)),
        ("v4-2048", 1024, 256, 1024, (8, 8, 16)),
        ("v5litepod-1", 1, 1, 1, (1, 1)),
        ("v5litepod-4", 4, 1, 4, (2, 2)),
        ("v5litepod-8", 8, 1, 8, (2, 4)),
        ("v5litepod-16", 16, 4, 16, (4, 4)),
        ("v5litepod-64", 64, 16, 64, (8, 8)),
        ("v5p-8", 4, 1, 4, (2, 2, 1)),
        ("v5p-4352", 2176, 544, 2176, (4, 8, 68)),
        ("v6e-8", 8, 1, 8, (2, 4)),
        ("v6e-256", 256, 64, 256, (16, 16)),
        ("v7x-128", 64, 16, 128, (4, 4, 4)),
        ("tpu7x-256", 128, 32, 256, (4, 4, 8)),
    ],
)
def test_a_name_counts_cores_or_chips_as_its_generation_does(name, chips, hosts, devices, shape):
    s = sl.TpuSlice.from_name(name)
    assert (s.n_chips, s.n_hosts, s.n_devices, s.shape) == (chips, hosts, devices, shape)


def test_names_with_several_shapes_and_no_default_are_refused_until_one_is_given():
    with pytest.raises(sl.ScalingError, match="ambiguous: give the topology, one of 4x4x64, 4x8x32, 4x16x16, 8x8x16"):
        sl.TpuSlice.from_name("v7x-2048")
    for topology in ("4x4x64", "4x8x32", "8x8x16", (8, 8, 16)):
        s = sl.TpuSlice.from_name("v7x-2048", topology)
        assert (s.n_chips, s.n_devices, s.n_hosts) == (1024, 2048, 256)
    with pytest.raises(sl.ScalingError, match=r"2x2x256 is not a v7x-2048: possible are .*8x8x16"):
        sl.TpuSlice.from_name("v7x-2048", "2x2x256")
    assert sl.TpuSlice.from_name("v4-2048", "4x16x16").wraps == (True,) * 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("v4-33", "2 TensorCores a chip.*v4-32, v4-64"),
        ("v4-24", "near sizes are v4-16, v4-32"),
        ("v5litepod-12", "counts chips.*v5litepod-8, v5litepod-16"),
        ("v5p-20000", "near sizes are v5p-17920"),
        ("v5-32", "did you mean v5"),
        ("v5e", "known: v3-N, v4-N"),
        ("h100-8", "known"),
        (32, "known"),
    ],
)
def test_names_of_no_slice_say_which_are_near(name, says):
    with pytest.raises(sl.ScalingError, match=says):
        sl.TpuSlice.from_name(name)


def test_every_legal_shape_of_v5p_has_one_name_that_finds_a_slice_of_its_size():
    for cubes in range(1, 141):
        s = sl.TpuSlice.from_name(f"v5p-{128 * cubes}")
        assert s.n_chips == 64 * cubes and s.shape == shapes_of("tpu-v5p", 64 * cubes)[0]


# ---- sub-slices -----------------------------------------------------------------------------------------------------


def test_a_sub_slice_keeps_a_ring_only_where_it_keeps_the_axis():
    pod = sl.TpuSlice("tpu-v5e", (16, 16))
    assert pod.subslice((4, 16)).axes == (Axis(4), Axis(16, True))
    assert pod.subslice((8, 8)).axes == (Axis(8), Axis(8))
    assert sl.TpuSlice("tpu-v4", (4, 4, 8)).subslice((4, 4, 4)).axes == (Axis(4, True), Axis(4, True), Axis(4))


def test_sub_slices_lie_along_hosts():
    cube = sl.TpuSlice("tpu-7x", (4, 4, 4))
    for bad in ((4, 1, 1), (1, 4, 1), (3, 2, 1), (1, 1, 4)):
        with pytest.raises(sl.ScalingError, match="host bounds 2,2,1"):
            cube.subslice(bad)
    with pytest.raises(sl.ScalingError, match=r"possible with 4 chips: 2x2x1$"):
        cube.subslice((4, 1, 1))
    for good in ((2, 2, 1), (1, 1, 1), (2, 1, 1), (2, 2, 4), (4, 4, 1)):
        assert isinstance(cube.subslice(good), Torus)
    with pytest.raises(sl.ScalingError, match="larger than the slice of 4x4x4"):
        cube.subslice((8, 2, 1))
    with pytest.raises(sl.ScalingError, match="3 whole numbers"):
        cube.subslice((2, 2))
    with pytest.raises(sl.ScalingError, match="3 whole numbers of chips, got 4"):
        cube.subslice(4)


# ---- several slices, clusters ----------------------------------------------------------------------------------------


def test_slices_joined_by_the_data_centre_network():
    joined = sl.MultiSlice(sl.TpuSlice("tpu-v5p", (8, 8, 8)), n=4)
    assert (joined.n_chips, joined.n_hosts, joined.n_devices) == (2048, 512, 2048)
    assert joined.bisection_bytes_per_s == 2 * 512 * 6.25e9
    t = sl.all_gather_time(1e9, joined)
    assert t.stages["dcn"] == pytest.approx(1e9 * 3 / 4 / 512 / 6.25e9)  # each chip takes in its share of 3 slices
    assert t.stages["ici"] == sl.all_gather_time(1e9, joined.slice).bandwidth_s
    for bad in (0, 1.5, True):
        with pytest.raises(sl.ScalingError, match="n must be"):
            sl.MultiSlice(joined.slice, bad)
    with pytest.raises(sl.ScalingError, match="TpuSlice"):
        sl.MultiSlice(sl.GpuCluster("h100", 8), 2)


def test_clusters_are_whole_nodes_or_less_than_one():
    assert sl.GpuCluster("h100", 4).n_nodes == 1 and sl.GpuCluster("h100", 4).node == 4
    assert (sl.GpuCluster("gb200", 576).n_nodes, sl.GpuCluster("gb200", 576).n_hosts) == (8, 144)
    with pytest.raises(sl.ScalingError, match="possible near 12 are 8 and 16"):
        sl.GpuCluster("h100", 12)
    with pytest.raises(sl.ScalingError, match="72 and 144"):
        sl.GpuCluster("gb200", 100)
    for bad in (0, -8, 8.0, True, "8"):
        with pytest.raises(sl.ScalingError, match="n_gpus"):
            sl.GpuCluster("h100", bad)
    with pytest.raises(sl.UnknownLink, match="scaleout_bytes_per_s"):
        sl.GpuCluster("a100", 16)
    assert sl.GpuCluster("a100", 16, scaleout_bytes_per_s=25e9).node_bytes_per_s == 200e9
    assert sl.GpuCluster("a100", 8).node_bytes_per_s is None
    with pytest.raises(sl.ScalingError, match="no fat tree"):
        _ = sl.GpuCluster("h100", 8).fat_tree


# ---- where the figures come from ------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [*rules.slices().values(), *rules.clusters().values()])
def test_every_figure_of_a_machine_has_a_source(found):
    for field, origin in found.origins.items():
        assert "http" in origin.source, field
        assert (getattr(found, field) is None) == (origin.kind == "unsupported")


def test_every_chip_of_the_catalogue_has_a_machine():
    names = {c.name for c in sl.chips()}
    assert names == set(rules.slices()) | set(rules.clusters())


def test_a_table_of_rules_that_is_incomplete_is_refused(tmp_path):
    path = tmp_path / "slices.toml"
    path.write_text('[tpu-v5e]\ncube = { value = 4, kind = "published", source = "book_tpus" }\n', "utf-8")
    with pytest.raises(sl.CatalogError, match=r"slices.toml \[tpu-v5e\]: missing small_shapes, wrap_length"):
        rules.read_rules(path, rules.SliceRules)
    whole = (rules.catalog.DATA / "slices.toml").read_text("utf-8")
    for old, new, says in (
        (
            'source = "book_tpus", locator = "TPU Networking", note = "an axis',
            'source = "", note = "an axis',
            "source missing",
        ),
        ("value = 1e-6", 'value = "fast"', "ici_hop_s: value must be a float, got 'fast'"),
        ("vm_chips", "vm_size", "missing vm_chips; unknown vm_size"),
    ):
        path.write_text(whole.replace(old, new), "utf-8")
        with pytest.raises(sl.CatalogError, match=says):
            rules.read_rules(path, rules.SliceRules)


@pytest.mark.parametrize(
    "machine",
    [
        sl.TpuSlice("tpu-v5e", (8, 16)),
        sl.TpuSlice("tpu-v5e", (1, 1)),
        sl.MultiSlice(sl.TpuSlice("tpu-v4", (4, 4, 4)), 2),
        sl.GpuCluster("h100", 8),
        sl.GpuCluster("gb200", 576),
    ],
)
def test_a_machine_says_what_it_is(machine):
    n = machine.slice.n_chips if isinstance(machine, sl.MultiSlice) else machine.n_chips
    assert machine.chip.title in repr(machine) and str(n) in repr(machine)


def test_per_gpu_tree_counts_scale_to_three_levels():
    assert sl.GpuCluster("h100", 4096).fat_tree.core == 64
    assert sl.GpuCluster("h100", 2048).fat_tree.core == 0
    assert sl.GpuCluster("h100", 64**3 // 4).fat_tree.core == 1024
    with pytest.raises(sl.ScalingError, match="three levels of 64-port switches carry 65,536 GPUs, got 65,544"):
        _ = sl.GpuCluster("h100", 65_544).fat_tree


@pytest.mark.parametrize("bad", [(0.5, 0), (0, 16), (-1, 0), (0, 0, 0), 3, "00", None, (True, 0)])
def test_coordinates_that_are_no_chip_are_refused(bad):
    s = sl.TpuSlice("tpu-v5e", (16, 16))
    for ask in (s.distance, s.ways):
        with pytest.raises(sl.ScalingError, match="not on the slice: coordinates are whole numbers below"):
            ask((0, 0), bad)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sl.TpuSlice.from_name("v4-8", "2x2xa"), "topology '2x2xa' is not a v4-8: possible are 2x2x1"),
        (lambda: sl.TpuSlice.from_name("v4-8", 4), "topology 4 is not a v4-8"),
        (lambda: sl.GpuCluster("h100", 16, scaleout_bytes_per_s=[1, 2]), "scaleout_bytes_per_s must be one number"),
        (lambda: sl.all_gather_time(1, "X"), "mesh must be a Mesh, TpuSlice, MultiSlice, GpuCluster, got 'X'"),
        (lambda: sl.all_reduce_time(1, "X", algorithm="ring"), "mesh must be"),
        (lambda: sl.permute_time(1, None), "mesh must be"),
        (
            lambda: sl.transfer_time(1e9, sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 4)), X=16), (0,), (1,)),
            "torus must be a TpuSlice",
        ),
        (
            lambda: sl.all_gather_time([1, 2, 3], sl.TpuSlice("tpu-v5e", (4, 4)), hop_latency_s=[0, 1]),
            r"nbytes \(3,\), hop_latency_s \(2,\): these shapes do not broadcast",
        ),
        (lambda: Switch(0, 1.0), "n must be a whole number of chips, 1 or more, got 0"),
        (lambda: Switch(2.5, 1.0), "n must be"),
        (lambda: Switch(2, 1.0, hop_s=-1), "hop_s is negative"),
        (lambda: Torus([4], 1.0, hop_s=-1), "hop_s is negative"),
        (lambda: Torus([4.0], 1.0), "axes: a length must be"),
        (lambda: Axis(0), "length must be a whole number of chips"),
        (lambda: Axis(4, True, 1.5), "stride must be"),
    ],
)
def test_arguments_of_machines_are_named_when_they_are_wrong(make, says):
    with pytest.raises(sl.ScalingError, match=says):
        make()


def test_words_of_links_are_english():
    strides = {2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 21: "21st"}
    for stride, said in strides.items():
        assert f"every {said} chip" in str(Torus((Axis(4, False, stride),), 1.0))
    assert str(Switch(1, 1.0)).startswith("1 chip on") and "1 slice over" in repr(
        sl.MultiSlice(sl.TpuSlice("tpu-v5e", (4, 4)), 1)
    )
