use crate::databases::on_both;
use crate::people::{self, NOW, later};
use domain::user::Role;
use domain::{OrganizationId, Timestamp};
use store::audit::{self, AuditEntry, Filter};

fn entry(at: Timestamp, organization: Option<OrganizationId>, action: &str) -> AuditEntry {
    AuditEntry {
        at,
        organization,
        actor: "forebay admin".into(),
        address: Some("192.0.2.1".into()),
        action: action.into(),
        subject: "x".into(),
        detail: "→".into(),
        before: None,
        after: Some("{\"a\":1}".into()),
    }
}

#[tokio::test]
async fn the_audit_log_is_read_newest_first_by_filter_and_by_cursor() {
    on_both(async |_, store| {
        let organization = people::organization(&store).await;
        let ada = people::user(&store, "ada@example.com", &organization, Role::Admin).await;
        let ours = entry(NOW, Some(organization.id.clone()), "key.create");
        let everybodys = AuditEntry { actor: ada.id.to_string(), ..entry(later(1), None, "user.delete") };
        let mut tx = store.begin().await.unwrap();
        audit::append(&mut tx, &ours).await.unwrap();
        audit::append(&mut tx, &everybodys).await.unwrap();
        tx.commit().await.unwrap();

        let all = audit::list(&store, &Filter::default(), 10).await.unwrap();
        assert_eq!([&all[0].entry, &all[1].entry], [&everybodys, &ours]);
        assert_eq!((all[0].actor_email.as_deref(), &all[1].actor_email), (Some("ada@example.com"), &None));
        assert_eq!(audit::list(&store, &Filter::default(), 1).await.unwrap(), all[..1]);
        let (first, second) = (&all[..1], &all[1..]);
        for (filter, expected) in [
            (Filter { organization: Some(organization.id), ..Filter::default() }, second),
            (Filter { actor: Some(ada.id.to_string()), ..Filter::default() }, first),
            (Filter { action: Some("key.create".into()), ..Filter::default() }, second),
            (Filter { subject: Some("x".into()), ..Filter::default() }, &all[..]),
            (Filter { subject: Some("y".into()), ..Filter::default() }, &[]),
            (Filter { from: Some(later(1)), ..Filter::default() }, first),
            (Filter { to: Some(later(1)), ..Filter::default() }, second),
            (Filter { before_id: Some(all[0].id.clone()), ..Filter::default() }, second),
            (Filter { before_id: Some(all[1].id.clone()), ..Filter::default() }, &[]),
        ] {
            assert_eq!(audit::list(&store, &filter, 10).await.unwrap(), expected, "{filter:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_actor_is_shown_by_email_or_key_name() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let mut tx = store.begin().await.unwrap();
        let by_key = AuditEntry { actor: key.id.to_string(), ..entry(NOW, None, "endpoint.create") };
        audit::append(&mut tx, &by_key).await.unwrap();
        tx.commit().await.unwrap();
        let listed = audit::list(&store, &Filter::default(), 10).await.unwrap();
        assert_eq!((&listed[0].actor_email, listed[0].actor_key_name.as_deref()), (&None, Some(key.name.as_str())));
    })
    .await;
}
