//! The doctor of a running node.

use super::Report;
use domain::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The checks open connections to everything that is configured, so they are not repeated for every page view.
const TTL: Duration = Duration::from_secs(30);

/// Runs the checks on request, and keeps their result for a while.
pub struct ResidentDoctor {
    config_file: Option<PathBuf>,
    data_dir: PathBuf,
    /// Locked while checks run, so that concurrent requests wait for one run.
    last: Mutex<Option<(Instant, Arc<Examination>)>>,
}

/// A report and its time.
pub struct Examination {
    pub at: Timestamp,
    pub report: Report,
}

impl ResidentDoctor {
    pub fn new(config_file: Option<&Path>, data_dir: &Path) -> Self {
        Self { config_file: config_file.map(Path::to_owned), data_dir: data_dir.to_owned(), last: Mutex::default() }
    }

    /// A recent report.
    pub async fn examine(&self, now: Timestamp) -> Arc<Examination> {
        let mut last = self.last.lock().await;
        if let Some((at, examination)) = &*last
            && at.elapsed() < TTL
        {
            return Arc::clone(examination);
        }
        let report = super::examine(self.config_file.as_deref(), &self.data_dir).await;
        let examination = Arc::new(Examination { at: now, report });
        *last = Some((Instant::now(), Arc::clone(&examination)));
        examination
    }
}
