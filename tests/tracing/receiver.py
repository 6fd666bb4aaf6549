"""An OTLP/HTTP receiver that decodes spans with OpenTelemetry's protobuf messages and can return errors."""

import http.server
import threading

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2


class Receiver:
    """Received spans as dictionaries, in order of arrival."""

    def __init__(self):
        self.lock = threading.Lock()
        self.spans = []
        self.requests = []
        self.statuses = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status, response = receiver.receive(self.path, self.headers, body)
                self.send_response(status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(response)))
                self.end_headers()
                self.wfile.write(response)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def respond_next_with(self, *statuses):
        with self.lock:
            self.statuses.extend(statuses)

    def receive(self, path, headers, body):
        with self.lock:
            self.requests.append({"path": path, "headers": dict(headers.items()), "bytes": body})
            status = self.statuses.pop(0) if self.statuses else 200
            if status == 200:
                self.decode(body)
            return status, trace_service_pb2.ExportTraceServiceResponse().SerializeToString()

    def decode(self, body):
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        for resource_spans in request.resource_spans:
            resource = attributes(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    self.spans.append(
                        {
                            "resource": resource,
                            "scope": scope_spans.scope.name,
                            "schema": scope_spans.schema_url,
                            "name": span.name,
                            "kind": span.kind,
                            "trace": span.trace_id.hex(),
                            "id": span.span_id.hex(),
                            "parent": span.parent_span_id.hex(),
                            "tracestate": span.trace_state,
                            "flags": span.flags,
                            "start": span.start_time_unix_nano,
                            "end": span.end_time_unix_nano,
                            "error": span.status.code == 2,
                            "attributes": attributes(span.attributes),
                        }
                    )

    def received(self):
        with self.lock:
            return list(self.spans)

    def clear(self):
        with self.lock:
            self.spans.clear()
            self.requests.clear()


def attributes(pairs):
    return {pair.key: value_of(pair.value) for pair in pairs}


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(each) for each in value.array_value.values]
    return getattr(value, kind)
