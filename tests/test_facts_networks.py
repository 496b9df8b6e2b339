"""Facts of GPU networks: nodes, fat trees, collectives in a node and across nodes, in-network reduction."""

import pytest
from facts_table import assert_holds, inputs, load, pairs, reason_of

import scaling_lib as sl
from scaling_lib.hardware import Switch

FACTS = load("gpus_networks")
NODE = sl.GpuCluster("h100", 8)
UNIT = sl.GpuCluster("h100", 256)
POD = sl.GpuCluster("h100", 1024)
RACK = sl.GpuCluster("gb200", 72)
RACKS = sl.GpuCluster("gb200", 576)
GB = 1e9


def rate(time, volume=GB):
    return volume / time


def gather(cluster, volume=GB):
    return sl.all_gather_time(volume, cluster)


def nvlink_row(name):
    cluster = sl.GpuCluster(name, 8)
    return {
        "gpu_bw": cluster.gpu_bytes_per_s,
        "node_size": str(cluster.node),
        "switches": str(cluster.chip.nvswitches),
    }


def in_node(V, n, W):
    t = sl.all_gather_time(V, Switch(n, W)).bandwidth_s
    return {
        "hop": t / (n - 1),
        "t": t,
        "bandwidth": V / t,
        "allreduce": sl.all_reduce_time(V, Switch(n, W)).bandwidth_s,
        "approx": t * n / (n - 1),
        "total": n * t * W,
    }


def half(cluster):
    return 2 * cluster.bisection_bytes_per_s


def bus(operation, n, algorithm_rate):
    return sl.bus_factor(operation, n) * algorithm_rate


def sharp_node(V, n, W):
    node = Switch(n, W, reduces=True)
    t = sl.all_reduce_time(V, node, algorithm="sharp").bandwidth_s
    without = sl.all_reduce_time(V, node).bandwidth_s
    return {"t": t, "without": without, "gain": without / t}


def levels():
    node, leaf = rate(gather(NODE).stages["nvlink"]), rate(gather(UNIT).stages["scaleout"])
    return {"node": node, "leaf": leaf, "overall": min(node, leaf)}


