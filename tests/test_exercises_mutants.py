"""The inputs that a code question always tries tell the right function from every nearly right one, without luck.

Wrong functions of two kinds: some that one might really write, and all that differ from the solution in one place.
"""

import ast
import copy
import dataclasses
import math
import re
from pathlib import Path

import pytest
from exercise_specs import EVERY

from scaling_lib.exercises.engine import check_exercise

CODED = {e.key: dataclasses.replace(e, draw=None) for e in EVERY if e.kind == "code"}  # the drawn inputs left out
TEXTS = Path(__file__).parents[1] / "text" / "exercises"


def ceil(a, b):
    return -(-a // b)


WRITTEN = {
    "ch01.q2": {
        "whole bandwidths": lambda p, w, d, f: 1 / s if (s := w // p - 1 / d - 1 / f) > 0 else math.inf,
        "square matrices only": lambda p, w, d, f: 1 / s if (s := w / p - 2 / d) > 0 else math.inf,
        "square of the other side": lambda p, w, d, f: 1 / s if (s := w / p - 2 / f) > 0 else math.inf,
        "the peak where none helps": lambda p, w, d, f: 1 / s if (s := w / p - 1 / d - 1 / f) > 0 else p / w,
        "no batch as 0": lambda p, w, d, f: 1 / s if (s := w / p - 1 / d - 1 / f) > 0 else 0.0,
        "a negative batch": lambda p, w, d, f: 1 / s if (s := w / p - 1 / d - 1 / f) else math.inf,
        "two batches on": lambda p, w, d, f: 1 / s + 2 if (s := w / p - 1 / d - 1 / f) > 0 else math.inf,
    },
    "ch01.q7": {
        "the peak": lambda b, d, f, w, p, bw: p,
        "its batch": lambda b, d, f, w, p, bw: min(p, b * bw),
        "the batch by the weights' bytes": lambda b, d, f, w, p, bw: min(p, 2 * b / w * bw),
        "all of w_bytes": lambda b, d, f, w, p, bw: min(p, 2 * b * d * f / (w * (b * d + d * f + b * f)) * bw),
        "whole intensity": lambda b, d, f, w, p, bw: min(p, 2 * b * d * f // (2 * b * d + w * d * f + 2 * b * f) * bw),
        "no result": lambda b, d, f, w, p, bw: min(p, 2 * b * d * f / (2 * b * d + w * d * f) * bw),
        "no input": lambda b, d, f, w, p, bw: min(p, 2 * b * d * f / (w * d * f + 2 * b * f) * bw),
        "square matrices": lambda b, d, f, w, p, bw: min(p, 2 * b * d * d / (4 * b * d + w * d * d) * bw),
    },
    "ch02.q2": {
        "no overlap": lambda m, k, n, s: ceil(k, s) * ceil(n, s) * (m + s) + 2 * s - 2,
        "rounded down": lambda m, k, n, s: s + ((k // s) * (n // s) - 1) * max(m, s) + m + 2 * s - 2,
        "the product rounded up": lambda m, k, n, s: s + (ceil(k * n, s * s) - 1) * max(m, s) + m + 2 * s - 2,
        "every tile paced": lambda m, k, n, s: s + ceil(k, s) * ceil(n, s) * max(m, s) + 2 * s - 2,
        "k alone": lambda m, k, n, s: s + (ceil(k, s) - 1) * max(m, s) + m + 2 * s - 2,
        "n alone": lambda m, k, n, s: s + (ceil(n, s) - 1) * max(m, s) + m + 2 * s - 2,
        "one tile always": lambda m, k, n, s: m + 3 * s - 2,
        "one corner": lambda m, k, n, s: s + (ceil(k, s) * ceil(n, s) - 1) * max(m, s) + m + 2 * s - 1,
        "128 always": lambda m, k, n, s: 128 + (ceil(k, 128) * ceil(n, 128) - 1) * max(m, 128) + m + 254,
    },
    "ch02.q6": {
        "rounded down": lambda m, k, n, tm, tn: 2 * (m * k * (n // tn) + k * n * (m // tm) + m * n),
        "one more": lambda m, k, n, tm, tn: 2 * (m * k * (n // tn + 1) + k * n * (m // tm + 1) + m * n),
        "whole tiles of results": lambda m, k, n, tm, tn: (
            2 * (m * k * ceil(n, tn) + k * n * ceil(m, tm) + ceil(m, tm) * tm * ceil(n, tn) * tn)
        ),
        "full tiles read": lambda m, k, n, tm, tn: 2 * (ceil(m, tm) * ceil(n, tn) * k * (tm + tn) + m * n),
        "square tiles": lambda m, k, n, tm, tn: 2 * (m * k * ceil(n, tm) + k * n * ceil(m, tm) + m * n),
        "one rounded": lambda m, k, n, tm, tn: 2 * (m * k * ceil(n, tn) + k * n * m / tm + m * n),
        "results read and written": lambda m, k, n, tm, tn: 2 * (m * k * ceil(n, tn) + k * n * ceil(m, tm) + 2 * m * n),
    },
    "ch03.q3": {
        "the size of the axis itself": lambda place, sizes, axes: sum(place[a] * sizes[a] for a in axes),
        "counted from 1": lambda place, sizes, axes: horner(place, sizes, axes) + 1,
        "two axes at most": lambda place, sizes, axes: horner(place, sizes, axes[:2]),
        "the last axis": lambda place, sizes, axes: place[axes[-1]] if axes else 0,
        "the first axis": lambda place, sizes, axes: place[axes[0]] if axes else 0,
        "all axes": lambda place, sizes, axes: horner(place, sizes, "".join(sizes)),
        "an axis of its own size": lambda place, sizes, axes: horner(place, dict.fromkeys(sizes, 2), axes),
        "none as None": lambda place, sizes, axes: horner(place, sizes, axes) if axes else None,
        "none as 1": lambda place, sizes, axes: horner(place, sizes, axes) if axes else 1,
        "the size of the axis before": lambda place, sizes, axes: before(place, sizes, axes),
    },
    "ch03.q6": {
        "hops of a ring": lambda v, n, wraps, link, hop: max(v * (n - 1) / n / ((1 + wraps) * link), n // 2 * hop),
        "hops of a line": lambda v, n, wraps, link, hop: max(v * (n - 1) / n / ((1 + wraps) * link), (n - 1) * hop),
        "half a hop": lambda v, n, wraps, link, hop: gather(v, n, wraps, link, hop, hops=n / 2),
        "half of the others": lambda v, n, wraps, link, hop: gather(v, n, wraps, link, hop, hops=(n - 1) / 2),
        "half of the others, whole": lambda v, n, wraps, link, hop: gather(v, n, wraps, link, hop, hops=(n - 1) // 2),
        "all chips of a line": lambda v, n, wraps, link, hop: gather(v, n, wraps, link, hop, line=n),
        "hops of 1 µs": lambda v, n, wraps, link, hop: gather(v, n, wraps, link, 1e-6),
        "links of 45 GB/s": lambda v, n, wraps, link, hop: gather(v, n, wraps, 45e9, hop),
        "bytes alone": lambda v, n, wraps, link, hop: gather(v, n, wraps, link, 0),
        "hops alone": lambda v, n, wraps, link, hop: gather(0, n, wraps, link, hop),
        "the smaller": lambda v, n, wraps, link, hop: min(gather(v, n, wraps, link, 0), gather(0, n, wraps, link, hop)),
        "one shard": lambda v, n, wraps, link, hop: gather(v / (n - 1), n, wraps, link, hop),
        "whole bytes": lambda v, n, wraps, link, hop: gather(v // n * n, n, wraps, link, hop),
    },
    "ch03.q7": {
        "a ring's floor": lambda n, wraps: n * n // 8 if wraps else n * n // 4,
        "half rounded up": lambda n, wraps: ceil(n * n // 4, 2) if wraps else n * n // 4,
        "half of the other half": lambda n, wraps: (n // 2) ** 2 / (2 if wraps else 1),
        "the larger half": lambda n, wraps: ceil(n, 2) ** 2 / (2 if wraps else 1),
        "no halves": lambda n, wraps: n * n / (8 if wraps else 4),
        "only the line is whole": lambda n, wraps: n * n / 8 if wraps else n * n // 4,
        "only the ring is whole": lambda n, wraps: n * n // 4 / 2 if wraps else n * n / 4,
        "all but one": lambda n, wraps: (n * n - 1) // 4 / (2 if wraps else 1),
        "hops": lambda n, wraps: n // 2 if wraps else n - 1,
        "a line always": lambda n, wraps: n * n // 4,
        "a ring always": lambda n, wraps: n * n // 4 / 2,
        "a table up to eight": lambda n, wraps: min(n, 8) ** 2 // 4 / (2 if wraps else 1),
    },
}


def horner(place, sizes, axes):
    number = 0
    for axis in axes:
        number = number * sizes[axis] + place[axis]
    return number


def before(place, sizes, axes):
    number, size = 0, 1
    for axis in axes:
        number, size = number * size + place[axis], sizes[axis]
    return number


def gather(v, n, wraps, link, hop, hops=None, line=None):
    hops = (n // 2 if hops is None else hops) if wraps else (n - 1 if line is None else line)
    return max(v * (n - 1) / n / ((2 if wraps else 1) * link), hops * hop)


@pytest.mark.parametrize(("key", "name"), [(key, name) for key, wrong in WRITTEN.items() for name in wrong])
def test_a_function_that_one_might_write_fails_on_the_inputs_that_are_always_tried(key, name):
    assert not check_exercise(CODED[key], WRITTEN[key][name]).passed


def test_every_code_question_has_wrong_functions():
    assert set(WRITTEN) == set(CODED) and all(len(wrong) >= 7 for wrong in WRITTEN.values())


# ---------------------------------------------------------------------------- one place of the solution changed
def solution(key):
    """The worked solution in the text of the exercises."""
    (path,) = TEXTS.glob(f"{key.split('.')[0]}_*.md")
    return re.search(rf":tags: \[answer, {re.escape(key)}\]\n(.*?)```", path.read_text(encoding="utf-8"), re.S)[1]


OTHER = {
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Pow: (ast.Mult,),
    ast.Gt: (ast.GtE, ast.Lt),
}
SWAPPED = {"max": "min", "min": "max"}


def changes(node, case):
    """What may stand in a node's place: another operator, a number off by one, an argument ignored, one branch."""
    if isinstance(node, ast.BinOp):
        yield from (ast.BinOp(node.left, op(), node.right) for op in OTHER.get(type(node.op), ()))
        yield node.left
        yield node.right
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        yield from (ast.Compare(node.left, [op()], node.comparators) for op in OTHER[type(node.ops[0])])
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield from (ast.Constant(node.value + by) for by in (-1, 1))
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in SWAPPED:
            yield ast.Name(SWAPPED[node.id], ast.Load())
        elif node.id in case:
            yield ast.parse(repr(case[node.id]), mode="eval").body


def mutants(key):
    """The solution, changed in one place, as source."""
    tree = ast.parse(solution(key))
    for place, node in enumerate(ast.walk(tree)):
        for case in CODED[key].cases:
            for count, _ in enumerate(changes(node, case)):
                changed = copy.deepcopy(tree)
                at = list(ast.walk(changed))[place]
                yield ast.unparse(replaced(changed, at, list(changes(at, case))[count]))


def replaced(tree, old, new):
    class Swap(ast.NodeTransformer):
        def visit(self, node):
            return new if node is old else self.generic_visit(node)

    return ast.fix_missing_locations(Swap().visit(tree))


# Changes that leave a right answer.
STILL_RIGHT = {"ch01.q2": ("return 1 // share",)}  # the whole batch below passes too


@pytest.mark.parametrize("key", CODED)
def test_the_solution_with_any_one_place_changed_fails_on_the_inputs_that_are_always_tried(key):
    e, sources = CODED[key], set(mutants(key))
    assert check_exercise(e, defined(e, solution(key))).passed and len(sources) >= 15
    passing = [source for source in sources if check_exercise(e, defined(e, source)).passed]
    assert [source for source in passing if not any(part in source for part in STILL_RIGHT.get(key, ()))] == []


def defined(e, source):
    space = {}
    exec(source, space)
    return space[e.function]
