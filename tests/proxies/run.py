"""Clients behind nginx and HAProxy with their default timeouts, while a dedicated endpoint starts for two minutes.

Each client calls through a port of its own at each proxy, twice: with the gateway's `keep_alive`, and without it, where the proxy
must end the call with 504. All of them wait at the same time. Prints a table for docs/production.md.
Needs nginx, haproxy, and the packages of tests/clients; runs with their Python.
"""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "clients")]

import agent_engine  # noqa: E402
import agent_programs  # noqa: E402
import anthropic  # noqa: E402
import openai  # noqa: E402
from testbed import Testbed, log_of, send, wait_until  # noqa: E402

START_SECONDS = 120
TIMEOUT_SECONDS = 300
MODEL = "dedicated/late"
TABLES = f"""
[edge]
keep_alive = "15s"

[drivers.process]
slots = {{{{ "local/cpu" = 1 }}}}

[allotment_defaults]
"local/cpu" = 1

[[models]]
id = "acme/agent"
context_length = 200000
upstreams = [{{{{ url = "{{upstream}}/v1" }}}}]

[[models.flavors]]
name = "late"
gpu_type = "local/cpu"
gpu_count = 1
precision = "bf16"
price_per_gpu_hour = "1.00"
argv = ["sh", "-c", "sleep {START_SECONDS}; exec {sys.executable} -B {TESTS}/clients/agent_engine.py {{{{port}}}}"]
"""
NGINX = """
daemon off;
user root;
pid {work}/nginx.pid;
error_log {work}/nginx.error.log;
events {{}}
http {{
    log_format status "$server_port $status";
    access_log {work}/nginx.log status;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
{servers}
}}
"""
NGINX_SERVER = "    server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {url}; {header} }} }}"
NGINX_HEADER = "proxy_set_header X-Keep-Alive 0;"
# The timeouts of Debian's configuration.
HAPROXY = """
global
    log stdout format raw local0
defaults
    mode http
    log global
    log-format "%fp %ST"
    timeout connect 5000
    timeout client 50000
    timeout server 50000
{servers}
"""
HAPROXY_SERVER = "listen on_{port}\n    bind 127.0.0.1:{port}\n    {header}\n    server gateway {address}"
HAPROXY_HEADER = "http-request set-header X-Keep-Alive 0"


class Call(collections.namedtuple("Call", "client proxy is_kept_alive port key home")):
    """One client behind one proxy."""

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"


# ---- clients: each returns whether its call was complete, and what there is to say about it


def raw(call):
    connection = http.client.HTTPConnection("127.0.0.1", call.port, timeout=TIMEOUT_SECONDS)
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    headers = {"authorization": f"Bearer {call.key}", "content-type": "application/json"}
    begun = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    response = connection.getresponse()
    response.read(1)
    first = time.monotonic() - begun
    is_whole = response.read().endswith(b"data: [DONE]\n\n")
    return response.status == 200 and is_whole, f"{response.status}, first byte after {first:.0f} s"


def openai_client(call):
    return openai.OpenAI(base_url=call.base_url, api_key=call.key, max_retries=0, timeout=TIMEOUT_SECONDS)


def openai_chat(call):
    with openai_client(call) as client:
        stream = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hi"}], stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream) == agent_engine.DONE, ""


def openai_responses(call):
    with openai_client(call) as client:
        with client.responses.stream(model=MODEL, input="Hi") as stream:
            stream.until_done()
            return stream.get_final_response().output_text == agent_engine.DONE, ""


def anthropic_messages(call):
    url = call.base_url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=url, api_key=call.key, max_retries=0, timeout=TIMEOUT_SECONDS) as client:
        with client.messages.stream(model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hi"}]) as stream:
            return stream.get_final_text() == agent_engine.DONE, ""


def ai_sdk(api):
    def stream(call):
        environment = os.environ | {"BASE_URL": call.base_url, "API_KEY": call.key, "MODEL": MODEL, "API": api}
        # Modules that come by standard input are looked up from the working directory.
        done = subprocess.run(
            ["node", "--input-type=module"], input=(TESTS / "proxies/stream.mjs").read_text(), cwd=agent_programs.NODE,
            env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True,
        )
        printed = json.loads(done.stdout)
        return printed.get("text") == agent_engine.DONE, printed.get("status") or printed.get("error", "")

    return stream


def run_agent(call, command, environment):
    """What it printed; a tool call that changes a file is part of its turn."""
    done = subprocess.run(
        command, cwd=call.home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=TIMEOUT_SECONDS,
    )
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-300:])
    return done.stdout


def wrote_its_file(call):
    return (call.home / "note.txt").exists() and (call.home / "note.txt").read_text() == agent_engine.CONTENT


def task(call):
    return f"{agent_engine.TASK}{call.home / 'note.txt'}"


def claude_code(call):
    result = json.loads(run_agent(call, *agent_programs.claude_code(call.home, call.base_url, call.key, MODEL, task(call))))
    return wrote_its_file(call) and not result["is_error"], result["result"]


