"""Figures: what they say is what they draw, and everyone can read them."""

import itertools
import re
import subprocess
import sys
from types import SimpleNamespace as Like

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from scaling_lib import plotting
from scaling_lib.hardware import chip, chips
from scaling_lib.plotting import COLORS, Picture, style
from scaling_lib.roofline import critical_batch, dot_work, matmul_work, ridge_point
from scaling_lib.units import ScalingError

MEASURED = ([1, 64, 256, 4096], np.array([43.5, 45, 54, 643]) * 1e-6)


def measured_by_hand():
    """A machine of 80 GFLOP/s and 20 GB/s, as `referee.measure_roofline` describes one."""
    points = [
        Like(batch=b, intensity=i, predicted_flops_per_s=p, flops_per_s=Like(median=m))
        for b, i, p, m in ((1, 0.5, 1e10, 8e9), (16, 8.0, 8e10, 5e10), (512, 100.0, 8e10, 8e10))
    ]
    rates = {"peak_flops_per_s": Like(median=8e10), "stream_bytes_per_s": Like(median=2e10)}
    return Like(device="the CPU (2 cores)", ridge_point=4.0, points=points, **rates)


PICTURES = {
    "roofline": lambda: plotting.roofline(["tpu-v5e", "h100"], {"dot": dot_work(10**6), "wide": 300.0}),
    "network roofline": lambda: plotting.roofline("tpu-v5e", link="ici"),
    "ridges": plotting.ridge_chart,
    "rate": lambda: plotting.attained_rate("tpu-v5e", [8192, 1024, 256], w="int8"),
    "measured": lambda: plotting.against_measurement("h100", *MEASURED, d=8192, f=7168, source="Vidur"),
    "mine": lambda: plotting.measured_roofline(measured_by_hand()),
    "scaling": plotting.strong_and_weak_scaling,
}


@pytest.fixture(scope="module", params=PICTURES)
def picture(request):
    return PICTURES[request.param]()


def test_a_picture_says_itself_in_one_sentence_with_numbers(picture):
    said = picture.describe()
    assert isinstance(picture, Picture)
    assert said.endswith(".") and not re.search(r"[.!?] [A-Z]", said)
    assert re.search(r"\d", said) and said in repr(picture)


def test_a_picture_shows_as_svg_with_caption_and_table(picture):
    shown = picture._repr_html_()
    assert 'role="img"' in shown and "<figcaption" in shown and "<table>" in shown
    assert style.INK not in shown and "currentColor" in shown  # the page's own text colour: light and dark
    assert "<metadata>" not in shown and "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", shown)
    assert len(shown) < 150_000


def test_two_pictures_on_a_page_share_no_id():
    ids = [set(re.findall(r'\bid="([^"]+)"', PICTURES[name]()._repr_html_())) for name in ("ridges", "rate")]
    assert not ids[0] & ids[1]


def test_the_same_picture_is_the_same_text(picture):
    assert picture.svg() == picture.svg()


def test_nothing_in_a_picture_overflows_its_frame(picture):
    canvas, frame = FigureCanvasAgg(picture.figure), picture.figure.bbox
    canvas.draw()
    renderer = canvas.get_renderer()
    (axes,) = picture.figure.axes
    for text in (*picture.figure.texts, axes.xaxis.label, axes.yaxis.label, *axes.texts):
        box = text.get_window_extent(renderer)
        assert box.x0 >= frame.x0 - 2 and box.x1 <= frame.x1, text.get_text()


def test_roofline_says_what_it_draws():
    drawn = plotting.roofline("tpu-v5e", {"matmul": matmul_work(64, 8192, 8192)})
    assert drawn.columns["attainable TFLOP/s"] == pytest.approx([63.0 * 0.82, 197.0], rel=0.01)
    assert "240 FLOP/byte" in drawn.describe() and "26% of the peak" in drawn.describe()


def test_every_chip_has_its_bar():
    columns = plotting.ridge_chart().columns
    assert columns["chip"] == [c.title for c in chips()]
    assert columns["ridge point [FLOP/byte]"] == pytest.approx([ridge_point(c) for c in chips()])


def test_a_chip_without_the_format_has_no_bar():
    shown = plotting.ridge_chart(dtype="fp8").columns["chip"]
    assert chip("h100").title in shown and chip("a100").title not in shown


def test_rate_names_the_knees_and_the_width_that_has_none():
    said = plotting.attained_rate("tpu-v5e", [8192, 256], w="int8").describe()
    assert f"B = {critical_batch('tpu-v5e', 8192, 8192, w='int8'):.0f}" in said and "256 never reaches it" in said


def test_a_fixed_problem_stops_where_the_exchange_takes_over():
    columns = plotting.strong_and_weak_scaling(0.64, 0.01, 1024).columns
    assert columns["strong"] == pytest.approx(np.minimum(columns["chips"], 64))
    assert columns["weak"] == pytest.approx(columns["chips"])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1, "0.1"), (1, "1"), (240, "240"), (1000, "1k"), (16384, "16k"), (240e3, "240k"), (2e6, "2M")],
)
def test_ticks_are_real_numbers(value, text):
    assert style.si_label(value) == text


