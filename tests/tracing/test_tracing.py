"""Tests traces of a real forebay with a receiver that decodes them with OpenTelemetry's protobuf messages.

Tests that need the same settings share a gateway. Run by scripts/test-tracing.
"""

import json
import pathlib
import sys
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "clients")]

import echo_engine  # noqa: E402
from receiver import Receiver  # noqa: E402
from testbed import Testbed, send, wait_until  # noqa: E402

SERVER, CLIENT = 2, 3
PARENT_TRACE, PARENT_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{PARENT_TRACE}-{PARENT_SPAN}-01"

CONFIG = """
[telemetry]
{telemetry}

[[models]]
id = "acme/tiny"
upstreams = [{{ url = "{engine}/v1", model = "tiny-q4" }}]

[[models]]
id = "acme/embed"
modality = "embedding"
upstreams = [{{ url = "{engine}/v1", model = "embed-small" }}]

[[models]]
id = "acme/echo"
upstreams = [{{ url = "{echo}/v1" }}]

[[models]]
id = "acme/two"
upstreams = [{{ url = "{engine}/v1", model = "tiny-q4" }}, {{ url = "{engine}/v1", model = "tiny-q8" }}]
"""


HEADERS = {"OTLP_HEADERS": "authorization=Bearer%20s3cret,x-scope=acme"}


def setUpModule():
    global receiver, start
    receiver = Receiver()
    unittest.addModuleCleanup(receiver.close)
    echo = echo_engine.start()
    unittest.addModuleCleanup(echo.server_close)
    unittest.addModuleCleanup(echo.shutdown)
    testbed = unittest.enterModuleContext(Testbed())
    engine, (host, port) = testbed.engine(), echo.server_address

    def start(telemetry):
        tables = CONFIG.format(telemetry=telemetry, engine=engine, echo=f"http://{host}:{port}")
        return Gateway(testbed, engine, testbed.gateway(tables, environment=HEADERS))


class Gateway:
    """A forebay with a scripted engine and an echo engine."""

    shared = {}  # by settings

    def __init__(self, testbed, engine, started):
        self.testbed, self.engine, self.started = testbed, engine, started

    def call(self, path, body, headers=None, key=None):
        authorization = {"authorization": f"Bearer {key or self.started.apiKey}"}
        return send(f"{self.started.url}/v1{path}", body, authorization | (headers or {}))

    def chat(self, model="acme/tiny", headers=None, **members):
        body = {"model": model, "messages": [{"role": "user", "content": "a private question"}]} | members
        return self.call("/chat/completions", body, headers)

    def echoed_headers(self, headers):
        content = self.chat("acme/echo", headers).json()["choices"][0]["message"]["content"]
        return json.loads(content)["headers"]

    def metric(self, line_start):
        lines = send(f"{self.started.ops}/metrics").text.splitlines()
        return sum(int(line.split()[-1]) for line in lines if line.startswith(line_start))

    def stop(self):
        """The exit code."""
        return self.testbed.stop(self.started)


class TracingTest(unittest.TestCase):
    maxDiff = None

    def gateway(self, telemetry):
        """A gateway that tests share."""
        if telemetry not in Gateway.shared:
            Gateway.shared[telemetry] = start(telemetry)
        return Gateway.shared[telemetry]

    def spans(self, count):
        """Exactly `count` spans, sorted so that the call's span is first."""
        found = wait_until(f"{count} spans", lambda: receiver.received() if len(receiver.received()) >= count else None)
        self.assertEqual(len(found), count, [span["name"] for span in found])
        return sorted(found, key=lambda span: (span["kind"], span["start"]))


