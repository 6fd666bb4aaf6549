//! Logs of engines on other nodes' machines, and the audit entries of those who read logs.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::node_requests::Request;
use serde::{Deserialize, Serialize};
use store::audit::{self, Filter};
use store::content_keys::{ContentKeys, Scope};

const READ: &str = "log.read";
/// One entry for each user and log in this time: the console reads a log every few seconds while it shows it.
const READ_PERIOD_MILLIS: i64 = 3_600_000;

/// The part of a log that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogPart {
    pub name: String,
    /// How much of the end of the log is read.
    pub max_bytes: u64,
    /// Only lines with this text; empty for all.
    pub search: String,
    /// Whether the node that asks has a content key, so that it can open a sealed text.
    #[serde(default)]
    pub may_be_sealed: bool,
}

impl Request for LogPart {
    const KIND: &'static str = "log";

    /// `None` if the node has no such log.
    type Response = Option<String>;
}

impl LogPart {
    /// The text as it passes through the store: sealed if both nodes have a content key.
    pub fn seal(&self, text: String, keys: Option<&ContentKeys>) -> String {
        match keys.filter(|_| self.may_be_sealed) {
            Some(keys) => keys.seal_text(self.scope(), &text),
            None => text,
        }
    }

    /// The text that [`Self::seal`] was given, unless another key has sealed it.
    pub fn open(&self, text: String, keys: Option<&ContentKeys>) -> Result<String, CommandError> {
        match keys.and_then(|keys| keys.open_text(self.scope(), &text)) {
            Some(opened) => Ok(opened),
            None if ContentKeys::is_sealed_text(&text) => Err(CommandError::LogSealed),
            None => Ok(text),
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope::EngineLog { name: &self.name }
    }
}

/// Records in the audit log that a log was read, unless the same user has read it in the last hour.
pub async fn record_read(command: Command<'_>, name: &str) -> Result<(), CommandError> {
    let earlier = Filter {
        actor: Some(command.author.to_string()),
        action: Some(READ.to_owned()),
        subject: Some(name.to_owned()),
        from: Some(command.now.plus_millis(-READ_PERIOD_MILLIS)),
        ..Filter::default()
    };
    if !audit::list(command.store, &earlier, 1).await?.is_empty() {
        return Ok(());
    }
    let mut tx = command.store.begin().await?;
    command.record(&mut tx, AuditedChange::new(READ, None, name)).await?;
    Ok(tx.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_passes_through_the_store_sealed_if_both_nodes_have_a_content_key() {
        let keys = ContentKeys::single([1; 32]);
        for (asks, responds) in [(true, true), (true, false), (false, true), (false, false)] {
            let part = |name: &str| LogPart {
                name: name.to_owned(),
                max_bytes: 1,
                search: String::new(),
                may_be_sealed: asks,
            };
            let stored = part("rep_1").seal("a prompt".to_owned(), responds.then_some(&keys));
            assert_eq!(stored == "a prompt", !(asks && responds), "{asks} {responds}");
            let open = |name: &str, keys: Option<&ContentKeys>| part(name).open(stored.clone(), keys);
            assert_eq!(open("rep_1", asks.then_some(&keys)).unwrap(), "a prompt", "{asks} {responds}");
            for (name, keys) in [("rep_2", &keys), ("rep_1", &ContentKeys::single([2; 32]))] {
                let is_sealed = matches!(open(name, Some(keys)), Err(CommandError::LogSealed));
                assert_eq!(is_sealed, asks && responds, "{name} {asks} {responds}");
            }
        }
    }
}
