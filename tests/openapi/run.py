"""Starts forebay with a scripted engine and checks /openapi.json: schemathesis finds no undocumented behaviour, and a
generated TypeScript client compiles and works."""

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

START_TIMEOUT_SECS = 30
STEP_TIMEOUT_SECS = 300

CONFIG = """
[server]
listen = "127.0.0.1:0"
ops_listen = "127.0.0.1:0"
drain_timeout = "1s"

# A scan is faster than clients are allowed to be; what is behind the limits is to be tested.
[limits]
failed_credentials_per_minute = 1_000_000
sign_ins_per_minute = 1_000_000
management_requests_per_minute = 1_000_000
changes_per_minute = 1_000_000

[workspace_defaults]
requests_per_minute = 1_000_000
tokens_per_minute = 1_000_000_000

[[models]]
id = "acme/tiny-chat"
upstreams = [{{ url = "http://{engine}/v1", model = "tiny" }}]
"""

# Routes that would end or change the session are scanned signed out.
OWN_SESSION = r"^/api/(session|invitations/)"
# Routes of the operations listener, which has another address; health accepts any method.
ELSEWHERE = r"^/(metrics|readyz|healthz)$"
# Examples per operation. A number, not a time, so that a busy machine checks as much as an idle one.
EXAMPLES = 15
# The operations that are scanned signed out are few, and anyone can reach them.
SIGNED_OUT_FACTOR = 10
CHECKS = ",".join(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "unsupported_method",
        "allow_header_conformance",
    ]
)


def main():
    arguments = read_arguments()
    children = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="forebay-openapi.") as folder:
        try:
            return run(arguments, pathlib.Path(folder), children)
        finally:
            for child in reversed(children):
                stop(child)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forebay", required=True)
    parser.add_argument("--fake-engine", required=True)
    parser.add_argument("--schemathesis", required=True)
    parser.add_argument("--node-folder", required=True, type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    return parser.parse_args()


def run(arguments, folder, children):
    engine = subprocess.Popen([arguments.fake_engine], stdout=subprocess.PIPE, text=True)
    children.append(engine)
    engine_address = engine.stdout.readline().strip().removeprefix("listening on ")
    config = folder / "forebay.toml"
    config.write_text(CONFIG.format(engine=engine_address))
    log_file = folder / "forebay.log"
    with log_file.open("w") as log:
        command = [arguments.forebay, "serve", "--config", str(config), "--data-dir", str(folder / "data")]
        # The engine's server is a hub without models, so that nothing outside this machine is asked.
        environment = os.environ | {"HF_ENDPOINT": f"http://{engine_address}"}
        forebay = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        children.append(forebay)
    listen = wait_for(forebay, lambda: read_json(folder / "data" / "listen.json"))
    bootstrap = wait_for(forebay, lambda: read_json(folder / "data" / "bootstrap.json"))
    base = f"http://{listen['public']}"

    failed = [
        name
        for name, check in [
            ("TypeScript", lambda: compile_client(arguments, base, bootstrap)),
            ("schemathesis, signed in", lambda: scan(arguments, folder, base, bootstrap, signed_in=True)),
            ("schemathesis, signed out", lambda: scan(arguments, folder, base, bootstrap, signed_in=False)),
        ]
        if not announce(name, check)
    ]
    if failed:
        print(log_file.read_text()[-3000:], file=sys.stderr)
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def announce(name, check):
    print(f"{name}:", flush=True)
    return check()


def compile_client(arguments, base, bootstrap):
    node = arguments.node_folder
    commands = [
        ["npx", "openapi-typescript", f"{base}/openapi.json", "--output", "schema.d.ts"],
        ["npx", "tsc", "--project", "tsconfig.json"],
        ["node", "built/client.js", base, bootstrap["email"], bootstrap["password"]],
    ]
    return all(subprocess.run(one, cwd=node, timeout=STEP_TIMEOUT_SECS).returncode == 0 for one in commands)


def scan(arguments, folder, base, bootstrap, signed_in):
    settings = [
        "[parameters]",
        f'"path.workspaceId" = "{bootstrap["workspaceId"]}"',
        f'"path.organizationId" = "{bootstrap["organizationId"]}"',
    ]
    if signed_in:
        session, csrf = sign_in(base, bootstrap)
        # Otherwise the scan finds the id of its own account, deletes it, and is signed out for the rest.
        settings += [f'"path.userId" = "{create_user(base, bootstrap, session, csrf)}"']
        settings += ["[auth.openapi.session]", f'api_key = "{session}"', "[auth.openapi.csrf]", f'api_key = "{csrf}"']
        settings += ["[auth.openapi.apiKey]", f'bearer = "{bootstrap["apiKey"]}"']
    (folder / "schemathesis.toml").write_text("\n".join(settings))
    command = [arguments.schemathesis, "--config-file", "schemathesis.toml", "run", f"{base}/openapi.json"]
    examples = arguments.examples if signed_in else arguments.examples * SIGNED_OUT_FACTOR
    command += ["--phases", "examples,coverage,fuzzing", "--checks", CHECKS]
    command += ["--max-examples", str(examples), "--seed", "1", "--no-color", "--continue-on-failure"]
    command += ["--exclude-path-regex", f"{ELSEWHERE}|{OWN_SESSION}"] if signed_in else ["--include-path-regex", OWN_SESSION]
    return subprocess.run(command, cwd=folder, timeout=STEP_TIMEOUT_SECS).returncode == 0


def sign_in(base, bootstrap):
    credentials = {"email": bootstrap["email"], "password": bootstrap["password"]}
    with post(f"{base}/api/session", credentials) as response:
        cookie = response.headers["set-cookie"].split(";")[0]
        return cookie.removeprefix("forebay_session="), json.load(response)["csrfToken"]


def create_user(base, bootstrap, session, csrf):
    account = {"email": "scanned@example.com", "password": "a password of some length", "role": "member"}
    account["organizationId"] = bootstrap["organizationId"]
    headers = {"cookie": f"forebay_session={session}", "x-csrf-token": csrf}
    with post(f"{base}/api/users", account, headers) as response:
        return json.load(response)["id"]


def post(url, body, headers=None):
    headers = {"content-type": "application/json"} | (headers or {})
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=10)


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else None


def wait_for(forebay, check):
    deadline = time.monotonic() + START_TIMEOUT_SECS
    while time.monotonic() < deadline:
        if forebay.poll() is not None:
            raise RuntimeError(f"forebay exited with {forebay.returncode}")
        if found := check():
            return found
        time.sleep(0.05)
    raise TimeoutError("forebay did not start")


def stop(child):
    child.terminate()
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
