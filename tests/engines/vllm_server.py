"""A real vLLM on the CPU."""

import os
import pathlib
import re
import signal
import socket
import subprocess

from gateway import CONTEXT, Failure
from testbed import send, wait_until

# 20 s on an idle machine, and many times as much beside builds.
START_SECONDS = 1200


class Vllm:
    """vLLM with the starter model, on a port that it keeps when it is started again."""

    def __init__(self, home, work, context=CONTEXT, options=(), threads=1):
        self.home, self.port, self.process = pathlib.Path(home), free_port(), None
        self.log, self.context, self.options, self.threads = work / f"vllm-{self.port}.log", context, options, threads

    @staticmethod
    def environment(threads=1):
        return {
            "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
        }

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self):
        options = [
            "--served-model-name", "smol", "--host", "127.0.0.1", "--port", self.port,
            "--max-model-len", self.context, "--enforce-eager",
            "--enable-prompt-tokens-details", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
            "--chat-template", self.home / "template.jinja", *self.options,
        ]
        command = [self.home / "venv/bin/vllm", "serve", self.home / "smol", *options]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | self.environment(self.threads), start_new_session=True,
            )
        wait_until("vLLM serves", self._is_up, START_SECONDS)

    def _is_up(self):
        if self.process.poll() is not None:
            raise Failure(f"vLLM has ended: {self.log.read_text()[-3000:]}")
        try:
            return send(f"http://127.0.0.1:{self.port}/health").status == 200
        except OSError:
            return False

    def stop(self):
        """With all its processes: the API server may end before its engine."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()

    def _metric(self, name):
        page = send(f"http://127.0.0.1:{self.port}/metrics").text
        return int(float(re.search(rf"^vllm:{name}{{.*}} (\S+)$", page, re.MULTILINE)[1]))

    def calls(self, state):
        """The calls that are `running` or `waiting`."""
        return self._metric(f"num_requests_{state}")

    def is_idle(self):
        return self.calls("running") == 0 == self.calls("waiting")

    def counters(self):
        """Prompt and completion tokens since its start."""
        return self._metric("prompt_tokens_total"), self._metric("generation_tokens_total")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
