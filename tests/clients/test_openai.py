"""Tests the openai package for Python against a running forebay. Started by scripts/test-clients."""

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
AGENT, ALIAS, OTHER_ALIAS = "acme/agent", "claude-forebay", "forebay-agent"
HELLO = [{"role": "user", "content": "Say hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather at a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}


def engine_state():
    with urllib.request.urlopen(f"{ENGINE_URL}/state", timeout=5) as response:
        return json.load(response)


def script_next_call(**script):
    body = json.dumps(script).encode()
    urllib.request.urlopen(urllib.request.Request(f"{ENGINE_URL}/script/next", body, method="POST"), timeout=5).close()


def wait_until(condition, what, seconds=5):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0, timeout=30)
        self.addCleanup(self.client.close)


class Completions(ClientTest):
    def test_a_prompt_is_completed(self):
        response = self.client.completions.create(model=CHAT, prompt="Say hello", max_tokens=8, logprobs=1, echo=True)
        self.assertEqual(response.choices[0].text, "Say helloHello Hello Hello ")
        self.assertEqual(response.choices[0].logprobs.token_logprobs, [-0.5])
        self.assertEqual((response.object, response.model), ("text_completion", CHAT))
        self.assertEqual(response.usage.completion_tokens, 3)

    def test_prompts_have_choices_each(self):
        for prompt, count in [(["a", "b"], 2), ([1, 2], 1), ([[1], [2], [3]], 3)]:
            response = self.client.completions.create(model=CHAT, prompt=prompt, n=2)
            self.assertEqual([choice.index for choice in response.choices], list(range(2 * count)))

    def test_a_stream_has_the_text_and_the_usage(self):
        options = {"include_usage": True}
        with self.client.completions.create(
            model=CHAT, prompt="Say hello", stream=True, stream_options=options
        ) as stream:
            chunks = list(stream)
        text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
        self.assertEqual(text, "Hello Hello Hello ")
        self.assertEqual(chunks[-2].choices[0].finish_reason, "stop")
        self.assertEqual((chunks[-1].choices, chunks[-1].usage.total_tokens), ([], 13))

    def test_a_missing_prompt_is_a_bad_request(self):
        with self.assertRaises(openai.UnprocessableEntityError) as raised:
            self.client.completions.create(model=CHAT, prompt=[])
        self.assertEqual(raised.exception.param, "prompt")


class Chat(ClientTest):
    def test_a_unary_response_echoes_the_model_and_has_a_request_id(self):
        response = self.client.chat.completions.create(model=CHAT, messages=HELLO)
        self.assertEqual(response.choices[0].message.content, "Hello Hello Hello ")
        self.assertEqual(response.choices[0].finish_reason, "stop")
        self.assertEqual(response.model, CHAT)
        self.assertEqual(response.usage.total_tokens, response.usage.prompt_tokens + response.usage.completion_tokens)
        self.assertTrue(response._request_id.startswith("req_"), response._request_id)

    def test_request_ids_are_unique(self):
        ids = {self.client.chat.completions.create(model=CHAT, messages=HELLO)._request_id for _ in range(5)}
        self.assertEqual(len(ids), 5)

    def test_a_unary_response_passes_strict_validation(self):
        strict = openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, _strict_response_validation=True)
        self.addCleanup(strict.close)
        strict.chat.completions.create(model=CHAT, messages=HELLO)

    def test_a_stream_has_the_complete_text_and_no_usage_by_default(self):
        with self.client.chat.completions.create(model=CHAT, messages=HELLO, stream=True) as stream:
            chunks = list(stream)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "Hello Hello Hello ")
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")
        self.assertEqual({chunk.model for chunk in chunks}, {CHAT})
        self.assertEqual(len({(chunk.id, chunk.created) for chunk in chunks}), 1)
        self.assertTrue(all(chunk.usage is None for chunk in chunks))

    def test_usage_is_last_if_requested(self):
        options = {"include_usage": True}
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, stream_options=options
        ) as stream:
            chunks = list(stream)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, 3)
        self.assertTrue(all(chunk.usage is None for chunk in chunks[:-1]))

    def test_the_stream_helper_gets_a_complete_response(self):
        with self.client.chat.completions.stream(model=CHAT, messages=HELLO) as stream:
            deltas = [event.delta for event in stream if event.type == "content.delta"]
            response = stream.get_final_completion()
        self.assertEqual("".join(deltas), "Hello Hello Hello ")
        self.assertEqual(response.choices[0].message.content, "Hello Hello Hello ")
        self.assertEqual(response.choices[0].message.role, "assistant")

    def test_text_is_preserved_for_any_chunking(self):
        fake = {"text": "héllo 🌊 ", "split": 3, "comments": True, "crlf": True}
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, extra_body={"fake": fake}
        ) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        self.assertEqual(text, "héllo 🌊 " * 3)

    def test_a_stream_that_is_cut_off_raises(self):
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, extra_body={"fake": {"cut_after": 1}}
        ) as stream:
            with self.assertRaises(openai.APIError) as raised:
                list(stream)
        self.assertEqual(raised.exception.code, "bad_gateway")

    def test_a_stream_that_is_kept_alive_succeeds_or_raises(self):
        slow = {"delay_ms": 1_500}
        for fake, code in [(slow, None), (slow | {"status": 400}, "invalid_value")]:
            with self.client.chat.completions.create(
                model=CHAT, messages=HELLO, stream=True, extra_body={"fake": fake}, extra_headers={"X-Keep-Alive": "1"}
            ) as stream:
                try:
                    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
                    self.assertEqual((text, code), ("Hello Hello Hello ", None))
                except openai.APIError as error:
                    self.assertEqual(error.code, code)

    def test_a_flex_call_says_its_tier(self):
        call = {"model": CHAT, "messages": HELLO, "service_tier": "flex"}
        self.assertEqual(self.client.chat.completions.create(**call).service_tier, "flex")
        options = {"include_usage": True}
        with self.client.chat.completions.create(stream=True, stream_options=options, **call) as stream:
            self.assertEqual({chunk.service_tier for chunk in stream}, {"flex"})
        response = self.client.responses.create(model=CHAT, input="Say hello", service_tier="flex")
        self.assertEqual(response.service_tier, "flex")

    def test_many_concurrent_calls_succeed(self):
        async def call_many():
            async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0) as client:
                create = client.chat.completions.create
                return await asyncio.gather(*(create(model=CHAT, messages=HELLO) for _ in range(50)))

        responses = asyncio.run(call_many())
        self.assertEqual({response.choices[0].message.content for response in responses}, {"Hello Hello Hello "})


