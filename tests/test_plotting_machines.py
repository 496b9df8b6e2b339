"""Drawings of machines and animations: they say what they draw; a film pauses, and stands still in print."""

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import scaling_lib as sl
from scaling_lib import plotting
from scaling_lib.plotting import Animation, Picture, animations, style

PICTURES = {
    "v5e": lambda: plotting.chip_drawing("tpu-v5e"),
    "v5p": lambda: plotting.chip_drawing("tpu-v5p"),
    "7x": lambda: plotting.chip_drawing("tpu-7x"),
    "h100": lambda: plotting.chip_drawing("h100"),
    "line": lambda: plotting.slice_drawing(sl.TpuSlice("tpu-v5e", (4, 4))),
    "ring": lambda: plotting.slice_drawing(sl.TpuSlice("tpu-v5e", (8, 16))),
    "cube": lambda: plotting.slice_drawing(sl.TpuSlice("tpu-v5p", (4, 4, 4))),
    "cluster": lambda: plotting.cluster_drawing(sl.GpuCluster("h100", 1024)),
    "array": plotting.array_utilisation,
    "tiles": plotting.tiles_and_bytes,
    "tiles of a GPU": lambda: plotting.tiles_and_bytes("h100"),
    "vector": plotting.vector_roofline,
    "vector of a GPU": lambda: plotting.vector_roofline("h100"),
    "ladder": plotting.bandwidth_ladder,
}
FILMS = {name: getattr(animations, name) for name in animations.ANIMATIONS}


@pytest.fixture(scope="module", params=PICTURES)
def picture(request):
    return PICTURES[request.param]()


@pytest.fixture(scope="module", params=FILMS)
def film(request):
    return FILMS[request.param]()


def test_a_picture_says_itself_in_one_sentence_with_numbers(picture):
    said = picture.describe()
    assert isinstance(picture, Picture) and said.endswith(".") and not re.search(r"[.!?] [A-Z]", said)
    assert re.search(r"\d", said) and len(said) < 420


def test_a_picture_is_svg_in_the_page_own_colour_with_its_table(picture):
    shown = picture._repr_html_()
    assert 'role="img"' in shown and "<table>" in shown and style.INK not in shown and "currentColor" in shown
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", shown)
    assert len(shown) < 200_000 and picture.svg() == picture.svg()


def test_no_word_of_a_picture_overflows_its_frame(picture):
    canvas, frame = FigureCanvasAgg(picture.figure), picture.figure.bbox
    canvas.draw()
    (axes,) = picture.figure.axes
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts):
        if not text.get_text():
            continue
        box = text.get_window_extent(canvas.get_renderer())
        assert box.x0 >= frame.x0 - 2 and box.x1 <= frame.x1 + 2, text.get_text()


def test_a_drawing_shows_every_chip_and_link_of_its_slice():
    s = sl.TpuSlice("tpu-v5e", (8, 16))
    drawn = plotting.slice_drawing(s)
    (axes,) = drawn.figure.axes
    links, ends = ([line for line in axes.lines if line.get_linestyle() == look] for look in ("-", ":"))
    assert len(links) == s.n_links - s.wrap_links and len(ends) == 2 * s.wrap_links
    assert sum(type(patch).__name__ == "Circle" for patch in axes.patches) == s.n_chips
    assert drawn.columns["links"] == [s.n_links] and f"{s.n_links} links" in drawn.describe()


def test_a_cube_shows_every_link_too():
    s = sl.TpuSlice("tpu-v5p", (4, 4, 4))
    (axes,) = plotting.slice_drawing(s).figure.axes
    assert sum(line.get_linestyle() == "-" for line in axes.lines) == 3 * 4 * 4 * 3
    assert sum(line.get_linestyle() == ":" for line in axes.lines) == 2 * s.wrap_links


