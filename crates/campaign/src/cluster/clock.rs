//! The wall clock of a process, moved by libfaketime. Monotonic clocks are left alone, as a jump leaves them alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::namespace::run;

const LIBRARIES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
];

/// A clock that any number of processes follow.
pub(crate) struct Clock {
    file: PathBuf,
    library: &'static str,
    /// Seconds ahead of the machine's clock when nothing is wrong.
    base: i64,
}

impl Clock {
    pub(super) fn create(scratch: &Path, name: &str, base: i64) -> anyhow::Result<Self> {
        let Some(library) = LIBRARIES.into_iter().find(|path| Path::new(path).exists()) else {
            bail!("libfaketime is missing: run scripts/system-packages campaign");
        };
        let clock = Self { file: scratch.join(format!("{name}.clock")), library, base };
        clock.jump(0)?;
        Ok(clock)
    }

    /// Sets the clock this many seconds ahead of where it should be.
    pub(crate) fn jump(&self, seconds: i64) -> anyhow::Result<()> {
        let next = self.file.with_extension("next");
        fs::write(&next, format!("{:+}\n", self.base + seconds))?;
        fs::rename(&next, &self.file).context("cannot set a clock")
    }

    pub(super) fn environment(&self) -> [(String, String); 4] {
        let variable = |name: &str, value: String| (name.to_owned(), value);
        [
            variable("LD_PRELOAD", self.library.to_owned()),
            variable("FAKETIME_TIMESTAMP_FILE", self.file.display().to_string()),
            variable("FAKETIME_CACHE_DURATION", "1".to_owned()),
            variable("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}

/// Seconds to add to the machine's clock so that the month changes `millis` from now.
pub(crate) fn base_for_rollover(now_seconds: i64, millis: u64) -> anyhow::Result<i64> {
    let first = run("date", ["-u", "+%Y-%m-01"])?;
    let next = run("date", ["-u", "-d", &format!("{} +1 month", first.trim()), "+%s"])?;
    let next: i64 = next.trim().parse().context("`date` printed no number")?;
    Ok(next - now_seconds - i64::try_from(millis / 1_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_month_changes_when_it_should() {
        let now = run("date", ["+%s"]).unwrap().trim().parse::<i64>().unwrap();
        let then = now + 60 + base_for_rollover(now, 60_000).unwrap();
        let shown = run("date", ["-u", "-d", &format!("@{then}"), "+%d %T"]).unwrap();
        assert_eq!(shown.trim(), "01 00:00:00");
    }
}
