//! The seam to stored responses.
//!
//! What a request refers to is loaded before it is translated: the items of the previous responses come before its own
//! input, and references are replaced by the items they stand for. The translation hands the final response to the
//! receiver, if there is one, before its last bytes are sent; [`ResponsesRequest::input_items`] are the items to keep
//! with it.

use crate::surface::Surface;
use crate::surface::error::SurfaceError;
use crate::surface::inference::InferenceError;
use dataplane::CallError;
use dataplane::translate::responses::{FinishedResponse, History, ResponsesRequest};
use domain::Caller;

/// The stored items that the request refers to.
pub(super) async fn load(
    _surface: &Surface,
    _caller: &Caller,
    request: &ResponsesRequest,
) -> Result<History, InferenceError> {
    if let Some(id) = &request.previous_response_id {
        return Err(SurfaceError::PreviousResponseNotFound { id: id.clone() }.into());
    }
    let references = request.references().map_err(CallError::from)?;
    match references.into_iter().next() {
        Some((param, id)) => Err(SurfaceError::ItemNotFound { id, param }.into()),
        None => Ok(History::default()),
    }
}

/// Receives the final response; `None` if it is not stored.
pub(super) fn receiver(_surface: &Surface, _caller: &Caller, _request: &ResponsesRequest) -> Option<FinishedResponse> {
    None
}
