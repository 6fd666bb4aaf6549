//! Fuzzing on the stable toolchain.
//!
//! A target is an ordinary test that calls [`Fuzz::run`] with a function. The function gets bytes and panics if something
//! is wrong. It first sees every file of `corpus/<target>/`, then mutations of them:
//!
//! - In a usual test run, a fixed number of mutations from a fixed seed: the same ones every time.
//! - With `FUZZ_SECONDS`, for that long and from a new seed (`FUZZ_SEED` repeats one). `make fuzz` builds with the coverage
//!   counters of LLVM; then an input that reaches new code is mutated further and kept in `target/fuzz/<target>/found`.
//!
//! An input that fails is written to `target/fuzz/<target>/failed`. Its copy in the corpus is the regression test.

mod coverage;
mod mutator;

use coverage::Coverage;
use mutator::Mutator;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/fuzz");
/// Mutations per target in a usual test run.
const EXECUTIONS: u64 = 10_000;

/// A target and how to mutate its inputs.
pub struct Fuzz {
    name: &'static str,
    words: Vec<&'static str>,
    executions: u64,
}

impl Fuzz {
    /// `name` is that of the folder in `corpus`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, words: Vec::new(), executions: EXECUTIONS }
    }

    /// Adds texts with a meaning, which mutations insert.
    #[must_use]
    pub fn words(mut self, words: &[&'static str]) -> Self {
        self.words.extend_from_slice(words);
        self
    }

    /// Mutations in a usual test run, for targets that are slower or faster than most.
    #[must_use]
    pub fn executions(mut self, executions: u64) -> Self {
        self.executions = executions;
        self
    }

    /// Runs `target` until the budget is spent. A panic of `target` is passed on, after its input was saved.
    pub fn run(self, target: impl Fn(&[u8])) {
        let (budget, seed) = self.budget();
        let results = Path::new(RESULTS).join(self.name);
        let found = results.join("found");
        let mut inputs = read_inputs(&Path::new(CORPUS).join(self.name));
        assert!(!inputs.is_empty(), "the corpus of {} is empty", self.name);
        let mut coverage = Coverage::new();
        let is_guided = budget.is_timed() && coverage.is_measured();
        if is_guided {
            inputs.extend(read_inputs(&found));
        }
        let mut execute = |bytes: &[u8]| {
            coverage.begin();
            let outcome = catch_unwind(AssertUnwindSafe(|| target(bytes)));
            let is_new = coverage.end();
            if let Err(panic) = outcome {
                let path = save(&results.join("failed"), bytes);
                eprintln!("fuzz {}: seed {seed}, failing input in {}", self.name, path.display());
                resume_unwind(panic);
            }
            is_new
        };
        let started = Instant::now();
        for input in &inputs {
            execute(input);
        }
        let mut mutator = Mutator::new(seed, self.words);
        let mut executions = 0;
        while !budget.is_spent(executions, started) {
            let input = mutator.mutate(&inputs);
            if execute(&input) && is_guided {
                save(&found, &input);
                inputs.push(input);
            }
            executions += 1;
        }
        let seconds = started.elapsed().as_secs_f64();
        let per_second = executions as f64 / seconds.max(f64::MIN_POSITIVE);
        let guided = if is_guided { "guided by coverage" } else { "without coverage" };
        println!(
            "fuzz {}: {executions} executions in {seconds:.1} s ({per_second:.0} per second), {} inputs, {} counters \
             reached, {guided}, seed {seed}",
            self.name,
            inputs.len(),
            coverage.reached(),
        );
    }

    /// How long to run, and the seed.
    fn budget(&self) -> (Budget, u64) {
        let seed = number("FUZZ_SEED");
        match number("FUZZ_SECONDS") {
            Some(seconds) => (Budget::Time(Duration::from_secs(seconds)), seed.unwrap_or_else(|| fastrand::u64(..))),
            None => (Budget::Executions(self.executions), seed.unwrap_or(0)),
        }
    }
}

enum Budget {
    Executions(u64),
    Time(Duration),
}

impl Budget {
    fn is_spent(&self, executions: u64, started: Instant) -> bool {
        match self {
            Self::Executions(most) => executions >= *most,
            Self::Time(most) => started.elapsed() >= *most,
        }
    }

    fn is_timed(&self) -> bool {
        matches!(self, Self::Time(_))
    }
}

/// Positions at which to split `bytes`, in order. They depend on the bytes alone, so a saved input repeats them.
pub fn cuts(bytes: &[u8]) -> Vec<usize> {
    let mut rng = fastrand::Rng::with_seed(hash(bytes));
    let count = rng.usize(0..8);
    let mut cuts: Vec<usize> = (0..count).map(|_| rng.usize(0..=bytes.len())).collect();
    cuts.sort_unstable();
    cuts
}

/// `bytes` split at [`cuts`].
pub fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut ends = cuts(bytes);
    ends.push(bytes.len());
    let mut start = 0;
    ends.into_iter().map(|end| &bytes[std::mem::replace(&mut start, end)..end]).collect()
}

/// The number in an environment variable; one that is not a number fails the test.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a whole number, not `{text}`")))
}

/// The files of a folder in order of their names; none if there is no such folder.
fn read_inputs(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("inputs are readable files")).collect()
}

/// Writes an input under the name of its hash.
fn save(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join(format!("{:016x}", hash(bytes)));
    fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes)).expect("target/fuzz is writable");
    path
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_usual_run_repeats_itself() {
        let run = || {
            let seen = RefCell::new(Vec::new());
            Fuzz::new("self-test").words(&["word"]).executions(500).run(|bytes| seen.borrow_mut().push(bytes.to_vec()));
            seen.into_inner()
        };
        let seen = run();
        assert_eq!(seen, run());
        assert!(seen.len() >= 501 && seen.iter().any(|input| input.windows(4).any(|part| part == b"word")));
    }

    #[test]
    fn the_pieces_of_an_input_are_the_input() {
        for length in 0..50 {
            let bytes: Vec<u8> = (0..length).collect();
            assert_eq!(pieces(&bytes).concat(), bytes);
            assert_eq!(cuts(&bytes), cuts(&bytes));
        }
    }

    #[test]
    fn a_failing_input_is_found_and_saved() {
        let failing = catch_unwind(|| {
            Fuzz::new("self-test").executions(100_000).run(|bytes| assert!(!bytes.starts_with(b"X"), "found"));
        });
        assert!(failing.is_err());
        let saved = read_inputs(&Path::new(RESULTS).join("self-test/failed"));
        assert!(saved.iter().any(|input| input.starts_with(b"X")));
    }
}
