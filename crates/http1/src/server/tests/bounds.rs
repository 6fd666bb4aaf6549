//! Limits of time and memory.

use super::*;

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let limits = Limits { idle: Duration::from_millis(30), ..limits() };
    let mut client = Client::open_for(limits, 1 << 16, echo);
    client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(client.until("GET / ").await, response_with("GET / "));
    assert_eq!(client.all().await, "");
}

#[tokio::test]
async fn a_head_has_a_deadline_however_it_trickles_in() {
    let limits = Limits { head: Duration::from_millis(60), ..limits() };
    let mut client = Client::open_for(limits, 1 << 16, echo);
    client.send("GET / HTTP/1.1\r\nhost: h\r\n").await;
    let (mut reading, mut writing) = tokio::io::split(client.stream);
    let trickle = async {
        while writing.write_all(b"x: 1\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let mut sent = String::new();
    tokio::select! {
        read = reading.read_to_string(&mut sent) => assert!(read.is_ok()),
        () = trickle => panic!("closed without reading"),
    }
    assert_eq!(without_dates(&sent), closing("408 Request Timeout"));
}

#[tokio::test]
async fn incomplete_heads_share_a_budget() {
    let limits = Limits::new(Arc::new(HeadBudget::new(1_000)));
    let part = format!("GET / HTTP/1.1\r\nhost: h\r\nx: {}", "a".repeat(570));
    let mut first = Client::open_for(limits.clone(), 1 << 16, echo);
    first.send(&part).await;
    tokio::task::yield_now().await;
    let mut second = Client::open_for(limits.clone(), 1 << 16, echo);
    second.send(&part).await;
    assert_eq!(second.until("\r\n\r\n").await, closing("503 Service Unavailable"));
    let mut whole = Client::open_for(limits.clone(), 1 << 16, echo);
    whole.send(&format!("{part}\r\n\r\n")).await;
    assert_eq!(whole.until("GET / ").await, response_with("GET / "), "a head in one piece needs no budget");
    first.send("\r\n\r\n").await;
    assert_eq!(first.until("GET / ").await, response_with("GET / "));
    let mut third = Client::open_for(limits, 1 << 16, echo);
    third.send(&part).await;
    tokio::task::yield_now().await;
    third.send("\r\n\r\n").await;
    assert_eq!(third.until("GET / ").await, response_with("GET / "), "the budget was returned");
}

#[tokio::test]
async fn a_client_that_stops_reading_or_reads_a_trickle_is_cut_off() {
    let limits = Limits { stall: Duration::from_millis(100), ..limits() };
    let endless = async |_, _| Response::new(TestBody::Endless);
    let mut silent = Client::open_for(limits.clone(), 1 << 12, endless);
    silent.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(silent.cutoff().await, Some(Cutoff::Stalled));

    let mut slow = Client::open_for(limits, 1 << 12, endless);
    slow.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    // What the stream holds can still be read after the end, so reading ends late.
    let trickle = async {
        while slow.stream.read_u8().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        cutoff = slow.server.join_next() => assert_eq!(cutoff.unwrap().unwrap(), Some(Cutoff::Stalled)),
        () = trickle => panic!("read to the end"),
    }
}

#[tokio::test]
async fn a_call_has_a_deadline_before_and_during_its_response() {
    let limits = Limits { call: Duration::from_millis(50), ..limits() };
    let mut waiting = Client::open_for(limits.clone(), 1 << 12, async |_, _| std::future::pending().await);
    waiting.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(waiting.cutoff().await, Some(Cutoff::TimedOut));

    let (sender, receiver) = mpsc::channel(1);
    let respond = response_of(receiver);
    let mut begun = Client::open_for(limits, 1 << 12, move |_, _| std::future::ready(respond()));
    begun.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    sender.send(Ok(Bytes::from("one"))).await.unwrap();
    assert_eq!(begun.cutoff().await, Some(Cutoff::TimedOut));
}

#[tokio::test]
async fn pauses_of_a_handler_are_not_stalls_of_its_client() {
    let limits = Limits { stall: Duration::from_millis(20), ..limits() };
    let (sender, receiver) = mpsc::channel(1);
    let respond = response_of(receiver);
    let mut client = Client::open_for(limits, 1 << 12, move |_, _| std::future::ready(respond()));
    client.send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    for _ in 0..4 {
        sender.send(Ok(Bytes::from("piece"))).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(sender);
    assert_eq!(client.all().await.matches("piece").count(), 4);
}

/// A response that reports when it takes memory for its backlog.
struct ReportingResponse {
    response: Response<TestBody>,
    backlog: ReportingBacklog,
}

#[derive(Clone)]
struct ReportingBacklog {
    has_memory: bool,
    events: mpsc::Sender<&'static str>,
}

impl Backlog for ReportingBacklog {
    fn take(&mut self) -> bool {
        self.events.try_send("taken").unwrap();
        self.has_memory
    }

    fn give_back(&mut self) {
        self.events.try_send("given back").unwrap();
    }
}

impl HandlerResponse for ReportingResponse {
    type Body = TestBody;
    type Backlog = ReportingBacklog;

    fn response(&self) -> &Response<TestBody> {
        &self.response
    }

    fn response_mut(&mut self) -> &mut Response<TestBody> {
        &mut self.response
    }

    fn into_parts(self) -> (TestBody, ReportingBacklog) {
        (self.response.into_body(), self.backlog)
    }

    fn write_lines(&self, _: &mut Vec<u8>) {}
}

/// A client that does not read, although the server has sent as much as is in flight.
struct UnreadResponse {
    client: DuplexStream,
    server: JoinSet<Option<Cutoff>>,
    pieces: mpsc::Sender<io::Result<Bytes>>,
    events: mpsc::Receiver<&'static str>,
}

const PIECE_BYTES: usize = 8_192;

async fn unread_response(has_memory: bool) -> UnreadResponse {
    let (pieces, receiver) = mpsc::channel(1);
    let (sender, events) = mpsc::channel(4);
    let (mut client, theirs) = tokio::io::duplex(PIECE_BYTES / 2);
    let backlog = ReportingBacklog { has_memory, events: sender };
    let respond = response_of(receiver);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let (_never_sent, stop) = watch::channel(false);
        let handler = |_, _| std::future::ready(ReportingResponse { response: respond(), backlog: backlog.clone() });
        let reject = |error| ReportingResponse { response: rejection(error), backlog: backlog.clone() };
        serve(theirs, limits(), stop, handler, reject).await
    });
    client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    pieces.send(Ok(Bytes::from_static(&[b'x'; PIECE_BYTES]))).await.unwrap();
    UnreadResponse { client, server, pieces, events }
}

#[tokio::test]
async fn a_response_takes_memory_until_its_client_has_caught_up() {
    let mut unread = unread_response(true).await;
    assert_eq!(unread.events.recv().await, Some("taken"));
    let mut received = Vec::new();
    while received.len() < PIECE_BYTES {
        unread.client.read_buf(&mut received).await.unwrap();
    }
    assert_eq!(unread.events.recv().await, Some("given back"));
    drop(unread.pieces);
    while !received.ends_with(b"0\r\n\r\n") {
        unread.client.read_buf(&mut received).await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_does_not_keep_up_is_cut_off_if_there_is_no_memory() {
    let mut unread = unread_response(false).await;
    assert_eq!(unread.server.join_next().await.unwrap().unwrap(), Some(Cutoff::NoMemory));
    assert!(unread.pieces.is_closed(), "its body was dropped");
}
