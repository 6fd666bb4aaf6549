"""Replaces the program of one gateway on SQLite under load: the previous release, the current one, back, and again.

Each release finds everything that the others wrote, and every call that a client saw served is billed once."""

import argparse
import http.client
import json
import pathlib
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testbed import FOREBAY, Testbed, wait_until  # noqa: E402

CALLERS = 4
LOAD_SECS = 4

CONFIG = """
[workspace_defaults]
requests_per_minute = 1_000_000
tokens_per_minute = 1_000_000_000

[[models]]
id = "acme/tiny-chat"
context_length = 4096
input_per_1m = "1.00"
output_per_1m = "4.00"
upstreams = [{{ url = "{engine}/v1", model = "tiny" }}]
"""


class Gateway:
    """One address and one data folder, served by one release after the other."""

    def __init__(self, testbed, folder):
        self.testbed, self.port = testbed, free_port()
        self.members = {"tables": CONFIG.format(engine=testbed.engine()), "server": 'drain_timeout = "20s"'}
        self.members |= {"dataDir": folder, "port": self.port}

    def start(self, program):
        self.started = self.testbed.gateway(**self.members, binary=str(program.resolve()))

    def stop(self):
        code = self.testbed.stop(self.started)
        expect(code == 0, f"forebay was stopped and exited with {code}")


class Operator:
    """The administrator of the first start, in the browser."""

    def __init__(self, gateway):
        self.base, self.workspace = gateway.url, gateway.workspaceId
        credentials = {"email": gateway.email, "password": gateway.password}
        with send(f"{self.base}/api/session", "POST", credentials) as response:
            self.headers = {"cookie": response.headers["set-cookie"].split(";")[0]}
            self.headers["x-csrf-token"] = json.load(response)["csrfToken"]

    def call(self, method, path, body=None):
        with send(f"{self.base}/api/workspaces/{self.workspace}{path}", method, body, self.headers) as response:
            return json.loads(response.read() or "null")


class Load:
    """Clients that call without a pause, and again if nothing listens."""

    def __init__(self, base, key):
        self.base, self.key = base, key
        self.served = 0
        self.failures = []
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CALLERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.stopping.is_set():
            try:
                chat(self.base, self.key)
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionRefusedError):
                    self.failures.append(repr(error))
                time.sleep(0.05)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            else:
                with self.lock:
                    self.served += 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--previous", required=True, type=pathlib.Path)
    previous = parser.parse_args().previous
    with tempfile.TemporaryDirectory(prefix="forebay-upgrade.") as folder, Testbed() as testbed:
        return run(Gateway(testbed, folder), previous, FOREBAY)


def run(gateway, previous, current):
    releases = [("previous", previous), ("current", current), ("previous", previous), ("current", current)]
    gateway.start(previous)
    load = Load(gateway.started.url, gateway.started.apiKey)
    keys = []
    for number, (name, program) in enumerate(releases):
        if number > 0:
            gateway.stop()
            gateway.start(program)
        operator = Operator(gateway.started)
        print(f"The {name} release serves, after {load.served} calls", flush=True)
        keys.append(operator.call("POST", "/keys", {"name": f"key {number}"})["key"])
        operator.call("PUT", f"/aliases/name-{number}", {"model": "acme/tiny-chat"})
        time.sleep(LOAD_SECS)
        check_records(operator, gateway, keys, load)
    load.stop()
    expect(not load.failures, f"{len(load.failures)} calls failed, among them {load.failures[:3]}")
    expect(load.served > 4 * CALLERS, f"only {load.served} calls were served")
    operator = Operator(gateway.started)
    wait_until(
        f"usage shows {load.served} calls",
        lambda: operator.call("GET", "/usage")["total"]["requests"] == load.served,
    )
    gateway.stop()
    print(f"{load.served} calls were served, none was lost, and each is billed once")
    return 0


def check_records(operator, gateway, keys, load):
    """Everything that any release has written so far is there."""
    names = {key["name"] for key in operator.call("GET", "/keys")["data"]}
    expect(names >= {f"key {number}" for number in range(len(keys))}, f"keys are missing: {names}")
    aliases = {alias["name"] for alias in operator.call("GET", "/aliases")["data"]}
    expect(aliases == {f"name-{number}" for number in range(len(keys))}, f"aliases are wrong: {aliases}")
    for number, key in enumerate(keys):
        chat(gateway.started.url, key, f"name-{number}")
        with load.lock:
            load.served += 1
    expect(operator.call("GET", "/requests?limit=5")["data"], "the request log is empty")
    expect(operator.call("GET", "/costs"), "there are no costs")


def chat(base, key, model="acme/tiny-chat"):
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    with send(f"{base}/v1/chat/completions", "POST", body, {"authorization": f"Bearer {key}"}) as response:
        expect(json.load(response)["usage"]["prompt_tokens"] > 0, "a response has no usage")


def send(url, method, body=None, headers=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"content-type": "application/json"} | (headers or {}), method=method)
    return urllib.request.urlopen(request, timeout=30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def expect(holds, message):
    if not holds:
        raise AssertionError(message)


if __name__ == "__main__":
    sys.exit(main())
