"""Every fact of the chapter on accelerators that is no figure of a chip: tori, slices, hosts, links, transfers.

What belongs to the systolic array is listed as without counterpart here and checked where that is simulated.
"""

import dataclasses

import pytest
from facts_table import assert_holds, inputs, load, pairs, reason_of

import scaling_lib as sl
from scaling_lib.hardware import Torus

FACTS = load("ch02") | {n: f for n, f in load("e2026_networks").items() if not n.startswith("e2026.sharding")}
V5E, V5P = sl.chip("tpu-v5e"), sl.chip("tpu-v5p")
SQUARE = sl.TpuSlice("tpu-v5e", (4, 4))
NAMES = {"v3": "tpu-v3", "v4p": "tpu-v4", "v4": "tpu-v4", "v5p": "tpu-v5p", "v5e": "tpu-v5e", "v6e": "tpu-v6e"}


def core_rate(chip, cycles_per_s):
    """FLOP/s of one MXU of a chip: a multiply-add a cell and cycle."""
    return 2 * chip.mxu_dim**2 * cycles_per_s


def implied_clock(name):
    c = sl.chip(NAMES[name])
    return c.bf16_flops_per_s / (c.tensorcores * c.mxus_per_tensorcore * core_rate(c, 1))


def shape_of(text):
    return tuple(map(int, text.split("x")))


def wraparound(key):
    chip, shape, *axis = key.split("_")
    wraps = sl.TpuSlice(NAMES[chip], shape_of(shape)).wraps
    if axis == ["short"]:
        return int(wraps[0])
    return int(wraps[-1] if axis == ["long"] else all(wraps))


def line_over_rule(n):
    """A line's all-gather over V/W, W both directions of a link."""
    return sl.all_gather_time(1.0, Torus([n], 1.0)).bandwidth_s / (1.0 / 2.0)


def line_over_ring(n):
    ring, line = (sl.all_gather_time(1.0, Torus([(n, wraps)], 1.0)).bandwidth_s for wraps in (True, False))
    return line / ring


def pod(name, shape, hbm_bytes):
    s = sl.TpuSlice(name, shape)
    total = s.n_chips * s.chip.peak_flops_per_s()
    return {"hosts": s.n_hosts, "tensorcores": s.n_cores, "total_flops": total, "total_hbm": s.n_chips * hbm_bytes}


def corner_to_corner(nbytes):
    t = sl.transfer_time(nbytes, SQUARE, (0, 0), (3, 3))
    hops = SQUARE.distance((0, 0), (3, 3))
    return {
        "hops": hops,
        "t": hops * SQUARE.rules.ici_hop_s,
        "bw": SQUARE.ports * SQUARE.link_bytes_per_s,
        "t_stream": t.bandwidth_s,
        "transfer": t.bandwidth_s,
        "t_total": t.upper_s,
        "total": t.upper_s,
        "nbytes": nbytes,
    }


def streamed(n):
    """A matrix of n × n bytes gathered on one corner of a 4x4: what an all-gather's corner chip takes in."""
    corner = sl.all_gather_time(n * n, SQUARE).bandwidth_s
    work = sl.matmul_work(8, n, n, x="bf16", w="int8")
    parts = sl.time_bounds(work, V5E).math_s, n * n / V5E.hbm_bytes_per_s, n * n / 2 / (8 * 15e9)
    return {
        "recv": n * n * 15 / 16,
        "t": corner,
        "allgather": corner * 16 / 15,
        "bidi_link": SQUARE.ports * SQUARE.link_bytes_per_s,
        "flops": work.flops,
        "lower": max(corner, *parts),
        "upper": corner + sum(parts),
    }


def int8_batch(link):
    return sl.critical_batch(V5E, 4096, 16384, x="int8", w="int8", link=link)


def dcn_threshold(name, C=None):
    c = sl.chip(name) if C is None else dataclasses.replace(sl.chip(name), bf16_flops_per_s=C)
    return sl.ridge_point(c, link="dcn")


def links_of_square():
    closed = 2 * 4  # a drawing: no v5e of 4x4 is closed
    return {"mesh_links": SQUARE.n_links, "wrap_links": closed, "links_per_chip": 2 * (SQUARE.n_links + closed) / 16}


