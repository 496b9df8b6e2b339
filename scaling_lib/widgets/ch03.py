"""Chapter 3's explorer: two operands and their product, cut as the reader likes, and every way to multiply them."""

import itertools
import math
from functools import cache, lru_cache, partial

import numpy as np

from scaling_lib.hardware import GpuCluster, Mesh, TpuSlice
from scaling_lib.sharding import moves
from scaling_lib.sharding.costs import STEP_S, Routes, mesh_costs
from scaling_lib.sharding.words import named
from scaling_lib.units import si
from scaling_lib.widgets import charts
from scaling_lib.widgets.display import Display
from scaling_lib.widgets.explorer import Control, Explorer, Readout, Say, Table
from scaling_lib.widgets.words import NOTHING

MESHES = {
    "TPU v5e, X = 2, Y = 2": lambda: Mesh(TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2),
    "TPU v5e, X = 4, Y = 2": lambda: Mesh(TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2),
    "TPU v5e, X = 2, Y = 4": lambda: Mesh(TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4),
    "TPU v5e, X = 4, Y = 4": lambda: Mesh(TpuSlice("tpu-v5e", (4, 4)), X=4, Y=4),
    "TPU v5e, X = 8, Y = 8": lambda: Mesh(TpuSlice("tpu-v5e", (8, 8)), X=8, Y=8),
    "TPU v5e, X = 8, Y = 16 (a ring)": lambda: Mesh(TpuSlice("tpu-v5e", (8, 16)), X=8, Y=16),
    "TPU v5e, X = 16, Y = 16 (rings)": lambda: Mesh(TpuSlice("tpu-v5e", (16, 16)), X=16, Y=16),
    "TPU v6e, X = 4, Y = 2": lambda: Mesh(TpuSlice("tpu-v6e", (2, 4)), X=4, Y=2),
    "TPU v5p, X = 4 × 4, Y = 4 (rings)": lambda: Mesh(TpuSlice("tpu-v5p", (4, 4, 4)), X=(0, 1), Y=(2,)),
    "H100 node, X = 4, Y = 2": lambda: Mesh(GpuCluster("h100", 8), X=4, Y=2),
    "H100, X = 4 nodes, Y = 8 in each": lambda: Mesh(GpuCluster("h100", 32), X=4, Y=8),
}
SIZES = (256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536)
AXES = "XY"
ARRAYS = {"A": "IJ", "B": "JK", "C": "IK"}
BF16_BYTES = 2.0
ANY_SIZE = (2.0**20, 2.0**20)  # of dimensions that every mesh divides
# Where X goes while chips multiply, and Y; "r" if both cut one dimension and Y is the slower.
WAYS = tuple(
    way
    for x, y in itertools.product("IJK-", repeat=2)
    for way in ([(x, y), (x, y, "r")] if x == y != "-" else [(x, y)])
)
NOTHING_S = NOTHING / 1000  # what a free way costs, so that it has a logarithm
MOST = 5  # bars are broken off where they take so many times as long as the shortest
LEFTS = {"A": 2, "B": 104, "C": 206}  # pictures of the arrays [pixels]
SIDE, TOP = 76, 22


def sharding_explorer():
    """Layouts of A, B and C × mesh × three sizes: what a chip holds, every way to multiply, the cheapest plan.

    >>> sharding_explorer().describe({"a": "I_X J", "b": "J K_X", "c": "I_X K"})[:63]
    'A[I_X, J] · B[J, K_X] → C[I_X, K] on TPU v5e, X = 4, Y = 2: cut'
    """
    return Display(_explorer())


def _layouts(dims):
    """{text: axes of each dimension}: every way to cut an array of two dimensions over X and Y."""

    def simple_first(cut):
        rows, columns = cut
        return bool(rows and columns), bool(columns), len(rows + columns), cut

    found = {}
    for cut in sorted((state for state, _ in moves.graph((2, 2), 2).states), key=simple_first):
        axes = ["".join(AXES[axis] for axis in over) for over in cut]
        found[" ".join(dim + (f"_{over}" if over else "") for dim, over in zip(dims, axes, strict=True))] = cut
    return found


LAYOUTS = {name: _layouts(dims) for name, dims in ARRAYS.items()}


