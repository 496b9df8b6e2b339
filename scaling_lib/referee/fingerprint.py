"""A program's hash, by which its recorded report is found: the same in every process, Python and jax."""

import contextlib
import dis
import functools
import hashlib
import inspect
import json
import textwrap


def is_spec(x):
    from jax.sharding import PartitionSpec

    return x is None or isinstance(x, PartitionSpec)


def _unwrapped(fn):
    while True:
        inner = fn.func if isinstance(fn, functools.partial) else getattr(fn, "__wrapped__", None)
        if inner is None:
            return fn
        fn = inner


def name_of(fn):
    return getattr(_unwrapped(fn), "__name__", type(fn).__name__)


def program_hash(fn, args, specs, out_specs, sizes, topology, options):
    """Hash of a program: source text, what it refers to, shapes, shardings, mesh, topology and options."""
    import jax

    leaves = jax.tree_util.tree_flatten_with_path(args)[0]
    spec_leaves = jax.tree.leaves(specs, is_leaf=is_spec)
    inputs = [
        (
            jax.tree_util.keystr(path),
            list(jax.numpy.shape(leaf)),
            str(jax.eval_shape(lambda x: x, leaf).dtype),
            _plain(spec),
        )
        for (path, leaf), spec in zip(leaves, spec_leaves, strict=True)
    ]
    outputs = jax.tree_util.tree_flatten_with_path(out_specs, is_leaf=is_spec)[0]
    text = json.dumps({
        "name": name_of(fn), "source": _sources(fn), "inputs": inputs,
        "outputs": [(jax.tree_util.keystr(path), _plain(spec)) for path, spec in outputs],
        "mesh": list(sizes.items()), "topology": topology, "options": sorted((k, repr(v)) for k, v in options.items()),
    })  # fmt: skip
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(spec):
    """A PartitionSpec as lists (its own repr differs between jax versions)."""
    if spec is None:
        return None
    parts = [[] if p is None else [p] if isinstance(p, str) else list(p) for p in tuple(spec)]
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _source(fn):
    """Source text without blank lines and trailing blanks; None (matches no record) where there is none."""
    try:
        text = textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        return None
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _sources(fn):
    """Source of the function and of its module's own functions that it uses, and the plain values it reads."""
    bound = [repr((fn.args, sorted(fn.keywords.items())))] if isinstance(fn, functools.partial) else []
    first, found = _unwrapped(fn), {}
    waiting = [first]
    while waiting:
        f = waiting.pop()
        if f in found or not inspect.isfunction(f):
            continue
        around = _around(f)
        plain = [f"{k}={v!r}" for k, v in sorted(around.items()) if isinstance(v, bool | int | float | str)]
        found[f] = [f.__qualname__, _source(f), *plain]
        waiting += [v for v in around.values() if inspect.isfunction(v) and v.__module__ == first.__module__]
    own = found.pop(first, [_source(first)])
    return bound + own + sorted(found.values())


def _around(fn):
    """Globals and enclosing variables that a function's code reads, by name."""
    codes, names = [fn.__code__], set()
    for code in codes:
        names |= {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        codes += [c for c in code.co_consts if inspect.iscode(c)]
    around = {name: fn.__globals__[name] for name in names if name in fn.__globals__}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not bound yet
            around[name] = cell.cell_contents
    return around
