"""Collective-permutes in every form XLA writes them: one array or several, in place, asynchronous, as send and recv."""

import pytest
from hlo_texts import X, module

from scaling_lib.referee.hlo import HloError, collectives_in

MESH = {"X": 4, "Y": 2}


def one(line, **kw):
    (found,) = collectives_in(module(X + line, **kw), MESH)
    return found


def test_a_permute_counts_what_one_device_sends_along_the_axes_that_change():
    for pairs, axes in (("{{0,2},{2,4},{4,6},{6,0}}", "X"), ("{{0,1},{1,0}}", "Y"), ("{{0,3},{5,5}}", "XY")):
        found = one(f"  ROOT %p = f32[8,4]{{1,0}} collective-permute(%x), source_target_pairs={pairs}")
        assert (found.op, found.elements, "".join(found.axes)) == ("collective-permute", 32, axes)


@pytest.mark.parametrize("pairs", ["", "{0,0}", "{0,0},{3,3}"])
def test_a_permute_without_pairs_of_two_devices_sends_nothing(pairs):
    found = one(f"  ROOT %p = f32[8,4]{{1,0}} collective-permute(%x), source_target_pairs={{{pairs}}}")
    assert (found.elements, found.bytes, found.axes) == (0, 0, ()) and "nothing is sent" in found.note


@pytest.mark.parametrize("index", ["s32[1024]{0}", "s32[]", "s32[2]{0}"])
def test_a_merged_permute_counts_all_its_arrays(index):
    n = {"s32[1024]{0}": 1024, "s32[]": 1, "s32[2]{0}": 2}[index]
    arrays = f"f32[8,4]{{1,0}}, bf16[6]{{0}}, {index}, {index}"
    found = one(
        f"  %y = bf16[6]{{0}} parameter(1)\n  %i = {index} parameter(2)\n"
        f"  ROOT %p = ({arrays}) collective-permute(%x, %y, %i, %i), source_target_pairs={{{{0,2}},{{2,0}}}}"
    )
    assert (found.elements, found.bytes) == (32 + 6 + 2 * n, 4 * 32 + 2 * 6 + 2 * 4 * n)
    assert (found.arrays, found.axes, found.dtype) == (4, ("X",), "f32/bf16/s32")


@pytest.mark.parametrize(
    ("op", "result"), [("", "f32[8,8]{1,0}"), ("-start", "(f32[8,4]{1,0}, f32[8,8]{1,0}, u32[], u32[])")]
)
def test_a_permute_in_place_sends_its_slices(op, result):
    head = (
        "  %to = f32[8,8]{1,0} parameter(1)\n  %zero = s32[] constant(0)\n  %at = (s32[], s32[]) tuple(%zero, %zero)\n"
    )
    line = f"  ROOT %p = {result} collective-permute{op}(%x, %to, %at, %at), source_target_pairs={{{{0,1}}}}"
    assert one(f"{head}{line}, slice_sizes={{{{2,3}}}}").elements == 6
    several = (
        head + "  %ats = ((s32[], s32[]), (s32[], s32[])) tuple(%at, %at)\n" + line.replace("%at, %at", "%ats, %ats")
    )
    found = one(f"{several}, slice_sizes={{{{2,3}},{{4,1}}}}")
    assert (found.elements, found.bytes, found.axes) == (10, 40, ("Y",))
    fan = several.replace("{{0,1}}", "{{0,1},{0,2}}")  # a slice to each of two devices
    assert one(f"{fan}, slice_sizes={{{{2,3}},{{4,1}}}}").pairs == ((0, 1), (0, 2))
    with pytest.raises(HloError, match="what is received is not what is sent"):
        one(head + line.replace("f32[8,8]", "f32[8,4]") + ", slice_sizes={{2,3}}")
    with pytest.raises(HloError, match="without slice_sizes="):
        one(head + line)


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_permute_split_into_send_and_recv_is_listed_once(quote):
    pairs = f"{quote}{{{{0,2}},{{2,4}}}}{quote}"
    to = f'frontend_attributes={{_xla_send_recv_pipeline="0",_xla_send_recv_source_target_pairs={pairs}}}'
    found = one(f"""  %tok = token[] after-all()
  %r = (f32[8,4]{{1,0}}, u32[], token[]) recv(%tok), channel_id=1, {to}
  %s = (f32[8,4]{{1,0}}, u32[], token[]) send(%x, %tok), channel_id=1, {to}
  %sd = token[] send-done(%s), channel_id=1
  %rd = (f32[8,4]{{1,0}}, token[]) recv-done(%r), channel_id=1
  ROOT %y = f32[8,4]{{1,0}} get-tuple-element(%rd), index=0""")
    assert (found.op, found.elements, found.bytes, found.axes) == ("collective-permute", 32, 128, ("X",))
    assert found.pairs == ((0, 2), (2, 4))


def test_a_send_to_the_host_is_no_collective_and_one_to_nowhere_is_refused():
    send = "  %tok = token[] after-all()\n  ROOT %s = (f32[8,4]{1,0}, u32[], token[]) send(%x, %tok), channel_id=1"
    assert collectives_in(module(X + send + ", is_host_transfer=true"), MESH) == []
    with pytest.raises(HloError, match="line 12: %s: a send between devices that the text does not name"):
        one(send)