def _written(name, layout):
    return f"{name}[{layout.replace(' ', ', ')}]"


@cache
def _mesh(name):
    return MESHES[name]()


# ---- what each array is sent for one way to multiply ----


def _state(name, way):
    """(axes of each dimension, unreduced axes) of an array while chips multiply: an axis goes where `way` says."""
    axes = (1, 0) if way[2:] else (0, 1)
    dims = tuple(tuple(axis for axis in axes if way[axis] == d) for d in ARRAYS[name])
    unreduced = tuple(axis for axis in (0, 1) if way[axis] == "J") if name == "C" else ()
    return dims, unreduced


def _spot(name, way):
    """The name of an array's state: of ways that differ elsewhere it is the same."""
    dims, unreduced = _state(name, way)
    return "_".join((name, *("".join(AXES[axis] for axis in axes) or "n" for axes in (*dims, unreduced))))


@lru_cache(maxsize=1024)
def _sendings(mesh, array, layout, nbytes):
    """[{state: (seconds, words)}] for each of `nbytes`: the planner's steps between a layout and all states."""
    costs = mesh_costs(_mesh(mesh), tuple(AXES))
    lengths = tuple(_mesh(mesh).sizes[axis] for axis in AXES)
    graph = moves.graph(lengths, 2, frozenset((0, 1) if array == "C" else ()))
    search = Routes.from_all if array == "C" else Routes.to_all
    found = []
    for size in nbytes:
        routes = search(graph, costs, (LAYOUTS[array][layout], ()), size, ANY_SIZE)
        found.append({state: _sending(routes, state, array) for state in graph.states})
    return found


def _sending(routes, state, array):
    """(seconds, words) of the steps to a state; from it, for C."""
    steps = routes.edges(state)[:: -1 if array == "C" else 1]
    seconds = routes.seconds[routes.graph.number[state]] - STEP_S * len(steps)
    return (seconds if any(step.op != "slice" for step in steps) else NOTHING_S), _steps(array, tuple(steps))


@cache
def _steps(array, steps):
    """Steps in words, each with the sign that joins it to the product."""
    texts, cut = [], []
    for step in steps:
        axes = [AXES[axis] for axis in step.axes]
        if step.op == "slice":
            texts = texts[:-1] if cut else texts
            cut += axes
            texts.append(f"cut {array} over {named(cut)} (free)")
        else:  # what was cut in vain is sent back as well, so that its links help
            links = " (with the links of both)" if set(cut) & set(axes) and len(axes) > 1 else ""
            texts.append(f"{step.op.replace('_', '-')} {array} over {named(axes)}{links}")
            cut = []
    return "".join(f", {text}" if array == "C" else f"{text}, " for text in texts)


def _over_sizes(array, way, what):
    """Seconds (0) or words (1) of an array's steps; they depend on its layout, its bytes and the mesh alone."""
    state = _state(array, way)

    def of(mesh, **rest):
        layout, nbytes = rest[array.lower()], np.asarray(rest[f"nbytes_{array}"], float)
        found = _sendings(mesh, array, layout, tuple(nbytes.ravel().tolist()))
        return np.array([each[state][what] for each in found], dtype=object if what else float).reshape(nbytes.shape)

    return of


def _label(way):
    """`X cuts I, Y cuts K`, `XY cuts J`, `X cuts I alone`."""
    x, y, *turned = way
    if x == y:
        return "nothing is cut" if x == "-" else f"{'YX' if turned else 'XY'} cuts {x}"
    cuts = [f"{axis} cuts {dim}" for axis, dim in zip(AXES, way, strict=True) if dim != "-"]
    return ", ".join(cuts) if len(cuts) > 1 else f"{cuts[0]} alone"


def _name(way):
    return "_".join(dim.replace("-", "n") for dim in way)


def _split(dims, way):
    """Chips over which a way cuts these dimensions."""

    def of(mesh):
        return math.prod(_mesh(mesh).sizes[axis] for axis, dim in zip(AXES, way[:2], strict=True) if dim in dims)

    return of


# ---- what each chip holds, and its picture ----


