"""Real engines behind a real gateway: what each can do, and what vLLM does when it is cut, stopped and restarted.

    tests/engines/run.py [ENGINE…]      forebay-engine, llama-server (in scripts/with-llama-server), vllm; default: all

Prints two matrices engine × capability for docs/vllm.md: what calls through the gateway show, and what the gateway finds out by
itself. Fails if one is another than expected. FOREBAY_TEST_VLLM is the folder of install_vllm.py; the agents are those of
scripts/test-dependencies clients.
"""

import copy
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "clients")]

import agent_programs  # noqa: E402
import testbed  # noqa: E402
from testbed import ROOT, Testbed, admin, send, wait_until  # noqa: E402

testbed.TIMEOUT_SECS = 300
GGUF = ROOT / "data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf"
START_SECONDS = 600
CONTEXT = 2048
# What agents say before the first turn has 12,000 tokens. The model was not trained for that, but it computes them.
AGENT_CONTEXT = 40_960
# Its sentences have no end: it stops at a full stop, a comma or a line break, as tokens, so that turns of agents end.
AGENT_STOPS = {"eos_token_id": [2, 30, 28, 198]}
# The bill check reads counters every ten seconds.
READ_SECONDS = 60
PROBE_SECONDS = 900
AGENT_SECONDS = 600
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

    def cut(self, after_bytes, stream=True, **members):
        """Leaves a call after this much of its response."""
        body = json.dumps({"model": "test/engine", "messages": QUESTION, "max_tokens": 200, "stream": stream} | members)
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.at.url).netloc, timeout=60)
        connection.request("POST", "/v1/chat/completions", body, self.headers | {"content-type": "application/json"})
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


# ---- capabilities: each returns whether the engine behind the gateway has it


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


def has_chat(gateway):
    return bool(message_of(gateway.chat()).get("content"))


def streams_the_same_text(gateway):
    whole = message_of(gateway.chat(temperature=0, max_tokens=12))["content"]
    chunks = gateway.stream(temperature=0, max_tokens=12)
    return whole == "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def has_choices(gateway):
    response = gateway.chat(n=2)
    return response.status == 200 and len(response.json()["choices"]) == 2


def has_logprobs(gateway):
    response = gateway.chat(logprobs=True, top_logprobs=2)
    return response.status == 200 and bool((response.json()["choices"][0].get("logprobs") or {}).get("content"))


def calls_a_forced_tool(gateway):
    response = gateway.chat(max_tokens=80, **FORCED)
    calls = message_of(response).get("tool_calls") or []
    is_whole = [call.get("type") for call in calls] == ["function"] and bool(arguments_of(calls))
    return is_whole and response.json()["choices"][0]["finish_reason"] == "tool_calls"


def streams_a_forced_tool(gateway):
    chunks = gateway.stream(max_tokens=80, **FORCED)
    calls = streamed_calls(chunks)
    is_whole = len(calls) == 1 and calls[0]["function"]["name"] == "get_weather" and bool(calls[0].get("id"))
    ends = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    return is_whole and bool(arguments_of(calls)) and ends == ["tool_calls"]


def obeys_a_schema(gateway):
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    text = message_of(gateway.chat(max_tokens=80, temperature=0, response_format=wanted)).get("content") or ""
    try:
        return list(json.loads(text)) == ["city"]
    except ValueError:
        return False


def rejects_a_bad_schema(gateway):
    """Unary and streamed alike."""
    bad = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "unknown"}}}
    return {gateway.chat(stream=stream, response_format=bad).status for stream in (False, True)} in ({400}, {422})


def says_what_overflows(gateway):
    too_long = [{"role": "user", "content": "hello " * 3000}]
    seen = [gateway.chat(messages=too_long, stream=stream) for stream in (False, True)]
    return all(one.status == 400 and one.json()["error"]["code"] == "context_length_exceeded" for one in seen)


