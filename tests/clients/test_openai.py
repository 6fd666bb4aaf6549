"""What users of the openai package for Python do, against a running forebay. Started by scripts/test-clients."""

import asyncio
import json
import os
import time
import unittest
import urllib.request

import openai

BASE_URL = os.environ["FOREBAY_BASE_URL"]
API_KEY = os.environ["FOREBAY_API_KEY"]
ENGINE_URL = os.environ["FAKE_ENGINE_URL"]

CHAT, EMBED, UNSTEADY, ECHO = "acme/tiny-chat", "acme/tiny-embed", "acme/unsteady", "acme/echo"
HELLO = [{"role": "user", "content": "Say hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}


def engine_state():
    with urllib.request.urlopen(f"{ENGINE_URL}/state", timeout=5) as answer:
        return json.load(answer)


def script_next_call(**script):
    body = json.dumps(script).encode()
    urllib.request.urlopen(urllib.request.Request(f"{ENGINE_URL}/script/next", body, method="POST"), timeout=5).close()


def wait_until(holds, what, seconds=5):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0, timeout=30)
        self.addCleanup(self.client.close)


class Chat(ClientTest):
    def test_a_unary_answer_echoes_the_model_and_has_a_request_id(self):
        answer = self.client.chat.completions.create(model=CHAT, messages=HELLO)
        self.assertEqual(answer.choices[0].message.content, "Hello Hello Hello ")
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.model, CHAT)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        self.assertTrue(answer._request_id.startswith("req_"), answer._request_id)

    def test_every_answer_has_a_request_id_of_its_own(self):
        ids = {self.client.chat.completions.create(model=CHAT, messages=HELLO)._request_id for _ in range(5)}
        self.assertEqual(len(ids), 5)

    def test_a_unary_answer_passes_strict_validation(self):
        strict = openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, _strict_response_validation=True)
        self.addCleanup(strict.close)
        strict.chat.completions.create(model=CHAT, messages=HELLO)

    def test_a_stream_brings_the_whole_text_and_no_usage_unasked(self):
        with self.client.chat.completions.create(model=CHAT, messages=HELLO, stream=True) as stream:
            chunks = list(stream)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "Hello Hello Hello ")
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")
        self.assertEqual({chunk.model for chunk in chunks}, {CHAT})
        self.assertEqual(len({(chunk.id, chunk.created) for chunk in chunks}), 1)
        self.assertTrue(all(chunk.usage is None for chunk in chunks))

    def test_usage_comes_last_when_asked_for(self):
        options = {"include_usage": True}
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, stream_options=options
        ) as stream:
            chunks = list(stream)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, 3)
        self.assertTrue(all(chunk.usage is None for chunk in chunks[:-1]))

    def test_the_stream_helper_sees_a_whole_answer(self):
        with self.client.chat.completions.stream(model=CHAT, messages=HELLO) as stream:
            deltas = [event.delta for event in stream if event.type == "content.delta"]
            answer = stream.get_final_completion()
        self.assertEqual("".join(deltas), "Hello Hello Hello ")
        self.assertEqual(answer.choices[0].message.content, "Hello Hello Hello ")
        self.assertEqual(answer.choices[0].message.role, "assistant")

    def test_text_survives_whatever_way_its_bytes_are_cut(self):
        fake = {"text": "héllo 🌊 ", "split": 3, "comments": True, "crlf": True}
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, extra_body={"fake": fake}
        ) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        self.assertEqual(text, "héllo 🌊 " * 3)

    def test_a_stream_that_breaks_raises(self):
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, extra_body={"fake": {"cut_after": 1}}
        ) as stream:
            with self.assertRaises(openai.APIError) as raised:
                list(stream)
        self.assertEqual(raised.exception.code, "bad_gateway")

    def test_many_calls_at_once_are_answered(self):
        async def call_many():
            async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0) as client:
                create = client.chat.completions.create
                return await asyncio.gather(*(create(model=CHAT, messages=HELLO) for _ in range(50)))

        answers = asyncio.run(call_many())
        self.assertEqual({answer.choices[0].message.content for answer in answers}, {"Hello Hello Hello "})


class PassingThrough(ClientTest):
    def ask_echo(self, **members):
        answer = self.client.chat.completions.create(model=ECHO, messages=HELLO, **members)
        return json.loads(answer.choices[0].message.content)

    def test_tools_reach_the_engine_and_tool_calls_come_back(self):
        seen = self.ask_echo(tools=[WEATHER], tool_choice="auto")
        self.assertEqual(seen["body"]["tools"], [WEATHER])
        self.assertEqual(seen["body"]["tool_choice"], "auto")

        call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"place":"Oslo"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        raw = {"id": "x", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice], "usage": usage}
        answer = self.client.chat.completions.create(
            model=CHAT, messages=HELLO, tools=[WEATHER], extra_body={"fake": {"raw_body": json.dumps(raw)}}
        )
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        self.assertEqual(answer.choices[0].message.tool_calls[0].model_dump(), call)

    def test_unknown_members_travel_untouched(self):
        extra = {"top_k": 5, "chat_template_kwargs": {"thinking": False, "deep": [1, {"a": None}]}}
        seen = self.ask_echo(temperature=0.5, extra_body=extra)
        self.assertEqual({name: seen["body"][name] for name in extra}, extra)
        self.assertEqual(seen["body"]["temperature"], 0.5)
        self.assertEqual(seen["body"]["messages"], HELLO)

    def test_the_engine_sees_its_own_model_name_and_not_the_key(self):
        seen = self.ask_echo()
        self.assertEqual(seen["body"]["model"], "echo-by-its-own-name")
        self.assertNotIn(API_KEY, json.dumps(seen))


