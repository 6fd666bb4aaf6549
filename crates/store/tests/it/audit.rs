use crate::databases::on_both;
use crate::people::{self, NOW, later};
use store::audit::{self, Entry};

#[tokio::test]
async fn the_audit_log_is_read_newest_first_and_by_organization() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        let entry = |at, organization: Option<_>, action: &str| Entry {
            at,
            organization,
            actor: "forebay admin".into(),
            action: action.into(),
            subject: "x".into(),
            detail: "→".into(),
        };
        let ours = entry(NOW, Some(organization.id.clone()), "key.create");
        let everybodys = entry(later(1), None, "user.delete");
        let mut tx = store.begin().await.unwrap();
        audit::append(&mut tx, &ours).await.unwrap();
        audit::append(&mut tx, &everybodys).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(audit::list(&store, 10).await.unwrap(), [everybodys.clone(), ours.clone()]);
        assert_eq!(audit::list(&store, 1).await.unwrap(), [everybodys]);
        assert_eq!(audit::list_of(&store, &organization.id, 10).await.unwrap(), [ours]);
    })
    .await;
}
