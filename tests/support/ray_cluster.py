"""A Ray cluster of several raylets on this machine, in a process of its own, that takes orders on standard input.

Orders are lines of JSON: {"do": "add", "environment": {...}} starts a node and returns its number, {"do": "kill",
"node": N} kills its raylet and all its workers without a goodbye. The files of the cluster are in a folder of its own,
which is removed at the end: other clusters of this machine, and what is left of them, are not seen.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from typing import Any


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:  # short: sockets are in it
        os.environ["RAY_TMPDIR"] = folder
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**8}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            _obey(cluster)
        finally:
            for node in [*cluster.worker_nodes, cluster.head_node]:  # a graceful end takes seconds for each
                cluster.remove_node(node, allow_graceful=False)


def _obey(cluster: Any) -> None:
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


if __name__ == "__main__":
    main()
