"""Runs Claude Code against a running forebay. Started by scripts/test-clients.

The program gets a home of its own, and every address that it could reach is this machine.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import urllib.request

import agent_engine
import anthropic

BASE_URL = os.environ["FOREBAY_BASE_URL"].removesuffix("/v1")
API_KEY = os.environ["FOREBAY_API_KEY"]
CLAUDE = os.environ["CLAUDE_CODE"]
ENGINE_URL = os.environ["AGENT_ENGINE_URL"]

MODEL = "claude-forebay"
TIMEOUT_SECS = 120


def engine(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{ENGINE_URL}{path}", data), timeout=5) as response:
        return json.load(response)


class Agent(unittest.TestCase):
    def setUp(self):
        engine("/reset", [])
        folder = tempfile.TemporaryDirectory(prefix="forebay-claude-code.")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name) / "home"
        self.work = pathlib.Path(folder.name) / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.file = self.work / "note.txt"

    def environment(self, key):
        nowhere = "http://127.0.0.1:9"
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": BASE_URL,
            "ANTHROPIC_AUTH_TOKEN": key,
            "ANTHROPIC_MODEL": MODEL,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": MODEL,
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "HTTPS_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1",
        }

    def run_agent(self, key=API_KEY):
        prompt = agent_engine.TASK + str(self.file)
        command = [CLAUDE, "-p", prompt, "--permission-mode", "acceptEdits", "--output-format", "json"]
        done = subprocess.run(
            command, cwd=self.work, env=self.environment(key), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=TIMEOUT_SECS,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def admin(self, *arguments):
        """The record that `forebay admin` prints about the workspace."""
        command = [os.environ["FOREBAY"], "admin", *arguments, "--workspace", os.environ["FOREBAY_WORKSPACE"], "--json"]
        command += ["--config", os.environ["FOREBAY_CONFIG"], "--data-dir", os.environ["FOREBAY_DATA_DIR"]]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def usage(self):
        """Requests and tokens that were billed for the model of the agent."""
        shown = self.admin("usage", "show", "--group-by", "model")
        rows = [row for row in shown["data"] if row["model"] == "acme/agent"]
        return [sum(row[name] for row in rows) for name in ("requests", "promptTokens", "completionTokens")]

    def assert_file_is_written(self, result):
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT, result)
        self.assertEqual(result["result"], agent_engine.DONE)

    def test_a_tool_loop_changes_a_file_and_is_billed_as_it_was_served(self):
        before = self.usage()
        self.assert_file_is_written(self.run_agent())
        state = engine("/state")
        self.assertEqual(state["requests"], state["served"], "no call is made twice")
        served = [state["served"], state["prompt"], state["completion"]]
        deadline = time.monotonic() + 10
        while (billed := [after - earlier for after, earlier in zip(self.usage(), before)]) != served:
            self.assertLess(time.monotonic(), deadline, f"billed {billed}, served {served}")
            time.sleep(0.1)

    def test_it_survives_an_engine_that_dies(self):
        engine("/reset", ["die"])
        self.assert_file_is_written(self.run_agent())

    def test_it_survives_a_cold_start(self):
        engine("/reset", [{"delay": 20}])
        self.assert_file_is_written(self.run_agent())
        state = engine("/state")
        self.assertEqual(state["requests"], state["served"], "no call is made twice")

    def test_it_compacts_a_conversation_that_is_too_long(self):
        too_long = {
            "status": 400,
            "message": "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
        }
        # Forebay asks again without a limit, to find out whether the prompt alone is too long.
        engine("/reset", [None, too_long, too_long])
        result = self.run_agent()
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT, result)
        self.assertFalse(result["is_error"], result)
        self.assertGreaterEqual(engine("/state")["requests"], 5, "a call, two that are too long, a summary, and the rest")

    def test_it_waits_for_a_limit(self):
        key = self.admin("keys", "create", "--name", "limited", "--requests-per-minute", "30")["key"]
        client = anthropic.Anthropic(base_url=BASE_URL, api_key=key, max_retries=0)
        self.addCleanup(client.close)
        with self.assertRaises(anthropic.RateLimitError):
            for _ in range(60):
                client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hi"}])
        self.assert_file_is_written(self.run_agent(key=key))

    def test_it_survives_an_engine_that_is_busy(self):
        engine("/reset", [{"status": 503, "message": "busy"}])
        self.assert_file_is_written(self.run_agent())


if __name__ == "__main__":
    unittest.main()
