use crate::databases::on_both;
use crate::people::{self, NOW, entropy, later};
use domain::user::{Email, Role};
use domain::{Invitation, InvitationId, SecretHash};
use store::{Page, StoreError, invitations};

#[tokio::test]
async fn an_invitation_is_used_once_and_not_after_it_expired() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let invitation = |token: &str, expires_at| Invitation {
            id: InvitationId::new(NOW, entropy()),
            organization: workspace.organization.clone(),
            email: Email::parse(&format!("{token}@example.com")).unwrap(),
            role: Role::Member,
            workspaces: vec![workspace.id.clone()],
            created_at: NOW,
            created_by: None,
            expires_at,
            accepted_at: None,
        };
        let (good, late, other) =
            (invitation("good", later(10)), invitation("late", later(5)), invitation("other", later(10)));
        let mut tx = store.begin().await.unwrap();
        for one in [&good, &late, &other] {
            invitations::insert(&mut tx, one, SecretHash::of(one.email.as_str())).await.unwrap();
        }
        tx.commit().await.unwrap();
        let token = SecretHash::of("good@example.com");
        assert_eq!(invitations::by_token(&store, token).await.unwrap().as_ref(), Some(&good));
        assert_eq!(invitations::list(&store, &workspace.organization, Page::default()).await.unwrap().len(), 3);

        let mut tx = store.begin().await.unwrap();
        invitations::accept(&mut tx, &good.id, later(6)).await.unwrap();
        for closed in [&good.id, &late.id] {
            let rejected = invitations::accept(&mut tx, closed, later(6)).await;
            assert!(matches!(rejected, Err(StoreError::Missing { noun: "invitation", .. })));
        }
        let elsewhere = people::new_organization();
        assert!(invitations::delete(&mut tx, &elsewhere.id, &other.id).await.is_err());
        assert!(invitations::delete(&mut tx, &workspace.organization, &good.id).await.is_err(), "it was accepted");
        invitations::delete(&mut tx, &workspace.organization, &other.id).await.unwrap();
        tx.commit().await.unwrap();
        let accepted = invitations::by_token(&store, token).await.unwrap().unwrap();
        assert_eq!(accepted.accepted_at, Some(later(6)));
        assert_eq!(invitations::list(&store, &workspace.organization, Page::default()).await.unwrap(), [late]);
    })
    .await;
}
