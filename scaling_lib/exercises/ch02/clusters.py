"""GPU nodes and the network above them."""

from scaling_lib.exercises.spec import Exercise, Mistake

Q15 = Exercise(
    key="ch02.q15",
    title="From one node to another",
    kind="number",
    unit="ms",
    points=2,
    inputs={"nbytes": 8e9, "gpus": 8, "card_gbit": 400, "nvlink": 450e9},
    draw=lambda rng: {
        "nbytes": 1e9 * rng.integers(2, 40),
        "gpus": 8,
        "card_gbit": rng.choice((100, 200, 400)),
        "nvlink": 1e9 * rng.choice((300, 450, 900)),
    },
    expected=lambda nbytes, gpus, card_gbit: nbytes / (gpus * card_gbit / 8 * 1e9) * 1e3,
    source="one network card a GPU, and all eight work at once",
    mistakes=(
        Mistake(
            lambda nbytes, card_gbit: nbytes / (card_gbit / 8 * 1e9) * 1e3,
            "That is one card. The node has one for each GPU, and the array lies spread over the GPUs.",
        ),
        Mistake(
            lambda nbytes, gpus, nvlink: nbytes / (gpus * nvlink) * 1e3,
            "NVLink ends at the node; between nodes the network cards carry the bytes.",
        ),
        Mistake(
            lambda nbytes, gpus, card_gbit: nbytes / (gpus * card_gbit * 1e9) * 1e3,
            "Cards are sold in bits a second: divide by eight.",
        ),
    ),
    hints=(
        "Which links leave the node, and how many of them are there?",
        "One card a GPU, card_gbit / 8 GB/s each.",
        "All cards of the node together: gpus · card_gbit / 8 GB/s.",
    ),
    solution=lambda nbytes, gpus, card_gbit: (
        f"{gpus} × {card_gbit / 8:.4g} GB/s = {gpus * card_gbit / 8:.4g} GB/s: "
        f"{nbytes / (gpus * card_gbit / 8 * 1e9) * 1e3:.3g} ms."
    ),
    teaches="ch02-cluster",
    level=2,
    minutes=4,
)

Q16 = Exercise(
    key="ch02.q16",
    title="Leaf switches of a fat tree",
    kind="number",
    unit="",
    points=2,
    inputs={"gpus": 2048, "ports": 64},
    draw=lambda rng: {"gpus": 256 * rng.integers(2, 9), "ports": rng.choice((32, 64, 128))},
    expected=lambda gpus, ports: gpus / (ports / 2),
    rtol=1e-9,
    source="half of a leaf's ports lead down, half up, so that nothing narrows",
    mistakes=(
        Mistake(lambda gpus, ports: gpus / ports, "Half of a leaf's ports must lead up, or the tree narrows there."),
        Mistake(lambda gpus, ports: gpus / 8 / (ports / 2), "Every GPU has a card of its own, not every node."),
        Mistake(lambda gpus: gpus / 8, "Those are the nodes."),
    ),
    hints=(
        "A leaf switch that does not narrow has as many ports up as down.",
        "Ports down: ports / 2, one for each network card.",
        "One card a GPU: how many leaves have that many ports down?",
    ),
    solution=lambda gpus, ports: f"{gpus} cards ÷ {ports // 2} ports down = {gpus // (ports // 2)} leaf switches.",
    teaches="ch02-cluster",
    level=2,
    minutes=4,
)

EXERCISES = (Q15, Q16)
