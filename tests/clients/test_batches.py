"""Tests files and batches with the openai and anthropic packages for Python. Started by scripts/test-clients."""

import io
import json
import time
import unittest

import anthropic
import openai
from anthropic.types.messages import MessageBatchIndividualResponse
from openai.types import Completion, CreateEmbeddingResponse
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from test_openai import API_KEY, BASE_URL, CHAT, EMBED, HELLO, script_next_call, wait_until

CHATS = "/v1/chat/completions"
TEXT = "Hello Hello Hello "
HOUR = 3600
SECONDS = 30


class Unseekable(io.BytesIO):
    def tell(self):
        raise OSError("a stream has no position")


def line(custom_id, url=CHATS, **body):
    body = body or {"model": CHAT, "messages": HELLO}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body}) + "\n"


def slow_line(custom_id):
    return line(custom_id, model=CHAT, messages=HELLO, fake={"delay_ms": 60_000})


class FilesTest(unittest.TestCase):
    def setUp(self):
        options = {"base_url": BASE_URL, "api_key": API_KEY, "max_retries": 0, "timeout": 30}
        self.client = openai.OpenAI(_strict_response_validation=True, **options)
        self.addCleanup(self.client.close)

    def upload(self, content, **members):
        return self.client.files.create(file=("lines.jsonl", content.encode()), purpose="batch", **members)

    def lines_of(self, file_id):
        lines = map(json.loads, self.client.files.content(file_id).text.splitlines())
        return {line["custom_id"]: line for line in lines}


class Files(FilesTest):
    def test_a_file_is_stored_listed_read_and_deleted(self):
        content = line("a") + line("ü")
        file = self.upload(content, expires_after={"anchor": "created_at", "seconds": HOUR})
        self.assertEqual((file.object, file.purpose, file.filename), ("file", "batch", "lines.jsonl"))
        self.assertEqual((file.bytes, file.status), (len(content.encode()), "processed"))
        self.assertEqual(file.expires_at - file.created_at, HOUR)
        self.assertEqual(self.client.files.retrieve(file.id), file)
        self.assertEqual(self.client.files.wait_for_processing(file.id), file)
        self.assertEqual(self.client.files.content(file.id).read(), content.encode())
        with self.client.files.with_streaming_response.content(file.id) as response:
            self.assertEqual(b"".join(response.iter_bytes(chunk_size=7)), content.encode())
        deleted = self.client.files.delete(file.id)
        self.assertEqual((deleted.id, deleted.deleted), (file.id, True))
        for call in (self.client.files.retrieve, self.client.files.content, self.client.files.delete):
            with self.assertRaises(openai.NotFoundError) as caught:
                call(file.id)
            self.assertEqual(caught.exception.code, "file_not_found")

    def test_lists_have_pages(self):
        ids = [self.upload(line("a")).id for _ in range(3)]
        newest = [file.id for file in self.client.files.list(limit=2, purpose="batch")]
        oldest = [file.id for file in self.client.files.list(limit=2, purpose="batch", order="asc")]
        self.assertEqual(newest[:3], ids[::-1])
        self.assertEqual(oldest, newest[::-1])
        page = self.client.files.list(limit=1, after=ids[1])
        self.assertEqual([file.id for file in page.data], ids[:1])

    def test_a_file_of_unknown_length_is_stored(self):
        file = self.client.files.create(file=("a.jsonl", Unseekable(b"a\n" * 3)), purpose="batch")
        self.assertEqual(self.client.files.content(file.id).read(), b"a\n" * 3)

    def test_errors_name_the_field(self):
        expiry = {"anchor": "created_at", "seconds": HOUR - 1}
        for members, param in [
            ({"purpose": "fine-tune"}, "purpose"),
            ({"purpose": "batch", "expires_after": expiry}, "expires_after[seconds]"),
        ]:
            with self.assertRaises(openai.UnprocessableEntityError) as caught:
                self.client.files.create(file=b"x", **members)
            self.assertEqual((caught.exception.code, caught.exception.param), ("invalid_value", param))


