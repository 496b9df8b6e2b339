"""Drawings of sharded arrays show what the notation says; films of collectives end where the collective does."""

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import scaling_lib as sl
from scaling_lib import plotting
from scaling_lib.plotting import rings, style

EIGHT = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
SIZES = {"I": 4096, "J": 8192, "K": 4096}
PRODUCTS = {
    "case 1": "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]",
    "case 3": "A[I, J_X] * B[J_X, K] -> C[I, K_X]",
    "case 4": "A[I_X, J] * B[J, K_X] -> C[I_X, K]",
    "two axes": "A[I, J_X] * B[J_Y, K] -> C[I, K]",
}
LAYER = sl.Mesh(sl.TpuSlice("tpu-v5p", (4, 4, 8)), Y=4, Z=4, X=8)
WAYS = {"gather": "A[B, D] * W[D, F]", "reduce": "A[B, D_X] * W[D_X, F]", "cut B": "A[B_X, D] * W[D, F]"}


def plan(product):
    return sl.plan_matmul(product, SIZES, EIGHT, use_idle=False)


def ways(**how):
    sizes = {"B": 512, "D": 8192, "F": 32768}
    return plotting.ways_to_multiply(
        "A[B, D] * W[D_X, F] -> C[B, F]", sizes, LAYER, WAYS, over="B", values=2 ** np.arange(9, 16), **how
    )


PICTURES = {
    "arrays": lambda: plotting.sharded_arrays(["A[I_X, J_Y]", "A[I_X, J]", "A[I_YX, J]"], {"X": 2, "Y": 2}),
    "one array": lambda: plotting.sharded_arrays(["A[I, J_YX]"], {"X": 4, "Y": 2}),
    **{name: lambda text=text: plotting.product_drawing(plan(text)) for name, text in PRODUCTS.items()},
    "knee": lambda: plotting.collective_knee(EIGHT, "X"),
    "ways": ways,
    "choices": lambda: plotting.partitioner_choices(["same"] * 5 + ["equal"] + ["dearer: gathers"] * 9 + ["not asked"]),
}  # fmt: skip


@pytest.fixture(scope="module", params=PICTURES)
def picture(request):
    return PICTURES[request.param]()


@pytest.fixture(scope="module", params=rings.FILMS)
def film(request):
    return getattr(rings, request.param)()


def test_a_picture_says_itself_in_one_sentence_with_numbers(picture):
    said = picture.describe()
    assert said.endswith(".") and re.search(r"\d", said) and len(said) < 420
    shown = picture._repr_html_()
    assert 'role="img"' in shown and "<table>" in shown and style.INK not in shown and len(shown) < 200_000


def test_no_word_of_a_picture_overflows_its_frame(picture):
    canvas, frame = FigureCanvasAgg(picture.figure), picture.figure.bbox
    canvas.draw()
    (axes,) = picture.figure.axes
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts):
        if text.get_text():
            box = text.get_window_extent(canvas.get_renderer())
            assert box.x0 >= frame.x0 - 2 and box.x1 <= frame.x1 + 2, text.get_text()


def test_every_chip_is_written_into_the_block_it_holds():
    s = sl.parse_sharding("A[I_YX, J]")
    mesh = {"X": 2, "Y": 4}
    (axes,) = plotting.sharded_arrays([s], mesh).figure.axes
    owners = [text.get_text() for text in axes.texts if text.get_text().startswith("(")]
    expected = [f"({x},{y})" for y in range(4) for x in range(2)]  # X, named last, is the fastest
    assert owners == expected


