use crate::command;
use crate::databases::on_both;
use control::workspaces::KeysOfWorkspace;
use control::{organizations, workspaces};
use domain::workspace::OwnLimits;

#[tokio::test]
async fn an_organization_is_created_renamed_and_deleted_when_empty() {
    on_both(async |_, store| {
        let organization = organizations::create(command(&store), "  Acme ").await.unwrap();
        assert_eq!(organization.name, "Acme");
        organizations::set(
            command(&store),
            &organization.id,
            organizations::Edit { name: Some("Umbrella"), ..Default::default() },
        )
        .await
        .unwrap();
        assert_eq!(organizations::show(&store, &organization.id).await.unwrap().name, "Umbrella");

        let own = OwnLimits::default();
        let workspace = workspaces::create(command(&store), &organization.id, "Labs", own).await.unwrap();
        let refused = organizations::delete(command(&store), &organization.id).await.unwrap_err();
        assert_eq!(refused.code(), "organization_not_empty");
        workspaces::delete(command(&store), &workspace.id, KeysOfWorkspace::Keep).await.unwrap();
        organizations::delete(command(&store), &organization.id).await.unwrap();
        let gone = organizations::show(&store, &organization.id).await.unwrap_err();
        assert_eq!(gone.code(), "not_found");
    })
    .await;
}
