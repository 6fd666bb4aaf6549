"""Replaces the program of one gateway on SQLite under load: the previous release, the current one, back, and again.

Each release finds everything that the others wrote, and every call that a client saw served is billed once."""

import argparse
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

START_TIMEOUT_SECS = 60
STOP_TIMEOUT_SECS = 60
SETTLE_TIMEOUT_SECS = 30
CALLERS = 4
LOAD_SECS = 4

CONFIG = """
[server]
listen = "127.0.0.1:{port}"
ops_listen = "127.0.0.1:0"
drain_timeout = "20s"

[workspace_defaults]
requests_per_minute = 1_000_000
tokens_per_minute = 1_000_000_000

[[models]]
id = "acme/tiny-chat"
context_length = 4096
input_per_1m = "1.00"
output_per_1m = "4.00"
upstreams = [{{ url = "http://{engine}/v1", model = "tiny" }}]
"""


class Gateway:
    """One address and one data folder, served by one release after the other."""

    def __init__(self, folder, engine):
        self.folder = folder
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.config = folder / "forebay.toml"
        self.config.write_text(CONFIG.format(port=self.port, engine=engine))

    def start(self, program):
        log = (self.folder / "forebay.log").open("a")
        command = [program, "serve", "--config", self.config, "--data-dir", self.folder / "data"]
        self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        wait_until("forebay responds", START_TIMEOUT_SECS, self.responds)

    def responds(self):
        if self.process.poll() is not None:
            log = (self.folder / "forebay.log").read_text()[-3000:]
            raise RuntimeError(f"forebay exited with {self.process.returncode}:\n{log}")
        try:
            return urllib.request.urlopen(f"{self.base}/healthz", timeout=5).status == 200
        except OSError:
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=STOP_TIMEOUT_SECS)
        if code != 0:
            raise RuntimeError(f"forebay was stopped and exited with {code}")


class Operator:
    """The administrator of the first start, in the browser."""

    def __init__(self, base, bootstrap):
        self.base, self.workspace = base, bootstrap["workspaceId"]
        credentials = {"email": bootstrap["email"], "password": bootstrap["password"]}
        with send(f"{base}/api/session", "POST", credentials) as response:
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
    parser.add_argument("--current", required=True, type=pathlib.Path)
    parser.add_argument("--fake-engine", required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    engine = subprocess.Popen([arguments.fake_engine], stdout=subprocess.PIPE, text=True)
    gateway = None
    with tempfile.TemporaryDirectory(prefix="forebay-upgrade.") as folder:
        try:
            address = engine.stdout.readline().strip().removeprefix("listening on ")
            gateway = Gateway(pathlib.Path(folder), address)
            return run(gateway, arguments.previous, arguments.current)
        finally:
            for process in [gateway and gateway.process, engine]:
                if process and process.poll() is None:
                    process.kill()
                    process.wait()


def run(gateway, previous, current):
    releases = [("previous", previous), ("current", current), ("previous", previous), ("current", current)]
    gateway.start(previous)
    bootstrap = json.loads((gateway.folder / "data" / "bootstrap.json").read_text())
    load = Load(gateway.base, bootstrap["apiKey"])
    keys = []
    for number, (name, program) in enumerate(releases):
        if number > 0:
            gateway.stop()
            gateway.start(program)
        operator = Operator(gateway.base, bootstrap)
        print(f"The {name} release serves, after {load.served} calls", flush=True)
        keys.append(operator.call("POST", "/keys", {"name": f"key {number}"})["key"])
        operator.call("PUT", f"/aliases/name-{number}", {"model": "acme/tiny-chat"})
        time.sleep(LOAD_SECS)
        check_records(operator, gateway, keys, load)
    load.stop()
    expect(not load.failures, f"{len(load.failures)} calls failed, among them {load.failures[:3]}")
    expect(load.served > 4 * CALLERS, f"only {load.served} calls were served")
    operator = Operator(gateway.base, bootstrap)
    wait_until(
        f"usage shows {load.served} calls",
        SETTLE_TIMEOUT_SECS,
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
        chat(gateway.base, key, f"name-{number}")
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


def wait_until(what, seconds, check):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return
        time.sleep(0.1)
    raise TimeoutError(f"not within {seconds} s: {what}")


def expect(holds, message):
    if not holds:
        raise AssertionError(message)


if __name__ == "__main__":
    sys.exit(main())
