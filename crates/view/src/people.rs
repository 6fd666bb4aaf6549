use super::budgets::OnBudgetView;
use domain::user::Role;
use domain::{Invitation, NanoUsd, Organization, Session, SessionId, Timestamp, User, WorkspaceId};
use serde::Serialize;
use store::users::Member;
use utoipa::ToSchema;

/// Bounds of organizations without bounds of their own.
#[derive(Debug, Clone, Copy)]
pub struct OrganizationDefaults {
    pub max_workspaces: u64,
    pub max_stored_bytes: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Organization)]
pub struct OrganizationView {
    #[schema(example = "org_01k0000000000000000000000")]
    id: String,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The most workspaces that its administrators may create. Like the other bounds, only the operator changes it.
    max_workspaces: u64,
    /// The tokens that all its workspaces may use in a month; null if only each workspace is bounded.
    monthly_tokens: Option<u64>,
    /// The most bytes of stored responses and files of all its workspaces.
    max_stored_bytes: u64,
    /// What all its workspaces may use in a minute; null if only each workspace is bounded.
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    /// The most that all its workspaces may cost in a month, in USD: the lower one of the operator's amount and that of the
    /// administrators; null if there is none.
    #[schema(value_type = Option<String>, example = "500.00")]
    monthly_usd: Option<NanoUsd>,
    /// The operator's amount; null if there is none.
    #[schema(value_type = Option<String>)]
    operator_monthly_usd: Option<NanoUsd>,
    on_budget: OnBudgetView,
}

impl OrganizationView {
    pub fn new(organization: Organization, defaults: &OrganizationDefaults) -> Self {
        Self {
            id: organization.id.to_string(),
            name: organization.name,
            created_at: organization.created_at,
            max_workspaces: organization.max_workspaces.unwrap_or(defaults.max_workspaces),
            monthly_tokens: organization.monthly_tokens,
            max_stored_bytes: organization.max_stored_bytes.unwrap_or(defaults.max_stored_bytes),
            requests_per_minute: organization.requests_per_minute,
            tokens_per_minute: organization.tokens_per_minute,
            monthly_usd: organization.monthly_usd.cap(),
            operator_monthly_usd: organization.monthly_usd.operator,
            on_budget: organization.on_budget.into(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub enum RoleView {
    Admin,
    Member,
}

impl From<Role> for RoleView {
    fn from(role: Role) -> Self {
        match role {
            Role::Admin => Self::Admin,
            Role::Member => Self::Member,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = User)]
pub struct UserView {
    #[schema(example = "usr_01k0000000000000000000000")]
    id: String,
    email: String,
    /// Whether the identity provider or the operator vouches that the address belongs to the user.
    email_proven: bool,
    /// The operator runs the platform.
    operator: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    memberships: Vec<MembershipView>,
    /// A generated password, in the response that generated it only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    password: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Membership)]
struct MembershipView {
    organization_id: String,
    role: RoleView,
}

impl UserView {
    /// With the generated password, which is shown once.
    pub fn once(user: User, password: Option<String>) -> Self {
        let memberships = user.memberships.into_iter();
        Self {
            id: user.id.to_string(),
            email: user.email.to_string(),
            email_proven: user.email_proven,
            operator: user.operator,
            created_at: user.created_at,
            memberships: memberships
                .map(|one| MembershipView { organization_id: one.organization_id.to_string(), role: one.role.into() })
                .collect(),
            password,
        }
    }
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self::once(user, None)
    }
}

/// A member of an organization or of a workspace.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Member)]
pub struct MemberView {
    user_id: String,
    email: String,
    role: RoleView,
    /// The workspaces that the member was added to; administrators belong to all. Empty in the list of a workspace.
    workspace_ids: Vec<String>,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        let Member { user, email, role, workspaces } = member;
        Self {
            user_id: user.to_string(),
            email: email.to_string(),
            role: role.into(),
            workspace_ids: texts(workspaces),
        }
    }
}

/// A signed-in browser.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OwnSession)]
pub struct SessionView {
    id: String,
    /// Whether it is the session of this request.
    current: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Accurate to a minute.
    #[schema(value_type = String, format = DateTime)]
    seen_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// The address at sign-in.
    address: String,
    user_agent: String,
}

impl SessionView {
    pub fn new(session: Session, current: &SessionId, expires_at: Timestamp) -> Self {
        Self {
            id: session.id.to_string(),
            current: session.id == *current,
            created_at: session.created_at,
            seen_at: session.seen_at,
            expires_at,
            address: session.address,
            user_agent: session.user_agent,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Invitation)]
pub struct InvitationView {
    id: String,
    email: String,
    role: RoleView,
    workspace_ids: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    created_by: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// The link, in the response that created it only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<String>,
}

impl InvitationView {
    /// With its link, which is shown once.
    pub fn once(invitation: Invitation, url: Option<String>) -> Self {
        Self {
            id: invitation.id.to_string(),
            email: invitation.email.to_string(),
            role: invitation.role.into(),
            workspace_ids: texts(invitation.workspaces),
            created_at: invitation.created_at,
            created_by: invitation.created_by.map(|id| id.to_string()),
            expires_at: invitation.expires_at,
            url,
        }
    }
}

impl From<Invitation> for InvitationView {
    fn from(invitation: Invitation) -> Self {
        Self::once(invitation, None)
    }
}

fn texts(ids: Vec<WorkspaceId>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}