class Batches(FilesTest):
    def create(self, content, endpoint=CHATS, **members):
        file = self.upload(content)
        batch = self.client.batches.create(
            input_file_id=file.id, endpoint=endpoint, completion_window="24h", **members
        )
        self.assertEqual((batch.object, batch.status, batch.input_file_id), ("batch", "validating", file.id))
        return batch

    def wait_for(self, batch, *statuses):
        def reached():
            nonlocal batch
            batch = self.client.batches.retrieve(batch.id)
            return batch.status in statuses

        wait_until(reached, f"the batch is {statuses}", SECONDS)
        return batch

    def test_a_batch_has_its_results_and_errors(self):
        lines = line("a") + line("bad", model=CHAT, messages=HELLO, temperature=9) + line("b")
        expiry = {"anchor": "created_at", "seconds": HOUR}
        created = self.create(lines, metadata={"team": "search"}, output_expires_after=expiry)
        batch = self.wait_for(created, "completed")
        counts = batch.request_counts
        self.assertEqual((counts.total, counts.completed, counts.failed), (3, 2, 1))
        self.assertEqual((batch.metadata, batch.model, batch.errors), ({"team": "search"}, CHAT, None))
        self.assertEqual((batch.usage.input_tokens, batch.usage.output_tokens, batch.usage.total_tokens), (20, 6, 26))
        times = [batch.created_at, batch.in_progress_at, batch.finalizing_at, batch.completed_at]
        self.assertEqual(times, sorted(times))
        output = self.lines_of(batch.output_file_id)
        self.assertEqual(set(output), {"a", "b"})
        for found in output.values():
            response = ChatCompletion.model_validate(found["response"]["body"])
            self.assertEqual((response.choices[0].message.content, response.model), (TEXT, CHAT))
            self.assertEqual((found["response"]["status_code"], found["error"]), (200, None))
        errors = self.lines_of(batch.error_file_id)
        self.assertEqual(list(errors), ["bad"])
        response = errors["bad"]["response"]
        self.assertEqual((response["status_code"], response["body"]["error"]["param"]), (422, "temperature"))
        file = self.client.files.retrieve(batch.output_file_id)
        self.assertEqual(file.purpose, "batch_output")
        self.assertAlmostEqual(file.expires_at - file.created_at, HOUR, delta=SECONDS)
        self.assertIn(file.id, [file.id for file in self.client.files.list(purpose="batch_output")])
        with self.assertRaises(openai.ConflictError) as caught:
            self.client.batches.cancel(batch.id)
        self.assertEqual(caught.exception.code, "batch_not_cancellable")

    def test_results_of_other_endpoints_have_their_shape(self):
        for endpoint, read, body in [
            ("/v1/embeddings", CreateEmbeddingResponse.model_validate, {"model": EMBED, "input": ["a", "b"]}),
            ("/v1/completions", Completion.model_validate, {"model": CHAT, "prompt": "a"}),
            ("/v1/responses", lambda found: Response.construct(**found), {"model": CHAT, "input": "a"}),
        ]:
            batch = self.wait_for(self.create(line("a", endpoint, **body), endpoint), "completed", "failed")
            response = read(self.lines_of(batch.output_file_id)["a"]["response"]["body"])
            self.assertEqual(response.model, body["model"])
            self.assertEqual(getattr(response, "output_text", TEXT), TEXT)

    def test_an_invalid_file_fails_with_its_lines(self):
        batch = self.wait_for(self.create(line("a") + "nothing\n" + line("a")), "failed")
        found = [(error.line, error.code) for error in batch.errors.data]
        self.assertEqual(found, [(2, "invalid_json_line"), (3, "duplicate_custom_id")])
        self.assertEqual((batch.output_file_id, batch.error_file_id), (None, None))

    def test_cancelling_ends_lines_that_run(self):
        batch = self.wait_for(self.create(slow_line("a") + slow_line("b")), "in_progress")
        self.assertIn(self.client.batches.cancel(batch.id).status, ("cancelling", "cancelled"))
        batch = self.wait_for(batch, "cancelled")
        self.assertGreaterEqual(batch.cancelled_at, batch.cancelling_at)
        errors = self.lines_of(batch.error_file_id)
        codes = {name: found["error"]["code"] for name, found in errors.items()}
        self.assertEqual(codes, {"a": "batch_cancelled", "b": "batch_cancelled"})

    def test_a_creation_is_repeated_and_lists_have_pages(self):
        file = self.upload(line("a"))
        members = {"endpoint": CHATS, "completion_window": "24h"}
        repeated = {"Idempotency-Key": f"key-{time.time_ns()}"}
        batches = [
            self.client.batches.create(input_file_id=file.id, extra_headers=headers, **members)
            for headers in (None, repeated, repeated)
        ]
        self.assertEqual(batches[1].id, batches[2].id)
        listed = [batch.id for batch in self.client.batches.list(limit=1)]
        self.assertEqual(listed[:2], [batches[1].id, batches[0].id])
        self.assertEqual(len(listed), len(set(listed)))
        for batch in batches:
            self.wait_for(batch, "completed")

    def test_errors_name_the_field(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.batches.create(input_file_id="file-none", endpoint=CHATS, completion_window="24h")
        self.assertEqual((caught.exception.code, caught.exception.param), ("file_not_found", "input_file_id"))
        with self.assertRaises(openai.UnprocessableEntityError) as caught:
            self.client.batches.create(
                input_file_id=self.upload(line("a")).id, endpoint="/v1/moderations", completion_window="24h"
            )
        self.assertEqual((caught.exception.code, caught.exception.param), ("invalid_value", "endpoint"))
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.batches.retrieve("batch_none")
        self.assertEqual(caught.exception.code, "batch_not_found")


class MessageBatches(unittest.TestCase):
    def setUp(self):
        self.client = anthropic.Anthropic(
            base_url=BASE_URL.removesuffix("/v1"), api_key=API_KEY, max_retries=0, timeout=30,
            _strict_response_validation=True,
        )
        self.addCleanup(self.client.close)
        self.batches = self.client.messages.batches

    def create(self, **params):
        requests = [
            {"custom_id": name, "params": {"model": CHAT, "max_tokens": 64, "messages": HELLO} | members}
            for name, members in params.items()
        ]
        batch = self.batches.create(requests=requests)
        self.assertEqual((batch.type, batch.processing_status), ("message_batch", "in_progress"))
        self.assertEqual((batch.request_counts.processing, batch.results_url), (len(requests), None))
        return batch

    def wait_for(self, batch):
        def ended():
            nonlocal batch
            batch = self.batches.retrieve(batch.id)
            return batch.processing_status == "ended"

        wait_until(ended, "the batch ends", SECONDS)
        return batch

    def results(self, batch):
        rows = [MessageBatchIndividualResponse.model_validate(row.to_dict()) for row in self.batches.results(batch.id)]
        return {row.custom_id: row.result for row in rows}

    def test_a_batch_has_its_results_until_it_is_deleted(self):
        batch = self.wait_for(self.create(a={}, b={"max_tokens": 0}, c={"model": "acme/none"}))
        counts = batch.request_counts
        self.assertEqual((counts.processing, counts.succeeded, counts.errored), (0, 1, 2))
        self.assertGreaterEqual(batch.ended_at, batch.created_at)
        results = self.results(batch)
        self.assertEqual((results["a"].message.content[0].text, results["a"].message.model), (TEXT, CHAT))
        errors = {name: result.error.error.type for name, result in results.items() if result.type == "errored"}
        self.assertEqual(errors, {"b": "invalid_request_error", "c": "not_found_error"})
        deleted = self.batches.delete(batch.id)
        self.assertEqual((deleted.id, deleted.type), (batch.id, "message_batch_deleted"))
        for call in (self.batches.retrieve, self.batches.results, self.batches.cancel, self.batches.delete):
            with self.assertRaises(anthropic.NotFoundError):
                call(batch.id)

    def test_cancelling_ends_requests_that_run(self):
        script_next_call(delay_ms=60_000)
        batch = self.create(a={})
        with self.assertRaises(anthropic.AnthropicError):
            self.batches.results(batch.id)
        with self.assertRaises(anthropic.BadRequestError):
            self.batches.delete(batch.id)
        cancelled = self.batches.cancel(batch.id)
        self.assertIn(cancelled.processing_status, ("canceling", "ended"))
        batch = self.wait_for(batch)
        self.assertEqual(batch.request_counts.canceled, 1)
        self.assertGreaterEqual(batch.ended_at, batch.cancel_initiated_at)
        self.assertEqual([result.type for result in self.results(batch).values()], ["canceled"])

    def test_lists_have_pages(self):
        ids = [self.wait_for(self.create(a={})).id for _ in range(3)]
        self.assertEqual([batch.id for batch in self.batches.list(limit=2)][:3], ids[::-1])
        before = self.batches.list(before_id=ids[0], limit=1)
        self.assertEqual(([batch.id for batch in before.data], before.has_more), (ids[1:2], True))
        self.assertEqual([batch.id for batch in self.batches.list(before_id=ids[0], limit=1)], ids[1:])

    def test_errors_have_their_classes(self):
        for requests in ([], [{"custom_id": "a b", "params": {"model": CHAT, "max_tokens": 9, "messages": HELLO}}]):
            with self.assertRaises(anthropic.BadRequestError):
                self.batches.create(requests=requests)


if __name__ == "__main__":
    unittest.main()
