"""Every fact of the introduction and of the chapter on rooflines.

Chips are made with the fact's own figures, so that only the formula is under test.
"""

import dataclasses
import re

import pytest
from facts_table import assert_holds, inputs, load, pairs, reason_of

import scaling_lib as sl

FACTS = load("ch00", "ch01")
V5E = sl.chip("tpu-v5e")
ENDLESS = 1e12  # a size that stands for the limit of large D and F


def chip_with(peak=1.97e14, bw=8.2e11, **fields):
    return dataclasses.replace(
        V5E, bf16_flops_per_s=peak, int8_flops_per_s=peak, hbm_bytes_per_s=bw, **fields
    )  # int8 only where a fact says that its rate is int8's


def spec(name):
    def check(_):
        c = sl.chip(name)
        return {"bf16_flops": stated(c, "bf16_flops_per_s"), "hbm_bw": stated(c, "hbm_bytes_per_s")}

    return check


def stated(c, field):
    """All values a field has in the catalogue: the default, then what other sources say."""
    return [getattr(c, field), *(other.value for other in c.origins[field].alternates)]


def math_time(flops, peak):
    return {"t_math": sl.time_bounds(sl.Work(flops, 0), chip_with(peak)).math_s}


def intensity(flops, nbytes, peak, bw):
    work, c = sl.Work(flops, nbytes), chip_with(peak, bw)
    bound = sl.time_bounds(work, c).bound
    return {"intensity": work.intensity, "critical": sl.ridge_point(c), "compute_bound": bound == "math"}


def bound_fraction(intensity, peak, bw):
    return {"fraction": sl.attainable_flops_per_s(chip_with(peak, bw), intensity) / peak}


def dot(N):
    work = sl.dot_work(N)
    return {"flops": work.flops, "nbytes": work.bytes, "intensity": work.intensity, "limit": work.intensity}


def vpu(vpu, hbm):
    c = chip_with(bw=hbm, vector_flops_per_s=vpu)
    half = sl.attainable_flops_per_s(c, 0.5, unit="vector")
    return {"critical": sl.ridge_point(c, unit="vector"), "fraction_at_half": half / vpu}


def attainable(I, peak, bw):  # noqa: E741  (the fact's name)
    return {"attainable": sl.attainable_flops_per_s(chip_with(peak, bw), I)}


def two_bandwidths(peak, bw1, bw2):
    return {"ridge_bw1": sl.ridge_point(chip_with(peak, bw1)), "ridge_bw2": sl.ridge_point(chip_with(peak, bw2))}


def traffic(x):
    def check(B, D, F, **_):
        work = sl.matmul_work(B, D, F, x=x)
        store = sl.bytes_per_element(x) * B * F
        return {"load": work.bytes - store, "store": store, "flops": work.flops, "ops": work.flops}

    return check


def exact_crossover(D, F, peak, bw):
    c = chip_with(peak, bw)
    return {"B_crit": sl.critical_batch(c, D, F), "infeasible_below": sl.critical_width(c)}


def limit(x="bf16", w=None):
    def check(peak, bw):
        return {"B_crit": sl.critical_batch(chip_with(peak, bw), ENDLESS, ENDLESS, x=x, w=w)}

    return check


def partial_sums(B, D, F, **_):
    adds = sl.elementwise_work(B * F, inputs=2).flops
    return {"extra_adds": adds, "share_of_matmul": adds / sl.matmul_work(B, D / 2, F).flops}


def int8_intensity(B, D, F, peak, bw):
    c = chip_with(peak, bw)
    return {
        "intensity_exact": sl.matmul_work(B, D, F, x="int8").intensity,
        "intensity_small_batch": sl.matmul_work(B, 1e9, 1e9, x="int8").intensity,
        "critical": sl.ridge_point(c, dtype="int8"),
        "B_crit": sl.critical_batch(c, ENDLESS, ENDLESS, x="int8"),
    }


def int8_bounds(B, D, F, peak, bw):
    t = sl.time_bounds(sl.matmul_work(B, D, F, x="int8"), chip_with(peak, bw))
    return {"t_math": t.math_s, "t_comms": t.memory_s, "lower": t.lower_s, "upper": t.upper_s}


def mixed_exact(D, F, peak, bw):
    return {"B_crit": sl.critical_batch(chip_with(peak, bw), D, F, w="int8")}


def mixed_curve(D, F, peak, bw):
    c = chip_with(peak, bw)
    rates = {
        f"flops_at_B{B}": sl.attainable_flops_per_s(c, sl.matmul_work(B, D, F, w="int8").intensity)
        for B in (16, 64, 128, 256, 1024)
    }
    return rates | mixed_exact(D, F, peak, bw) | {"max_intensity": sl.max_intensity(D, F)}


def batched(B, D, F, peak, bw):
    work = sl.batched_matmul_work(B, 1, D, F, x="int8")
    fraction = sl.attainable_flops_per_s(chip_with(peak, bw), work.intensity, dtype="int8") / peak
    return {"ops": work.flops, "nbytes": work.bytes, "intensity": work.intensity, "fraction_of_peak": fraction}


