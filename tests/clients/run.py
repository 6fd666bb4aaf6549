"""Runs SDKs and agents against forebay: all suites, or those that are named. Started by scripts/test-clients.

Suites run side by side, since agents mostly wait. Each has a gateway and engines of its own, because it sets scripts and
compares bills with what its engines have served."""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import agent_engine  # noqa: E402
import echo_engine  # noqa: E402
from testbed import FOREBAY, ROOT, Testbed, log_of  # noqa: E402

NODE = ROOT / ".cache/clients/node"
MODULES = NODE / "node_modules"

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
upstreams = [{{ url = "{engine}/v1", model = "tiny" }}]

[[models]]
id = "acme/tiny-embed"
modality = "embedding"
upstreams = [{{ url = "{engine}/v1" }}]

[[models]]
id = "acme/unsteady"
upstreams = [{{ url = "{engine}/v1" }}]

[[models]]
id = "acme/echo"
upstreams = [{{ url = "{echo}/v1", model = "echo-upstream-name" }}]

[[models]]
id = "acme/agent"
context_length = 200000
upstreams = [{{ url = "{agent}/v1" }}]
"""

PYTHON = [sys.executable, "-W", "error::ResourceWarning", "-m", "unittest", "-v"]
SUITES = {
    "Claude Code": [*PYTHON, "test_claude_code"],
    "Codex": [*PYTHON, "test_codex"],
    "OpenCode": [*PYTHON, "test_opencode"],
    "Python": [*PYTHON, "test_openai", "test_responses", "test_anthropic"],
    "Formats": [*PYTHON, "test_llm_comply"],
    "Node": ["node", "--test", "--test-reporter=spec", "openai.test.mjs", "ai-sdk.test.mjs"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"of {', '.join(SUITES)}; all by default")
    chosen = parser.parse_args().suites or list(SUITES)
    with Testbed() as testbed, concurrent.futures.ThreadPoolExecutor(len(SUITES)) as pool:
        passed = pool.map(lambda name: run(name, testbed), chosen)
        failed = [name for name, is_passed in zip(chosen, passed) if not is_passed]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run(name, testbed):
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
        "CLAUDE_CODE": str(MODULES / "@anthropic-ai/claude-code-linux-x64/claude"),
        "CODEX": str(MODULES / "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex"),
        "OPENCODE": str(MODULES / "opencode-linux-x64/bin/opencode"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = SUITES[name]
    cwd = NODE if name == "Node" else HERE
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, timeout=SUITE_TIMEOUT_SECS, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        output, passed = done.stdout, done.returncode == 0
    except subprocess.TimeoutExpired as expired:
        output, passed = f"{expired.stdout}\nnot finished after {SUITE_TIMEOUT_SECS} s", False
    print(f"{name}:\n{output}{'' if passed else log_of(gateway)}", flush=True)
    return passed


def url_of(server):
    host, port = server.server_address
    return f"http://{host}:{port}"


if __name__ == "__main__":
    sys.exit(main())
