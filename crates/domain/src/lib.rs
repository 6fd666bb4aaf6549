//! Types and rules of the service.
//!
//! No I/O and no clock: time and randomness are arguments, so every rule can be tested with a table.

pub mod accounts;
pub mod allotment;
pub mod autoscaler;
pub mod batches;
pub mod bill_check;
pub mod call_class;
pub mod catalogue;
pub mod costs;
mod download;
pub mod endpoint;
pub mod endpoint_load;
pub mod engine_key;
pub mod fair_queue;
pub mod gpu_busy;
pub mod gpu_time;
pub mod ids;
pub mod leadership;
pub mod limits;
mod mac;
pub mod model_ref;
pub mod money;
mod names;
mod network;
mod restriction_error;
pub mod retention;
pub mod series;
pub mod sketch;
pub mod span;
pub mod time;
pub mod tokens;
mod turns;
pub mod usage;

pub use accounts::{
    cache_salt, caller, end_user, invitation, key, key_limits, key_restrictions, monthly_budget, organization,
    queue_weight, response_retention, session, user, workspace, workspace_edit,
};
pub use batches::{Batch, StoredFile};
pub use catalogue::{alias, capabilities, gpu_type, model};
pub use costs::{forecast, gpu_costs, grouping};
pub use limits::{attempts, budget, quota};

pub use cache_salt::SaltSecret;
pub use call_class::CallClass;
pub use caller::Caller;
pub use catalogue::{Catalogue, CatalogueMode};
pub use download::DownloadChange;
pub use end_user::{EndUser, EndUserId};
pub use endpoint::{Endpoint, EndpointName};
pub use gpu_type::GpuType;
pub use grouping::Grouping;
pub use ids::{
    BatchId, DownloadId, EndpointId, EventId, FileId, InvitationId, KeyId, OrganizationId, ReplicaId, RequestId, RunId,
    SessionId, UserId, WorkspaceId,
};
pub use invitation::Invitation;
pub use key::{ApiKey, KeyState, KeyText, SecretHash, Segment};
pub use key_limits::KeyLimits;
pub use key_restrictions::{KeyRestrictions, Permission};
pub use model::{Model, ModelId};
pub use model_ref::ModelRef;
pub use money::{CallPrice, NanoUsd, Price, PriceShare};
pub use monthly_budget::{MonthlyBudget, OnBudget};
pub use network::Network;
pub use organization::Organization;
pub use queue_weight::QueueWeight;
pub use response_retention::ResponseRetention;
pub use retention::Retention;
pub use session::Session;
pub use span::Span;
pub use time::{Day, Grain, Month, Timestamp};
pub use usage::UsageEvent;
pub use user::User;
pub use workspace::Workspace;
