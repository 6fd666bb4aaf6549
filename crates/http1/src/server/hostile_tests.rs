//! Property tests with damaged requests: nothing panics or hangs, and the portions in which bytes arrive do not matter.

use super::tests::{Client, echo};
use super::*;
use crate::framing::{ChunkError, Framing, Step};
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;

const REQUESTS: &str = "POST /a HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nhost: h\r\n\r\n\
    POST /rest HTTP/1.1\r\nhost: h\r\nx-long: aaaa\r\ncontent-length: 5\r\n\r\nworld\
    POST /rest HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nt: 1\r\n\r\n\
    HEAD /d HTTP/1.0\r\nconnection: keep-alive\r\n\r\nGET /e HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
const CHUNKS: &str = "5\r\nhello\r\n6;ext=\"1\"\r\n world\r\na\t\r\n0123456789\r\n0\r\nx-trailer: 1\r\n\r\n";

/// A change of a text at a position.
#[derive(Debug, Clone)]
enum Damage {
    Replace(u8),
    Insert(u8),
    Remove(usize),
    Repeat(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = || prop_oneof![proptest::sample::select(b"\r\n :;,+-0159afGx\0\x7f\xff".to_vec()), any::<u8>()];
    prop_oneof![
        byte().prop_map(Damage::Replace),
        byte().prop_map(Damage::Insert),
        (1..12usize).prop_map(Damage::Remove),
        (1..40usize).prop_map(Damage::Repeat),
    ]
}

fn damaged(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    vec((any::<prop::sample::Index>(), damage()), 0..4).prop_map(move |changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (index, damage) in changes {
            let at = index.index(bytes.len().max(1));
            let end = |length: usize| (at + length).min(bytes.len());
            match damage {
                Damage::Replace(byte) if at < bytes.len() => bytes[at] = byte,
                Damage::Replace(byte) | Damage::Insert(byte) => bytes.insert(at.min(bytes.len()), byte),
                Damage::Remove(length) => drop(bytes.drain(at..end(length))),
                Damage::Repeat(length) => {
                    let copy = bytes[at..end(length)].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
        }
        bytes
    })
}

/// Everything that the server sends for these bytes, which arrive in pieces of one size.
async fn served(bytes: &[u8], piece: usize) -> String {
    let mut client = Client::open(1 << 16, echo);
    for piece in bytes.chunks(piece) {
        // The server may have closed already.
        let _ = client.stream.write_all(piece).await;
        tokio::task::yield_now().await;
    }
    // An incomplete head is only parsed again when a line ends.
    let _ = client.stream.write_all(b"\r\n\r\n").await;
    let _ = client.stream.shutdown().await;
    client.all().await
}

fn decode(bytes: &[u8], piece: usize) -> Result<(Vec<u8>, bool), ChunkError> {
    let (mut framing, mut input, mut body) = (Framing::CHUNKED, BytesMut::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        input.extend_from_slice(piece);
        loop {
            match framing.next(&mut input)? {
                Step::Data(data) => body.extend_from_slice(&data),
                Step::More => break,
                Step::End => return Ok((body, true)),
            }
        }
    }
    Ok((body, false))
}

proptest! {
    #[test]
    fn damaged_requests_are_served_alike_in_any_portions(bytes in damaged(REQUESTS), piece in 1..64usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (whole, split) = runtime.block_on(async {
            let both = async { (served(&bytes, bytes.len().max(1)).await, served(&bytes, piece).await) };
            tokio::time::timeout(Duration::from_secs(20), both).await.expect("the server does not hang")
        });
        prop_assert_eq!(whole, split, "{}", bytes.escape_ascii());
    }

    #[test]
    fn damaged_chunks_are_decoded_alike_in_any_portions(bytes in damaged(CHUNKS), piece in 1..16usize) {
        prop_assert_eq!(decode(&bytes, bytes.len().max(1)), decode(&bytes, piece));
    }
}
