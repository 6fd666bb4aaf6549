use crate::NOW;
use crate::databases::on_both;
use control::{Author, organizations, workspaces};
use domain::workspace::OwnLimits;

#[tokio::test]
async fn an_organization_is_created_renamed_and_deleted_when_empty() {
    on_both(async |_, store| {
        let author = Author::CommandLine;
        let organization = organizations::create(&store, &author, "  Acme ", NOW).await.unwrap();
        assert_eq!(organization.name, "Acme");
        organizations::rename(&store, &author, &organization.id, "Umbrella", NOW).await.unwrap();
        assert_eq!(organizations::show(&store, &organization.id).await.unwrap().name, "Umbrella");

        let own = OwnLimits::default();
        let workspace = workspaces::create(&store, &author, &organization.id, "Labs", own, NOW).await.unwrap();
        let refused = organizations::delete(&store, &author, &organization.id, NOW).await.unwrap_err();
        assert_eq!(refused.code(), "organization_not_empty");
        workspaces::delete(&store, &author, &workspace.id, NOW).await.unwrap();
        organizations::delete(&store, &author, &organization.id, NOW).await.unwrap();
        let gone = organizations::show(&store, &organization.id).await.unwrap_err();
        assert_eq!(gone.code(), "not_found");
    })
    .await;
}
