"""A chip: its rates, its links, and what it says of those it has not."""

import dataclasses
import math
import re

import pytest

import scaling_lib as sl
from scaling_lib.hardware import BOUND_OF_LINK
from scaling_lib.hardware.tables import conflict_table, field_table, heading, markdown, price_table, spec_table

CHIPS = sl.chips()
every_chip = pytest.mark.parametrize("c", CHIPS, ids=lambda c: c.name)


def test_the_catalogue_holds_eleven_chips():
    tpus = ["tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-7x"]
    assert [c.name for c in CHIPS] == [*tpus, "a100", "h100", "h200", "b200", "gb200"]
    assert all(c.kind == ("tpu" if c.name in tpus else "gpu") for c in CHIPS)


@pytest.mark.parametrize("name", ["v5e", "H100", "tpu-v9", "", None, 5])
def test_an_unknown_chip_is_answered_with_all_chips(name):
    with pytest.raises(sl.UnknownChip) as error:
        sl.chip(name)
    assert repr(name) in str(error.value) and all(c.name in str(error.value) for c in CHIPS)


def test_near_chips_are_suggested():
    with pytest.raises(sl.UnknownChip, match="did you mean tpu-v5e"):
        sl.chip("v5e")


@every_chip
def test_a_dtype_has_a_rate_or_an_error_that_names_those_that_have(c):
    for dtype in sl.DTYPES:
        if dtype in c.dtypes:
            assert c.peak_flops_per_s(dtype) > 0
        else:
            known = "known " if c.origins[f"{dtype}_flops_per_s"].kind == "unknown" else ""
            with pytest.raises(sl.UnsupportedDtype, match=f"has no {known}{dtype} rate.*bf16"):
                c.peak_flops_per_s(dtype)
    with pytest.raises(sl.UnknownDtype):
        c.peak_flops_per_s("fp16")


@every_chip
def test_a_link_has_a_bandwidth_or_an_error_that_names_those_that_have(c):
    assert "hbm" in c.links
    for link in BOUND_OF_LINK:
        if link in c.links:
            assert c.link_bytes_per_s(link) > 0
        else:
            says = "has no published figure" if link in c.link_fields else "is unknown"
            with pytest.raises(sl.UnknownLink, match=f"'{link}' {says} for .*hbm"):
                c.link_bytes_per_s(link)


@every_chip
def test_nearer_memories_are_faster(c):
    order = [link for link in ("smem", "vmem", "l2", "hbm", "nvlink", "ici", "pcie") if link in c.links]
    rates = [c.link_bytes_per_s(link) for link in order]
    assert rates == sorted(rates, reverse=True)


@every_chip
def test_halving_an_elements_bits_never_slows_the_maths(c):
    rates = [c.peak_flops_per_s(d) for d in ("f32", "bf16", "int8", "int4") if d in c.dtypes]
    assert rates == sorted(rates)


def test_an_axis_of_a_torus_has_two_links():
    for c in CHIPS:
        if c.kind == "tpu":
            assert c.link_bytes_per_s("ici_axis") == 2 * c.link_bytes_per_s("ici")
            assert c.ici_links == 2 * c.ici_axes


def test_a_chip_is_not_always_one_jax_device():
    # Counted on the topologies of libtpu: devices over chips.
    shown = {c.name: c.devices_per_chip for c in CHIPS if c.kind == "tpu"}
    assert shown == {"tpu-v3": 2, "tpu-v4": 2, "tpu-v5e": 1, "tpu-v5p": 1, "tpu-v6e": 1, "tpu-7x": 2}


def test_peaks_are_dense():
    # NVIDIA's data sheets print 1,979 for bf16 on an H100: with 2:4 sparsity.
    assert sl.chip("h100").peak_flops_per_s("bf16") == 989e12
    assert sl.chip("b200").peak_flops_per_s("bf16") == 2250e12


def test_the_vector_unit_has_one_rate_whatever_the_dtype():
    c = sl.chip("tpu-v5p")
    # 2 cores x (8 x 128) lanes x 4 ALUs x 1.75 GHz
    assert (
        c.peak_flops_per_s("bf16", unit="vector") == c.peak_flops_per_s("f32", unit="vector") == 2 * 1024 * 4 * 1.75e9
    )
    with pytest.raises(
        sl.UnsupportedDtype, match=r"TPU v6e has no known rate of the vector unit .*: of the matrix unit"
    ):
        sl.chip("tpu-v6e").peak_flops_per_s(unit="vector")
    with pytest.raises(sl.ScalingError, match="unit must be one of matrix, vector, got 'mxu'"):
        c.peak_flops_per_s(unit="mxu")


@every_chip
def test_the_rates_of_a_matrix_unit_follow_from_its_size_and_clock(c):
    if c.kind == "gpu":
        per_cycle = c.bf16_flops_per_s / (c.sms * 4 * c.clock_hz)  # 4 Tensor Cores an SM
        assert any(per_cycle == pytest.approx(n, rel=0.06) for n in (512, 1024, 2048))
    else:
        clock = c.bf16_flops_per_s / (c.tensorcores * c.mxus_per_tensorcore * 2 * c.mxu_dim**2)
        assert 0.9e9 < clock < 4.5e9


