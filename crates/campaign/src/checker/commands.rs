//! What was acknowledged stays: keys and endpoints.

use std::collections::BTreeMap;

use super::Check;
use crate::history::{Action, Command, CommandOutcome, History};

/// The last command on each endpoint, and the creation and revocation of each key, are visible at the end.
pub(super) fn acknowledged_commands_last(history: &History) -> Check {
    let mut check = Check::new("acknowledged commands last");
    let mut last: BTreeMap<&str, &Command> = BTreeMap::new();
    for command in &history.commands {
        match &command.action {
            Action::CreateKey { key } | Action::RevokeKey { key } => {
                if command.outcome == CommandOutcome::Acknowledged {
                    check.examine(key_violation(history, &command.action, key));
                }
            }
            Action::CreateEndpoint { name }
            | Action::RescaleEndpoint { name }
            | Action::SuspendEndpoint { name }
            | Action::ResumeEndpoint { name }
            | Action::DeleteEndpoint { name } => {
                // A rejected command changes nothing.
                if !matches!(command.outcome, CommandOutcome::Rejected { .. }) {
                    last.insert(name, command);
                }
            }
            Action::SetQuota { .. } => {}
        }
    }
    for (name, command) in last {
        if command.outcome == CommandOutcome::Acknowledged {
            check.examine(endpoint_violation(history, &command.action, name));
        }
    }
    check
}

fn key_violation(history: &History, action: &Action, key: &str) -> Option<String> {
    let found = history.keys.iter().find(|row| row.id == key);
    match (action, found) {
        (_, None) => Some(format!("{key} was created and is gone")),
        (Action::RevokeKey { .. }, Some(row)) if !row.revoked => Some(format!("{key} was revoked and is valid")),
        (_, Some(_)) => None,
    }
}

fn endpoint_violation(history: &History, action: &Action, name: &str) -> Option<String> {
    let found = history.end.endpoints.iter().find(|row| row.name == name);
    match (action, found) {
        (Action::DeleteEndpoint { .. }, Some(row)) => Some(format!("{name} was deleted and is {}", row.state)),
        (Action::DeleteEndpoint { .. }, None) => None,
        (Action::SuspendEndpoint { .. }, Some(row)) if row.state == "suspended" => None,
        (Action::CreateEndpoint { .. } | Action::ResumeEndpoint { .. }, Some(row))
            if !["suspended", "deleting"].contains(&row.state.as_str()) =>
        {
            None
        }
        (Action::RescaleEndpoint { .. }, Some(row)) if row.state != "deleting" => None,
        (_, row) => Some(format!("{action:?} was acknowledged; at the end it is {:?}", row.map(|row| &row.state))),
    }
}
