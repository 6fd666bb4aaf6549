//! The monthly quota, shared by three nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::OrganizationId;
use testkit::fake_engine::Script;
use tokio::task::JoinSet;

use super::{Cluster, Limits, Tally, UNLIMITED, at_once, chat_of, this_month, uses};
use crate::app::{TIMEOUT, text, wait_until};

/// This many clients per node, which call until the first of them is rejected.
async fn until_rejected(cluster: &Cluster, clients: [usize; 3], body: &serde_json::Value) -> Tally {
    let mut under_way = JoinSet::new();
    let rejected = Arc::new(AtomicBool::new(false));
    for (node, count) in clients.into_iter().enumerate() {
        for _ in 0..count {
            let (client, body, rejected) = (cluster.client(node), body.clone(), Arc::clone(&rejected));
            under_way.spawn(async move {
                let mut tally = Tally::default();
                while !rejected.load(Ordering::Relaxed) {
                    tally.add(&client.post_json("/chat/completions", body.clone()).await);
                    rejected.fetch_or(!tally.rejected.is_empty(), Ordering::Relaxed);
                }
                tally
            });
        }
    }
    let mut all = Tally::default();
    while let Some(tally) = under_way.join_next().await {
        all.join(tally.unwrap());
    }
    all
}

/// Checks that clients, events and the account agree, that the cap holds, and that nearly all of it is used.
async fn assert_nearly_used(cluster: &Cluster, tally: &Tally) {
    let cap = cluster.limits.monthly_tokens;
    tally.assert_rejected_only_with("429 quota_exceeded");
    assert!(!tally.rejected.is_empty(), "the cap must be reached");
    assert!(tally.tokens <= cap, "{} of {cap}", tally.tokens);
    assert!(tally.tokens >= cap * 95 / 100, "only {} of {cap}", tally.tokens);
    cluster.events(tally.served.len()).await;
    let account = cluster.account().await;
    assert_eq!(account.used, tally.tokens, "clients and the store saw the same");
    assert!(account.used + account.reserved <= cap, "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_calls_on_three_nodes_never_exceed_a_small_cap_and_use_nearly_all_of_it() {
    let cluster = Cluster::start(Limits { monthly_tokens: 30_000, ..UNLIMITED }).await;
    cluster.engine().script(uses(90, 50));
    let body = chat_of(2, 50);
    let mut tally = at_once(&cluster, 300, &body).await;
    assert!(tally.tokens <= 30_000, "{} of 30,000", tally.tokens);
    tally.join(until_rejected(&cluster, [1, 1, 1], &body).await);
    assert_nearly_used(&cluster, &tally).await;
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_calls_on_three_nodes_never_exceed_a_cap_that_is_leased_in_blocks() {
    let cluster = Cluster::start(Limits { monthly_tokens: 2_000_000, ..UNLIMITED }).await;
    cluster.all_are_known().await;
    cluster.engine().script(uses(4_000, 4_000));
    let tally = at_once(&cluster, 300, &chat_of(4_000, 4_000)).await;
    assert_nearly_used(&cluster, &tally).await;
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_with_more_and_fewer_calls_use_nearly_all_of_a_cap() {
    let cluster = Cluster::start(Limits { monthly_tokens: 2_000_000, ..UNLIMITED }).await;
    cluster.all_are_known().await;
    cluster.engine().script(Script { delay_ms: 50, ..uses(4_000, 4_000) });
    let tally = until_rejected(&cluster, [8, 3, 1], &chat_of(4_000, 4_000)).await;
    assert_nearly_used(&cluster, &tally).await;
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_node_gives_back_quota_that_others_need() {
    let cluster = Cluster::start(Limits { monthly_tokens: 2_000_000, ..UNLIMITED }).await;
    cluster.all_are_known().await;
    cluster.engine().script(uses(4_000, 4_000));
    let body = chat_of(4_000, 4_000);
    let mut tally = Tally::default();
    for _ in 0..70 {
        tally.add(&cluster.ask(0, body.clone()).await);
    }
    cluster.events(70).await;
    let held = cluster.account().await.reserved;
    assert!(held < 100_000, "{held} of 1,440,000 that were left");
    tally.join(until_rejected(&cluster, [0, 2, 2], &body).await);
    assert!(tally.tokens + 100_000 > 2_000_000 * 95 / 100, "{} of 2,000,000", tally.tokens);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workspaces_of_one_organization_on_three_nodes_never_exceed_its_tokens() {
    const CAP: u64 = 30_000;
    let cluster = Cluster::start(UNLIMITED).await;
    cluster.all_are_known().await;
    cluster.engine().script(uses(90, 50));
    let app = &cluster.nodes[0];
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    app.admin(&format!("organizations set {organization} --monthly-tokens {CAP}"));
    let mut keys = vec![app.key.clone()];
    for name in ["second", "third"] {
        let workspace = app.admin(&format!("workspaces create --organization {organization} --name {name}"));
        let key = app.admin(&format!("keys create --workspace {} --name {name}", text(&workspace["id"])));
        keys.push(text(&key["key"]).to_owned());
    }
    let mut in_flight = JoinSet::new();
    for call in 0..450 {
        // Every workspace calls every node.
        let client = cluster.nodes[call % 3].client_with(&keys[call / 3 % 3]);
        in_flight.spawn(async move { client.post_json("/chat/completions", chat_of(2, 50)).await });
    }
    let mut tally = Tally::default();
    while let Some(response) = in_flight.join_next().await {
        tally.add(&response.unwrap());
    }
    // The last tokens are leased in pieces: a call may be rejected because another node holds them.
    for call in 0..30 {
        let client = cluster.nodes[call % 3].client_with(&keys[call / 3 % 3]);
        tally.add(&client.post_json("/chat/completions", chat_of(2, 50)).await);
    }
    tally.assert_rejected_only_with("429 quota_exceeded");
    assert!(!tally.rejected.is_empty(), "the bound must be reached");
    assert!((CAP * 9 / 10..=CAP).contains(&tally.tokens), "{} of {CAP}", tally.tokens);
    let store = app.store().await;
    let organization =
        store::organizations::by_id(&store, &OrganizationId::parse(&organization).unwrap()).await.unwrap().unwrap();
    let account = async || store::quota::organization_account(&store, &organization, this_month()).await.unwrap();
    wait_until("the store has what clients saw", TIMEOUT, async || account().await.used == tally.tokens).await;
    let account = account().await;
    assert!(account.used + account.reserved <= CAP, "{account:?}");
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lowered_or_raised_cap_applies_on_every_node_within_a_second() {
    let cluster = Cluster::start(Limits { monthly_tokens: 1_000_000, ..UNLIMITED }).await;
    cluster.engine().script(uses(90, 50));
    let body = chat_of(2, 50);
    let before = at_once(&cluster, 30, &body).await;
    assert_eq!(before.served.len(), 30);
    let workspace = cluster.nodes[0].workspace();
    let answers = async |node, status: u16| cluster.ask(node, body.clone()).await.status == status;

    cluster.nodes[0].admin(&format!("workspaces set {workspace} --monthly-tokens 4000"));
    for node in 0..3 {
        wait_until("rejected", TIMEOUT, async || answers(node, 429).await).await;
    }
    assert_eq!(cluster.account().await.cap, 4_000);
    let used = async || cluster.account().await.used;
    wait_until("what was used stays used", TIMEOUT, async || used().await >= before.tokens).await;

    cluster.nodes[0].admin(&format!("workspaces set {workspace} --monthly-tokens 500000"));
    for node in 0..3 {
        wait_until("served", TIMEOUT, async || answers(node, 200).await).await;
    }
    cluster.remove().await;
}
