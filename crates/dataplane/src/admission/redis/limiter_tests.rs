//! Calls against servers that never respond. Only the timeout of a call can end its wait here: connections may take longer
//! than any test.

use super::*;
use crate::admission::charge::ChargedCall;
use domain::limits::PerMinute;
use domain::usage::Actor;
use domain::{Caller, KeyId, OrganizationId, RequestId, Timestamp, WorkspaceId};
use std::net::SocketAddr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

const NOW: Timestamp = Timestamp::from_millis(1);
/// Longer than a test may take.
const NEVER: Duration = Duration::from_secs(3_600);
const LONG: Duration = Duration::from_secs(30);

fn charge() -> Charge {
    let caller = Caller::new(OrganizationId::new(NOW, 1), WorkspaceId::new(NOW, 2), Actor::Key(KeyId::new(NOW, 3)));
    let limits = PerMinute { requests: 60, tokens: 6_000 };
    Charge::new(&caller, limits, ChargedCall::default(), RequestId::new(NOW, 4)).with_tokens(1)
}

/// A limiter that never gives up opening a connection.
fn limiter(address: SocketAddr, timeout: Duration) -> RedisLimiter {
    let nodes = Arc::new(AtomicU32::new(2));
    let mut limits = RedisLimits::open(&format!("redis://{address}/0"), timeout, nodes).unwrap();
    limits.connect_timeout = NEVER;
    RedisLimiter::new(&limits)
}

/// A call that must be served from this node's share.
async fn call_alone(limiter: &RedisLimiter) {
    let taken = tokio::time::timeout(LONG, limiter.take(charge())).await.expect("the call waits for a connection");
    assert_eq!(taken.unwrap().0.source, DebitSource::Share);
    assert!(limiter.limits.is_degraded());
}

/// One call may wait for its timeout, and the next ones may not wait at all.
async fn assert_calls_do_not_wait(address: SocketAddr) {
    let mut limiter = limiter(address, Duration::from_millis(50));
    call_alone(&limiter).await;
    limiter.limits.timeout = NEVER;
    for _ in 0..5 {
        call_alone(&limiter).await;
    }
}

#[tokio::test]
async fn calls_do_not_wait_for_a_server_that_accepts_and_never_responds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let mut accepted = Vec::new();
        loop {
            accepted.push(listener.accept().await.unwrap());
        }
    });
    assert_calls_do_not_wait(address).await;
}

#[tokio::test]
async fn calls_do_not_wait_for_a_server_that_never_accepts() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    // Until the backlog is full, from when on the kernel ignores attempts.
    while let Ok(connected) = tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
        waiting.push(connected.unwrap());
    }
    assert_calls_do_not_wait(address).await;
}

#[tokio::test]
async fn calls_do_not_wait_for_an_address_that_leads_nowhere() {
    assert_calls_do_not_wait("192.0.2.1:6379".parse().unwrap()).await;
}

#[tokio::test]
async fn calls_do_not_wait_for_a_server_that_is_known_to_be_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limiter = limiter(listener.local_addr().unwrap(), NEVER);
    limiter.limits.note_degraded("no response to a ping");
    call_alone(&limiter).await;
}