def reports_cached_tokens(gateway):
    usage = [gateway.chat(messages=LONG).json()["usage"] for _ in range(2)][-1]
    return usage["prompt_tokens_details"]["cached_tokens"] > 0


def counts_tokens(gateway):
    response = gateway.call("/v1/messages/count_tokens", {"model": "test/engine", "messages": QUESTION})
    counted = response.json()["input_tokens"]
    is_counted = response.headers.get("x-forebay-estimate") is None
    return is_counted and counted == gateway.chat().json()["usage"]["prompt_tokens"]


def serves_messages(gateway):
    return gateway.call("/v1/messages", {"model": "test/engine", "messages": QUESTION, "max_tokens": 8}).status == 200


def serves_responses(gateway):
    return gateway.call("/v1/responses", {"model": "test/engine", "input": "Hi", "max_output_tokens": 16}).status == 200


CAPABILITIES = {
    "chat": has_chat,
    "stream: the same text": streams_the_same_text,
    "`n`": has_choices,
    "`logprobs`": has_logprobs,
    "forced tool": calls_a_forced_tool,
    "forced tool, streamed": streams_a_forced_tool,
    "`json_schema`": obeys_a_schema,
    "rejects a bad schema, streamed too": rejects_a_bad_schema,
    "`context_length_exceeded`": says_what_overflows,
    "`cached_tokens`": reports_cached_tokens,
    "`count_tokens` exact": counts_tokens,
    "Messages": serves_messages,
    "Responses": serves_responses,
}
# What engines lack: the starter model's own template has no tools, and with separate tenants, llama-server reuses no prompt.
TOOLS = {"forced tool", "forced tool, streamed"}
LACKING = {
    "forebay-engine": TOOLS,
    "llama-server": TOOLS | {"`cached_tokens`"},
    "vllm": set(),
}
# What gateways find out about them by themselves; the rest is unknown.
SHARED = dict.fromkeys(
    ("chat", "completions", "tokenize", "json_schema", "logprobs", "stream_usage", "cached_tokens", "overflow_errors",
     "stream_errors"), "yes",
) | dict.fromkeys(("embeddings", "rerank", "score", "images"), "no")
NATIVE = ("native_messages", "native_responses")
FOUND_OUT = {
    "forebay-engine": SHARED | dict.fromkeys(("tools", "streamed_tools", "parallel_tools", *NATIVE), "no"),
    "llama-server": SHARED | dict.fromkeys(NATIVE, "yes"),
    "vllm": SHARED | dict.fromkeys(("tools", "streamed_tools", *NATIVE), "yes"),
}


# ---- engines


