"""Tests files in a bucket with moto, a server of S3 that checks signatures and policies. Run by scripts/test-buckets."""

import base64
import json
import logging
import pathlib
import secrets
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request

import boto3
import botocore.config
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testbed import FOREBAY, Testbed, Response, log_of, send, wait_until  # noqa: E402

BUCKET, PREFIX, REGION = "acme-files", "forebay/test", "eu-central-1"
BOUNDARY = "forebay-test-boundary"
MODELS = """
[[models]]
id = "acme/tiny"
upstreams = [{{ url = "{engine}/v1", model = "tiny-q4" }}]
"""
# Objects of deleted files are removed by a loop of the leader, once a minute.
DELETION_SECS = 150


class Moto:
    def __init__(self):
        self.application = DomainDispatcherApplication(create_backend_app)
        self.is_broken = False
        self.server = make_server("127.0.0.1", 0, self.respond, threaded=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def respond(self, environ, start_response):
        if self.is_broken:
            start_response("500 Internal Server Error", [("content-length", "0")])
            return []
        return self.application(environ, start_response)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def client(self, service, key):
        options = botocore.config.Config(s3={"addressing_style": "path"})
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=key["AccessKeyId"],
            aws_secret_access_key=key["SecretAccessKey"],
            config=options,
        )

    def user(self, iam, name, *statements):
        """The access key of a new user who may do this, and nothing else."""
        iam.create_user(UserName=name)
        allowed = [{"Effect": "Allow", "Action": action, "Resource": resource} for action, resource in statements]
        policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
        iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=policy)
        return iam.create_access_key(UserName=name)["AccessKey"]


def setUpModule():
    global moto, auditor, forebay_key, testbed, models
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # one line per request
    moto = Moto()
    unittest.addModuleCleanup(moto.stop)
    unsigned = {"AccessKeyId": "anything", "SecretAccessKey": "anything"}
    moto.client("s3", unsigned).create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    iam = moto.client("iam", unsigned)
    objects = f"arn:aws:s3:::{BUCKET}/{PREFIX}/*"
    actions = ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"]
    forebay_key = moto.user(iam, "forebay", (actions, objects))
    auditor = moto.client("s3", moto.user(iam, "auditor", ("s3:*", "*")))
    # From now on, signatures and policies are checked.
    reset = urllib.request.Request(f"{moto.url}/moto-api/reset-auth", b"0", {"content-type": "text/plain"})
    urllib.request.urlopen(reset).close()
    testbed = unittest.enterModuleContext(Testbed())
    models = MODELS.format(engine=testbed.engine())


def objects(file):
    """The names of the objects of a file, below the prefix."""
    listed = auditor.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    names = [item["Key"].removeprefix(f"{PREFIX}/") for item in listed]
    return sorted(name for name in names if name.startswith(file))


def read(name):
    return auditor.get_object(Bucket=BUCKET, Key=f"{PREFIX}/{name}")["Body"].read()


class Gateway:
    def __init__(self, secret=None, **environment):
        url = f"s3://{BUCKET}/{PREFIX}?endpoint={moto.url}&region={REGION}"
        keys = {
            "AWS_ACCESS_KEY_ID": forebay_key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": secret or forebay_key["SecretAccessKey"],
        }
        self.environment = keys | environment
        self.started = testbed.gateway(f'{models}\n[files]\nurl = "{url}"', environment=self.environment)

    def call(self, method, path, body=None, **headers):
        headers = {"authorization": f"Bearer {self.started.apiKey}"} | headers
        request = urllib.request.Request(f"{self.started.url}/v1{path}", body, headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            return error

    def record(self, method, path, body=None, **headers):
        return Response(self.call(method, path, body, **headers))

    def upload(self, content):
        form = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{BOUNDARY}\r\n'
            f'Content-Disposition: form-data; name="file"; filename="lines.jsonl"\r\n\r\n'
        ).encode()
        form += content + f"\r\n--{BOUNDARY}--\r\n".encode()
        return self.record("POST", "/files", form, **{"content-type": f"multipart/form-data; boundary={BOUNDARY}"})

    def content(self, file):
        with self.call("GET", f"/files/{file}/content") as response:
            return response.status, response.read()

    def chat(self):
        headers = {"authorization": f"Bearer {self.started.apiKey}"}
        messages = [{"role": "user", "content": "Hello"}]
        return send(f"{self.started.url}/v1/chat/completions", {"model": "acme/tiny", "messages": messages}, headers)

    def doctor(self):
        """The finding about files."""
        arguments = ["admin", "doctor", "--json", "--config", self.started.config, "--data-dir", self.started.dataDir]
        run = subprocess.run([FOREBAY, *arguments], capture_output=True, text=True, env=self.environment)
        return next(finding for finding in json.loads(run.stdout)["findings"] if finding["check"] == "files")


