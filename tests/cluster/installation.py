"""Forebay installed in the cluster by its Helm chart."""

import json
import os

from cluster import ROOT, SLOT, apply, eventually, get, kubectl, pods
from gateway import MODEL, SLOW_MODEL, Gateway
from nodes import run

NAMESPACE = "forebay"
REPLICAS = "forebay-replicas"
CHART = ROOT / "deploy/helm/forebay"
GATEWAYS = 3
USER = 10001
WEIGHTS = ROOT / "data/models"

CONFIGURATION = f"""
[server]
listen = "0.0.0.0:8080"
ops_listen = "0.0.0.0:9090"
drain_timeout = "120s"

[workspace_defaults]
requests_per_minute = 1_000_000
tokens_per_minute = 1_000_000_000

[allotment_defaults]
"test/slot" = 16
"test/tight" = 4

[drivers.kubernetes]
namespace = "{REPLICAS}"
drain_timeout = "60s"
pre_stop = "5s"
node_lost_after = "40s" # longer than a restart of a kubelet takes
image_patience = "5s"

[drivers.kubernetes.images]
forebay-engine = "localhost/forebay:test"

[drivers.kubernetes.weights]
claim = "models"

[drivers.kubernetes.gpus."test/slot"]
resource = "{SLOT}"
memory = "1Gi"

[drivers.kubernetes.gpus."test/tight"]
resource = "{SLOT}"
memory = "24Mi"

[[models]]
id = "{MODEL}"
context_length = 2048
driver = "kubernetes"
flavors = [
    {{ name = "slot", gpu_type = "test/slot", weights = "{{weights}}" }},
    {{ name = "tight", gpu_type = "test/tight", weights = "{{weights}}" }},
    {{ name = "no-image", gpu_type = "test/slot", weights = "{{weights}}", image = "localhost/forebay:missing" }},
]

[[models]]
id = "{SLOW_MODEL}"
upstreams = [{{ url = "{{slow_engine}}" }}]
"""


def volume(name, path, mode, claim):
    """A volume that every node can mount, for one claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": [mode],
            "hostPath": {"path": str(path)},
            "claimRef": dict(zip(("namespace", "name"), claim)),
        },
    }


class Installation:
    def __init__(self, cluster):
        self.cluster, self.helm = cluster, run(ROOT / "scripts/tool", "helm").strip()
        self.values = {
            "image": {"repository": "localhost/forebay", "tag": "test-gateway"},
            "gateways": GATEWAYS,
            "secret": "forebay",
            "config": CONFIGURATION.replace("{weights}", "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf").replace(
                "{slow_engine}", cluster.slow_engine
            ),
            "persistence": {"size": "1Gi"},
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
            "shutdown": {"delaySeconds": 10, "drainSeconds": 120},
            "replicas": {"weights": {"enabled": True, "size": "1Gi", "accessMode": "ReadOnlyMany"}},
        }

    def _helm(self, *arguments):
        values = self.cluster.work / "values.yaml"  # JSON is YAML
        values.write_text(json.dumps(self.values))
        run(self.helm, *arguments, "--namespace", NAMESPACE)

    def prepare(self):
        """What the chart leaves to the operator: volumes, and the Secret with the addresses of PostgreSQL and Redis."""
        folders = self.cluster.work / "volumes"
        volumes = [volume("models", WEIGHTS, "ReadOnlyMany", (REPLICAS, "models"))]
        for number in range(GATEWAYS):
            folder = folders / f"gateway-{number}"
            folder.mkdir(parents=True)
            os.chown(folder, USER, USER)
            volumes.append(volume(folder.name, folder, "ReadWriteOnce", (NAMESPACE, f"data-forebay-{number}")))
        addresses = {"FOREBAY_STORE_URL": self.cluster.postgres, "FOREBAY_LIMITS_URL": self.cluster.redis}
        apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forebay", "namespace": NAMESPACE}, "stringData": addresses},
            *volumes,
        )

    def install(self):
        self._helm("install", "forebay", CHART, "--values", self.cluster.work / "values.yaml", "--wait", "--timeout", "10m")

    def upgrade(self):
        self._helm("upgrade", "forebay", CHART, "--values", self.cluster.work / "values.yaml", "--wait", "--timeout", "15m")
        kubectl("--namespace", NAMESPACE, "rollout", "status", "statefulset/forebay", "--timeout", "15m")

    def uninstall(self):
        run(self.helm, "uninstall", "forebay", "--namespace", NAMESPACE)

    def gateways(self):
        return pods(NAMESPACE, "app.kubernetes.io/component=gateway")

    def await_gateways(self):
        eventually(f"{GATEWAYS} gateways are ready", lambda: sum(map(is_ready, self.gateways())) == GATEWAYS)

    def connect(self):
        """A client with the key that the first gateway has written, read as the chart's notes say."""
        return Gateway(get("service", "forebay", NAMESPACE)["spec"]["clusterIP"], 80, self._first_key())

    def _first_key(self):
        for pod in self.gateways():
            name = pod["metadata"]["name"]
            try:
                text = kubectl("--namespace", NAMESPACE, "exec", name, "--", "cat", "/var/lib/forebay/bootstrap.json")
            except RuntimeError:
                continue  # another gateway has created the store
            return json.loads(text)["apiKey"]
        raise RuntimeError("no gateway has a bootstrap.json")


def is_ready(pod):
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))


def names(items):
    return {item["metadata"]["name"] for item in items}


def replica_pods():
    return [pod for pod in pods(REPLICAS) if "deletionTimestamp" not in pod["metadata"]]
