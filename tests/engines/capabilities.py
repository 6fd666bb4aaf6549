"""What engines can do: what calls through a gateway show, and what the gateway finds out by itself."""

import json
import time

from gateway import FORCED, LONG, QUESTION, SCHEMA, Failure, Gateway, arguments_of, check, message_of, streamed_calls
from testbed import wait_until

PROBE_SECONDS = 900


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


def rejects_media(gateway):
    """The starter model reads text only."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    messages = [[{"role": "user", "content": [part]}] for part in (image, audio)]
    return {gateway.chat(messages=each).status for each in messages} <= {400, 422}


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
    "rejects images and audio": rejects_media,
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


def probed(bed, table):
    """What a gateway finds out about an engine by itself: version, and support by capability."""
    gateway = Gateway(bed, table, server='drain_timeout = "1s"\nprobe = true')
    model = lambda: gateway.read("/api/operator/models/test%2Fengine")
    is_complete = lambda seen: (seen.get("probeResult") or {}).get("isComplete")

    def settled():
        """An engine that is too slow for its questions, or seems to have been down, is asked again."""
        if not is_complete(model()):
            return None
        # What the store has is read by the route a moment later.
        time.sleep(5)
        seen = model()
        return seen if is_complete(seen) else None

    seen = wait_until("the gateway has asked the engine everything", settled, PROBE_SECONDS)
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