def _held(array):
    """Blocks of an array in its own layout."""

    def of(mesh, **layout):
        sizes = _mesh(mesh).sizes
        cut = LAYOUTS[array][layout[array.lower()]]
        return math.prod(sizes[AXES[axis]] for axes in cut for axis in axes)

    return of


def _corner(array, which):
    """A side of the block of chip (1, 0), in pixels of its picture."""

    def of(mesh, **layout):
        sizes = _mesh(mesh).sizes
        rows, columns = LAYOUTS[array][layout[array.lower()]]
        axes = rows if which[0] == "y" else columns
        n = math.prod(sizes[AXES[axis]] for axis in axes)
        at = 0
        for axis in axes:
            at = at * sizes[AXES[axis]] + (1 if axis == 0 else 0)
        edge = (at + which.endswith("2")) / n
        return SIDE * edge + (TOP if which[0] == "y" else LEFTS[array])

    return of


CORNERS = ("x", "y", "x2", "y2")


# ---- tables, values and words ----


def _tables():
    for dim in "IJK":
        yield Table(f"n_{dim}", (dim.lower(),), lambda **size: np.asarray(*size.values(), float), log10=True)
    yield Table("two", (), lambda: 2.0, log10=True)
    yield Table("peak", ("mesh",), lambda mesh: _mesh(mesh).chip.peak_flops_per_s("bf16"), log10=True)
    yield Table("hbm", ("mesh",), lambda mesh: _mesh(mesh).chip.hbm_bytes_per_s, log10=True)
    yield Table("capacity", ("mesh",), lambda mesh: _mesh(mesh).chip.hbm_bytes, log10=True)
    yield Table("fits", (), lambda: "")
    yield Table("too_much", ("mesh",), lambda mesh: f", more than its {si(_mesh(mesh).chip.hbm_bytes, 'B')}")
    for array, dims in ARRAYS.items():
        over = ("mesh", array.lower())
        yield Table(f"nbytes_{array}", tuple(dims.lower()), lambda **sizes: BF16_BYTES * math.prod(sizes.values()))
        yield Table(f"held_{array}", over, _held(array), log10=True)
        yield Table(f"text_{array}", over[1:], lambda array=array, **layout: _written(array, *layout.values()))
        yield Table(f"left_{array}", (), partial(float, LEFTS[array]))
        for side in CORNERS:
            yield Table(f"{side}_{array}", over, _corner(array, side))
        for spot, way in {_spot(array, way): way for way in WAYS}.items():
            over_bytes = (*over, f"nbytes_{array}")
            yield Table(f"sent_{spot}", over_bytes, _over_sizes(array, way, 0), log10=True)
            yield Table(f"words_{spot}", over_bytes, _over_sizes(array, way, 1))
            yield Table(f"parts_{spot}", ("mesh",), _split(dims, way), log10=True)
    for way in WAYS:
        yield Table(f"parts_{_name(way)}", ("mesh",), _split("IJK", way), log10=True)
        yield Table(f"label_{_name(way)}", (), partial(_label, way))


def _readouts():
    for array, dims in ARRAYS.items():
        yield Readout(f"bytes_{array}", "add", ("two", *(f"n_{dim}" for dim in dims)))
        yield Readout(f"local_{array}", "add", (f"bytes_{array}", f"-held_{array}"))
        for spot in dict.fromkeys(_spot(array, way) for way in WAYS):
            yield Readout(f"used_{spot}", "add", (f"bytes_{array}", f"-parts_{spot}"))
    yield Readout("local", "stack", tuple(f"local_{array}" for array in ARRAYS))
    yield Readout("room", "which", ("capacity", "local"), gives=("fits", "too_much"))
    yield Readout("flops", "add", ("two", "n_I", "n_J", "n_K"))
    for way in WAYS:
        at, spots = _name(way), [_spot(array, way) for array in ARRAYS]
        yield Readout(f"used_{at}", "stack", tuple(f"used_{spot}" for spot in spots))
        yield Readout(f"memory_{at}", "add", (f"used_{at}", "-hbm"))
        yield Readout(f"math_{at}", "add", ("flops", f"-parts_{at}", "-peak"))
        yield Readout(f"product_{at}", "greatest", (f"math_{at}", f"memory_{at}"))
        yield Readout(f"send_{at}", "stack", tuple(f"sent_{spot}" for spot in spots))
        yield Readout(f"time_{at}", "stack", (f"send_{at}", f"product_{at}"))
        yield Readout(f"fast_{at}", "add", (f"-time_{at}",))
    yield Readout("best_s", "least", tuple(f"time_{_name(way)}" for way in WAYS))
    for way in map(_name, WAYS):
        yield Readout(f"part_{way}", "add", (f"product_{way}", "-best_s"))
        yield Readout(f"times_{way}", "add", (f"time_{way}", "-best_s"))
    yield _of_the_best("product", "product_{name}")
    yield _of_the_best("label", "label_{name}")
    for array in ARRAYS:
        yield _of_the_best(f"words_{array}", "words_{" + array + "}")


