use crate::command;
use crate::databases::on_both;
use control::catalogue::{self, FixedPart, Import, ImportError, ImportProblem, KeyChange, ModelDraft};
use domain::alias::{Alias, AliasName};
use domain::model::Model;
use domain::{Catalogue, CatalogueMode, ModelId};
use serde_json::{Map, json};
use store::audit::{self, Filter};

/// A file with the model `acme/file`.
fn file() -> Catalogue {
    let model = Model::plain(ModelId::parse("acme/file").unwrap());
    Catalogue::new(vec![model], "hash")
}

fn draft(id: &str, url: &str, sealed: Option<&str>) -> ModelDraft {
    let mut definition = Map::new();
    definition.insert("upstreams".into(), json!([{ "url": url }]));
    let keys = sealed.map(|sealed| KeyChange { url: url.into(), sealed: Some(sealed.into()) });
    ModelDraft {
        id: ModelId::parse(id).unwrap(),
        definition,
        enabled: true,
        urls: vec![url.into()],
        keys: keys.into_iter().collect(),
    }
}

#[tokio::test]
async fn a_model_is_created_changed_and_deleted_with_its_keys() {
    on_both(async |_, store| {
        let file = file();
        let fixed = FixedPart { mode: CatalogueMode::Both, file: &file };
        let create = async |draft: ModelDraft| catalogue::create_model(command(&store), fixed, &draft).await;
        let new = create(draft("acme/own", "http://a/v1", Some("sealed-a"))).await.unwrap();
        assert_eq!(new.version, 1);
        for taken in ["acme/own", "acme/file"] {
            assert_eq!(create(draft(taken, "http://a/v1", None)).await.unwrap_err().code(), "name_taken");
        }

        let change =
            async |draft: ModelDraft, version| catalogue::change_model(command(&store), fixed, &draft, version).await;
        let changed = change(draft("acme/own", "http://a/v1", None), 1).await.unwrap();
        assert_eq!(changed.version, 2);
        assert_eq!(store::catalogue::read(&store).await.unwrap().keys[0].sealed, "sealed-a", "the key stays");
        assert_eq!(change(draft("acme/own", "http://b/v1", None), 1).await.unwrap_err().code(), "version_conflict");
        assert_eq!(change(draft("acme/file", "http://b/v1", None), 1).await.unwrap_err().code(), "entry_from_file");
        assert_eq!(change(draft("acme/none", "http://b/v1", None), 1).await.unwrap_err().code(), "not_found");
        change(draft("acme/own", "http://b/v1", None), 2).await.unwrap();
        assert_eq!(store::catalogue::read(&store).await.unwrap().keys, [], "the key belongs to its address");

        let id = ModelId::parse("acme/own").unwrap();
        catalogue::create_alias(command(&store), fixed, ("own", "acme/own")).await.unwrap();
        let refused = catalogue::delete_model(command(&store), fixed, &id).await.unwrap_err();
        assert_eq!(refused.code(), "model_in_use");
        catalogue::delete_alias(command(&store), fixed, "own").await.unwrap();
        catalogue::delete_model(command(&store), fixed, &id).await.unwrap();

        let entries = audit::list(&store, &Filter::default(), 100).await.unwrap();
        let mut actions: Vec<&str> = entries.iter().map(|entry| entry.entry.action.as_str()).collect();
        actions.sort_unstable();
        assert_eq!(
            actions,
            ["alias.create", "alias.delete", "model.change", "model.change", "model.create", "model.delete"]
        );
        assert!(entries.iter().all(|entry| !format!("{entry:?}").contains("sealed-a")));
    })
    .await;
}