def codex(call):
    events = agent_programs.codex_events(run_agent(call, *agent_programs.codex(call.home, call.base_url, call.key, MODEL, task(call))))
    return wrote_its_file(call) and events[-1]["type"] == "turn.completed", events[-1]["type"]


CLIENTS = {
    "plain HTTP": raw,
    "`openai` (Python), chat": openai_chat,
    "`openai` (Python), Responses": openai_responses,
    "`anthropic` (Python)": anthropic_messages,
    "AI SDK, chat": ai_sdk("chat"),
    "AI SDK, Responses": ai_sdk("responses"),
    "AI SDK, Messages": ai_sdk("messages"),
    "Claude Code": claude_code,
    "Codex": codex,
}
# These repeat a call that has failed, until the endpoint serves.
REPEATS = {"Claude Code", "Codex"}


# ---- proxies


def free_ports(count):
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def start_proxies(work, gateway, calls, stack):
    address = gateway.url.removeprefix("http://")

    def servers(proxy, line, header):
        common = {"url": gateway.url, "address": address}
        mine = ((call.port, "" if call.is_kept_alive else header) for call in calls if call.proxy == proxy)
        return "\n".join(line.format(port=port, header=header, **common) for port, header in mine)

    (work / "nginx.conf").write_text(NGINX.format(work=work, servers=servers("nginx", NGINX_SERVER, NGINX_HEADER)))
    (work / "haproxy.cfg").write_text(HAPROXY.format(servers=servers("HAProxy", HAPROXY_SERVER, HAPROXY_HEADER)))
    log = stack.enter_context(open(work / "haproxy.log", "wb"))
    commands = [["/usr/sbin/nginx", "-c", work / "nginx.conf", "-p", work], ["/usr/sbin/haproxy", "-f", work / "haproxy.cfg"]]
    for command in commands:
        process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        stack.callback(process.terminate)
    wait_until("the proxies listen", lambda: all(is_listening(call.port) for call in calls))


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def timeouts(work, call):
    """How often the proxy has ended a call of this client."""
    lines = (work / f"{call.proxy.lower()}.log").read_text().splitlines()
    return sum(line.strip() == f"{call.port} 504" for line in lines)


# ---- the trial


def run(call):
    begun = time.monotonic()
    try:
        is_complete, note = CLIENTS[call.client](call)
    except Exception as error:  # of whatever kind the client raises
        is_complete, note = False, f"{type(error).__name__}: {error}"[:300]
    print(f"    {call.client}, {call.proxy}: {time.monotonic() - begun:.0f} s, {note}", flush=True)
    return is_complete


def verdict(call, is_complete, cut):
    """What is shown, and whether it is as expected."""
    shown = "complete" if is_complete else "fails"
    if cut:
        shown += f", after {cut} × 504" if is_complete else " with 504"
    if call.is_kept_alive:
        return shown, is_complete and not cut
    return shown, bool(cut) and (call.client in REPEATS or not is_complete)


def main():
    variants = [(client, proxy, kept) for client in CLIENTS for kept in (True, False) for proxy in ("nginx", "HAProxy")]
    with tempfile.TemporaryDirectory(prefix="forebay-proxies.") as folder, Testbed() as bed, contextlib.ExitStack() as stack:
        work = pathlib.Path(folder)
        gateway = bed.gateway(TABLES.format(upstream=bed.engine()))
        calls = []
        for (client, proxy, kept), port in zip(variants, free_ports(len(variants))):
            home = work / str(port)
            home.mkdir()
            calls.append(Call(client, proxy, kept, port, gateway.apiKey, home))
        start_proxies(work, gateway, calls, stack)
        headers = {"authorization": f"Bearer {gateway.apiKey}"}
        endpoint = {"name": "late", "model": "acme/agent", "flavor": "late", "replicas": 1}
        created = send(f"{gateway.url}/v1/endpoints", endpoint, headers)
        assert created.status == 201, created.text
        print(f"==> {len(calls)} calls, of an endpoint that starts for {START_SECONDS} s", flush=True)
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            complete = list(pool.map(run, calls))
        seen = {call[:3]: verdict(call, is_complete, timeouts(work, call)) for call, is_complete in zip(calls, complete)}
        log = log_of(gateway)
    columns = [(proxy, kept) for kept in (True, False) for proxy in ("nginx", "HAProxy")]
    heads = [f"{proxy}, `keep_alive`" if kept else proxy for proxy, kept in columns]
    print("\n| | " + " | ".join(heads) + " |\n|---|---|---|---|---|")
    for client in CLIENTS:
        print(f"| {client} | " + " | ".join(seen[client, *column][0] for column in columns) + " |")
    wrong = [" ".join(map(str, call)) for call, (_, is_expected) in seen.items() if not is_expected]
    if wrong:
        sys.exit(f"{log}\nnot as expected: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