class PassingThrough(ClientTest):
    def call_echo(self, **members):
        response = self.client.chat.completions.create(model=ECHO, messages=HELLO, **members)
        return json.loads(response.choices[0].message.content)

    def test_tools_reach_the_engine_and_tool_calls_come_back(self):
        seen = self.call_echo(tools=[WEATHER], tool_choice="auto")
        self.assertEqual(seen["body"]["tools"], [WEATHER])
        self.assertEqual(seen["body"]["tool_choice"], "auto")

        call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"place":"Oslo"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        raw = {"id": "x", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice], "usage": usage}
        response = self.client.chat.completions.create(
            model=CHAT, messages=HELLO, tools=[WEATHER], extra_body={"fake": {"raw_body": json.dumps(raw)}}
        )
        self.assertEqual(response.choices[0].finish_reason, "tool_calls")
        self.assertEqual(response.choices[0].message.tool_calls[0].model_dump(), call)

    def test_unknown_members_are_passed_through(self):
        extra = {"top_k": 5, "chat_template_kwargs": {"thinking": False, "deep": [1, {"a": None}]}}
        seen = self.call_echo(temperature=0.5, extra_body=extra)
        self.assertEqual({name: seen["body"][name] for name in extra}, extra)
        self.assertEqual(seen["body"]["temperature"], 0.5)
        self.assertEqual(seen["body"]["messages"], HELLO)

    def test_the_engine_gets_its_own_model_name_and_not_the_key(self):
        seen = self.call_echo()
        self.assertEqual(seen["body"]["model"], "echo-upstream-name")
        self.assertNotIn(API_KEY, json.dumps(seen))


