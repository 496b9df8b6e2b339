"""Chapter 3's explorer: two operands and their product, cut as the reader likes, and every way to multiply them."""

import itertools
import math
from functools import cache, partial

import numpy as np

from scaling_lib.hardware import GpuCluster, Mesh, TpuSlice
from scaling_lib.sharding import moves
from scaling_lib.sharding.costs import Routes, mesh_costs
from scaling_lib.sharding.words import named
from scaling_lib.widgets import charts
from scaling_lib.widgets.display import Display
from scaling_lib.widgets.explorer import Control, Explorer, Readout, Say, Table

MESHES = {
    "TPU v5e, X = 2, Y = 2": lambda: Mesh(TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2),
    "TPU v5e, X = 4, Y = 2": lambda: Mesh(TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2),
    "TPU v5e, X = 2, Y = 4": lambda: Mesh(TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4),
    "TPU v5e, X = 4, Y = 4": lambda: Mesh(TpuSlice("tpu-v5e", (4, 4)), X=4, Y=4),
    "TPU v5e, X = 8, Y = 8": lambda: Mesh(TpuSlice("tpu-v5e", (8, 8)), X=8, Y=8),
    "TPU v5e, X = 8, Y = 16 (a ring)": lambda: Mesh(TpuSlice("tpu-v5e", (8, 16)), X=8, Y=16),
    "TPU v5e, X = 16, Y = 16 (rings)": lambda: Mesh(TpuSlice("tpu-v5e", (16, 16)), X=16, Y=16),
    "TPU v6e, X = 4, Y = 2": lambda: Mesh(TpuSlice("tpu-v6e", (2, 4)), X=4, Y=2),
    "TPU v5p, X = 16, Y = 4 (rings)": lambda: Mesh(TpuSlice("tpu-v5p", (4, 4, 4)), X=(0, 1), Y=(2,)),
    "H100 node, X = 4, Y = 2": lambda: Mesh(GpuCluster("h100", 8), X=4, Y=2),
    "4 H100 nodes, X = 4, Y = 8": lambda: Mesh(GpuCluster("h100", 32), X=4, Y=8),
}
SIZES = (256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536)
AXES = "XY"
ARRAYS = {"A": "IJ", "B": "JK", "C": "IK"}
# Where X goes while chips multiply, and Y; "r" if both cut one dimension and Y is the slower.
WAYS = (*itertools.product(("I", "J", "K", "-"), repeat=2), *((dim, dim, "r") for dim in "IJK"))
LEAST_S = 1e-12  # what a way costs that costs nothing, so that it has a logarithm
DOMAIN = (1e-6, 1.0)
LARGE = 1e9  # bytes of an array whose cheapest route is taken at every size


def sharding_explorer():
    """Layouts of A, B and C × mesh × three sizes: what a chip holds, every way to multiply, the cheapest plan.

    >>> sharding_explorer().describe({"a": "I_X J", "b": "J K_X", "c": "I_X K"})[:63]
    'A[I_X, J] · B[J, K_X] → C[I_X, K] on TPU v5e, X = 4, Y = 2: cut'
    """
    return Display(_explorer())


def _layouts(dims):
    """{text: axes of each dimension}: every way to cut an array of two dimensions over X and Y."""
    found = {}
    for states in moves.graph((2, 2), 2).states:
        axes = ["".join(AXES[axis] for axis in cut) for cut in states[0]]
        found[" ".join(dim + (f"_{cut}" if cut else "") for dim, cut in zip(dims, axes, strict=True))] = states[0]
    return found


LAYOUTS = {name: _layouts(dims) for name, dims in ARRAYS.items()}


def _written(name, layout):
    return f"{name}[{layout.replace(' ', ', ')}]"


@cache
def _mesh(name):
    return MESHES[name]()


def _state(name, way):
    """(axes of each dimension, unreduced axes) of an array while chips multiply: an axis goes where `way` says."""
    axes = (1, 0) if way[2:] else (0, 1)
    dims = tuple(tuple(axis for axis in axes if way[axis] == d) for d in ARRAYS[name])
    unreduced = tuple(axis for axis in (0, 1) if way[axis] == "J") if name == "C" else ()
    return dims, unreduced


