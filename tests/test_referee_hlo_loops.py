"""How often a loop's collectives and FLOPs count: as often as the loop runs, or marked as unknown, never a guess."""

import operator

import jax
import jax.numpy as jnp
import pytest
from hlo_texts import X, loop, module
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

from scaling_lib import referee
from scaling_lib.referee.hlo import HloError, collectives_in, flops_in
from scaling_lib.referee.hlo_products import products_in
from scaling_lib.referee.local_sums import local_sums


@given(st.integers(-5, 5), st.integers(-4, 4), st.integers(-30, 30), st.sampled_from(["LT", "LE", "GT", "GE", "NE"]))
def test_a_loop_is_counted_as_it_would_run(start, step, limit, direction):
    holds = {"LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "NE": int.__ne__}[direction]
    i, n = start, 0
    while holds(i, limit) and n < 100:
        i, n = i + step, n + 1
    (found,) = collectives_in(loop(start, step, limit, direction))
    assert found.times == (n if n < 100 else None)


def test_a_stated_trip_count_is_taken_in_both_spellings():
    for stated in ('{"known_trip_count":{"n":"9"}}', '"{\\"known_trip_count\\":{\\"n\\":\\"9\\"}}"'):
        (found,) = collectives_in(loop(stated=f", backend_config={stated}"))
        assert found.times == 9


def test_a_loop_with_an_unknown_start_is_marked_not_guessed():
    text = loop().replace("%zero = s32[] constant(0)", "%f = f32[] constant(3.5)\n  %zero = s32[] convert(%f)")
    (found,) = collectives_in(text)
    assert found.times is None and str(found).endswith("× ?")


def test_a_counter_behind_a_barrier_is_counted():
    text = loop(limit=6).replace(
        "  %next = s32[] add(%i,", "  %held = s32[] opt-barrier(%i)\n  %next = s32[] add(%held,"
    )
    (found,) = collectives_in(text)
    assert found.times == 6


def test_a_collective_in_a_loops_condition_runs_once_more_than_its_body():
    reduce = (
        "  %q = f32[8,4]{1,0} get-tuple-element(%s.1), index=1\n  %c = f32[8,4]{1,0} all-reduce(%q), replica_groups={}"
    )
    text = loop(limit=6).replace("  %n = ", f"{reduce}, to_apply=%add\n  %n = ")
    assert [c.times for c in collectives_in(text)] == [6, 7]  # body, condition


LOWEST = {"s8": -128, "u8": 0}
HOLDS = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "NE": operator.ne}


def simulated(dtype, start, step, offset, limit, holds):
    """Iterations of ``for (i = start; holds(i + offset, limit); i += step)``, and whether a number overflows."""
    low = LOWEST[dtype]
    i, n, overflows = start, 0, False
    while n <= 256:  # after that many it has come round
        seen = (i + offset - low) % 256 + low
        overflows |= seen != i + offset
        if not holds(seen, limit):
            return n, overflows
        i, n = (i + step - low) % 256 + low, n + 1
        overflows |= i != start + n * step
    return None, overflows


@given(
    st.sampled_from(list(LOWEST)), st.integers(0, 255), st.integers(-60, 60), st.integers(-9, 9), st.integers(0, 255),
    st.sampled_from(list(HOLDS)),
)  # fmt: skip
@example("s8", 128, 50, 0, 248, "LT")  # 0, 50, 100 and then -106: 23 iterations, not 3
@example("u8", 250, 3, 0, 255, "LT")
@example("u8", 10, 1, -20, 100, "LT")  # begins at -10, which is 246: none
def test_a_counter_that_overflows_is_not_counted_as_if_it_did_not(dtype, start, step, offset, limit, direction):
    low = LOWEST[dtype]
    start, limit = start + low, limit + low
    n, overflows = simulated(dtype, start, step, offset, limit, HOLDS[direction])
    text = loop(start, (step - low) % 256 + low, limit, direction).replace("s32[]", f"{dtype}[]")
    added = f"  %by = {dtype}[] constant({(offset - low) % 256 + low})\n  %j = {dtype}[] add(%by, %i)\n"
    (found,) = collectives_in(text.replace("  %j = ", "  %i = ").replace("  %n = ", f"{added}  %n = "))
    assert found.times == n or (found.times is None and overflows)


