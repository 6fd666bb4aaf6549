"""What the tests of all agents share: folders of their own, the engine that plays the model, and the bill."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import urllib.request

import agent_engine

BASE_URL = os.environ["FOREBAY_BASE_URL"]
ENGINE_URL = os.environ["AGENT_ENGINE_URL"]

MODEL = "acme/agent"
TIMEOUT_SECS = 120
TOO_LONG = {
    "status": 400,
    "message": "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
}


def engine(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{ENGINE_URL}{path}", data), timeout=5) as response:
        return json.load(response)


class AgentTest(unittest.TestCase):
    def setUp(self):
        engine("/reset", [])
        folder = tempfile.TemporaryDirectory(prefix="forebay-agent.", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name) / "home"
        self.work = pathlib.Path(folder.name) / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.file = self.work / "note.txt"
        self.task = agent_engine.TASK + str(self.file)
        # A key of its own: calls of the test before may be billed while this one runs.
        created = self.admin("keys", "create", "--name", "agent")
        self.key, self.key_id = created["key"], created["id"]

    def run_program(self, command, environment, fails=False):
        done = subprocess.run(
            command, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=TIMEOUT_SECS,
        )
        self.assertEqual(done.returncode != 0, fails, done.stdout + done.stderr)
        return done.stdout

    def restricted_key(self, *restrictions):
        return self.admin("keys", "create", "--name", "restricted", *restrictions)["key"]

    def admin(self, *arguments):
        """The record that `forebay admin` prints about the workspace."""
        command = [os.environ["FOREBAY"], "admin", *arguments, "--workspace", os.environ["FOREBAY_WORKSPACE"], "--json"]
        command += ["--config", os.environ["FOREBAY_CONFIG"], "--data-dir", os.environ["FOREBAY_DATA_DIR"]]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def usage(self):
        """Requests and tokens that were billed for the model of the agent."""
        shown = self.admin("usage", "show", "--group-by", "model,key")
        rows = [row for row in shown["data"] if (row["model"], row["key"]) == (MODEL, self.key_id)]
        return [sum(row[name] for row in rows) for name in ("requests", "promptTokens", "completionTokens")]

    def assert_billed_as_served(self):
        """Every call was made once, and the bill equals what the engine has counted."""
        deadline = time.monotonic() + 10
        while True:
            state, billed = engine("/state"), self.usage()
            served = [state["served"], state["prompt"], state["completion"]]
            if state["requests"] == state["served"] and billed == served:
                return
            self.assertLess(time.monotonic(), deadline, f"billed {billed}, served {served}, requests {state['requests']}")
            time.sleep(0.1)

    def assert_file_has_content(self, output):
        self.assertTrue(self.file.exists(), output)
        self.assertEqual(self.file.read_text(), agent_engine.CONTENT, output)
