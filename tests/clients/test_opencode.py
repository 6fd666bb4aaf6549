"""Runs OpenCode against a running forebay, through each of the APIs that it speaks. Started by scripts/test-clients."""

import json
import unittest

import agent_engine
import agent_programs
from agent_test import BASE_URL, AgentTest

# The packages of the AI SDK that are built into the program, by API.
PROVIDERS = {"responses": "@ai-sdk/openai", "messages": "@ai-sdk/anthropic", "chat": "@ai-sdk/openai-compatible"}


def config(api):
    model = {"name": "Agent", "tool_call": True, "limit": {"context": 200_000, "output": 8_192}}
    if api == "responses":
        model["options"] = {"store": False}
    options = {"baseURL": BASE_URL, "apiKey": "{env:FOREBAY_API_KEY}"}
    provider = {"npm": PROVIDERS[api], "name": "Forebay", "options": options, "models": {"forebay-agent": model}}
    return {
        "$schema": "https://opencode.ai/config.json",
        "provider": {"forebay": provider},
        "model": "forebay/forebay-agent",
        "small_model": "forebay/forebay-agent",
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }


class OpenCode(AgentTest):
    def run_agent(self, api):
        (self.work / "opencode.json").write_text(json.dumps(config(api)))
        environment = agent_programs.environment(
            self.home,
            FOREBAY_API_KEY=self.key,
            HTTP_PROXY=agent_programs.NOWHERE,
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
        )
        return self.run_program([agent_programs.OPENCODE, "run", "--format", "json", self.task], environment)

    def test_a_tool_loop_changes_a_file_through_every_api(self):
        for api in PROVIDERS:
            with self.subTest(api):
                self.setUp()
                output = self.run_agent(api)
                self.assert_file_has_content(output)
                self.assertIn(agent_engine.DONE, output)
                self.assert_billed_as_served()


if __name__ == "__main__":
    unittest.main()