class Traced(TracingTest):
    def setUp(self):
        receiver.clear()

    def settings(self, more=""):
        return f'otlp_endpoint = "{receiver.url}"\notlp_headers_env = "OTLP_HEADERS"\n{more}'

    def traced(self, more=""):
        return self.gateway(self.settings(more))

    def test_a_chat_is_exported_according_to_the_conventions(self):
        gateway = self.traced()
        response = gateway.chat(
            temperature=0.5, top_p=0.9, max_completion_tokens=7, seed=3, stop=["END"], n=1, user="someone",
            response_format={"type": "text"},
        )
        self.assertEqual(response.status, 200, response.text)
        text = response.json()
        call, attempt = self.spans(2)
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
                "gen_ai.response.id": text["id"],
                "gen_ai.response.model": "acme/tiny",
                "gen_ai.response.finish_reasons": ["stop"],
                "gen_ai.usage.input_tokens": text["usage"]["prompt_tokens"],
                "gen_ai.usage.output_tokens": text["usage"]["completion_tokens"],
                "forebay.usage.certainty": "exact",
                "forebay.request.id": response.headers["x-request-id"],
                "forebay.workspace.id": gateway.started.workspaceId,
                "http.request.method": "POST",
                "http.route": "/v1/chat/completions",
                "http.response.status_code": 200,
            },
        )
        self.assertFalse(call["error"])
        host, port = gateway.engine.removeprefix("http://").split(":")
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
        request = receiver.requests[0]
        sent = {name.lower(): value for name, value in request["headers"].items()}
        self.assertEqual(request["path"], "/v1/traces")
        self.assertEqual(
            (sent["content-type"], sent["authorization"], sent["x-scope"]),
            ("application/x-protobuf", "Bearer s3cret", "acme"),
        )

    def test_streams_and_embeddings_are_exported(self):
        gateway = self.traced()
        self.assertEqual(gateway.chat(stream=True, fake={"chunks": 5, "text": "word"}).status, 200)
        call, _ = self.spans(2)
        attributes = call["attributes"]
        self.assertIs(attributes["gen_ai.request.stream"], True)
        self.assertEqual(attributes["gen_ai.usage.output_tokens"], 5)
        self.assertEqual(attributes["gen_ai.response.finish_reasons"], ["stop"])
        self.assertGreater(attributes["gen_ai.response.time_to_first_chunk"], 0)
        receiver.clear()
        body = {"model": "acme/embed", "input": "a private text", "encoding_format": "base64", "dimensions": 4}
        self.assertEqual(gateway.call("/embeddings", body).status, 200)
        call, attempt = self.spans(2)
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
        self.spans(6)
        exported = b"".join(request["bytes"] for request in receiver.requests)
        self.assertNotIn(b"private", exported)
        self.assertNotIn(gateway.started.apiKey.encode(), exported)
        self.assertNotIn(b"gen_ai.input.messages", exported)

    def test_content_is_exported_if_enabled(self):
        gateway = self.traced("record_content = true")
        gateway.chat(fake={"text": "a private answer"}, tools=[{"type": "function", "function": {"name": "look"}}])
        call, _ = self.spans(2)
        attributes = call["attributes"]
        question = [{"role": "user", "parts": [{"type": "text", "content": "a private question"}]}]
        self.assertEqual(json.loads(attributes["gen_ai.input.messages"]), question)
        self.assertEqual(json.loads(attributes["gen_ai.tool.definitions"])[0]["function"]["name"], "look")
        output = json.loads(attributes["gen_ai.output.messages"])
        self.assertEqual([part["type"] for part in output[0]["parts"]], ["text"])
        self.assertIn("a private answer", output[0]["parts"][0]["content"])
        receiver.clear()
        gateway.chat(stream=True, fake={"chunks": 3, "text": "word "})
        call, _ = self.spans(2)
        output = json.loads(call["attributes"]["gen_ai.output.messages"])
        parts = [{"type": "text", "content": "word word word "}]
        self.assertEqual(output, [{"role": "assistant", "parts": parts, "finish_reason": "stop"}])

    def test_a_caller_trace_is_continued_to_the_model_server(self):
        gateway = self.traced()
        seen = gateway.echoed_headers({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
        call, attempt = self.spans(2)
        self.assertEqual((call["trace"], call["parent"]), (PARENT_TRACE, PARENT_SPAN))
        self.assertEqual((call["tracestate"], call["flags"] & 0x300), ("vendor=1", 0x300))
        self.assertEqual(seen["traceparent"], f"00-{PARENT_TRACE}-{attempt['id']}-01")
        self.assertEqual(seen["tracestate"], "vendor=1")
        receiver.clear()
        seen = gateway.echoed_headers({"traceparent": "garbage", "tracestate": "vendor=1"})
        call, attempt = self.spans(2)
        self.assertEqual(call["parent"], "")
        self.assertEqual(seen["traceparent"], f"00-{call['trace']}-{attempt['id']}-01")
        self.assertNotIn("tracestate", seen, "an invalid trace is not continued")

    def test_sampling_follows_the_caller_or_the_ratio(self):
        gateway = self.traced("sample_ratio = 0")
        unsampled = TRACEPARENT.replace("-01", "-00")
        self.assertEqual(gateway.echoed_headers({"traceparent": unsampled})["traceparent"], unsampled)
        self.assertNotIn("traceparent", gateway.echoed_headers({}))
        self.assertNotEqual(gateway.echoed_headers({"traceparent": TRACEPARENT})["traceparent"], TRACEPARENT)
        self.spans(2)
        receiver.clear()
        never_sampled = self.traced("sample_ratio = 0\nfollow_parent = false")
        self.assertEqual(never_sampled.echoed_headers({"traceparent": TRACEPARENT})["traceparent"], TRACEPARENT)
        always_sampled = self.traced("sample_ratio = 1\nfollow_parent = false")
        self.assertNotEqual(always_sampled.echoed_headers({"traceparent": unsampled})["traceparent"], unsampled)
        self.spans(2)

    def test_server_errors_are_distinguished_from_client_errors(self):
        gateway = self.traced()
        for body, code, is_error, attempts in [
            ({"temperature": 99}, "invalid_value", False, 0),
            ({"model": "acme/none"}, "model_not_found", False, 0),
            ({"fake": {"status": 500}}, "bad_gateway", True, 1),
            ({"stream": True, "fake": {"chunks": 5, "cut_after": 2}}, "bad_gateway", True, 1),
        ]:
            with self.subTest(body=body):
                receiver.clear()
                gateway.chat(**body)
                call, *others = self.spans(1 + attempts)
                self.assertEqual((call["attributes"]["error.type"], call["error"]), (code, is_error))
                self.assertEqual([other["attributes"]["error.type"] for other in others], [code] * attempts)
        receiver.clear()
        gateway.call("/chat/completions", {}, key="sk-unknown")
        gateway.chat()
        call, _ = self.spans(2)
        self.assertEqual(call["attributes"]["http.response.status_code"], 200, "an unauthenticated call creates no spans")

    def test_every_attempt_has_a_span(self):
        gateway = self.traced()
        self.assertEqual(gateway.chat("acme/two", fake={"status": 500}).status, 502)
        call, first, second = self.spans(3)
        self.assertEqual({first["parent"], second["parent"]}, {call["id"]})
        self.assertEqual(len({call["id"], first["id"], second["id"]}), 3)
        self.assertLessEqual(first["end"], second["start"])
        tried = [span["attributes"] for span in (first, second)]
        self.assertEqual({span["forebay.replica.name"] for span in tried}, {"acme/two#1", "acme/two#2"})
        self.assertEqual([span["error.type"] for span in tried], ["bad_gateway"] * 2)

    def test_exports_are_retried_if_the_receiver_is_busy_but_not_if_it_rejects(self):
        gateway = self.traced()
        exported = gateway.metric("forebay_trace_spans_exported_total")
        receiver.respond_next_with(503, 429)
        gateway.chat()
        self.spans(2)
        self.assertEqual(len(receiver.requests), 3)
        wait_until("the count", lambda: gateway.metric("forebay_trace_spans_exported_total") == exported + 2)
        receiver.respond_next_with(400)
        gateway.chat()
        wait_until("the count", lambda: gateway.metric('forebay_trace_spans_dropped_total{reason="refused"}') == 2)
        self.assertEqual(len(receiver.requests), 4)

    def test_queued_spans_are_exported_before_shutdown(self):
        gateway = start(self.settings())
        gateway.chat()
        self.assertEqual(gateway.stop(), 0)
        self.assertEqual(len(receiver.received()), 2)


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
            self.assertEqual(gateway.chat().status, 200)
        unreachable = 'forebay_trace_spans_dropped_total{reason="unreachable"}'
        wait_until("dropped spans", lambda: gateway.metric(unreachable))
        self.assertEqual(pathlib.Path(gateway.started.log).read_text().count("traces are dropped"), 1)
        self.assertEqual(gateway.chat().status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
