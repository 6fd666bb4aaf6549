#!/usr/bin/env python3
"""Computes the reference vectors of the embedding tests with the model's published pipeline.

    python3 -m venv v && v/bin/pip install sentence-transformers
    v/bin/python crates/engine/tests/reference/make.py data/models/all-minilm-l6-v2

This is the pipeline of the model card: SentenceTransformer(folder).encode(sentences), i.e. the model's
tokenizer, BertModel in PyTorch, mean pooling and normalization as modules.json says, 32-bit floats on the CPU.
"""

import json
import pathlib
import sys

from sentence_transformers import SentenceTransformer

SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A cheetah is running behind its prey.",
    "How do I reset my password?",
    "I forgot my login and need a new one.",
    "The quarterly report is due on Friday.",
    "Zürich, naïve façade — coöperate! ÀÉÎÕÜ",
    "東京は日本の首都です。",
    "Emoji 👋🏽 and symbols: €100, 50%, C++ & #hashtag @user",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "  spaces\tand\nnew lines   ",
    "x",
    "The quick brown fox jumps over the lazy dog. " * 12,
]

model = SentenceTransformer(sys.argv[1], device="cpu")
vectors = model.encode(SENTENCES, batch_size=1)
tokens = [len(model.tokenizer(sentence)["input_ids"]) for sentence in SENTENCES]
records = [
    {"text": text, "tokens": count, "vector": [round(float(value), 6) for value in vector]}
    for text, count, vector in zip(SENTENCES, tokens, vectors)
]
target = pathlib.Path(__file__).with_name("all-minilm-l6-v2.json")
target.write_text("[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]\n")