#[tokio::test]
async fn aliases_stand_for_models_of_the_file_and_of_the_store() {
    on_both(async |_, store| {
        let file = file();
        let fixed = FixedPart { mode: CatalogueMode::Both, file: &file };
        let create = async |name, model| catalogue::create_alias(command(&store), fixed, (name, model)).await;
        assert_eq!(create("gpt", "acme/file").await.unwrap().version, 1);
        assert_eq!(create("gpt", "acme/file").await.unwrap_err().code(), "name_taken");
        assert_eq!(create("acme/file", "acme/file").await.unwrap_err().code(), "name_taken");
        assert_eq!(create("x", "acme/none").await.unwrap_err().field(), Some("model"));
        assert_eq!(create("dedicated/x", "acme/file").await.unwrap_err().field(), Some("name"));
        catalogue::create_model(command(&store), fixed, &draft("acme/own", "http://a/v1", None)).await.unwrap();
        let change =
            async |version| catalogue::change_alias(command(&store), fixed, ("gpt", "acme/own"), version).await;
        assert_eq!(change(7).await.unwrap_err().code(), "version_conflict");
        assert_eq!(change(1).await.unwrap().version, 2);
        let as_model = catalogue::create_model(command(&store), fixed, &draft("a/b", "http://a/v1", None)).await;
        as_model.unwrap();
        assert_eq!(create("a/b", "acme/file").await.unwrap_err().code(), "name_taken");
    })
    .await;
}

#[tokio::test]
async fn the_mode_decides_what_may_be_written() {
    on_both(async |_, store| {
        let file = file();
        let create = async |mode, id| {
            let fixed = FixedPart { mode, file: &file };
            catalogue::create_model(command(&store), fixed, &draft(id, "http://a/v1", None)).await
        };
        assert_eq!(create(CatalogueMode::File, "acme/own").await.unwrap_err().code(), "catalogue_read_only");
        create(CatalogueMode::Store, "acme/file").await.unwrap();
    })
    .await;
}

fn alias(name: &str, model: &str) -> Alias {
    Alias { name: AliasName::parse(name).unwrap(), model: ModelId::parse(model).unwrap() }
}

#[tokio::test]
async fn an_import_writes_all_entries_or_none_and_lists_all_problems() {
    on_both(async |_, store| {
        let file = file();
        let fixed = FixedPart { mode: CatalogueMode::Both, file: &file };
        let create = async |draft: ModelDraft| catalogue::create_model(command(&store), fixed, &draft).await;
        let old = ModelDraft { enabled: false, ..draft("acme/old", "http://a/v1", None) };
        create(old).await.unwrap();
        catalogue::create_alias(command(&store), fixed, ("gpt/4", "acme/file")).await.unwrap();
        let before = store::catalogue::read(&store).await.unwrap();
        let import = async |models: &[ModelDraft], aliases: &[Alias], replace| {
            catalogue::import(command(&store), fixed, Import { models, aliases, replace }).await
        };

        let models = ["acme/new", "acme/old", "acme/file", "gpt/4"].map(|id| draft(id, "http://b/v1", None));
        let aliases = [alias("new", "acme/new"), alias("acme/old", "acme/new"), alias("gpt/4", "acme/new")];
        let Err(ImportError::Rejected(problems)) = import(&models, &aliases, false).await else { panic!() };
        assert_eq!(
            problems,
            [
                ImportProblem::ModelExists("acme/old".into()),
                ImportProblem::InFile("acme/file".into()),
                ImportProblem::NameOfAlias("gpt/4".into()),
                ImportProblem::NameOfModel("acme/old".into()),
                ImportProblem::AliasExists("gpt/4".into()),
            ]
        );
        assert_eq!(store::catalogue::read(&store).await.unwrap(), before, "nothing was written");

        let aliases = [alias("new", "acme/new"), alias("gpt/4", "acme/new")];
        import(&models[..2], &aliases, true).await.unwrap();
        let after = store::catalogue::read(&store).await.unwrap();
        let models: Vec<_> = after.models.iter().map(|it| (it.id.as_str(), it.version, it.enabled)).collect();
        assert_eq!(models, [("acme/new", 1, true), ("acme/old", 2, false)], "what is disabled stays so");
        let aliases: Vec<_> = after.aliases.iter().map(|it| (it.name.as_str(), it.version)).collect();
        assert_eq!(aliases, [("gpt/4", 2), ("new", 1)]);
        let many: Vec<_> = (0..999).map(|at| draft(&format!("acme/{at}"), "http://b/v1", None)).collect();
        let Err(ImportError::Rejected(problems)) = import(&many, &[], false).await else { panic!() };
        assert_eq!(problems, [ImportProblem::TooManyModels(1_001)]);
    })
    .await;
}
