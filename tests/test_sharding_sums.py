"""Dimensions that one operand has alone: when a plan sums them, what that costs, and that it does so."""

import pytest

import scaling_lib as sl
from scaling_lib import referee
from scaling_lib.referee.kept_parts import kept_parts
from scaling_lib.referee.local_sums import local_sums

MESH = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
HBM, ICI, PEAK = 820e9, 45e9, 197e12
WIDE = {"I": 512, "J": 512, "L": 64, "K": 65536}


def steps(p):
    return [(s.op, s.output.name, "".join(s.axes)) for s in p.steps]


def test_a_dimension_of_one_operand_is_summed_before_its_array_moves():
    p = sl.plan_matmul("A[I, L, J_X] * B[J, K_X] -> C[I, K_X]", WIDE, MESH)
    assert steps(p) == [("slice", "A", "Y"), ("sum", "A", ""), ("all_gather", "A", "YX"), ("multiply", "C", "")]
    read, written = 256 * 64 * 128 * 2, 256 * 128 * 2
    assert p.steps[1].seconds == pytest.approx((read + written) / HBM)
    assert p.steps[1].time.bound == "memory" and str(p.steps[1]).startswith(
        "sum A over L: A[I_Y, L, J_X] -> A[I_Y, J_X]"
    )
    gather = max(7 / 8 * 2 * 512 * 512 / (2 * ICI), 4e-6)
    assert p.time.in_turn_s == pytest.approx((read + written) / HBM + gather + 2 * 512 * 512 * 16384 / PEAK, rel=1e-6)


def test_what_cut_it_leaves_partial_sums_and_those_are_no_flops_saved():
    p = sl.plan_matmul(
        "A[I, J_X] * B[K] -> C[I, K]{U_X}", {"I": 512, "J": 512, "K": 4096}, LINE, via="A[I]{U_X} * B[K]"
    )
    assert steps(p) == [("sum", "A", ""), ("multiply", "C", "")] and str(p.steps[0].output) == "A[I]{U_X}"
    whole = sl.plan_matmul("A[I] * B[K] -> C[I, K]", {"I": 512, "K": 4096}, LINE, via="A[I] * B[K]")
    assert p.time.math_s == pytest.approx(whole.time.math_s) == pytest.approx(2 * 512 * 4096 / PEAK)


def test_a_small_array_may_be_gathered_before_it_is_summed():
    p = sl.plan_matmul("A[I, J_Y] * B[K_X] -> C[I, K_X]", {"I": 128, "J": 128, "K": 128}, MESH)
    assert [op for op, *_ in steps(p)][:2] == ["all_gather", "sum"]


@pytest.mark.parametrize(
    "text",
    [
        "A[I, L, J_X] * B[J, K_X] -> C[I, K_X]",
        "A[I_X, J] * B[K, J, L_X] -> C[I_X, K]",
        "A[I, L_XY] * B[I_X, M] -> C[I]",
        "A[L_X, I, M_Y] * B[K] -> C[I_Y, K]{U_X}",
        "A[L_X] * B[M_Y] -> C[]",
    ],
)
def test_such_plans_do_what_they_say(text):
    found = referee.verify(sl.plan_matmul(text, dict.fromkeys("IJKLM", 64), MESH))
    assert found.ok, found.report


def test_a_plan_that_forgets_the_sum_over_what_it_gathered_is_caught():
    import dataclasses

    p = sl.plan_matmul("A[I, L_X] * B[K] -> C[I, K]", {"I": 8, "L": 8, "K": 8}, LINE, via="A[I]{U_X} * B[K]")
    assert [s.op for s in p.steps][:2] == ["sum", "multiply"] and referee.verify(p, choice=False).ok
    forgets = dataclasses.replace(p, steps=tuple(s for s in p.steps if not s.hlo))
    assert not referee.verify(forgets, choice=False).right


