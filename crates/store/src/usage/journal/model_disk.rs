//! A disk for tests that fills up, fails and loses power.
//!
//! Written bytes are in a cache, as in a real system. A sync makes the content of one file durable, and another one the
//! names of files. When the power fails, each sector of 512 bytes and each changed name that was not synced survives or
//! not, independently; a file may have grown without its data. After a failed sync the system takes the content for
//! written, although any part of it may be lost.

use fastrand::Rng;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

const SECTOR: usize = 512;

#[derive(Clone)]
pub(super) struct ModelDisk(Arc<Mutex<Model>>);

pub(super) struct ModelFile {
    model: Arc<Mutex<Model>>,
    inode: usize,
}

struct Model {
    rng: Rng,
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    capacity: u64,
    failing_writes: u32,
    failing_syncs: u32,
    /// Changes and syncs so far, and at which of them the power fails.
    operations: u64,
    power_fails_at: u64,
}

#[derive(Clone, Default)]
struct Inode {
    cached: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
    allocated: u64,
}

impl ModelDisk {
    pub(super) fn new(seed: u64) -> Self {
        Self::with(Rng::with_seed(seed), Vec::new(), BTreeMap::new())
    }

    fn with(rng: Rng, inodes: Vec<Inode>, names: BTreeMap<String, usize>) -> Self {
        Self(Arc::new(Mutex::new(Model {
            rng,
            inodes,
            durable_names: names.clone(),
            names,
            capacity: u64::MAX,
            failing_writes: 0,
            failing_syncs: 0,
            operations: 0,
            power_fails_at: u64::MAX,
        })))
    }

    pub(super) fn fail_power_at(&self, operation: u64) {
        self.0.lock().power_fails_at = operation;
    }

    pub(super) fn is_on(&self) -> bool {
        let model = self.0.lock();
        model.operations < model.power_fails_at
    }

    pub(super) fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    pub(super) fn fail_writes(&self, count: u32) {
        self.0.lock().failing_writes = count;
    }

    pub(super) fn fail_syncs(&self, count: u32) {
        self.0.lock().failing_syncs = count;
    }

    /// Another program takes all space, or all but `bytes`.
    pub(super) fn leave_free(&self, bytes: u64) {
        let mut model = self.0.lock();
        model.capacity = model.used().saturating_add(bytes);
    }

    /// The disk after a power failure.
    pub(super) fn lose_power(&self) -> Self {
        let mut model = self.0.lock();
        let Model { rng, inodes, names, durable_names, .. } = &mut *model;
        let inodes: Vec<Inode> = inodes.iter().map(|inode| inode.survive(rng)).collect();
        let all: BTreeSet<&String> = names.keys().chain(durable_names.keys()).collect();
        let survived = all.into_iter().filter_map(|name| {
            let state = if rng.bool() { names.get(name) } else { durable_names.get(name) };
            Some((name.clone(), *state?))
        });
        let survived = survived.collect();
        Self::with(rng.fork(), inodes, survived)
    }

    pub(super) fn create(&self, name: &str) -> io::Result<ModelFile> {
        let mut model = self.0.lock();
        model.operate()?;
        let inode = model.inodes.len();
        model.inodes.push(Inode::default());
        model.names.insert(name.to_owned(), inode);
        Ok(ModelFile { model: Arc::clone(&self.0), inode })
    }

    pub(super) fn open(&self, name: &str) -> io::Result<ModelFile> {
        let model = self.0.lock();
        model.check_power()?;
        let inode = *model.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(ModelFile { model: Arc::clone(&self.0), inode })
    }

    pub(super) fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let model = self.0.lock();
        model.check_power()?;
        let size = |inode: &usize| model.inodes[*inode].cached.len() as u64;
        Ok(model.names.iter().map(|(name, inode)| (name.clone(), size(inode))).collect())
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        let mut model = self.0.lock();
        model.operate()?;
        model.names.remove(name).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    pub(super) fn sync_names(&self) -> io::Result<()> {
        let mut model = self.0.lock();
        model.operate()?;
        model.durable_names = model.names.clone();
        Ok(())
    }