class Vllm:
    """vLLM with the starter model, on a port that it keeps when it is started again."""

    def __init__(self, home, work, context=CONTEXT, options=(), threads=1):
        self.home, self.port, self.process = pathlib.Path(home), free_port(), None
        self.log, self.context, self.options, self.threads = work / f"vllm-{self.port}.log", context, options, threads

    @staticmethod
    def environment(threads=1):
        return {
            "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
        }

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self):
        options = [
            "--served-model-name", "smol", "--host", "127.0.0.1", "--port", self.port,
            "--max-model-len", self.context, "--enforce-eager",
            "--enable-prompt-tokens-details", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
            "--chat-template", self.home / "template.jinja", *self.options,
        ]
        command = [self.home / "venv/bin/vllm", "serve", self.home / "smol", *options]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | self.environment(self.threads), start_new_session=True,
            )
        wait_until("vLLM serves", self._is_up, START_SECONDS)

    def _is_up(self):
        if self.process.poll() is not None:
            raise Failure(f"vLLM has ended: {self.log.read_text()[-3000:]}")
        try:
            return send(f"http://127.0.0.1:{self.port}/health").status == 200
        except OSError:
            return False

    def stop(self):
        """With all its processes: the API server may end before its engine."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()

    def _metric(self, name):
        page = send(f"http://127.0.0.1:{self.port}/metrics").text
        return int(float(re.search(rf"^vllm:{name}{{.*}} (\S+)$", page, re.MULTILINE)[1]))

    def is_idle(self):
        return self._metric("num_requests_running") == 0 == self._metric("num_requests_waiting")

    def counters(self):
        """Prompt and completion tokens since its start."""
        return self._metric("prompt_tokens_total"), self._metric("generation_tokens_total")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def probed(bed, table):
    """What a gateway finds out about an engine by itself: version, and support by capability."""
    gateway = Gateway(bed, table, server='drain_timeout = "1s"\nprobe = true')
    model = lambda: gateway.read("/api/operator/models/test%2Fengine")
    # An engine that is too slow for its questions is asked again.
    is_complete = lambda: (model().get("probeResult") or {}).get("isComplete")
    wait_until("the gateway has asked the engine everything", is_complete, PROBE_SECONDS)
    # What the store has is read by the route a moment later.
    time.sleep(5)
    seen = model()
    bed.stop(gateway.at)
    support = {one["name"]: one["support"] for one in seen["capabilities"]}
    for one in seen["capabilities"]:
        if one["note"]:
            print(f"    {one['name']}: {one['note']}", flush=True)
    check("it has chats, with usage in streams", support["chat"] == "yes" == support["stream_usage"], support)
    return seen["probeResult"]["engineVersion"] or "", support


def note_capabilities(name, gateway, found):
    """Adds the capabilities that an engine has."""
    for capability, has in CAPABILITIES.items():
        try:
            if has(gateway):
                found.add(capability)
        except (Failure, KeyError, TypeError, AttributeError) as error:
            print(f"    {name}, {capability}: {error!r}")


# ---- vLLM in particular


def check_rejections(gateway):
    """A stream that vLLM refuses does not count against a replica"""
    for _ in range(6):
        rejected = gateway.chat(stream=True, logit_bias={"999999999": 1})
        if rejected.status != 400 or "logit_bias" not in rejected.text:
            raise Failure(f"{rejected.status} {rejected.text}")
    check("six refused streams are 400 with vLLM's message", True)
    status = gateway.call("/v1/models").json()["data"][0]["status"]
    check("the model is still available", status == "available", status)


def check_bill(gateway, engine):
    """The bill of whole and of cut streams is what vLLM counted"""
    def grown(calls):
        """By how much a number of calls grows the bill, and vLLM's counters."""
        before = gateway.billed(), engine.counters()
        calls()
        wait_until("vLLM is idle", engine.is_idle, 60)
        after = gateway.billed(), engine.counters()
        return [tuple(new - old for new, old in zip(*pair)) for pair in zip(after, before)]

    def whole():
        for number in range(4):
            gateway.chat(max_tokens=10 + number)
            gateway.stream(max_tokens=10 + number)

    def cut():
        for after in (300, 1200, 3000, 6000):
            gateway.cut(after, ignore_eos=True)

    billed, counted = grown(whole)
    check("whole calls are equal", billed == counted, (billed, counted))
    billed, counted = grown(cut)
    check("prompts of cut streams are equal", billed[0] == counted[0], (billed, counted))
    # vLLM generates some more tokens until it notices that the connection has ended.
    check("completions of cut streams are never billed too high", 0 < billed[1] <= counted[1], (billed, counted))


def check_cut_streams(gateway):
    """A client that leaves pays the price of cached tokens, or the call is marked as an estimate"""
    gateway.chat(messages=LONG)
    gateway.cut(600, messages=LONG, ignore_eos=True)
    cut = gateway.last_request()
    check("cached tokens are billed as such, or as an estimate", cut["cachedTokens"] or cut["certainty"] == "estimated", cut)

    exact = gateway.chat(messages=LONG).json()["usage"]["prompt_tokens"]
    gateway.cut(0, messages=LONG, stream=False, ignore_eos=True)
    left = gateway.last_request()
    near = abs(left["promptTokens"] - exact) <= exact // 5
    check(f"the prompt of a client that left at once is estimated by the model: {left['promptTokens']} of {exact}", near, left)


