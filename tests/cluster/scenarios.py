"""What must hold on a real cluster. The first two scenarios are always run; the others need only these."""

import json

from cluster import ROOT, Failure, apply, apply_text, eventually, kubectl, pods
from gateway import SLOW_MODEL, Traffic
from installation import NAMESPACE, REPLICAS, is_ready, names, replica_pods

ENDPOINT = "chat"
DEDICATED = f"dedicated/{ENDPOINT}"
MANAGED = {"app.kubernetes.io/managed-by": "forebay"}


def check(what, holds, seen=""):
    if not holds:
        raise Failure(f"not: {what}{f' ({seen})' if seen != '' else ''}")
    print(f"    ok: {what}", flush=True)


def check_traffic(what, traffic):
    check(f"{what}: {traffic.passed} calls, none failed", traffic.passed and not traffic.failures, traffic.failures[:3])


# Prints the status of a call, or nothing if there is no connection.
TRY = """
exec 3<>/dev/tcp/$0/$1 || exit 0
printf '%s %s HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\n{}' "$2" "$3" >&3
read -r _ status _ <&3
echo "$status"
"""
# Of forebay-engine, and those of vLLM that need no key of its own: they change the weights, stop it, or run anything.
TRIED = [
    ("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("POST", "/tokenize"), ("GET", "/metrics"),
    ("POST", "/pause"), ("POST", "/update_weights"), ("POST", "/invocations"), ("POST", "/collective_rpc"),
]


def foreign_pod(image="localhost/forebay:test", labels=MANAGED):
    """A Pod among the replicas that meets the profile `restricted`."""
    security = {
        "runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "foreign", "namespace": REPLICAS, "labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": image, "securityContext": security}],
        },
    }


def refusal(pod):
    """Why a gateway may not create this Pod; empty if it may."""
    account = f"system:serviceaccount:{NAMESPACE}:forebay"
    try:
        kubectl("create", "--as", account, "--dry-run=server", "--validate=false", "--filename", "-", input=json.dumps(pod))
    except RuntimeError as error:
        return str(error)
    return ""


