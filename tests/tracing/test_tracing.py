"""Traces of a real forebay, told to a receiver that decodes them with OpenTelemetry's own protobuf messages.

FOREBAY and FAKE_ENGINE name the binaries. Run by scripts/test-tracing.
"""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))

import echo_engine  # noqa: E402
from receiver import Receiver  # noqa: E402
from run import read_json, stop, wait_for  # noqa: E402

PATIENCE_SECS = 30
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
id = "acme/half"
upstreams = [{{ url = "http://{breaking}/v1" }}, {{ url = "http://{engine}/v1", model = "tiny-q4" }}]
"""


class Breaking(http.server.BaseHTTPRequestHandler):
    """A model server that says it is well, and hangs up on whoever asks it something."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        self.close_connection = True

    def log_message(self, *_):
        pass


class Gateway:
    """A forebay with a scripted engine, an echoing one, and whatever `[telemetry]` says."""

    def __init__(self, telemetry, environment=None):
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="forebay-tracing.")))
        engine = subprocess.Popen([os.environ["FAKE_ENGINE"]], stdout=subprocess.PIPE, text=True)
        self.stack.callback(stop, engine)
        self.stack.callback(engine.stdout.close)
        self.engine = engine.stdout.readline().strip().removeprefix("listening on ")
        host, port = echo_engine.start().server_address
        config = self.folder / "forebay.toml"
        breaking = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Breaking)
        threading.Thread(target=breaking.serve_forever, daemon=True).start()
        self.stack.callback(breaking.server_close)
        self.stack.callback(breaking.shutdown)
        names = {"echo": f"{host}:{port}", "breaking": "{}:{}".format(*breaking.server_address)}
        config.write_text(CONFIG.format(telemetry=telemetry, engine=self.engine, **names))
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
        """Status and text of an answer, and its headers."""
        request = urllib.request.Request(f"http://{self.public}/v1{path}", json.dumps(body).encode())
        request.add_header("content-type", "application/json")
        request.add_header("authorization", f"Bearer {key or self.bootstrap['apiKey']}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            answer = urllib.request.urlopen(request, timeout=PATIENCE_SECS)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.read().decode(), answer.headers

    def chat(self, model="acme/tiny", headers=None, **members):
        body = {"model": model, "messages": [{"role": "user", "content": "a private question"}]} | members
        return self.call("/chat/completions", body, headers)

    def echoed_headers(self, headers):
        _, text, _ = self.chat("acme/echo", headers)
        return json.loads(json.loads(text)["choices"][0]["message"]["content"])["headers"]

    def metric(self, line_start):
        with urllib.request.urlopen(f"http://{self.ops}/metrics", timeout=PATIENCE_SECS) as answer:
            lines = answer.read().decode().splitlines()
        found = [line for line in lines if line.startswith(line_start)]
        return int(found[0].split()[-1]) if found else None

    def close(self):
        self.stack.close()


def wait_until(what, look):
    deadline = time.monotonic() + PATIENCE_SECS
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_SECS} s for {what}")


class Story(unittest.TestCase):
    maxDiff = None

    def gateway(self, telemetry, environment=None):
        gateway = Gateway(telemetry, environment)
        self.addCleanup(gateway.close)
        return gateway

    def spans(self, receiver, count):
        """So many spans, the call's own first, and no more."""
        found = wait_until(f"{count} spans", lambda: receiver.taken() if len(receiver.taken()) >= count else None)
        self.assertEqual(len(found), count, [span["name"] for span in found])
        return sorted(found, key=lambda span: (span["kind"], span["start"]))