@cache
def _routes(mesh_name, array, layout):
    """Cheapest ways of one array between its layout and every other, on one mesh."""
    mesh = _mesh(mesh_name)
    lengths = tuple(mesh.sizes[axis] for axis in AXES)
    partial_axes = frozenset((0, 1)) if array == "C" else frozenset()
    graph = moves.graph(lengths, 2, partial_axes, frozenset())
    costs = mesh_costs(mesh, tuple(AXES))
    search = Routes.from_all if array == "C" else Routes.to_all
    return search(graph, costs, (LAYOUTS[array][layout], ()), LARGE, (2.0**20, 2.0**20)), costs


@cache
def _way(mesh_name, array, layout, way):
    """(seconds a byte, seconds of hops, words) of one array's steps for one way to multiply."""
    routes, costs = _routes(mesh_name, array, layout)
    graph, state = routes.graph, _state(array, way)
    per_byte, latency = costs.of_edges(graph)
    steps = routes.edges(state)[:: -1 if array == "C" else 1]
    numbers = [graph.edges.index(step) for step in steps]
    words = []
    for step in steps:
        over = named([AXES[axis] for axis in step.axes])
        words.append(
            f"cut {array} over {over} (free)" if step.op == "slice" else f"{_verb(step.op)} {array} over {over}"
        )
    return math.fsum(per_byte[numbers]), math.fsum(latency[numbers]), ", ".join(words)


def _verb(op):
    return op.replace("_", "-")


def _name(way):
    return "_".join(dim.replace("-", "n") for dim in way)


def _table_of(array, way, what):
    """Rates and words depend on the mesh and the layout of that array alone."""
    control = array.lower()

    def of(mesh, **layout):
        value = _way(mesh, array, layout[control], way)[what]
        return value if what == 2 else max(value, LEAST_S if what else LEAST_S / LARGE)

    return of


def _words(array, way):
    """Its steps, with the sign that joins them to the others."""
    plain = _table_of(array, way, 2)

    def of(mesh, **layout):
        text = plain(mesh, **layout)
        return text and (f", {text}" if array == "C" else f"{text}, ")

    return of


def _split(dims):
    """Chips over which a way cuts these dimensions."""

    def of(mesh, way):
        return math.prod(_mesh(mesh).sizes[axis] for axis, dim in zip(AXES, way[:2], strict=True) if dim in dims)

    return of


def _held(array):
    """Blocks of an array in its own layout."""

    def of(mesh, **layout):
        sizes = _mesh(mesh).sizes
        cut = LAYOUTS[array][layout[array.lower()]]
        return math.prod(sizes[AXES[axis]] for axes in cut for axis in axes)

    return of


def _corner(array, which):
    """A side of the block of chip (1, 0), in pixels of its picture."""
    left = {"A": 6, "B": 108, "C": 210}[array]

    def of(mesh, **layout):
        sizes = _mesh(mesh).sizes
        rows, columns = LAYOUTS[array][layout[array.lower()]]
        axes = rows if which in ("y", "y2") else columns
        n = math.prod(sizes[AXES[axis]] for axis in axes)
        at = 0
        for axis in axes:
            at = at * sizes[AXES[axis]] + (1 if axis == 0 else 0)
        edge = (at + which.endswith("2")) / n
        return SIDE * edge + (TOP if which in ("y", "y2") else left)

    return of


SIDE, TOP = 76, 22