def check_shared_server(gateway, engine):
    """Models with the same server are one for the bill check"""
    gateway.chat(model="test/same")
    report = lambda: [row for row in gateway.read("/api/reconciliation")["replicas"] if row["replica"].startswith("test/")]
    rows = report()
    check("they share a row", [row["replica"] for row in rows] == ["test/engine#1"], rows)


def check_salts(gateway, engine):
    """Workspaces share no cached prompt, neither with each other nor with calls past the gateway"""
    # Of their own: other checks have left theirs in the cache.
    prompt = [{"role": "user", "content": "A ship sails past the island, that was empty for a hundred years. " * 20}]
    other = gateway.other_workspace()

    def cached(workspace, **members):
        return cached_of(workspace.chat(messages=prompt, **members))

    seen = [cached(gateway), cached(gateway), cached(other), cached(other)]
    check(f"each workspace finds its own prompt only: {seen}", [tokens > 0 for tokens in seen] == [False, True] * 2, seen)
    seen = [cached(gateway, cache_salt="mine"), cached(gateway, cache_salt="mine"), cached(other, cache_salt="mine")]
    check(f"its own salt divides its cache further: {seen}", [tokens > 0 for tokens in seen] == [False, True, False], seen)
    body = {"model": "smol", "messages": prompt, "max_tokens": 8}
    direct = cached_of(send(f"{engine.url}/chat/completions", body))
    check("a call past the gateway finds nothing", direct == 0, direct)


def cached_of(response):
    return (response.json()["usage"].get("prompt_tokens_details") or {}).get("cached_tokens") or 0


def check_native(bed, engine):
    """vLLM's own Messages and Responses are passed through, and billed as it counts"""
    table = MODEL.format(id="test/native", url=engine.url, model="smol", engine="vllm", context=CONTEXT)
    native = table.replace('engine = "vllm"', 'engine = "vllm", native = ["messages", "responses"]')
    gateway = Gateway(bed, native + "share_prefix_cache = true\n")
    calls = {
        "/v1/messages": {"model": "test/native", "messages": QUESTION, "max_tokens": 8},
        "/v1/responses": {"model": "test/native", "input": "What is the weather in Paris?", "max_output_tokens": 16},
    }
    before = gateway.billed(), engine.counters(), engine.log.read_text()
    for path, body in calls.items():
        whole, stream = gateway.call(path, body), gateway.call(path, body | {"stream": True})
        check(f"{path} is served, and streamed", whole.status == stream.status == 200, whole.text + stream.text)
        end = "event: message_stop" if path.endswith("messages") else "event: response.completed"
        check("the stream is whole", end in stream.text or "event: response.incomplete" in stream.text, stream.text[-300:])
    wait_until("vLLM is idle", engine.is_idle, 60)
    after = gateway.billed(), engine.counters(), engine.log.read_text()
    served = {path: after[2].count(f"POST {path} ") - before[2].count(f"POST {path} ") for path in calls}
    check(f"vLLM has served them as they are: {served}", set(served.values()) == {2}, served)
    billed, counted = ([new - old for new, old in zip(after[part], before[part])] for part in (0, 1))
    check(f"the bill is what vLLM counted: {billed}", billed == counted, (billed, counted))
    bed.stop(gateway.at)


