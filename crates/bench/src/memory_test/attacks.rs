//! The attacks. Each attacker repeats its attack whenever the gateway ends it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Attack;
use crate::hostile::gateway::{ATTACKED_MODEL, ENDPOINT, Target};
use crate::hostile::http2::Http2;
use crate::hostile::requests::{
    ANNOUNCED_WITHOUT_KEY, MAX_BODY, announced, bombs, chat_body, chat_call, chat_head, continued, counted, gzip_head,
    hopeless,
};

const BODIES: usize = 2_000;
const ANNOUNCED: usize = 480;
const HEADS: usize = 50_000;
const BOMBS: usize = 500;
const HELD: usize = 5_000;
const SLOW: usize = 2_000;
const LARGE: usize = 32;
const HOPELESS: usize = 32;
const COUNTED: usize = 64;
const STORED: usize = 64;
/// The size of a response that is not streamed. The engine of this process has as many at a time as there are attackers.
pub(super) const RESPONSE_BYTES: usize = 8 << 20;
const HELD_BYTES: usize = 1 << 20;
/// The size of a head that never ends.
const HEAD_BYTES: usize = 16 << 10;
/// Below the bound of connections per address.
const CONNECTIONS_PER_ADDRESS: usize = 1_000;
const STREAMS_PER_CONNECTION: usize = 100;
/// Before a rejected attacker tries again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How long a client holds streams that it does not read, at most.
const UNREAD_FOR: Duration = Duration::from_secs(60);
/// New connections are opened in steps, so that the listening queue does not overflow.
const STEP: usize = 100;
const STEP_PAUSE: Duration = Duration::from_millis(20);

/// A part of a body.
static PIECE: [u8; 16 << 10] = [b' '; 16 << 10];

/// Starts the attackers.
pub(super) async fn start(
    attack: Attack,
    percent: u32,
    target: &Target,
    attackers: &mut JoinSet<()>,
) -> anyhow::Result<()> {
    let bombs = Arc::new(if attack == Attack::Gzip { bombs()? } else { Default::default() });
    // One of each workspace.
    let calls = Arc::new(match attack {
        Attack::HopelessPrompts => hopeless(target),
        Attack::CountedTokens => counted(target),
        Attack::StoredResponses => continued(target).await?,
        Attack::Bodies
        | Attack::Announced
        | Attack::Heads
        | Attack::Gzip
        | Attack::Held
        | Attack::SlowHttp1
        | Attack::SlowHttp2
        | Attack::LargeResponses => Vec::new(),
    });
    for number in 0..connections(attack, percent) {
        let (target, bombs, calls) = (target.clone(), Arc::clone(&bombs), Arc::clone(&calls));
        attackers.spawn(async move {
            loop {
                // A rejection or a reset is what the attacker expects.
                let _ = match attack {
                    Attack::Bodies => unfinished_body(&target, number).await,
                    Attack::Announced => announced_body(&target, number).await,
                    Attack::Heads => unfinished_head(&target, number).await,
                    Attack::Gzip => bomb(&target, number, &bombs[number % bombs.len()]).await,
                    Attack::Held => held_call(&target, number).await,
                    Attack::SlowHttp1 => slow_reader(&target, number, &target.attacker, true).await,
                    Attack::SlowHttp2 => slow_http2(&target).await,
                    Attack::LargeResponses => {
                        let key = &target.siblings[number % target.siblings.len()];
                        slow_reader(&target, number, key, false).await
                    }
                    Attack::HopelessPrompts | Attack::CountedTokens | Attack::StoredResponses => {
                        whole_call(&target, number, &calls[number % calls.len()]).await
                    }
                };
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        });
        if number % STEP == STEP - 1 {
            tokio::time::sleep(STEP_PAUSE).await;
        }
    }
    Ok(())
}

/// The connections of an attack.
pub(super) fn connections(attack: Attack, percent: u32) -> usize {
    let all = match attack {
        Attack::Bodies => BODIES,
        Attack::Announced => ANNOUNCED,
        Attack::Heads => HEADS,
        Attack::Gzip => BOMBS,
        Attack::Held => HELD,
        Attack::SlowHttp1 => SLOW,
        Attack::SlowHttp2 => SLOW / STREAMS_PER_CONNECTION,
        Attack::LargeResponses => LARGE,
        Attack::HopelessPrompts => HOPELESS,
        Attack::CountedTokens => COUNTED,
        Attack::StoredResponses => STORED,
    };
    (all * percent as usize).div_ceil(100)
}

/// Connects from one of several loopback addresses.
async fn connect(target: &Target, number: usize) -> anyhow::Result<TcpStream> {
    let address = u8::try_from(number / CONNECTIONS_PER_ADDRESS).context("too many attackers")?;
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 1, 1 + address), 0)))?;
    Ok(socket.connect(target.address).await?)
}

