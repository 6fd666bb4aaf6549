//! The last log lines of the engines of pools.
//!
//! They are kept in memory: these engines are children of the gateway and end with it.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes that are kept per engine.
const KEPT_BYTES: usize = 256 << 10;
/// Bytes that are kept of a line.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Logs by the name of the engine, such as `acme/tiny#1`. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct EngineLogs(Arc<Mutex<BTreeMap<String, Kept>>>);

#[derive(Debug)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
    written_at: SystemTime,
}

/// What is kept of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLog {
    pub engine: String,
    pub bytes: u64,
    pub written_at: SystemTime,
}

impl EngineLogs {
    pub(super) fn append(&self, engine: &str, line: &str, now: SystemTime) {
        let mut all = self.0.lock();
        let fresh = || Kept { lines: VecDeque::new(), bytes: 0, written_at: now };
        let kept = all.entry(engine.to_owned()).or_insert_with(fresh);
        let line = format!("{}\n", &line[..line.floor_char_boundary(MAX_LINE_BYTES)]);
        kept.bytes += line.len();
        kept.lines.push_back(line);
        kept.written_at = now;
        while kept.bytes > KEPT_BYTES
            && let Some(first) = kept.lines.pop_front()
        {
            kept.bytes -= first.len();
        }
    }

    /// Forgets an engine that is not to be restarted.
    pub(super) fn remove(&self, engine: &str) {
        self.0.lock().remove(engine);
    }

    /// All logs, by name.
    pub fn list(&self) -> Vec<KeptLog> {
        let all = self.0.lock();
        let log = |(engine, kept): (&String, &Kept)| KeptLog {
            engine: engine.clone(),
            bytes: kept.bytes as u64,
            written_at: kept.written_at,
        };
        all.iter().map(log).collect()
    }

    /// The last whole lines of a log, at most `max_bytes`; `None` if there is none.
    pub fn read(&self, engine: &str, max_bytes: u64) -> Option<String> {
        let all = self.0.lock();
        let kept = all.get(engine)?;
        let mut room = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let fits = |line: &&String| {
            let is_room = line.len() <= room;
            room = room.saturating_sub(line.len());
            is_room
        };
        let shown: Vec<&String> = kept.lines.iter().rev().take_while(fits).collect();
        Some(shown.into_iter().rev().map(String::as_str).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_within_bounds() {
        let (logs, now) = (EngineLogs::default(), SystemTime::UNIX_EPOCH);
        assert_eq!(logs.read("a#1", 100), None);
        for number in 0..3 {
            logs.append("a#1", &format!("line {number}"), now);
        }
        assert_eq!(logs.read("a#1", 100).as_deref(), Some("line 0\nline 1\nline 2\n"));
        assert_eq!(logs.read("a#1", 15).as_deref(), Some("line 1\nline 2\n"));
        assert_eq!(logs.list(), [KeptLog { engine: "a#1".into(), bytes: 21, written_at: now }]);
        let long = "é".repeat(MAX_LINE_BYTES);
        (0..100).for_each(|_| logs.append("a#1", &long, now));
        let kept = logs.list().remove(0).bytes;
        assert!(kept <= KEPT_BYTES as u64 && kept > KEPT_BYTES as u64 / 2, "{kept}");
        logs.remove("a#1");
        assert_eq!(logs.list(), []);
    }
}
