"""Real engines behind a real gateway: what each can do, and what vLLM does when it is cut, stopped and restarted.

    tests/engines/run.py [ENGINE…]      forebay-engine, llama-server (in scripts/with-llama-server), vllm; default: all

Prints two matrices engine × capability for docs/vllm.md: what calls through the gateway show, and what the gateway finds out by
itself. Fails if one is another than expected. FOREBAY_TEST_VLLM is the folder of install_vllm.py; the agents are those of
scripts/test-dependencies clients.
"""

import os
import pathlib
import sys
import tempfile
import time

from capabilities import CAPABILITIES, FOUND_OUT, LACKING, note_capabilities, probed
from dedicated_checks import check_dedicated
from gateway import CONTEXT, MODEL, Failure, Gateway
from testbed import ROOT, Testbed
from vllm_checks import (
    AGENT_CONTEXT, check_agents, check_bill, check_cut_streams, check_dialect, check_failover, check_imitated, check_native,
    check_recipes, check_rejections, check_restart, check_salts, check_shared_server, options_for_agents,
)
from vllm_mode_checks import POOLING, PRIORITY, check_pooling, check_priority
from vllm_server import Vllm

GGUF = ROOT / "data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf"


def test_vllm(bed, work, found, asked):
    home = os.environ["FOREBAY_TEST_VLLM"]
    engine, second = Vllm(home, work), Vllm(home, work)
    for_agents = Vllm(home, work, AGENT_CONTEXT, options_for_agents(work), threads=os.cpu_count())
    pooling, by_priority = Vllm(home, work, options=POOLING), Vllm(home, work, options=PRIORITY)
    table = lambda id: MODEL.format(id=id, url=engine.url, model="smol", engine="vllm", context=CONTEXT)

    def perform(step, *arguments):
        print(f"  {step.__doc__}", flush=True)
        since = time.monotonic()
        step(*arguments)
        print(f"    after {time.monotonic() - since:.0f} s", flush=True)

    try:
        perform(check_recipes, home)
        engine.start()
        asked["vllm"] = probed(bed, table("test/engine"))
        gateway = Gateway(bed, table("test/engine") + table("test/same"))
        note_capabilities("vllm", gateway, found)
        perform(check_rejections, gateway)
        perform(check_cut_streams, gateway)
        perform(check_imitated, engine)
        for step in (check_bill, check_salts, check_shared_server, check_restart):
            perform(step, gateway, engine)
        bed.stop(gateway.at)
        perform(check_native, bed, engine)
        perform(check_dialect, bed, engine)
        second.start()
        perform(check_failover, bed, engine, second)
        engine.stop()
        for_agents.start()
        perform(check_agents, bed, for_agents, work)
        for_agents.stop()
        for engine_of_mode, step in ((pooling, check_pooling), (by_priority, check_priority)):
            engine_of_mode.start()
            perform(step, bed, engine_of_mode)
            engine_of_mode.stop()
    finally:
        for each in (engine, second, for_agents, pooling, by_priority):
            each.stop()
    perform(check_dedicated, bed, home)


def test_forebay_engine(bed, _work, found, asked):
    engine = bed.request("forebayEngine", arguments=["--model", str(GGUF), "--model-name", "smol", "--ctx", "2048"])
    table = MODEL.format(id="test/engine", url=f"{engine['url']}/v1", model="smol", engine="forebay-engine", context=2048)
    asked["forebay-engine"] = probed(bed, table)
    note_capabilities("forebay-engine", Gateway(bed, table), found)


def test_llama_server(bed, _work, found, asked):
    url = os.environ["FOREBAY_TEST_LLAMA_SERVER"]
    table = MODEL.format(id="test/engine", url=url, model="smol", engine="llama-server", context=1024)
    asked["llama-server"] = probed(bed, table)
    note_capabilities("llama-server", Gateway(bed, table), found)


ENGINES = {"forebay-engine": test_forebay_engine, "llama-server": test_llama_server, "vllm": test_vllm}


def print_asked(asked):
    """What gateways found out by themselves, as a table of Markdown."""
    heads = [f"{name} {version}".strip() for name, (version, _) in asked.items()]
    print("\n| capability | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    marks = {"yes": "yes", "no": "no", "unknown": "?"}
    for capability in dict.fromkeys(name for _, support in asked.values() for name in support):
        print(f"| `{capability}` | " + " | ".join(marks[support[capability]] for _, support in asked.values()) + " |")


def main():
    chosen = sys.argv[1:] or list(ENGINES)
    found, asked, failures = {}, {}, []
    with tempfile.TemporaryDirectory(prefix="forebay-engines.") as work, Testbed() as bed:
        for name in chosen:
            print(f"==> {name}", flush=True)
            try:
                ENGINES[name](bed, pathlib.Path(work), found.setdefault(name, set()), asked)
            # Whatever it was, the other engines are tested, too.
            except Exception as error:
                failures.append(f"{name}: {error if isinstance(error, Failure) else repr(error)}")
    print("\n| | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for capability in CAPABILITIES:
        print(f"| {capability} | " + " | ".join("yes" if capability in has else "no" for has in found.values()) + " |")
    print_asked(asked)
    for name, has in found.items():
        wrong = has ^ (CAPABILITIES.keys() - LACKING[name])
        failures.extend(f"{name}: {capability} is not as expected" for capability in sorted(wrong))
    for name, (_, support) in asked.items():
        expected = dict.fromkeys(support, "unknown") | FOUND_OUT[name]
        wrong = sorted(capability for capability in expected if support.get(capability) != expected[capability])
        failures.extend(f"{name}: the gateway finds `{capability}`: {support.get(capability)}" for capability in wrong)
    if failures:
        sys.exit("\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
