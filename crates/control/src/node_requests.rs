//! How one node asks another for something. Nodes do not call each other: requests and responses pass through the store, as
//! JSON. A kind of request is a type that implements [`Request`].

use crate::command_error::CommandError;
use crate::entropy;
use domain::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use store::node_requests::{self, NodeRequest};
use store::{Store, StoreError};

/// How often a node looks for requests of others.
pub const RESPONSE_PERIOD: Duration = Duration::from_secs(1);
/// Time for the other node.
const TIMEOUT: Duration = Duration::from_secs(8);
const POLL_PERIOD: Duration = Duration::from_millis(200);

/// What a node can ask another one for.
pub trait Request: Serialize + DeserializeOwned {
    const KIND: &'static str;

    type Response: Serialize + DeserializeOwned;
}

/// Asks `node`, and waits for its response.
pub async fn ask<R: Request>(
    store: &Store,
    node: &str,
    request: &R,
    now: Timestamp,
) -> Result<R::Response, CommandError> {
    let request =
        NodeRequest { id: format!("{:032x}", entropy::for_id()), kind: R::KIND.to_owned(), request: to_json(request) };
    let mut tx = store.begin().await?;
    node_requests::ask(&mut tx, node, &request, now).await?;
    tx.commit().await?;
    let response = wait(store, &request.id).await;
    let mut tx = store.begin().await?;
    node_requests::remove(&mut tx, &request.id).await?;
    tx.commit().await?;
    let response = response?.ok_or_else(|| CommandError::NodeUnresponsive { node: node.to_owned() })?;
    serde_json::from_str(&response).map_err(|cause| CommandError::Internal { cause: cause.into() })
}

/// Reads the response until there is one; `None` if there is none in time.
async fn wait(store: &Store, id: &str) -> Result<Option<String>, StoreError> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let response = node_requests::read(store, id).await?;
        if response.is_some() || Instant::now() >= deadline {
            return Ok(response);
        }
        tokio::time::sleep(POLL_PERIOD).await;
    }
}

/// Responses by request, until the store has them: a request whose response could not be written must not be carried out
/// again. A download that was deleted would then be missing.
#[derive(Debug, Default)]
pub struct Unwritten(BTreeMap<String, String>);

/// Responds to the requests of one kind that other nodes still wait for. One that fails does not delay the others: the
/// first failure is returned after them.
pub async fn respond<R, F>(
    store: &Store,
    node: &str,
    unwritten: &mut Unwritten,
    now: Timestamp,
    carry_out: impl Fn(R) -> F,
) -> Result<(), CommandError>
where
    R: Request,
    F: Future<Output = Result<R::Response, CommandError>>,
{
    let timeout = i64::try_from(TIMEOUT.as_millis()).unwrap_or(i64::MAX);
    let open = node_requests::list_open(store, node, R::KIND, now.plus_millis(-timeout)).await?;
    unwritten.0.retain(|id, _| open.iter().any(|request| request.id == *id));
    let mut failure = None;
    for NodeRequest { id, request, .. } in open {
        if !unwritten.0.contains_key(&id) {
            // A newer version may ask for what this one does not know.
            let Ok(request) = serde_json::from_str(&request) else { continue };
            match carry_out(request).await {
                Ok(response) => unwritten.0.insert(id.clone(), to_json(&response)),
                Err(error) => {
                    tracing::debug!(request.id = %id, request.kind = R::KIND, %error, "a request of another node failed");
                    failure.get_or_insert(error);
                    continue;
                }
            };
        }
        let mut tx = store.begin().await?;
        node_requests::respond(&mut tx, &id, &unwritten.0[&id]).await?;
        tx.commit().await?;
    }
    failure.map_or(Ok(()), Err)
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("requests and responses have only text keys")
}
