"""What vLLM does when it is called, cut, stopped and restarted behind a gateway."""

import json
import os
import re
import signal
import subprocess
import threading
import time

from gateway import (
    CONTEXT, FORCED, LONG, MODEL, QUESTION, Failure, Gateway, arguments_of, cached_of, check, message_of, streamed_calls,
)
from testbed import ROOT, log_of, send, wait_until
from vllm_server import Vllm

import agent_programs

# What agents say before the first turn has 12,000 tokens. The model was not trained for that, but it computes them.
AGENT_CONTEXT = 40_960
# Its sentences have no end: it stops at a full stop, a comma or a line break, as tokens, so that turns of agents end.
AGENT_STOPS = {"eos_token_id": [2, 30, 28, 198]}
# The bill check reads counters every ten seconds.
READ_SECONDS = 60
# It looks back at that many tokens only, in all of its layers: half of the work of a long prompt would be its attention.
AGENT_WINDOW = {"sliding_window": 1024, "layer_types": ["sliding_attention"] * 30}
AGENT_SECONDS = 1800


def check_recipes(home):
    """It has the parsers of the console's recipes"""
    recipes = (ROOT / "web/src/pages/operator/models/recipes.ts").read_text()
    program = (
        "from vllm.reasoning import ReasoningParserManager as reasoning; from vllm.tool_parsers import ToolParserManager as tools; "
        "print(*tools.list_registered(), '/', *reasoning.list_registered())"
    )
    done = subprocess.run(
        [f"{home}/venv/bin/python", "-c", program], env=os.environ | Vllm.environment(), capture_output=True, text=True,
    )
    known = done.stdout.strip().rpartition("\n")[2].split(" / ")
    for kind, names in zip(("tools", "reasoning"), known, strict=True):
        named = set(re.findall(rf"vllm: {{.*{kind}: '(\w+)'", recipes))
        check(f"it knows {len(named)} parsers of {kind}", named and named <= set(names.split()), named - set(names.split()))


def check_imitated(engine):
    """It responds as the scripted engine imitates it (crates/testkit/src/fake_engine)"""
    def ask(path, **members):
        return send(f"{engine.url}{path}", {"model": "smol"} | members)

    def events(response):
        lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    chunks = events(ask("/chat/completions", messages=QUESTION, max_tokens=3, stream=True, ignore_eos=True))
    ends = [bool(choice["delta"].get("content")) for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    check("a choice that reached its limit ends with its last text", ends == [True], chunks)
    limited = events(ask("/responses", input="Hi", max_output_tokens=2, stream=True))[-1]
    seen = limited["type"], limited["response"]["status"]
    check("a response that reached its limit is completed, and incomplete", seen == ("response.completed", "incomplete"), seen)
    refused = ask("/messages", messages=QUESTION, max_tokens=8, temperature=-1)
    seen = refused.status, refused.json().get("type"), refused.json()["error"]["type"]
    check("an error of Messages is in Anthropic's envelope", seen == (400, "error", "BadRequestError"), refused.text)


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
    report = lambda: gateway.read("/api/reconciliation")
    read_until = lambda: report()["data"][0]["readUntil"] or ""

    def seen():
        """What was billed, and counted once the counters were read, as the bill check shows it."""
        wait_until("vLLM is idle", engine.is_idle, 60)
        gateway.billed()
        before = read_until()
        wait_until("its counters are read", lambda: read_until() > before, READ_SECONDS)
        rows = [row for row in report()["replicas"] if row["replica"].startswith("test/")]
        check("they share a row", [row["replica"] for row in rows] == ["test/engine#1"], rows)
        return [(rows[0][kind]["promptTokens"], rows[0][kind]["completionTokens"]) for kind in ("billed", "counted")]

    gateway.chat(model="test/same")
    before = seen()
    usages = [gateway.chat(model=f"test/{name}").json()["usage"] for name in ("engine", "same")]
    used = tuple(sum(usage[kind] for usage in usages) for kind in ("prompt_tokens", "completion_tokens"))
    billed, counted = (tuple(new - old for new, old in zip(*pair)) for pair in zip(seen(), before))
    check(f"a call of each is billed and counted: {used}", billed == counted == used, (billed, counted))


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
    too_long = {"model": "test/native", "messages": [{"role": "user", "content": "hello " * 3000}], "max_tokens": 8}
    rejected = gateway.call("/v1/messages", too_long)
    check("a prompt that is too long is said so", rejected.status == 400 and "prompt is too long" in rejected.text, rejected.text)
    wait_until("vLLM is idle", engine.is_idle, 60)
    after = gateway.billed(), engine.counters(), engine.log.read_text()
    line = 'POST {} HTTP/1.1" 200'.format
    served = {path: after[2].count(line(path)) - before[2].count(line(path)) for path in calls}
    check(f"vLLM has served them as they are: {served}", set(served.values()) == {2}, served)
    billed, counted = ([new - old for new, old in zip(after[part], before[part])] for part in (0, 1))
    check(f"the bill is what vLLM counted: {billed}", billed == counted, (billed, counted))

    story = "Tell me a long story about a river."
    # Responses begin with events of a kilobyte and more.
    cut = {
        "/v1/messages": (1500, {"messages": [{"role": "user", "content": story}], "max_tokens": 300}),
        "/v1/responses": (8000, {"messages": None, "max_tokens": None, "input": story, "max_output_tokens": 300}),
    }
    for path, (after_bytes, members) in cut.items():
        before = engine.counters()
        gateway.cut(after_bytes, path, model="test/native", temperature=0, **members)
        call = gateway.last_request()
        wait_until("vLLM is idle", engine.is_idle, 60)
        counted = [new - old for new, old in zip(engine.counters(), before)]
        check("a cut stream is billed as an estimate", call["certainty"] == "estimated", call)
        # vLLM generates some more tokens until it notices that the connection has ended.
        tokens = call["completionTokens"]
        check(f"{tokens} of its {counted[1]} tokens are billed", 0 < tokens <= counted[1], call)
        near = abs(call["promptTokens"] - counted[0]) <= (0 if path.endswith("messages") else counted[0] // 2)
        check(f"with a prompt of {call['promptTokens']}, of {counted[0]}", near, call)
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
    calls, after = gateway.last_requests(6), gateway.usage()
    seen = f"{ends}\n{json.dumps(calls, indent=1)}\n{log_of(gateway.at)}"
    check(f"every stream is whole after {how}, with one id", ends == [(tokens, 1)] * 6, seen)
    moved = sum(call["failovers"] for call in calls)
    check(f"{moved} of 6 have moved", 0 < moved < 6, seen)
    billed = [after[name] - before[name] for name in ("requests", "completionTokens")]
    check("each is billed once", billed == [6, 6 * tokens], f"{billed}\n{seen}")
    check("the bill is exact", {call["certainty"] for call in calls} == {"exact"}, seen)


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


def options_for_agents(work):
    """Turns of few words, and long prompts in less time."""
    (work / "generation_config.json").write_text(json.dumps(AGENT_STOPS))
    stops = ["--generation-config", work, "--override-generation-config", '{"max_new_tokens": 64}']
    return [*stops, "--hf-overrides", json.dumps(AGENT_WINDOW)]
