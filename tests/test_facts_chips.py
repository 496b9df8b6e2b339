"""Every figure of the chips: the catalogue holds it as value or alternate, or says why it has no such field."""

import dataclasses
import json

import pytest
from facts_table import FACTS as FACTS_DIR
from facts_table import load, no_counterpart, pairs, reason_of

import scaling_lib as sl

TABLE = json.loads((FACTS_DIR / "chips.json").read_text("utf-8"))
NAMES = {
    "tpu_v3": "tpu-v3",
    "tpu_v4": "tpu-v4",
    "tpu_v5e": "tpu-v5e",
    "tpu_v5p": "tpu-v5p",
    "tpu_v6e": "tpu-v6e",
    "tpu7x": "tpu-7x",
    "a100_80gb_sxm": "a100",
    "h100_sxm": "h100",
    "h200_sxm": "h200",
    "b200_sxm": "b200",
    "gb200_nvl72": "gb200",
}
FIELDS = {
    "bf16_flops": "bf16_flops_per_s",
    "int8_ops": "int8_flops_per_s",
    "fp8_flops": "fp8_flops_per_s",
    "int4_ops": "int4_flops_per_s",
    "fp4_flops": "fp4_flops_per_s",
    "ici_oneway_bytes_per_s_per_link": "ici_bytes_per_s",
    "ici_links_per_chip": "ici_links",
    "pod_topology": "pod_shape",
    "pod_allreduce_bytes_per_s": "pod_all_reduce_bytes_per_s",
    "dcn_bytes_per_s_per_chip": "dcn_bytes_per_s",
    "pcie_bytes_per_s_per_chip": "pcie_bytes_per_s",
    "tensorcores_per_chip": "tensorcores",
    "vmem_bytes_per_chip": "vmem_bytes",
    "sm_clock_hz": "clock_hz",
    "smem_l1_bytes_per_sm": "smem_bytes_per_sm",
    "shared_max_bytes_per_sm": "smem_bytes_per_sm",
    "regs_bytes_per_sm": "registers_bytes_per_sm",
    "l2_bytes_per_s_measured": "l2_bytes_per_s",
    "nvlink_oneway_bytes_per_s": "nvlink_bytes_per_s",
    "nvlink_oneway_measured_bytes_per_s": "nvlink_bytes_per_s",
    "nvlink_domain_gpus": "nvlink_domain_chips",
    "nvswitches_per_node": "nvswitches",
    "scaleout_bytes_per_s_per_gpu": "scaleout_bytes_per_s",
    "pcie_oneway_bytes_per_s": "pcie_bytes_per_s",
    "gpus_per_host": "chips_per_host",
    "max_slice_chips": "pod_chips",
    "matmul_measured_bf16_flops": "matmul_measured_bf16_flops_per_s",
    "matmul_measured_fp8_flops": "matmul_measured_fp8_flops_per_s",
}
# Figures that are not fields because they follow from others: (formula, relative tolerance).
DERIVED = {
    "ici_bidi_bytes_per_s_per_chip_vendor": (
        lambda c: 2 * c.ici_links * alternate(c, "ici_bytes_per_s", 1e-9, -1),
        0.2,
    ),
    "nvlink_bidi_bytes_per_s": (lambda c: 2 * c.nvlink_bytes_per_s, 1e-9),
    "node_egress_bytes_per_s": (lambda c: c.nvlink_domain_chips * c.scaleout_bytes_per_s, 1e-9),
    "tensor_cores": (lambda c: 4 * c.sms, 1e-9),
    "cuda_cores": (lambda c: 128 * c.sms, 1e-9),
    "flops_per_tc_per_cycle_bf16": (lambda c: c.bf16_flops_per_s / (4 * c.sms * c.clock_hz), 0.06),
    "rack_hbm_bytes": (lambda c: c.nvlink_domain_chips * c.hbm_bytes, 0.01),
    "rack_nvlink_bytes_per_s": (lambda c: 2 * c.nvlink_domain_chips * c.nvlink_bytes_per_s, 0.01),
}
# Where our default names another source than the table: the one that prints this very figure.
SOURCES = {
    ("tpu_v3", "hbm_bytes_per_s"): "https://docs.cloud.google.com/tpu/docs/v3",
    ("tpu_v5e", "hbm_bytes_per_s"): "https://github.com/jax-ml/scaling-book/blob/main/tpus.md",
}
ROWS = [(key, field) for key, row in TABLE.items() for field, entry in row.items() if isinstance(entry, dict)]


