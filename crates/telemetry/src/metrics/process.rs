//! Metrics of this process from `/proc`, with the names that Prometheus client libraries use.

use super::families;
use super::page::Page;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// The reported fields of `/proc/self/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    started_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    /// Parses the fields after the name, which may itself contain blanks and brackets.
    fn parse(line: &str) -> Option<Self> {
        let (_, after_name) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        // The first field after the name is the third of the line.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            started_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// Writes no samples on a system without `/proc`.
pub fn write(page: &mut Page) {
    let stat = fs::read_to_string("/proc/self/stat").ok().and_then(|line| Stat::parse(&line));
    let seconds = |ticks: u64| ticks as f64 / clock_ticks_per_second() as f64;
    let bytes = |stat: &Stat| stat.resident_pages * page_size() as u64;
    let started = stat.as_ref().and_then(|stat| Some(booted_at()? as f64 + seconds(stat.started_ticks)));
    let mut real = |family, value: Option<f64>| {
        let mut samples = page.family(family);
        value.into_iter().for_each(|value| samples.real(&[], value));
    };
    real(&families::PROCESS_CPU, stat.as_ref().map(|stat| seconds(stat.cpu_ticks)));
    real(&families::PROCESS_RESIDENT, stat.as_ref().map(|stat| bytes(stat) as f64));
    real(&families::PROCESS_VIRTUAL, stat.as_ref().map(|stat| stat.virtual_bytes as f64));
    real(&families::PROCESS_OPEN_FDS, fs::read_dir("/proc/self/fd").ok().map(|open| open.count() as f64));
    real(&families::PROCESS_MAX_FDS, getrlimit(Resource::Nofile).current.map(|most| most as f64));
    real(&families::PROCESS_THREADS, stat.as_ref().map(|stat| stat.threads as f64));
    real(&families::PROCESS_START, started);
}

/// The boot time in seconds since 1970.
fn booted_at() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_process_are_found_after_any_name() {
        let line =
            "77 (a ) S 1) S 12 77 77 0 -1 4194560 1 2 3 4 500 60 7 8 20 0 9 0 4711 1048576 256 18446744073709551615";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.cpu_ticks, stat.threads, stat.started_ticks), (560, 9, 4711));
        assert_eq!((stat.virtual_bytes, stat.resident_pages), (1_048_576, 256));
        assert_eq!(Stat::parse("77 (a) S 1"), None);
    }
}
