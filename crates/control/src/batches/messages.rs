//! Message batches: their lines come with the request.

use super::commands::{blank, made_before, record_creation, request_of};
use super::{BatchError, BatchStorage};
use crate::command::Command;
use domain::Caller;
use domain::batches::{Batch, BatchEndpoint, BatchStatus, LineCounts};
use std::collections::HashSet;
use store::batches::{self, NewLine};
use store::content_keys::Scope;

/// The most characters of a `custom_id`, as in Anthropic's API.
const MAX_CUSTOM_ID: usize = 64;
/// Longer than any id or alias.
const MAX_MODEL: usize = 256;

/// One request of a message batch.
#[derive(Debug, Clone)]
pub struct MessageRequest {
    pub custom_id: String,
    /// The body of the call.
    pub params: Vec<u8>,
    pub model: String,
}

/// Letters, digits, `_` and `-`.
pub fn check_custom_id(id: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=MAX_CUSTOM_ID).contains(&id.len()) && id.bytes().all(is_good)
}

impl BatchStorage {
    /// Creates a batch whose lines may run at once. The same idempotency key, with the digest of its request, returns the same
    /// batch.
    pub async fn create_messages(
        &self,
        command: Command<'_>,
        caller: &Caller,
        requests: Vec<MessageRequest>,
        idempotency: Option<(String, String)>,
    ) -> Result<Batch, BatchError> {
        let invalid = |index: usize, member: &str, why: String| BatchError::Invalid {
            param: format!("requests.{index}.{member}"),
            why,
        };
        let total = requests.len() as u64;
        if total == 0 || total > self.bounds.file_lines {
            let why = format!("`requests` must have 1 to {} requests", self.bounds.file_lines);
            return Err(BatchError::Invalid { param: "requests".to_owned(), why });
        }
        let mut ids = HashSet::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            if !check_custom_id(&request.custom_id) {
                let why = format!("must have 1 to {MAX_CUSTOM_ID} letters, digits, `_` and `-`");
                return Err(invalid(index, "custom_id", why));
            }
            if request.model.len() > MAX_MODEL || request.model.contains('\0') {
                return Err(invalid(
                    index,
                    "params.model",
                    format!("must have at most {MAX_MODEL} bytes, none of them zero"),
                ));
            }
            if !ids.insert(request.custom_id.as_str()) {
                return Err(invalid(index, "custom_id", "another request has the same `custom_id`".to_owned()));
            }
        }
        let first = requests[0].model.clone();
        let model = requests.iter().all(|request| request.model == first).then_some(first);
        let batch = Batch {
            status: BatchStatus::InProgress,
            in_progress_at: Some(command.now),
            model,
            counts: LineCounts { total, ..LineCounts::default() },
            ..blank(caller, BatchEndpoint::Messages, command.now)
        };
        let (content, id) = (self.content.clone(), batch.id.clone());
        let seal = move || {
            let sealed = (1..).zip(requests).map(|(number, MessageRequest { custom_id, params, .. })| {
                let scope = Scope::BatchLine { batch: &id, line: &u64::to_string(&number) };
                NewLine { number, custom_id, content: content.seal(scope, params) }
            });
            sealed.collect::<Vec<_>>()
        };
        let lines = self.threads.run(seal).await;
        let _turn = self.storing.acquire().await;
        let mut tx = command.store.begin().await?;
        let request = request_of(&caller.workspace, idempotency.as_ref());
        if let Some(id) = made_before(&mut tx, request, command.now).await? {
            drop(tx);
            return self.find(&caller.workspace, &id).await;
        }
        self.lock(&mut tx, &batch).await?;
        let limit = self.bounds.queued_lines;
        if batches::queued(&mut tx, &batch.workspace).await?.0 + total > limit {
            return Err(BatchError::TooManyQueued { limit });
        }
        self.insert(&mut tx, &batch, request).await?;
        let bytes = lines.iter().map(|line| line.content.bytes.len() as u64).sum();
        if let Some(full) = batches::lines_exceed(&mut tx, &batch, bytes, self.bounds.max_bytes).await? {
            return Err(BatchError::TooLargeQueue(full));
        }
        for part in lines.chunks(256) {
            batches::insert_lines(&mut tx, &batch.id, part).await?;
        }
        record_creation(command, &mut tx, &batch).await?;
        tx.commit().await?;
        self.nudge.notify_one();
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_ids_are_short_names() {
        for good in ["a", "my-request_1", &"x".repeat(64)] {
            assert!(check_custom_id(good), "{good}");
        }
        for bad in ["", "a b", "ü", "a.b", &"x".repeat(65)] {
            assert!(!check_custom_id(bad), "{bad}");
        }
    }
}
