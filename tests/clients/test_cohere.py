"""Tests the cohere package against a running forebay. Started by scripts/test-clients."""

import os
import unittest

import cohere

BASE_URL = os.environ["FOREBAY_BASE_URL"].removesuffix("/v1")
API_KEY = os.environ["FOREBAY_API_KEY"]
MODELS = ["acme/rerank", "acme/rerank-tei"]
DOCUMENTS = ["a", "the longest", "middle"]


class Rerank(unittest.TestCase):
    def test_the_first_api_sorts_and_repeats_documents(self):
        client = cohere.Client(API_KEY, base_url=BASE_URL)
        for model in MODELS:
            documents = [DOCUMENTS[0], {"text": DOCUMENTS[1]}, DOCUMENTS[2]]
            response = client.rerank(model=model, query="q", documents=documents, top_n=2, return_documents=True)
            self.assertEqual([result.index for result in response.results], [1, 2])
            self.assertEqual(response.results[0].document.text, DOCUMENTS[1])
            self.assertEqual(response.results[0].relevance_score, len(DOCUMENTS[1]))
            self.assertEqual(response.meta.billed_units.search_units, 1)

    def test_the_second_api_sorts(self):
        client = cohere.ClientV2(API_KEY, base_url=BASE_URL)
        for model in MODELS:
            response = client.rerank(model=model, query="q", documents=DOCUMENTS, priority=3)
            self.assertEqual([result.index for result in response.results], [1, 2, 0])
            self.assertTrue(response.id.startswith("rerank-"), response.id)

    def test_a_missing_model_raises(self):
        with self.assertRaises(cohere.NotFoundError):
            cohere.ClientV2(API_KEY, base_url=BASE_URL).rerank(model="acme/none", query="q", documents=DOCUMENTS)


if __name__ == "__main__":
    unittest.main()