def test_what_jit_does_is_charged_for_its_sum_too():
    p = sl.plan_matmul("A[I, L, J_X] * B[J, K_X] -> C[I, K_X]", WIDE, MESH, use_idle=False)
    assert referee.partitioner_choice(p).kind == "same"
    q = sl.plan_matmul("A[I, L, J_X] * B[J, K_X] -> C[I, K_X]", WIDE, MESH)
    gather = max(3 / 4 * 2 * 512 * 512 / ICI, 3e-6)
    summed = 2 * (512 * 64 * 128 + 512 * 128) / HBM
    assert referee.partitioner_choice(q).seconds == pytest.approx(
        summed + gather + 2 * 512 * 512 * 16384 / PEAK, rel=1e-6
    )


IN_STAGES = """HloModule m

%windows.reduced (p: f32[4,{n},3]) -> f32[4,3] {{
  %p = f32[4,{n},3]{{2,1,0}} parameter(0)
  %zero = f32[] constant(0)
  %r = f32[4,3]{{1,0}} reduce(%p, %zero), dimensions={{1}}, to_apply=%add
  ROOT %c = f32[4,3]{{0,1}} copy(%r)
}}

ENTRY %main (x: f32[4,64,3]) -> f32[4,3] {{
  %x = f32[4,64,3]{{2,1,0}} parameter(0)
  %zero = f32[] constant(0)
  %y = f32[4,64,3]{{2,1,0}} {what}
  %w = f32[4,{n},3]{{2,1,0}} reduce-window(%y, %zero), window={{size=1x32x1 stride=1x{stride}x1}}, to_apply=%add
  ROOT %f = f32[4,3]{{0,1}} fusion(%w), kind=kLoop, calls=%windows.reduced
}}

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}}"""


def test_a_largest_entry_is_no_sum():
    text = IN_STAGES.format(what="negate(%x)", stride=32, n=2)
    assert local_sums(text) and not local_sums(text.replace("s = f32[] add", "s = f32[] maximum"))


def test_a_sum_of_bf16_is_added_up_in_f32_and_rounded_each_time():
    in_f32 = "  %t = f32[] add(%a, %b)\n  %n = bf16[] convert(%t)\n  ROOT %s = f32[] convert(%n)"
    text = IN_STAGES.format(what="negate(%x)", stride=32, n=2)
    assert local_sums(text.replace("  ROOT %s = f32[] add(%a, %b)", in_f32)) == local_sums(text)


@pytest.mark.parametrize(
    ("what", "stride", "n", "sums"),
    [("negate(%x)", 32, 2, [(768, 12)]), ("multiply(%x, %x)", 32, 2, []), ("negate(%x)", 16, 3, [(36, 12)])],
)
def test_a_sum_of_sums_of_windows_reads_what_the_windows_are_of(what, stride, n, sums):
    assert local_sums(IN_STAGES.format(what=what, stride=stride, n=n)) == sums


def test_the_same_collectives_are_not_the_same_if_more_is_summed():
    p = sl.plan_matmul("A[I, J] * B[K] -> C[I_X, K]", {"I": 4096, "J": 4096, "K": 512}, LINE)
    chosen = referee.partitioner_choice(p)
    assert not p.collectives and chosen.collectives == ()
    assert (chosen.kind == "dearer: repeats work") == (chosen.seconds > 1.02 * p.time.in_turn_s)


def test_an_all_reduce_of_which_a_part_is_kept_counts_as_a_reduce_scatter_wherever_it_stands():
    alone = sl.plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K_X]", {"I": 512, "J": 512, "K": 512}, MESH, use_idle=False)
    chosen = referee.partitioner_choice(alone)
    assert chosen.kind == "same: all-reduce, then a slice" and chosen.steps[0].startswith("reduce-scatter over X")
    assert str(chosen) == "jit by itself: the same, its reduce-scatter written as an all-reduce and a slice"
    longer = sl.plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K_X]", {"I": 4096, "J": 8192, "K": 4096}, MESH)
    scatter = 3 / 4 * 2 * 4096 * 4096 / ICI
    assert referee.partitioner_choice(longer).seconds == pytest.approx(2 * 4096 * 4096 * 2048 / PEAK + scatter)