    pub(super) fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.open(name).or_else(|_| self.create(name))?;
        let end = self.0.lock().inodes[file.inode].cached.len();
        file.write_at(bytes, end as u64)
    }
}

impl ModelFile {
    pub(super) fn allocate(&self, bytes: u64) -> io::Result<()> {
        let mut model = self.model.lock();
        model.operate()?;
        model.take_space(self.inode, bytes)
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut model = self.model.lock();
        model.operate()?;
        let offset = usize::try_from(offset).unwrap();
        model.take_space(self.inode, (offset + bytes.len()) as u64)?;
        if model.failing_writes > 0 {
            model.failing_writes -= 1;
            let written = model.rng.usize(..bytes.len());
            model.inodes[self.inode].write(&bytes[..written], offset);
            return Err(io::Error::other("the write failed"));
        }
        model.inodes[self.inode].write(bytes, offset);
        Ok(())
    }

    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let model = self.model.lock();
        model.check_power()?;
        let offset = usize::try_from(offset).unwrap();
        let found = model.inodes[self.inode].cached.get(offset..offset + bytes.len());
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let mut model = self.model.lock();
        model.operate()?;
        let Model { rng, inodes, failing_syncs, .. } = &mut *model;
        let inode = &mut inodes[self.inode];
        if *failing_syncs > 0 {
            *failing_syncs -= 1;
            let survived = inode.survive(rng);
            inode.durable.clone_from(&survived.durable);
            inode.dirty.clear();
            if rng.bool() {
                inode.cached = survived.cached;
            }
            return Err(io::Error::other("the sync failed"));
        }
        inode.durable.resize(inode.cached.len(), 0);
        for sector in std::mem::take(&mut inode.dirty) {
            let sector = sector * SECTOR..((sector + 1) * SECTOR).min(inode.cached.len());
            inode.durable[sector.clone()].copy_from_slice(&inode.cached[sector]);
        }
        Ok(())
    }
}

impl Model {
    fn check_power(&self) -> io::Result<()> {
        if self.operations >= self.power_fails_at { Err(io::Error::other("no power")) } else { Ok(()) }
    }

    /// Counts an operation, unless the power has failed.
    fn operate(&mut self) -> io::Result<()> {
        self.check_power()?;
        self.operations += 1;
        Ok(())
    }

    fn used(&self) -> u64 {
        self.names.values().map(|inode| self.inodes[*inode].used()).sum()
    }

    fn take_space(&mut self, inode: usize, bytes: u64) -> io::Result<()> {
        let more = bytes.saturating_sub(self.inodes[inode].used());
        if more > 0 && self.used() + more > self.capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let inode = &mut self.inodes[inode];
        inode.allocated = inode.allocated.max(bytes);
        Ok(())
    }
}

impl Inode {
    fn used(&self) -> u64 {
        self.allocated.max(self.cached.len() as u64)
    }

    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if self.cached.len() < end {
            self.cached.resize(end, 0);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / SECTOR..end.div_ceil(SECTOR));
    }

    /// The file as a power failure leaves it.
    fn survive(&self, rng: &mut Rng) -> Self {
        let (least, most) = (self.durable.len().min(self.cached.len()), self.durable.len().max(self.cached.len()));
        let between = rng.usize(least..=most);
        let length = [least, most, between][rng.usize(..3)];
        let mut content = self.durable.clone();
        // A file that has grown without its data has zeros there, or whatever was on the disk before.
        let filling = if rng.u8(..4) == 0 { rng.u8(..) } else { 0 };
        content.resize(length.max(self.durable.len()), filling);
        for sector in &self.dirty {
            let (start, end) = (sector * SECTOR, ((sector + 1) * SECTOR).min(self.cached.len()).min(content.len()));
            if start < end && rng.bool() {
                content[start..end].copy_from_slice(&self.cached[start..end]);
            }
        }
        Self { durable: content.clone(), cached: content, dirty: BTreeSet::new(), allocated: self.allocated }
    }
}
