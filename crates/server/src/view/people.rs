use domain::user::{Email, Role};
use domain::{
    Invitation, InvitationId, Organization, OrganizationId, Session, SessionId, Timestamp, User, UserId, WorkspaceId,
};
use serde::Serialize;
use store::users::Member;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Organization)]
pub(crate) struct OrganizationView {
    #[schema(value_type = String, example = "org_01k0000000000000000000000")]
    pub(crate) id: OrganizationId,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Organization> for OrganizationView {
    fn from(organization: Organization) -> Self {
        let Organization { id, name, created_at } = organization;
        Self { id, name, created_at }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub(crate) enum RoleView {
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
pub(crate) struct UserView {
    #[schema(value_type = String, example = "usr_01k0000000000000000000000")]
    pub(crate) id: UserId,
    #[schema(value_type = String)]
    email: Email,
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
    #[schema(value_type = String)]
    organization_id: OrganizationId,
    role: RoleView,
}

impl UserView {
    /// With the generated password, which is shown once.
    pub(crate) fn once(user: User, password: Option<String>) -> Self {
        let memberships = user.memberships.into_iter();
        Self {
            id: user.id,
            email: user.email,
            operator: user.operator,
            created_at: user.created_at,
            memberships: memberships
                .map(|one| MembershipView { organization_id: one.organization_id, role: one.role.into() })
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
pub(crate) struct MemberView {
    #[schema(value_type = String)]
    pub(crate) user_id: UserId,
    #[schema(value_type = String)]
    email: Email,
    role: RoleView,
    /// The workspaces that the member was added to; administrators belong to all. Empty in the list of a workspace.
    #[schema(value_type = Vec<String>)]
    workspace_ids: Vec<WorkspaceId>,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        let Member { user, email, role, workspaces } = member;
        Self { user_id: user, email, role: role.into(), workspace_ids: workspaces }
    }
}

/// A signed-in browser.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OwnSession)]
pub(crate) struct SessionView {
    #[schema(value_type = String)]
    id: SessionId,
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
    pub(crate) fn new(session: Session, current: &SessionId, expires_at: Timestamp) -> Self {
        Self {
            current: session.id == *current,
            id: session.id,
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
pub(crate) struct InvitationView {
    #[schema(value_type = String)]
    pub(crate) id: InvitationId,
    #[schema(value_type = String)]
    email: Email,
    role: RoleView,
    #[schema(value_type = Vec<String>)]
    workspace_ids: Vec<WorkspaceId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>)]
    created_by: Option<UserId>,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// The link, in the response that created it only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<String>,
}

impl InvitationView {
    /// With its link, which is shown once.
    pub(crate) fn once(invitation: Invitation, url: Option<String>) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email,
            role: invitation.role.into(),
            workspace_ids: invitation.workspaces,
            created_at: invitation.created_at,
            created_by: invitation.created_by,
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
