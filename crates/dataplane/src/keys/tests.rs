//! The key directory on a real store.

use super::*;
use domain::key::NewKey;
use domain::workspace::OwnLimits;
use domain::{KeyId, KeyRestrictions, Organization, OrganizationId, Workspace};
use store::organizations;
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A store with one organization, and the keys of one node.
struct Node {
    keys: Arc<KeyDirectory>,
    store: Store,
    organization: Organization,
    _folder: TempDir,
}

impl Node {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:forebay.db", folder.path()).await.unwrap();
        store.migrate().await.unwrap();
        let organization = Organization::new(OrganizationId::new(NOW, 1), "Acme", NOW);
        let mut tx = store.begin().await.unwrap();
        organizations::insert(&mut tx, &organization).await.unwrap();
        tx.commit().await.unwrap();
        let keys = KeyDirectory::new(store.clone(), Handle::current());
        Self { keys, store, organization, _folder: folder }
    }

    async fn workspace(&self, number: u128) -> Workspace {
        let workspace = Workspace::new(WorkspaceId::new(NOW, number), self.organization.id.clone(), "Research", NOW);
        let mut tx = self.store.begin().await.unwrap();
        workspaces::insert(&mut tx, &workspace).await.unwrap();
        tx.commit().await.unwrap();
        workspace
    }

    /// The text of a new key.
    async fn key(&self, workspace: &Workspace, number: u8) -> (KeyId, String) {
        self.restricted_key(workspace, number, KeyRestrictions::default()).await
    }

    async fn restricted_key(
        &self,
        workspace: &Workspace,
        number: u8,
        restrictions: KeyRestrictions,
    ) -> (KeyId, String) {
        let new = NewKey::from_entropy(&[number; NewKey::ENTROPY]);
        let key = ApiKey { restrictions, ..ApiKey::new(KeyId::new(NOW, number.into()), workspace, "ci", &new, NOW) };
        let mut tx = self.store.begin().await.unwrap();
        api_keys::insert_within(&mut tx, &key, 100).await.unwrap();
        tx.commit().await.unwrap();
        (key.id, new.reveal().to_owned())
    }

    /// Changes the limit of requests.
    async fn edit(&self, workspace: Workspace, requests: u64) -> Workspace {
        let own = OwnLimits { requests_per_minute: Some(requests), ..workspace.own };
        let mut tx = self.store.begin().await.unwrap();
        let changed = workspaces::update(&mut tx, Workspace { own, ..workspace }, NOW).await.unwrap();
        tx.commit().await.unwrap();
        changed
    }

    async fn identify(&self, key: &str) -> Result<Arc<Caller>, IdentifyError> {
        self.identify_from([127, 0, 0, 1], key).await
    }

    async fn identify_from(&self, client: [u8; 4], key: &str) -> Result<Arc<Caller>, IdentifyError> {
        let key = Credential::from(&KeyText::parse(key).unwrap());
        match self.keys.cached(&key, NOW) {
            Some(caller) => Ok(caller),
            None => self.keys.look_up(&key, client.into(), NOW).await,
        }
    }

    /// Lookups of expected credentials, and of others.
    fn lookups(&self) -> (u64, u64) {
        let [(_, expected), (_, other)] = self.keys.lookups();
        (expected, other)
    }
}

#[tokio::test]
async fn the_edits_of_one_tenant_cost_no_lookup_of_the_key_of_another() {
    let node = Node::start().await;
    let (quiet, mut busy) = (node.workspace(1).await, node.workspace(2).await);
    let (quiet_key, busy_key) = (node.key(&quiet, 1).await.1, node.key(&busy, 2).await.1);
    node.identify(&quiet_key).await.unwrap();
    node.identify(&busy_key).await.unwrap();
    assert_eq!(node.lookups(), (0, 2));
    for requests in 1..=20 {
        busy = node.edit(busy, requests).await;
        node.identify(&quiet_key).await.unwrap();
    }
    assert_eq!(node.lookups(), (0, 2));
    let caller = node.identify(&busy_key).await.unwrap();
    assert_eq!(
        format!("{:?}", caller.workspace_limits),
        format!("{:?}", busy.stored_limits()),
        "its own is read again"
    );
    assert_eq!(node.lookups(), (0, 3));
    for change in
        [Change::Organization(node.organization.id.clone()), Change::Key(Segment::parse("zzzzzzzzzzzz").unwrap())]
    {
        node.keys.forget(&change);
    }
    node.identify(&quiet_key).await.unwrap();
    node.identify(&busy_key).await.unwrap();
    assert_eq!(node.lookups(), (0, 3));
    node.keys.forget(&Change::Everything);
    node.identify(&quiet_key).await.unwrap();
    assert_eq!(node.lookups(), (0, 4));
}

