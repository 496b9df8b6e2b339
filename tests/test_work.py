"""Work against counting: exact fractions, and operations counted as they run."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_traffic import traffic
from hypothesis import given
from hypothesis import strategies as st

import scaling_lib as sl

SIZES = st.integers(1, 5000)
DTYPES = st.sampled_from(["bf16", "int8", "int4", "fp8", "f32"])


@given(SIZES, SIZES, SIZES, DTYPES, DTYPES, DTYPES)
def test_a_matrix_product_moves_each_array_once(b, d, f, x, w, out):
    work = sl.matmul_work(b, d, f, x=x, w=w, out=out, compute="bf16")
    assert work.flops == 2 * b * d * f
    assert work.bytes == float(traffic(b, d, f, x, w, out))
    assert work.intensity == pytest.approx(float(Fraction(2 * b * d * f) / traffic(b, d, f, x, w, out)))


def test_traffic_is_what_numpy_counts():
    x, w = np.zeros((32, 64), np.int8), np.zeros((64, 16), np.float16)
    out = np.zeros((32, 16), np.float32)
    work = sl.matmul_work(32, 64, 16, x="int8", w="f16", out="f32")
    assert work.bytes == x.nbytes + w.nbytes + out.nbytes


@given(SIZES, SIZES, SIZES, SIZES, DTYPES)
def test_independent_products_do_the_work_of_each(g, b, d, f, x):
    many, one = sl.batched_matmul_work(g, b, d, f, x=x), sl.matmul_work(b, d, f, x=x)
    assert (many.flops, many.bytes) == (g * one.flops, g * one.bytes)
    assert many.intensity == pytest.approx(one.intensity)


def test_with_weights_of_its_own_for_each_row_no_batch_helps():
    intensities = [sl.batched_matmul_work(g, 1, 4096, 4096, x="int8").intensity for g in (1, 10, 10**6)]
    assert intensities == pytest.approx([2 / (1 + 1 / 4096 + 1 / 4096)] * 3)


class Counted(float):
    """A float that counts the operations done on it."""

    done = 0

    def _count(operation):
        def method(self, *others):
            Counted.done += 1
            return Counted(operation(float(self), *map(float, others)))

        return method

    __add__ = _count(lambda a, b: a + b)
    __sub__ = _count(lambda a, b: a - b)
    __mul__ = _count(lambda a, b: a * b)
    __truediv__ = _count(lambda a, b: a / b)
    max = _count(max)
    exp = _count(math.exp)


def counted(program, rows, cols):
    """Operations a program does on `rows` rows of `cols` numbers."""
    Counted.done = 0
    rng = np.random.default_rng(0)
    for row in rng.normal(size=(rows, cols)):
        program([Counted(v) for v in row])
    return Counted.done


def total(values):
    first, *rest = values
    for value in rest:
        first = first + value
    return first


def dot(row):
    return total([v * v for v in row])


def softmax(row):
    top = row[0]
    for v in row[1:]:
        top = top.max(v)
    powers = [(v - top).exp() for v in row]
    norm = total(powers)
    return [p / norm for p in powers]


def layer_norm(row):
    mean = total(row) / len(row)
    centred = [v - mean for v in row]
    variance = total([c * c for c in centred]) / len(row)
    scale = Counted(variance**-0.5)
    return [c * scale * 1.5 + 0.5 for c in centred]


@pytest.mark.parametrize("cols", [1, 7, 64])
def test_a_dot_product_does_one_operation_less_than_two_a_pair(cols):
    assert sl.dot_work(cols).flops == counted(dot, 1, cols)


@pytest.mark.parametrize(("rows", "cols"), [(1, 8), (3, 64), (2, 500)])
def test_softmax_does_five_operations_an_element(rows, cols):
    work = sl.softmax_work(rows, cols)
    assert work.flops - counted(softmax, rows, cols) == 2 * rows  # a maximum and a sum need one operation less
    assert work.bytes == 2 * (2 * rows * cols)
    assert sl.softmax_work(rows, cols, reads=3).bytes == 2 * work.bytes


@pytest.mark.parametrize(("rows", "cols"), [(1, 8), (3, 64), (2, 500)])
def test_layer_norm_does_seven_operations_an_element(rows, cols):
    work = sl.layer_norm_work(rows, cols)
    assert abs(work.flops - counted(layer_norm, rows, cols)) <= 2 * rows  # the means' last sums, and two quotients
    assert work.bytes == 2 * (2 * rows * cols) + 2 * (2 * cols)


@given(st.integers(1, 10**9), st.integers(1, 4), st.integers(0, 9))
def test_the_intensity_of_an_elementwise_operation_does_not_depend_on_its_size(n, inputs, per_element):
    work = sl.elementwise_work(n, inputs=inputs, flops_per_element=per_element)
    assert work.intensity == pytest.approx(per_element / (2 * (inputs + 1)))
    assert work.unit == "vector"
