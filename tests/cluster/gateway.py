"""Forebay as its clients see it: calls through the Service of the gateways, and traffic that notes every failure."""

import http.client
import json
import threading

from cluster import eventually

MODEL = "local/small"
SLOW_MODEL = "test/slow"
CALL_TIMEOUT_SECONDS = 300


class Gateway:
    def __init__(self, address, port, key):
        self.address, self.port, self.key = address, port, key

    def send(self, method, path, body=None):
        """One call on a connection of its own. Returns the open response."""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=CALL_TIMEOUT_SECONDS)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", "Connection": "close"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def call(self, method, path, body=None):
        """Returns the JSON of a call that must succeed."""
        response = self.send(method, path, body)
        text = response.read().decode()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text}")
        return json.loads(text) if text else None

    def chat(self, model, **more):
        messages = [{"role": "user", "content": "Say hello."}]
        return self.call("POST", "/v1/chat/completions", {"model": model, "max_tokens": 8, "messages": messages, **more})

    def slow_stream(self, chunks=100, delay_ms=200):
        """Reads a stream of twenty seconds; fails if a chunk or the end is missing."""
        script = {"chunks": chunks, "chunk_delay_ms": delay_ms, "limit_ignored": True}
        messages = [{"role": "user", "content": "Count."}]
        body = {"model": SLOW_MODEL, "stream": True, "messages": messages, "fake": script}
        response = self.send("POST", "/v1/chat/completions", body)
        if response.status != 200:
            raise RuntimeError(f"stream: {response.status} {response.read().decode()}")
        events = [line.decode().strip().removeprefix("data: ") for line in response if line.strip()]
        received = sum(1 for event in events if '"content":"Hello' in event)
        if received != chunks or events[-1] != "[DONE]":
            raise RuntimeError(f"the stream was cut after {received} of {chunks} chunks: {events[-1:]}")

    # ---- endpoints

    def create_endpoint(self, name, flavor, replicas):
        body = {"name": name, "model": MODEL, "flavor": flavor, "replicas": replicas}
        self.call("POST", "/v1/endpoints", body)

    def endpoint(self, name):
        return self.call("GET", f"/v1/endpoints/{name}")

    def events(self, name, kind):
        return self.call("GET", f"/v1/endpoints/{name}/events?type={kind}")["data"]

    def is_serving(self, name, replicas):
        seen = self.endpoint(name)
        if seen["state"] == "serving" and seen["status"]["ready"] == replicas == seen["status"]["desired"]:
            return True
        raise ValueError({member: seen[member] for member in ("state", "stateReason", "stateMessage", "status")})

    def await_serving(self, name, replicas):
        eventually(f"{name} serves with {replicas} replicas", lambda: self.is_serving(name, replicas))

    def delete_endpoint(self, name):
        self.call("DELETE", f"/v1/endpoints/{name}")


class Traffic:
    """Repeats a call from several threads until the end of the block, and notes what fails."""

    def __init__(self, call, threads=2):
        self.call = call
        self.passed, self.failures = 0, []
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._repeat) for _ in range(threads)]

    def _repeat(self):
        while not self._stop.is_set():
            failure = None
            try:
                self.call()
            except (RuntimeError, OSError, ValueError, http.client.HTTPException) as error:
                failure = repr(error)
            with self._lock:
                if failure is None:
                    self.passed += 1
                else:
                    self.failures.append(failure)
            self._stop.wait(0.1)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def await_calls(self, number):
        """Waits until this many more calls have succeeded."""
        goal = self.passed + number
        eventually(f"{goal} calls succeeded", lambda: self.passed >= goal or self.failures)
