//! Download progress, on the terminal and for `/health`.

use indicatif::{ProgressBar, ProgressStyle};

/// Progress bar that also reports the completed fraction.
#[derive(Clone)]
pub(super) struct DownloadBar<'a> {
    bar: ProgressBar,
    progress: &'a dyn Fn(f32),
}

impl<'a> DownloadBar<'a> {
    pub(super) fn new(progress: &'a dyn Fn(f32)) -> Self {
        Self { bar: ProgressBar::no_length(), progress }
    }
}

impl hf_hub::api::Progress for DownloadBar<'_> {
    fn init(&mut self, size: usize, name: &str) {
        let style = "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
        self.bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.set_message(name.to_owned());
        self.bar.set_length(size as u64);
        self.bar.set_position(0);
    }

    fn update(&mut self, size: usize) {
        self.bar.inc(size as u64);
        let total = self.bar.length().unwrap_or(0).max(1);
        (self.progress)(self.bar.position() as f32 / total as f32);
    }

    fn finish(&mut self) {
        self.bar.finish();
    }
}