#[tokio::test]
async fn a_rejected_credential_leaves_the_gate_before_its_response_is_delayed() {
    let node = Node::start().await;
    let key = format!("sk-aaaaaaaaaaaa-{}", "a".repeat(40));
    let (segment, hash) = (Segment::parse("aaaaaaaaaaaa").unwrap(), KeyText::parse(&key).unwrap().hash());
    let check = async {
        // It is remembered as rejected just before the delay.
        while node.keys.rejected.find(segment, hash).is_none() {
            tokio::task::yield_now().await;
        }
        node.keys.other_gate.permits.available_permits()
    };
    let (outcome, free) = tokio::join!(node.identify(&key), check);
    assert!(matches!(outcome, Err(IdentifyError::BadKey("unknown segment"))));
    assert_eq!(free, MAX_OTHER_LOOKUPS);
}

#[tokio::test]
async fn an_expected_key_does_not_wait_behind_guesses() {
    let node = Node::start().await;
    let workspace = node.workspace(1).await;
    let old = node.key(&workspace, 1).await.1;
    let mut follower = node.keys.follower();
    follower.round(&|_| {}).await.unwrap();
    let fresh = node.key(&workspace, 2).await.1;
    while !is_expected(&node, &fresh) {
        follower.round(&|_| {}).await.unwrap();
    }
    let guesses = node.keys.other_gate.permits.acquire_many(MAX_OTHER_LOOKUPS as u32).await.unwrap();
    node.identify(&old).await.unwrap();
    node.identify(&fresh).await.unwrap();
    assert_eq!(node.lookups(), (2, 0));
    drop(guesses);
    let guess = format!("{}{}", &old[..16], "x".repeat(40));
    assert!(node.identify(&guess).await.is_err());
    assert_eq!(node.lookups(), (2, 1), "a wrong secret is as unexpected as an unknown segment");
}

#[tokio::test]
async fn a_revoked_key_is_no_longer_expected() {
    let node = Node::start().await;
    let workspace = node.workspace(1).await;
    let (id, key) = node.key(&workspace, 1).await;
    node.keys.follower().round(&|_| {}).await.unwrap();
    node.identify(&key).await.unwrap();
    let mut tx = node.store.begin().await.unwrap();
    api_keys::revoke(&mut tx, &workspace.id, &id, NOW).await.unwrap();
    tx.commit().await.unwrap();
    assert!(matches!(node.identify(&key).await, Err(IdentifyError::BadKey("revoked"))), "at once on this node");
    assert!(!is_expected(&node, &key));
}

#[tokio::test]
async fn the_change_feed_removes_revoked_keys_from_the_expected_ones() {
    let node = Node::start().await;
    let workspace = node.workspace(1).await;
    let (id, key) = node.key(&workspace, 1).await;
    let mut follower = node.keys.follower();
    follower.round(&|_| {}).await.unwrap();
    assert!(is_expected(&node, &key));
    let mut tx = node.store.begin().await.unwrap();
    api_keys::revoke(&mut tx, &workspace.id, &id, NOW).await.unwrap();
    tx.commit().await.unwrap();
    while is_expected(&node, &key) {
        follower.round(&|_| {}).await.unwrap();
    }
}

#[tokio::test]
async fn a_key_from_an_address_that_it_does_not_allow_is_looked_up_like_an_invalid_one() {
    let node = Node::start().await;
    let workspace = node.workspace(1).await;
    let allowed_ips = Some(vec![domain::Network::parse("10.0.0.0/8").unwrap()]);
    let (_, key) = node.restricted_key(&workspace, 1, KeyRestrictions { allowed_ips, ..Default::default() }).await;
    for _ in 0..2 {
        let rejected = node.identify_from([192, 0, 2, 1], &key).await;
        assert!(matches!(rejected, Err(IdentifyError::BadKey(ELSEWHERE))));
    }
    let (expected, other) = node.lookups();
    assert_eq!(expected + other, 1, "rejections are remembered for a moment");
    assert!(node.identify_from([10, 0, 0, 1], &key).await.is_ok());
}

fn is_expected(node: &Node, key: &str) -> bool {
    node.keys.is_expected(&Credential::from(&KeyText::parse(key).unwrap()))
}