def alternate(c, field, _, index):
    """One of the other values of a field, or the value itself where there is none."""
    others = [other.value for other in c.origins[field].alternates]
    return others[index] if others else getattr(c, field)


def stated(c, field):
    return [getattr(c, field), *(other.value for other in c.origins[field].alternates)]


def same(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(theirs, list):
        return isinstance(ours, tuple) and list(ours) == theirs
    return ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(("key", "field"), ROWS)
def test_the_catalogue_holds_every_figure_of_the_fact_table(key, field):
    c, entry = sl.chip(NAMES[key]), TABLE[key][field]
    ours = FIELDS.get(field, field)
    if f"chips/{field}" in no_counterpart():
        assert ours not in c.origins, "a figure is both in the catalogue and listed as without counterpart"
    elif field in DERIVED:
        formula, rel = DERIVED[field]
        assert formula(c) == pytest.approx(entry["value"], rel=rel)
    else:
        default = field not in ("shared_max_bytes_per_sm", "nvlink_oneway_measured_bytes_per_s", "max_slice_chips")
        if default:
            assert same(getattr(c, ours), entry["value"])
            assert c.origins[ours].source.endswith(SOURCES.get((key, field), entry["source"]))
        assert any(same(value, entry["value"]) for value in stated(c, ours))
        for conflict in entry.get("conflicts", []):
            assert any(same(value, conflict["value"]) for value in stated(c, ours))


SPECS = load("chip_specs")
V = {"v3": "tpu-v3", "v4p": "tpu-v4", "v5p": "tpu-v5p", "v5e": "tpu-v5e", "v6e": "tpu-v6e", "tpu7x": "tpu-7x"}


def spec_row(name):
    """A row of the reference book's chip table: every value is ours, or an alternate of ours."""

    def check(key):
        c = sl.chip(name)
        fields = {
            "pod_topology": lambda: ["x".join(map(str, c.pod_shape))],
            "pod_chips": lambda: [c.pod_chips],
            "host_topology": lambda: ["x".join(str(n) for n in sorted(host_of(c), reverse=True))],
            "host_chips": lambda: stated(c, "chips_per_host"),
            # Capacities are printed in GB where 2**30 is meant.
            "hbm_bytes": lambda: [*stated(c, "hbm_bytes"), round(c.hbm_bytes / 2**30) * 1e9],
            "hbm_bw": lambda: stated(c, "hbm_bytes_per_s"),
            "bf16_flops": lambda: stated(c, "bf16_flops_per_s"),
            "int8_ops": lambda: stated(c, "int8_flops_per_s"),
            "ici_link_oneway": lambda: stated(c, "ici_bytes_per_s"),
            "ici_link_bidi": lambda: [c.link_bytes_per_s("ici_axis")],
            "torus_dims": lambda: [c.ici_axes],
            "pcie_per_chip": lambda: stated(c, "pcie_bytes_per_s"),
            "vmem_bytes": lambda: [c.vmem_bytes],
        }
        return fields[key]()

    return check


def host_of(c):
    return sl.TpuSlice(c, c.pod_shape).host_shape


def node_ports(c):
    return sl.GpuCluster(c, c.nvlink_domain_chips).rules.nvswitch_ports


def core(name, clock_hz):
    """What one TensorCore's program drives."""
    return of(
        name,
        total_alus=lambda c: c.vector_flops_per_s / c.tensorcores / clock_hz,
        vpu_alus=lambda c: c.vector_flops_per_s / c.tensorcores / clock_hz,
        alus=lambda c: c.vector_flops_per_s / c.tensorcores / clock_hz,
        mxus="mxus_per_tensorcore",
    )


def ridges(name):
    """Ridge points of the fact's own table row, with the catalogue's structure."""
    row = {"v3": (1.4e14, 1.4e14, 9e11, 1e11), "v4p": (2.75e14, 2.75e14, 1.2e12, 4.5e10)}
    row |= {"v5p": (4.59e14, 9.18e14, 2.8e12, 9e10), "v5e": (1.97e14, 3.94e14, 8.2e11, 4.5e10)}
    row |= {"v6e": (9.2e14, 1.84e15, 1.6e12, 9e10)}
    bf16, int8, hbm, ici = row[name]
    pcie = 3.2e10 if name == "v6e" else 1.5e10
    rates = {"bf16_flops_per_s": bf16, "int8_flops_per_s": int8, "hbm_bytes_per_s": hbm, "ici_bytes_per_s": ici}
    c = dataclasses.replace(sl.chip(V[name]), **rates, pcie_bytes_per_s=pcie, vmem_bytes_per_s=22 * hbm)

    def check(key):
        kind, dtype = key.rsplit("_", 1)
        if kind == "B_crit":
            return [sl.critical_batch(c, 1e12, 1e12, x=dtype)]
        return [sl.ridge_point(c, dtype=dtype, link=kind)]

    return check


def of(name, **fields):
    """Keys that are a field of one chip (value or alternate), or a formula of the chip."""

    def check(key):
        c, field = sl.chip(name), fields[key]
        return stated(c, field) if isinstance(field, str) else [field(c)]

    return check


def chips_of(field, **names):
    return lambda key: stated(sl.chip(names.get(key, V.get(key, key))), field)


def capacity(name):
    return of(
        name,
        sms="sms",
        smem_per_sm=lambda c: c.smem_bytes_per_sm,
        l2=lambda c: c.l2_bytes,
        hbm="hbm_bytes",
        regs_per_sm="registers_bytes_per_sm",
        clock_boost="clock_hz",
    )


def vector(name):
    return of(name, fma="f32_flops_per_s", no_fma=lambda c: c.vector_flops_per_s / 2)


CHECKS = {
    **{f"tpus.spec.{v}": spec_row(V[v]) for v in ("v3", "v4p", "v5p", "v5e", "v6e")},
    **{f"tpus.rule.critical_intensity_{v}": ridges(v) for v in ("v3", "v4p", "v5p", "v5e", "v6e")},
    "tpus.core.v5e_int8": of("tpu-v5e", int8_ops="int8_flops_per_s"),
    "tpus.core.v5e_vmem": of("tpu-v5e", vmem="vmem_bytes", hbm="hbm_bytes"),
    "tpus.core.hbm_bw_range": lambda key: stated(
        sl.chip({"low": "tpu-v5e", "high": "tpu-v5p"}[key]), "hbm_bytes_per_s"
    ),
    "tpus.core.cores_per_chip": chips_of("tensorcores"),
    "tpus.core.tray_and_host": lambda key: {
        "v4_host_chips": [sl.chip("tpu-v4").chips_per_host],
        "v4_host_cores": [sl.chip("tpu-v4").chips_per_host * sl.chip("tpu-v4").tensorcores],
        "v5e_host_chips": [sl.chip("tpu-v5e").chips_per_host],
        "v5e_host_cores": [sl.chip("tpu-v5e").chips_per_host * sl.chip("tpu-v5e").tensorcores],
    }[key],
    "tpus.net.degree": chips_of("ici_links"),
    "tpus.net.superpod_v4": of("tpu-v4", chips="pod_chips", cubes=lambda c: c.pod_chips / 64),
    "tpus.net.superpod_v5p": of("tpu-v5p", chips="pod_chips", cubes=lambda c: c.pod_chips / 64),
    "tpus.net.pod_v5e_v6e": of("tpu-v6e", chips="pod_chips"),
    "tpus.spec.pcie": lambda key: stated(
        sl.chip({"typical_per_chip": "tpu-v3", "v6e_per_chip": "tpu-v6e", "v4_each_way": "tpu-v4"}[key]),
        "pcie_bytes_per_s",
    ),
    "tpus.appb.mxu_counts": lambda key: {
        "v3": [sl.chip("tpu-v3").mxus_per_tensorcore],
        "v4_v5": [sl.chip("tpu-v4").mxus_per_tensorcore],
        "min_dim_v3": [sl.chip("tpu-v3").mxus_per_tensorcore * sl.chip("tpu-v3").mxu_dim],
        "min_dim_v4_v5": [sl.chip("tpu-v4").mxus_per_tensorcore * sl.chip("tpu-v4").mxu_dim],
    }[key],
    "tpus.appb.alus": lambda key: {
        "cells": [sl.chip("tpu-v5e").mxu_dim ** 2],
        "cells_v6e": [sl.chip("tpu-v6e").mxu_dim ** 2],
        "flop_ratio": [(sl.chip("tpu-v6e").mxu_dim / sl.chip("tpu-v5e").mxu_dim) ** 2],
        "dim_ratio": [sl.chip("tpu-v6e").mxu_dim / sl.chip("tpu-v5e").mxu_dim],
    }[key],
    "tpus.appc.vpu_v4": core("tpu-v4", 1.05e9),
    "tpus.appc.scalar_core": core("tpu-v4", 1.05e9),
    "e2026.tpus.scalar_core": core("tpu-v5p", 1.75e9),
    "tpus.appc.vpu_v5": of(
        "tpu-v5p",
        flops_per_chip="vector_flops_per_s",
        flops_per_core=lambda c: c.vector_flops_per_s / c.tensorcores,
        adds_per_cycle=lambda c: c.vector_flops_per_s / c.tensorcores / 1.75e9,
    ),
    "e2026.tpus.spec_tpu7x": of(
        "tpu-7x",
        pod_x=lambda c: c.pod_shape[0],
        pod_y=lambda c: c.pod_shape[1],
        pod_z=lambda c: c.pod_shape[2],
        pod_chips="pod_chips",
        host_chips="chips_per_host",
        hbm="hbm_bytes",
        hbm_bw="hbm_bytes_per_s",
        bf16="bf16_flops_per_s",
        eight_bit="fp8_flops_per_s",
    ),
    "e2026.tpus.tpu7x_derived": of(
        "tpu-7x",
        ridge=lambda c: sl.ridge_point(c),
        pod_flops=lambda c: c.pod_chips * c.bf16_flops_per_s,
        pod_hbm=lambda c: c.pod_chips * 192e9,
        ici_1axis=lambda c: sl.ridge_point(c, link="ici_axis"),
        ici_3axes=lambda c: sl.ridge_point(c, link="ici_axis") / c.ici_axes,
        tp_F_per_way=lambda c: sl.ridge_point(c, link="ici_axis"),
        dcn=lambda c: sl.ridge_point(c, link="dcn"),
    ),
    "e2026.tpus.tpu7x_int8_column": of("tpu-7x", fp8=lambda c: c.fp8_flops_per_s),
    "e2026.tpus.mxu_size": chips_of("mxu_dim"),
    "e2026.tpus.megacore": of("tpu-v5e", v5e_cores="tensorcores", v6e_cores=lambda _: sl.chip("tpu-v6e").tensorcores),
    "e2026.tpus.pcie": chips_of("pcie_bytes_per_s", typical="tpu-v5e"),
    "e2026.tpus.dcn": lambda key: [
        sl.chip(V[key.removesuffix("_host")]).dcn_bytes_per_s
        * (sl.chip(V[key.removesuffix("_host")]).chips_per_host if key.endswith("_host") else 1)
    ],
    "gpus.chip.sm_count": chips_of("sms"),
    "gpus.chip.tc_generation.a100": of("a100", per_tc=lambda c: c.bf16_flops_per_s / (4 * c.sms * c.clock_hz)),
    "gpus.chip.tc_generation.h100": of("h100", per_tc=lambda c: c.bf16_flops_per_s / (4 * c.sms * c.clock_hz)),
    "gpus.mem.smem": of("h100", bytes=lambda c: c.smem_bytes_per_sm),
    "gpus.mem.l2": of(
        "h100",
        half=lambda c: c.l2_bytes / 2,
        vs_hbm=lambda c: c.l2_bytes_per_s / c.hbm_bytes_per_s,
        duplex=lambda c: 2 * c.l2_bytes_per_s / c.hbm_bytes_per_s,
    ),
    "gpus.mem.l2_vs_vmem": of("h100", size_ratio=lambda c: sl.chip("tpu-v5p").vmem_bytes / c.l2_bytes),
    "gpus.mem.registers": of("h100", bytes_per_sm="registers_bytes_per_sm"),
    "gpus.mem.hbm_prose_b200": of("b200", bw="hbm_bytes_per_s"),
    "gpus.mem.hbm_prose_h100": of("h100", bw="hbm_bytes_per_s"),
    "gpus.mem.tmem": of(
        "b200", per_sm_bytes=lambda c: c.tmem_bytes_per_sm, chip_bytes=lambda c: c.sms * c.tmem_bytes_per_sm
    ),
    **{f"gpus.spec.{name}_capacity": capacity(name) for name in ("a100", "h100", "h200", "b200")},
    "gpus.spec.b200_rates": of(
        "b200",
        hbm_bw="hbm_bytes_per_s",
        bf16="bf16_flops_per_s",
        fp8_or_int8="fp8_flops_per_s",
        fp4="fp4_flops_per_s",
        ridge_bf16=lambda c: sl.ridge_point(dataclasses.replace(c, hbm_bytes_per_s=8e12)),
        ridge_8bit=lambda c: sl.ridge_point(dataclasses.replace(c, hbm_bytes_per_s=8e12), dtype="fp8"),
    ),
    "gpus.spec.a100_fp8": of("a100", int8="int8_flops_per_s"),
    **{f"gpus.spec.{name}_fp32": vector(name) for name in ("a100", "h100", "h200")},
    "gpus.spec.b200_fp32": of(
        "b200", with_fma="f32_flops_per_s", without=lambda c: alternate(c, "f32_flops_per_s", 0, 0) / 2
    ),
    "gpus.net.h100_summary": of(
        "h100",
        gpu_egress="nvlink_bytes_per_s",
        node_egress=lambda c: c.nvlink_domain_chips * c.scaleout_bytes_per_s,
        gpu_nic="scaleout_bytes_per_s",
    ),
    "gpus.net.h100_links": of(
        "h100",
        links="nvlink_links",
        ports_used=lambda c: c.nvlink_links * c.nvlink_domain_chips,
        ports_total=lambda c: c.nvswitches * node_ports(c),
        per_switch=lambda c: node_ports(c) * c.nvlink_bytes_per_s / c.nvlink_links,
        switch_capacity=lambda c: c.nvswitches * node_ports(c) * c.nvlink_bytes_per_s / c.nvlink_links,
    ),
    "gpus.net.node_terms": of("gb200", gpus_per_host="chips_per_host"),
    "gpus.net.v5p_egress": of(
        "tpu-v5p", per_link="ici_bytes_per_s", chip=lambda c: c.ici_links * c.ici_bytes_per_s, pod="pod_chips"
    ),
    "gpus.gb200.summary": of(
        "gb200",
        nvlink="nvlink_bytes_per_s",
        nvl72_gpus="nvlink_domain_chips",
        b200_node=lambda _: sl.chip("b200").nvlink_domain_chips,
    ),
}
# Facts in decimal megabytes or of another edition's rounding.
ROUNDED = {"smem_per_sm": 0.08, "l2": 0.06, "bytes": 0.03, "half": 0.06, "size_ratio": 0.06, "per_sm_bytes": 0.03}
ROUNDED |= {"chip_bytes": 0.03, "ridge": 0.01, "dcn": 0.01, "ici_1axis": 0.01, "ici_3axes": 0.01, "tp_F_per_way": 0.01}
ROUNDED |= {
    "vs_hbm": 0.01,
    "duplex": 0.01,
    "fp8": 0.01,
    "adds_per_cycle": 1e-6,
    "per_tc": 1e-3,
    "pod_flops": 0.01,
    "hbm": 1e-6,
}


@pytest.mark.parametrize(("name", "key"), pairs(SPECS))
def test_a_stated_specification_is_in_the_catalogue(name, key):
    value = SPECS[name]["expected"][key]["value"]
    if reason_of(name, key):
        return
    found = CHECKS[name](key)
    rel = ROUNDED.get(key, 1e-4)
    assert any(v == value if isinstance(value, str) else v == pytest.approx(value, rel=rel) for v in found), found


def test_specifications_without_a_counterpart_are_said_aloud(capsys):
    every = pairs(SPECS)
    left = {(name, reason_of(name, key)) for name, key in every if reason_of(name, key)}
    checked = sum(reason_of(name, key) is None for name, key in every)
    with capsys.disabled():
        print(f"\nchips: {len(ROWS)} figures of the table, {checked} of {len(every)} specifications; no field for:")
        for name, reason in sorted(left):
            print(f"  {name}: {reason}")