CHECKS = {
    "tpus.core.mxu_rate": lambda **_: {
        "flops_per_op": 2 * 8 * V5E.mxu_dim**2,
        "flops_per_cycle": core_rate(V5E, 1),
        "per_mxu": V5E.bf16_flops_per_s / V5E.mxus_per_tensorcore,
        "per_chip": V5E.bf16_flops_per_s,
    },
    "tpus.core.v5p_rate": lambda **_: {
        "per_core": V5P.bf16_flops_per_s / V5P.tensorcores,
        "per_chip": V5P.bf16_flops_per_s,
        "pod_chips": V5P.pod_chips,
        "per_pod": sl.TpuSlice(V5P, V5P.pod_shape).n_chips * V5P.bf16_flops_per_s,
    },
    "tpus.core.multiply_add_count": lambda **_: {
        "mac_per_s": V5E.bf16_flops_per_s / 2,
        "mac_per_s_v5p": V5P.bf16_flops_per_s / 2,
    },
    "tpus.rule.vmem_intensity": lambda **_: {
        "vmem_bw": V5E.link_bytes_per_s("vmem"),
        "critical": sl.ridge_point(V5E, link="vmem"),
    },
    "tpus.core.pcie_ratio": lambda **_: {"ratio": sl.chip("tpu-v4").hbm_bytes_per_s / 16e9},
    "tpus.net.torus_distance": lambda N: {"ring": Torus([(N, True)], 1.0).hops, "line": Torus([N], 1.0).hops},
    "tpus.net.wraparound_rule": lambda rule: {
        key: wraparound(key) for key in FACTS["tpus.net.wraparound_rule"]["expected"]
    },
    "tpus.rule.no_wrap_penalty": lambda: {
        "N2": line_over_rule(2),
        "N4": line_over_rule(4),
        "N8": line_over_rule(8),
        "limit": line_over_rule(10**6),
        "optimal_schedules_N4": line_over_ring(4),
    },
    "tpus.net.v5p_hbm_vs_ici": lambda **_: {
        "hbm_bw": V5P.hbm_bytes_per_s,
        "ratio_oneway": V5P.hbm_bytes_per_s / V5P.link_bytes_per_s("ici"),
        "ratio_bidi_axis": V5P.hbm_bytes_per_s / V5P.link_bytes_per_s("ici_axis"),
    },
    "tpus.takeaway.low_precision": lambda: (
        {
            f"{name}_ratio": sl.chip(chip).peak_flops_per_s("int8") / sl.chip(chip).peak_flops_per_s()
            for name, chip in NAMES.items()
            if name not in ("v3", "v4")
        }
        | {"int8": V5E.peak_flops_per_s("int8") / V5E.peak_flops_per_s()}
        | {"int4": sl.chip("tpu-v6e").peak_flops_per_s("int4") / sl.chip("tpu-v6e").peak_flops_per_s()}
    ),
    "tpus.ex.q2_v5e_pod": lambda hbm, **_: pod("tpu-v5e", (16, 16), hbm),
    "tpus.ex.q2_v5p_pod": lambda hbm, **_: pod("tpu-v5p", (16, 20, 28), hbm),
    "tpus.ex.q3_pcie_validity": lambda D, peak, pcie: {
        "max_intensity": sl.max_intensity(D, 4 * D),
        "required": peak / pcie,
        "feasible": int(sl.max_intensity(D, 4 * D) > peak / pcie),
        "min_D": sl.critical_width(
            dataclasses.replace(sl.chip("tpu-v6e"), bf16_flops_per_s=peak, pcie_bytes_per_s=pcie), aspect=4, link="pcie"
        ),
    },
    "tpus.ex.q5_1_first_byte": lambda **_: corner_to_corner(1),
    "tpus.ex.q5_2_transfer": lambda a, b, c, **_: corner_to_corner(2 * a * b * c),
    "tpus.ex.q6_3_ici": lambda n, **_: streamed(n),
    "tpus.ex.q6_5_flops": lambda n, **_: {
        "flops": streamed(n)["flops"],
        "t": sl.time_bounds(sl.Work(streamed(n)["flops"], 0), V5E).math_s,
    },
    "tpus.ex.q6_6_total": lambda n, **_: streamed(n),
    "tpus.appb.implied_clock": lambda **_: {f"{name}_hz": implied_clock(name) for name in ("v3", "v4", "v5p", "v5e")},
    "tpus.core.matmul_scaling": lambda n, bpe: {
        "flops": sl.matmul_work(n, n, n).flops,
        "nbytes": sl.matmul_work(n, n, n).bytes,
        "intensity": sl.matmul_work(n, n, n).intensity,
    },
    "tpus.core.figure_cores": lambda: {"cores": V5P.tensorcores, "tray_chips": sl.TpuSlice(V5P, (2, 2, 1)).n_chips},
    "tpus.net.figure_wraparound": lambda n: links_of_square() | {"highlighted_tray": 16 // SQUARE.n_trays},
    "tpus.net.figure_rack": lambda: {"chips_per_rack": sl.TpuSlice("tpu-v4", (4, 4, 4)).n_chips},
    "tpus.net.figure_subslices": lambda: {
        key: sl.TpuSlice(name, shape).n_chips
        for key, name, shape in [
            ("cube_a", "tpu-v4", (2, 2, 1)),
            ("cube_b", "tpu-v4", (2, 2, 2)),
            ("cube_c", "tpu-v4", (2, 2, 4)),
            ("pod_a", "tpu-v5e", (4, 8)),
            ("pod_b", "tpu-v5e", (4, 4)),
        ]
    },
    "tpus.ex.q6_figure": lambda: {
        "hosts": SQUARE.n_hosts,
        "chips_per_host": SQUARE.chips_per_host,
        "cross_host_ici": SQUARE.shape[1] * (SQUARE.shape[0] // SQUARE.host_shape[0] - 1),
        "corner_links": SQUARE.ports,
    },
    "e2026.tpus.v5p_bandwidths": lambda **_: {
        "hbm": V5P.hbm_bytes_per_s,
        "hbm_over_link": V5P.hbm_bytes_per_s / V5P.link_bytes_per_s("ici"),
        "link_over_dcn": V5P.link_bytes_per_s("ici") / V5P.link_bytes_per_s("dcn"),
        "axis_two_way": V5P.link_bytes_per_s("ici_axis"),
    },
    "e2026.tpus.gpu_contrast": lambda: {
        "h100_node": sl.GpuCluster("h100", 64).node,
        "nvl72": sl.GpuCluster("gb200", 144).node,
    },
    "e2026.tpus.wrap_v5e": lambda: {
        "long_axis_8x16": int(sl.TpuSlice("tpu-v5e", (8, 16)).wraps[1]),
        "axis_needed": SQUARE.rules.wrap_length,
    },
    "e2026.tpus.q3": lambda C, P, P6: {
        "as_posed": C / P,
        "with_own_spec": C / sl.chip("tpu-v6e").link_bytes_per_s("pcie"),
    },
    "e2026.tpus.q4_1": lambda: {"exact": int8_batch("hbm")},
    "e2026.tpus.q4_2": lambda: {"bw": V5E.link_bytes_per_s("vmem"), "batch": int8_batch("vmem")},
    "e2026.tpus.q5": lambda: corner_to_corner(2 * 8 * 128 * 8192),
    "e2026.tpus.q6": lambda V: {
        "pcie": V / (16 * sl.chip("tpu-v4").link_bytes_per_s("pcie")),
        "ici": sl.all_gather_time(V, SQUARE).bandwidth_s,
        "hbm": V / V5E.hbm_bytes_per_s,
        "math": sl.time_bounds(sl.Work(2 * 8 * 131072**2, 0), V5E).math_s,
        "total_min": sl.all_gather_time(V, SQUARE).bandwidth_s,
        "exact_ici": sl.all_gather_time(2**34, SQUARE).bandwidth_s,
    },
    "e2026.tpus.dated_claims": lambda: {
        "flops_ratio": sl.chip("tpu-7x").bf16_flops_per_s / V5P.bf16_flops_per_s,
        "hbm_ratio": sl.chip("tpu-7x").hbm_bytes_per_s / V5P.hbm_bytes_per_s,
    },
    "e2026.training.dcn_rule": lambda **_: {"threshold": dcn_threshold("tpu-v5p")},
    "e2026.training.dcn_summary": lambda: {"t": dcn_threshold("tpu-v5p")},
    "e2026.training.dcn_v5e": lambda C, W: {"t": dcn_threshold("tpu-v5e", C)},
    "e2026.training.dcn_v6e": lambda C, W: {"t": dcn_threshold("tpu-v6e", C)},
    "e2026.training.dcn_tpu7x": lambda C, W: {"t": dcn_threshold("tpu-7x", C)},
    "e2026.training.largest_slice": lambda: {
        "v5p": sl.TpuSlice("tpu-v5p", (16, 20, 28)).n_chips,
        "tpu7x": sl.TpuSlice("tpu-7x", (4, 4, 576)).n_chips,
    },
}


def ours(name):
    """What the library says of a fact, or None where no check is written."""
    return CHECKS[name](**inputs(FACTS[name])) if name in CHECKS else None


@pytest.mark.parametrize(("name", "key"), pairs(FACTS))
def test_a_fact_of_the_machines_holds_or_says_why_not(name, key):
    found = ours(name)
    if reason_of(name, key):
        assert found is None or key not in found, "a fact is both checked and listed as without counterpart"
    else:
        assert_holds(FACTS[name], key, found[key])


def test_facts_of_the_machines_without_a_counterpart_are_said_aloud(capsys):
    left = {name: reason_of(name, key) for name, key in pairs(FACTS) if reason_of(name, key)}
    count = sum(reason_of(name, key) is not None for name, key in pairs(FACTS))
    with capsys.disabled():
        print(f"\nchapter 2, machines: {len(pairs(FACTS)) - count} facts hold, {count} have no counterpart:")
        for name, reason in left.items():
            print(f"  {name}: {reason}")
    assert count <= 24
