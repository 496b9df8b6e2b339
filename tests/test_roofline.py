"""Rooflines against counting: exact fractions, and whole batches tried one by one."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_traffic import traffic
from hypothesis import given
from hypothesis import strategies as st

import scaling_lib as sl

SIZES = st.integers(1, 5000)
DTYPES = st.sampled_from(["bf16", "int8", "int4", "fp8", "f32"])


def toy(ridge, bandwidth=1.0):
    """A chip whose ridge point is `ridge` for every dtype."""
    rates = {f"{dtype}_flops_per_s": ridge * bandwidth for dtype in sl.DTYPES}
    fields = {"hbm_bytes_per_s": bandwidth, "ici_bytes_per_s": bandwidth, "vector_flops_per_s": ridge * bandwidth}
    return dataclasses.replace(sl.chip("tpu-v5e"), **rates, **fields)


@given(st.integers(1, 400), st.integers(1, 300), st.integers(1, 300), DTYPES, DTYPES, DTYPES)
def test_the_critical_batch_is_the_first_whole_batch_that_is_bound_by_maths(ridge, d, f, x, w, out):
    exact = sl.critical_batch(toy(ridge), d, f, x=x, w=w, out=out, compute="bf16")

    def by_maths(b):  # 2BDF / P >= bytes / beta, in exact fractions
        return Fraction(2 * b * d * f, ridge) >= traffic(b, d, f, x, w, out)

    gain = Fraction(2 * d * f, ridge) - (traffic(1, d, f, x, w, out) - traffic(0, d, f, x, w, out))
    if gain <= 0:
        assert exact == math.inf and not by_maths(10**12)
    elif exact < 1e12:
        first = math.ceil(exact * (1 - 1e-12))
        assert by_maths(first) or by_maths(first + 1)
        assert first <= 1 or not by_maths(first - 1)


@pytest.mark.parametrize("ridge", [3, 10, 24])
def test_trying_every_batch_gives_the_same(ridge):
    chip = toy(ridge)
    for d, f in itertools.product([4, 17, 64, 100], repeat=2):
        tried = [b for b in range(1, 3000) if sl.time_bounds(sl.matmul_work(b, d, f), chip).bound == "math"]
        batch = sl.critical_batch(chip, d, f)
        assert (tried[0] if tried else math.inf) == (math.ceil(batch - 1e-9) if batch < math.inf else batch)
        assert tried == list(range(tried[0], 3000)) if tried else True


@given(SIZES, SIZES)
def test_with_two_bytes_everywhere_the_crossover_is_a_sum_of_reciprocals(d, f):
    batch = sl.critical_batch("tpu-v5e", d, f)
    rest = Fraction(820, 197000) - Fraction(1, d) - Fraction(1, f)  # 1/I* - 1/D - 1/F
    assert batch == (pytest.approx(float(1 / rest), rel=1e-6) if rest > 0 else math.inf)


@given(st.floats(1, 1e4), st.floats(0.05, 20), DTYPES, DTYPES)
def test_below_the_critical_width_no_batch_helps_and_above_it_one_does(ridge, aspect, x, out):
    chip = toy(ridge)
    width = sl.critical_width(chip, aspect=aspect, x=x, out=out, compute="bf16")
    assert sl.critical_batch(chip, 0.999 * width, 0.999 * aspect * width, x=x, out=out, compute="bf16") == math.inf
    assert sl.critical_batch(chip, 1.001 * width, 1.001 * aspect * width, x=x, out=out, compute="bf16") < math.inf
    assert sl.max_intensity(width, aspect * width, x=x, out=out) == pytest.approx(ridge)


def test_over_pcie_activations_alone_keep_a_v6e_waiting():
    # Counting activations, F = 4D over PCIe at 1.5e10 needs D > 76,667 (2025 edition, chapter 2, question 3).
    slow = dataclasses.replace(sl.chip("tpu-v6e"), bf16_flops_per_s=9.2e14, pcie_bytes_per_s=1.5e10)
    assert sl.critical_width(slow, aspect=4, link="pcie") == pytest.approx(76666.67, rel=1e-6)
    assert sl.critical_batch(slow, 8192, 4 * 8192, link="pcie") == math.inf


def test_int8_weights_halve_the_crossover_and_int8_maths_doubles_it_back():
    bf16, mixed, int8 = (
        sl.critical_batch("tpu-v5e", 1e9, 1e9, **dtypes) for dtypes in ({}, {"w": "int8"}, {"x": "int8"})
    )
    assert mixed == pytest.approx(bf16 / 2) and int8 == pytest.approx(bf16)


@given(st.floats(1e-6, 1e9), st.sampled_from(sl.chips()))
def test_the_roof_is_reached_exactly_from_the_ridge_on(intensity, chip):
    for link in chip.links:
        rate = sl.attainable_flops_per_s(chip, intensity, link=link)
        peak, ridge = chip.peak_flops_per_s(), sl.ridge_point(chip, link=link)
        assert rate == pytest.approx(min(peak, intensity * peak / ridge))
        t = sl.time_bounds(sl.Work(intensity * 1e6, 1e6), chip, link=link)
        assert intensity * 1e6 / t.lower_s == pytest.approx(rate)


def test_bytes_through_a_link_are_charged_to_that_resource():
    parts = {}
    for chip in ("tpu-v5e", "h100"):
        for link in sl.chip(chip).links:
            t = sl.time_bounds(sl.Work(1.0, 1e9), chip, link=link)
            parts[link] = t.bound
            assert t.lower_s == 1e9 / sl.chip(chip).link_bytes_per_s(link)
    network = dict.fromkeys(["ici", "ici_axis", "dcn", "nvlink", "scaleout"], "network")
    assert parts == dict.fromkeys(["hbm", "vmem", "smem", "l2"], "memory") | network | {"pcie": "host"}


def test_a_fixed_cost_binds_where_the_work_is_small():
    small, large = (sl.time_bounds(sl.matmul_work(b, 4096, 4096), "h100", latency_s=5e-6) for b in (1, 10**5))
    assert sl.time_bounds(sl.matmul_work(1, 64, 64), "h100", latency_s=5e-6).bound == "latency"
    assert small.bound == "memory" and large.bound == "math" and small.latency_s == 5e-6
    assert small.upper_s == pytest.approx(small.math_s + small.memory_s + 5e-6)


def test_mixed_dtypes_run_at_the_wider_ones_rate_unless_told_otherwise():
    work = sl.matmul_work(8, 8, 8, x="bf16", w="int8")
    assert work.dtype == "bf16" == sl.matmul_work(8, 8, 8, x="int8", w="bf16").dtype
    fast = sl.time_bounds(work, "tpu-v5e", compute="int8")
    assert sl.time_bounds(work, "tpu-v5e").math_s == 2 * fast.math_s
    assert sl.matmul_work(8, 8, 8, x="bf16", w="int8", compute="int8").dtype == "int8"
    with pytest.raises(sl.ScalingError, match="compute must be given where x is 'fp8' and w is 'int8'"):
        sl.matmul_work(8, 8, 8, x="fp8", w="int8")


@given(SIZES, SIZES, SIZES, st.integers(1, 1000))
def test_two_chips_share_the_maths_and_exchange_the_product(b, d, f, ridge):
    t = sl.two_chip_matmul_time(b, d, f, toy(ridge))
    assert t.math_s == pytest.approx(b * d * f / ridge)
    assert t.network_s == 2 * b * f
    assert t.memory_s == pytest.approx(float(traffic(b, Fraction(d, 2), f, "bf16", "bf16", "bf16")))


@given(SIZES, SIZES, st.integers(1, 1000))
def test_whether_the_exchange_binds_depends_on_the_contracting_size_only(b, f, ridge):
    chip = toy(ridge)
    depth = sl.critical_contraction(chip)
    for d in (0.99 * depth, 1.01 * depth):
        t = sl.two_chip_matmul_time(b, d, f, chip)
        assert (t.math_s > t.network_s) == (d > depth)


def test_the_link_between_two_chips_is_ici_or_nvlink():
    assert sl.two_chip_matmul_time(8, 8, 8, "h100").network_s == 2 * 8 * 8 / 450e9
    assert sl.two_chip_matmul_time(8, 8, 8, "tpu-v5e", link="dcn").network_s == 2 * 8 * 8 / 3.125e9
    with pytest.raises(sl.UnknownLink, match=r"'hbm' is unknown for two chips: .*known: ici_axis, ici, dcn"):
        sl.two_chip_matmul_time(8, 8, 8, "tpu-v5e", link="hbm")


@pytest.mark.parametrize("link", ["hbm", "pcie", "vmem", "nvlink", "", ["ici"], 3])
def test_both_two_chip_formulas_refuse_what_does_not_join_chips(link):
    for call in (
        lambda: sl.critical_contraction("tpu-v5e", link=link),
        lambda: sl.two_chip_matmul_time(8, 8, 8, "tpu-v5e", link=link),
    ):
        with pytest.raises(sl.UnknownLink) as error:
            call()
        assert f"link {link!r} is unknown for two chips" in str(error.value)
    # 2 bytes times 197e12 / 3.125e9
    assert sl.critical_contraction("tpu-v5e", link="dcn") == pytest.approx(126_080)


def test_a_link_must_be_a_name():
    for link in (["hbm"], None, np.array(["hbm"])):
        with pytest.raises(sl.UnknownLink, match="known: vmem, hbm"):
            sl.ridge_point("tpu-v5e", link=link)


@pytest.mark.parametrize("bad", [None, 5.0, "matmul", (1e9, 1e6)])
def test_only_work_takes_time(bad):
    with pytest.raises(sl.ScalingError, match="work must be a Work, such as matmul_work"):
        sl.time_bounds(bad, "tpu-v5e")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"flops": -1, "bytes": 1}, "flops is negative"),
        ({"flops": 1, "bytes": math.nan}, "bytes is not a number"),
        ({"flops": 1, "bytes": 1, "dtype": "bf17"}, "dtype 'bf17' is unknown"),
        ({"flops": 1, "bytes": 1, "unit": "mxu"}, "unit must be one of matrix, vector, got 'mxu'"),
    ],
)
def test_work_that_cannot_be_is_refused(fields, says):
    with pytest.raises(sl.ScalingError, match=says):
        sl.Work(**fields)


def test_sizes_too_large_together_are_named():
    with pytest.raises(sl.ScalingError, match=r"b = 1e\+11, d = 1e\+11, f = 1e\+11 make 2e\+33 FLOPs"):
        sl.matmul_work(1e11, 1e11, 1e11)
    with pytest.raises(sl.ScalingError, match=r"rows = 1e\+16, cols = 1e\+16"):
        sl.softmax_work(1e16, 1e16)
    work = sl.matmul_work([8, 1e11], 1e11, 1e11)
    assert work.flops.reason.tolist() == [0, sl.Reason.TOO_LARGE]


SWEEPS = {
    "matmul": lambda b, d: sl.time_bounds(sl.matmul_work(b, d, 4096, w="int8"), "tpu-v5e").lower_s,
    "bound": lambda b, d: sl.time_bounds(sl.matmul_work(b, d, 4096), "h100").bound,
    "critical": lambda b, d: sl.critical_batch("tpu-v5e", b, d),
    "dot": lambda b, d: sl.dot_work(b).intensity + 0 * d,
    "softmax": lambda b, d: sl.softmax_work(b, d).intensity,
    "layer norm": lambda b, d: sl.layer_norm_work(b, d).intensity,
    "elementwise": lambda b, d: sl.elementwise_work(b, inputs=d).bytes,
    "network": lambda b, d: sl.two_chip_matmul_time(b, d, 64, "tpu-v5e").upper_s,
    "attainable": lambda b, d: sl.attainable_flops_per_s("h100", b) + 0 * d,
    "width": lambda b, d: sl.critical_width("h100", aspect=b / d),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_one_call_evaluates_a_whole_sweep(name):
    b, d = np.array([[1], [77], [4096], [10**6]]), np.array([3, 700, 8192])
    swept, one_by_one = SWEEPS[name](b, d), [[SWEEPS[name](int(i), int(j)) for j in d] for i in b[:, 0]]
    assert swept.tolist() == one_by_one
    assert {type(v) for row in one_by_one for v in row} <= {float, str}


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "256", True, None])
@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("b", lambda n: sl.matmul_work(n, 8, 8)),
        ("f", lambda n: sl.matmul_work(8, 8, n)),
        ("g", lambda n: sl.batched_matmul_work(n, 8, 8, 8)),
        ("n", sl.dot_work),
        ("inputs", lambda n: sl.elementwise_work(8, inputs=n)),
        ("cols", lambda n: sl.softmax_work(8, n)),
        ("rows", lambda n: sl.layer_norm_work(n, 8)),
        ("d", lambda n: sl.critical_batch("tpu-v5e", n, 8)),
        ("f", lambda n: sl.max_intensity(8, n)),
        ("aspect", lambda n: sl.critical_width("tpu-v5e", aspect=n)),
        ("intensity", lambda n: sl.attainable_flops_per_s("tpu-v5e", n)),
        ("d", lambda n: sl.two_chip_matmul_time(8, n, 8, "tpu-v5e")),
    ],
)
def test_an_illegal_size_is_named_and_refused(argument, call, bad):
    with pytest.raises(sl.ScalingError, match=f"^{argument} (is|must be)") as error:
        call(bad)
    assert repr(bad) in str(error.value)


def test_an_illegal_entry_of_a_sweep_is_masked_and_the_others_stand():
    b = np.array([1.0, 0.0, math.nan, 256.0])
    t = sl.time_bounds(sl.matmul_work(b, 8192, 8192), "tpu-v5e")
    assert t.lower_s.reason.tolist() == [0, sl.Reason.ZERO, sl.Reason.NOT_A_NUMBER, 0]
    assert t.lower_s[3] == sl.time_bounds(sl.matmul_work(256, 8192, 8192), "tpu-v5e").lower_s
    batch = sl.critical_batch("tpu-v5e", [8192, -1, 128], 8192)
    assert batch.tolist() == [pytest.approx(255.2, rel=1e-3), None, math.inf]


def test_unknown_names_are_refused_everywhere():
    with pytest.raises(sl.UnknownChip, match="did you mean"):
        sl.ridge_point("tpu-v5")
    with pytest.raises(sl.UnknownDtype):
        sl.ridge_point("tpu-v5e", dtype="bfloat16")
    with pytest.raises(sl.UnknownLink, match="known: vmem, hbm, ici_axis, ici, dcn, pcie"):
        sl.ridge_point("tpu-v5e", link="nvlink")
    with pytest.raises(sl.UnsupportedDtype, match=r"TPU v5e has no fp8 rate \(.*\): it has bf16, int8, int4"):
        sl.time_bounds(sl.matmul_work(8, 8, 8, x="fp8"), "tpu-v5e")
    with pytest.raises(sl.UnknownDtype):
        sl.ridge_table("bf17")


def test_the_ridge_table_has_every_chip_and_every_link():
    links, rows = sl.ridge_rows()
    assert list(rows) == [c.title for c in sl.chips()]
    for c in sl.chips():
        assert tuple(link for link, point in zip(links, rows[c.title], strict=True) if point is not None) == c.links
    # 240 on a v5e and 295 on an H100 are the numbers every text on the subject quotes.
    assert "| TPU v5e | 10.9 | – | – | 240.2 |" in sl.ridge_table() and "| 295.2 |" in sl.ridge_table()
