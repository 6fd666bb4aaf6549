//! Tests of `forebay admin` on a real SQLite store.

use super::*;
use clap::Parser;
use control::keys::KeyRequest;
use control::{Author, Command};
use domain::{Timestamp, UserId, WorkspaceId};
use serde_json::Value;

#[derive(Debug, Parser)]
struct CommandLine {
    #[command(flatten)]
    admin: AdminArgs,
}

struct Shell {
    store: Store,
    config: Config,
    _folder: tempfile::TempDir,
}

impl Shell {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:forebay.db", folder.path()).await.unwrap();
        store.migrate().await.unwrap();
        let config = Config::load(None, &|_| None).unwrap();
        Self { store, config, _folder: folder }
    }

    async fn try_run(&self, line: &str) -> anyhow::Result<String> {
        let words = ["admin"].into_iter().chain(line.split_whitespace());
        execute(CommandLine::try_parse_from(words)?.admin, &self.config, &self.store).await
    }

    async fn run(&self, line: &str) -> String {
        self.try_run(line).await.unwrap_or_else(|error| panic!("{line}: {error:#}"))
    }

    async fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(&format!("{line} --json")).await).unwrap()
    }

    async fn error(&self, line: &str) -> String {
        self.try_run(line).await.unwrap_err().to_string()
    }

    async fn workspace(&self) -> String {
        let organization = self.json("organizations create --name Acme").await;
        let organization = organization["id"].as_str().unwrap().to_owned();
        let workspace = self.json(&format!("workspaces create --organization {organization} --name Research")).await;
        workspace["id"].as_str().unwrap().to_owned()
    }
}

