"""Records real HLO for the tests of the reader: ``python tests/data/hlo/record.py`` with each jax and libtpu.

Backend configuration and metadata are cut out (but for trip counts); the rest is as XLA printed it.
"""

import re
from pathlib import Path

from scaling_lib import referee  # first: it sets jax up
from scaling_lib.referee.hlo_text import _pieces
from scaling_lib.referee.tpu_compiler import _compile, _topology_devices, parse_topology

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip
from jax.sharding import PartitionSpec as P  # isort: skip

HERE = Path(__file__).parent
_CUT = re.compile(r", (backend_config|metadata|frontend_attributes)=")


def trimmed(text):
    lines = []
    for line in text.splitlines():
        while match := _CUT.search(line):
            value = _pieces(line[match.end() :])[0]
            trips = re.search(r'known_trip_count\\?":\{\\?"n\\?":\\?"\d+', value)
            kept = f", trips={trips[0]}" if trips else ""
            line = line[: match.start()] + kept + line[match.end() + len(value) :]
        lines.append(line)
    body = "\n".join(lines)
    return re.sub(r"\nFileNames\n.*?\n\n\n", "\n\n", body, flags=re.S) + "\n"


def bf16(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def matmul(x, w):
    return x @ w


def layers(x, ws):
    return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]


def nested(x, ws):
    def layer(x, w):
        return jax.lax.fori_loop(0, 3, lambda _, x: jnp.tanh(x @ w), x), None

    return jax.lax.scan(layer, x, ws)[0]


def until(x, w):
    return jax.lax.while_loop(lambda x: jnp.sum(x) > 0, lambda x: x @ w, x)


def either(p, x, w):
    return jax.lax.cond(p, lambda: x @ w, lambda: jnp.sin(x))


def train(ws, x):
    def loss(ws):
        def layer(x, w):
            y = x + jax.nn.relu(x @ w[0]) @ w[1]
            return jax.lax.with_sharding_constraint(y, P("X")), None

        return jnp.mean(jax.lax.scan(jax.checkpoint(layer), x, ws)[0].astype(jnp.float32) ** 2)

    return jax.tree.map(lambda w, g: w - g, ws, jax.grad(loss)(ws))


def exchange(x):
    def body(x):
        return jax.lax.all_to_all(x, "X", 1, 0, tiled=True)

    return jax.shard_map(body, in_specs=P("X"), out_specs=P(None, "X"))(x)


def shift(x):
    def body(x):
        return jax.lax.ppermute(x, "Y", [(0, 1), (1, 0)])

    return jax.shard_map(body, in_specs=P("X", "Y"), out_specs=P("X", "Y"))(x)


MESH = {"X": 4, "Y": 2}
W = (P(None, "X", "Y"), P(None, "Y", "X"))
PROGRAMS = {  # name: function, arguments, in specs, out specs
    "scatter": (matmul, (bf16(1024, 2048), bf16(2048, 4096)), (P(None, "X"), P("X")), P("X")),
    "gather": (matmul, (bf16(1024, 2048), bf16(2048, 4096)), (P("X", "Y"), P("X", "Y")), P("X", "Y")),
    "layers": (layers, (bf16(1024, 2048), bf16(6, 2048, 2048)), (P("X", "Y"), P(None, "X", "Y")), P("X", "Y")),
    "nested": (nested, (bf16(64, 128), bf16(6, 128, 128)), (P("X", "Y"), P(None, "X", "Y")), P("X", "Y")),
    "until": (until, (bf16(64, 128), bf16(128, 128)), (P("X", "Y"), P("X", "Y")), P("X", "Y")),
    "either": (
        either,
        (jax.ShapeDtypeStruct((), bool), bf16(64, 128), bf16(128, 128)),
        (P(), P("X", "Y"), P("X", "Y")),
        P("X", "Y"),
    ),
    "train": (train, ((bf16(4, 4096, 16384), bf16(4, 16384, 4096)), bf16(8192, 4096)), (W, P("X")), W),
    "exchange": (exchange, (bf16(64, 128),), (P("X"),), P(None, "X")),
    "shift": (shift, (bf16(64, 128),), (P("X", "Y"),), P("X", "Y")),
}
TPU = {"v5e:4x2": PROGRAMS, "v5p:2x2x2": ("train",), "tpu7x:2x2x1": ("gather", "layers")}


def record():
    versions = referee.versions()
    cpu = referee.mesh_devices(8)
    for name in PROGRAMS:
        if name not in ("train", "layers"):
            write(name, "cpu", cpu, f"jax{versions['jax']}")
    for topology, names in TPU.items():
        try:
            devices = _topology_devices(parse_topology(topology))
        except Exception as error:
            print(topology, "left out:", error)
            continue
        for name in names:
            generation = topology.split(":")[0]
            write(name, generation, devices, f"jax{versions['jax']}_libtpu{versions['libtpu']}")


def write(name, where, devices, versions):
    fn, args, specs, out = PROGRAMS[name]
    compiled = _compile(fn, args, devices, MESH, specs, out, "auto", {})
    (HERE / f"{name}_{where}_{versions}.hlo").write_text(trimmed(compiled.as_text()), encoding="utf-8")


if __name__ == "__main__":
    record()
