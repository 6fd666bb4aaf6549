//! The victim: a tenant that calls at a steady rate.

use std::time::Duration;

use bytes::Bytes;

use crate::hostile::gateway::{MODEL, Target};
use crate::hostile::requests::{chat_body, chat_call};
use crate::proxy_bench::load::connection::Connection;
use crate::proxy_bench::load::open_loop::{self, Latencies};

/// Enough that each is idle when its next call is due.
const CONNECTIONS: usize = 16;

/// Calls for a while, on connections that have served a call before.
pub(super) async fn call(target: &Target, per_second: u32, span: Duration) -> anyhow::Result<Latencies> {
    let request: Bytes = chat_call(&target.victim, &chat_body(MODEL, "hi", false));
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(target.address).await?;
        connection.exchange(&request, 200).await?;
        connections.push(connection);
    }
    open_loop::run(connections, &request, f64::from(per_second), span).await
}
