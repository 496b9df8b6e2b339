"""The TPU compiler on a machine without a TPU: libtpu compiles ahead of time for a topology that is only described."""

import importlib.metadata
import math
import platform
import re
from dataclasses import dataclass

from scaling_lib.hardware import chips
from scaling_lib.referee.devices import axis_kind, make_mesh, mesh_axes
from scaling_lib.referee.fingerprint import is_spec, name_of, program_hash
from scaling_lib.referee.hlo import collectives_in, flops_in
from scaling_lib.referee.report import RECORDED, Memory, TpuReport, recorded_report
from scaling_lib.units import ScalingError, UnknownAxis

_JIT_OPTIONS = ("donate_argnums", "donate_argnames", "keep_unused", "inline", "compiler_options")


class TopologyError(ScalingError):
    """A topology that is not written right, or that a mesh does not fill."""


class CannotCompile(RuntimeError):
    """The TPU compiler cannot run here, and there is no recorded report of this very program."""


@dataclass(frozen=True)
class Topology:
    """A slice asked for in chips, such as "v5e:4x2"; a chip may show more than one device."""

    name: str
    chip: str
    n_chips: int
    n_devices: int


def _generations():
    """Generation as libtpu calls it -> chip of the catalogue."""
    names = {c.name.removeprefix("tpu-"): c for c in chips() if c.kind == "tpu"}
    return {name if name.startswith("v") else f"tpu{name}": c for name, c in names.items()}


def parse_topology(name):
    """A topology's chips and devices.

    Args:
      name: generation and chips along each axis, such as "v5e:4x2"; "7x:2x2x1" and "tpu7x:2x2x1" are one.

    Returns:
      Topology: `.name` as libtpu writes it, `.chip` of the catalogue, `.n_chips`, `.n_devices`.

    Raises:
      TopologyError: a generation that the catalogue lacks, or no such shape.

    >>> parse_topology("v5e:4x2").n_devices, parse_topology("tpu7x:2x2x1").n_devices
    (8, 8)
    """
    generations = _generations()
    match = re.fullmatch(r"(?:tpu-?)?([a-z0-9]+):(\d+(?:x\d+){0,2})", str(name))
    known = match and next((g for g in generations if g.removeprefix("tpu") == match[1]), None)
    if not known or 0 in (dims := [int(d) for d in match[2].split("x")]):
        raise TopologyError(
            f"topology: got {name!r}; give a generation and its chips, such as 'v5e:4x2' or 'v5p:2x2x2'; "
            f"generations: {', '.join(generations)}"
        )
    chip = generations[known]
    n = math.prod(dims)
    return Topology(f"{known}:{match[2]}", chip.name, n, n * chip.devices_per_chip)


def versions():
    """Versions that decide what a compiler makes: python, jax, jaxlib, libtpu ("absent" where not installed)."""
    return {"python": platform.python_version(), **{name: _version(name) for name in ("jax", "jaxlib", "libtpu")}}