/// Waits until the gateway responds or closes.
async fn wait_for_response(stream: &mut TcpStream) -> anyhow::Result<()> {
    Ok(stream.read_u8().await.map(|_| ())?)
}

async fn unfinished_body(target: &Target, number: usize) -> anyhow::Result<()> {
    let mut stream = connect(target, number).await?;
    stream.write_all(chat_head(&target.attacker, &format!("content-length: {MAX_BODY}\r\n")).as_bytes()).await?;
    let (mut reading, mut writing) = stream.split();
    let send = async {
        let mut left = MAX_BODY - 1;
        while left > 0 {
            left -= writing.write(&PIECE[..left.min(PIECE.len())]).await?;
        }
        std::future::pending::<anyhow::Result<()>>().await
    };
    tokio::select! {
        sent = send => sent,
        read = reading.read_u8() => Ok(read.map(|_| ())?),
    }
}

/// Sends one byte of a body: with a key of one of many workspaces, or without a credential. A length that is rejected is
/// halved, so that all memory would be taken if what is announced took any, whatever the share of a workspace is.
async fn announced_body(target: &Target, number: usize) -> anyhow::Result<()> {
    let key = number.is_multiple_of(2).then(|| &target.siblings[number / 2 % target.siblings.len()]);
    let mut length = if key.is_some() { MAX_BODY } else { ANNOUNCED_WITHOUT_KEY };
    while length > 1 {
        let mut stream = connect(target, number).await?;
        stream.write_all(&announced(key.map(String::as_str), length)).await?;
        let since = Instant::now();
        wait_for_response(&mut stream).await?;
        if since.elapsed() > RETRY_PAUSE {
            break;
        }
        length /= 2;
    }
    Ok(())
}

async fn unfinished_head(target: &Target, number: usize) -> anyhow::Result<()> {
    let mut stream = connect(target, number).await?;
    stream.write_all(format!("GET / HTTP/1.1\r\nhost: x\r\nx-long: {}", "a".repeat(HEAD_BYTES)).as_bytes()).await?;
    wait_for_response(&mut stream).await
}

async fn bomb(target: &Target, number: usize, bomb: &[u8]) -> anyhow::Result<()> {
    let mut stream = connect(target, number).await?;
    stream.write_all(gzip_head(&target.attacker, bomb.len()).as_bytes()).await?;
    stream.write_all(bomb).await?;
    wait_for_response(&mut stream).await
}

async fn held_call(target: &Target, number: usize) -> anyhow::Result<()> {
    let mut stream = connect(target, number).await?;
    let body = chat_body(ENDPOINT, &"a".repeat(HELD_BYTES), false);
    stream.write_all(&chat_call(&target.attacker, &body)).await?;
    wait_for_response(&mut stream).await
}

async fn whole_call(target: &Target, number: usize, call: &[u8]) -> anyhow::Result<()> {
    let mut stream = connect(target, number).await?;
    stream.write_all(call).await?;
    wait_for_response(&mut stream).await
}

/// Never reads, until the gateway has reset the connection. Sends nothing either: if there was input that the gateway has not
/// read, the kernel would drop what waits for the client when the gateway closes.
async fn slow_reader(target: &Target, number: usize, key: &str, is_stream: bool) -> anyhow::Result<()> {
    let mut stream = connect(target, number).await?;
    let body = chat_body(ATTACKED_MODEL, "hi", is_stream);
    stream.write_all(&chat_call(key, &body)).await?;
    let since = Instant::now();
    while since.elapsed() < UNREAD_FOR && stream.take_error()?.is_none() {
        tokio::time::sleep(RETRY_PAUSE).await;
    }
    Ok(())
}

async fn slow_http2(target: &Target) -> anyhow::Result<()> {
    let mut connection = Http2::connect(target, Some(1 << 10)).await?;
    let body = Bytes::from(chat_body(ATTACKED_MODEL, "hi", true));
    let mut unread = Vec::new();
    for _ in 0..STREAMS_PER_CONNECTION {
        unread.push(connection.send(&target.attacker, body.clone()).await?);
    }
    // By then the gateway has ended all of them.
    tokio::time::sleep(UNREAD_FOR).await;
    Ok(())
}