def check_dialect(bed, engine):
    """A last message of the assistant is continued, and a model without streamed tools gets its calls whole"""
    table = MODEL.format(id="test/dialect", url=engine.url, model="smol", engine="vllm", context=CONTEXT)
    gateway = Gateway(bed, table + "stream_tools = false\n")
    messages = QUESTION + [{"role": "assistant", "content": "The weather in Paris is"}]

    def prompt_of(**members):
        body = {"model": "smol", "messages": messages, "max_tokens": 8} | members
        return send(f"{engine.url}/chat/completions", body).json()["usage"]["prompt_tokens"]

    continued, new_turn = prompt_of(continue_final_message=True, add_generation_prompt=False), prompt_of()
    usage = gateway.call("/v1/messages", {"model": "test/dialect", "messages": messages, "max_tokens": 8}).json()["usage"]
    prompt = usage["input_tokens"] + usage["cache_read_input_tokens"]
    check(f"the message is continued: a prompt of {prompt} tokens, not {new_turn}", prompt == continued < new_turn, continued)

    chunks = gateway.stream(model="test/dialect", max_tokens=80, **FORCED)
    calls = streamed_calls(chunks)
    check("a forced tool is called in a stream", len(calls) == 1 and bool(arguments_of(calls)), chunks)
    parts = sum(bool(choice["delta"].get("tool_calls")) for chunk in chunks for choice in chunk["choices"])
    check("its arguments arrive at once", parts == 1, chunks)
    bed.stop(gateway.at)


def check_failover(bed, engine, second):
    """With two replicas, conversations return to theirs, and streams of one that ends go on at the other"""
    table = MODEL.format(id="test/engine", url=engine.url, model="smol", engine="vllm", context=CONTEXT)
    both = table.replace("upstreams = [{", f'upstreams = [{{ url = "{second.url}", model = "smol", engine = "vllm" }}, {{')
    gateway = Gateway(bed, both + "failover = true\n")

    def converse(number):
        """Five turns; the replica of each."""
        messages = [{"role": "user", "content": f"Story {number}. The wind blows from the north over the old harbour. " * 25}]
        for turn in range(5):
            said = message_of(gateway.chat(messages=messages, user=f"{number}/{turn}")).get("content")
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "Go on, please."}]

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = gateway.last_requests(20)
    cached = [call["cachedTokens"] for call in calls]
    check("all turns are billed", len(calls) == 20 and {call["status"] for call in calls} == {200}, calls)
    replicas = {call["replica"] for call in calls}
    check("both replicas have conversations", len(replicas) == 2, replicas)
    returned = sum(tokens > 0 for tokens in cached)
    check(f"{returned} of 16 turns found their conversation in the cache of its replica", returned == 16, cached)

    # It gets no more calls and keeps its connections, or it is gone at once.
    lose(gateway, second, "SIGTERM", lambda: second.process.send_signal(signal.SIGTERM))
    second.stop()
    second.start()
    is_back = lambda: gateway.chat().status == 200 and second.counters()[1] > 0
    wait_until("the second replica gets calls again", is_back, 60)
    lose(gateway, second, "kill -9", second.stop)
    bed.stop(gateway.at)


def lose(gateway, second, how, end):
    """Ends the second of two replicas under streams."""
    tokens, ends = 300, []

    def read_stream():
        options = {"include_usage": True}
        chunks = gateway.stream(max_tokens=tokens, ignore_eos=True, stream_options=options)
        ends.append((chunks[-1]["usage"]["completion_tokens"], len({chunk["id"] for chunk in chunks})))

    gateway.billed()
    before = gateway.usage()
    threads = [threading.Thread(target=read_stream) for _ in range(6)]
    for thread in threads:
        thread.start()
    wait_until("the second replica has streams", lambda: not second.is_idle(), 60)
    time.sleep(2)
    end()
    for thread in threads:
        thread.join()
    check(f"every stream is whole after {how}, with one id", ends == [(tokens, 1)] * 6, ends)
    moved = sum(call["failovers"] for call in gateway.last_requests(6))
    check(f"{moved} of 6 have moved", 0 < moved < 6, moved)
    after = gateway.usage()
    billed = [after[name] - before[name] for name in ("requests", "completionTokens")]
    check("each is billed once", billed == [6, 6 * tokens], billed)
    certain = {call["certainty"] for call in gateway.last_requests(6)}
    check("the bill is exact", certain == {"exact"}, certain)


