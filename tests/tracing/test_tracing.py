"""Tests traces of a real forebay with a receiver that decodes them with OpenTelemetry's protobuf messages.

FOREBAY and FAKE_ENGINE name the binaries. Run by scripts/test-tracing.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))

import echo_engine  # noqa: E402
from receiver import Receiver  # noqa: E402
from run import read_json, stop, wait_for  # noqa: E402

TIMEOUT_SECS = 30
SERVER, CLIENT = 2, 3
PARENT_TRACE, PARENT_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{PARENT_TRACE}-{PARENT_SPAN}-01"

CONFIG = """
[server]
listen = "127.0.0.1:0"
ops_listen = "127.0.0.1:0"
drain_timeout = "1s"

[telemetry]
{telemetry}

[[models]]
id = "acme/tiny"
upstreams = [{{ url = "http://{engine}/v1", model = "tiny-q4" }}]

[[models]]
id = "acme/embed"
modality = "embedding"
upstreams = [{{ url = "http://{engine}/v1", model = "embed-small" }}]

[[models]]
id = "acme/echo"
upstreams = [{{ url = "http://{echo}/v1" }}]

[[models]]
id = "acme/two"
upstreams = [{{ url = "http://{engine}/v1", model = "tiny-q4" }}, {{ url = "http://{engine}/v1", model = "tiny-q8" }}]
"""


class Gateway:
    """A forebay with a scripted engine, an echo engine, and the given `[telemetry]` settings."""

    def __init__(self, telemetry, environment=None):
        self.stack = contextlib.ExitStack()
        try:
            self.start(telemetry, environment)
        except BaseException:
            self.close()
            raise

    def start(self, telemetry, environment):
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="forebay-tracing.")))
        engine = subprocess.Popen([os.environ["FAKE_ENGINE"]], stdout=subprocess.PIPE, text=True)
        self.stack.callback(stop, engine)
        self.stack.callback(engine.stdout.close)
        self.engine = engine.stdout.readline().strip().removeprefix("listening on ")
        echo = echo_engine.start()
        self.stack.callback(echo.server_close)
        self.stack.callback(echo.shutdown)
        host, port = echo.server_address
        config = self.folder / "forebay.toml"
        config.write_text(CONFIG.format(telemetry=telemetry, engine=self.engine, echo=f"{host}:{port}"))
        command = [os.environ["FOREBAY"], "serve", "--config", str(config), "--data-dir", str(self.folder / "data")]
        self.log = self.folder / "forebay.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | (environment or {})
            )
        self.stack.callback(stop, self.process)
        listen = wait_for(self.process, "forebay to listen", lambda: read_json(self.folder / "data" / "listen.json"))
        bootstrap = wait_for(self.process, "a key", lambda: read_json(self.folder / "data" / "bootstrap.json"))
        self.public, self.ops, self.bootstrap = listen["public"], listen["ops"], bootstrap

    def call(self, path, body, headers=None, key=None):
        """Status, text and headers of a response."""
        request = urllib.request.Request(f"http://{self.public}/v1{path}", json.dumps(body).encode())
        request.add_header("content-type", "application/json")
        request.add_header("authorization", f"Bearer {key or self.bootstrap['apiKey']}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            response = urllib.request.urlopen(request, timeout=TIMEOUT_SECS)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            return response.status, response.read().decode(), response.headers

    def chat(self, model="acme/tiny", headers=None, **members):
        body = {"model": model, "messages": [{"role": "user", "content": "a private question"}]} | members
        return self.call("/chat/completions", body, headers)

    def echoed_headers(self, headers):
        _, text, _ = self.chat("acme/echo", headers)
        return json.loads(json.loads(text)["choices"][0]["message"]["content"])["headers"]

    def metric(self, line_start):
        with urllib.request.urlopen(f"http://{self.ops}/metrics", timeout=TIMEOUT_SECS) as response:
            lines = response.read().decode().splitlines()
        found = [line for line in lines if line.startswith(line_start)]
        return int(found[0].split()[-1]) if found else None

    def close(self):
        self.stack.close()


def wait_until(what, check):
    deadline = time.monotonic() + TIMEOUT_SECS
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {TIMEOUT_SECS} s for {what}")


class TracingTest(unittest.TestCase):
    maxDiff = None

    def gateway(self, telemetry, environment=None):
        gateway = Gateway(telemetry, environment)
        self.addCleanup(gateway.close)
        return gateway

    def spans(self, receiver, count):
        """Exactly `count` spans, sorted so that the call's span is first."""
        found = wait_until(f"{count} spans", lambda: receiver.received() if len(receiver.received()) >= count else None)
        self.assertEqual(len(found), count, [span["name"] for span in found])
        return sorted(found, key=lambda span: (span["kind"], span["start"]))


