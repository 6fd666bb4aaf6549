"""A dedicated endpoint whose replicas are real vLLMs, started by the gateway."""

import errno
import http.client
import os
import pathlib
import signal
import socket
import time

from capabilities import PROBE_SECONDS
from gateway import FORCED, QUESTION, TOOL, Gateway, arguments_of, check, message_of
from testbed import wait_until
from vllm_server import START_SECONDS, Vllm

DEDICATED = """
[drivers.process]
slots = {{ "local/cpu" = 1 }}

[allotment_defaults]
"local/cpu" = 1

[[models]]
id = "test/dedicated"
context_length = 2048
upstreams = [{{ url = "{upstream}/v1" }}]

[[models.flavors]]
name = "cpu"
gpu_type = "local/cpu"
gpu_count = 1
precision = "bf16"
price_per_gpu_hour = "1.00"
engine = "vllm"
weights = "{home}/smol"
tool_parser = "hermes"
chat_template = "{home}/template.jinja"
args = ["--enforce-eager", "--max-num-seqs", "8"]
"""


def replica_of(home):
    """The process of a replica, and its command."""
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if "serve" in command and f"{home}/smol" in command and "dedicated/vllm" in command:
                return int(folder.name), command
    return None


def check_life_cycle(gateway, home):
    """kill -9, suspend, scale to zero, wake"""
    endpoint = lambda **change: gateway.call("/v1/endpoints/vllm", change or None, "PATCH" if change else "GET").json()
    is_gone = lambda: replica_of(home) is None
    is_served = lambda: gateway.chat(model="dedicated/vllm").status == 200

    def timed(what, call):
        since = time.monotonic()
        holds = call()
        check(f"{what}, after {time.monotonic() - since:.0f} s", holds, endpoint())

    killed = replica_of(home)[0]
    group = processes_below(killed)
    os.kill(killed, signal.SIGKILL)
    wait_until("its other processes end", lambda: not any(map(is_running, group)), 30)
    check(f"kill -9 of its API server leaves none of its {len(group)} other processes", True)
    wait_until("the replica is replaced", lambda: not is_gone(), 60)
    timed("a call is held for the next replica", is_served)
    check("which is another process", replica_of(home)[0] != killed)

    suspended = gateway.call("/v1/endpoints/vllm/suspend", method="POST")
    check("it is suspended", suspended.status in (200, 202), suspended.text)
    wait_until("its processes end", is_gone, 150)
    held = gateway.call("/v1/chat/completions", {"model": "dedicated/vllm", "messages": QUESTION}, **{"x-hold-timeout": "2"})
    check("a call is held and does not wake it", held.status == 504 and is_gone(), held.text)
    check("it resumes", gateway.call("/v1/endpoints/vllm/resume", {}).status in (200, 202))
    timed("it serves", is_served)

    changed = endpoint(minReplicas=0, maxReplicas=1, scaleToZeroWindowSeconds=60)
    check("it may scale to zero", changed.get("minReplicas") == 0, changed)
    wait_until("it is at zero", lambda: endpoint()["state"] == "scaled-to-zero" and is_gone(), 240)
    timed("a call wakes it", is_served)


def status_at(path, url):
    connection = http.client.HTTPConnection("replica")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    try:
        connection.request("GET", url)
        return connection.getresponse().status
    finally:
        connection.close()


def is_running(pid):
    """Not also once it has ended and its parent has not asked for its status."""
    try:
        return (pathlib.Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_below(pid):
    children = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    found = list(children.get(pid, []))
    for child in found:
        found += children.get(child, [])
    return found


def check_dedicated(bed, home):
    """A dedicated endpoint with engine = "vllm" calls tools, is closed to others, and leaves no process behind"""
    path = f"{home}/venv/bin:{os.environ['PATH']}"
    tables = DEDICATED.format(home=home, upstream=bed.engine())
    gateway = Gateway(bed, tables, Vllm.environment() | {"PATH": path}, server='drain_timeout = "1s"\nprobe = true')
    body = {"name": "vllm", "model": "test/dedicated", "flavor": "cpu", "replicas": 1}
    created = gateway.call("/v1/endpoints", body)
    check("the endpoint is created", created.status == 201, created.text)
    serving = lambda: gateway.call("/v1/endpoints/vllm").json()["state"] in ("serving", "failed")
    wait_until("the endpoint serves", serving, START_SECONDS)
    seen = gateway.call("/v1/endpoints/vllm").json()
    check("it serves", seen["state"] == "serving", seen)
    response = gateway.chat(model="dedicated/vllm", max_tokens=80, **FORCED)
    calls = message_of(response).get("tool_calls")
    check("it calls a forced tool", bool(arguments_of(calls or [])), response.text)
    auto = gateway.chat(model="dedicated/vllm", tools=[TOOL])
    check("it accepts tools that the model may call", auto.status == 200, auto.text)
    pid, command = replica_of(home)
    port = int(command[command.index("--port") + 1])
    with socket.socket() as client:
        check("it does not listen at its port", client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED)
    path = pathlib.Path(command[command.index("--uds") + 1])
    check("only its user reaches its socket", path.parent.stat().st_mode & 0o777 == 0o700)
    check("which rejects calls without its key", status_at(path, "/v1/models") == 401)
    check("the key is not in its command", "--api-key" not in command, command)
    knows_tools = lambda: gateway.call("/v1/models/dedicated/vllm").json()["capabilities"].get("tools")
    wait_until("the gateway has asked the replica what it can do", knows_tools, PROBE_SECONDS)
    check("the gateway has found out that it has tools", True)
    check_life_cycle(gateway, home)
    bed.stop(gateway.at, "INT")
    wait_until("no process of the replica is left", lambda: replica_of(home) is None, 60)
    check("no process is left", True)
