"""A cluster of real nodes with its control plane, PostgreSQL, Redis and an engine that responds slowly."""

import functools
import json
import os
import pathlib
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from nodes import HOST, SERVICE_NETWORK, Node, create_network, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The machine may be busy with other work; nothing here depends on how fast it is.
TIMEOUT_SECONDS = 300
# What replicas request instead of a GPU, and how many each node has.
SLOT = "forebay.dev/slot"
SLOTS_PER_NODE = 4


class Failure(Exception):
    """A check that failed."""


def eventually(what, check, seconds=TIMEOUT_SECONDS):
    """Waits until a check returns something true, and returns it."""
    deadline = time.monotonic() + seconds
    seen = None
    while time.monotonic() < deadline:
        try:
            value = check()
            if value:
                return value
            seen = value
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            seen = error
        time.sleep(0.3)
    raise Failure(f"after {seconds} s still not: {what} (last: {seen})")


class Cluster:
    def __init__(self, work, images, fake_engine, cgroup):
        self.work, self.images, self.cgroup = work, images, cgroup
        create_network()
        programs = pathlib.Path(run(ROOT / "tests/cluster/kubernetes-control-plane", "build", "node").strip())
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"  # a build of a tree has its own kubectl
        folder = work / "control-plane"
        self.kubeconfig = run(ROOT / "tests/cluster/kubernetes-control-plane", "start", folder, HOST).strip()
        os.environ["KUBECONFIG"] = self.kubeconfig
        self.nodes = [Node(number, work, folder, cgroup, programs) for number in (1, 2)]
        self._start_services(fake_engine)

    def _start_services(self, fake_engine):
        self.postgres = run(ROOT / "scripts/postgres", "start", self.work / "postgres", HOST).strip()
        self.redis = f"redis://{HOST}:6379/0"
        self._launch("redis", "redis-server", "--bind", HOST, "--protected-mode", "no", "--save", "", "--dir", self.work)
        self.slow_engine = f"http://{HOST}:9100/v1"
        self._launch("fake-engine", fake_engine, "--listen", f"{HOST}:9100")

    def _launch(self, name, *command):
        with open(self.work / f"{name}.log", "ab") as log:
            subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_nodes(self):
        for node in self.nodes:
            node.power_on()
        # Clients outside of the cluster reach Services through the first node.
        run("ip", "route", "add", SERVICE_NETWORK, "via", self.nodes[0].address)
        for node in self.nodes:
            eventually(f"containerd runs on {node.name}", node.is_up)
            for archive in sorted(self.images.glob("*.oci.tar")):
                node.import_image(archive)
            self.await_ready(node)
            self._add_slots(node)

    def await_ready(self, node):
        eventually(f"{node.name} is Ready", lambda: self.is_ready("node", node.name))

    def _add_slots(self, node):
        """Advertises a resource that the kubelet does not know itself, which this version of kubectl cannot do."""
        patch = [{"op": "add", "path": f"/status/capacity/{SLOT.replace('/', '~1')}", "value": str(SLOTS_PER_NODE)}]
        status = self._call("PATCH", f"/api/v1/nodes/{node.name}/status", patch, "application/json-patch+json")
        if status != 200:
            raise RuntimeError(f"the slots of {node.name} were refused: {status}")
        eventually("the kubelet offers the slots", lambda: SLOT in get("node", node.name)["status"]["allocatable"])

    def evict(self, pod):
        """Asks for the eviction of a Pod, as kubectl drain does, but once. Returns the status; 429: not now."""
        metadata = {member: pod["metadata"][member] for member in ("namespace", "name")}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        return self._call("POST", "/api/v1/namespaces/{namespace}/pods/{name}/eviction".format(**metadata), eviction)

    def serves(self, path):
        """Whether this version of the API server has such resources."""
        return self._call("GET", path) == 200

    def _call(self, method, path, body=None, content="application/json"):
        """One call of the API that kubectl has no command for. Returns the status."""
        server, token = self._credentials
        context = ssl.create_default_context(cafile=self.work / "control-plane/ca.crt")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{server}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=context) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    @functools.cached_property
    def _credentials(self):
        members = ("{.clusters[0].cluster.server}", "{.users[0].user.token}")
        return [kubectl("config", "view", "--raw", "-o", f"jsonpath={member}") for member in members]

    def is_ready(self, kind, name, namespace="default"):
        for condition in get(kind, name, namespace)["status"].get("conditions", []):
            if condition["type"] == "Ready":
                return condition["status"] == "True"
        return False

    def logs(self):
        """The last lines of every log, for a failed run."""
        for file in sorted([*self.work.glob("*.log"), *self.work.glob("*/*.log")]):
            yield f"--- {file.relative_to(self.work)}"
            yield from file.read_text(errors="replace").splitlines()[-15:]


def kubectl(*arguments, **options):
    return run("kubectl", *arguments, **options)


def get(kind, name, namespace="default"):
    return json.loads(kubectl("get", kind, name, "--namespace", namespace, "-o", "json"))


def pods(namespace, selector=""):
    return json.loads(kubectl("get", "pods", "--namespace", namespace, "--selector", selector, "-o", "json"))["items"]


def apply(*objects):
    apply_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def apply_text(text):
    # The server checks objects too; for a check of its own kubectl reads a large document, with a short time limit.
    kubectl("apply", "--validate=false", "--filename", "-", input=text)
