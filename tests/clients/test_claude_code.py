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

    def environment(self):
        nowhere = "http://127.0.0.1:9"
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": BASE_URL,
            "ANTHROPIC_AUTH_TOKEN": API_KEY,
            "ANTHROPIC_MODEL": MODEL,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": MODEL,
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "HTTPS_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1",
        }

    def run_agent(self, *arguments):
        prompt = agent_engine.TASK + str(self.file)
        command = [CLAUDE, "-p", prompt, "--permission-mode", "acceptEdits", "--output-format", "json", *arguments]
        done = subprocess.run(
            command, cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=TIMEOUT_SECS,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def usage(self):
        """Requests and tokens that were billed for the model of the agent."""
        command = [os.environ["FOREBAY"], "admin", "usage", "show", "--workspace", os.environ["FOREBAY_WORKSPACE"]]
        command += ["--group-by", "model", "--json", "--config", os.environ["FOREBAY_CONFIG"]]
        command += ["--data-dir", os.environ["FOREBAY_DATA_DIR"]]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        rows = [row for row in json.loads(shown.stdout)["data"] if row["model"] == "acme/agent"]
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

    def test_it_survives_an_engine_that_is_busy(self):
        engine("/reset", [{"status": 503, "message": "busy"}])
        self.assert_file_is_written(self.run_agent())


if __name__ == "__main__":
    unittest.main()
