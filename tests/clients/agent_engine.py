"""An engine that plays the model of an agent: it calls the tool that writes a file, and then reports that it is done.
Agents have different tools for it; the first known one is called.

It speaks only chat completions, in pieces as small as engines send them, and counts what it has served: `GET /state`.
`POST /reset` starts from zero, with a list of faults for the next calls that have tools. As a program: agent_engine.py PORT
"""

import json
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The task of the agent: what follows is the path of the file to write.
TASK = "WRITE THE FILE "
CONTENT = "written by the agent\n"
DONE = "The file is written."
PIECE_LEN = 7


def shell(path):
    return {"cmd": f"printf '%s' '{CONTENT}' > '{path}'"}


# The tools with which agents write files, and their arguments.
WRITERS = {
    "Write": lambda path: {"file_path": path, "content": CONTENT},  # Claude Code
    "exec_command": shell,  # Codex
    # Codex with models whose tools are JavaScript: a custom tool in a namespace.
    "functions__exec": lambda path: {"input": f"await tools.exec_command({json.dumps(shell(path))})"},
    "write": lambda path: {"filePath": path, "content": CONTENT},  # OpenCode
    "write_file": lambda path: {"path": path, "content": CONTENT},  # the tests of SDKs
}
# The tool with which llm-comply tests calls.
WEATHER = "get_weather"


class AgentEngine(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.served = []  # tokens of every response that was sent whole
        self.requests = 0
        self.faults = []  # of the next calls with tools, in order

    def reset(self, faults):
        with self.lock:
            self.served, self.requests, self.faults = [], 0, faults

    def state(self):
        """Counts of everything that was served since the last reset."""
        with self.lock:
            prompt, completion = (sum(call[name] for call in self.served) for name in ("prompt_tokens", "completion_tokens"))
            return {"requests": self.requests, "served": len(self.served), "prompt": prompt, "completion": completion}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.respond(200, self.server.state())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/reset":
            self.server.reset(body)
            self.respond(200, {})
            return
        with self.server.lock:
            self.server.requests += 1
            fault = self.server.faults.pop(0) if self.server.faults and body.get("tools") else None
        if isinstance(fault, dict) and "delay" in fault:
            time.sleep(fault["delay"])
        elif isinstance(fault, dict):
            self.respond(fault["status"], {"error": {"message": fault["message"], "code": fault["status"]}})
            return
        deltas, finish = answer(body)
        usage = usage_of(body, deltas)
        if fault == "die":
            self.stream(body, deltas[:1], None, None)
            self.close_connection = True
            self.connection.close()
            return
        if body.get("stream"):
            self.stream(body, deltas, finish, usage)
        else:
            self.respond(200, whole(body, deltas, finish, usage))
        with self.server.lock:
            self.server.served.append(usage)

    def stream(self, body, deltas, finish, usage):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.event(chunk(body, {"role": "assistant", "content": ""}))
        for delta in deltas:
            self.event(chunk(body, delta))
        if finish:
            self.event(chunk(body, {}, finish))
            self.event({"id": "chatcmpl-agent", "object": "chat.completion.chunk", "choices": [], "usage": usage})
            self.piece(b"data: [DONE]\n\n")
            self.piece(b"")

    def event(self, value):
        self.piece(b"data: " + json.dumps(value).encode() + b"\n\n")

    def piece(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def respond(self, status, value):
        payload = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_):
        pass


def answer(body):
    """The deltas of the response, and why it ends."""
    path = task_of(body)
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", [])}
    is_done = any(message["role"] == "tool" for message in body["messages"])
    called = next((name for name in WRITERS if name in tools and path), WEATHER if WEATHER in tools else None)
    if is_done or called is None:
        return [{"content": piece} for piece in pieces(DONE)], "stop"
    arguments = json.dumps({"location": "San Francisco"} if called == WEATHER else WRITERS[called](path))
    call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:12]}", "type": "function"}
    deltas = [{"reasoning": "I have to write it."}, {"content": "I will write it."}]
    deltas.append({"tool_calls": [call | {"function": {"name": called, "arguments": ""}}]})
    for piece in pieces(arguments):
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    return deltas, "tool_calls"


def task_of(body):
    for message in body["messages"]:
        content = message.get("content") or ""
        text = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
        if message["role"] == "user" and TASK in text:
            return text.split(TASK, 1)[1].split()[0].strip('"')  # OpenCode quotes the task
    return None


def pieces(text):
    return [text[start : start + PIECE_LEN] for start in range(0, len(text), PIECE_LEN)]


def usage_of(body, deltas):
    prompt, completion = len(json.dumps(body["messages"])) // 4, len(deltas)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def chunk(body, delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-agent", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": [choice]}


def whole(body, deltas, finish, usage):
    text = "".join(delta.get("content", "") for delta in deltas)
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    parts = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    if parts:
        arguments = "".join(part["function"]["arguments"] for part in parts)
        function = {"name": parts[0]["function"]["name"], "arguments": arguments}
        message["tool_calls"] = [{"id": parts[0]["id"], "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {"id": "chatcmpl-agent", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": usage}


def start():
    """Serves on a free port in background threads."""
    server = AgentEngine()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    AgentEngine(port=int(sys.argv[1])).serve_forever()