def test_a_large_number_converted_to_a_small_type_is_what_is_left_of_it():
    text = loop(limit=50).replace("s32[]", "s8[]")
    text = text.replace("%zero = s8[] constant(0)", "%wide = s32[] constant(300)\n  %zero = s8[] convert(%wide)")
    (found,) = collectives_in(text)
    assert found.times == 6  # 300 is 44 in s8


def test_counting_down_by_adding_the_largest_unsigned_number_is_counted():
    (found,) = collectives_in(loop(10, 2**32 - 1, 0, "GT").replace("s32[]", "u32[]"))
    assert found.times == 10


# Nested loops whose inner bound is carried by the outer one, against running them.

VALUES = ("i", "a", "b")
OPERANDS = st.one_of(st.sampled_from(VALUES), st.integers(-2, 3))
UPDATES = st.tuples(OPERANDS, st.sampled_from(["add", "add", "subtract", "multiply"]), OPERANDS)
OPERATORS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}


INNER = """
%body (s: (s32[], s32[], f32[8,4])) -> (s32[], s32[], f32[8,4]) {
  %s = (s32[], s32[], f32[8,4]{1,0}) parameter(0)
  %k = s32[] get-tuple-element(%s), index=0
  %n = s32[] get-tuple-element(%s), index=1
  %v = f32[8,4]{1,0} get-tuple-element(%s), index=2
  %one = s32[] constant(1)
  %next = s32[] add(%k, %one)
  %r = f32[8,4]{1,0} all-reduce(%v), replica_groups={}, to_apply=%add
  ROOT %t = (s32[], s32[], f32[8,4]{1,0}) tuple(%next, %n, %r)
}

%condition (s: (s32[], s32[], f32[8,4])) -> pred[] {
  %s = (s32[], s32[], f32[8,4]{1,0}) parameter(0)
  %k = s32[] get-tuple-element(%s), index=0
  %n = s32[] get-tuple-element(%s), index=1
  ROOT %less = pred[] compare(%k, %n), direction=LT
}
"""


def nest(start, updates, limit, bound):
    """HLO of: while i < limit: (for k in range(bound): all-reduce); then all of i, a, b by `updates` at once."""
    state = "(s32[], s32[], s32[], f32[8,4]{1,0})"
    lines = [f"  %{v} = s32[] get-tuple-element(%o), index={k}" for k, v in enumerate(VALUES)]
    lines += ["  %v = f32[8,4]{1,0} get-tuple-element(%o), index=3", "  %zero = s32[] constant(0)"]
    for value, (left, op, right) in zip(VALUES, updates, strict=True):
        for side, operand in (("l", left), ("r", right)):
            made = f"constant({operand})" if isinstance(operand, int) else f"copy(%{operand})"
            lines.append(f"  %{side}_{value} = s32[] {made}")
        lines.append(f"  %next_{value} = s32[] {op}(%l_{value}, %r_{value})")
    before = f"""{INNER}
%outer (o: {state}) -> {state} {{
  %o = {state} parameter(0)
{chr(10).join(lines)}
  %t.1 = (s32[], s32[], f32[8,4]{{1,0}}) tuple(%zero, %{bound}, %v)
  %w.1 = (s32[], s32[], f32[8,4]{{1,0}}) while(%t.1), condition=%condition, body=%body
  %v.1 = f32[8,4]{{1,0}} get-tuple-element(%w.1), index=2
  ROOT %o.1 = {state} tuple(%next_i, %next_a, %next_b, %v.1)
}}

%until (u: {state}) -> pred[] {{
  %u = {state} parameter(0)
  %i = s32[] get-tuple-element(%u), index=0
  %limit = s32[] constant({limit})
  ROOT %less.1 = pred[] compare(%i, %limit), direction=LT
}}
"""
    body = X + "".join(f"  %{v} = s32[] constant({n})\n" for v, n in zip(VALUES, start, strict=True))
    body += f"  %t.2 = {state} tuple(%i, %a, %b, %x)\n  ROOT %w.2 = {state} while(%t.2), condition=%until, body=%outer"
    return module(body, before=before)