def _tables():
    for dim in "IJK":
        yield Table(f"n_{dim}", (dim.lower(),), lambda **size: np.asarray(*size.values(), float), log10=True)
    yield Table("two", (), lambda: 2.0, log10=True)
    yield Table("peak", ("mesh",), lambda mesh: _mesh(mesh).chip.peak_flops_per_s("bf16"), log10=True)
    yield Table("hbm", ("mesh",), lambda mesh: _mesh(mesh).chip.hbm_bytes_per_s, log10=True)
    for array in ARRAYS:
        over = ("mesh", array.lower())
        yield Table(f"held_{array}", over, _held(array), log10=True)
        yield Table(f"text_{array}", (array.lower(),), partial(_text, array))
        for side in ("x", "y", "x2", "y2"):
            yield Table(f"{side}_{array}", over, _corner(array, side))
        for way in WAYS:
            at = f"{array}_{_name(way)}"
            yield Table(f"rate_{at}", over, _table_of(array, way, 0), log10=True)
            yield Table(f"hops_{at}", over, _table_of(array, way, 1), log10=True)
            yield Table(f"words_{at}", over, _words(array, way))
            yield Table(f"parts_{at}", ("mesh",), partial(_split(ARRAYS[array]), way=way), log10=True)
    for way in WAYS:
        yield Table(f"parts_{_name(way)}", ("mesh",), partial(_split("IJK"), way=way), log10=True)
        yield Table(f"row_{_name(way)}", (), partial(_row, way))


def _text(array, **layout):
    return _written(array, layout[array.lower()])


def _row(way):
    """`X: I, Y: K`, or `XY: I`."""
    x, y, *turned = (dim.replace("-", "idle") for dim in way)
    return f"X: {x}, Y: {y}" if x != y else f"{'YX' if turned else 'XY'}: {x}"


def _readouts():
    for array, dims in ARRAYS.items():
        yield Readout(f"bytes_{array}", "add", ("two", *(f"n_{dim}" for dim in dims)))
        yield Readout(f"local_{array}", "add", (f"bytes_{array}", f"-held_{array}"))
    yield Readout("local", "stack", tuple(f"local_{array}" for array in ARRAYS))
    yield Readout("flops", "add", ("two", "n_I", "n_J", "n_K"))
    for way in map(_name, WAYS):
        for array in ARRAYS:
            at = f"{array}_{way}"
            yield Readout(f"wire_{at}", "add", (f"rate_{at}", f"bytes_{array}"))
            yield Readout(f"sent_{at}", "greatest", (f"wire_{at}", f"hops_{at}"))
            yield Readout(f"used_{at}", "add", (f"bytes_{array}", f"-parts_{at}"))
        yield Readout(f"used_{way}", "stack", tuple(f"used_{array}_{way}" for array in ARRAYS))
        yield Readout(f"memory_{way}", "add", (f"used_{way}", "-hbm"))
        yield Readout(f"math_{way}", "add", ("flops", f"-parts_{way}", "-peak"))
        yield Readout(f"product_{way}", "greatest", (f"math_{way}", f"memory_{way}"))
        yield Readout(f"send_{way}", "stack", tuple(f"sent_{array}_{way}" for array in ARRAYS))
        yield Readout(f"time_{way}", "stack", (f"send_{way}", f"product_{way}"))
        yield Readout(f"fast_{way}", "add", (f"-time_{way}",))
    yield Readout("best_s", "least", tuple(f"time_{way}" for way in map(_name, WAYS)))
    yield Readout("best", "which", tuple(f"fast_{way}" for way in map(_name, WAYS)))


def _say(way):
    at = _name(way)
    return Say(
        f"{{text_A}} · {{text_B}} → {{text_C}} on {{mesh}}: {{words_A_{at}}}{{words_B_{at}}}multiply with {_cut(way)}"
        f"{{words_C_{at}}}; {{best_s:s}}, of which the product takes {{product_{at}:s}}. A chip holds {{local:B}} of "
        "the three arrays.",
        {"best": f"fast_{at}"},
    )


def _cut(way):
    """`X on I and Y on K`, or `XY on I`."""
    x, y, *turned = ("idle" if dim == "-" else f"on {dim}" for dim in way)
    return f"X {x} and Y {y}" if x != y else f"{'YX' if turned else 'XY'} {x}"


