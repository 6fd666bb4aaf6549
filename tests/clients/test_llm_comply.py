"""Checks the formats of all APIs with llm-comply. Started by scripts/test-clients."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from agent_test import BASE_URL, MODEL, engine

PROGRAM = pathlib.Path(sys.executable).parent / "llm-comply"


class Formats(unittest.TestCase):
    def check(self, format, *arguments):
        engine("/reset", [])
        command = [PROGRAM, "--base-url", BASE_URL, "--api-key", os.environ["FOREBAY_API_KEY"], "--model", MODEL]
        command += ["--format", format, "--json"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)
        report = json.loads(done.stdout)
        failed = [result for result in report["results"] if result["status"] == "failed"]
        self.assertEqual(failed, [], format)
        self.assertGreater(len(report["results"]), 5)

    def test_chat(self):
        self.check("openai-chat")

    def test_responses(self):
        self.check("open-responses")

    def test_messages(self):
        self.check("anthropic", "--auth-header", "x-api-key", "--no-bearer")


if __name__ == "__main__":
    unittest.main()
