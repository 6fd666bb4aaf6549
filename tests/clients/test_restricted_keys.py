"""Tests what the openai and anthropic packages make of keys that may not do everything. Started by scripts/test-clients."""

import json
import os
import subprocess
import unittest

import anthropic
import openai
from test_openai import wait_until

BASE_URL = os.environ["FOREBAY_BASE_URL"]
CHAT, EMBED = "acme/tiny-chat", "acme/tiny-embed"
HELLO = [{"role": "user", "content": "Say hello"}]


def create_key(*restrictions):
    command = [os.environ["FOREBAY"], "admin", "keys", "create", "--name", "restricted", *restrictions, "--json"]
    command += ["--workspace", os.environ["FOREBAY_WORKSPACE"]]
    command += ["--config", os.environ["FOREBAY_CONFIG"], "--data-dir", os.environ["FOREBAY_DATA_DIR"]]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["key"]


class RestrictedKeys(unittest.TestCase):
    def clients(self, *restrictions):
        key = create_key(*restrictions)
        of_openai = openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0)
        of_anthropic = anthropic.Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=key, max_retries=0)
        for client in (of_openai, of_anthropic):
            self.addCleanup(client.close)
        return of_openai, of_anthropic

    def test_a_model_that_the_key_may_not_call_is_not_found(self):
        of_openai, of_anthropic = self.clients("--allow-model", "acme/tiny-e*")
        self.assertEqual([model.id for model in of_openai.models.list()], [EMBED])
        self.assertEqual(len(of_openai.embeddings.create(model=EMBED, input="hi").data), 1)
        with self.assertRaises(openai.NotFoundError) as caught:
            of_openai.chat.completions.create(model=CHAT, messages=HELLO)
        self.assertEqual((caught.exception.code, caught.exception.param), ("model_not_found", "model"))
        with self.assertRaises(openai.NotFoundError):
            of_openai.responses.create(model=CHAT, input="hi")
        with self.assertRaises(anthropic.NotFoundError) as caught:
            of_anthropic.messages.create(model=CHAT, max_tokens=5, messages=HELLO)
        self.assertIn(f"no model is called `{CHAT}`", str(caught.exception))

    def test_batches_call_only_the_models_of_their_key(self):
        of_openai, of_anthropic = self.clients("--allow-model", "acme/tiny-e*")
        body = {"model": CHAT, "messages": HELLO}
        line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
        file = of_openai.files.create(file=json.dumps(line).encode(), purpose="batch")
        batch = of_openai.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        wait_until(lambda: of_openai.batches.retrieve(batch.id).status == "failed", "the batch fails")
        self.assertEqual(of_openai.batches.retrieve(batch.id).errors.data[0].code, "model_not_found")
        batches = of_anthropic.messages.batches
        batch = batches.create(requests=[{"custom_id": "a", "params": body | {"max_tokens": 5}}])
        wait_until(lambda: batches.retrieve(batch.id).processing_status == "ended", "the batch ends")
        self.assertEqual([row.result.error.error.type for row in batches.results(batch.id)], ["not_found_error"])

    def test_a_missing_permission_is_said(self):
        of_openai, of_anthropic = self.clients("--permission", "endpoints:read")
        with self.assertRaises(openai.PermissionDeniedError) as caught:
            of_openai.chat.completions.create(model=CHAT, messages=HELLO)
        self.assertEqual(caught.exception.code, "permission_denied")
        self.assertIn("does not have the permission `inference`", caught.exception.message)
        with self.assertRaises(anthropic.PermissionDeniedError) as caught:
            of_anthropic.messages.create(model=CHAT, max_tokens=5, messages=HELLO)
        self.assertIn("does not have the permission `inference`", str(caught.exception))
        for call in (of_openai.files.list, of_openai.batches.list):
            with self.assertRaises(openai.PermissionDeniedError):
                call()
        with self.assertRaises(anthropic.PermissionDeniedError):
            of_anthropic.messages.batches.list()

    def test_a_spent_budget_is_said_and_not_tried_again(self):
        key = create_key("--budget", "month=0")
        of_openai = openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=5)
        of_anthropic = anthropic.Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=key, max_retries=5)
        for client in (of_openai, of_anthropic):
            self.addCleanup(client.close)
        with self.assertRaises(openai.RateLimitError) as caught:
            of_openai.chat.completions.create(model=CHAT, messages=HELLO)
        self.assertEqual(caught.exception.code, "budget_exceeded")
        self.assertIn("(window `month`): 0.00 USD", caught.exception.message)
        with self.assertRaises(openai.RateLimitError) as caught:
            of_openai.responses.create(model=CHAT, input="hi")
        self.assertEqual(caught.exception.code, "budget_exceeded")
        with self.assertRaises(anthropic.RateLimitError) as caught:
            of_anthropic.messages.create(model=CHAT, max_tokens=5, messages=HELLO)
        self.assertIn("budget of key", str(caught.exception))

    def test_a_key_from_elsewhere_is_an_invalid_key(self):
        of_openai, of_anthropic = self.clients("--allow-ip", "203.0.113.0/24")
        with self.assertRaises(openai.AuthenticationError):
            of_openai.models.list()
        with self.assertRaises(anthropic.AuthenticationError):
            of_anthropic.messages.create(model=CHAT, max_tokens=5, messages=HELLO)


if __name__ == "__main__":
    unittest.main()
