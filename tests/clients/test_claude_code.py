"""Runs Claude Code against a running forebay. Started by scripts/test-clients."""

import json
import unittest

import agent_engine
import agent_programs
import anthropic
from agent_test import BASE_URL, TOO_LONG, AgentTest, engine

MODEL = "claude-forebay"


class ClaudeCode(AgentTest):
    def run_agent(self, key=None):
        return json.loads(self.run_program(*agent_programs.claude_code(self.home, BASE_URL, key or self.key, MODEL, self.task)))

    def assert_file_is_written(self, result):
        self.assert_file_has_content(result)
        self.assertEqual(result["result"], agent_engine.DONE)

    def test_a_tool_loop_changes_a_file_and_is_billed_as_it_was_served(self):
        self.assert_file_is_written(self.run_agent())
        self.assert_billed_as_served()

    def test_it_survives_an_engine_that_dies(self):
        engine("/reset", ["die"])
        self.assert_file_is_written(self.run_agent())

    def test_it_survives_a_cold_start(self):
        engine("/reset", [{"delay": 20}])
        self.assert_file_is_written(self.run_agent())
        state = engine("/state")
        self.assertEqual(state["requests"], state["served"], "no call is made twice")

    def test_it_compacts_a_conversation_that_is_too_long(self):
        # Forebay asks again without a limit, to find out whether the prompt alone is too long.
        engine("/reset", [None, TOO_LONG, TOO_LONG])
        result = self.run_agent()
        self.assert_file_has_content(result)
        self.assertFalse(result["is_error"], result)
        self.assertGreaterEqual(engine("/state")["requests"], 5, "a call, two that are too long, a summary, and the rest")

    def test_it_waits_for_a_limit(self):
        key = self.admin("keys", "create", "--name", "limited", "--requests-per-minute", "30")["key"]
        client = anthropic.Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=key, max_retries=0)
        self.addCleanup(client.close)
        with self.assertRaises(anthropic.RateLimitError):
            for _ in range(60):
                client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hi"}])
        self.assert_file_is_written(self.run_agent(key=key))

    def test_it_says_what_its_key_may_not_do(self):
        for restrictions, expected in [
            (["--budget", "month=0"], "(window `month`): 0.00 USD"),
            (["--allow-model", "acme/tiny-*"], "issue with the selected model (claude-forebay)"),
            (["--permission", "endpoints:read"], "does not have the permission `inference`"),
        ]:
            with self.subTest(expected):
                key = self.restricted_key(*restrictions)
                program = agent_programs.claude_code(self.home, BASE_URL, key, MODEL, self.task)
                result = json.loads(self.run_program(*program, fails=True))
                self.assertIn(expected, result["result"])
        self.assertEqual(engine("/state")["requests"], 0)

    def test_it_survives_an_engine_that_is_busy(self):
        engine("/reset", [{"status": 503, "message": "busy"}])
        self.assert_file_is_written(self.run_agent())


if __name__ == "__main__":
    unittest.main()