class BucketTest(unittest.TestCase):
    maxDiff = 2000

    def gateway(self, **options):
        gateway = Gateway(**options)
        self.addCleanup(testbed.stop, gateway.started)
        return gateway

    def failed(self, response):
        return response.status, response.json()["error"]["code"]


class Files(BucketTest):
    def test_content_is_in_the_bucket_until_the_file_is_deleted(self):
        content = b'{"a": "a private prompt"}'.ljust(99) * 26_000
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        gateway = self.gateway(FOREBAY_CONTENT_KEY=key)
        file = gateway.upload(content).json()
        self.assertEqual((file["bytes"], file["status"]), (len(content), "processed"), log_of(gateway.started))
        found = objects(file["id"])
        self.assertEqual(found, [f"{file['id']}/{chunk}" for chunk in range(3)])
        self.assertTrue(all(b"private" not in read(name) for name in found), "it is encrypted")
        database = pathlib.Path(gateway.started.dataDir, "forebay.db")
        self.assertLess(database.stat().st_size, len(content) // 2)
        self.assertEqual(gateway.content(file["id"]), (200, content))

        auditor.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/{file['id']}/0")
        self.assertEqual(gateway.content(file["id"])[0], 500, "someone else deleted an object")
        self.assertEqual(gateway.record("DELETE", f"/files/{file['id']}").json()["deleted"], True)
        self.assertEqual(gateway.content(file["id"])[0], 404)
        wait_until("its objects are deleted", lambda: not objects(file["id"]), DELETION_SECS)

    def test_a_batch_reads_and_writes_files_in_the_bucket(self):
        gateway = self.gateway()
        body = {"model": "acme/tiny", "messages": [{"role": "user", "content": "Hello"}]}
        line = {"method": "POST", "url": "/v1/chat/completions", "body": body}
        lines = [json.dumps({"custom_id": f"line-{number}"} | line) for number in range(5)]
        file = gateway.upload("\n".join(lines).encode()).json()["id"]
        request = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        created = gateway.record("POST", "/batches", json.dumps(request).encode(), **{"content-type": "application/json"})
        path = f"/batches/{created.json()['id']}"
        ended = lambda: (batch := gateway.record("GET", path).json())["status"] == "completed" and batch  # noqa: E731
        batch = wait_until("the batch ends", ended)
        self.assertEqual(batch["request_counts"], {"total": 5, "completed": 5, "failed": 0})
        self.assertEqual(objects(batch["output_file_id"]), [f"{batch['output_file_id']}/0"])
        status, output = gateway.content(batch["output_file_id"])
        self.assertEqual((status, len(output.splitlines())), (200, 5))


class Failures(BucketTest):
    def test_a_bucket_that_is_away_fails_requests_about_files_and_nothing_else(self):
        gateway = self.gateway()
        content = b"{}\n"
        file = gateway.upload(content).json()["id"]
        self.assertEqual(gateway.doctor()["level"], "ok")
        moto.is_broken = True
        try:
            self.assertEqual(self.failed(gateway.upload(content)), (503, "files_unavailable"))
            self.assertEqual(gateway.content(file)[0], 503)
            self.assertEqual([file["id"] for file in gateway.record("GET", "/files").json()["data"]], [file])
            self.assertEqual(gateway.chat().status, 200)
            self.assertEqual(send(f"{gateway.started.ops}/readyz").status, 200)
            finding = gateway.doctor()
            self.assertEqual(finding["level"], "problem")
            self.assertIn(f"s3://{BUCKET}/{PREFIX} at 127.0.0.1:{moto.port} cannot be used", finding["what"])
        finally:
            moto.is_broken = False
        self.assertEqual(gateway.upload(content).status, 200)
        self.assertEqual(gateway.content(file), (200, content))

    def test_a_wrong_secret_is_found_by_the_doctor(self):
        gateway = self.gateway(secret="another-s3cret")
        self.assertEqual(self.failed(gateway.upload(b"{}")), (503, "files_unavailable"))
        self.assertIn("403 SignatureDoesNotMatch", gateway.doctor()["what"])
        self.assertNotIn("another-s3cret", log_of(gateway.started))


if __name__ == "__main__":
    unittest.main(verbosity=2)
