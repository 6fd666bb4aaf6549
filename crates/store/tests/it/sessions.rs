use crate::databases::on_both;
use crate::people::{self, NOW, entropy, later};
use domain::session::Lifetimes;
use domain::user::Role;
use domain::{SecretHash, Session, SessionId, UserId};
use store::{Store, StoreError, organizations, sessions, users, workspaces};

const LIFETIMES: Lifetimes = Lifetimes { idle_millis: 1_000, absolute_millis: 5_000 };

fn new_session(user: &UserId, at: i64) -> Session {
    Session {
        id: SessionId::new(later(at), entropy()),
        user: user.clone(),
        organization: None,
        workspace: None,
        created_at: later(at),
        seen_at: later(at),
        address: "192.0.2.1".into(),
        user_agent: "curl".into(),
    }
}

async fn insert(store: &Store, session: &Session) -> SecretHash {
    let token = SecretHash::of(session.id.as_str());
    let mut tx = store.begin().await.unwrap();
    sessions::insert(&mut tx, session, token, &LIFETIMES).await.unwrap();
    tx.commit().await.unwrap();
    token
}

#[tokio::test]
async fn a_session_is_found_by_the_hash_of_its_token_until_it_is_ended() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let organization = organizations::by_id(&store, &workspace.organization).await.unwrap().unwrap();
        let ada = people::user(&store, "ada@example.com", &organization, Role::Admin).await;
        let bob = people::user(&store, "bob@example.com", &organization, Role::Admin).await;
        let session = new_session(&ada.id, 0);
        let token = insert(&store, &session).await;
        assert_eq!(sessions::by_token(&store, token).await.unwrap().as_ref(), Some(&session));
        assert_eq!(sessions::by_token(&store, SecretHash::of("other")).await.unwrap(), None);

        let mut tx = store.begin().await.unwrap();
        sessions::touch(&mut tx, &session.id, later(5)).await.unwrap();
        sessions::touch(&mut tx, &session.id, later(2)).await.unwrap();
        sessions::set_context(&mut tx, &session.id, Some(&organization.id), Some(&workspace.id)).await.unwrap();
        let others = sessions::end(&mut tx, &bob.id, &session.id).await;
        assert!(matches!(others, Err(StoreError::Missing { noun: "session", .. })));
        tx.commit().await.unwrap();
        let found = sessions::by_token(&store, token).await.unwrap().unwrap();
        assert_eq!(
            (found.seen_at, found.organization, found.workspace.as_ref()),
            (later(5), Some(organization.id), Some(&workspace.id))
        );

        let mut tx = store.begin().await.unwrap();
        workspaces::delete(&mut tx, &workspace.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(sessions::by_token(&store, token).await.unwrap().unwrap().workspace, None);

        let mut tx = store.begin().await.unwrap();
        sessions::end(&mut tx, &ada.id, &session.id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(sessions::by_token(&store, token).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn old_sessions_end_at_the_next_sign_in_and_all_end_with_their_user() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        let ada = people::user(&store, "ada@example.com", &organization, Role::Admin).await;
        let old = insert(&store, &new_session(&ada.id, 0)).await;
        let kept = insert(&store, &new_session(&ada.id, 1_000)).await;
        let newest = new_session(&ada.id, 1_500);
        let newest_token = insert(&store, &newest).await;
        assert_eq!(sessions::by_token(&store, old).await.unwrap(), None);
        assert_eq!(sessions::list(&store, &ada.id).await.unwrap().len(), 2);

        let mut tx = store.begin().await.unwrap();
        sessions::end_all_of(&mut tx, &ada.id, Some(&newest.id)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(sessions::by_token(&store, kept).await.unwrap(), None);
        assert_eq!(sessions::list(&store, &ada.id).await.unwrap(), [newest]);

        let mut tx = store.begin().await.unwrap();
        users::delete(&mut tx, &ada.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(sessions::by_token(&store, newest_token).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_user_has_a_bounded_number_of_sessions() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        let ada = people::user(&store, "ada@example.com", &organization, Role::Admin).await;
        for at in 0..55 {
            insert(&store, &new_session(&ada.id, at)).await;
        }
        let list = sessions::list(&store, &ada.id).await.unwrap();
        assert_eq!((list.len(), list[0].created_at, list[49].created_at), (50, later(54), later(5)));
    })
    .await;
}
