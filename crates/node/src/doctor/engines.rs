//! Checks what serves models: the built-in engine and its weights, programs of flavors, and upstreams.

use super::finding::Finding;
use domain::Catalogue;
use domain::model::{DriverKind, EngineKind, EnginePool, Flavor, Launch, Model, Serving, Upstream};
use fleet::health::{self, ProbeOutcome as Answer};
use fleet::probe::ModelServer;
use fleet::{Address, Backend, Connector, Launcher};
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

const CHECK: &str = "engines";
/// Prefix of weights that are downloaded at the first start.
const HUB: &str = "hf://";

pub(super) async fn check(
    catalogue: &Catalogue,
    launcher: &io::Result<Launcher>,
    connector: &Connector,
) -> Vec<Finding> {
    let models: Vec<&Model> = catalogue.iter().map(|model| &**model).collect();
    let mut findings = Vec::new();
    findings.extend(binary(&models, launcher));
    findings.extend(models.iter().flat_map(|model| weights(model)));
    findings.extend(missing_programs(catalogue));
    findings.extend(shared_caches(&models));
    for model in &models {
        findings.extend(upstreams(model, connector).await);
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, format!("everything that {} models need is present", models.len())));
    }
    findings
}

/// Warns of upstreams whose prefix cache cannot be kept apart by workspace.
fn shared_caches(models: &[&Model]) -> Option<Finding> {
    let is_shared = |model: &&&Model| match &model.serving {
        Serving::Upstreams(upstreams) => {
            !model.share_prefix_cache && upstreams.iter().any(|upstream| upstream.engine.is_none())
        }
        Serving::Engine(_) => false,
    };
    let names: Vec<&str> = models.iter().filter(is_shared).map(|model| model.id.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let what =
        format!("workspaces share the prefix caches of {}: its upstreams do not say their engine", names.join(", "));
    Some(Finding::warning(
        CHECK,
        what,
        "set `engine` of the upstreams, or `share_prefix_cache = true` if this is intended",
    ))
}

/// Flavors that this machine runs; those of a cluster need nothing here.
pub(super) fn own_flavors(model: &Model) -> impl Iterator<Item = &Flavor> {
    model.flavors.iter().filter(|flavor| flavor.driver == DriverKind::Process)
}

/// The pool that this machine runs.
fn own_pool(model: &Model) -> Option<&EnginePool> {
    match &model.serving {
        Serving::Engine(pool) => Some(pool).filter(|pool| pool.flavor.is_none()),
        Serving::Upstreams(_) => None,
    }
}

/// Checks the built-in engine, if a model or a flavor uses it.
fn binary(models: &[&Model], launcher: &io::Result<Launcher>) -> Option<Finding> {
    let runs = |launch: &Launch| *launch == Launch::Engine(EngineKind::ForebayEngine);
    let needs = |model: &&&Model| own_pool(model).is_some() || own_flavors(model).any(|flavor| runs(&flavor.launch));
    let needy = models.iter().find(needs)?;
    let place = match launcher {
        Ok(launcher) if access(&launcher.binary, Access::EXEC_OK).is_ok() => return None,
        Ok(launcher) => launcher.binary.display().to_string(),
        Err(error) => error.to_string(),
    };
    Some(Finding::problem(
        CHECK,
        format!("{} needs forebay-engine, which does not exist at {place} or cannot be executed", needy.id),
        "put forebay-engine next to forebay, or set the environment variable FOREBAY_ENGINE to its path",
    ))
}

/// Weights that are configured but missing.
fn weights(model: &Model) -> Vec<Finding> {
    let own = own_pool(model).map(|pool| pool.weights.as_str());
    let of_flavors = own_flavors(model).filter_map(|flavor| flavor.weights.as_deref());
    let named: BTreeSet<&str> = own.into_iter().chain(of_flavors).filter(|place| !place.starts_with(HUB)).collect();
    let missing = named.into_iter().filter(|place| !Path::new(place).exists());
    let finding = |place: &str| {
        let remedy =
            "download them (`make models` downloads the starter models), or correct `weights` in the configuration";
        Finding::problem(CHECK, format!("the weights of {} are not at {place}", model.id), remedy)
    };
    missing.map(finding).collect()
}

/// Programs of flavors that are not on the `PATH` of this process, which is also that of replicas.
pub fn missing_programs(catalogue: &Catalogue) -> Vec<Finding> {
    let models: Vec<&Model> = catalogue.iter().map(|model| &**model).collect();
    programs(&models, &|name| find_program(name))
}

/// Programs of flavors that are not installed here.
fn programs(models: &[&Model], find: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<Finding> {
    let flavors = models.iter().flat_map(|model| own_flavors(model));
    let names = flavors.filter_map(|flavor| match &flavor.launch {
        Launch::Engine(EngineKind::ForebayEngine) => None,
        Launch::Engine(EngineKind::Vllm) => Some("vllm"),
        Launch::Engine(EngineKind::Sglang) => Some("python"),
        Launch::Engine(EngineKind::LlamaServer) => Some("llama-server"),
        Launch::Argv(argv) => argv.first().map(String::as_str),
    });
    let missing = names.collect::<BTreeSet<_>>().into_iter().filter(|name| find(name).is_none());
    let finding = |name: &str| {
        let remedy = "install it, unless other nodes run these flavors; replicas cannot start here";
        Finding::warning(CHECK, format!("a flavor is started with `{name}`, which is not on the PATH"), remedy)
    };
    missing.map(finding).collect()
}

fn find_program(name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(runs)
}

/// Upstreams whose health route does not respond, or whose address lacks the path of the API.
async fn upstreams(model: &Model, connector: &Connector) -> Vec<Finding> {
    let Serving::Upstreams(upstreams) = &model.serving else { return Vec::new() };
    let mut findings = Vec::new();
    for upstream in upstreams {
        let answer = match Backend::new(model.id.as_str(), upstream.clone()) {
            Ok(replica) => health::probe(&replica, connector).await,
            Err(_) => Answer::Unreachable,
        };
        match judge_upstream(model, &upstream.url, answer) {
            Some(finding) => findings.push(finding),
            None => findings.extend(misplaced_api(model, upstream, connector).await),
        }
    }
    findings
}

/// Warns of an address without `/v1` if only that one has models.
async fn misplaced_api(model: &Model, upstream: &Upstream, connector: &Connector) -> Option<Finding> {
    let address = Address::parse(&upstream.url).ok().filter(|address| !address.path.ends_with("/v1"))?;
    let mut server = ModelServer::new(connector.clone(), address.clone(), upstream.api_key.clone());
    // In a box: it is large.
    let _ = Box::pin(server.describe()).await;
    if server.address == address {
        return None;
    }
    let what = format!("the upstream of {} at {address} has its models at {}", model.id, server.address);
    Some(Finding::warning(CHECK, what, "set its `url` to that address: calls go to routes below `url`"))
}

fn judge_upstream(model: &Model, url: &str, answer: Answer) -> Option<Finding> {
    let how = match answer {
        Answer::Healthy | Answer::Inconclusive => return None,
        Answer::Unhealthy => "is not healthy",
        Answer::Unreachable => "cannot be reached",
    };
    let remedy =
        "check that it runs and responds at its health_path; calls go to the model's other upstreams, if it has any";
    Some(Finding::warning(CHECK, format!("the upstream of {} at {url} {how}", model.id), remedy))
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use config::Config;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    fn catalogue(text: &str) -> Catalogue {
        Config::parse(text, Path::new("/nowhere"), &|_| None).unwrap().catalogue
    }

    fn launcher(binary: &str) -> io::Result<Launcher> {
        Ok(Launcher { binary: binary.into(), run_dir: "/nowhere".into(), cache_dir: "/nowhere".into() })
    }

    #[tokio::test]
    async fn missing_parts_are_reported() {
        let text = "[[models]]\nid = 'acme/own'\nengine = { weights = 'w.gguf' }\n\
            [[models]]\nid = 'acme/hub'\nengine = { weights = 'hf://acme/tiny/t.gguf' }\n\
            [[models]]\nid = 'acme/theirs'\nupstreams = [{ url = 'http://127.0.0.1:9/v1' }]\n\
            [[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'\nargv = ['no-such-program', '{port}']\n";
        let found = check(&catalogue(text), &launcher("/nowhere/forebay-engine"), &Connector::default()).await;
        let reported: Vec<(Level, &str)> = found.iter().map(|finding| (finding.level, finding.what.as_str())).collect();
        assert_eq!(
            reported,
            [
                (
                    Level::Problem,
                    "acme/own needs forebay-engine, which does not exist at /nowhere/forebay-engine or cannot be executed"
                ),
                (Level::Problem, "the weights of acme/own are not at /nowhere/w.gguf"),
                (Level::Warning, "a flavor is started with `no-such-program`, which is not on the PATH"),
                (
                    Level::Warning,
                    "workspaces share the prefix caches of acme/theirs: its upstreams do not say their engine"
                ),
                (Level::Warning, "the upstream of acme/theirs at http://127.0.0.1:9/v1 cannot be reached"),
            ]
        );
    }

    #[tokio::test]
    async fn an_upstream_without_the_path_of_its_api_is_reported() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serve = async {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut head = [0; 1024];
                let read = client.read(&mut head).await.unwrap();
                let status = if head[..read].starts_with(b"GET /models") { "404 Not Found" } else { "200 OK" };
                let response = format!("HTTP/1.1 {status}\r\ncontent-length: 11\r\n\r\n{{\"data\":[]}}");
                client.write_all(response.as_bytes()).await.unwrap();
            }
        };
        let upstream = |url: &str| {
            catalogue(&format!("[[models]]\nid = 'acme/x'\nupstreams = [{{ url = '{url}', engine = 'vllm' }}]\n"))
        };
        let (without, with) = (upstream(&url), upstream(&format!("{url}/v1")));
        let (launcher, connector) = (launcher("/bin/sh"), Connector::default());
        let checks =
            async { (check(&without, &launcher, &connector).await, check(&with, &launcher, &connector).await) };
        let (without, with) = tokio::select! { found = checks => found, () = serve => unreachable!() };
        let what = format!("the upstream of acme/x at {url} has its models at {url}/v1");
        assert_eq!(without.iter().map(|finding| &finding.what).collect::<Vec<_>>(), [&what]);
        assert_eq!(with.iter().map(|finding| finding.level).collect::<Vec<_>>(), [Level::Ok], "{with:?}");
    }

    #[tokio::test]
    async fn flavors_of_a_cluster_need_nothing_here() {
        let text = "[drivers.kubernetes]\n[drivers.kubernetes.images]\nforebay-engine = 'a'\nvllm = 'b'\n\
            [drivers.kubernetes.gpus.'nvidia/h100']\nresource = 'nvidia.com/gpu'\n\
            [[models]]\nid = 'acme/pool'\ndriver = 'kubernetes'\nengine = { flavor = 'a' }\n\
            [[models.flavors]]\nname = 'a'\ngpu_type = 'nvidia/h100'\nweights = 'w.gguf'\n\
            [[models.flavors]]\nname = 'b'\ngpu_type = 'nvidia/h100'\nweights = 'w'\nengine = 'vllm'\n";
        let found = check(&catalogue(text), &launcher("/nowhere/forebay-engine"), &Connector::default()).await;
        assert_eq!(found.iter().map(|finding| finding.level).collect::<Vec<_>>(), [Level::Ok], "{found:?}");
    }

    #[tokio::test]
    async fn present_parts_are_not_reported() {
        let text = "[[models]]\nid = 'acme/own'\nengine = { weights = '/bin/sh' }\n\
            [[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'\nargv = ['sh', '{port}']\n";
        let found = check(&catalogue(text), &launcher("/bin/sh"), &Connector::default()).await;
        assert_eq!(found.iter().map(|finding| finding.level).collect::<Vec<_>>(), [Level::Ok], "{found:?}");
    }
}