class Embeddings(ClientTest):
    def test_base64_and_float_have_the_same_values(self):
        texts = ["one", "two"]
        default = self.client.embeddings.create(model=EMBED, input=texts)
        floats = self.client.embeddings.create(model=EMBED, input=texts, encoding_format="float")
        vectors = [item.embedding for item in default.data]
        self.assertEqual(vectors, [item.embedding for item in floats.data])
        self.assertEqual([item.index for item in default.data], [0, 1])
        self.assertNotEqual(vectors[0], vectors[1])
        self.assertEqual(default.model, EMBED)

    def test_base64_works_with_an_engine_that_ignores_it(self):
        expected = self.client.embeddings.create(model=EMBED, input="one", encoding_format="float")
        fake = {"fake": {"embed_as": "float"}}
        found = self.client.embeddings.create(model=EMBED, input="one", extra_body=fake)
        self.assertEqual(found.data[0].embedding, expected.data[0].embedding)


class Models(ClientTest):
    def test_models_are_listed_and_retrieved_by_id_with_a_slash(self):
        models = {model.id: model for model in self.client.models.list()}
        reranking = {"acme/rerank", "acme/rerank-tei"}
        self.assertEqual(set(models), {CHAT, EMBED, UNSTEADY, ECHO, AGENT, ALIAS, OTHER_ALIAS} | reranking)
        self.assertEqual(models[ALIAS].alias_of, AGENT)
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

    def test_400_for_a_missing_parameter(self):
        def call():
            self.client.post("/chat/completions", body={"model": CHAT}, cast_to=object)

        self.check(openai.BadRequestError, (400, "invalid_request_error", "missing_parameter", "messages"), call)

    def test_401_for_an_unknown_key(self):
        unauthenticated = self.client.with_options(api_key="sk-abcdefghijkl-" + "x" * 40)
        for call in (lambda: unauthenticated.models.list(), lambda: unauthenticated.chat.completions.create(model="", messages=[])):
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

    def test_422_names_the_path_inside_a_list(self):
        def call():
            self.client.chat.completions.create(model=CHAT, messages=[{"role": "robot", "content": "x"}])

        self.check(
            openai.UnprocessableEntityError, (422, "invalid_request_error", "invalid_value", "messages[0].role"), call
        )

    def test_503_has_the_engine_s_retry_after(self):
        script_next_call(status=503, retry_after="7")

        def call():
            self.client.chat.completions.create(model=UNSTEADY, messages=HELLO)

        error = self.check(openai.InternalServerError, (503, "service_unavailable", "model_not_serving", ""), call)
        self.assertEqual(error.response.headers["retry-after"], "7")


class RetriesAndAborts(ClientTest):
    def test_a_retry_waits_for_the_retry_after_of_a_503(self):
        served = engine_state()["served"]
        script_next_call(status=503, retry_after="2")
        started = time.monotonic()
        retrying = self.client.with_options(max_retries=2)
        response = retrying.chat.completions.create(model=UNSTEADY, messages=HELLO)
        self.assertEqual(response.choices[0].message.content, "Hello Hello Hello ")
        self.assertGreaterEqual(time.monotonic() - started, 1.9)
        self.assertEqual(engine_state()["served"] - served, 2)

    def test_closing_a_stream_cancels_the_engine_call(self):
        cancelled = engine_state()["cancelled"]
        fake = {"chunks": 10_000, "chunk_delay_ms": 20}
        with self.client.chat.completions.create(
            model=CHAT, messages=HELLO, stream=True, extra_body={"fake": fake}
        ) as stream:
            next(iter(stream))
        wait_until(lambda: engine_state()["cancelled"] > cancelled, "the engine's call is cancelled")

    def test_a_client_timeout_cancels_a_unary_call(self):
        cancelled = engine_state()["cancelled"]
        with self.assertRaises(openai.APITimeoutError):
            self.client.with_options(timeout=0.3).chat.completions.create(
                model=CHAT, messages=HELLO, extra_body={"fake": {"delay_ms": 60_000}}
            )
        wait_until(lambda: engine_state()["cancelled"] > cancelled, "the engine's call is cancelled")


if __name__ == "__main__":
    unittest.main()