REDUCED = """HloModule m, num_partitions=4

ENTRY %main (x: f32[8]) -> f32[4] {{
  %x = f32[8]{{0}} parameter(0)
  %r = f32[8]{{0}} all-reduce(%x), replica_groups={groups}, to_apply=%add
  %table = s32[4]{{0}} constant({{0, 0, 4, 4}})
  %i = u32[] partition-id()
  %at = s32[1]{{0}} dynamic-slice(%table, %i), dynamic_slice_sizes={{1}}
  %start = s32[] bitcast(%at)
  ROOT %mine = f32[{kept}]{{0}} dynamic-slice(%r, %start), dynamic_slice_sizes={{{kept}}}
}}

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}}"""


@pytest.mark.parametrize(
    ("groups", "kept", "is_one"),
    [("{{0,2},{1,3}}", 4, True), ("{{0,1},{2,3}}", 4, False), ("{{0,2},{1,3}}", 6, False), ("{{0,1,2,3}}", 2, False)],
)
def test_parts_are_those_of_a_reduce_scatter_only_if_they_differ_within_the_group(groups, kept, is_one):
    assert kept_parts(REDUCED.format(groups=groups, kept=kept)) == [is_one]


def test_integers_that_are_added_up_in_words_are_kept_in_part_all_the_same():
    words = "  %r = u32[8]{0} all-reduce(%w), replica_groups={{0,2},{1,3}}, to_apply=%add"
    text = REDUCED.format(groups="{{0,2},{1,3}}", kept=16)
    text = text.replace(
        text.splitlines()[4], f"  %w = u32[8]{{0}} bitcast(%x)\n{words}\n  %n = s8[32]{{0}} bitcast(%r)"
    )
    text = text.replace("(%r, %start)", "(%n, %start)").replace("f32[8]", "s8[32]").replace("f32[16]", "s8[16]")
    table = "  %c = (s32[4]{0}, s32[4]{0}, u32[]) copy-start(%table)\n  %near = s32[4]{0} copy-done(%c)\n"
    text = text.replace("  %i = u32", table + "  %i = u32").replace("(%table, %i)", "(%near, %i)")  # fetched before
    text = text.replace("{0, 0, 4, 4}", "{0, 0, 16, 16}")
    assert kept_parts(text) == [True]
    assert kept_parts(text.replace("s8[16]", "s8[20]").replace("sizes={16}", "sizes={20}")) == [False]


@pytest.mark.parametrize(
    ("start", "is_one"),
    [
        ("multiply(%i, %two)", True),
        ("multiply(%i, %one)", False),  # each part begins within the one before
        ("multiply(%i, %none)", False),
        ("clamp(%none, %i, %none)", False),
        ("add(%twice, %two)", False),  # the last two would start at 6 and 8: XLA starts both at 6
        ("negate(%i)", False),  # not followed
    ],
)
def test_parts_that_overlap_are_no_reduce_scatter(start, is_one):
    numbers = "".join(f"  %{name} = s32[] constant({n})\n" for name, n in [("none", 0), ("one", 1), ("two", 2)])
    numbers += "  %twice = s32[] multiply(%i, %two)\n"
    text = REDUCED.format(groups="{{0,1,2,3}}", kept=2).replace("  %at = ", numbers + "  %at = ")
    text = text.replace("%i = u32[]", "%i = s32[]").replace("s32[] bitcast(%at)", f"s32[] {start}")
    assert kept_parts(text) == [is_one]