def _chart(rows):
    """Pictures of the three arrays with the block of chip (1, 0), and a bar for each way to multiply."""
    spec = charts.bars(rows, DOMAIN, x_title="time of the whole product (s)", height=BARS + TOP + SIDE + 14)
    spec["scales"][1]["range"] = [TOP + SIDE + 14, BARS + TOP + SIDE + 14]
    spec["padding"]["left"] = 92
    spec["axes"][0] |= {"grid": False}
    spec["data"] += [{"name": "blocks"}, {"name": "names"}]
    ink = {"stroke": {"value": charts.INK}, "strokeOpacity": {"value": 0.5}}
    for left in (6, 108, 210):
        frame = {"x": {"value": left}, "y": {"value": TOP}, "width": {"value": SIDE}, "height": {"value": SIDE}}
        spec["marks"].append({"type": "rect", "encode": {"update": {**frame, **ink}}})
    sides = {side: {"field": side} for side in ("x", "y", "x2", "y2")}
    fill = {"fill": {"value": charts.color("hbm")}, "fillOpacity": {"value": 0.6}}
    spec["marks"].append({"type": "rect", "from": {"data": "blocks"}, "encode": {"update": {**sides, **fill, **ink}}})
    label = {
        "x": {"field": "x"}, "y": {"value": TOP - 8}, "text": {"field": "text"}, "fill": {"value": charts.INK},
        "font": {"value": charts.FONT}, "fontSize": {"value": 12},
    }  # fmt: skip
    spec["marks"].append({"type": "text", "from": {"data": "names"}, "encode": {"update": label}})
    return spec


BARS = len(WAYS) * 16


def _tables_of_names():
    """Where the names of the arrays stand."""
    for array, left in (("A", 6), ("B", 108), ("C", 210)):
        yield Table(f"left_{array}", (), partial(float, left))


def _layout_control(array, first):
    layouts = tuple(LAYOUTS[array])
    return Control(array.lower(), array, layouts, first, tuple(_written(array, layout) for layout in layouts))


@cache
def _explorer():
    rows = tuple((_row(way), "ici") for way in WAYS)
    return Explorer(
        name="ch03-sharding",
        title="The layouts decide what must be sent; the block of chip (1, 0) is filled",
        controls=(
            *(_layout_control(*pick) for pick in (("A", "I_X J"), ("B", "J K_X"), ("C", "I_X K"))),
            Control("mesh", "Mesh", tuple(MESHES), "TPU v5e, X = 4, Y = 2", tuple(MESHES)),
            Control("i", "I", SIZES, 4096),
            Control("j", "J", SIZES, 8192),
            Control("k", "K", SIZES, 4096),
        ),
        tables=(*_tables(), *_tables_of_names()),
        readouts=tuple(_readouts()),
        says=tuple(map(_say, WAYS)),
        rows=(
            ("product", "{text_A} · {text_B} → {text_C}"),
            ("mesh", "{mesh}"),
            ("A on each chip", "{local_A:B}"),
            ("B on each chip", "{local_B:B}"),
            ("C on each chip", "{local_C:B}"),
            ("the cheapest plan", "{best_s:s}"),
            *((f"{_row(way)}: sending, product, in all",
               f"{{send_{_name(way)}:s}}, {{product_{_name(way)}:s}}, {{time_{_name(way)}:s}}") for way in WAYS),
        ),
        chart=_chart(rows),
        drawn={
            "bars": tuple({"row": f"row_{w}", "x": f"time_{w}", "text": f"{{time_{w}:s}}"} for w in map(_name, WAYS)),
            "blocks": tuple({side: f"{side}_{array}" for side in ("x", "y", "x2", "y2")} for array in ARRAYS),
            "names": tuple({"x": f"left_{array}", "text": f"{{text_{array}}}"} for array in ARRAYS),
        },
        still=partial(_still, rows=rows, x_domain=DOMAIN, x_title="time of the whole product (s)"),
    )  # fmt: skip


def _still(drawn, title, **frame):
    # Imported here: matplotlib is wanted only where a picture is made.
    from scaling_lib.widgets import fallback

    return fallback.bars(drawn, title, size=(4.8, 4.6), **frame)
