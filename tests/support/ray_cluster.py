"""A Ray cluster of several raylets on this machine, in a process of its own, that takes orders on standard input.

Orders are lines of JSON: {"do": "add", "environment": {...}} starts a node and returns its number, {"do": "kill",
"node": N} kills its raylet and all its workers without a goodbye.
"""

from __future__ import annotations

import json
import sys
import warnings


def main() -> None:
    warnings.simplefilter("ignore")
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**8}
    )
    nodes = []
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "add":
            nodes.append(cluster.add_node(num_cpus=1, object_store_memory=10**8, env_vars=order.get("environment")))
            answer = {"node": len(nodes) - 1, "address": cluster.address}
        else:
            cluster.remove_node(nodes[order["node"]], allow_graceful=False)
            answer = {"killed": order["node"]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    cluster.shutdown()


if __name__ == "__main__":
    main()