def test_a_sum_that_is_used_whole_as_well_is_an_all_reduce():
    text = REDUCED.format(groups="{{0,2},{1,3}}", kept=4)
    *_, line = [line for line in text.splitlines() if "ROOT %mine" in line]
    text = text.replace(line, "  ROOT %both = f32[4]{0} fusion(%r, %r, %start), kind=kLoop, calls=%inside")
    inside = """
%inside (p: f32[8], q: f32[8], at: s32[]) -> f32[4] {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %at = s32[] parameter(2)
  %mine = f32[4]{0} dynamic-slice(%p, %at), dynamic_slice_sizes={4}
  %first = f32[4]{0} SLICE(%q), slice={[0:4]}
  ROOT %s = f32[4]{0} add(%mine, %first)
}
"""
    assert kept_parts(text + inside.replace("SLICE", "slice")) == [False]
    mine = "%first = f32[4]{0} dynamic-slice(%q, %at), dynamic_slice_sizes={4}"
    assert kept_parts(text + inside.replace("%first = f32[4]{0} SLICE(%q), slice={[0:4]}", mine)) == [True]


def test_devices_that_keep_both_parts_in_another_order_keep_everything():
    text = REDUCED.format(groups="{{0,2},{1,3}}", kept=4)
    *_, line = [line for line in text.splitlines() if "ROOT %mine" in line]
    other = """  %turned = s32[4]{0} constant({4, 4, 0, 0})
  %there = s32[1]{0} dynamic-slice(%turned, %i), dynamic_slice_sizes={1}
  %end = s32[] bitcast(%there)
  %yours = f32[4]{0} dynamic-slice(%r, %end), dynamic_slice_sizes={4}
  ROOT %both = f32[4]{0} add(%mine, %yours)"""
    assert kept_parts(text) == [True]
    assert kept_parts(text.replace(line, line.replace("ROOT ", "") + "\n" + other)) == [False]


TABLE = "s32[4]{0} constant({0, 0, 4, 4})"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("num_partitions=4", "replica_count=4"),  # each is partition 0
        (TABLE, "s32[4]{0} constant({0, 0, 256, 256})\n  %small = u8[4]{0} convert(%wide)"),
        (TABLE, "s32[2,2]{1,0} constant({{0,0},{4,4}})\n  %low = s32[4]{0} bitcast(%wide)"),
    ],
)
def test_starts_that_cannot_be_told_apart_make_no_parts(old, new):
    text = REDUCED.format(groups="{{0,2},{1,3}}", kept=4)
    changed = text.replace(old, new)
    if "%wide" in new:
        changed = changed.replace("%table = s32", "%wide = s32").replace("%small", "%table").replace("%low", "%table")
    assert kept_parts(text) == [True] and kept_parts(changed) == [False]


@pytest.mark.parametrize(
    ("view", "start", "is_one"),
    [
        ("f32[2,4]{1,0} reshape(%r)", "%half, %none", False),  # of another rank: places that cannot be compared
        ("f32[8]{0} copy(%r)", "%start", True),
    ],
)
def test_slices_of_other_views_of_the_sum_are_not_compared(view, start, is_one):
    text = REDUCED.format(groups="{{0,2},{1,3}}", kept=4)
    *_, line = [line for line in text.splitlines() if "ROOT %mine" in line]
    sizes, kept = ("1,4", "f32[1,4]{1,0}") if "reshape" in view else ("4", "f32[4]{0}")
    other = f"""  %none = s32[] constant(0)
  %rows = s32[4]{{0}} constant({{0, 0, 1, 1}})
  %row = s32[1]{{0}} dynamic-slice(%rows, %i), dynamic_slice_sizes={{1}}
  %half = s32[] bitcast(%row)
  %view = {view}
  %yours = {kept} dynamic-slice(%view, {start}), dynamic_slice_sizes={{{sizes}}}
  %flat = f32[4]{{0}} reshape(%yours)
  ROOT %both = f32[4]{{0}} add(%mine, %flat)"""
    assert kept_parts(text.replace(line, line.replace("ROOT ", "") + "\n" + other)) == [is_one]