def test_charts_hold_what_the_library_counts():
    columns = plotting.array_utilisation((128,), 1024).columns
    assert columns["share, 128 × 128"] == pytest.approx([sl.systolic_utilisation(m, 1024, 1024) for m in columns["M"]])
    tiles = plotting.tiles_and_bytes("tpu-v5e", 4096).columns
    at = list(tiles["side of a tile"]).index(512)
    assert tiles["memory [ms]"][at] == pytest.approx(1e3 * sl.tiled_matmul_bytes(*[4096] * 3, 512, 512) / 820e9)
    ladder = plotting.bandwidth_ladder(["tpu-v5e", "h100"]).columns
    assert ladder["TPU v5e [GB/s]"][3] == 4 * 45 and np.isnan(ladder["TPU v5e [GB/s]"][1])


# ---- animations ----


def test_every_animation_of_the_book_is_listed():
    made = {
        name for name in plotting.__all__ if getattr(getattr(plotting, name), "__module__", "") == animations.__name__
    }
    assert made == set(animations.ANIMATIONS) == {"systolic_array", "elementwise_stream"}


def test_an_animation_is_small_and_asks_nothing_of_other_hosts(film):
    shown = film._repr_html_()
    assert isinstance(film, Animation) and len(shown.encode()) < 300_000
    assert "http" not in shown and "src=" not in shown


def test_an_animation_names_its_maker(film):
    name = film.made_by.rsplit(".", 1)[1]
    assert FILMS[name]().sentence == film.sentence and f"<code>{film.made_by}</code>" in film._repr_html_()


def test_an_animation_pauses_and_stops_for_those_who_want_no_motion(film):
    shown = film._repr_html_()
    assert '<button type="button">' in shown and 'type="range"' in shown
    assert "prefers-reduced-motion" in shown


def test_one_shot_stands_where_nothing_plays(film):
    shown = film._repr_html_()
    assert shown.count("sl-shot sl-on sl-still") == 1 and "@media print" in shown
    assert film.svg() == film.svg(film.still) != film.svg(0)


def test_every_shot_says_what_it_shows(film):
    said = [shot.says for shot in film.shots]
    assert len(set(said)) == len(said) and all(text.endswith(".") and re.search(r"\d", text) for text in said)
    assert film.describe().endswith(".") and film.describe() in film._repr_html_()


def test_the_systolic_film_shows_the_simulation():
    film = plotting.systolic_array(5, 4, 4, 4)
    run = sl.systolic_matmul(np.ones((5, 4)), np.ones((4, 4)), 4)
    assert len(film.shots) == run.cycles and list(film.columns["cells that multiply"]) == list(run.busy)
    for shot, busy in zip(film.shots, run.busy, strict=True):
        assert f"{busy} of 16 cells multiply" in shot.says
        assert shot.svg.count('fill-opacity="0.2"') == busy


@pytest.mark.parametrize(
    ("film", "sizes", "says"),
    [
        ("systolic_array", {"n": 16}, "at most 9"),
        ("systolic_array", {"n": 9, "k": 8}, "at most 3 tiles"),
        ("systolic_array", {"m": 0}, "m must be a whole number"),
        ("elementwise_stream", {"blocks": 0}, "blocks must be"),
        ("elementwise_stream", {"blocks": 6}, "from 1 to 5"),
        ("elementwise_stream", {"block_bytes": 0}, "block_bytes"),
    ],
)
def test_films_that_cannot_be_drawn_are_refused(film, sizes, says):
    with pytest.raises(sl.ScalingError, match=says):
        FILMS[film](**sizes)


def test_the_stream_film_moves_every_block_once_and_adds_what_has_arrived():
    film = plotting.elementwise_stream(blocks=4)
    moves, adds = film.columns["on the bus"], film.columns["in the VPU"]
    assert sorted(moves) == sorted(f"{letter}{i}" for letter in "xyz" for i in range(1, 5))
    for i in range(1, 5):
        added = adds.index(f"z{i}")
        assert max(moves.index(f"x{i}"), moves.index(f"y{i}")) < added <= moves.index(f"z{i}")
