use crate::databases::on_both;
use crate::{DEFAULTS, NOW};
use control::workspaces::{self, Edit};
use control::{Author, Refusal, bootstrap};
use domain::workspace::OwnLimits;
use store::{Page, audit};

#[tokio::test]
async fn an_edit_of_a_stale_version_is_refused_and_one_without_version_is_not() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let (author, id) = (Author::CommandLine, first.workspace.id);
        let edit = Edit { name: Some("Labs"), version: Some(1), ..Edit::default() };
        assert_eq!(workspaces::set(&store, &author, &id, edit, NOW).await.unwrap().version, 2);
        match workspaces::set(&store, &author, &id, edit, NOW).await {
            Err(Refusal::VersionConflict { current }) => assert_eq!((current.version, &*current.name), (2, "Labs")),
            other => panic!("{other:?}"),
        }
        let own = Some(OwnLimits { max_api_keys: Some(5), ..OwnLimits::default() });
        let changed = workspaces::set(&store, &author, &id, Edit { own, ..Edit::default() }, NOW).await.unwrap();
        assert_eq!((changed.version, changed.name.as_str()), (3, "Labs"));
        let log = audit::list(&store, 20).await.unwrap();
        assert!(log.iter().any(|entry| entry.detail == "maxApiKeys: default → 5"), "{log:?}");
    })
    .await;
}

#[tokio::test]
async fn who_creates_a_workspace_belongs_to_it() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let author = Author::User(first.user.id.clone());
        let own = OwnLimits::default();
        workspaces::create(&store, &author, &first.organization.id, "Labs", own, NOW).await.unwrap();
        let joined = store::workspaces::list_joined(&store, &first.user.id, Page::default()).await.unwrap();
        let mut names: Vec<_> = joined.iter().map(|workspace| workspace.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["Default", "Labs"]);
        let refused = workspaces::delete(&store, &author, &first.workspace.id, NOW).await.unwrap_err();
        assert_eq!(refused.code(), "workspace_in_use");
    })
    .await;
}
