//! What is wrong with a configuration: all of it at once, each with its line.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from one; absent for what is not in the file, such as the environment.
    pub line: Option<usize>,
    /// Section, key and what is wrong with it, on one line.
    pub what: String,
}

/// Everything that must be mended before the configuration can be used, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    file: Option<PathBuf>,
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn new(mut list: Vec<Problem>) -> Self {
        list.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        Self { file: None, list }
    }

    pub(super) fn one(line: Option<usize>, what: String) -> Self {
        Self { file: None, list: vec![Problem { line, what }] }
    }

    pub(super) fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }
}

/// One line for each problem: `config/x.toml:12: [edge] hold_timeout: "0s" is not between 1s and 900s`.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match (&self.file, problem.line) {
                (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
                (Some(file), None) => write!(f, "{}: ", file.display())?,
                (None, Some(line)) => write!(f, "line {line}: ")?,
                (None, None) => {}
            }
            f.write_str(&problem.what)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
