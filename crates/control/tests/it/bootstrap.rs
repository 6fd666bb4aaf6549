use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::{bootstrap, organizations, passwords, users};
use domain::KeyText;
use store::audit::{self, Filter};
use store::{Page, api_keys};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn of_five_nodes_that_start_concurrently_one_initializes_the_store() {
    on_both(async |database, store| {
        let mut nodes = JoinSet::new();
        for _ in 0..5 {
            let store = database.open().await;
            nodes.spawn(async move { bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap() });
        }
        let mut winners: Vec<_> = nodes.join_all().await.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1);
        let first = winners.remove(0);

        assert!(first.password.len() >= 20);
        let user = users::show_by_email(&store, "admin@localhost").await.unwrap();
        assert!(user.operator);
        let stored = store::users::credentials(&store, &user.email).await.unwrap().pop().unwrap().password_hash;
        assert!(passwords::verify(&first.password, stored.as_deref()).await.unwrap());

        let text = KeyText::parse(first.key_text.reveal()).unwrap();
        let key = api_keys::by_segment(&store, text.segment, NOW).await.unwrap().unwrap();
        assert_eq!((key.hash == text.hash(), key.name.as_str()), (true, "bootstrap"));
        assert_eq!(organizations::list(&store, Page::default()).await.unwrap(), [first.organization]);
        let actions: Vec<_> = audit::list(&store, &Filter::default(), 10)
            .await
            .unwrap()
            .into_iter()
            .map(|one| one.entry.action)
            .collect();
        assert_eq!(actions.len(), 2, "{actions:?}");
    })
    .await;
}

#[tokio::test]
async fn a_store_with_data_is_not_initialized_again() {
    on_both(async |_, store| {
        organizations::create(command(&store), "Acme").await.unwrap();
        assert!(bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().is_none());
    })
    .await;
}