class Traced(TracingTest):
    def setUp(self):
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)

    def traced(self, more="", environment=None):
        return self.gateway(f'otlp_endpoint = "{self.receiver.url}"\n{more}', environment)

    def test_a_chat_is_exported_according_to_the_conventions(self):
        gateway = self.traced(
            'otlp_headers_env = "OTLP_HEADERS"', {"OTLP_HEADERS": "authorization=Bearer%20s3cret,x-scope=acme"}
        )
        status, text, headers = gateway.chat(
            temperature=0.5, top_p=0.9, max_completion_tokens=7, seed=3, stop=["END"], n=1, user="someone",
            response_format={"type": "text"},
        )
        self.assertEqual(status, 200, text)
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual((call["name"], call["kind"], call["parent"]), ("chat acme/tiny", SERVER, ""))
        self.assertEqual(call["schema"], "https://opentelemetry.io/schemas/1.41.0")
        self.assertEqual(call["resource"]["service.name"], "forebay")
        self.assertTrue(call["resource"]["service.instance.id"].startswith("node_"))
        self.assertEqual(
            call["attributes"],
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "forebay",
                "gen_ai.request.model": "acme/tiny",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.request.top_p": 0.9,
                "gen_ai.request.max_tokens": 7,
                "gen_ai.request.seed": 3,
                "gen_ai.request.stop_sequences": ["END"],
                "gen_ai.output.type": "text",
                "gen_ai.response.id": json.loads(text)["id"],
                "gen_ai.response.model": "acme/tiny",
                "gen_ai.response.finish_reasons": ["stop"],
                "gen_ai.usage.input_tokens": json.loads(text)["usage"]["prompt_tokens"],
                "gen_ai.usage.output_tokens": json.loads(text)["usage"]["completion_tokens"],
                "forebay.usage.certainty": "exact",
                "forebay.request.id": headers["x-request-id"],
                "forebay.workspace.id": gateway.bootstrap["workspaceId"],
                "http.request.method": "POST",
                "http.route": "/v1/chat/completions",
                "http.response.status_code": 200,
            },
        )
        self.assertFalse(call["error"])
        host, port = gateway.engine.split(":")
        self.assertEqual((attempt["name"], attempt["kind"]), ("chat tiny-q4", CLIENT))
        self.assertEqual((attempt["trace"], attempt["parent"]), (call["trace"], call["id"]))
        self.assertNotEqual(attempt["id"], call["id"])
        self.assertTrue(call["start"] <= attempt["start"] <= attempt["end"] <= call["end"])
        self.assertLess(abs(call["end"] / 1e9 - time.time()), 600, "the timestamp is current")
        self.assertEqual(
            attempt["attributes"],
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "forebay",
                "gen_ai.request.model": "tiny-q4",
                "server.address": host,
                "server.port": int(port),
                "forebay.replica.name": "acme/tiny#1",
            },
        )
        request = self.receiver.requests[0]
        sent = {name.lower(): value for name, value in request["headers"].items()}
        self.assertEqual(request["path"], "/v1/traces")
        self.assertEqual(
            (sent["content-type"], sent["authorization"], sent["x-scope"]),
            ("application/x-protobuf", "Bearer s3cret", "acme"),
        )

    def test_streams_and_embeddings_are_exported(self):
        gateway = self.traced()
        status, _, _ = gateway.chat(stream=True, fake={"chunks": 5, "text": "word"})
        self.assertEqual(status, 200)
        call, _ = self.spans(self.receiver, 2)
        attributes = call["attributes"]
        self.assertIs(attributes["gen_ai.request.stream"], True)
        self.assertEqual(attributes["gen_ai.usage.output_tokens"], 5)
        self.assertEqual(attributes["gen_ai.response.finish_reasons"], ["stop"])
        self.assertGreater(attributes["gen_ai.response.time_to_first_chunk"], 0)
        self.receiver.clear()
        body = {"model": "acme/embed", "input": "a private text", "encoding_format": "base64", "dimensions": 4}
        status, text, _ = gateway.call("/embeddings", body)
        self.assertEqual(status, 200, text)
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual((call["name"], attempt["name"]), ("embeddings acme/embed", "embeddings embed-small"))
        attributes = call["attributes"]
        self.assertEqual(attributes["gen_ai.operation.name"], "embeddings")
        self.assertEqual(attributes["gen_ai.request.encoding_formats"], ["base64"])
        self.assertEqual(attributes["gen_ai.embeddings.dimension.count"], 4)
        self.assertEqual(attributes["http.route"], "/v1/embeddings")

    def test_prompts_and_responses_are_not_exported_by_default(self):
        gateway = self.traced()
        gateway.chat(fake={"text": "a private answer"}, tools=[{"type": "function", "function": {"name": "private_tool"}}])
        gateway.chat(stream=True, fake={"text": "a private answer"})
        gateway.chat(fake={"status": 400, "error_message": "a private question is not accepted"})
        self.spans(self.receiver, 6)
        exported = b"".join(request["bytes"] for request in self.receiver.requests)
        self.assertNotIn(b"private", exported)
        self.assertNotIn(gateway.bootstrap["apiKey"].encode(), exported)
        self.assertNotIn(b"gen_ai.input.messages", exported)

    def test_content_is_exported_if_enabled(self):
        gateway = self.traced("record_content = true")
        gateway.chat(fake={"text": "a private answer"}, tools=[{"type": "function", "function": {"name": "look"}}])
        call, _ = self.spans(self.receiver, 2)
        attributes = call["attributes"]
        question = [{"role": "user", "parts": [{"type": "text", "content": "a private question"}]}]
        self.assertEqual(json.loads(attributes["gen_ai.input.messages"]), question)
        self.assertEqual(json.loads(attributes["gen_ai.tool.definitions"])[0]["function"]["name"], "look")
        output = json.loads(attributes["gen_ai.output.messages"])
        self.assertEqual([part["type"] for part in output[0]["parts"]], ["text"])
        self.assertIn("a private answer", output[0]["parts"][0]["content"])
        self.receiver.clear()
        gateway.chat(stream=True, fake={"chunks": 3, "text": "word "})
        call, _ = self.spans(self.receiver, 2)
        output = json.loads(call["attributes"]["gen_ai.output.messages"])
        parts = [{"type": "text", "content": "word word word "}]
        self.assertEqual(output, [{"role": "assistant", "parts": parts, "finish_reason": "stop"}])

    def test_a_caller_trace_is_continued_to_the_model_server(self):
        gateway = self.traced()
        seen = gateway.echoed_headers({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual((call["trace"], call["parent"]), (PARENT_TRACE, PARENT_SPAN))
        self.assertEqual((call["tracestate"], call["flags"] & 0x300), ("vendor=1", 0x300))
        self.assertEqual(seen["traceparent"], f"00-{PARENT_TRACE}-{attempt['id']}-01")
        self.assertEqual(seen["tracestate"], "vendor=1")
        self.receiver.clear()
        seen = gateway.echoed_headers({"traceparent": "garbage", "tracestate": "vendor=1"})
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual(call["parent"], "")
        self.assertEqual(seen["traceparent"], f"00-{call['trace']}-{attempt['id']}-01")
        self.assertNotIn("tracestate", seen, "an invalid trace is not continued")

    def test_sampling_follows_the_caller_or_the_ratio(self):
        gateway = self.traced("sample_ratio = 0")
        unsampled = TRACEPARENT.replace("-01", "-00")
        self.assertEqual(gateway.echoed_headers({"traceparent": unsampled})["traceparent"], unsampled)
        self.assertNotIn("traceparent", gateway.echoed_headers({}))
        self.assertNotEqual(gateway.echoed_headers({"traceparent": TRACEPARENT})["traceparent"], TRACEPARENT)
        self.spans(self.receiver, 2)
        self.receiver.clear()
        never_sampled = self.traced("sample_ratio = 0\nfollow_parent = false")
        self.assertEqual(never_sampled.echoed_headers({"traceparent": TRACEPARENT})["traceparent"], TRACEPARENT)
        always_sampled = self.traced("sample_ratio = 1\nfollow_parent = false")
        self.assertNotEqual(always_sampled.echoed_headers({"traceparent": unsampled})["traceparent"], unsampled)
        self.spans(self.receiver, 2)

    def test_server_errors_are_distinguished_from_client_errors(self):
        gateway = self.traced()
        for body, code, is_error, attempts in [
            ({"temperature": 99}, "invalid_value", False, 0),
            ({"model": "acme/none"}, "model_not_found", False, 0),
            ({"fake": {"status": 500}}, "bad_gateway", True, 1),
            ({"stream": True, "fake": {"chunks": 5, "cut_after": 2}}, "bad_gateway", True, 1),
        ]:
            with self.subTest(body=body):
                self.receiver.clear()
                gateway.chat(**body)
                call, *others = self.spans(self.receiver, 1 + attempts)
                self.assertEqual((call["attributes"]["error.type"], call["error"]), (code, is_error))
                self.assertEqual([other["attributes"]["error.type"] for other in others], [code] * attempts)
        self.receiver.clear()
        gateway.call("/chat/completions", {}, key="sk-unknown")
        gateway.chat()
        call, _ = self.spans(self.receiver, 2)
        self.assertEqual(call["attributes"]["http.response.status_code"], 200, "an unauthenticated call creates no spans")

    def test_every_attempt_has_a_span(self):
        gateway = self.traced()
        status, _, _ = gateway.chat("acme/two", fake={"status": 500})
        self.assertEqual(status, 502)
        call, first, second = self.spans(self.receiver, 3)
        self.assertEqual({first["parent"], second["parent"]}, {call["id"]})
        self.assertEqual(len({call["id"], first["id"], second["id"]}), 3)
        self.assertLessEqual(first["end"], second["start"])
        tried = [span["attributes"] for span in (first, second)]
        self.assertEqual({span["forebay.replica.name"] for span in tried}, {"acme/two#1", "acme/two#2"})
        self.assertEqual([span["error.type"] for span in tried], ["bad_gateway"] * 2)

    def test_exports_are_retried_if_the_receiver_is_busy_but_not_if_it_rejects(self):
        gateway = self.traced()
        self.receiver.respond_next_with(503, 429)
        gateway.chat()
        self.spans(self.receiver, 2)
        self.assertEqual(len(self.receiver.requests), 3)
        wait_until("the count", lambda: gateway.metric("forebay_trace_spans_exported_total") == 2)
        self.receiver.respond_next_with(400)
        gateway.chat()
        wait_until("the count", lambda: gateway.metric('forebay_trace_spans_dropped_total{reason="refused"}') == 2)
        self.assertEqual(len(self.receiver.requests), 4)

    def test_queued_spans_are_exported_before_shutdown(self):
        gateway = self.traced()
        gateway.chat()
        stop(gateway.process)
        self.assertEqual(gateway.process.returncode, 0)
        self.assertEqual(len(self.receiver.received()), 2)


class Untraced(TracingTest):
    def test_without_a_receiver_headers_pass_unchanged_and_nothing_is_exported(self):
        gateway = self.gateway("")
        seen = gateway.echoed_headers({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
        self.assertEqual((seen["traceparent"], seen["tracestate"]), (TRACEPARENT, "vendor=1"))
        self.assertEqual(gateway.echoed_headers({"traceparent": "garbage"})["traceparent"], "garbage")
        self.assertNotIn("traceparent", gateway.echoed_headers({}))
        self.assertEqual(gateway.metric("forebay_trace_spans_exported_total"), 0)

    def test_an_unreachable_receiver_does_not_delay_calls(self):
        gateway = self.gateway('otlp_endpoint = "http://127.0.0.1:9"')
        for _ in range(20):
            self.assertEqual(gateway.chat()[0], 200)
        unreachable = 'forebay_trace_spans_dropped_total{reason="unreachable"}'
        wait_until("dropped spans", lambda: gateway.metric(unreachable))
        self.assertEqual(gateway.log.read_text().count("traces are dropped"), 1)
        self.assertEqual(gateway.chat()[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
