//! Requests to a server that fails in all ways.

use super::*;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const CONTENT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\ncontent";
const BUSY: &str = "HTTP/1.1 503 Slow Down\r\ncontent-length: 41\r\n\r\n<Error><Code>SlowDown</Code></Error>     ";
const LATE: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 42\r\n\r\n<Error><Code>RequestTimeout</Code></Error>";
const DENIED: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 40\r\n\r\n<Error><Code>AccessDenied</Code></Error>";
const NO_KEY: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 37\r\n\r\n<Error><Code>NoSuchKey</Code></Error>";
const NO_BUCKET: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 40\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>";
const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\ncont";

/// A server that responds to one request after another as the test says, and closes the connection after each.
struct Server {
    bucket: Bucket,
    requests: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

async fn start(responses: &'static [&'static str]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("s3://acme/prefix?endpoint=http://127.0.0.1:{port}");
    let location = BucketLocation::parse(&url, None).unwrap();
    let credentials = BucketCredentials {
        key_id: "id".to_owned(),
        secret: "s3cret".to_owned(),
        session_token: Some("token".to_owned()),
    };
    let now = || Timestamp::from_millis(1_369_353_600_000);
    let bucket = Bucket::new(BucketConfig { location, credentials }, Connector::default(), now);
    let requests = Arc::new(Mutex::new(Vec::new()));
    let mut task = JoinSet::new();
    let seen = Arc::clone(&requests);
    task.spawn(async move {
        for response in responses {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_request(&mut stream).await;
            seen.lock().unwrap().push(request);
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    });
    Server { bucket, requests, _task: task }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let text = String::from_utf8(request).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    text + std::str::from_utf8(&body).unwrap()
}

impl Server {
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn requests_are_signed_and_addressed_by_path() {
    let server = start(&[OK, CONTENT, NO_KEY]).await;
    server.bucket.put("file/0", Bytes::from_static(b"hello")).await.unwrap();
    assert_eq!(server.bucket.get("file/0", 100).await.unwrap(), "content");
    server.bucket.delete("file/0").await.expect("what is not there is deleted");
    let [put, get, delete]: [String; 3] = server.requests().try_into().unwrap();
    assert!(put.starts_with("PUT /acme/prefix/file/0 HTTP/1.1\r\nhost: 127.0.0.1:"), "{put}");
    assert!(put.ends_with("content-length: 5\r\n\r\nhello"), "{put}");
    let signed = "authorization: AWS4-HMAC-SHA256 Credential=id/20130524/us-east-1/s3/aws4_request,\
        SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,Signature=";
    assert!(put.contains(signed) && !put.contains("s3cret"), "{put}");
    assert!(get.starts_with("GET /acme/prefix/file/0 ") && delete.starts_with("DELETE /acme/prefix/file/0 "));
}

#[tokio::test]
async fn failures_that_may_pass_are_repeated() {
    let server = start(&[BUSY, CUT, CONTENT]).await;
    assert_eq!(server.bucket.get("a", 100).await.unwrap(), "content");
    let server = start(&[LATE, "", OK]).await;
    server.bucket.put("a", Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn retries_are_bounded_and_other_failures_are_final() {
    let server = start(&[BUSY, BUSY, BUSY, OK]).await;
    let error = server.bucket.put("a", Bytes::new()).await.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), server.requests().len()),
        ("the bucket responded with 503 SlowDown", ATTEMPTS)
    );
    let server = start(&[DENIED, OK]).await;
    let error = server.bucket.put("a", Bytes::new()).await.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), server.requests().len()),
        ("the bucket responded with 403 AccessDenied", 1)
    );
    let server = start(&[NO_BUCKET, NO_KEY, CONTENT]).await;
    let error = server.bucket.delete("a").await.unwrap_err();
    assert_eq!(error.to_string(), "the bucket responded with 404 NoSuchBucket");
    assert!(matches!(server.bucket.get("a", 100).await.unwrap_err(), BucketError::Missing));
    assert!(matches!(server.bucket.get("a", 6).await.unwrap_err(), BucketError::Malformed(_)));
}

#[tokio::test]
async fn a_bucket_that_is_away_is_an_error() {
    let server = start(&[]).await;
    drop(server._task);
    let error = server.bucket.get("a", 100).await.unwrap_err();
    assert!(matches!(error, BucketError::Connection(_)), "{error}");
}
