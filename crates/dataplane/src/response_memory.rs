//! Memory of responses that are read completely before they are forwarded.
//!
//! It comes from the budget that bounds the bodies of requests, too. Small responses take nothing from it: there are no more
//! of them than connections.

use crate::error::CallError;
use bytes::Bytes;
use domain::OrganizationId;

/// A response up to this size takes nothing.
const FREE_BYTES: usize = 64 << 10;
/// A response and its normalized copy exist at the same time.
const COPIES: u64 = 2;

/// Memory is taken in steps, so that not every read takes some.
const STEP_BYTES: u64 = 256 << 10;

/// The memory for bodies that all organizations share.
pub trait BodyMemory: Send + Sync {
    /// A grant for the organization, without memory at first.
    fn grant(&self, organization: &OrganizationId) -> Box<dyn BodyGrant>;
}

/// Memory of one body, returned when dropped.
pub trait BodyGrant: Send {
    /// Makes sure that the grant has at least `bytes`.
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoBodyMemory>;
}

/// There is no memory for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBodyMemory {
    /// The memory of the process is used up.
    Process,
    /// The organization has its share.
    Organization,
}

impl From<NoBodyMemory> for CallError {
    fn from(missing: NoBodyMemory) -> Self {
        match missing {
            NoBodyMemory::Process => Self::ServerBusy,
            NoBodyMemory::Organization => Self::OrganizationBusy,
        }
    }
}

/// The memory of one response.
pub(crate) struct ResponseMemory<'a> {
    shared: &'a dyn BodyMemory,
    organization: &'a OrganizationId,
    /// `None` while the response is small.
    grant: Option<Box<dyn BodyGrant>>,
    granted: u64,
}

impl<'a> ResponseMemory<'a> {
    pub(crate) fn new(shared: &'a dyn BodyMemory, organization: &'a OrganizationId) -> Self {
        Self { shared, organization, grant: None, granted: 0 }
    }

    /// Takes memory for a response that has `bytes` so far.
    pub(crate) fn grow_for(&mut self, bytes: usize) -> Result<(), NoBodyMemory> {
        let needed = COPIES * bytes as u64;
        if bytes <= FREE_BYTES || needed <= self.granted {
            return Ok(());
        }
        let wanted = needed.next_multiple_of(STEP_BYTES);
        let grant = self.grant.get_or_insert_with(|| self.shared.grant(self.organization));
        grant.grow_to(wanted)?;
        self.granted = wanted;
        Ok(())
    }

    /// The response, which holds the memory until all of its parts are dropped.
    pub(crate) fn hold(self, response: Bytes) -> Bytes {
        match self.grant {
            None => response,
            Some(grant) => hold(response, grant),
        }
    }

    /// The memory that is held until the response has been sent.
    pub(crate) fn into_grant(self) -> Option<Box<dyn BodyGrant>> {
        self.grant
    }
}

/// The response, which holds its memory until all of its parts are dropped.
pub(crate) fn hold(response: Bytes, grant: Box<dyn BodyGrant>) -> Bytes {
    Bytes::from_owner(HeldResponse { response, _grant: grant })
}

/// A response with its memory.
struct HeldResponse {
    response: Bytes,
    _grant: Box<dyn BodyGrant>,
}

impl AsRef<[u8]> for HeldResponse {
    fn as_ref(&self) -> &[u8] {
        &self.response
    }
}

/// The memory of what a stream keeps.
pub(crate) struct KeptMemory {
    grant: Box<dyn BodyGrant>,
    granted: u64,
}

impl KeptMemory {
    pub(crate) fn new(grant: Box<dyn BodyGrant>) -> Self {
        Self { grant, granted: 0 }
    }

    /// Takes memory for `bytes` in all.
    pub(crate) fn grow_for(&mut self, bytes: usize) -> Result<(), NoBodyMemory> {
        let needed = bytes as u64;
        if bytes <= FREE_BYTES || needed <= self.granted {
            return Ok(());
        }
        let wanted = needed.next_multiple_of(STEP_BYTES);
        self.grant.grow_to(wanted)?;
        self.granted = wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;
    use parking_lot::Mutex;
    use std::sync::Arc;

    /// Up to a megabyte; remembers what was taken.
    #[derive(Default)]
    struct OneMegabyte(Arc<Mutex<Vec<u64>>>);

    struct Grant(Arc<Mutex<Vec<u64>>>);

    impl BodyMemory for OneMegabyte {
        fn grant(&self, _: &OrganizationId) -> Box<dyn BodyGrant> {
            Box::new(Grant(Arc::clone(&self.0)))
        }
    }

    impl BodyGrant for Grant {
        fn grow_to(&mut self, bytes: u64) -> Result<(), NoBodyMemory> {
            self.0.lock().push(bytes);
            if bytes <= 1 << 20 { Ok(()) } else { Err(NoBodyMemory::Organization) }
        }
    }

    #[test]
    fn large_responses_take_memory_in_steps_and_small_ones_take_none() {
        let (shared, organization) = (OneMegabyte::default(), OrganizationId::new(Timestamp::from_millis(1), 1));
        let mut memory = ResponseMemory::new(&shared, &organization);
        memory.grow_for(FREE_BYTES).unwrap();
        assert!(shared.0.lock().is_empty());
        for bytes in [100 << 10, 128 << 10, 129 << 10, 512 << 10] {
            memory.grow_for(bytes).unwrap();
        }
        assert_eq!(shared.0.lock()[..], [256 << 10, 512 << 10, 1 << 20]);
        assert_eq!(memory.grow_for((512 << 10) + 1), Err(NoBodyMemory::Organization));
        assert!(memory.into_grant().is_some());
    }

    #[test]
    fn every_part_of_a_response_holds_its_memory() {
        let (shared, organization) = (OneMegabyte::default(), OrganizationId::new(Timestamp::from_millis(1), 1));
        let mut memory = ResponseMemory::new(&shared, &organization);
        memory.grow_for(100 << 10).unwrap();
        let part = memory.hold(Bytes::from_static(b"response")).slice(..3);
        assert_eq!((part.as_ref(), Arc::strong_count(&shared.0)), (&b"res"[..], 2));
        drop(part);
        assert_eq!(Arc::strong_count(&shared.0), 1);
    }

    #[test]
    fn a_stream_takes_memory_for_what_it_keeps() {
        let (shared, organization) = (OneMegabyte::default(), OrganizationId::new(Timestamp::from_millis(1), 1));
        let mut memory = KeptMemory::new(shared.grant(&organization));
        for bytes in [FREE_BYTES, 100 << 10, 200 << 10, 257 << 10] {
            memory.grow_for(bytes).unwrap();
        }
        assert_eq!(shared.0.lock()[..], [256 << 10, 512 << 10]);
        assert_eq!(memory.grow_for((1 << 20) + 1), Err(NoBodyMemory::Organization));
    }
}