def _version(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def why_no_compiler():
    """Why the TPU compiler must not be started here, in words; empty if it may.

    A libtpu other than the one jax was released with can end the whole process, so it is compared before it is loaded.
    """
    libtpu, jax = _version("libtpu"), _version("jax")
    if libtpu == "absent":
        return "libtpu is not installed (it comes with jax[tpu], for 64-bit x86 Linux only)"
    asked = [r for r in importlib.metadata.requires("jax") or [] if re.match(r"libtpu\b", r)]
    wanted = re.match(r"libtpu *==([\d.]+?)(?:\.\*)? *(?:;|$)", asked[0]) if asked else None
    if not wanted:
        return f"jax {jax} does not say which libtpu it was released with; installed is {libtpu}"
    if libtpu.split(".")[: len(wanted[1].split("."))] != wanted[1].split("."):
        return f"libtpu {libtpu} is installed, but jax {jax} was released with {wanted[1]}"
    return ""


def compile_for_tpu(
    fn, *args, topology="v5e:4x2", mesh=None, in_shardings=None, out_shardings=None, axis_type="auto", **jit_options
):
    """Compile fn(*args) for a TPU slice and report memory, FLOPs and collectives; no TPU is needed.

    Args:
      fn: a function of arrays. Shardings inside it may be given as PartitionSpec: the TPU mesh is set around it.
      args: arrays or jax.ShapeDtypeStruct (or pytrees of them); values do not matter.
      topology: generation and chips, such as "v5e:4x2", "v5p:2x2x2", "tpu7x:2x2x1".
      mesh: mapping of axis name to size (slowest first), or a jax mesh of any devices whose axes are taken over; by
        default that of the arguments.
      in_shardings: PartitionSpec (one for all), or a tuple with one per argument; by default each argument's own,
        replicated where it has none. Of a NamedSharding the spec is taken.
      out_shardings: PartitionSpec or a pytree of them; by default the compiler chooses.
      axis_type: "auto" or "explicit", for all axes.
      jit_options: passed to jax.jit: donate_argnums, donate_argnames, keep_unused, inline or compiler_options.

    Returns:
      TpuReport. Where libtpu is absent, is not the one jax was released with, or does not know the topology, it is
      the report recorded of exactly this program, marked as such.

    Raises:
      TopologyError: the topology is misspelt, or the mesh does not fill it.
      UnknownAxis, ScalingError: a sharding names an axis the mesh lacks, or does not divide its argument; an option
        that is not among these.
      CannotCompile: the compiler cannot run here and nothing is recorded; the message says why, with versions.

    Assumes: the program reads nothing but its arguments: a recorded report is found by the source of the function
      and of its module's functions that it uses, the plain numbers and strings it reads, the shapes and the shardings.
    """
    place = parse_topology(topology)
    axis_kind(axis_type)
    _check_options(jit_options)
    sizes = _axes(mesh, args, place)
    specs, out_shardings = _in_specs(args, in_shardings), _specs("out_shardings", out_shardings)
    _check_specs(args, specs, out_shardings, sizes)
    key = program_hash(fn, args, specs, out_shardings, sizes, place.name, {"axis_type": axis_type, **jit_options})
    why = why_no_compiler()
    if not why:
        try:
            devices = _topology_devices(place)
        except Exception as error:  # jax's error class has moved between versions
            why = f"libtpu {_version('libtpu')} does not compile for {place.name}: {str(error).splitlines()[0][:200]}"
    if why:
        return _recorded(key, name_of(fn), place, why)
    compiled = _compile(fn, args, devices, sizes, specs, out_shardings, axis_type, jit_options)
    text = compiled.as_text()
    return TpuReport(
        program=name_of(fn), program_hash=key, topology=place.name, mesh=sizes, n_devices=place.n_devices,
        memory=_memory(compiled), flops=flops_in(text), collectives=tuple(collectives_in(text, sizes)),
        versions=versions(), _text=compiled.as_text,
    )  # fmt: skip


def _check_options(given):
    for option in given:
        if option not in _JIT_OPTIONS:
            static = "; bind what is static with functools.partial" if option.startswith("static_") else ""
            raise ScalingError(f"{option}: no option here; possible: {', '.join(_JIT_OPTIONS)}{static}")


def _recorded(key, name, place, why):
    report = recorded_report(key, why)
    if report is None:
        names = sorted(p.stem for p in RECORDED.glob("*.json"))
        have = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "none"
        with_what = ", ".join(f"{k} {v}" for k, v in versions().items())
        raise CannotCompile(
            f"{name} for {place.name}: {why}. No report of exactly this program is recorded (recorded: {have}). "
            f"Here: {with_what}. Installing jax[tpu] brings the libtpu that fits."
        )
    return report


def _axes(mesh, args, place):
    """Axis name -> size, checked against the number of devices."""
    import jax

    if mesh is None:
        shardings = (getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(args))
        mesh = next((s.mesh for s in shardings if isinstance(s, jax.sharding.NamedSharding)), None)
        if mesh is None:
            raise TopologyError("mesh: give axis sizes such as {'X': 4, 'Y': 2}; the arguments carry no mesh")
    sizes = mesh_axes(mesh)
    if math.prod(sizes.values()) != place.n_devices:
        asked = " × ".join(f"{name}={size}" for name, size in sizes.items())
        raise TopologyError(
            f"mesh: {asked} asks for {math.prod(sizes.values())} devices; {place.name} has {place.n_devices} "
            f"({place.n_chips} chips with {place.n_devices // place.n_chips} each)"
        )
    return sizes


def _in_specs(args, in_shardings):
    """Pytree of PartitionSpec with the structure of args."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    def own(leaf):
        sharding = getattr(leaf, "sharding", None)
        return sharding.spec if isinstance(sharding, NamedSharding) else PartitionSpec()

    if in_shardings is None:
        return jax.tree.map(own, args)
    given = _specs("in_shardings", in_shardings)
    given = tuple(given) if isinstance(given, list) else given
    if not is_spec(given) and (not isinstance(given, tuple) or len(given) != len(args)):
        raise ScalingError(
            f"in_shardings: got {in_shardings!r}; give a PartitionSpec or pytree for each of {len(args)} arguments"
        )

    def spread(spec, arg):
        return jax.tree.map(lambda _: PartitionSpec() if spec is None else spec, arg)

    try:
        return jax.tree.map(spread, given, args, is_leaf=is_spec)
    except (TypeError, ValueError) as error:  # jax's word for trees of another structure
        raise ScalingError(f"in_shardings: got {in_shardings!r}; not the arguments' structure: {error}") from None


def _specs(name, shardings):
    """The same pytree, of PartitionSpec and None only."""
    import jax
    from jax.sharding import NamedSharding

    def spec(x):
        if not is_spec(x) and not isinstance(x, NamedSharding):
            raise ScalingError(f"{name}: got {x!r}; give a PartitionSpec, such as jax.sharding.PartitionSpec('X', 'Y')")
        return x.spec if isinstance(x, NamedSharding) else x

    return jax.tree.map(spec, shardings, is_leaf=is_spec)


def _check_specs(args, specs, out_specs, sizes):
    """Axes must be the mesh's; sizes of arguments must divide (jax tells of a result that does not)."""
    import jax

    for spec in jax.tree.leaves(out_specs, is_leaf=is_spec):
        _n_parts("out_shardings", spec, sizes)
    leaves = jax.tree_util.tree_flatten_with_path(args)[0]
    for (path, leaf), spec in zip(leaves, jax.tree.leaves(specs, is_leaf=is_spec), strict=True):
        shape, parts = jax.numpy.shape(leaf), _n_parts("in_shardings", spec, sizes)
        where = f"in_shardings: {spec} for args{jax.tree_util.keystr(path)} of shape {shape}"
        if len(parts) > len(shape):
            raise ScalingError(f"{where}: it has {len(shape)} dimensions, not {len(parts)}")
        for k, n in enumerate(parts):
            if shape[k] % n:
                raise ScalingError(f"{where}: dimension {k} is not a multiple of {n} devices")


def _n_parts(name, spec, sizes):
    """Into how many parts a spec cuts each dimension."""
    parts = [(p,) if isinstance(p, str) else p for p in tuple(spec or ())]
    parts = [p if isinstance(p, tuple) else () for p in parts]  # None, or left to the compiler
    unknown = next((axis for part in parts for axis in part if axis not in sizes), None)
    if unknown is not None:
        raise UnknownAxis(unknown, sizes, of=name)
    return [math.prod(sizes[axis] for axis in part) for part in parts]


def _topology_devices(place):
    from jax.experimental import topologies

    alone = {"chips_per_host_bounds": (1, 1, 1)} if place.n_chips == 1 else {}  # a host has four chips by default
    devices = list(topologies.get_topology_desc(place.name, platform="tpu", **alone).devices)
    if len(devices) != place.n_devices:
        raise TopologyError(f"{place.name}: libtpu shows {len(devices)} devices, the catalogue {place.n_devices}")
    return devices


def _compile(fn, args, devices, sizes, specs, out_shardings, axis_type, jit_options):
    import jax
    from jax.experimental import mesh_utils
    from jax.sharding import NamedSharding

    try:
        laid = mesh_utils.create_device_mesh(tuple(sizes.values()), devices, allow_split_physical_axes=True)
    except (AssertionError, NotImplementedError, ValueError):
        laid = devices  # jax lays out no mesh on a v4 that shows two devices a chip: libtpu's order is taken
    mesh = make_mesh(sizes, devices=laid, axis_type=axis_type)

    def described(leaf, spec):
        shape = jax.eval_shape(lambda x: x, leaf)
        return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=NamedSharding(mesh, spec))

    shapes = jax.tree.map(described, args, specs)
    if out_shardings is not None:
        out = jax.tree.map(lambda s: NamedSharding(mesh, s) if s is not None else None, out_shardings, is_leaf=is_spec)
        jit_options = {**jit_options, "out_shardings": out}
    with jax.set_mesh(mesh):
        return jax.jit(fn, **jit_options).lower(*shapes).compile()


def _memory(compiled):
    m = compiled.memory_analysis()
    return Memory(
        m.argument_size_in_bytes, m.output_size_in_bytes, m.temp_size_in_bytes, m.alias_size_in_bytes,
        m.generated_code_size_in_bytes,
    )  # fmt: skip
