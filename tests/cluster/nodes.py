"""Nodes of the test cluster: containerd, kubelet and kube-proxy in namespaces that act as a machine."""

import json
import os
import pathlib
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# The network between the nodes; the control plane, the databases and the clients have the first address.
BRIDGE = "cluster0"
HOST = "10.90.0.1"
POD_NETWORK = "10.42.0.0/16"
SERVICE_NETWORK = "10.0.0.0/24"

CONTAINERD = """
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:test"
disable_apparmor = true
restrict_oom_score_adj = true # root of a virtual machine may lack the right to lower it
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{folder}/cni"
"""


def run(*command, **options):
    """Runs a command that must succeed; returns its output."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


def create_network():
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{HOST}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


class Node:
    """One machine. `folder` is its disk; everything else ends with `power_off`."""

    def __init__(self, number, folder, control_plane, cgroup, programs):
        self.number = number
        self.name = f"node{number}"
        self.address = f"10.90.0.{10 + number}"
        self.pods = f"10.42.{number}.0/24"
        self.folder = folder / self.name
        self.cgroup = f"{cgroup}/{self.name}"
        self.programs = programs
        self.process = None
        self.folder.mkdir()
        self._write_configuration(control_plane)

    def _write_configuration(self, control_plane):
        (self.folder / "containerd.toml").write_text(CONTAINERD.format(folder=self.folder))
        bridge = {
            "type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": self.pods}]], "routes": [{"dst": "0.0.0.0/0"}]},
        }
        (self.folder / "cni").mkdir()
        (self.folder / "cni/pods.conflist").write_text(
            json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]})
        )
        kubelet = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": f"{control_plane}/ca.crt"}},
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.cgroup,
            "failSwapOn": False,
            "nodeLeaseDurationSeconds": 12,  # renewed every three seconds
            "nodeStatusUpdateFrequency": "5s",
            # Disks are those of the machine that runs the test: neither evict Pods nor remove images because of them.
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
        }
        if self._minor_version() >= 31:
            kubelet["failCgroupV1"] = False  # refused by default
        (self.folder / "kubelet.yaml").write_text(json.dumps(kubelet))
        for source, target in ((self.name, "kubelet"), ("kube-proxy", "kube-proxy")):
            text = (control_plane / f"{source}.kubeconfig").read_text()
            (self.folder / f"{target}.kubeconfig").write_text(text)

    def _minor_version(self):
        return int(run(self.programs / "kubelet", "--version").split(".")[1])  # Kubernetes v1.20.2

    def power_on(self):
        self._create_cgroups()
        run("ip", "netns", "add", self.name)
        link = f"to-{self.name}"
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", link, "master", BRIDGE, "up")
        run("ip", "-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0")
        run("ip", "-n", self.name, "link", "set", "eth0", "up")
        run("ip", "-n", self.name, "route", "add", "default", "via", HOST)
        run("ip", "route", "replace", self.pods, "via", self.address)
        environment = os.environ | {
            "KUBERNETES": str(self.programs), "NODE_ADDRESS": self.address, "POD_NETWORK": POD_NETWORK,
            # Later versions have no other container runtimes.
            "KUBELET_OPTIONS": "--container-runtime=remote" if self._minor_version() < 27 else "",
        }
        unshare = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with open(self.folder / "init.log", "ab") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.name}", *unshare, str(HERE / "node-init"), str(self.folder)],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )

    def power_off(self):
        """Ends every process of the node at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        # In this order: the kernel removes the link some time after the namespace.
        run("ip", "link", "delete", f"to-{self.name}")
        run("ip", "netns", "delete", self.name)

    def enter(self, *command):
        """Runs a command on the node."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return run("nsenter", "--target", children.split()[0], "--mount", "--net", "--pid", *command)

    def is_up(self):
        try:
            self.enter("ctr", "version")
        except (RuntimeError, IndexError):
            return False
        return True

    def import_image(self, archive):
        """Loads an OCI archive, which has its name inside; there is no registry."""
        self.enter("ctr", "--namespace", "k8s.io", "images", "import", archive)

    def stop_kubelet(self):
        self.enter("sh", "-c", "touch /run/kubelet.stopped; kill $(cat /run/kubelet.pid)")

    def start_kubelet(self):
        self.enter("rm", "/run/kubelet.stopped")

    def _create_cgroups(self):
        for controller in pathlib.Path("/sys/fs/cgroup").iterdir():
            if not (controller / "cgroup.procs").exists():
                continue
            path = controller / self.cgroup.lstrip("/")
            path.mkdir(parents=True, exist_ok=True)
            if controller.name == "cpuset":  # a new one has no CPUs, so that no process can enter it
                for folder in (path.parent, path):
                    for file in ("cpuset.cpus", "cpuset.mems"):
                        (folder / file).write_text((controller / file).read_text())
