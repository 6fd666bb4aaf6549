//! How responses are written.

use super::*;
use http::{HeaderValue, StatusCode, header};
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test]
async fn a_response_without_a_body_has_no_length() {
    let mut client = Client::open(1 << 16, async |_, _| {
        let mut response = Response::new(TestBody::Whole(None));
        *response.status_mut() = StatusCode::NO_CONTENT;
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(0));
        response
    });
    client.send("DELETE / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
}

#[tokio::test]
async fn the_end_of_a_response_is_visible_to_every_client() {
    let stream = async |_, _| pieces(&["one", "", "three"]);
    let mut client = Client::open(1 << 16, stream);
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n";
    assert_eq!(client.until("0\r\n\r\n").await, chunks);
    client.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nonethree");

    let mut client = Client::open(1 << 16, echo);
    client
        .send("GET /x HTTP/1.0\r\nconnection: keep-alive\r\n\r\nHEAD /long HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .await;
    let expected = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: keep-alive\r\n\r\nGET /x \
        HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n";
    assert_eq!(client.all().await, expected.replace("/x         HTTP", "/x HTTP"));
}

#[tokio::test]
async fn a_response_that_fails_midway_has_no_last_chunk() {
    let (sender, receiver) = mpsc::channel(1);
    let respond = response_of(receiver);
    let mut client = Client::open(1 << 16, move |_, _| std::future::ready(respond()));
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    sender.send(Ok(Bytes::from("one"))).await.unwrap();
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
    assert_eq!(client.until("one\r\n").await, begun);
    sender.send(Err(io::Error::other("broken"))).await.unwrap();
    assert_eq!(client.all().await, "");
}

#[tokio::test]
async fn a_large_response_waits_for_a_slow_client() {
    let large = "0123456789abcdef".repeat(20_000);
    let body = large.clone();
    let mut client = Client::open(1_000, move |_, _| std::future::ready(Response::new(TestBody::from(body.clone()))));
    client.send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    assert!(client.all().await.ends_with(&format!("\r\n\r\n{large}")));
}

#[tokio::test]
async fn a_handler_is_dropped_when_its_client_disconnects() {
    for request in [
        "GET / HTTP/1.1\r\nhost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: h\r\n\r\nx",
        "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhe",
        "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx",
    ] {
        struct Dropped(Arc<AtomicBool>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let was_dropped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&was_dropped);
        let mut client = Client::open(1 << 16, move |_, mut body: RequestBody| {
            let dropped = Dropped(Arc::clone(&flag));
            async move {
                let _dropped = dropped;
                while let Ok(Some(_)) = body.next().await {}
                std::future::pending().await
            }
        });
        client.send(request).await;
        tokio::task::yield_now().await;
        assert!(!was_dropped.load(Ordering::Relaxed));
        drop(client.stream);
        client.server.join_next().await.unwrap().unwrap();
        assert!(was_dropped.load(Ordering::Relaxed), "{request}");
    }
}
