//! Decompresses gzip bodies, with bounds on their size and their ratio.
//!
//! The start of a body is decompressed at once, which is all of most bodies, and the rest as [`HeavyWork`]. The result is
//! collected in pieces of one size and joined at the end: a buffer that grows by doubling would be copied, and one that is
//! dropped unmapped, in steps of milliseconds, between which no call on the same core is served.

use crate::body_error::BodyError;
use crate::heavy_work::{self, HeavyWork};
use crate::memory_budget::MemoryGrant;
use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use flate2::bufread::GzDecoder;
use std::io::Read;

/// Bytes per step, and decompressed bytes that the core itself produces. They take about a tenth of a millisecond.
const STEP_BYTES: usize = 64 << 10;
/// The most that a body may grow, beyond `ANY_RATIO_BYTES`. JSON of lists of tools reached 56, of log lines 26, and of text
/// 3; deflate allows 1,032.
const MAX_RATIO: u64 = 100;
/// A body up to this size may have grown by any factor.
const ANY_RATIO_BYTES: u64 = 1 << 20;
/// Clients send one member. Empty ones cost time without adding to the size.
const MAX_MEMBERS: u32 = 16;

/// Decompresses a body of at most `limit` bytes. `memory` is that of the compressed body, and grows with the result.
pub(crate) async fn gunzip(
    compressed: Bytes,
    limit: u64,
    memory: MemoryGrant,
    heavy: &HeavyWork,
) -> Result<(Bytes, MemoryGrant), BodyError> {
    let mut decompression = Decompression::new(compressed, limit, memory);
    if decompression.advance(STEP_BYTES)? {
        return Ok(decompression.finish());
    }
    let holder = decompression.memory.holder().clone();
    heavy.run(&holder, move || decompression.run_to_end()).await
}

struct Decompression {
    /// `None` at the end.
    decoder: Option<GzDecoder<Reader<Bytes>>>,
    members: u32,
    pieces: Pieces,
    limit: u64,
    /// The most bytes that the ratio allows.
    ratio_limit: u64,
    /// Bytes of the compressed body, which `memory` contains.
    compressed: usize,
    memory: MemoryGrant,
}

impl Decompression {
    fn new(compressed: Bytes, limit: u64, memory: MemoryGrant) -> Self {
        let length = compressed.len();
        Self {
            decoder: Some(GzDecoder::new(compressed.reader())),
            members: 1,
            pieces: Pieces::default(),
            limit,
            ratio_limit: (length as u64 * MAX_RATIO).max(ANY_RATIO_BYTES),
            compressed: length,
            memory,
        }
    }

    /// Continues on a thread for heavy work, and gives way after each step.
    fn run_to_end(mut self) -> Result<(Bytes, MemoryGrant), BodyError> {
        while !self.advance(self.pieces.length + STEP_BYTES)? {
            heavy_work::give_way();
        }
        Ok(self.finish())
    }

    fn finish(self) -> (Bytes, MemoryGrant) {
        (self.pieces.join(), self.memory)
    }

    /// Continues until there are `enough` bytes; whether the end was reached.
    fn advance(&mut self, enough: usize) -> Result<bool, BodyError> {
        while let Some(decoder) = &mut self.decoder {
            if self.pieces.length >= enough {
                return Ok(false);
            }
            self.memory.grow_for(self.compressed + self.pieces.length + STEP_BYTES)?;
            let count = self.pieces.read(decoder).map_err(|_| BodyError::BadEncoding)?;
            self.check_size()?;
            if count == 0 {
                self.next_member()?;
            }
        }
        Ok(true)
    }

    fn check_size(&self) -> Result<(), BodyError> {
        let length = self.pieces.length as u64;
        if length > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        if length > self.ratio_limit {
            return Err(BodyError::RatioTooHigh { ratio: MAX_RATIO });
        }
        Ok(())
    }

    /// Continues with the member behind the current one, if there is one.
    fn next_member(&mut self) -> Result<(), BodyError> {
        let rest = self.decoder.take().map_or_else(Bytes::new, |decoder| decoder.into_inner().into_inner());
        if !rest.has_remaining() {
            return Ok(());
        }
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(BodyError::TooManyMembers { limit: MAX_MEMBERS });
        }
        self.decoder = Some(GzDecoder::new(rest.reader()));
        Ok(())
    }
}

/// Bytes in pieces of [`STEP_BYTES`]; the last one may be shorter.
#[derive(Default)]
struct Pieces {
    pieces: Vec<Vec<u8>>,
    length: usize,
}

