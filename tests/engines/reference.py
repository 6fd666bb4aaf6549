"""Log probabilities of completions of forebay-engine, through a gateway, compared with transformers in float32.

    tests/engines/reference.py      with the Python of install_vllm.py, which has torch, transformers, gguf and lm-eval

The weights are those of the starter model, written as 32-bit numbers, so that both compute with the same ones; the engine has a
KV cache of 32 bits. The texts are the paragraphs of this repository's documents. Then lm-eval asks both which of two
continuations of a text is likelier.
"""

import json
import os
import pathlib
import sys
import tempfile

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

import gguf  # noqa: E402
import lm_eval  # noqa: E402
import torch  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import testbed  # noqa: E402
from testbed import ROOT, Testbed, send  # noqa: E402

testbed.TIMEOUT_SECS = 300
GGUF = ROOT / "data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf"
TEXTS, TEXT_CHARACTERS, QUESTIONS = 60, 600, 20
LARGEST_DIFFERENCE = 1e-3
MODEL = """
[[models]]
id = "test/reference"
context_length = 2048
input_per_1m = "0"
cached_input_per_1m = "0"
output_per_1m = "0"
upstreams = [{{ url = "{url}/v1", model = "reference", engine = "forebay-engine" }}]
"""
TASK = """
task: continuation
dataset_path: json
dataset_kwargs:
  data_files: {file}
test_split: train
output_type: multiple_choice
doc_to_text: "{{{{start}}}}"
doc_to_choice: choices
doc_to_target: 0
target_delimiter: ""
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
"""


def write_f32(source, target):
    """The same weights, dequantized."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.get_field("general.architecture").contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        item = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=item)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def paragraphs(count):
    pages = (page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
    found = [text for page in pages for text in page.split("\n\n") if 80 <= len(text) <= TEXT_CHARACTERS]
    assert len(found) >= count, len(found)
    return found[:count]


def expected(model, ids):
    """The log probability of each token but the first, and the likeliest token at its place."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    scores = torch.log_softmax(logits[:-1].float(), dim=-1)
    return [scores[at, token].item() for at, token in enumerate(ids[1:])], scores.argmax(dim=-1).tolist()


def compare_tokens(gateway, model, tokenizer):
    differences, likeliest = [], 0
    for text in paragraphs(TEXTS):
        ids = tokenizer(text, add_special_tokens=False).input_ids
        call = {"model": "test/reference", "prompt": ids, "max_tokens": 0, "echo": True, "logprobs": 1}
        response = send(f"{gateway.url}/v1/completions", call, {"authorization": f"Bearer {gateway.apiKey}"})
        assert response.status == 200, response.text
        found = json.loads(response.text)["choices"][0]["logprobs"]["token_logprobs"]
        scores, best = expected(model, ids)
        assert found[0] is None and len(found) == len(ids), (len(found), len(ids))
        differences += [abs(a - b) for a, b in zip(found[1:], scores)]
        likeliest += sum(token == top for token, top in zip(ids[1:], best))
    largest, mean = max(differences), sum(differences) / len(differences)
    print(f"{TEXTS} texts, {len(differences)} tokens, {likeliest} of them the likeliest: largest difference {largest:.2e}, mean {mean:.2e}")
    return largest <= LARGEST_DIFFERENCE


def compare_evaluation(gateway, model, tokenizer, work):
    """What `lm-eval --model local-completions` measures, and `lm-eval --model hf`."""
    halves = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in paragraphs(QUESTIONS)]
    rows = [{"start": start, "choices": [end, halves[at - 1][1]]} for at, (start, end) in enumerate(halves)]
    (work / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (work / "continuation.yaml").write_text(TASK.format(file=work / "rows.jsonl"))
    tokenizer.save_pretrained(work / "tokenizer")
    os.environ["OPENAI_API_KEY"] = gateway.apiKey
    settings = {
        "model": "test/reference", "base_url": f"{gateway.url}/v1/completions", "tokenizer": str(work / "tokenizer"),
        "num_concurrent": 4, "max_retries": 1,
    }

    def evaluate(name, arguments=None):
        tasks = TaskManager(include_path=str(work))
        result = lm_eval.simple_evaluate(name, arguments, tasks=["continuation"], task_manager=tasks, bootstrap_iters=0)
        samples = result["samples"]["continuation"]
        sums = [choice[0][0] for sample in sorted(samples, key=lambda each: each["doc_id"]) for choice in sample["resps"]]
        return result["results"]["continuation"]["acc,none"], sums

    accuracy, sums = evaluate("local-completions", settings)
    reference, reference_sums = evaluate(HFLM(pretrained=model, tokenizer=tokenizer))
    largest = max(abs(a - b) for a, b in zip(sums, reference_sums, strict=True))
    print(f"lm-eval: accuracy {accuracy} through the gateway, {reference} with transformers; sums of {len(sums)} differ by at most {largest:.2e}")
    return accuracy == reference and largest <= 10 * LARGEST_DIFFERENCE


def main():
    folder, file = str(GGUF.parent), GGUF.name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()
    with tempfile.TemporaryDirectory(prefix="forebay-reference.") as work, Testbed() as bed:
        work = pathlib.Path(work)
        write_f32(GGUF, work / "f32.gguf")
        options = ["--model", str(work / "f32.gguf"), "--model-name", "reference", "--ctx", "2048", "--kv-cache-type", "f32"]
        gateway = bed.gateway(MODEL.format(url=bed.request("forebayEngine", arguments=options)["url"]))
        results = [compare_tokens(gateway, model, tokenizer), compare_evaluation(gateway, model, tokenizer, work)]
    if not all(results):
        sys.exit("log probabilities differ more than expected")


main()
