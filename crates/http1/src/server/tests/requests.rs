//! Which requests are found in the input, and with which bodies.

use super::*;
use crate::request_head::MAX_REQUEST_HEAD;

#[tokio::test]
async fn requests_are_read_alike_wherever_the_input_is_split() {
    let requests = "POST /a HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nhost: h\r\n\r\n\
        POST /rest HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nworld\
        POST /rest HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nt: 1\r\n\r\n\
        POST /d HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    let expected = ["POST /a hello", "GET /b ", "POST /rest world", "POST /rest hello"].map(response_with).concat()
        + "HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nPOST /d ok";
    for cut in 1..requests.len() {
        let mut client = Client::open(1 << 16, echo);
        client.send(&requests[..cut]).await;
        tokio::task::yield_now().await;
        client.send(&requests[cut..]).await;
        assert_eq!(client.all().await, expected, "split at {cut}");
    }
}

#[tokio::test]
async fn input_that_arrives_while_a_handler_runs_is_kept() {
    for behind in ["", "POST /b HT", "POST /b HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 5\r\n\r\nwo"]
    {
        let mut client = Client::open(1 << 16, async |head, body| {
            let response = echo(head, body).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
            response
        });
        let second = "POST /b HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 5\r\n\r\nworld";
        client.send("POST /a HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n").await;
        tokio::task::yield_now().await;
        client.send(&format!("5\r\nhello\r\n0\r\n\r\n{behind}")).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        client.send(&second[behind.len()..]).await;
        let last = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\nconnection: close\r\n\r\nPOST /b world";
        assert_eq!(client.all().await, response_with("POST /a hello") + last, "{behind}");
    }
}

#[tokio::test]
async fn a_head_may_arrive_byte_by_byte() {
    let mut client = Client::open(1, echo);
    let request =
        "POST /a HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-long: aaaaaaaaaaaaaaaa\r\ncontent-length: 2\r\n\r\nok";
    for byte in request.split("").filter(|byte| !byte.is_empty()) {
        client.send(byte).await;
        tokio::task::yield_now().await;
    }
    assert!(client.all().await.ends_with("POST /a ok"));
}

#[tokio::test]
async fn a_handler_may_switch_from_the_whole_body_to_pieces() {
    let mut client = Client::open(1 << 16, async |_, mut body: RequestBody| {
        let too_slow = tokio::time::timeout(Duration::from_millis(20), body.rest(usize::MAX)).await;
        assert!(too_slow.is_err());
        let mut passed = 0;
        while let Ok(Some(piece)) = body.next().await {
            passed += piece.len();
        }
        Response::new(TestBody::from(passed.to_string()))
    });
    client.send("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nabcd").await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    client.send("efghijGET").await;
    assert_eq!(client.until("\r\n\r\n10").await, response_with("10"));
}

#[tokio::test]
async fn a_long_body_arrives_in_one_piece_for_which_the_handler_makes_room() {
    let body = "0123456789".repeat(20);
    for connection_bytes in [1, 7, 64, 1 << 16] {
        let expected = body.clone();
        let mut client = Client::open(connection_bytes, move |_, mut body: RequestBody| {
            let expected = expected.clone();
            async move {
                let mut steps = Vec::new();
                loop {
                    let room = (body.buffered() + 1).next_power_of_two().max(8);
                    match body.rest(room).await.unwrap() {
                        BodyRest::Part => {
                            assert!(body.buffered() >= room, "{} of {room}", body.buffered());
                            assert!(body.buffered() < 256);
                            steps.push(room);
                        }
                        BodyRest::Piece(piece) => {
                            assert_eq!(piece, expected.as_bytes());
                            assert_eq!((body.buffered(), body.rest(1).await), (0, Ok(BodyRest::End)));
                            assert!(steps.is_sorted() && steps.last().is_none_or(|room| *room == 128), "{steps:?}");
                            return Response::new(TestBody::from("whole"));
                        }
                        BodyRest::End => panic!("the end before the body"),
                    }
                }
            }
        });
        client.send(&format!("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await;
        assert_eq!(client.until("whole").await, response_with("whole"));
    }
}

#[tokio::test]
async fn a_body_may_be_skipped() {
    let skip = async |head: RequestHead, mut body: RequestBody| {
        let mut skipped = 0;
        if head.uri.path() == "/some" {
            skipped += body.next().await.unwrap().unwrap().len();
        }
        while let Some(count) = body.skip().await.unwrap() {
            skipped += count;
        }
        assert!(body.is_over());
        Response::new(TestBody::from(skipped.to_string()))
    };
    let requests = "POST /all HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhello\
        POST /some HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\n\r\n, world\
        POST /all HTTP/1.1\r\nhost: h\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\n5";
    let expected = response_with("5") + &response_with("7") + last;
    for cut in 1..requests.len() {
        let mut client = Client::open(1 << 16, skip);
        client.send(&requests[..cut]).await;
        tokio::task::yield_now().await;
        client.send(&requests[cut..]).await;
        assert_eq!(client.all().await, expected, "split at {cut}");
    }
}

#[tokio::test]
async fn continue_is_sent_once_the_handler_reads_the_body() {
    let head = "POST / HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    let mut client = Client::open(1 << 16, echo);
    client.send(head).await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hi").await;
    assert_eq!(client.until("hi").await, response_with("POST / hi"));

    let mut client = Client::open(1 << 16, async |_, _| Response::new(TestBody::from("no")));
    client.send(head).await;
    assert_eq!(client.all().await, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
}

#[tokio::test]
async fn input_beyond_the_bound_ends_the_connection_after_the_response() {
    let (release, released) = watch::channel(false);
    let mut client = Client::open(1 << 16, move |_, _| {
        let mut released = released.clone();
        async move {
            released.wait_for(|is_released| *is_released).await.unwrap();
            Response::new(TestBody::from("done"))
        }
    });
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    let next = "GET /next HTTP/1.1\r\nhost: h\r\n\r\n";
    client.send(&next.repeat(1 + 4 * MAX_REQUEST_HEAD / next.len())).await;
    release.send_replace(true);
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";
    assert_eq!(client.until("done").await, last);
    client.send(next).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.all().await, "", "the rest is read and discarded");
}

#[tokio::test]
async fn input_behind_the_last_request_is_read_before_the_connection_closes() {
    let mut client = Client::open(1 << 16, echo);
    client.send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\nGET /more HTTP/1.1\r\n").await;
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nGET / ";
    assert_eq!(client.until("GET / ").await, last);
    assert_eq!(client.stream.read(&mut [0]).await.unwrap(), 0, "the response has ended");
    client.send("a reset would have lost the response").await;
}

#[tokio::test]
async fn a_malformed_request_is_rejected_and_nothing_behind_it_is_served() {
    for (bad, status) in [
        ("GARBAGE\r\n\r\n", "400 Bad Request"),
        (
            "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "400 Bad Request",
        ),
        ("GET / HTTP/3.0\r\n\r\n", "505 HTTP Version Not Supported"),
    ] {
        let mut client = Client::open(1 << 16, echo);
        client.send(&format!("{bad}GET /hidden HTTP/1.1\r\nhost: h\r\n\r\n")).await;
        client.stream.shutdown().await.unwrap();
        assert_eq!(client.all().await, closing(status), "{bad}");
    }
    let mut client = Client::open(1 << 16, echo);
    client.send("POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\nhello\r\nGET /hidden HTTP/1.1\r\nhost: h\r\n\r\n").await;
    client.stream.shutdown().await.unwrap();
    let rejected = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nbroken";
    assert_eq!(client.all().await, rejected, "malformed chunks end the connection");
}
