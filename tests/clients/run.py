"""Runs SDKs and agents against forebay: all suites, or those that are named. Started by scripts/test-clients.

Suites run side by side, since agents mostly wait. Each has a gateway and engines of its own, because it sets scripts and
compares bills with what its engines have served."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import agent_engine  # noqa: E402
import agent_programs  # noqa: E402
import echo_engine  # noqa: E402
from testbed import FOREBAY, Testbed, log_of  # noqa: E402

SUITE_TIMEOUT_SECS = 300

CONFIG = """
[workspace_defaults]
requests_per_minute = 100_000
tokens_per_minute = 1_000_000_000
monthly_tokens = 1_000_000_000_000

[[aliases]]
name = "claude-forebay"
model = "acme/agent"

[[aliases]]
name = "forebay-agent"
model = "acme/agent"

[[aliases]]
name = "gpt-6-*"
model = "acme/agent"

[[models]]
id = "acme/tiny-chat"
name = "Tiny Chat"
input_per_1m = "1.00"
output_per_1m = "4.00"
upstreams = [{{ url = "{engine}/v1", model = "tiny" }}]

[[models]]
id = "acme/tiny-embed"
modality = "embedding"
upstreams = [{{ url = "{engine}/v1" }}]

[[models]]
id = "acme/rerank"
modality = "rerank"
upstreams = [{{ url = "{engine}/v1" }}]

[[models]]
id = "acme/rerank-tei"
modality = "rerank"
upstreams = [{{ url = "{engine}/v1", engine = "tei" }}]

[[models]]
id = "acme/unsteady"
upstreams = [{{ url = "{engine}/v1" }}]

[[models]]
id = "acme/echo"
upstreams = [{{ url = "{echo}/v1", model = "echo-upstream-name" }}]

[[models]]
id = "acme/agent"
context_length = 200000
input_per_1m = "1.00"
output_per_1m = "4.00"
upstreams = [{{ url = "{agent}/v1" }}]
"""

PYTHON = [sys.executable, "-W", "error::ResourceWarning", "-m", "unittest", "-v"]
SUITES = {
    "Claude Code": [*PYTHON, "test_claude_code"],
    "Codex": [*PYTHON, "test_codex"],
    "OpenCode": [*PYTHON, "test_opencode"],
    "Python": [
        *PYTHON, "test_openai", "test_responses", "test_batches", "test_anthropic", "test_cohere", "test_restricted_keys",
    ],
    # The package leaves an event loop open.
    "LiteLLM": [sys.executable, "-m", "unittest", "-v", "test_litellm"],
    "Formats": [*PYTHON, "test_llm_comply"],
    "Node": ["node", "--test", "--test-reporter=spec", "openai.test.mjs", "ai-sdk.test.mjs"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"of {', '.join(SUITES)}; all by default")
    chosen = parser.parse_args().suites or list(SUITES)
    with Testbed() as testbed, concurrent.futures.ThreadPoolExecutor(len(SUITES)) as pool:
        failures = list(pool.map(lambda name: run(name, testbed), chosen))
    for name, failed in zip(chosen, failures):
        for what in failed:
            print(f"failed: {name}: {what}", file=sys.stderr)
    return 1 if any(failures) else 0


def run(name, testbed):
    """What has failed in a suite."""
    engine, echo, agent = testbed.engine(), echo_engine.start(), agent_engine.start()
    gateway = testbed.gateway(CONFIG.format(engine=engine, echo=url_of(echo), agent=url_of(agent)))
    environment = os.environ | {
        "FOREBAY_BASE_URL": f"{gateway.url}/v1",
        "FOREBAY_API_KEY": gateway.apiKey,
        "FAKE_ENGINE_URL": engine,
        "AGENT_ENGINE_URL": url_of(agent),
        "FOREBAY": str(FOREBAY),
        "FOREBAY_CONFIG": gateway.config,
        "FOREBAY_DATA_DIR": gateway.dataDir,
        "FOREBAY_WORKSPACE": gateway.workspaceId,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = SUITES[name]
    cwd = agent_programs.NODE if name == "Node" else HERE
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, timeout=SUITE_TIMEOUT_SECS, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        output, failed = done.stdout, failures_in(done.stdout) if done.returncode else []
    except subprocess.TimeoutExpired as expired:
        failed = [f"not finished after {SUITE_TIMEOUT_SECS} s"]
        output = f"{expired.stdout}\n{failed[0]}"
    print(f"{name}:\n{output}{log_of(gateway) if failed else ''}", flush=True)
    return failed


def failures_in(output):
    """The tests that failed, each with the last line of its failure, since a log may be cut to its end."""
    lines, failed = output.splitlines(), []
    for line in lines:
        if line.startswith(("FAIL: ", "ERROR: ", "✖ ")):
            failed.append(line)
        elif failed and re.match(r"[\w.]*(Error|Exception|Expired)\b", line):
            failed[-1] += f": {line[:500]}"
    return failed or lines[-1:] or ["no output"]


def url_of(server):
    host, port = server.server_address
    return f"http://{host}:{port}"


if __name__ == "__main__":
    sys.exit(main())