class Traced(Story):
    def setUp(self):
        self.receiver = Receiver()
        self.addCleanup(self.receiver.server.shutdown)

    def traced(self, more="", environment=None):
        return self.gateway(f'otlp_endpoint = "{self.receiver.url}"\n{more}', environment)

    def test_a_chat_is_told_as_the_conventions_say(self):
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
        self.assertLess(abs(call["end"] / 1e9 - time.time()), 600, "the moment is of now")
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
        told = {name.lower(): value for name, value in request["headers"].items()}
        self.assertEqual(request["path"], "/v1/traces")
        self.assertEqual(
            (told["content-type"], told["authorization"], told["x-scope"]),
            ("application/x-protobuf", "Bearer s3cret", "acme"),
        )

    def test_a_stream_and_embeddings_are_told_too(self):
        gateway = self.traced()
        status, _, _ = gateway.chat(stream=True, fake={"chunks": 5, "text": "word"})
        self.assertEqual(status, 200)
        call, _ = self.spans(self.receiver, 2)
        told = call["attributes"]
        self.assertIs(told["gen_ai.request.stream"], True)
        self.assertEqual(told["gen_ai.usage.output_tokens"], 5)
        self.assertEqual(told["gen_ai.response.finish_reasons"], ["stop"])
        self.assertGreater(told["gen_ai.response.time_to_first_chunk"], 0)
        self.receiver.forget()
        body = {"model": "acme/embed", "input": "a private text", "encoding_format": "base64", "dimensions": 4}
        status, text, _ = gateway.call("/embeddings", body)
        self.assertEqual(status, 200, text)
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual((call["name"], attempt["name"]), ("embeddings acme/embed", "embeddings embed-small"))
        told = call["attributes"]
        self.assertEqual(told["gen_ai.operation.name"], "embeddings")
        self.assertEqual(told["gen_ai.request.encoding_formats"], ["base64"])
        self.assertEqual(told["gen_ai.embeddings.dimension.count"], 4)
        self.assertEqual(told["http.route"], "/v1/embeddings")

    def test_no_prompt_and_no_answer_is_told_unless_the_operator_wants_it(self):
        gateway = self.traced()
        gateway.chat(fake={"text": "a private answer"}, tools=[{"type": "function", "function": {"name": "private_tool"}}])
        gateway.chat(stream=True, fake={"text": "a private answer"})
        gateway.chat(fake={"status": 400, "error_message": "a private question is no good"})
        self.spans(self.receiver, 6)
        told = b"".join(request["bytes"] for request in self.receiver.requests)
        self.assertNotIn(b"private", told)
        self.assertNotIn(gateway.bootstrap["apiKey"].encode(), told)
        self.assertNotIn(b"gen_ai.input.messages", told)

    def test_content_is_told_where_the_operator_wants_it(self):
        gateway = self.traced("record_content = true")
        gateway.chat(fake={"text": "a private answer"}, tools=[{"type": "function", "function": {"name": "look"}}])
        call, _ = self.spans(self.receiver, 2)
        told = call["attributes"]
        question = [{"role": "user", "parts": [{"type": "text", "content": "a private question"}]}]
        self.assertEqual(json.loads(told["gen_ai.input.messages"]), question)
        self.assertEqual(json.loads(told["gen_ai.tool.definitions"])[0]["function"]["name"], "look")
        answer = json.loads(told["gen_ai.output.messages"])
        self.assertEqual([part["type"] for part in answer[0]["parts"]], ["text"])
        self.assertIn("a private answer", answer[0]["parts"][0]["content"])
        self.receiver.forget()
        gateway.chat(stream=True, fake={"chunks": 3, "text": "word "})
        call, _ = self.spans(self.receiver, 2)
        answer = json.loads(call["attributes"]["gen_ai.output.messages"])
        parts = [{"type": "text", "content": "word word word "}]
        self.assertEqual(answer, [{"role": "assistant", "parts": parts, "finish_reason": "stop"}])

    def test_a_callers_trace_goes_on_and_the_model_server_is_our_child(self):
        gateway = self.traced()
        seen = gateway.echoed_headers({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual((call["trace"], call["parent"]), (PARENT_TRACE, PARENT_SPAN))
        self.assertEqual((call["tracestate"], call["flags"] & 0x300), ("vendor=1", 0x300))
        self.assertEqual(seen["traceparent"], f"00-{PARENT_TRACE}-{attempt['id']}-01")
        self.assertEqual(seen["tracestate"], "vendor=1")
        self.receiver.forget()
        seen = gateway.echoed_headers({"traceparent": "garbage", "tracestate": "vendor=1"})
        call, attempt = self.spans(self.receiver, 2)
        self.assertEqual(call["parent"], "")
        self.assertEqual(seen["traceparent"], f"00-{call['trace']}-{attempt['id']}-01")
        self.assertNotIn("tracestate", seen, "a trace that makes no sense does not go on")

    def test_a_caller_decides_for_its_own_call_or_the_ratio_for_all(self):
        gateway = self.traced("sample_ratio = 0")
        unsampled = TRACEPARENT.replace("-01", "-00")
        self.assertEqual(gateway.echoed_headers({"traceparent": unsampled})["traceparent"], unsampled)
        self.assertNotIn("traceparent", gateway.echoed_headers({}))
        self.assertNotEqual(gateway.echoed_headers({"traceparent": TRACEPARENT})["traceparent"], TRACEPARENT)
        self.spans(self.receiver, 2)
        self.receiver.forget()
        stubborn = self.traced("sample_ratio = 0\nfollow_parent = false")
        self.assertEqual(stubborn.echoed_headers({"traceparent": TRACEPARENT})["traceparent"], TRACEPARENT)
        eager = self.traced("sample_ratio = 1\nfollow_parent = false")
        self.assertNotEqual(eager.echoed_headers({"traceparent": unsampled})["traceparent"], unsampled)
        self.spans(self.receiver, 2)

    def test_failures_are_told_apart_from_mistakes(self):
        gateway = self.traced()
        for body, code, is_error, attempts in [
            ({"temperature": 99}, "invalid_value", False, 0),
            ({"model": "acme/none"}, "model_not_found", False, 0),
            ({"fake": {"status": 500}}, "bad_gateway", True, 1),
            ({"stream": True, "fake": {"chunks": 5, "cut_after": 2}}, "bad_gateway", True, 1),
        ]:
            with self.subTest(body=body):
                self.receiver.forget()
                gateway.chat(**body)
                call, *others = self.spans(self.receiver, 1 + attempts)
                self.assertEqual((call["attributes"]["error.type"], call["error"]), (code, is_error))
                self.assertEqual([other["attributes"]["error.type"] for other in others], [code] * attempts)
        self.receiver.forget()
        gateway.call("/chat/completions", {}, key="sk-nobody")
        gateway.chat()
        call, _ = self.spans(self.receiver, 2)
        self.assertEqual(call["attributes"]["http.response.status_code"], 200, "a stranger makes no spans")

    def test_every_replica_that_was_asked_has_a_span(self):
        gateway = self.traced()
        # Which of the two is asked first goes by how a prompt begins.
        for number in range(40):
            self.receiver.forget()
            question = [{"role": "user", "content": f"{number} private questions"}]
            status, _, _ = gateway.chat("acme/half", messages=question)
            self.assertEqual(status, 200)
            wait_until("the call's span", lambda: any(span["kind"] == SERVER for span in self.receiver.taken()))
            tried = sorted((span for span in self.receiver.taken() if span["kind"] == CLIENT), key=lambda s: s["start"])
            if len(tried) > 1:
                break
        self.assertEqual([span["attributes"].get("error.type") for span in tried], ["bad_gateway", None])
        self.assertEqual(len({span["id"] for span in tried}), 2)

    def test_a_receiver_that_is_busy_is_asked_again_and_one_that_refuses_is_not(self):
        gateway = self.traced()
        self.receiver.answer_next_with(503, 429)
        gateway.chat()
        self.spans(self.receiver, 2)
        self.assertEqual(len(self.receiver.requests), 3)
        wait_until("the count", lambda: gateway.metric("forebay_trace_spans_exported_total") == 2)
        self.receiver.answer_next_with(400)
        gateway.chat()
        wait_until("the count", lambda: gateway.metric('forebay_trace_spans_dropped_total{reason="refused"}') == 2)
        self.assertEqual(len(self.receiver.requests), 4)

    def test_what_is_queued_is_told_before_the_end(self):
        gateway = self.traced()
        gateway.chat()
        stop(gateway.process)
        self.assertEqual(gateway.process.returncode, 0)
        self.assertEqual(len(self.receiver.taken()), 2)


class Untraced(Story):
    def test_without_a_receiver_headers_pass_untouched_and_nothing_is_told(self):
        gateway = self.gateway("")
        seen = gateway.echoed_headers({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
        self.assertEqual((seen["traceparent"], seen["tracestate"]), (TRACEPARENT, "vendor=1"))
        self.assertEqual(gateway.echoed_headers({"traceparent": "garbage"})["traceparent"], "garbage")
        self.assertNotIn("traceparent", gateway.echoed_headers({}))
        self.assertEqual(gateway.metric("forebay_trace_spans_exported_total"), 0)

    def test_a_receiver_that_is_away_holds_nobody_up(self):
        gateway = self.gateway('otlp_endpoint = "http://127.0.0.1:9"')
        for _ in range(20):
            self.assertEqual(gateway.chat()[0], 200)
        unreachable = 'forebay_trace_spans_dropped_total{reason="unreachable"}'
        wait_until("dropped spans", lambda: gateway.metric(unreachable))
        self.assertEqual(gateway.log.read_text().count("traces are dropped"), 1)
        self.assertEqual(gateway.chat()[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
