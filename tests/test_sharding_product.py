"""Products in writing and made by hand: what is refused and where, what is summed over."""

import pytest

import scaling_lib as sl
from scaling_lib.sharding import NotationError, parse_product, parse_sharding


@pytest.mark.parametrize(
    ("text", "says", "at"),
    [
        ("A[I, J] * B[J, K]", "'->' and the product.*a product looks like A", 17),
        ("A[I, J] -> C[I]", r"'\*' and the second array", 8),
        ("A[I, J] * B[J, K] -> C[I, M]", "no operand has dimension M: possible are I, J, K", 26),
        ("A[I, J] * A[J, K] -> C[I, K]", "two arrays are named A", 10),
        ("A[I, J_X] * B[J, K] -> C[I_X, K_X]", "axis X shards both", 32),
    ],
)
def test_a_product_that_cannot_be_is_refused_at_the_place(text, says, at):
    with pytest.raises(NotationError, match=says) as caught:
        parse_product(text)
    assert caught.value.at == at


@pytest.mark.parametrize(
    ("arrays", "says", "at"),
    [
        (("A[I, J]", "A[J, K]", "C[I, K]"), "two arrays are named A", 0),
        (("A[I, J]", "B[J, K]", "B[I, K]"), "two arrays are named B", 0),
        (("A[I, J]", "B[J, K]", "C[I, Z]"), "no operand has dimension Z: possible are I, J, K", 5),
    ],
)
def test_a_product_made_by_hand_is_checked_as_one_in_writing(arrays, says, at):
    with pytest.raises(NotationError, match=says) as caught:
        sl.Product(*map(parse_sharding, arrays))
    assert caught.value.at == at


def test_a_product_is_of_shardings():
    a = parse_sharding("A[I]")
    with pytest.raises(sl.ScalingError, match=r"b must be a Sharding, such as parse_sharding gives, got 'B\[I\]'"):
        sl.Product(a, "B[I]", a)


def test_einsum_has_a_letter_for_each_of_52_dimensions():
    def product(n):
        every = ", ".join(f"d{i}" for i in range(n))
        return parse_product(f"A[{every}] * B[{every}] -> C[]")

    assert len(set(product(52).einsum.split(",")[0])) == 52 and product(52).einsum.replace(",", "")[:104].isalpha()
    with pytest.raises(sl.ScalingError, match="einsum has 52 letters, got 53 dimensions"):
        _ = product(53).einsum


def test_a_product_knows_what_it_sums_over():
    p = parse_product("A[B, I, J_X, L] @ W[L, J_X, K] -> C[B, K, I]", {"X": 4})
    assert p.contracted == ("J", "L") and p.einsum == "abcd,dce->aeb"
    assert str(p) == "A[B, I, J_X, L] * W[L, J_X, K] -> C[B, K, I]"
    with pytest.raises(sl.UnknownAxis):
        parse_product("A[I_Q] * B[I] -> C[]", {"X": 4})