def run(start, updates, limit, bound):
    """Times the inner loop's body runs; None if the outer loop runs for long."""
    now, total, n = dict(zip(VALUES, start, strict=True)), 0, 0
    while now["i"] < limit:
        if n == 40:
            return None
        total, n = total + max(now[bound], 0), n + 1
        now = {
            value: OPERATORS[op](now.get(left, left), now.get(right, right))
            for value, (left, op, right) in zip(VALUES, updates, strict=True)
        }
    return total


def by(value, n):
    return value, "add", n


@given(st.tuples(*[st.integers(-2, 4)] * 3), st.tuples(*[UPDATES] * 3), st.integers(0, 12), st.sampled_from(VALUES))
def test_a_nest_of_loops_is_counted_right_or_not_at_all(start, updates, limit, bound):
    wanted = run(start, updates, limit, bound)
    assume(wanted is not None)
    (found,) = collectives_in(nest(start, updates, limit, bound))
    assert found.times in (None, wanted)


@pytest.mark.parametrize(
    ("start", "updates", "limit", "bound", "times"),
    [
        ((0, 7, 0), (by("i", 1), by("a", 0), by("b", 0)), 10, "a", 70),  # a stays
        ((0, 0, 0), (by("i", 1), by("i", 0), by("b", 0)), 10, "a", None),  # a is the i before: 0+0+1+...+8 = 36
        ((0, 0, 0), (by("i", 1), ("a", "add", "i"), by("b", 0)), 10, "a", None),  # the sum of those before: 120
        ((0, 3, 3), (by("i", 1), by("b", 0), by("a", 1)), 10, "a", None),  # turn about: 50
        ((0, 5, 2), (("i", "add", "b"), by("a", 0), by("b", 0)), 10, "a", 25),  # the step is carried too
        ((0, 5, 1), (("i", "add", "b"), by("a", 0), by("b", 1)), 10, "a", None),  # a step that grows: 4 times 5
        ((0, 0, 4), (by("a", 1), by("i", 0), by("b", 0)), 10, "b", None),  # the counter too turns about
        ((0, 5, 4), (by("i", 1), ("a", "multiply", 1), by("b", 0)), 3, "a", None),  # 1 times a is a: not looked into
        ((0, 4, 0), (by("i", 1), (7, "subtract", "a"), by("b", 0)), 10, "a", None),  # 4 and 3 in turn
        ((0, 4, 0), (by("i", 1), (0, "subtract", "a"), by("b", 0)), 10, "a", None),  # 4 and -4
        ((0, 4, 0), (by("i", 1), ("a", "multiply", 0), by("b", 0)), 10, "a", None),  # 4, then nothing
        ((1, 4, 0), (("i", "multiply", -2), by("a", 0), by("b", 0)), 3, "a", None),  # 1, -2, 4
        ((0, 4, 0), (("i", "subtract", -2), ("a", "subtract", 0), by("b", 0)), 10, "a", 20),
        ((1, 1, 0), (("i", "add", "i"), by("a", 0), by("b", 0)), 100, "a", None),  # i doubles: 7
        ((9, 1, 0), (("i", "add", "i"), by("a", 0), by("b", 0)), 9, "a", None),  # never: unknown as well
    ],
)
def test_what_a_loop_carries_is_fixed_only_if_every_iteration_leaves_it(start, updates, limit, bound, times):
    (found,) = collectives_in(nest(start, updates, limit, bound))
    assert found.times == times
    if times is not None:
        assert times == run(start, updates, limit, bound)


# Three of them as this machine's jax compiles them, with collectives and with FLOPs.


