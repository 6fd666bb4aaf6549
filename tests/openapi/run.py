"""Starts forebay with a scripted engine and checks /openapi.json: schemathesis finds no undocumented behaviour, and a
generated TypeScript client compiles and works."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testbed import ROOT, SLOW, Testbed, log_of, send  # noqa: E402

NODE = ROOT / ".cache/openapi/node"
STEP_TIMEOUT_SECS = 900 if SLOW else 300

CONFIG = """
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
upstreams = [{{ url = "{engine}/v1", model = "tiny" }}]
"""

# Routes that would end or change the session are scanned signed out.
OWN_SESSION = r"^/api/(session|invitations/)"
# Routes of the operations listener, which has another address; health accepts any method.
ELSEWHERE = r"^/(metrics|readyz|healthz)$"
# Examples per operation. A number, not a time, so that a busy machine checks as much as an idle one.
EXAMPLES = int(os.environ.get("EXAMPLES", 15 if SLOW else 1))
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
    with Testbed() as testbed, tempfile.TemporaryDirectory(prefix="forebay-openapi.") as folder:
        engine = testbed.engine()
        # The engine's server is a hub without models, so that nothing outside this machine is asked.
        gateway = testbed.gateway(CONFIG.format(engine=engine), environment={"HF_ENDPOINT": engine})
        checks = {
            "TypeScript": lambda: compile_client(gateway),
            "schemathesis, signed in": lambda: scan(gateway, pathlib.Path(folder), signed_in=True),
            "schemathesis, signed out": lambda: scan(gateway, pathlib.Path(folder), signed_in=False),
        }
        failed = [name for name, check in checks.items() if print(f"{name}:", flush=True) or not check()]
        if failed:
            print(f"{log_of(gateway)}\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def compile_client(gateway):
    commands = [
        ["node_modules/.bin/openapi-typescript", f"{gateway.url}/openapi.json", "--output", "schema.d.ts"],
        ["node_modules/.bin/tsc", "--project", "tsconfig.json"],
        ["node", "built/client.js", gateway.url, gateway.email, gateway.password],
    ]
    return all(subprocess.run(one, cwd=NODE, timeout=STEP_TIMEOUT_SECS).returncode == 0 for one in commands)


def scan(gateway, folder, signed_in):
    settings = [
        "[parameters]",
        f'"path.workspaceId" = "{gateway.workspaceId}"',
        f'"path.organizationId" = "{gateway.organizationId}"',
    ]
    if signed_in:
        headers, session = sign_in(gateway)
        # Otherwise the scan finds the id of its own account, deletes it, and is signed out for the rest.
        settings += [f'"path.userId" = "{create_user(gateway, headers)}"']
        settings += ["[auth.openapi.session]", f'api_key = "{session}"']
        settings += ["[auth.openapi.csrf]", f'api_key = "{headers["x-csrf-token"]}"']
        settings += ["[auth.openapi.apiKey]", f'bearer = "{gateway.apiKey}"']
    (folder / "schemathesis.toml").write_text("\n".join(settings))
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    command = [program, "--config-file", "schemathesis.toml", "run", f"{gateway.url}/openapi.json"]
    examples = EXAMPLES if signed_in else EXAMPLES * SIGNED_OUT_FACTOR
    command += ["--phases", "examples,coverage,fuzzing", "--checks", CHECKS]
    command += ["--max-examples", str(examples), "--seed", "1", "--no-color", "--continue-on-failure"]
    command += ["--exclude-path-regex", f"{ELSEWHERE}|{OWN_SESSION}"] if signed_in else ["--include-path-regex", OWN_SESSION]
    return subprocess.run(command, cwd=folder, timeout=STEP_TIMEOUT_SECS).returncode == 0


def sign_in(gateway):
    """Headers of a session, and its secret."""
    session = send(f"{gateway.url}/api/session", {"email": gateway.email, "password": gateway.password})
    cookie = session.headers["set-cookie"].split(";")[0]
    return {"cookie": cookie, "x-csrf-token": session.json()["csrfToken"]}, cookie.removeprefix("forebay_session=")


def create_user(gateway, headers):
    account = {"email": "scanned@example.com", "password": "a password of some length", "role": "member"}
    return send(f"{gateway.url}/api/users", account | {"organizationId": gateway.organizationId}, headers).json()["id"]


if __name__ == "__main__":
    sys.exit(main())
