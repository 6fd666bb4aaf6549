//! Connections of a server that stops.

use super::*;

#[tokio::test]
async fn a_stopping_server_closes_connections_after_their_last_response() {
    let limits = Limits { last_request: Duration::from_millis(10), ..limits() };
    let idle = Client::open_for(limits, 1 << 16, echo);
    tokio::task::yield_now().await;
    idle.stop.send_replace(true);
    assert_eq!(idle.all().await, "");

    let mut busy = Client::open(1 << 16, echo);
    busy.send("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n").await;
    tokio::task::yield_now().await;
    busy.stop.send_replace(true);
    busy.send("hi").await;
    assert_eq!(busy.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nPOST / hi");
}

#[tokio::test]
async fn a_stopping_server_serves_the_first_request_of_a_new_connection() {
    let limits = Limits { last_request: Duration::from_secs(60), ..limits() };
    let mut client = Client::open_for(limits, 1 << 16, echo);
    client.stop.send_replace(true);
    tokio::task::yield_now().await;
    client.send("GET / HTT").await;
    tokio::task::yield_now().await;
    client.send("P/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nGET / ");
}

#[tokio::test]
async fn a_request_that_comes_too_late_for_a_stopping_server_is_not_answered_with_a_reset() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let (_stop, stopping) = watch::channel(true);
    let limits = Limits { last_request: Duration::ZERO, ..limits() };
    let mut server = JoinSet::new();
    server.spawn(async move { serve(stream, limits, stopping, echo, rejection).await });
    let mut text = Vec::new();
    client.read_to_end(&mut text).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(server.join_next().await.unwrap().unwrap(), None);
    client.read_to_end(&mut text).await.expect("no reset");
    assert_eq!(text, b"");
}