def linear(colour):
    """sRGB hex -> linear RGB."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Linear RGB -> CIE Lab, in which a distance of about 10 is plain to see."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(rgb, 0, 1)
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Machado, Oliveira and Fernandes 2009, full severity.
SIGHT = {
    "usual": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_stay_apart(sight):
    seen = {name: lab(np.array(SIGHT[sight]) @ linear(c)) for name, c in COLORS.items()}
    for a, b in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[a] - seen[b]) > 15, (a, b)


@pytest.mark.parametrize("background", ["#ffffff", "#121212"])
def test_colours_stand_out_in_light_and_dark(background):
    def luminance(c):
        return linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05

    for name, colour in COLORS.items():
        light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
        assert light / dark >= 3, name


def test_the_library_itself_draws_nothing():
    code = "import scaling_lib, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def title(picture):
    return " ".join(picture.figure.get_suptitle().split())


def test_the_title_of_a_roofline_names_the_drawn_ridges():
    assert title(plotting.roofline("tpu-v5e")) == "Below 240 FLOP/byte the TPU v5e waits for bytes"
    both = title(plotting.roofline(["h100", "tpu-v5e"]))  # 989 / 3.35 and 197 / 0.82
    assert both == "TPU v5e waits for bytes below 240 FLOP/byte, H100 SXM below 295"
    assert title(plotting.roofline(["h100", "h100"])) == "All wait for bytes below 295 FLOP/byte"


def test_the_title_of_the_ridges_counts_the_drawn_chips():
    assert title(plotting.ridge_chart("tpu-v5e")) == "The ridge point of the TPU v5e is 240 FLOP/byte"
    assert title(plotting.ridge_chart(["tpu-v5e", "h100"])) == "Ridge points differ 1.2-fold between chips"


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ([8192, 256], "Small matrices never reach the roof, whatever the batch"),
        ([128, 256], "No batch lets matrices this small reach the roof of the TPU v5e"),
        ([8192], "The roof is reached at a batch of 255"),  # 1/B = 1/240.24 - 2/8192
        ([8192, 1024], "The roof is reached at batches from 255 to 453, by the size"),  # 1/B = 1/240.24 - 2/1024
    ],
)
def test_the_title_of_a_rate_follows_its_lines(sizes, says):
    assert title(plotting.attained_rate("tpu-v5e", sizes)) == says


def test_the_title_of_a_measurement_is_its_distance_from_the_bound():
    # 1000 rows: 2e9 FLOP / 989e12 = 2.02 µs, 6e6 bytes / 3.35e12 = 1.79 µs; 4000 rows: 8.09 µs.
    drawn = plotting.against_measurement("h100", [1000, 4000], [1.011e-6, 16.18e-6], d=1000, f=1000, source="made up")
    assert title(drawn) == "Measured: 0.50 to 2.00 times the predicted lower bound"


@pytest.mark.parametrize(
    ("compute_s", "exchange_s", "says", "sentence"),
    [
        (0.64, 0.01, "A fixed problem stops gaining at 64 chips", "up to 64 chips and stays at 64"),
        (64, 0.01, "A fixed problem still gains at 1024 chips", "to the last of 1024 chips"),
        (1, 2, "A fixed problem gains nothing from a second chip", "the speed-up stays at 0.5"),
    ],
)
def test_the_title_of_scaling_follows_the_knee(compute_s, exchange_s, says, sentence):
    drawn = plotting.strong_and_weak_scaling(compute_s, exchange_s, 1024)
    assert title(drawn) == says and sentence in drawn.describe()


def test_more_lines_than_dashes_are_all_drawn():
    names = [c.name for c in chips()]
    (axes,) = plotting.roofline(names).figure.axes
    assert {text.get_text() for text in axes.texts} == {c.title for c in chips()}
    sizes = [512, 1024, 2048, 4096, 8192, 16384, 32768]
    assert len(plotting.attained_rate("h100", sizes).columns) == 1 + len(sizes)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plotting.roofline([]), "chips must hold at least one"),
        (lambda: plotting.roofline("tpu-v5e", {"dot": 0}), "the intensity of dot is zero"),
        (lambda: plotting.roofline(5), "chip 5 is unknown"),
        (lambda: plotting.ridge_chart(dtype="f64"), "dtype 'f64' is unknown"),
        (lambda: plotting.ridge_chart("a100", dtype="fp8"), "chips must hold one with a fp8 rate"),
        (lambda: plotting.attained_rate(["h100", "a100"], [8192]), "chip must be one chip, got 2"),
        (lambda: plotting.attained_rate("h100", []), "sizes must hold at least one"),
        (lambda: plotting.attained_rate("h100", [8192], batches=[1, -1]), "batches is negative"),
        (lambda: plotting.against_measurement("h100", [1, 2], [1e-6], d=8, f=8, source=""), "measured_s must hold"),
        (lambda: plotting.strong_and_weak_scaling(0.64, 0), "exchange_s is zero"),
        (lambda: plotting.strong_and_weak_scaling(max_chips=0.5), "max_chips must be at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(call, says):
    with pytest.raises(ScalingError, match=says):
        call()
