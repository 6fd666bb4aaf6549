//! Problems of a configuration, reported together, each with its line.

use std::fmt;
use std::path::{Path, PathBuf};

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From one; `None` for problems outside the file, such as in the environment.
    pub line: Option<usize>,
    /// Section, key and description, on one line.
    pub what: String,
}

/// All problems, in the order of the file.
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

/// One line per problem: `config/x.toml:12: [edge] hold_timeout: "0s" is not between 1s and 900s`.
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
