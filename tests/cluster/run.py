"""Runs the scenarios on a cluster of its own. tests/cluster/test-cluster starts this in namespaces that end with it."""

import argparse
import os
import pathlib
import signal
import sys
import time
import traceback

from cluster import Cluster, Failure, kubectl
from installation import NAMESPACE, REPLICAS, Installation
from scenarios import Scenarios


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--images", type=pathlib.Path, required=True)
    parser.add_argument("--fake-engine", type=pathlib.Path, required=True)
    parser.add_argument("--cgroup", required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of scenarios; default: all")
    arguments = parser.parse_args()
    begin = time.monotonic()
    step(begin, "A control plane, PostgreSQL, Redis, and two nodes with containerd and kubelet")
    cluster = Cluster(arguments.work, arguments.images, arguments.fake_engine, arguments.cgroup)
    passed = 0
    try:
        selected = Scenarios(cluster, Installation(cluster)).selected(arguments.only)
        cluster.start_nodes()
        for line in kubectl("get", "nodes", "-o", "wide").splitlines():
            print(f"    {line}")
        for scenario in selected:
            step(begin, f"{scenario.__doc__} ({scenario.__name__})")
            scenario()
            passed += 1
    except Exception as error:  # whatever it is, the logs explain it
        describe(cluster)
        if not isinstance(error, (Failure, RuntimeError, OSError)):
            traceback.print_exception(error)
        print(f"test-cluster: {error}")
        print(f"{passed} passed, 1 failed", flush=True)
        if "FOREBAY_CLUSTER_INSPECT" in os.environ:
            inspect(cluster)
        sys.exit(1)
    print(f"{passed} passed, 0 failed")


def step(begin, text):
    print(f"==> [{time.monotonic() - begin:4.0f} s] {text}", flush=True)


def inspect(cluster):
    """Keeps the cluster of a failed run, until a signal ends it."""
    print(f"KUBECONFIG={cluster.kubeconfig}; enter the namespaces of run.py with nsenter --net --mount --pid --target")
    signal.pause()


def describe(cluster):
    """Everything that helps to understand a failure."""
    for line in cluster.logs():
        print(line[:300])
    gateway_log = ["logs", "--selector", "app.kubernetes.io/component=gateway", "--prefix", "--tail", "15"]
    for namespace in (NAMESPACE, REPLICAS):
        for command in (["get", "pods", "-o", "wide"], ["get", "events", "--sort-by", ".lastTimestamp"], gateway_log):
            try:
                print("\n".join(kubectl("--namespace", namespace, *command).splitlines()[-40:]))
            except RuntimeError as error:
                print(error)


main()
