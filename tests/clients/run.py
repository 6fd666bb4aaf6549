"""Starts the scripted engine, the echo engine and forebay, runs the Python and Node tests, and stops everything."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import agent_engine
import echo_engine

START_TIMEOUT_SECS = 60
TESTS_TIMEOUT_SECS = 300

CONFIG = """
[server]
listen = "127.0.0.1:0"
ops_listen = "127.0.0.1:0"
drain_timeout = "1s"

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
upstreams = [{{ url = "http://{engine}/v1", model = "tiny" }}]

[[models]]
id = "acme/tiny-embed"
modality = "embedding"
upstreams = [{{ url = "http://{engine}/v1" }}]

[[models]]
id = "acme/unsteady"
upstreams = [{{ url = "http://{engine}/v1" }}]

[[models]]
id = "acme/echo"
upstreams = [{{ url = "http://{echo}/v1", model = "echo-upstream-name" }}]

[[models]]
id = "acme/agent"
context_length = 200000
upstreams = [{{ url = "http://{agent}/v1" }}]
"""


def main():
    arguments = read_arguments()
    children = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="forebay-clients.") as folder:
        try:
            return run(arguments, pathlib.Path(folder), children)
        finally:
            for child in reversed(children):
                stop(child)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forebay", required=True)
    parser.add_argument("--fake-engine", required=True)
    parser.add_argument("--node-folder", required=True)
    parser.add_argument("--claude-code", required=True)
    parser.add_argument("--codex", required=True)
    parser.add_argument("--opencode", required=True)
    parser.add_argument("suites", nargs="*", help="the names of those to run; all by default")
    return parser.parse_args()


def run(arguments, folder, children):
    engine = subprocess.Popen([arguments.fake_engine], stdout=subprocess.PIPE, text=True)
    children.append(engine)
    engine_address = engine.stdout.readline().strip().removeprefix("listening on ")
    echo_host, echo_port = echo_engine.start().server_address
    agent_host, agent_port = agent_engine.start().server_address
    agent_address = f"{agent_host}:{agent_port}"

    config = folder / "forebay.toml"
    config.write_text(CONFIG.format(engine=engine_address, echo=f"{echo_host}:{echo_port}", agent=agent_address))
    log_file = folder / "forebay.log"
    with log_file.open("w") as log:
        command = [arguments.forebay, "serve", "--config", str(config), "--data-dir", str(folder / "data")]
        forebay = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        children.append(forebay)

    try:
        listen = wait_for(forebay, "forebay to listen", lambda: read_json(folder / "data" / "listen.json"))
        bootstrap = wait_for(forebay, "the first key", lambda: read_json(folder / "data" / "bootstrap.json"))
        base_url = f"http://{listen['public']}/v1"
        wait_for(forebay, "all models", lambda: models_are_available(base_url, bootstrap["apiKey"]))
        environment = os.environ | {
            "FOREBAY_BASE_URL": base_url,
            "FOREBAY_API_KEY": bootstrap["apiKey"],
            "FAKE_ENGINE_URL": f"http://{engine_address}",
            "AGENT_ENGINE_URL": f"http://{agent_address}",
            "FOREBAY": str(pathlib.Path(arguments.forebay).resolve()),
            "FOREBAY_CONFIG": str(config),
            "FOREBAY_DATA_DIR": str(folder / "data"),
            "FOREBAY_WORKSPACE": bootstrap["workspaceId"],
            "CLAUDE_CODE": arguments.claude_code,
            "CODEX": arguments.codex,
            "OPENCODE": arguments.opencode,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        chosen = [suite for suite in suites(arguments) if not arguments.suites or suite[0] in arguments.suites]
        failed = [name for name, command, cwd in chosen if not passes(name, command, cwd, environment)]
    except BaseException:
        print(log_file.read_text()[-5000:], file=sys.stderr)
        raise
    if failed:
        print(log_file.read_text()[-5000:], file=sys.stderr)
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def suites(arguments):
    here = pathlib.Path(__file__).resolve().parent
    python = [sys.executable, "-W", "error::ResourceWarning", "-m", "unittest", "-v"]
    yield "Python", [*python, "test_openai", "test_responses", "test_anthropic"], here
    yield "Claude Code", [*python, "test_claude_code"], here
    yield "Codex", [*python, "test_codex"], here
    yield "OpenCode", [*python, "test_opencode"], here
    yield "Formats", [*python, "test_llm_comply"], here
    yield "Node", ["node", "--test", "--test-reporter=spec", "openai.test.mjs", "ai-sdk.test.mjs"], arguments.node_folder


def passes(name, command, cwd, environment):
    print(f"{name}:", flush=True)
    try:
        return subprocess.run(command, cwd=cwd, env=environment, timeout=TESTS_TIMEOUT_SECS).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"{name}: not finished after {TESTS_TIMEOUT_SECS} s", file=sys.stderr)
        return False


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else None


def models_are_available(base_url, key):
    request = urllib.request.Request(f"{base_url}/models", headers={"authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return all(model["status"] == "available" for model in json.load(response)["data"])


def wait_for(forebay, what, check):
    deadline = time.monotonic() + START_TIMEOUT_SECS
    while time.monotonic() < deadline:
        if forebay.poll() is not None:
            raise RuntimeError(f"forebay exited with {forebay.returncode} before: {what}")
        if found := check():
            return found
        time.sleep(0.05)
    raise TimeoutError(f"waited {START_TIMEOUT_SECS} s for {what}")


def stop(child):
    child.terminate()
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