impl Pieces {
    /// Reads at most as much as completes the last piece; 0 at the end.
    fn read(&mut self, source: &mut impl Read) -> std::io::Result<usize> {
        let mut last = self.pieces.pop_if(|last| last.len() < STEP_BYTES).unwrap_or_default();
        let filled = last.len();
        last.resize(STEP_BYTES, 0);
        let read = source.read(&mut last[filled..]);
        let count = *read.as_ref().unwrap_or(&0);
        last.truncate(filled + count);
        self.pieces.push(last);
        self.length += count;
        read
    }

    fn join(mut self) -> Bytes {
        if self.pieces.len() == 1 {
            return self.pieces.pop().unwrap_or_default().into();
        }
        let mut whole = Vec::with_capacity(self.length);
        for piece in std::mem::take(&mut self.pieces) {
            whole.extend_from_slice(&piece);
            heavy_work::give_way();
        }
        whole.into()
    }
}

/// In steps, too, and from the end: the allocator returns what is last to the kernel.
impl Drop for Pieces {
    fn drop(&mut self) {
        while self.pieces.pop().is_some() {
            if !self.pieces.is_empty() {
                heavy_work::give_way();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::{Holder, MemoryBudget};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;
    use std::net::IpAddr;
    use std::sync::Arc;

    const LIMIT: u64 = 16 << 20;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn budget() -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget::new(1 << 30))
    }

    fn holder() -> Holder {
        Holder::client(IpAddr::from([192, 0, 2, 1]))
    }

    async fn run(compressed: Vec<u8>, limit: u64) -> Result<Bytes, BodyError> {
        let memory = budget().grant(holder());
        gunzip(compressed.into(), limit, memory, &HeavyWork::new(1)).await.map(|(bytes, _)| bytes)
    }

    /// Text that compresses badly.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(length).collect()
    }

    #[tokio::test]
    async fn small_and_large_bodies_are_decompressed() {
        for length in [0, 1, STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES, 5 * STEP_BYTES + 7] {
            let body = noise(length);
            assert!(run(gzip(&body), LIMIT).await.unwrap() == body, "{length}");
        }
        let members = [gzip(b"one, "), gzip(b""), gzip(b"two")].concat();
        assert_eq!(run(members, LIMIT).await.unwrap(), "one, two");
        let parts = [noise(STEP_BYTES + 1), noise(2 * STEP_BYTES - 1), noise(3)];
        assert!(run(parts.each_ref().map(|part| gzip(part)).concat(), LIMIT).await.unwrap() == parts.concat());
    }

    #[tokio::test]
    async fn size_ratio_and_members_are_bounded() {
        assert_eq!(run(gzip(&noise(2_000)), 1_999).await, Err(BodyError::TooLarge { limit: 1_999 }));
        let million = vec![b'a'; 1_000_000];
        assert!(run(gzip(&million), LIMIT).await.is_ok(), "a small body may have any ratio");
        assert_eq!(run(gzip(&million.repeat(8)), LIMIT).await, Err(BodyError::RatioTooHigh { ratio: MAX_RATIO }));
        let empty = gzip(b"").repeat(MAX_MEMBERS as usize + 1);
        assert_eq!(run(empty, LIMIT).await, Err(BodyError::TooManyMembers { limit: MAX_MEMBERS }));
        assert_eq!(run(gzip(b"cut")[..12].to_vec(), LIMIT).await, Err(BodyError::BadEncoding));
        assert_eq!(run([gzip(b"one"), b"garbage".to_vec()].concat(), LIMIT).await, Err(BodyError::BadEncoding));
    }

    #[tokio::test]
    async fn the_result_takes_memory_from_the_budget() {
        let budget = budget();
        let body = gzip(&noise(3 << 20));
        let compressed = body.len() as u64;
        let mut memory = budget.grant(holder());
        memory.grow_to(compressed).unwrap();
        let (bytes, memory) = gunzip(body.into(), LIMIT, memory, &HeavyWork::new(1)).await.unwrap();
        assert!(budget.used() >= compressed + bytes.len() as u64, "{}", budget.used());
        drop(memory);
        assert_eq!(budget.used(), 0);

        let small = Arc::new(MemoryBudget::new(4 << 20));
        let memory = small.grant(holder());
        let rejected = gunzip(gzip(&noise(3 << 20)).into(), LIMIT, memory, &HeavyWork::new(1)).await;
        assert_eq!(rejected.unwrap_err(), BodyError::ServerBusy);
        assert_eq!(small.used(), 0);
    }
}
