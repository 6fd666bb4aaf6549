//! Traces of calls to models, exported to an OpenTelemetry receiver over OTLP (HTTP, protobuf).
//!
//! Off unless the operator configures a receiver. Only authenticated calls are traced, so that other clients cannot create
//! spans. Prompts and responses are exported only if the operator enables it. `docs/tracing.md` lists what is exported.

mod body;
mod call_trace;
mod config;
mod content;
mod context;
mod export;
mod names;
mod otlp;
mod queue;
mod request;
mod response;
mod spans;

pub use body::TracedBody;
pub use call_trace::CallTrace;
pub use config::TracesConfig;
pub use context::TRACESTATE;
pub use queue::SpanFigures;

use call_trace::Context;
use context::{Parent, Sampling};
use export::Exporter;
use fleet::Connector;
use http1::Headers;
use queue::Queue;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::watch;

/// Begins traces.
pub struct Tracer {
    sampling: Sampling,
    with_content: bool,
    queue: Arc<Queue>,
}

impl Tracer {
    /// Returns the tracer and the export loop, which runs until `no_more`.
    pub fn open(
        config: TracesConfig,
        node: &str,
        connector: Connector,
        no_more: watch::Receiver<bool>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = Queue::new();
        let queue = Arc::new(queue);
        let sampling = Sampling { ratio: config.sample_ratio, follow_parent: config.follow_parent };
        let tracer = Self { sampling, with_content: config.record_content, queue: Arc::clone(&queue) };
        let exporter = Exporter { config, node: node.to_owned(), connector, queue };
        (tracer, exporter.run(waiting, no_more))
    }

    /// Starts the trace of a call; `None` if it is not sampled.
    pub fn begin(&self, headers: &Headers) -> Option<Arc<CallTrace>> {
        let parent = Parent::of(headers);
        if !self.sampling.includes(parent.as_ref(), fastrand::u64(..)) {
            return None;
        }
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let (trace_id, span_id) = random.split_at(16);
        let context = Context {
            trace_id: parent.map_or_else(
                || u128::from_le_bytes(trace_id.try_into().expect("16 bytes")).max(1),
                |parent| parent.trace_id,
            ),
            span_id: u64::from_le_bytes(span_id.try_into().expect("8 bytes")).max(1),
            tracestate: parent.map(|_| context::tracestate(headers)).unwrap_or_default(),
            parent,
        };
        Some(Arc::new(CallTrace::new(context, self.with_content, Arc::clone(&self.queue))))
    }

    pub fn figures(&self) -> &SpanFigures {
        self.queue.figures()
    }
}
