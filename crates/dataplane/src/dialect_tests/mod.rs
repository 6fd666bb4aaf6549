//! Translations as clients see them: through the normalizer of an engine's bytes, and with the chat request that is read
//! again.

mod fuzz_tests;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
pub(crate) mod scripted_engine;

use dialects::responses::ReasoningSeal;

/// Seals nothing, but keeps workspaces apart.
#[derive(Debug)]
pub(crate) struct OpenSeal {
    pub(crate) workspace: u128,
}

impl ReasoningSeal for OpenSeal {
    fn seal(&self, reasoning: &str) -> String {
        format!("{} {reasoning}.", self.workspace)
    }

    fn open(&self, sealed: &str) -> Option<String> {
        let (workspace, reasoning) = sealed.strip_suffix('.')?.split_once(' ')?;
        (workspace == self.workspace.to_string()).then(|| reasoning.to_owned())
    }
}
