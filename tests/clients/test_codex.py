"""Runs Codex against a running forebay. Started by scripts/test-clients."""

import json
import unittest

import agent_engine
import agent_programs
from agent_test import BASE_URL, TOO_LONG, AgentTest, engine
import openai

# Codex knows it, and sends it tools in the conversation, in namespaces, and custom ones.
KNOWN_MODEL = "gpt-6-sol"


class Codex(AgentTest):
    def run_agent(self, *arguments, key=None):
        """The events of a turn."""
        program = agent_programs.codex(self.home, BASE_URL, key or self.key, "forebay-agent", *arguments)
        return agent_programs.codex_events(self.run_program(*program))

    def assert_file_is_written(self, events):
        self.assert_file_has_content(events)
        messages = [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"]
        self.assertEqual(messages[-1], agent_engine.DONE)

    def test_a_tool_loop_changes_a_file_and_is_billed_as_it_was_served(self):
        self.assert_file_is_written(self.run_agent(self.task))
        self.assert_billed_as_served()

    def test_tools_of_a_model_that_it_knows_are_turned_back(self):
        self.assert_file_is_written(self.run_agent("--model", KNOWN_MODEL, self.task))
        self.assert_billed_as_served()

    def test_it_survives_an_engine_that_dies(self):
        engine("/reset", ["die"])
        self.assert_file_is_written(self.run_agent(self.task))

    def test_it_survives_a_cold_start(self):
        engine("/reset", [{"delay": 20}])
        self.assert_file_is_written(self.run_agent(self.task))
        state = engine("/state")
        self.assertEqual(state["requests"], state["served"], "no call is made twice")

    def test_it_survives_an_engine_that_is_busy(self):
        engine("/reset", [{"status": 503, "message": "busy"}])
        self.assert_file_is_written(self.run_agent(self.task))

    def test_it_waits_for_a_limit(self):
        key = self.admin("keys", "create", "--name", "codex", "--requests-per-minute", "30")["key"]
        client = openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0)
        self.addCleanup(client.close)
        with self.assertRaises(openai.RateLimitError):
            for _ in range(60):
                client.responses.input_tokens.count(model="acme/agent", input="hi")
        self.assert_file_is_written(self.run_agent(self.task, key=key))

    def test_it_says_what_its_key_may_not_do(self):
        for restrictions, expected in [
            (["--budget", "month=0"], "Quota exceeded"),
            (["--allow-model", "acme/tiny-*"], "no model is called `forebay-agent`"),
            (["--permission", "endpoints:read"], "does not have the permission `inference`"),
        ]:
            with self.subTest(expected):
                key = self.restricted_key(*restrictions)
                program = agent_programs.codex(self.home, BASE_URL, key, "forebay-agent", self.task)
                last = agent_programs.codex_events(self.run_program(*program, fails=True))[-1]
                self.assertEqual(last["type"], "turn.failed", last)
                self.assertIn(expected, last["error"]["message"])
        self.assertEqual(engine("/state")["requests"], 0)

    def test_it_compacts_a_conversation_that_is_too_long(self):
        # Forebay asks again without a limit, to find out whether the prompt alone is too long.
        engine("/reset", [None, TOO_LONG, TOO_LONG])
        events = self.run_failing_turn()
        self.assertIn("context", json.dumps(events).lower())
        self.run_agent("resume", "--last", "Go on.")
        self.assertGreaterEqual(engine("/state")["served"], 3, "a call, a summary, and the next turn")

    def run_failing_turn(self):
        try:
            return self.run_agent(self.task)
        except AssertionError as failure:
            return [str(failure)]


if __name__ == "__main__":
    unittest.main()
