//! Records to put into a store.

use domain::endpoint::labels::Labels;
use domain::key::NewKey;
use domain::key_restrictions::allowed_models;
use domain::user::{Email, Membership, Role};
use domain::workspace::OwnLimits;
use domain::{
    ApiKey, KeyId, KeyRestrictions, Organization, OrganizationId, Permission, Timestamp, User, UserId, Workspace,
    WorkspaceId,
};
use store::{Store, api_keys, organizations, users, workspaces};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(crate) fn later(millis: i64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() + millis)
}

pub(crate) fn entropy() -> u128 {
    u128::from(getrandom::u64().unwrap())
}

pub(crate) fn new_organization() -> Organization {
    Organization::new(OrganizationId::new(NOW, entropy()), "Acme", NOW)
}

pub(crate) fn new_workspace(organization: &Organization) -> Workspace {
    let own = OwnLimits { monthly_tokens: Some(5_000), ..OwnLimits::default() };
    Workspace { own, ..Workspace::new(WorkspaceId::new(NOW, entropy()), organization.id.clone(), "Research", NOW) }
}

pub(crate) fn new_user(email: &str, organization: &Organization, role: Role) -> User {
    User {
        id: UserId::new(NOW, entropy()),
        email: Email::parse(email).unwrap(),
        email_proven: true,
        operator: false,
        created_at: NOW,
        memberships: vec![membership(organization, role)],
    }
}

pub(crate) fn membership(organization: &Organization, role: Role) -> Membership {
    Membership { organization_id: organization.id.clone(), role, proven: true }
}

pub(crate) fn new_key(workspace: &Workspace) -> ApiKey {
    let mut bytes = [0; NewKey::ENTROPY];
    getrandom::fill(&mut bytes).unwrap();
    let text = NewKey::from_entropy(&bytes);
    ApiKey {
        requests_per_minute: Some(60),
        restrictions: KeyRestrictions {
            permissions: Some(vec![Permission::Inference]),
            allowed_models: Some(allowed_models(&["acme/*"]).unwrap()),
            ..KeyRestrictions::default()
        },
        labels: Labels::from([("team".into(), "search".into())]),
        ..ApiKey::new(KeyId::new(NOW, entropy()), workspace, "ci", &text, NOW)
    }
}

pub(crate) async fn organization(store: &Store) -> Organization {
    let organization = new_organization();
    let mut tx = store.begin().await.unwrap();
    organizations::insert(&mut tx, &organization).await.unwrap();
    tx.commit().await.unwrap();
    organization
}

pub(crate) async fn workspace(store: &Store) -> Workspace {
    let workspace = new_workspace(&organization(store).await);
    let mut tx = store.begin().await.unwrap();
    workspaces::insert(&mut tx, &workspace).await.unwrap();
    tx.commit().await.unwrap();
    workspace
}

pub(crate) async fn user(store: &Store, email: &str, organization: &Organization, role: Role) -> User {
    let user = new_user(email, organization, role);
    let mut tx = store.begin().await.unwrap();
    users::insert(&mut tx, &user, Some("hash")).await.unwrap();
    tx.commit().await.unwrap();
    user
}

pub(crate) async fn key(store: &Store, workspace: &Workspace) -> ApiKey {
    let key = new_key(workspace);
    let mut tx = store.begin().await.unwrap();
    api_keys::insert_within(&mut tx, &key, 1_000).await.unwrap();
    tx.commit().await.unwrap();
    key
}