def _of_the_best(what, pattern):
    """What belongs to the cheapest way."""
    spots = [{array: _spot(array, way) for array in ARRAYS} for way in WAYS]
    gives = tuple(pattern.format(name=_name(way), **at) for way, at in zip(WAYS, spots, strict=True))
    return Readout(what, "which", tuple(f"fast_{_name(way)}" for way in WAYS), gives)


SAYS = (
    Say(
        "{text_A} · {text_B} → {text_C} on {mesh}: {words_A}{words_B}multiply ({label}){words_C}; {best_s:s}, of which "
        "the product takes {product:s}. A chip holds {local:B} of the three arrays as they are given{room}."
    ),
)


def _rows():
    yield "product", "{text_A} · {text_B} → {text_C}"
    yield "mesh", "{mesh}"
    for array in ARRAYS:
        yield f"{array} on each chip", f"{{local_{array}:B}}"
    yield "the cheapest plan", "{best_s:s}"
    for way in WAYS:
        at = _name(way)
        yield f"{_label(way)}: sending, product, in all", f"{{send_{at}:s}}, {{product_{at}:s}}, {{time_{at}:s}}"


BARS = {
    "rows": tuple(map(_label, WAYS)),
    "most": MOST,
    "x_title": "time, in multiples of the cheapest plan's",
    "parts": ("product", "sending"),
}


def _chart():
    """Pictures of the three arrays with the block of chip (1, 0), and a bar for each way to multiply."""
    spec = charts.multiples(**BARS, top=TOP + SIDE)
    spec["data"] += [{"name": "blocks"}, {"name": "names"}]
    spec["marks"] += charts.blocks(LEFTS.values(), SIDE, TOP, spec["padding"]["left"])
    return spec


def _drawn():
    return {
        "bars": tuple(
            {"row": f"label_{at}", "part": f"part_{at}", "x": f"times_{at}", "text": f"{{time_{at}:s}}"}
            for at in map(_name, WAYS)
        ),
        "blocks": tuple({side: f"{side}_{array}" for side in CORNERS} for array in ARRAYS),
        "names": tuple({"x": f"left_{array}", "text": f"{{text_{array}}}"} for array in ARRAYS),
    }


def _still(drawn, title):
    # Imported here: matplotlib is wanted only where a picture is made.
    from scaling_lib.widgets import fallback

    return fallback.multiples(drawn, title, **BARS, side=SIDE, top=TOP)


def _layout_control(array, first):
    layouts = tuple(LAYOUTS[array])
    return Control(array.lower(), array, layouts, first, tuple(_written(array, layout) for layout in layouts))


@cache
def _explorer():
    return Explorer(
        name="ch03-sharding",
        title="The layouts decide what must be sent; the block of chip (1, 0) is filled",
        controls=(
            Control("mesh", "Mesh", tuple(MESHES), "TPU v5e, X = 4, Y = 2", tuple(MESHES), wide=True),
            *(_layout_control(*pick) for pick in (("A", "I_X J"), ("B", "J K_X"), ("C", "I_X K"))),
            *(Control(dim.lower(), dim, SIZES, size) for dim, size in (("I", 4096), ("J", 8192), ("K", 4096))),
        ),
        tables=tuple(_tables()),
        readouts=tuple(_readouts()),
        says=SAYS,
        rows=tuple(_rows()),
        chart=_chart(),
        drawn=_drawn(),
        still=_still,
    )
