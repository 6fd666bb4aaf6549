"""What vLLM does that serves embeddings, or waiting calls by priority."""

import math
import threading
import time

from gateway import CONTEXT, MODEL, QUESTION, Gateway, check
from testbed import wait_until

POOLING = ["--runner", "pooling", "--convert", "embed"]
# One call at a time, so that others wait in its queue.
PRIORITY = ["--scheduling-policy", "priority", "--max-num-seqs", "1"]
POOLED = """
[[models]]
id = "test/{modality}"
modality = "{modality}"
context_length = {context}
input_per_1m = "1.00"
upstreams = [{{ url = "{url}", model = "smol", engine = "vllm" }}]
"""
QUERY = "Where does the river end?"
DOCUMENTS = ["The river runs down to the sea.", "Bread is made of flour and water.", "Where does the river end?"]
# Of bfloat16.
TOLERANCE = 0.02


def check_pooling(bed, engine):
    """Its embeddings are what rerank and scores say, in every shape, and are billed as it counts"""
    tables = (POOLED.format(modality=modality, context=CONTEXT, url=engine.url) for modality in ("embedding", "rerank"))
    gateway = Gateway(bed, "".join(tables))
    tokens = []

    def call(path, model="test/rerank", **members):
        response = gateway.call(path, {"model": model} | members)
        check(f"{path} with {', '.join(members)} is served", response.status == 200, response.text)
        tokens.append(response.json()["usage"]["prompt_tokens"])
        return response.json()

    def near(found, expected):
        return len(found) == len(expected) and all(math.isclose(*pair, abs_tol=TOLERANCE) for pair in zip(found, expected))

    rows = call("/v1/embeddings", "test/embedding", input=[QUERY, *DOCUMENTS])["data"]
    query, *documents = (row["embedding"] for row in rows)
    product = lambda one, other: sum(a * b for a, b in zip(one, other, strict=True))
    cosine = lambda one, other: product(one, other) / math.hypot(*one) / math.hypot(*other)
    expected = [cosine(query, one) for one in documents]
    check("the same text is the nearest", max(expected) == expected[2], expected)
    for one, many in (("queries", "documents"), ("queries", "items"), ("data_1", "data_2"), ("text_1", "text_2")):
        scores = [row["score"] for row in call("/v1/score", **{one: QUERY, many: DOCUMENTS})["data"]]
        check("scores are those of the embeddings", near(scores, expected), (scores, expected))
    pairs = [row["score"] for row in call("/score", queries=DOCUMENTS, documents=DOCUMENTS)["data"]]
    check("two lists are compared in pairs", near(pairs, [1.0] * 3), pairs)

    order = sorted(range(3), key=lambda index: -expected[index])
    for path in ("/v1/rerank", "/rerank", "/v2/rerank"):
        results = call(path, query=QUERY, documents=DOCUMENTS, return_documents=True)["results"]
        check("results are sorted", [row["index"] for row in results] == order, results)
        check("by these scores", near([row["relevance_score"] for row in results], sorted(expected, reverse=True)), results)
        texts = [row.get("document") for row in results]
        shown = [None] * 3 if path == "/v2/rerank" else [{"text": DOCUMENTS[index]} for index in order]
        check("documents are shown on request, except on v2", texts == shown, texts)
        results = call(path, query=QUERY, documents=DOCUMENTS, top_n=1, max_tokens_per_doc=64)["results"]
        check("the best one comes without its document", len(results) == 1 and "document" not in results[0], results)
    billed = gateway.billed()
    check(f"the bill is what vLLM counted: {billed[0]}", billed == (sum(tokens), 0) and min(tokens) > 0, (billed, tokens))
    bed.stop(gateway.at)


def check_priority(bed, engine):
    """Calls in its queue are served by class, although flex calls and lines of batches came first"""
    table = MODEL.format(id="test/engine", url=engine.url, model="smol", engine="vllm", context=CONTEXT)
    gateway = Gateway(bed, table.replace('engine = "vllm"', 'engine = "vllm", priority_scheduling = true'))
    served = {"flex": [], "batch": []}

    def flex():
        served["flex"].append(gateway.chat(service_tier="flex", max_tokens=200, ignore_eos=True).status)

    def batch():
        params = {"model": "test/engine", "max_tokens": 200, "messages": QUESTION, "stop_sequences": ["no such text"]}
        created = gateway.call("/v1/messages/batches", {"requests": [{"custom_id": "a", "params": params}]}).json()
        shown = created
        while shown["processing_status"] != "ended":
            # Each look counts towards the requests per minute.
            time.sleep(1)
            shown = gateway.call(f"/v1/messages/batches/{created['id']}").json()
        served["batch"].append(200 if shown["request_counts"]["succeeded"] == 1 else shown)

    for name, later in (("flex", flex), ("batch", batch)):
        running = threading.Thread(target=gateway.chat, kwargs={"max_tokens": 600, "ignore_eos": True})
        running.start()
        wait_until("a call runs", lambda: engine.calls("running") == 1, 60)
        waiting = threading.Thread(target=later)
        waiting.start()
        wait_until(f"the {name} call waits in vLLM", lambda: engine.calls("waiting") == 1, 60)
        status = gateway.chat().status
        check(f"an interactive call is served before it: {name}", status == 200 and not served[name], (status, served))
        for thread in (running, waiting):
            thread.join()
        check("it is served afterwards", served[name] == [200], served)
    refused = gateway.chat(priority=-1)
    check("a client's own priority is refused", refused.status == 400 and "priority" in refused.text, refused.text)
    bed.stop(gateway.at)
