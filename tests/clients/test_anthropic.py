"""Tests the anthropic package for Python against a running forebay. Started by scripts/test-clients."""

import json
import os
import unittest
import urllib.request

import anthropic

BASE_URL = os.environ["FOREBAY_BASE_URL"].removesuffix("/v1")
API_KEY = os.environ["FOREBAY_API_KEY"]
ENGINE_URL = os.environ["FAKE_ENGINE_URL"]

CHAT, ECHO, ALIAS = "acme/tiny-chat", "acme/echo", "claude-forebay"
HELLO = [{"role": "user", "content": "Say hello"}]
WEATHER = {
    "name": "weather",
    "description": "Weather at a place",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


def script_next_call(**script):
    body = json.dumps(script).encode()
    urllib.request.urlopen(urllib.request.Request(f"{ENGINE_URL}/script/next", body, method="POST"), timeout=5).close()


def chunk(delta, finish=None):
    return json.dumps({"id": "c", "created": 1, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def tool_events():
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    deltas = [{"role": "assistant", "content": ""}, {"reasoning": "Hm."}, {"content": "Let me see."}, {"tool_calls": [call]}]
    for piece in ('{"pl', 'ace":"Ro', 'me"}'):
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    return [chunk(delta) for delta in deltas] + [chunk({}, "tool_calls")]


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = self.make()

    def make(self, **options):
        client = anthropic.Anthropic(base_url=BASE_URL, max_retries=0, timeout=30, **({"api_key": API_KEY} | options))
        self.addCleanup(client.close)
        return client

    def create(self, **members):
        return self.client.messages.create(**({"model": CHAT, "max_tokens": 64, "messages": HELLO} | members))


class Messages(ClientTest):
    def test_a_message_echoes_the_model_and_has_a_request_id(self):
        message = self.create()
        self.assertEqual((message.type, message.role, message.model), ("message", "assistant", CHAT))
        self.assertEqual([block.text for block in message.content], ["Hello Hello Hello "])
        self.assertEqual(message.stop_reason, "end_turn")
        self.assertEqual((message.usage.input_tokens, message.usage.output_tokens), (10, 3))
        self.assertTrue(message._request_id.startswith("req_"), message._request_id)

    def test_a_message_passes_strict_validation(self):
        strict = self.make(_strict_response_validation=True)
        script_next_call(cached_tokens=4)
        message = strict.messages.create(model=CHAT, max_tokens=64, messages=HELLO)
        self.assertEqual((message.usage.input_tokens, message.usage.cache_read_input_tokens), (6, 4))

    def test_an_alias_and_a_bearer_token_work(self):
        client = self.make(api_key=None, auth_token=API_KEY)
        self.assertEqual(client.messages.create(model=ALIAS, max_tokens=9, messages=HELLO).model, ALIAS)

    def test_a_stream_adds_up_to_the_message(self):
        with self.client.messages.stream(model=CHAT, max_tokens=64, messages=HELLO) as stream:
            self.assertEqual("".join(stream.text_stream), "Hello Hello Hello ")
            message = stream.get_final_message()
        self.assertEqual((message.stop_reason, message.usage.output_tokens), ("end_turn", 3))

    def test_a_stream_that_is_kept_alive_succeeds_or_raises(self):
        call = {"model": CHAT, "max_tokens": 64, "messages": HELLO, "extra_headers": {"X-Keep-Alive": "1"}}
        script_next_call(delay_ms=1_500)
        with self.client.messages.stream(**call) as stream:
            self.assertEqual(stream.get_final_text(), "Hello Hello Hello ")
        script_next_call(delay_ms=1_500, status=400)
        with self.assertRaises(anthropic.APIStatusError):
            with self.client.messages.stream(**call) as stream:
                stream.get_final_text()

    def test_a_streamed_tool_call_has_its_input(self):
        script_next_call(raw_events=tool_events())
        with self.client.messages.stream(model=CHAT, max_tokens=64, messages=HELLO, tools=[WEATHER]) as stream:
            message = stream.get_final_message()
        self.assertEqual([block.type for block in message.content], ["thinking", "text", "tool_use"])
        self.assertEqual((message.content[2].name, message.content[2].input), ("weather", {"place": "Rome"}))
        self.assertTrue(message.content[0].signature)
        self.assertEqual(message.stop_reason, "tool_use")

    def test_the_engine_gets_the_conversation_as_a_chat(self):
        image = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        messages = [
            {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "source": image}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {"place": "Rome"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "sunny"}]},
        ]
        message = self.create(
            model=ECHO, system="Be brief.", messages=messages, tools=[WEATHER], stop_sequences=["END"],
            tool_choice={"type": "any", "disable_parallel_tool_use": True}, metadata={"user_id": "anna"},
            extra_body={"temperature": 0.5, "unknown": 1},
        )
        body = json.loads(message.content[0].text)["body"]
        self.assertEqual([entry["role"] for entry in body["messages"]], ["system", "user", "assistant", "tool"])
        self.assertEqual(body["messages"][1]["content"][1]["image_url"]["url"], "data:image/png;base64,AAAA")
        self.assertEqual(json.loads(body["messages"][2]["tool_calls"][0]["function"]["arguments"]), {"place": "Rome"})
        self.assertEqual(body["tools"][0]["function"]["parameters"], WEATHER["input_schema"])
        self.assertEqual((body["tool_choice"], body["parallel_tool_calls"], body["stop"]), ("required", False, ["END"]))
        self.assertEqual((body["temperature"], len(body["user"]), body.get("unknown")), (0.5, 64, None))

    def test_tokens_are_counted(self):
        count = self.client.messages.count_tokens(model=CHAT, messages=HELLO)
        self.assertGreater(count.input_tokens, 0)

    def test_models_are_listed_with_aliases(self):
        models = list(self.client.models.list(limit=1))
        self.assertIn(CHAT, [model.id for model in models])
        self.assertEqual([model.id for model in models[-2:]], [ALIAS, "forebay-agent"])
        self.assertEqual(self.client.models.retrieve(ALIAS).id, ALIAS)


class Errors(ClientTest):
    def test_errors_have_their_classes(self):
        for error, members in [
            (anthropic.NotFoundError, {"model": "acme/none"}),
            (anthropic.BadRequestError, {"max_tokens": 0}),
            (anthropic.BadRequestError, {"messages": []}),
        ]:
            with self.assertRaises(error) as raised:
                self.create(**members)
            self.assertTrue(raised.exception.request_id.startswith("req_"))
        with self.assertRaises(anthropic.AuthenticationError):
            self.make(api_key="sk-nothing").messages.create(model=CHAT, max_tokens=9, messages=HELLO)
        script_next_call(status=503)
        with self.assertRaises(anthropic.APIStatusError) as raised:
            self.create()
        self.assertEqual(raised.exception.status_code, 503)

    def test_a_stream_that_breaks_raises(self):
        script_next_call(chunks=5, cut_after=2)
        with self.assertRaises(anthropic.APIStatusError) as raised:
            with self.client.messages.stream(model=CHAT, max_tokens=64, messages=HELLO) as stream:
                for _ in stream:
                    pass
        self.assertEqual(raised.exception.body["error"]["type"], "api_error")


if __name__ == "__main__":
    unittest.main()
