//! The words and rules of the service.
//!
//! Nothing here reads a clock, a file or a socket: time and randomness are arguments, so every rule can be tested
//! with a table.

pub mod allotment;
pub mod attempts;
pub mod autoscaler;
pub mod bill_check;
pub mod caller;
pub mod catalogue;
pub mod endpoint;
pub mod forecast;
pub mod gpu_busy;
pub mod gpu_costs;
pub mod gpu_time;
pub mod gpu_type;
pub mod grouping;
pub mod ids;
pub mod invitation;
pub mod key;
pub mod leadership;
pub mod limits;
pub mod model;
pub mod model_ref;
pub mod money;
pub mod organization;
pub mod quota;
pub mod retention;
pub mod series;
pub mod session;
pub mod sketch;
pub mod span;
pub mod time;
pub mod usage;
pub mod user;
pub mod workspace;
pub mod workspace_edit;

pub use caller::Caller;
pub use catalogue::Catalogue;
pub use endpoint::{Endpoint, EndpointName};
pub use gpu_type::GpuType;
pub use grouping::Grouping;
pub use ids::{
    EndpointId, EventId, InvitationId, KeyId, OrganizationId, ReplicaId, RequestId, RunId, SessionId, UserId,
    WorkspaceId,
};
pub use invitation::Invitation;
pub use key::{ApiKey, KeyState, KeyText, SecretHash, Segment};
pub use model::{Model, ModelId};
pub use model_ref::ModelRef;
pub use money::{NanoUsd, Price};
pub use organization::Organization;
pub use retention::Retention;
pub use session::Session;
pub use span::Span;
pub use time::{Day, Grain, Month, Timestamp};
pub use usage::UsageEvent;
pub use user::User;
pub use workspace::Workspace;