def test_a_chip_that_does_not_exist_yet_is_made_by_replacing_a_field():
    faster = dataclasses.replace(sl.chip("tpu-v5e"), hbm_bytes_per_s=1.1 * 820e9)
    assert sl.ridge_point(faster) == pytest.approx(197e12 / (1.1 * 820e9))
    assert sl.ridge_point("tpu-v5e") == pytest.approx(197e12 / 820e9)


def test_not_stated_is_not_the_same_as_not_there():
    # An fp8 multiplier came with Hopper; f32 products of a TPU exist, but nobody publishes their rate.
    for name, dtype, kind in (
        ("a100", "fp8", "unsupported"),
        ("tpu-v5e", "f32", "unknown"),
        ("h100", "int4", "unknown"),
    ):
        assert sl.chip(name).origins[f"{dtype}_flops_per_s"].kind == kind
    with pytest.raises(sl.UnsupportedDtype, match=r"TPU v5e has no known f32 rate"):
        sl.chip("tpu-v5e").peak_flops_per_s("f32")


def test_what_google_prints_of_v3_and_v5e_is_on_record():
    v3, v5e = sl.chip("tpu-v3"), sl.chip("tpu-v5e")
    assert v3.bf16_flops_per_s == 140e12 and 123e12 in [o.value for o in v3.origins["bf16_flops_per_s"].alternates]
    assert (v3.pod_all_reduce_bytes_per_s, v3.pod_bisection_bytes_per_s) == (340e12, 6.4e12)
    assert "Google" in v3.origins["hbm_bytes_per_s"].source and v3.hbm_bytes_per_s == 900e9
    assert "Austin" in v5e.origins["hbm_bytes_per_s"].source
    assert re.search(r"TPU v5e \| HBM bandwidth \| 820 GB/s \| 819 GB/s \| \[Google", conflict_table("tpu"))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0, -820e9, "820 GB/s"])
def test_a_chip_of_impossible_figures_is_refused_by_the_field(bad):
    for field in ("hbm_bytes_per_s", "bf16_flops_per_s", "tensorcores"):
        with pytest.raises(sl.ScalingError, match=f"^{field} (is|must be)"):
            dataclasses.replace(sl.chip("tpu-v5e"), **{field: bad})
    with pytest.raises(sl.ScalingError, match="pod_shape is zero"):
        dataclasses.replace(sl.chip("tpu-v5e"), pod_shape=(16, 0))
    with pytest.raises(sl.ScalingError, match="usd_per_chip_hour"):
        dataclasses.replace(sl.price("h100"), usd_per_chip_hour=bad)


def test_a_chip_of_which_little_is_known_still_introduces_itself():
    assert repr(dataclasses.replace(sl.chip("tpu-v5e"), hbm_bytes=None)) == (
        "TPU v5e (tpu-v5e): 197 TFLOP/s bf16, at 820 GB/s"
    )


def test_headings_say_what_goes_one_way():
    headings = {field: heading(field) for c in CHIPS for field in c.origins if field.endswith("bytes_per_s")}
    one_way = {field for field, text in headings.items() if "one way" in text}
    assert one_way == {f"{link}_bytes_per_s" for link in ("ici", "dcn", "pcie", "nvlink", "scaleout")}


def test_a_chip_introduces_itself():
    assert repr(sl.chip("tpu-v5e")) == "TPU v5e (tpu-v5e): 197 TFLOP/s bf16, 17.18 GB at 820 GB/s"


@pytest.mark.parametrize("kind", ["tpu", "gpu"])
def test_the_tables_show_every_chip_of_a_kind(kind):
    head = spec_table(kind).splitlines()[0]
    assert head.strip("| ").split(" | ")[1:] == [c.title for c in CHIPS if c.kind == kind]


@every_chip
def test_the_table_of_a_chip_shows_every_figure_with_a_linked_source(c):
    rows = field_table(c.name).splitlines()[2:]
    assert len(rows) == len(c.origins) and all("](http" in row for row in rows)


def test_every_difference_between_sources_is_shown():
    differing = sum(
        other.value != getattr(c, field)
        for c in CHIPS
        for field, origin in c.origins.items()
        for other in origin.alternates
    )
    assert len(conflict_table().splitlines()) == 2 + differing > 50


def test_tables_are_well_formed():
    for table in (spec_table("tpu"), spec_table("gpu"), conflict_table(), price_table(), sl.ridge_table()):
        lines = table.splitlines()
        assert len({line.count(" | ") for line in lines}) == 1, table
    assert markdown(["a"], [["x|y"]]).splitlines()[-1] == "| x\\|y |"
    with pytest.raises(sl.ScalingError, match="kind must be one of tpu, gpu, got 'cpu'"):
        spec_table("cpu")


def test_signs_of_a_note_are_not_taken_for_markup():
    assert "(4\\*4\\*576 = 9216)" in field_table("tpu-7x")
    assert "jax/\\_src/tpu\\_info.py](https://github.com/jax-ml/jax/blob/" in field_table("tpu-v5e")
    assert "/jax/_src/tpu_info.py)" in field_table("tpu-v5e")


def test_a_price_is_printed_with_its_date():
    assert str(sl.price("h100")) == "10.80 USD per chip and hour (Google Cloud, list price, 2025-02-18)"
    with pytest.raises(sl.UnknownChip, match=r"'a100' is unknown for prices.*tpu-v5e"):
        sl.price("a100")
    assert {p.chip for p in sl.prices()} == {"tpu-v5e", "tpu-v5p", "h100"}