class Embeddings(ClientTest):
    def test_base64_and_float_give_the_same_numbers(self):
        texts = ["one", "two"]
        default = self.client.embeddings.create(model=EMBED, input=texts)
        floats = self.client.embeddings.create(model=EMBED, input=texts, encoding_format="float")
        vectors = [item.embedding for item in default.data]
        self.assertEqual(vectors, [item.embedding for item in floats.data])
        self.assertEqual([item.index for item in default.data], [0, 1])
        self.assertNotEqual(vectors[0], vectors[1])
        self.assertEqual(default.model, EMBED)

    def test_an_engine_that_ignores_base64_makes_no_difference(self):
        expected = self.client.embeddings.create(model=EMBED, input="one", encoding_format="float")
        fake = {"fake": {"embed_as": "float"}}
        found = self.client.embeddings.create(model=EMBED, input="one", extra_body=fake)
        self.assertEqual(found.data[0].embedding, expected.data[0].embedding)


class Models(ClientTest):
    def test_the_list_and_one_by_its_id_with_a_slash(self):
        models = {model.id: model for model in self.client.models.list()}
        self.assertEqual(set(models), {CHAT, EMBED, UNSTEADY, ECHO})
        self.assertEqual((models[CHAT].object, models[CHAT].owned_by), ("model", "acme"))
        self.assertEqual(self.client.models.retrieve(CHAT).id, CHAT)


class Errors(ClientTest):
    def check(self, error_class, expected, call):
        with self.assertRaises(error_class) as raised:
            call()
        error = raised.exception
        self.assertEqual((error.status_code, error.type, error.code, error.param), expected)
        self.assertTrue(error.request_id.startswith("req_"), error.request_id)
        return error

    def test_400_for_what_is_missing(self):
        def call():
            self.client.post("/chat/completions", body={"model": CHAT}, cast_to=object)

        self.check(openai.BadRequestError, (400, "invalid_request_error", "missing_parameter", "messages"), call)

    def test_401_for_a_wrong_key(self):
        stranger = self.client.with_options(api_key="sk-abcdefghijkl-" + "x" * 40)
        for call in (lambda: stranger.models.list(), lambda: stranger.chat.completions.create(model="", messages=[])):
            self.check(openai.AuthenticationError, (401, "authentication_error", "invalid_api_key", ""), call)

    def test_404_for_an_unknown_model(self):
        def call():
            self.client.chat.completions.create(model="acme/nothing", messages=HELLO)

        self.check(openai.NotFoundError, (404, "not_found_error", "model_not_found", "model"), call)

    def test_422_for_a_value_out_of_range(self):
        def call():
            self.client.chat.completions.create(model=CHAT, messages=HELLO, temperature=3)

        self.check(
            openai.UnprocessableEntityError, (422, "invalid_request_error", "invalid_value", "temperature"), call
        )

    def test_422_names_the_place_inside_a_list(self):
        def call():
            self.client.chat.completions.create(model=CHAT, messages=[{"role": "robot", "content": "x"}])

        self.check(
            openai.UnprocessableEntityError, (422, "invalid_request_error", "invalid_value", "messages[0].role"), call
        )

    def test_503_carries_the_engine_s_retry_after(self):
        script_next_call(status=503, retry_after="7")

        def call():
            self.client.chat.completions.create(model=UNSTEADY, messages=HELLO)

        error = self.check(openai.InternalServerError, (503, "service_unavailable", "model_not_serving", ""), call)
        self.assertEqual(error.response.headers["retry-after"], "7")


class RetriesAndAborts(ClientTest):
    def test_a_retry_waits_as_long_as_the_503_says(self):
        served = engine_state()["served"]
        script_next_call(status=503, retry_after="2")
        started = time.monotonic()
        patient = self.client.with_options(max_retries=2)
        answer = patient.chat.completions.create(model=UNSTEADY, messages=HELLO)
        self.assertEqual(answer.choices[0].message.content, "Hello Hello Hello ")
        self.assertGreaterEqual(time.monotonic() - started, 1.9)
        self.assertEqual(engine_state()["served"] - served, 2)

    def test_closing_a_stream_cancels_the_engine_s_work(self):
        cancelled = engine_state()["cancelled"]
        fake = {"chunks": 10_000, "chunk_delay_ms": 20}
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, extra_body={"fake": fake}
        ) as stream:
            next(iter(stream))
        wait_until(lambda: engine_state()["cancelled"] > cancelled, "the engine's call is cancelled")

    def test_a_client_time_out_cancels_a_unary_call(self):
        cancelled = engine_state()["cancelled"]
        with self.assertRaises(openai.APITimeoutError):
            self.client.with_options(timeout=0.3).chat.completions.create(
                model=CHAT, messages=HELLO, extra_body={"fake": {"delay_ms": 60_000}}
            )
        wait_until(lambda: engine_state()["cancelled"] > cancelled, "the engine's call is cancelled")


if __name__ == "__main__":
    unittest.main()
