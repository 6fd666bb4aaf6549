"""Tests the litellm package as a client of a running forebay. Started by scripts/test-clients."""

import json
import os
import unittest

# Prices are not fetched from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from test_openai import API_KEY, BASE_URL, CHAT, EMBED, HELLO, wait_until  # noqa: E402

litellm.suppress_debug_info = True

CHATS = "/v1/chat/completions"
TEXT = "Hello Hello Hello "
SECONDS = 30
OPTIONS = {"api_base": BASE_URL, "api_key": API_KEY}
# Files and batches have no model, so their provider is named.
STORED = OPTIONS | {"custom_llm_provider": "openai"}
MODEL = f"openai/{CHAT}"


def line(custom_id, **members):
    body = {"model": CHAT, "messages": HELLO} | members
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": CHATS, "body": body}) + "\n"


class Completions(unittest.TestCase):
    def test_a_chat_and_its_stream(self):
        response = litellm.completion(model=MODEL, messages=HELLO, **OPTIONS)
        self.assertEqual((response.choices[0].message.content, response.usage.total_tokens), (TEXT, 13))
        chunks = litellm.completion(model=MODEL, messages=HELLO, stream=True, **OPTIONS)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), TEXT)

    def test_a_text_completion(self):
        response = litellm.text_completion(model=f"text-completion-openai/{CHAT}", prompt="Say hello", **OPTIONS)
        self.assertEqual(response.choices[0].text, TEXT)

    def test_embeddings(self):
        response = litellm.embedding(model=f"openai/{EMBED}", input=["a", "b"], **OPTIONS)
        self.assertEqual(len(response.data), 2)

    def test_errors_have_their_classes(self):
        with self.assertRaises(litellm.NotFoundError):
            litellm.completion(model="openai/acme/none", messages=HELLO, **OPTIONS)
        with self.assertRaises(litellm.AuthenticationError):
            litellm.completion(model=MODEL, messages=HELLO, **OPTIONS | {"api_key": "wrong"})


class Batches(unittest.TestCase):
    def create(self, content):
        file = litellm.create_file(file=("lines.jsonl", content.encode()), purpose="batch", **STORED)
        return litellm.create_batch(
            completion_window="24h", endpoint=CHATS, input_file_id=file.id, metadata={"team": "search"}, **STORED
        )

    def wait_for(self, batch, status):
        def reached():
            nonlocal batch
            batch = litellm.retrieve_batch(batch_id=batch.id, **STORED)
            return batch.status == status

        wait_until(reached, f"the batch is {status}", SECONDS)
        return batch

    def lines_of(self, file_id):
        content = litellm.file_content(file_id=file_id, **STORED)
        lines = map(json.loads, content.text.splitlines())
        return {found["custom_id"]: found["response"] for found in lines}

    def test_a_batch_has_its_results_and_errors(self):
        batch = self.wait_for(self.create(line("a") + line("bad", temperature=9)), "completed")
        self.assertEqual((batch.request_counts.completed, batch.request_counts.failed), (1, 1))
        self.assertEqual(batch.metadata, {"team": "search"})
        output = self.lines_of(batch.output_file_id)
        self.assertEqual(output["a"]["body"]["choices"][0]["message"]["content"], TEXT)
        self.assertEqual(self.lines_of(batch.error_file_id)["bad"]["status_code"], 422)
        self.assertIn(batch.id, [one.id for one in litellm.list_batches(limit=10, **STORED).data])

    def test_a_batch_is_cancelled(self):
        batch = self.wait_for(self.create(line("a", fake={"delay_ms": 60_000})), "in_progress")
        self.assertIn(litellm.cancel_batch(batch_id=batch.id, **STORED).status, ("cancelling", "cancelled"))
        self.wait_for(batch, "cancelled")


if __name__ == "__main__":
    unittest.main()