class Scenarios:
    def __init__(self, cluster, installation):
        self.cluster, self.installation, self.gateway = cluster, installation, None
        self.count = 0  # of replicas of the endpoint

    def selected(self, chosen):
        """The scenarios with these names and those that they need; all if none is named."""
        needed = [self.install, self.serve]
        others = [
            self.intruder, self.scale_up, self.rolling_update, self.upgrade, self.drain, self.kubelet_restart, self.power_loss,
            self.out_of_memory, self.image_missing, self.uninstall,
        ]
        if self.cluster.serves("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"):
            others.insert(0, self.admission)  # the others run with the policy
        if self.cluster.serves("/apis/policy/v1"):
            others.insert(others.index(self.drain), self.disruption_budget)
        unknown = set(chosen) - {scenario.__name__ for scenario in needed + others}
        if unknown:
            raise Failure(f"there is no scenario {', '.join(sorted(unknown))}")
        return needed + [scenario for scenario in others if not chosen or scenario.__name__ in chosen]

    def _scale(self, count):
        self.count = count
        self.gateway.call("PATCH", f"/v1/endpoints/{ENDPOINT}", {"replicas": count})
        self._await_serving()

    def _await_serving(self):
        self.gateway.await_serving(ENDPOINT, self.count)

    def install(self):
        """Three gateways are installed by Helm and serve"""
        self.installation.prepare()
        self.installation.install()
        ready = [pod for pod in self.installation.gateways() if is_ready(pod)]
        check("three gateways are ready", len(ready) == 3, len(ready))
        nodes = {pod["spec"]["nodeName"] for pod in ready}
        check("they are on both nodes", len(nodes) == 2, nodes)
        self.gateway = self.installation.connect()
        self.gateway.chat(SLOW_MODEL)
        check("a chat through the Service is served", True)

    def serve(self):
        """An endpoint with two replicas as containers serves"""
        self.count = 2
        self.gateway.create_endpoint(ENDPOINT, "slot", self.count)
        self._await_serving()
        found = replica_pods()
        check("two Pods run", len(found) == 2, names(found))
        name = found[0]["metadata"]["name"]
        status = kubectl("--namespace", REPLICAS, "exec", name, "--", "cat", "/proc/1/status")
        fields = dict(line.split(":", 1) for line in status.splitlines())
        check("the engine has a container of its own", fields["Name"].strip().startswith("forebay-engine"), fields["Name"])
        check("it is not root", fields["Uid"].split()[0] == "10001", fields["Uid"])
        check("it has no capabilities", int(fields["CapEff"], 16) == 0, fields["CapEff"])
        for _ in range(6):
            self.gateway.chat(DEDICATED)
        check("six chats are served", True)

    def intruder(self):
        """A Pod that is not a gateway uses no engine"""
        pod = foreign_pod(labels={})
        pod["metadata"]["namespace"] = "default"
        pod["spec"]["containers"][0]["command"] = ["sleep", "infinity"]
        apply(pod)
        eventually("the Pod runs", lambda: self.cluster.is_ready("pod", "foreign"))
        replica = replica_pods()[0]
        address, port = replica["status"]["podIP"], replica["spec"]["containers"][0]["ports"][0]["containerPort"]
        for method, path in TRIED:
            bounded = 'timeout 5 bash -c "$0" "$@" || true'  # a policy drops packets
            status = kubectl("exec", "foreign", "--", "bash", "-c", bounded, TRY, address, str(port), method, path).strip()
            check(f"{method} {path} is not served", status in ("", "401", "404"), status)
        kubectl("delete", "pod", "foreign", "--grace-period", "1")
        # The network of this cluster applies no policies; engines whose routes need no key depend on it.
        policies = json.loads(kubectl("get", "networkpolicies", "--namespace", REPLICAS, "-o", "json"))["items"]
        sources = [rule["from"] for policy in policies for rule in policy["spec"].get("ingress", [])]
        component = [one["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for rule in sources for one in rule]
        check("a policy admits gateways only", component == ["gateway"], policies)

    def admission(self):
        """The admission policy lets a gateway create nothing but replicas"""
        policy = (ROOT / "deploy/kubernetes/admission/pods.yaml").read_text()
        apply_text(policy.replace('"vllm/"', '"localhost/"'))
        refused = lambda why, **changes: eventually(why, lambda: why in refusal(foreign_pod(**changes)))
        refused("images of replicas come from the listed registries", image="docker.io/library/busybox")
        check("an image of another registry is refused", True)
        refused("gateways create only replicas", labels={})
        check("a Pod that is not a replica is refused", True)
        self._scale(self.count + 1)
        check("a replica starts", True)
        self._scale(self.count - 1)

    def scale_up(self):
        """Another replica starts under traffic"""
        with Traffic(lambda: self.gateway.chat(DEDICATED)) as traffic:
            self._scale(self.count + 1)
            traffic.await_calls(10)
        check("all Pods run", len(replica_pods()) == self.count)
        check_traffic("meanwhile", traffic)

    def rolling_update(self):
        """All gateways are replaced while streams are open"""
        before = {pod["metadata"]["uid"] for pod in self.installation.gateways()}
        with self._open_streams() as streams, Traffic(lambda: self.gateway.chat(SLOW_MODEL)) as traffic:
            kubectl("--namespace", NAMESPACE, "rollout", "restart", "statefulset/forebay")
            kubectl("--namespace", NAMESPACE, "rollout", "status", "statefulset/forebay", "--timeout", "15m")
        after = {pod["metadata"]["uid"] for pod in self.installation.gateways()}
        check("every gateway is a new Pod", not before & after)
        check_traffic("streams", streams)
        check_traffic("chats", traffic)

    def upgrade(self):
        """helm upgrade to another image, under traffic"""
        before = names(replica_pods())
        self.installation.values["image"]["tag"] = "test"
        with self._open_streams() as streams, Traffic(lambda: self.gateway.chat(DEDICATED)) as traffic:
            self.installation.upgrade()
        images = {pod["spec"]["containers"][0]["image"] for pod in self.installation.gateways()}
        check("every gateway has the new image", images == {"localhost/forebay:test"}, images)
        check_traffic("streams", streams)
        check_traffic("chats of the endpoint", traffic)
        check("replicas are the same", before == names(replica_pods()))

    def disruption_budget(self):
        """Evictions leave all replicas but one"""
        self._scale(max(self.count, 3))
        eventually("the budget allows one eviction", lambda: self._budget() == (self.count - 1, 1))
        check("the budget of the endpoint keeps all replicas but one", True)
        with Traffic(lambda: self.gateway.chat(DEDICATED)) as traffic:
            answers = [self.cluster.evict(pod) for pod in replica_pods()[:2]]
            check("one Pod is evicted, the next one is kept", answers == [201, 429], answers)
            self._await_serving()
            eventually("the budget allows one eviction again", lambda: self._budget() == (self.count - 1, 1))
        check("the evicted Pod is replaced", len(replica_pods()) == self.count)
        check_traffic("meanwhile", traffic)

    def _budget(self):
        """The minimum of the endpoint's budget and how many evictions it allows now."""
        budget, = json.loads(kubectl("get", "poddisruptionbudgets.v1.policy", "--namespace", REPLICAS, "-o", "json"))["items"]
        return budget["spec"]["minAvailable"], budget["status"]["disruptionsAllowed"]

    def drain(self):
        """kubectl drain moves replicas and gateways to the other node"""
        node = self.cluster.nodes[1]
        self._spread()
        with Traffic(lambda: self.gateway.chat(DEDICATED)) as traffic:
            # Replicas are Pods without a controller of Kubernetes; --force is what drain requires for those.
            kubectl("drain", node.name, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout", "10m")
            self._await_serving()
        left = self._on(node, replica_pods() + self.installation.gateways())
        check("no Pod is left on the node", not left, names(left))
        check_traffic("meanwhile", traffic)
        kubectl("uncordon", node.name)
        self.installation.await_gateways()
        check("three gateways are ready", True)

    def kubelet_restart(self):
        """A kubelet restarts: its containers go on"""
        node = self.cluster.nodes[1]
        self._spread()
        before = self._containers()
        with Traffic(lambda: self.gateway.chat(DEDICATED)) as traffic:
            node.stop_kubelet()
            eventually("the node is not ready", lambda: not self.cluster.is_ready("node", node.name))
            node.start_kubelet()
            self.cluster.await_ready(node)
            traffic.await_calls(10)
        check("all containers are the same", before == self._containers())
        check_traffic("meanwhile", traffic)

    def power_loss(self):
        """A node loses power: its replicas start elsewhere"""
        node = self.cluster.nodes[1]
        self._spread()
        lost = self._on(node, replica_pods())
        node.power_off()
        eventually("its replicas are given up", lambda: not names(lost) & names(replica_pods()))
        self._await_serving()
        check("its replicas run on the other node", not self._on(node, replica_pods()))
        for _ in range(6):
            self.gateway.chat(DEDICATED)
        check("chats are served without it", True)
        node.power_on()
        self.cluster.await_ready(node)
        self.installation.await_gateways()
        check("the node and its gateways are back", True)

    def out_of_memory(self):
        """An engine that exceeds its memory is killed by the cgroup"""
        self.gateway.create_endpoint("tight", "tight", 1)
        failures = lambda: self.gateway.events("tight", "replica.failed")
        seen = eventually("a replica has failed", failures)[0]
        check("the reason is out-of-memory", seen["reason"] == "out-of-memory", seen)
        self.gateway.chat(DEDICATED)
        check("other endpoints serve", True)
        self._delete("tight")

    def image_missing(self):
        """An image that cannot be pulled fails the endpoint"""
        self.gateway.create_endpoint("no-image", "no-image", 1)
        failed = lambda: self.gateway.endpoint("no-image")["state"] == "failed"
        eventually("the endpoint has failed", failed)
        seen = self.gateway.endpoint("no-image")
        check("the reason is image-missing", seen["stateReason"] == "image-missing", seen["stateReason"])
        check("the message has the image", "localhost/forebay:missing" in seen["stateMessage"], seen["stateMessage"])
        self._delete("no-image")

    def uninstall(self):
        """Endpoints are deleted, and the chart is uninstalled"""
        self._delete(ENDPOINT)
        self.installation.uninstall()
        eventually("the gateways are gone", lambda: not pods(NAMESPACE))
        check("no Pod of a gateway is left", True)
        check("no Pod of a replica is left", not pods(REPLICAS))
        check("volumes are kept", len(kubectl("get", "persistentvolumeclaims", "-A", "--no-headers").splitlines()) == 4)

    def _open_streams(self):
        """Enough streams that each gateway has some at any time."""
        return Traffic(self.gateway.slow_stream, threads=12)

    def _on(self, node, found):
        return [pod for pod in found if pod["spec"].get("nodeName") == node.name]

    def _spread(self):
        """Makes sure that each node has a gateway and a replica."""
        for node, other in (self.cluster.nodes, reversed(self.cluster.nodes)):
            kubectl("cordon", other.name)
            if not self._on(node, self.installation.gateways()):
                kubectl("--namespace", NAMESPACE, "delete", "pod", "forebay-0")
                self.installation.await_gateways()
            if not self._on(node, replica_pods()):
                self._scale(self.count + 1)
            kubectl("uncordon", other.name)

    def _delete(self, name):
        self.gateway.delete_endpoint(name)
        present = lambda: name in [one["name"] for one in self.gateway.call("GET", "/v1/endpoints")["data"]]
        eventually(f"{name} is gone", lambda: not present())

    def _containers(self):
        found = replica_pods() + self.installation.gateways()
        return {status["containerID"] for pod in found for status in pod["status"]["containerStatuses"]}