def check_agents(bed, engine, work):
    """Claude Code and Codex complete a turn: more than that cannot be expected of this model"""
    table = MODEL.format(id="test/agent", url=engine.url, model="smol", engine="vllm", context=AGENT_CONTEXT)
    gateway = Gateway(bed, table)

    def run(name, command, environment):
        done = subprocess.run(
            command, cwd=environment["HOME"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=AGENT_SECONDS,
        )
        check(f"{name} ends well", done.returncode == 0, (done.stdout + done.stderr)[-2000:])
        return done.stdout

    def home(name):
        (work / name).mkdir()
        return work / name

    common = (f"{gateway.at.url}/v1", gateway.at.apiKey, "test/agent")
    before = gateway.billed(), engine.counters()
    program = agent_programs.claude_code(home("claude-code"), *common, "Say hello.", context=AGENT_CONTEXT)
    result = json.loads(run("Claude Code", *program))
    check("Claude Code's turn is complete", result["subtype"] == "success" and not result["is_error"], result)
    program = agent_programs.codex(home("codex"), *common, "Say hello.", context=AGENT_CONTEXT)
    events = agent_programs.codex_events(run("Codex", *program))
    check("Codex' turn is complete", events[-1]["type"] == "turn.completed", events[-3:])
    wait_until("vLLM is idle", engine.is_idle, 60)
    after = gateway.billed(), engine.counters()
    billed, counted = ([new - old for new, old in zip(after[part], before[part])] for part in (0, 1))
    check(f"the bill is what vLLM counted: {billed}", billed == counted, (billed, counted))
    statuses = {call["status"] for call in gateway.last_requests(100)}
    check("no call has failed", statuses == {200}, statuses)
    bed.stop(gateway.at)


def check_restart(gateway, engine):
    """A vLLM that gets SIGTERM keeps no stream, and is billed again once it is back"""
    ends = []

    def read_stream():
        begun = gateway.chat(stream=True, max_tokens=1500, ignore_eos=True)
        ends.append(begun.text[-300:])

    threads = [threading.Thread(target=read_stream) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(3)
    since = time.monotonic()
    engine.process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - since
    check(f"open streams end with an error event after {seconds:.0f} s", seconds < 30, seconds)
    check("each says so", all('"error"' in end and "[DONE]" not in end for end in ends), ends)
    # The first one may find the connection closed.
    statuses = [gateway.chat().status for _ in range(2)]
    check("calls are 503 meanwhile", statuses in ([502, 503], [503, 503]), statuses)
    engine.stop()
    engine.start()
    wait_until("the model is served again", lambda: gateway.chat().status == 200, 60)
    check("it serves again", True)
    read_until = lambda: gateway.read("/api/reconciliation")["data"][0]["readUntil"]
    before = read_until()
    wait_until("its counters are read again", lambda: read_until() > before, READ_SECONDS)
    check("its counters are read again", True)


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
    gateway = Gateway(bed, DEDICATED.format(home=home, upstream=bed.engine()), Vllm.environment() | {"PATH": path})
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
    port = command[command.index("--port") + 1]
    direct = send(f"http://127.0.0.1:{port}/v1/models")
    check("its port rejects calls without its key", direct.status == 401, direct.text)
    check("the key is not in its command", "--api-key" not in command, command)
    check_life_cycle(gateway, home)
    bed.stop(gateway.at, "INT")
    wait_until("no process of the replica is left", lambda: replica_of(home) is None, 60)
    check("no process is left", True)


def options_for_agents(work):
    """Turns of few words."""
    (work / "generation_config.json").write_text(json.dumps(AGENT_STOPS))
    return ["--generation-config", work, "--override-generation-config", '{"max_new_tokens": 64}']


def test_vllm(bed, work, found, asked):
    home = os.environ["FOREBAY_TEST_VLLM"]
    engine, second = Vllm(home, work), Vllm(home, work)
    for_agents = Vllm(home, work, AGENT_CONTEXT, options_for_agents(work), threads=os.cpu_count())
    table = lambda id: MODEL.format(id=id, url=engine.url, model="smol", engine="vllm", context=CONTEXT)

    def perform(step, *arguments):
        print(f"  {step.__doc__}", flush=True)
        step(*arguments)

    try:
        engine.start()
        asked["vllm"] = probed(bed, table("test/engine"))
        gateway = Gateway(bed, table("test/engine") + table("test/same"))
        note_capabilities("vllm", gateway, found)
        perform(check_rejections, gateway)
        perform(check_cut_streams, gateway)
        for step in (check_bill, check_salts, check_shared_server, check_restart):
            perform(step, gateway, engine)
        bed.stop(gateway.at)
        perform(check_native, bed, engine)
        perform(check_dialect, bed, engine)
        second.start()
        perform(check_failover, bed, engine, second)
        engine.stop()
        for_agents.start()
        perform(check_agents, bed, for_agents, work)
    finally:
        for each in (engine, second, for_agents):
            each.stop()
    perform(check_dedicated, bed, home)


def test_forebay_engine(bed, _work, found, asked):
    engine = bed.request("forebayEngine", arguments=["--model", str(GGUF), "--model-name", "smol", "--ctx", "2048"])
    table = MODEL.format(id="test/engine", url=f"{engine['url']}/v1", model="smol", engine="forebay-engine", context=2048)
    asked["forebay-engine"] = probed(bed, table)
    note_capabilities("forebay-engine", Gateway(bed, table), found)


def test_llama_server(bed, _work, found, asked):
    url = os.environ["FOREBAY_TEST_LLAMA_SERVER"]
    table = MODEL.format(id="test/engine", url=url, model="smol", engine="llama-server", context=1024)
    asked["llama-server"] = probed(bed, table)
    note_capabilities("llama-server", Gateway(bed, table), found)


ENGINES = {"forebay-engine": test_forebay_engine, "llama-server": test_llama_server, "vllm": test_vllm}


def print_asked(asked):
    """What gateways found out by themselves, as a table of Markdown."""
    heads = [f"{name} {version}".strip() for name, (version, _) in asked.items()]
    print("\n| capability | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    marks = {"yes": "yes", "no": "no", "unknown": "?"}
    for capability in dict.fromkeys(name for _, support in asked.values() for name in support):
        print(f"| `{capability}` | " + " | ".join(marks[support[capability]] for _, support in asked.values()) + " |")


def main():
    chosen = sys.argv[1:] or list(ENGINES)
    found, asked, failures = {}, {}, []
    with tempfile.TemporaryDirectory(prefix="forebay-engines.") as work, Testbed() as bed:
        for name in chosen:
            print(f"==> {name}", flush=True)
            try:
                ENGINES[name](bed, pathlib.Path(work), found.setdefault(name, set()), asked)
            except (Failure, AssertionError, RuntimeError, KeyError) as error:
                failures.append(f"{name}: {error}")
    print("\n| | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for capability in CAPABILITIES:
        print(f"| {capability} | " + " | ".join("yes" if capability in has else "no" for has in found.values()) + " |")
    print_asked(asked)
    for name, has in found.items():
        wrong = has ^ (CAPABILITIES.keys() - LACKING[name])
        failures.extend(f"{name}: {capability} is not as expected" for capability in sorted(wrong))
    for name, (_, support) in asked.items():
        expected = dict.fromkeys(support, "unknown") | FOUND_OUT[name]
        wrong = sorted(capability for capability in expected if support.get(capability) != expected[capability])
        failures.extend(f"{name}: the gateway finds `{capability}`: {support.get(capability)}" for capability in wrong)
    if failures:
        sys.exit("\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
