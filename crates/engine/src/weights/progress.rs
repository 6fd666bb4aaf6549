//! Download progress, on the terminal and for `/health`.

use indicatif::{ProgressBar, ProgressStyle};
use std::io;
use std::path::PathBuf;
use tokio::sync::watch;
use weights::{HubCache, HubReference, Phase, Selection, Watcher};

/// Progress bar that also reports the completed fraction.
pub(super) struct DownloadBar<'a> {
    bar: ProgressBar,
    parts: Vec<PathBuf>,
    progress: &'a (dyn Fn(f32) + Sync),
    /// Never set: a download ends with its process.
    cancel: watch::Sender<bool>,
}

impl<'a> DownloadBar<'a> {
    /// Begins with what is on the disk.
    pub(super) fn new(
        reference: &HubReference,
        cache: &HubCache,
        selection: &Selection<'_>,
        progress: &'a (dyn Fn(f32) + Sync),
    ) -> io::Result<Self> {
        let Selection { repository, commit, files, .. } = *selection;
        let parts = files.iter().map(|file| cache.part(repository, commit, &file.name));
        let parts: Vec<PathBuf> = parts.collect::<io::Result<_>>()?;
        let present = files.iter().zip(&parts).map(|(file, part)| {
            let is_whole = cache.has(repository, commit, &file.name, file.bytes);
            if is_whole { file.bytes } else { part.metadata().map_or(0, |found| found.len()) }
        });
        let style = "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
        let bar = ProgressBar::new(files.iter().map(|file| file.bytes).sum());
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(reference.to_string());
        bar.set_position(present.sum());
        Ok(Self { bar, parts, progress, cancel: watch::Sender::new(false) })
    }

    pub(super) fn finish(&self) {
        self.bar.finish();
    }
}

impl Watcher for DownloadBar<'_> {
    fn part(&self, index: usize) -> PathBuf {
        self.parts[index].clone()
    }

    fn enter(&self, _: Phase) {}

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        let total = self.bar.length().unwrap_or(0).max(1);
        (self.progress)(self.bar.position() as f32 / total as f32);
    }

    fn went_back(&self, bytes: u64) {
        self.bar.dec(bytes);
    }

    fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancel.subscribe()
    }
}