fn members(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_key_is_shown_once_and_then_masked() {
    let shell = Shell::open().await;
    let workspace = shell.workspace().await;
    let created = shell
        .json(&format!("keys create --workspace {workspace} --name notebook --expires-at 2099-01-01T00:00:00Z"))
        .await;
    let text = created["key"].as_str().unwrap();
    assert!(domain::KeyText::parse(text).is_some(), "{text}");
    assert_eq!((&created["state"], &created["name"]), (&Value::from("active"), &Value::from("notebook")));
    assert_eq!(created["expiresAt"], "2099-01-01T00:00:00.000Z");

    let listed = shell.json(&format!("keys list --workspace {workspace}")).await;
    assert_eq!(listed["nextCursor"], Value::Null);
    let mut expected = vec!["id", "name", "prefix", "state", "createdAt", "createdBy", "expiresAt", "lastUsedAt"];
    expected.extend(["requestsPerMinute", "tokensPerMinute", "permissions", "allowedModels", "allowedIps", "labels"]);
    expected.extend(["budgets", "limits", "trustsEndUser"]);
    expected.sort_unstable();
    let mut found = members(&listed["data"][0]);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!(text.starts_with(listed["data"][0]["prefix"].as_str().unwrap().trim_end_matches('…')));
}

#[tokio::test]
async fn a_key_changes_its_state() {
    let shell = Shell::open().await;
    let workspace = shell.workspace().await;
    let created = shell.json(&format!("keys create --workspace {workspace} --name a")).await;
    let id = created["id"].as_str().unwrap();
    for (line, state) in [
        (format!("keys disable --workspace {workspace} --name a"), "disabled"),
        (format!("keys enable {id}"), "active"),
        (format!("keys expire --key {id}"), "expired"),
        (format!("keys revoke --workspace {workspace} --id {id}"), "revoked"),
        (format!("keys revoke {id}"), "revoked"),
    ] {
        assert_eq!(shell.json(&line).await["state"], state, "{line}");
    }
    assert!(shell.run(&format!("keys list --workspace {workspace}")).await.contains("revoked"));
}

#[tokio::test]
async fn keys_are_found_only_in_their_workspace() {
    let shell = Shell::open().await;
    let (here, elsewhere) = (shell.workspace().await, shell.workspace().await);
    let key = shell.json(&format!("keys create --workspace {here} --name a")).await;
    let id = key["id"].as_str().unwrap();
    let error = shell.error(&format!("keys revoke --workspace {elsewhere} --key {id}")).await;
    assert_eq!(error, format!("there is no key `{id}` in `{elsewhere}`"));

    shell.run(&format!("keys create --workspace {here} --name a")).await;
    let error = shell.error(&format!("keys revoke --workspace {here} --name a")).await;
    assert_eq!(error, format!("2 keys of `{here}` are named `a`; use the id"));
    let error = shell.error(&format!("keys revoke --workspace {here} --name b")).await;
    assert_eq!(error, format!("there is no key named `b` in `{here}`"));
}

#[tokio::test]
async fn the_restrictions_of_a_key_are_set_changed_and_removed() {
    let shell = Shell::open().await;
    let workspace = shell.workspace().await;
    let flags = "--permission inference --permission endpoints:read --allow-model acme/* --allow-ip 10.0.0.0/8";
    let created = format!("keys create --workspace {workspace} --name a {flags} --label team=search");
    let created = shell.json(&created).await;
    let id = created["id"].as_str().unwrap();
    let shown = |key: &serde_json::Value| {
        ["permissions", "allowedModels", "allowedIps", "labels"].map(|member| key[member].to_string()).join(" ")
    };
    let expected = r#"["inference","endpoints:read"] ["acme/*"] ["10.0.0.0/8"] {"team":"search"}"#;
    assert_eq!(shown(&created), expected);
    let edited = shell.json(&format!("keys edit {id} --rename b --permission inference --remove allowed-models")).await;
    assert_eq!(shown(&edited), r#"["inference"] null ["10.0.0.0/8"] {"team":"search"}"#);
    let edited = shell.json(&format!("keys edit {id} --remove permissions,allowed-ips,labels")).await;
    assert_eq!((shown(&edited).as_str(), &edited["name"]), ("null null null {}", &"b".into()));
    let error = shell.error(&format!("keys edit {id} --permission admin")).await;
    assert!(error.contains("`admin`"), "{error}");
}

#[tokio::test]
async fn the_budgets_of_a_key_are_set_raised_shown_and_removed() {
    let shell = Shell::open().await;
    let workspace = shell.workspace().await;
    let flags = "--budget month=25.00 --soft-budget month=20 --budget day=2";
    let created = shell.json(&format!("keys create --workspace {workspace} --name a {flags}")).await;
    let id = created["id"].as_str().unwrap();
    let shown = |key: &serde_json::Value| key["budgets"].to_string();
    let day = r#"{"window":"day","usd":"2.00","soft":false}"#;
    let soft = r#"{"window":"month","usd":"20.00","soft":true}"#;
    assert_eq!(shown(&created), format!(r#"[{day},{{"window":"month","usd":"25.00","soft":false}},{soft}]"#));
    let edited = shell.json(&format!("keys edit {id} --raise-budget month=40@2999-01-31T12:00:00Z")).await;
    let raise = r#"{"usd":"40.00","until":"2999-01-31T12:00:00.000Z"}"#;
    let month = format!(r#"{{"window":"month","usd":"25.00","soft":false,"raise":{raise}}}"#);
    assert_eq!(shown(&edited), format!("[{day},{month},{soft}]"));
    let key = shell.json(&format!("keys show {id}")).await;
    let amounts: Vec<_> = key["spending"].as_array().unwrap().iter().map(|one| one["usd"].as_str().unwrap()).collect();
    assert_eq!(amounts, ["2.00", "40.00", "20.00"]);
    let error = shell.error(&format!("keys edit {id} --raise-budget total=40@2999-01-31T12:00:00Z")).await;
    assert!(error.contains("`total`"), "{error}");
    let edited = shell.json(&format!("keys edit {id} --remove budgets --budget total=9")).await;
    assert_eq!(shown(&edited), r#"[{"window":"total","usd":"9.00","soft":false}]"#);
    assert_eq!(shown(&shell.json(&format!("keys edit {id} --remove budgets")).await), "[]");
}

#[tokio::test]
async fn the_keys_of_removed_members_are_listed_and_revoked_together() {
    let shell = Shell::open().await;
    let workspace = shell.workspace().await;
    let organization = shell.json(&format!("workspaces show {workspace}")).await;
    let organization = organization["organizationId"].as_str().unwrap().to_owned();
    let create = format!("users create --email ann@example.com --organization {organization}");
    let user = shell.json(&create).await["id"].as_str().unwrap().to_owned();
    shell.run(&format!("keys create --workspace {workspace} --name ours")).await;
    let (id, now) = (WorkspaceId::parse(&workspace).unwrap(), Timestamp::from_millis(1_800_000_000_000));
    let author = Author::User { id: UserId::parse(&user).unwrap(), address: String::new() };
    let request = KeyRequest { name: "hers", ..KeyRequest::default() };
    let limits = &shell.config.workspace_defaults;
    let command = Command { store: &shell.store, author: &author, now };
    let hers = control::keys::create(command, &id, request, limits).await.unwrap().key.id;
    let selected = async |flags: &str| {
        let listed = shell.json(&format!("keys list --organization {organization} {flags}")).await;
        listed["data"].as_array().unwrap().len()
    };
    assert_eq!((selected("").await, selected(&format!("--created-by {user}")).await), (2, 1));
    assert_eq!(selected("--removed-members").await, 0);
    shell.run(&format!("users set {user} --leave-organization {organization}")).await;
    assert_eq!(selected("--removed-members").await, 1);
    let revoked = shell.json(&format!("keys revoke-all --organization {organization} --removed-members")).await;
    assert_eq!(
        (&revoked["data"][0]["id"], &revoked["data"][0]["state"]),
        (&hers.as_str().into(), &"revoked".into()),
        "{revoked}"
    );
    let again = shell.json(&format!("keys revoke-all --organization {organization} --created-by {user}")).await;
    assert_eq!(again["data"], serde_json::json!([]));
}

#[tokio::test]
async fn a_workspace_shows_its_effective_limits() {
    let shell = Shell::open().await;
    let id = shell.workspace().await;
    let workspace = shell.json(&format!("workspaces show {id}")).await;
    assert_eq!((&workspace["maxApiKeys"], &workspace["requestsPerMinute"]), (&20.into(), &600.into()));

    let changed = shell.json(&format!("workspaces set {id} --max-api-keys 1 --name Lab")).await;
    assert_eq!((&changed["maxApiKeys"], &changed["name"]), (&1.into(), &"Lab".into()));
    shell.run(&format!("keys create --workspace {id} --name a")).await;
    let error = shell.error(&format!("keys create --workspace {id} --name b")).await;
    assert_eq!(error, "the workspace already has 1 API keys, which is its limit");

    let changed = shell.json(&format!("workspaces set --workspace {id} --max-api-keys default")).await;
    assert_eq!((&changed["maxApiKeys"], &changed["name"]), (&20.into(), &"Lab".into()));
    let stale = shell.error(&format!("workspaces set {id} --name X --version 1")).await;
    assert_eq!(stale, "the workspace was changed by someone else since it was read");
}

#[tokio::test]
async fn users_get_a_password_once_and_roles_by_organization() {
    let shell = Shell::open().await;
    let workspace = shell.workspace().await;
    let organizations = shell.json("organizations list").await;
    let organization = organizations["data"][0]["id"].as_str().unwrap();
    let line = format!("users create --email Ada@Example.com --organization {organization} --workspace {workspace}");
    let user = shell.json(&line).await;
    assert_eq!((&user["email"], &user["operator"]), (&"ada@example.com".into(), &false.into()));
    assert_eq!(user["memberships"][0]["role"], "member");
    assert!(user["password"].as_str().unwrap().len() >= 16);

    let line = format!("users set --email ada@example.com --organization {organization} --role admin --operator true");
    let changed = shell.json(&line).await;
    assert_eq!((&changed["operator"], &changed["memberships"][0]["role"]), (&true.into(), &"admin".into()));
    assert!(changed.get("password").is_none());
    let reset = shell.json("users reset-password --email ada@example.com").await;
    assert_ne!(reset["password"], user["password"]);
    shell.run("users delete --email ada@example.com").await;
    assert_eq!(shell.error("users show --email ada@example.com").await, "there is no user `ada@example.com`");
}

#[tokio::test]
async fn usage_without_calls_is_zero_and_its_sums_agree() {
    let shell = Shell::open().await;
    let id = shell.workspace().await;
    let usage = shell.json(&format!("usage show --workspace {id}")).await;
    assert_eq!((&usage["total"], &usage["data"][0]), (&usage["data"][0], &usage["total"]));
    assert_eq!(usage["total"]["costUsd"], "0.00");
    let grouped = shell.json(&format!("usage show --workspace {id} --group-by day,model")).await;
    assert_eq!((&grouped["data"], &grouped["total"]), (&Value::Array(Vec::new()), &usage["total"]));

    let csv = shell.run(&format!("usage show --workspace {id} --group-by key --csv")).await;
    assert_eq!(csv, "key,user,requests,promptTokens,completionTokens,cachedTokens,costUsd\r\n");
    let table = shell.run(&format!("usage show --workspace {id} --group-by model")).await;
    assert_eq!(
        table,
        "model  requests  promptTokens  completionTokens  cachedTokens  costUsd\n\
         total  0         0             0                 0             0.00\n"
    );
    assert_eq!(shell.json("usage rebuild").await["rowsCorrected"], 0);
}

#[tokio::test]
async fn a_span_that_ends_before_it_starts_is_rejected() {
    let shell = Shell::open().await;
    let id = shell.workspace().await;
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let error = shell.error(&format!("usage show --workspace {id} --from {late} --to {early}")).await;
    assert_eq!(error, "`to` is before `from`");
    let unknown = "ws_00000000000000000000000000";
    assert_eq!(
        shell.error(&format!("usage show --workspace {unknown}")).await,
        format!("there is no workspace `{unknown}`")
    );
}

#[tokio::test]
async fn invalid_values_are_reported_with_their_option() {
    let shell = Shell::open().await;
    let id = shell.workspace().await;
    for (line, flag) in [
        (format!("usage show --workspace {id} --from yesterday"), "--from"),
        (format!("usage show --workspace {id} --to 2026"), "--to"),
        (format!("usage show --workspace {id} --group-by colour"), "--group-by"),
        (format!("usage show --workspace {id} --group-by day,day"), "--group-by"),
        (format!("usage show --workspace {id} --csv --json"), "--csv"),
        ("usage show --workspace x".to_owned(), "--workspace"),
        ("prices list --model tiny".to_owned(), "--model"),
        (format!("keys create --workspace {id} --name a --requests-per-minute 0"), "--requests-per-minute"),
        (format!("keys create --workspace {id} --name a --tokens-per-minute many"), "--tokens-per-minute"),
    ] {
        let error = shell.error(&line).await;
        assert!(error.lines().next().is_some_and(|first| first.contains(flag)), "{line}: {error}");
    }
}

#[tokio::test]
async fn prices_are_listed_with_their_end() {
    let shell = Shell::open().await;
    for (price, hour) in [("0.10", "00"), ("0.20", "01")] {
        let text = format!(
            "[[models]]\nid = \"acme/tiny\"\ninput_per_1m = \"{price}\"\noutput_per_1m = \"0.40\"\n\
             upstreams = [{{ url = \"http://127.0.0.1:9001/v1\" }}]\n"
        );
        let config = Config::parse(&text, std::path::Path::new("."), &|_| None).unwrap();
        let now = domain::Timestamp::parse(&format!("2026-01-01T{hour}:00:00Z")).unwrap();
        control::prices::declare(&shell.store, &config.catalogue, now).await.unwrap();
    }
    assert_eq!(
        shell.run("prices list --model acme/tiny").await,
        "model      validFrom                 validUntil                inputPer1m  cachedInputPer1m  outputPer1m\n\
         acme/tiny  2026-01-01T00:00:00.000Z  2026-01-01T01:00:00.000Z  0.10        0.10              0.40\n\
         acme/tiny  2026-01-01T01:00:00.000Z  -                         0.20        0.20              0.40\n"
    );
    assert_eq!(shell.json("prices list").await["data"][1]["validUntil"], Value::Null);
    assert_eq!(shell.error("prices list --model acme/none").await, "there is no price of `acme/none`");
}

#[tokio::test]
async fn records_are_shown_in_columns_and_lines() {
    let shell = Shell::open().await;
    let created = shell.run("organizations create --name Acme").await;
    let mut lines = created.lines();
    assert!(lines.next().unwrap().starts_with("id         org_"), "{created}");
    assert_eq!(lines.next(), Some("name       Acme"));
    let list = shell.run("organizations list").await;
    assert!(list.starts_with("id  "), "{list}");
    assert_eq!(list.lines().count(), 2);
    assert_eq!(shell.run("nodes list").await, "id  startedAt  seenAt  catalogueHash\n");
    assert_eq!(shell.error("nodes forget x").await, "there is no node `x`");
}

#[tokio::test]
async fn an_organization_gets_a_cap_and_follows_the_default_again() {
    let mut shell = Shell::open().await;
    shell.config.allotment_defaults = [(domain::GpuType::parse("local/cpu").unwrap(), 8)].into_iter().collect();
    let organization = shell.json("organizations create --name Acme").await["id"].as_str().unwrap().to_owned();
    let list = async || shell.json(&format!("allotments list --organization {organization}")).await["data"].clone();
    assert_eq!((list().await[0]["allotment"].clone(), list().await.as_array().unwrap().len()), (8.into(), 1));
    let set = format!("allotments set --organization {organization} --gpu-type nvidia/h100 --gpus");
    let line = shell.json(&format!("{set} 16")).await;
    let expected = serde_json::json!({
        "organizationId": organization, "gpuType": "nvidia/h100", "allotment": 16, "committed": 0, "headroom": 16,
        "utilization": 0.0
    });
    assert_eq!(line, expected);
    assert_eq!(list().await.as_array().unwrap().len(), 2);
    assert_eq!(shell.json(&format!("{set} default")).await["allotment"], 0);
    let unknown = domain::OrganizationId::new(domain::Timestamp::default(), 1);
    let set = format!("allotments set --organization {unknown} --gpu-type local/cpu --gpus 1");
    assert_eq!(shell.error(&set).await, format!("there is no organization `{unknown}`"));
    let shown = shell.run("allotments list").await;
    assert!(shown.starts_with("organizationId  "), "{shown}");
}

#[tokio::test]
async fn usage_errors_exit_with_code_2() {
    let shell = Shell::open().await;
    for line in [
        "keys list",
        "keys revoke",
        "keys revoke --name a",
        "keys create --name a --workspace invalid",
        "organizations show",
        "users create --email a@b",
        "workspaces set ws_0 --max-api-keys many",
        "allotments set --organization org_0 --gpu-type local/cpu --gpus 1",
        "invalid",
    ] {
        let error = shell.try_run(line).await.unwrap_err();
        let exit_code = error.downcast_ref::<clap::Error>().map(clap::Error::exit_code);
        assert_eq!(exit_code, Some(2), "{line}: {error}");
    }
}

#[tokio::test]
async fn an_import_that_fails_changes_nothing() {
    let shell = Shell::open().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("models.toml");
    let import = format!("models import --replace {}", file.display());
    let model =
        |id: &str| format!("[[models]]\nid = \"{id}\"\nupstreams = [{{ url = \"http://127.0.0.1:9001/v1\" }}]\n");
    let with_key = model("acme/b").replace("/v1\"", "/v1\", api_key_env = \"PATH\"");
    let alias = |name: &str, model: &str| format!("[[aliases]]\nname = \"{name}\"\nmodel = \"{model}\"\n");

    let error = async || format!("{:#}", shell.try_run(&import).await.unwrap_err());
    std::fs::write(&file, model("acme/a") + &with_key).unwrap();
    let no_key = "nothing was imported: model acme/b: keys cannot be stored";
    assert!(error().await.starts_with(no_key), "there is no content key");
    assert_eq!(shell.run("models export").await, "");

    std::fs::write(&file, model("acme/a") + &alias("fast/one", "acme/a")).unwrap();
    assert_eq!(shell.run(&import).await, "imported 1 models and 1 aliases\n");
    let before = shell.run("models export").await;
    for (text, expected) in [
        (model("acme/c") + &model("fast/one"), "model fast/one: the store has an alias of this name; delete it first"),
        (
            model("acme/c") + &alias("acme/a", "acme/c"),
            "alias acme/a: the store has a model of this name; delete it first",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        assert_eq!(error().await, format!("nothing was imported: {expected}"));
    }
    assert_eq!(shell.run("models export").await, before);
}
