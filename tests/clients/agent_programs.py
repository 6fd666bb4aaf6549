"""How agents are started: for a gateway, with a folder of their own, and every address that they could reach is this machine."""

import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NODE = ROOT / ".cache/clients/node"
MODULES = NODE / "node_modules"
CLAUDE_CODE = MODULES / "@anthropic-ai/claude-code-linux-x64/claude"
CODEX = MODULES / "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex"
OPENCODE = MODULES / "opencode-linux-x64/bin/opencode"
# Where everything is sent that is not meant for this machine: nothing listens there.
NOWHERE = "http://127.0.0.1:9"
CODEX_CONFIG = """
model = "{model}"
model_provider = "forebay"
model_context_window = {context}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.forebay]
name = "Forebay"
base_url = "{base_url}"
env_key = "FOREBAY_API_KEY"
wire_api = "responses"
"""


def environment(home, **more):
    return {"HOME": str(home), "PATH": os.environ["PATH"], "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"} | more


def claude_code(home, base_url, key, model, task, context=200_000):
    """Command and environment. It prints a JSON object with `result` and `is_error`."""
    command = [CLAUDE_CODE, "-p", task, "--permission-mode", "acceptEdits", "--output-format", "json"]
    return command, environment(
        home,
        ANTHROPIC_BASE_URL=base_url.removesuffix("/v1"),
        ANTHROPIC_AUTH_TOKEN=key,
        ANTHROPIC_MODEL=model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL=model,
        CLAUDE_CODE_MAX_CONTEXT_TOKENS=str(context),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )


def codex(home, base_url, key, model, *arguments, context=200_000):
    """Command and environment. It prints events; `codex_events` reads them."""
    folder = pathlib.Path(home) / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(CODEX_CONFIG.format(model=model, base_url=base_url, context=context))
    command = [CODEX, "exec", "--skip-git-repo-check", "--json", *arguments]
    return command, environment(home, FOREBAY_API_KEY=key)


def codex_events(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]