def tile(bm, bn, bk, tk):
    long = sl.matmul_work(bm, 1e9, bn).intensity  # the output's share vanishes
    bound = sl.time_bounds(sl.matmul_work(bm, 1e9, bn), V5E).bound
    return {
        "intensity": long,
        "with_output": sl.matmul_work(bm, bk * tk, bn).intensity,
        "v5e_bound": bound == "math",
    }


def knee(D, C, H):
    c = chip_with(C, H)
    batch = sl.critical_batch(c, D, D, w="int8")
    rate = sl.attainable_flops_per_s(c, sl.matmul_work(100, D, D, w="int8").intensity)
    ideal = sl.critical_batch(c, ENDLESS, ENDLESS, w="int8")
    wide = sl.critical_batch(c, 4096, 4096, w="int8")
    return {"knee": batch, "rate_b100": rate, "vs_4096": batch / wide, "vs_120": batch / ideal}


CHECKS = {
    r"roofline\.time\.": math_time,
    r"roofline\.rule\.intensity_definition": intensity,
    r"roofline\.rule\.bound_fraction": bound_fraction,
    r"roofline\.dot\.intensity": dot,
    r"roofline\.dot\.vpu_critical": vpu,
    r"roofline\.plot\.attainable": attainable,
    r"roofline\.plot\.figure_regions": two_bandwidths,
    r"roofline\.matmul\.bytes_and_flops": traffic("bf16"),
    r"roofline\.rule\.bf16_batch_crossover_exact": exact_crossover,
    r"roofline\.rule\.gpu_batch_crossover": limit(),
    r"roofline\.network\.partial_sum_adds": partial_sums,
    r"roofline\.ex\.q1_[12]": traffic("int8"),
    r"roofline\.ex\.int8_matmul_intensity": int8_intensity,
    r"roofline\.ex\.q1_4": int8_bounds,
    r"roofline\.ex\.q2_mixed_precision": limit("bf16", "int8"),
    r"roofline\.ex\.q2_mixed_exact": mixed_exact,
    r"roofline\.ex\.q3_curve": mixed_curve,
    r"roofline\.ex\.q4": batched,
    r"e2026\.roofline\.v5e_hbm": lambda C, H: {"bw": V5E.hbm_bytes_per_s, "ridge": sl.ridge_point(V5E)},
    r"e2026\.roofline\.tile": tile,
    r"e2026\.roofline\.adds": lambda D, Bt, Fd: {"adds": sl.elementwise_work(Bt * Fd, inputs=2).flops},
    r"e2026\.roofline\.q3": knee,
    r"e2026\.roofline\.q5": lambda C, H: {"batch": sl.critical_batch(chip_with(C, H), ENDLESS, ENDLESS)},
}
SPECS = {"roofline.spec.h100": "h100", "roofline.spec.v6e": "tpu-v6e", "roofline.spec.v5e": "tpu-v5e"}
# Limits and the printed ratio to 120.1 are approximate in the fact itself.
LOOSE = {"limit", "intensity_small_batch", "B_crit", "batch", "intensity", "vs_4096", "vs_120", "max_intensity"}


def ours(name):
    """What the library says of a fact, or None where no check is written."""
    found = [check for pattern, check in CHECKS.items() if re.match(pattern, name)]
    return found[0](**inputs(FACTS[name])) if found else None


@pytest.mark.parametrize(("name", "key"), pairs(FACTS))
def test_a_fact_holds_or_says_why_the_library_has_no_counterpart(name, key):
    fact = FACTS[name]
    if reason_of(name, key):
        assert ours(name) is None or key not in ours(name), "a fact is both checked and listed as without counterpart"
    elif name in SPECS:
        field = {"bf16_flops": "bf16_flops_per_s", "hbm_bw": "hbm_bytes_per_s"}[key]
        values = stated(sl.chip(SPECS[name]), field)
        assert any(value == pytest.approx(fact["expected"][key]["value"], rel=1e-9) for value in values)
    else:
        assert_holds(fact, key, ours(name)[key], rel=1e-3 if key in LOOSE else 1e-9)


def test_facts_without_a_counterpart_are_few_and_said_aloud(capsys):
    left = [(name, key, reason_of(name, key)) for name, key in pairs(FACTS) if reason_of(name, key)]
    with capsys.disabled():
        print(f"\nchapters 0 and 1: {len(pairs(FACTS)) - len(left)} facts hold, {len(left)} have no counterpart:")
        for name, reason in dict.fromkeys((name, reason) for name, _, reason in left):
            print(f"  {name}: {reason}")
    of_chapter_1 = [name for name, _, _ in left if FACTS[name]["chapter"] == 1]
    assert len(of_chapter_1) <= 8


def test_the_two_chip_product_is_network_bound_below_a_contracting_size_of_8755():
    # The reference book's "Network communication rooflines": 2 C / W with C = 1.97e14, W = 4.5e10.
    assert sl.critical_contraction("tpu-v5e") == pytest.approx(2 * 1.97e14 / 4.5e10, rel=1e-12)
    assert round(sl.critical_contraction("tpu-v5e")) == 8756