def test_a_gathered_operand_shows_what_comes_in():
    said = plotting.product_drawing(plan(PRODUCTS["case 4"])).describe()
    assert "3/4 of B come in over X" in said and "1.47 ms in all" in said
    assert "then reduce-scatter over X gives C[I, K_X]" in plotting.product_drawing(plan(PRODUCTS["case 3"])).describe()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(sl.ScalingError, match="two can be drawn"):
        plotting.sharded_arrays(["A[I]"], {"X": 2})
    with pytest.raises(sl.ScalingError, match=r"B\[J\] has 1 dimensions; two can be drawn"):
        plotting.product_drawing(plan("A[I, J] * B[J, K] -> C[I, J]"))
    with pytest.raises(sl.ScalingError, match="up to 16"):
        plotting.sharded_arrays(["A[I_X, J]"], {"X": 32})
    with pytest.raises(sl.ScalingError, match="possible are all-gather"):
        plotting.collective_knee(EIGHT, "X", ops=["broadcast"])
    with pytest.raises(sl.ScalingError, match="one chip"):
        plotting.collective_knee(sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8, Y=1), "Y")
    with pytest.raises(sl.ScalingError, match="1 to 6"):
        plotting.sharded_arrays([], {"X": 2})
    with pytest.raises(sl.ScalingError, match="1 to 4"):
        plotting.ways_to_multiply("A[I] * B[I] -> C[]", {"I": 8}, EIGHT, {}, over="I", values=[8])
    with pytest.raises(sl.ScalingError, match="nothing to draw"):
        plotting.partitioner_choices(["not asked"])
    with pytest.raises(sl.ScalingError, match="4, 6 or 8"):
        plotting.ring_all_gather(7)


def test_all_four_collectives_have_a_curve_on_axes_of_any_name():
    long_names = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), data=4, model=2)
    ops = ["reduce-scatter", "all-gather", "all-reduce", "all-to-all"]
    drawn = plotting.collective_knee(long_names, "data", ops=ops)
    (axes,) = drawn.figure.axes
    assert len(axes.lines) == 4 and "Over data of 4 chips" in drawn.describe() and "an reduce" not in drawn.describe()


@pytest.mark.parametrize("n", [4, 6, 8])
def test_films_end_where_the_collective_does_and_move_what_the_library_says(n):
    ring = sl.Mesh(sl.TpuSlice("tpu-v4", (4, 4, 4)), X=4, Y=4, Z=4)
    gather, scatter, exchange = rings.gather_hops(n), rings.scatter_hops(n), rings.exchange_hops(n)
    assert (gather[-1].held == 1).all()
    assert (scatter[-1].held == n * np.eye(n)).all()
    assert (exchange[-1].held == 1).all()
    sent = [sum(hop.links for hop in hops) for hops in (gather, scatter, exchange)]
    assert sent == [(n - 1) / 2, (n - 1) / 2, n * n / 8]
    if n == 4:  # bytes over a link, by the library: shards of V/n, and blocks of V/n²
        w = sl.chip("tpu-v4").link_bytes_per_s("ici")
        assert sl.all_gather_time(1e9, ring, "X").bandwidth_s == pytest.approx(sent[0] * 1e9 / n / w)
        assert sl.all_to_all_time(1e9, ring, "X").bandwidth_s == pytest.approx(sent[2] * 1e9 / n**2 / w)


def test_a_reduce_scatter_is_the_gather_backwards():
    gather, scatter = rings.gather_hops(8), rings.scatter_hops(8)
    for before, after in zip(gather, scatter[::-1], strict=True):
        assert ((before.held > 0) == (after.held > 0)).all()
    assert [hop.links for hop in gather[1:]] == [hop.links for hop in scatter[1:]][::-1]


def test_a_film_pauses_stands_still_and_names_its_function(film):
    shown = film._repr_html_()
    assert len(shown) < 300_000 and "prefers-reduced-motion" in shown and "<button" in shown
    assert f"<code>{film.made_by}</code>" in shown and "sl-still" in shown and film.describe() in shown
    assert all(re.search(r"\d", shot.says) and shot.says.endswith(".") for shot in film.shots)
    assert len({shot.says for shot in film.shots}) == len(film.shots)


def test_reducing_and_gathering_cross_where_batch_and_width_are_equal():
    drawn = ways().columns
    at = {int(b): {name.split(" (s)")[0]: v[i] for name, v in drawn.items()} for i, b in enumerate(drawn["B"])}
    assert at[8192]["reduce"] == pytest.approx(at[8192]["cut B"], rel=1e-6)
    assert at[4096]["reduce"] < at[4096]["cut B"] and at[16384]["reduce"] > at[16384]["cut B"]
