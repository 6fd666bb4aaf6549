"""A gateway before a real engine, as a workspace sees it, and what its responses say."""

import copy
import http.client
import json
import pathlib
import socket
import sys
import time
import urllib.parse

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "clients")]

import testbed  # noqa: E402
from testbed import admin, send  # noqa: E402

testbed.TIMEOUT_SECS = 300

CONTEXT = 2048
MODEL = """
[[models]]
id = "{id}"
context_length = {context}
input_per_1m = "1.00"
cached_input_per_1m = "0.10"
output_per_1m = "2.00"
upstreams = [{{ url = "{url}", model = "{model}", engine = "{engine}" }}]
"""
QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
LONG = [{"role": "user", "content": "The river runs down to the sea, past the old mill. " * 30}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
FORCED = {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}, "temperature": 0}


class Failure(Exception):
    """A check that failed."""


def check(what, holds, seen=""):
    if not holds:
        raise Failure(f"not: {what} ({seen})")
    print(f"    ok: {what}", flush=True)


class Gateway:
    """A gateway with models of these tables, as a workspace sees it."""

    def __init__(self, bed, tables, environment=None, **members):
        self.bed, self.at = bed, bed.gateway(tables, environment=environment or {}, **members)
        self.headers = {"authorization": f"Bearer {self.at.apiKey}"}
        session = send(f"{self.at.url}/api/session", {"email": self.at.email, "password": self.at.password})
        self.console = {"cookie": session.headers["set-cookie"].split(";")[0]}

    def other_workspace(self):
        """The same gateway for another workspace of the organization."""
        workspace = admin(self.at, "workspaces", "create", "--organization", self.at.organizationId, "--name", "other")["id"]
        key = admin(self.at, "keys", "create", "--workspace", workspace, "--name", "other")["key"]
        other = copy.copy(self)
        other.headers = {"authorization": f"Bearer {key}"}
        return other

    def call(self, path, body=None, method=None, **headers):
        return send(f"{self.at.url}{path}", body, self.headers | headers, method)

    def chat(self, model="test/engine", messages=QUESTION, **members):
        body = {"model": model, "messages": messages, "max_tokens": 8} | members
        return self.call("/v1/chat/completions", body)

    def stream(self, **members):
        """The chunks of a stream."""
        response = self.chat(stream=True, **members)
        if response.status != 200:
            raise Failure(f"{response.status} {response.text}")
        events = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
        if events[-1] != "[DONE]":
            raise Failure(f"the stream ended with {events[-1]}")
        return [json.loads(event) for event in events[:-1]]

    def cut(self, after_bytes, path="/v1/chat/completions", **members):
        """Leaves a call after this much of its response. Members that are None are left out."""
        members = {"model": "test/engine", "messages": QUESTION, "max_tokens": 200, "stream": True} | members
        body = json.dumps({name: value for name, value in members.items() if value is not None})
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.at.url).netloc, timeout=60)
        connection.request("POST", path, body, self.headers | {"content-type": "application/json"})
        if after_bytes:
            connection.getresponse().read(after_bytes)
        else:
            time.sleep(0.3)
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()

    def read(self, path):
        return send(f"{self.at.url}{path}", None, self.console).json()

    def usage(self):
        return self.read(f"/api/workspaces/{self.at.workspaceId}/usage")["total"]

    def billed(self):
        """Prompt and completion tokens of all calls, once the last one is on the bill."""
        total = self.usage()
        while True:
            time.sleep(3)
            before, total = total, self.usage()
            if total == before:
                return total["promptTokens"], total["completionTokens"]

    def last_requests(self, count):
        """Of the bill, newest first."""
        self.billed()
        return self.read(f"/api/workspaces/{self.at.workspaceId}/requests?limit={count}")["data"]

    def last_request(self):
        return self.last_requests(1)[0]


def message_of(response):
    return response.json()["choices"][0]["message"] if response.status == 200 else {}


def arguments_of(calls):
    try:
        return [json.loads(call["function"]["arguments"]) for call in calls]
    except (KeyError, TypeError, ValueError):
        return []


def streamed_calls(chunks):
    """The tool calls of a stream, added up by index as clients do."""
    calls = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            for part in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(part["index"], {"function": {"name": "", "arguments": ""}})
                call |= {name: part[name] for name in ("id", "type") if name in part}
                for name in ("name", "arguments"):
                    call["function"][name] += part.get("function", {}).get(name, "")
    return list(calls.values())


def cached_of(response):
    return (response.json()["usage"].get("prompt_tokens_details") or {}).get("cached_tokens") or 0
