"""Tests Responses with the openai and openai-agents packages for Python. Started by scripts/test-clients."""

import asyncio
import json
import pathlib
import unittest

import agent_engine
import agents
import openai
from agent_test import BASE_URL, MODEL, TOO_LONG, AgentTest, engine

CHAT = "acme/tiny-chat"
TEXT = "Hello Hello Hello "
WRITE_FILE = {
    "type": "function",
    "name": "write_file",
    "description": "Writes a file",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
    },
}


class Responses(AgentTest):
    def setUp(self):
        super().setUp()
        self.client = openai.OpenAI(base_url=BASE_URL, api_key=self.key, max_retries=0, timeout=30)
        self.addCleanup(self.client.close)

    def test_a_response(self):
        response = self.client.responses.create(model=CHAT, input="Say hello", instructions="Be brief.", store=True)
        self.assertEqual((response.output_text, response.status, response.model), (TEXT, "completed", CHAT))
        self.assertEqual(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens)
        self.assertEqual((response.instructions, response.store), ("Be brief.", False))

    def test_a_stream(self):
        with self.client.responses.stream(model=CHAT, input="Say hello") as stream:
            pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
            response = stream.get_final_response()
        self.assertEqual(("".join(pieces), response.output_text), (TEXT, TEXT))

    def call(self, response):
        [call] = [item for item in response.output if item.type == "function_call"]
        written = json.loads(call.arguments)
        pathlib.Path(written["path"]).write_text(written["content"])
        return {"type": "function_call_output", "call_id": call.call_id, "output": "written"}

    def test_a_tool_loop(self):
        conversation = [{"role": "user", "content": self.task}]
        for _ in range(2):
            response = self.client.responses.create(model=MODEL, input=conversation, tools=[WRITE_FILE])
            conversation += [item.to_dict() for item in response.output]
            if any(item.type == "function_call" for item in response.output):
                conversation.append(self.call(response))
        self.assertEqual(response.output_text, agent_engine.DONE)
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT)

    def test_a_streamed_tool_loop(self):
        conversation = [{"role": "user", "content": self.task}]
        kinds = []
        for _ in range(2):
            with self.client.responses.stream(model=MODEL, input=conversation, tools=[WRITE_FILE]) as stream:
                for _ in stream:
                    pass
                response = stream.get_final_response()
            kinds.append([item.type for item in response.output])
            conversation += [item.to_dict() for item in response.output]
            if kinds[-1][-1] == "function_call":
                conversation.append(self.call(response))
        self.assertEqual(kinds, [["reasoning", "message", "function_call"], ["message"]])
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT)

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.responses.create(model=CHAT, input="hi", previous_response_id="resp_none")
        self.assertEqual((caught.exception.code, caught.exception.param), ("previous_response_not_found", "previous_response_id"))
        with self.assertRaises(openai.UnprocessableEntityError) as caught:
            self.client.responses.create(model=CHAT, input="hi", background=True)
        self.assertEqual(caught.exception.param, "background")
        engine("/reset", [TOO_LONG, TOO_LONG])
        stream = self.client.responses.create(model=MODEL, input="hi", tools=[WRITE_FILE], stream=True)
        last = list(stream)[-1]
        self.assertEqual((last.type, last.response.error.code), ("response.failed", "context_length_exceeded"))

    def test_input_tokens_are_counted(self):
        counted = self.client.responses.input_tokens.count(model=CHAT, input="Say hello")
        self.assertGreater(counted.input_tokens, 0)


class Agents(AgentTest):
    def setUp(self):
        super().setUp()
        agents.set_tracing_disabled(True)

    def agent(self):
        @agents.function_tool
        def write_file(path: str, content: str) -> str:
            pathlib.Path(path).write_text(content)
            return "written"

        client = openai.AsyncOpenAI(base_url=BASE_URL, api_key=self.key, max_retries=0, timeout=30)
        model = agents.OpenAIResponsesModel(model="forebay-agent", openai_client=client)
        return client, agents.Agent(name="Writer", instructions="Write files.", tools=[write_file], model=model)

    async def run_whole(self):
        client, agent = self.agent()
        async with client:
            return (await agents.Runner.run(agent, self.task)).final_output

    async def run_streamed(self):
        client, agent = self.agent()
        async with client:
            result = agents.Runner.run_streamed(agent, self.task)
            async for _ in result.stream_events():
                pass
            return result.final_output

    def test_a_run_changes_a_file_and_is_billed_as_it_was_served(self):
        self.assertEqual(asyncio.run(self.run_whole()), agent_engine.DONE)
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT)
        self.assert_billed_as_served()

    def test_a_streamed_run_changes_a_file(self):
        self.assertEqual(asyncio.run(self.run_streamed()), agent_engine.DONE)
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT)


if __name__ == "__main__":
    unittest.main()
