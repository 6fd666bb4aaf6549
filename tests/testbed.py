"""What tests in Python share: gateways and engines, which the program testbed starts and ends with this process."""

import json
import os
import pathlib
import subprocess
import threading
import time
import types
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "debug"
FOREBAY = PROGRAMS / "forebay"
# Whether the long variants of tests run: `make test-slow`.
SLOW = os.environ.get("FOREBAY_TEST_SLOW") == "1"
TIMEOUT_SECS = 30
SHOWN_LOG = 5000


class Testbed:
    """Starts and stops gateways and engines; see crates/testbed."""

    def __init__(self):
        pipe = subprocess.PIPE
        self.lock = threading.Lock()
        self.process = subprocess.Popen([PROGRAMS / "testbed"], stdin=pipe, stdout=pipe, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def request(self, kind, **members):
        with self.lock:
            print(json.dumps({kind: members}), file=self.process.stdin, flush=True)
            response = json.loads(self.process.stdout.readline() or '{"error": "testbed has ended"}')
        if "error" in response:
            raise RuntimeError(response["error"])
        return response

    def engine(self):
        """The URL of a new scripted engine."""
        return self.request("engine")["url"]

    def gateway(self, tables="", **members):
        """A new gateway: url, ops, config, dataDir, log, and the credentials of its first start."""
        return types.SimpleNamespace(**self.request("gateway", tables=tables, **members))

    def stop(self, gateway, signal="TERM"):
        """The exit code."""
        return self.request("stop", id=gateway.id, signal=signal)["exitCode"]


class Response:
    """A response that was read, whatever its status."""

    def __init__(self, response):
        with response:
            self.status, self.headers, self.text = response.status, response.headers, response.read().decode()

    def json(self):
        return json.loads(self.text)


def send(url, body=None, headers=None, method=None, open_url=urllib.request.urlopen):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"} | (headers or {})
    try:
        return Response(open_url(urllib.request.Request(url, data, headers, method=method), timeout=TIMEOUT_SECS))
    except urllib.error.HTTPError as error:
        return Response(error)


def admin(gateway, *arguments):
    """The record that `forebay admin` prints."""
    command = [FOREBAY, "admin", *arguments, "--json", "--config", gateway.config, "--data-dir", gateway.dataDir]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def wait_until(what, check, seconds=TIMEOUT_SECS):
    deadline = time.monotonic() + seconds
    while not (found := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)
    return found


def log_of(gateway):
    """The end of its log, to be shown if a test fails."""
    return pathlib.Path(gateway.log).read_text()[-SHOWN_LOG:]
