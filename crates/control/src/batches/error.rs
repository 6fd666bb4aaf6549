//! Errors of files and batches.

use crate::command_error::CommandError;
use store::StoreError;
use store::files::{FileBound, FullStorage};

/// Why a command on a file or a batch failed. `Display` is safe to show to clients.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    #[error("there is no {noun} `{id}`")]
    Missing { noun: &'static str, id: String },
    #[error("a file may have at most {limit} bytes")]
    FileTooLarge { limit: u64 },
    #[error("a file may have at most {limit} lines")]
    TooManyLines { limit: u64 },
    #[error("{}", full(.0))]
    Full(FullStorage),
    #[error("the workspace already has {limit} batches that have not ended")]
    TooManyBatches { limit: u64 },
    #[error("the workspace may have at most {limit} lines that have not ended")]
    TooManyQueued { limit: u64 },
    #[error("{}", too_large_queue(.0))]
    TooLargeQueue(FullStorage),
    #[error("{why}")]
    Invalid { param: String, why: String },
    #[error("the batch has not ended")]
    NotEnded,
    #[error("a batch with status `{status}` cannot be cancelled")]
    NotCancellable { status: &'static str },
    #[error("the Idempotency-Key was used for another request")]
    KeyReused,
    #[error("a request with the same Idempotency-Key is still in progress")]
    KeyInUse,
    /// Another node does this work now.
    #[error("another node works on the batch")]
    NotOwned,
    #[error(transparent)]
    Command(#[from] CommandError),
}

fn full(FullStorage { bound, limit }: &FullStorage) -> String {
    let (what, remedy) = match bound {
        FileBound::Workspace => ("the files of a workspace", "delete some of them"),
        FileBound::Organization => (
            "the files and stored responses of an organization",
            "delete some of them; they count until they are removed, which takes a few minutes",
        ),
        FileBound::Total => ("the files of all workspaces", "only the operator can change that"),
    };
    format!("{what} may have at most {limit} bytes: {remedy}")
}

fn too_large_queue(FullStorage { bound, limit }: &FullStorage) -> String {
    let whose = match bound {
        FileBound::Workspace => "a workspace",
        FileBound::Organization => "an organization",
        FileBound::Total => "all workspaces",
    };
    format!("the lines of batches of {whose} that have not ended may have at most {limit} bytes, with their results")
}

impl From<StoreError> for BatchError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::IdempotencyInProgress => Self::KeyInUse,
            other => Self::Command(other.into()),
        }
    }
}