def nested(kind, work):
    """Outer loops of ten whose inner loops run as often as a carried value says."""

    def inner(n, v):
        return jax.lax.fori_loop(0, n, lambda _, u: work(u), v)

    start, step = {
        "the one before": ((0,), lambda i, c: (i, inner(c[0], c[1]))),
        "the sum": ((0,), lambda i, c: (c[0] + i, inner(c[0], c[1]))),
        "turn about": ((3, 3), lambda i, c: (c[1], c[0] + 1, inner(c[0], c[2]))),
    }[kind]
    return lambda x: jax.lax.fori_loop(0, 10, step, (*(jnp.int32(n) for n in start), x))[-1]


@pytest.mark.parametrize(("kind", "runs"), [("the one before", 36), ("the sum", 120), ("turn about", 50)])
def test_compiled_loops_whose_bound_changes_are_marked(kind, runs):
    mesh = referee.make_mesh(X=8)
    fn = nested(kind, lambda v: jax.lax.psum(v, "X") * 0.5)
    mapped = jax.shard_map(fn, mesh=mesh, in_specs=P("X"), out_specs=P("X"), check_vma=False)
    (found,) = collectives_in(jax.jit(mapped).lower(jnp.ones(64)).compile(), mesh)
    assert found.times in (None, runs) and (found.times or repr(found).endswith("× ?"))
    work = jax.jit(nested(kind, lambda u: u @ u)).lower(jnp.ones((8, 8))).compile()
    assert flops_in(work).flops in (None, runs * 2 * 8**3)


def test_products_of_a_loop_count_as_often_as_it_runs_or_are_refused():
    work = "  %d = f32[8,8]{1,0} dot(%v, %v), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n  %r ="
    for limit, wanted in ((6, [(2 * 8 * 8 * 4, 2 * 32 + 64)] * 6), (0, [])):
        assert products_in(loop(limit=limit).replace("  %r =", work)) == wanted
    with pytest.raises(HloError, match="%d runs in a loop whose count"):
        products_in(loop(direction="EQ").replace("  %r =", work))


def test_sums_of_a_loop_count_as_often_as_it_runs_or_are_refused():
    work = "  %z = f32[] constant(0)\n  %d = f32[8]{0} reduce(%v, %z), dimensions={1}, to_apply=%add\n  %r ="
    for limit, wanted in ((6, [(32, 8)] * 6), (0, [])):
        assert local_sums(loop(limit=limit).replace("  %r =", work)) == wanted
    with pytest.raises(HloError, match="%d runs in a loop whose count"):
        local_sums(loop(direction="EQ").replace("  %r =", work))


# Long and deep texts.


def chain(n, operand):
    """n additions in a row, the last of them given to a fusion that carries a collective."""
    before = """
%fused (p: f32[8,4], q: s32[]) -> f32[8,4] {
  %p = f32[8,4]{1,0} parameter(0)
  %q = s32[] parameter(1)
  ROOT %r = f32[8,4]{1,0} all-reduce(%p), replica_groups={}, to_apply=%add
}
"""
    sums = "".join(f"  %s{k + 1} = s32[] add(%s{k}, %{operand.format(k)})\n" for k in range(n))
    fusion = f"  ROOT %f = f32[8,4]{{1,0}} fusion(%x, %s{n}), kind=kLoop, calls=%fused"
    return module(f"{X}  %s0 = s32[] constant(1)\n{sums}{fusion}", before=before)


@pytest.mark.parametrize(("n", "operand"), [(100, "s{}"), (5000, "s0")])
def test_a_chain_of_sums_is_read_once(n, operand):
    assert len(collectives_in(chain(n, operand))) == 1


def test_calls_that_are_too_deep_are_refused_with_that_reason():
    head = "(p: f32[8,4]) -> f32[8,4] {\n  %p = f32[8,4]{1,0} parameter(0)\n  ROOT %c = f32[8,4]{1,0}"
    nested = "".join(
        f"%f{k} {head} {f'call(%p), to_apply=%f{k - 1}' if k else 'negate(%p)'}\n}}\n\n" for k in range(3000)
    )
    with pytest.raises(HloError, match="call each other too deeply"):
        collectives_in(module(X + "  ROOT %y = f32[8,4]{1,0} call(%x), to_apply=%f2999", before=nested))