def sharded_mesh(gpus, inner):
    return sl.Mesh(sl.GpuCluster("h100", gpus), X=gpus // inner, Y=inner)


def sharded(V, Y, gpus=2048):
    """All-gather over X of an array that Y ways of the innermost axis shard as well."""
    t = sl.all_gather_time(V / Y, sharded_mesh(gpus, Y), "X")
    nodes = t.stages["scaleout"] * (gpus // max(8, Y)) / (gpus // max(8, Y) - 1)  # V/W for (M-1)/M · V/W
    return {"node": t.stages.get("nvlink", 0.0), "scaleout": nodes, "t": max(nodes, t.stages.get("nvlink", 0.0))}


def exchange_cliff():
    one, two = sl.all_to_all_time(GB, NODE).bandwidth_s, sl.all_to_all_time(GB, sl.GpuCluster("h100", 16)).bandwidth_s
    return {"exact_ratio": two / one, "exact_ratio_equal_bytes_per_gpu": 2 * two / one}


def tree(cluster):
    found = cluster.fat_tree
    return {
        "gpus": cluster.n_gpus,
        "nodes": cluster.n_nodes,
        "leaf": found.leaf,
        "spine": found.spine,
        "core": found.core,
        "leaf_ports": found.leaf_ports,
        "spine_ports": found.spine_ports,
        "nvswitches": cluster.n_nodes * cluster.chip.nvswitches,
        "switches": cluster.n_nodes * cluster.chip.nvswitches + found.leaf + found.spine,
        "have": found.spine * cluster.rules.switch_ports * cluster.rules.switch_port_bytes_per_s,
        "need": cluster.n_nodes * cluster.node_bytes_per_s,
        "leaf_down": cluster.rules.leaf_ports_down,
        "leaf_up": found.leaf_ports - cluster.rules.leaf_ports_down,
        "su": cluster.n_gpus // UNIT.n_gpus,
        "node_cables": cluster.n_gpus,
        "spine_cables": found.leaf * (found.leaf_ports - cluster.rules.leaf_ports_down),
    }


def switch_ingress(n):
    """In-network reduction: every GPU sends its array to the switch, and takes the sum."""
    t = sl.all_reduce_time(1.0, Switch(n, 1.0, reduces=True), algorithm="sharp").bandwidth_s
    return {"ingress": n * t, "egress": n * t, "t_over_v": t / 450e9}


def ragged(n, k, V, W):
    dense = V / (W * n)
    return {
        "approx": dense * sl.ragged_share(n, k, exact=False) * n / (n - 1),
        "random_approx": dense * sl.ragged_share(n, k, exact=False),
        "exact_fraction": sl.ragged_share(n, k),
    }


def shares(k, Z):
    approx, exact = sl.ragged_share(Z, k, exact=False), sl.ragged_share(Z, k)
    return {"approx": approx, "exact": exact, "over": approx / exact}


V512 = 536870912
CHECKS = {name: shares for name in FACTS if ".appb.a2a_z" in name}
CHECKS |= {
    "gpus.net.nvlink_ampere": lambda **_: nvlink_row("a100"),
    "gpus.net.nvlink_hopper": lambda **_: nvlink_row("h100"),
    "gpus.net.blackwell_switch_check": lambda p, w: {
        "node8": sl.GpuCluster("b200", 8).node_switch_bytes_per_s,
        "gpus8": 8 * sl.GpuCluster("b200", 8).gpu_bytes_per_s,
        "nvl72": RACK.node_switch_bytes_per_s,
        "gpus72": 72 * RACK.gpu_bytes_per_s,
    },
    "gpus.net.figure_history": lambda: {
        "a100_bis": half(sl.GpuCluster("a100", 8)),
        "a100_ar": sl.GpuCluster("a100", 8).gpu_bytes_per_s / 2,
        "h100_bis": half(NODE),
        "h100_ar": rate(sl.all_reduce_time(GB, NODE, algorithm="sharp").bandwidth_s),
    },
    "gpus.quiz2.q2_bisection": lambda: {"per_half": NODE.bisection_bytes_per_s, "both_ways": half(NODE)},
    "gpus.quiz2.q3_allgather": lambda D, Fd, W: {
        "nbytes": sl.parse_sharding("A[D, F]").local_bytes({"D": D, "F": Fd}, sl.Mesh(NODE, X=8)),
        "t": gather(NODE, V512).bandwidth_s,
        "t_approx": gather(NODE, V512).bandwidth_s * 8 / 7,
        "bw_at_1p5ms": sl.bandwidths("all_gather", 8, nbytes=V512, time_s=1.5e-3).bus_bytes_per_s,
    },
    "gpus.net.su": lambda nodes: tree(UNIT),
    "gpus.net.superpod": lambda su: tree(POD),
    "gpus.net.ib_switch": lambda p, w: {
        "total": POD.rules.switch_ports * POD.rules.switch_port_bytes_per_s,
        "vs_nvswitch": 64 * POD.rules.switch_port_bytes_per_s * POD.chip.nvswitches / NODE.node_switch_bytes_per_s,
    },
    "gpus.net.table_node": lambda gpus: {
        "switches": NODE.chip.nvswitches,
        "unit_bw": 8 * NODE.gpu_bytes_per_s,
        "gpu_to_gpu": NODE.gpu_bytes_per_s,
        "fat_tree": NODE.gpu_bytes_per_s,
    },
    "gpus.net.table_leaf": lambda gpus: {
        "switches": UNIT.fat_tree.leaf,
        "unit_bw": UNIT.n_nodes * UNIT.node_bytes_per_s,
        "gpu_to_gpu": UNIT.scaleout_bytes_per_s,
        "fat_tree": UNIT.node_bytes_per_s,
    },
    "gpus.net.gb200_egress": lambda **_: {
        "rack": RACKS.node_bytes_per_s,
        "vs_h100": RACKS.node_bytes_per_s / POD.node_bytes_per_s,
        "per_gpu": RACKS.scaleout_bytes_per_s,
        "gpu_ratio": RACKS.node / POD.node,
    },
    "gpus.net.gb200_superpod": lambda racks: {
        "gpus": RACKS.n_gpus,
        "leaf": RACKS.fat_tree.leaf,
        "spine": RACKS.fat_tree.spine,
        "leaf_up": RACKS.rules.leaf_ports_down,
        "leaf_down": RACKS.rules.leaf_ports_down,
        "spine_bw": tree(RACKS)["have"],
        "rack_sum": racks * RACKS.node_bytes_per_s,
    },
    "gpus.net.gb200_wording": lambda **_: {"ratio": RACKS.node_bytes_per_s / RACKS.gpu_bytes_per_s},
    "gpus.net.node_type_h100": lambda: {
        "gpus": POD.node,
        "gpu_egress": POD.gpu_bytes_per_s,
        "node_egress": POD.node_bytes_per_s,
        "per_gpu_scaleout": POD.scaleout_bytes_per_s,
    },
    "gpus.quiz3.q1_leaf": lambda: {
        "node": POD.node_bytes_per_s,
        "per_leaf": POD.rules.leaf_ports_down * POD.rules.switch_port_bytes_per_s,
        "su": UNIT.n_nodes * UNIT.node_bytes_per_s,
        "per_node": UNIT.node_bytes_per_s,
    },
    "gpus.quiz3.q2_2048": lambda: tree(sl.GpuCluster("h100", 2048)),
    "gpus.quiz3.q2_4096": lambda: (
        tree(sl.GpuCluster("h100", 4096))
        | {
            "two_level_max": POD.rules.switch_ports**2 // 2,
            "spine_up": 4096 * POD.scaleout_bytes_per_s,
            "core_bw": 64 * 64 * POD.rules.switch_port_bytes_per_s,
        }
    ),
    "gpus.coll.ag_node_b200": in_node,
    "gpus.coll.ag_total_traffic": lambda V, n: {"total": in_node(V, n, 1.0)["total"]},
    "gpus.coll.tree_hops": lambda n: {
        "hops_tree": sl.all_reduce_time(1.0, Switch(n, 1.0, 1.0), algorithm="tree").latency_s / 2,
        "hops_ring": sl.all_gather_time(1.0, Switch(n, 1.0, 1.0)).latency_s,
        "ring_cost": sl.all_reduce_time(1.0, Switch(n, 1.0)).bandwidth_s,
    },
    "gpus.coll.a2a_vs_tpu": lambda: {
        "speedup": (1 / 4) / (sl.all_to_all_time(1.0, Switch(8, 1.0)).bandwidth_s * 8 / 7)
    },
    "gpus.coll.ragged_a2a": ragged,
    "gpus.coll.measured_allreduce": lambda algo: (
        {"bus": bus("all_reduce", 8, algo)} | {"fraction": bus("all_reduce", 8, algo) / NODE.gpu_bytes_per_s}
    ),
    "gpus.coll.measured_allgather": lambda link: {
        "link_bw": link,
        "fraction": link / NODE.gpu_bytes_per_s,
        "algo": sl.bandwidths("all_gather", 8, bus=link).algorithm_bytes_per_s,
    },
    "gpus.coll.measured_tpu_v5p": lambda bus, bus134: {
        "fraction": bus / sl.chip("tpu-v5p").link_bytes_per_s("ici"),
        "fraction_134mb": bus134 / sl.chip("tpu-v5p").link_bytes_per_s("ici"),
    },
    "gpus.coll.measured_tpu_v5e": lambda link, mid: {
        "fraction": link / sl.chip("tpu-v5e").link_bytes_per_s("ici"),
        "fraction_17mb": mid / sl.chip("tpu-v5e").link_bytes_per_s("ici"),
    },
    "gpus.sharp.time": sharp_node,
    "gpus.sharp.measured": lambda a, b: {"gain": a / b, "bus_equivalent": bus("all_reduce", 8, a)},
    "gpus.coll.ag_cluster": lambda V, Wg, Wn: {
        "node": gather(NODE, V).bandwidth_s * 8 / 7,
        "scaleout": gather(POD, V).stages["scaleout"] * 128 / 127,
        "t": gather(POD, V).bandwidth_s * 128 / 127,
        "allreduce": sl.all_reduce_time(V, POD).bandwidth_s * 128 / 127,
    },
    "gpus.coll.tree_saving": lambda V, n: {
        "after_node": sl.all_reduce_time(V, POD, algorithm="sharp").stages["scaleout"] * POD.node_bytes_per_s,
        "without": n * V,
    },
    "gpus.coll.level_bandwidths": levels,
    "gpus.coll.level_bandwidths_fixed": lambda nodes: {
        "su_only": rate(gather(UNIT).stages["scaleout"]),
        "pod": rate(gather(POD).stages["scaleout"]),
    },
    "gpus.coll.sharp_cluster": lambda: {
        "rate": rate(sl.all_reduce_time(GB, POD, algorithm="sharp").stages["scaleout"])
    },
    "gpus.coll.a2a_cluster": lambda V, M, Wn: {
        "t": sl.all_to_all_time(V, sl.GpuCluster("h100", 8 * M)).stages["scaleout"],
        "per_gpu_rate": POD.scaleout_bytes_per_s,
    },
    "gpus.coll.a2a_cliff": lambda **_: exchange_cliff(),
    "gpus.coll.summary_node": lambda: {
        "gpus": NODE.n_gpus,
        "degree": NODE.node,
        "switch_bw": NODE.node_switch_bytes_per_s,
        "cable_bw": 8 * NODE.gpu_bytes_per_s,
        "collective_bw": NODE.gpu_bytes_per_s,
    },
    "gpus.coll.summary_spine": lambda: {
        "gpus": POD.n_gpus,
        "degree": POD.n_gpus // UNIT.n_gpus,
        "switch_bw": tree(POD)["have"],
        "cable_bw": tree(POD)["need"],
        "collective_bw": POD.node_bytes_per_s,
    },
    "gpus.coll.bisection_identity": lambda n: {"bis_two_way": half(NODE), "b_over_n": half(NODE) / n},
    "gpus.coll.sharded_rule": lambda V, Y, **_: sharded(V, Y) | {"nodes_spanned": max(8, Y) / 8},
    "gpus.coll.sharded_general": lambda V, Y, **_: {
        "right": sl.all_gather_time(V / Y, sharded_mesh(256, Y), "X").stages["scaleout"]
    },
    "gpus.pop3.sharded_ag": lambda V: {
        "le8": sl.all_gather_time(V / 4, sharded_mesh(256, 4), "X").bandwidth_s,
        "gt8_slope": UNIT.scaleout_bytes_per_s,
    },
    "gpus.pop3.plot_y128": lambda V, Y: {
        "exact": sl.all_gather_time(V / Y, sharded_mesh(256, Y), "X").bandwidth_s,
        "t": sl.all_gather_time(V / Y, sharded_mesh(256, Y), "X").bandwidth_s * 2,
    },
    "gpus.pop3.plot_y256": lambda V: {"right": sl.all_gather_time(V / 256, sharded_mesh(256, 256), "X").upper_s},
    "gpus.quiz4.q1_node_switch": lambda V, M, n: {
        "t": gather(NODE, V).bandwidth_s * 8 / 7,
        "down": gather(UNIT, V).stages["scaleout"] * UNIT.node_bytes_per_s,
    },
    "gpus.quiz4.q2_sharp": lambda V, n: switch_ingress(n),
    "gpus.quiz4.q3_sharded_sharp": lambda D, Fd, Y, W: {
        "per_gpu": sl.parse_sharding("A[D, F_Y]").local_bytes({"D": D, "F": Fd}, sl.Mesh(NODE, X=2, Y=Y)),
        "t": sl.all_reduce_time(2 * D * Fd / Y, sl.Mesh(NODE, X=2, Y=4), "X", algorithm="sharp").bandwidth_s,
    },
    "gpus.quiz4.q4_spine": lambda D, Fd: {
        "t": sl.all_reduce_time(2 * D * Fd / 256, sharded_mesh(1024, 256), "X", algorithm="sharp").bandwidth_s,
        "su_rate": UNIT.n_nodes * UNIT.node_bytes_per_s,
    },
    "gpus.quiz4.q5_two_nodes": lambda V: {
        "node_rate": rate(gather(sl.GpuCluster("h100", 16)).stages["nvlink"]),
        "scale_rate": rate(gather(sl.GpuCluster("h100", 16)).stages["scaleout"]),
        "limit": rate(gather(sl.GpuCluster("h100", 16)).bandwidth_s),
    },
    "gpus.gb200.figure_rack": lambda: {
        "gpus": RACK.n_gpus,
        "switches": RACK.chip.nvswitches,
        "nvlink_total": 2 * 72 * RACK.gpu_bytes_per_s,
    },
    "gpus.gb200.inside": lambda C: {
        "b200": C / RACK.gpu_bytes_per_s,
        "h100": 990e12 / NODE.gpu_bytes_per_s,
        "change": C / RACK.gpu_bytes_per_s / (990e12 / NODE.gpu_bytes_per_s),
    },
    "gpus.gb200.outside": lambda C: {
        "raw": C / RACKS.node_bytes_per_s,
        "effective": max(C / RACKS.node_bytes_per_s, C / RACKS.gpu_bytes_per_s),
        "gain_raw": 990e12 / POD.node_bytes_per_s / (C / RACKS.node_bytes_per_s),
        "gain_effective": 990e12 / POD.node_bytes_per_s / (C / RACKS.gpu_bytes_per_s),
        "gain_vs_b200": C / POD.node_bytes_per_s / (C / RACKS.gpu_bytes_per_s),
    },
    "gpus.gb200.per_gpu": lambda: {"nvl72": RACKS.scaleout_bytes_per_s, "h100": POD.scaleout_bytes_per_s},
    "gpus.appb.nvlink4_switch": lambda: {
        "ports": NODE.rules.nvswitch_ports,
        "one_way": NODE.node_switch_bytes_per_s / NODE.chip.nvswitches,
        "two_way": 2 * NODE.node_switch_bytes_per_s / NODE.chip.nvswitches,
    },
    "gpus.appb.spine": lambda: {
        "cables": tree(POD)["need"],
        "per_switch": POD.rules.switch_ports * POD.rules.switch_port_bytes_per_s,
        "switch": tree(POD)["have"],
    },
    "gpus.appb.per_gpu": lambda: {
        "node": NODE.gpu_bytes_per_s,
        "su": tree(UNIT)["need"] / UNIT.n_gpus,
        "spine": tree(POD)["have"] / POD.n_gpus,
    },
}


def ours(name):
    """What the library says of a fact, or None where no check is written."""
    return CHECKS[name](**inputs(FACTS[name])) if name in CHECKS else None


@pytest.mark.parametrize(("name", "key"), pairs(FACTS))
def test_a_fact_of_gpu_networks_holds_or_says_why_not(name, key):
    found = ours(name)
    if reason_of(name, key):
        assert found is None or key not in found, "a fact is both checked and listed as without counterpart"
    else:
        assert_holds(
            FACTS[name], key, found[key], rel=1e-9 if FACTS[name]["expected"][key].get("rel_tol") == 0 else None
        )


def test_facts_of_gpu_networks_without_a_counterpart_are_said_aloud(capsys):
    left = [(name, key, reason_of(name, key)) for name, key in pairs(FACTS) if reason_of(name, key)]
    with capsys.disabled():
        print(f"\nGPU networks: {len(pairs(FACTS)) - len(left)} facts hold, {len(left)} have no counterpart:")
        for name, key, reason in left:
            print(f"  {name}/{key}: {reason}")
    assert len(left) <= 40
