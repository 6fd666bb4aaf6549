//! Decompresses gzip bodies, with bounds on their size and their ratio.
//!
//! The start of a body is decompressed at once, which is all of most bodies, and the rest as [`HeavyWork`].

use super::heavy_work::HeavyWork;
use super::memory_budget::MemoryGrant;
use super::request_body::BodyError;
use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use flate2::bufread::GzDecoder;
use std::io::Read;

/// Decompressed bytes that the core itself produces.
const INLINE_BYTES: usize = 64 << 10;
/// Bytes per step.
const STEP_BYTES: usize = 64 << 10;
/// The most that a body may grow, beyond `ANY_RATIO_BYTES`. JSON of lists of tools reached 56, of log lines 26, and of text
/// 3; deflate allows 1,032.
const MAX_RATIO: u64 = 100;
/// A body up to this size may have grown by any factor.
const ANY_RATIO_BYTES: u64 = 1 << 20;
/// Clients send one member. Empty ones cost time without adding to the size.
const MAX_MEMBERS: u32 = 16;

/// Decompresses a body of at most `limit` bytes. `memory` is that of the compressed body, and grows with the result.
pub(super) async fn gunzip(
    compressed: Bytes,
    limit: u64,
    memory: MemoryGrant,
    heavy: &HeavyWork,
) -> Result<(Bytes, MemoryGrant), BodyError> {
    let mut decompression = Decompression::new(compressed, limit, memory);
    if !decompression.advance(INLINE_BYTES)? {
        let holder = decompression.memory.holder().clone();
        let rest = move || decompression.advance(usize::MAX).map(|_| decompression);
        decompression = heavy.run(&holder, rest).await?;
    }
    Ok((decompression.output.into(), decompression.memory))
}

struct Decompression {
    /// `None` at the end.
    decoder: Option<GzDecoder<Reader<Bytes>>>,
    members: u32,
    output: Vec<u8>,
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
            output: Vec::new(),
            limit,
            ratio_limit: (length as u64 * MAX_RATIO).max(ANY_RATIO_BYTES),
            compressed: length,
            memory,
        }
    }

    /// Continues until there are `enough` bytes; whether the end was reached.
    fn advance(&mut self, enough: usize) -> Result<bool, BodyError> {
        while let Some(decoder) = &mut self.decoder {
            let length = self.output.len();
            if length >= enough {
                return Ok(false);
            }
            self.memory.grow_for(self.compressed + length + STEP_BYTES)?;
            self.output.resize(length + STEP_BYTES, 0);
            let count = decoder.read(&mut self.output[length..]).map_err(|_| BodyError::BadEncoding)?;
            self.output.truncate(length + count);
            self.check_size()?;
            if count == 0 {
                self.next_member()?;
            }
        }
        Ok(true)
    }

    fn check_size(&self) -> Result<(), BodyError> {
        let length = self.output.len() as u64;
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

#[cfg(test)]
mod tests {
    use super::super::memory_budget::{Holder, MemoryBudget};
    use super::*;
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
        for length in [0, 1, STEP_BYTES, INLINE_BYTES, INLINE_BYTES + 1, 3 * INLINE_BYTES] {
            let body = noise(length);
            assert!(run(gzip(&body), LIMIT).await.unwrap() == body, "{length}");
        }
        let members = [gzip(b"one, "), gzip(b""), gzip(b"two")].concat();
        assert_eq!(run(members, LIMIT).await.unwrap(), "one, two");
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
