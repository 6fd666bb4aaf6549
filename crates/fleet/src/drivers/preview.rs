//! The commands of a flavor's replicas and of a pool's engines, as operators read them before one runs.

use super::kubernetes::{self, command_of};
use super::process::{ShimPolicy, environment_names, replica_drain};
use super::{ReplicaName, ReplicaSpec};
use crate::engine::{BuiltInEngine, Family};
use crate::engine_pools;
use domain::ModelId;
use domain::model::{DriverKind, Flavor, Model, Serving};

/// What a replica is started with. What is not known yet is in braces, such as `{port}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPreview {
    pub argv: Vec<String>,
    /// Names of the variables that it gets.
    pub environment: Vec<String>,
}

/// `None` if the flavor cannot be started, for instance without weights.
pub fn preview(model: &Model, flavor: &Flavor, cluster: Option<&kubernetes::Settings>) -> Option<CommandPreview> {
    let replica = ReplicaName::parse("preview").ok()?;
    let name = ModelId::parse("dedicated/NAME").ok()?;
    preview_spec(&ReplicaSpec::of_flavor(replica, (name, model.modality), flavor, model.context_length, None), cluster)
}

/// The command of the engines of a serverless pool; `None` if the model has none.
pub fn preview_pool(model: &Model, cluster: Option<&kubernetes::Settings>) -> Option<CommandPreview> {
    let Serving::Engine(pool) = &model.serving else { return None };
    let Some(flavor) = &pool.flavor else {
        let (argv, environment) = engine_pools::preview(model, pool);
        return Some(CommandPreview { argv, environment });
    };
    let (replica, name) = (ReplicaName::parse("preview").ok()?, (model.id.clone(), model.modality));
    let spec = ReplicaSpec::of_flavor(replica, name, flavor, model.context_length, Some(&pool.weights));
    preview_spec(&spec, cluster)
}

fn preview_spec(spec: &ReplicaSpec, cluster: Option<&kubernetes::Settings>) -> Option<CommandPreview> {
    match spec.driver {
        DriverKind::Process => {
            let built_in = BuiltInEngine { binary: "forebay-engine".into(), cache_dir: "{dataDir}/cache".into() };
            let drain = replica_drain(ShimPolicy::default());
            let invocation = spec.invocation(spec.weights.as_deref(), ("127.0.0.1", 0), drain);
            let mut argv = invocation.argv(&built_in).ok()?;
            let family = Family::of(&spec.launch);
            let mut environment = environment_names();
            if family == Family::Sglang {
                argv.extend(["--config".to_owned(), "{dataDir}/replicas/{replica}/key.yaml".to_owned()]);
            } else {
                environment.push(family.key_variable().to_owned());
            }
            Some(CommandPreview { argv, environment })
        }
        DriverKind::Kubernetes => {
            let (argv, environment) = command_of(spec, cluster?)?;
            Some(CommandPreview { argv, environment })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::GpuType;
    use domain::model::{EngineKind, EngineOptions, EnginePool};

    #[test]
    fn a_command_is_known_before_it_runs() {
        let model = Model::plain(ModelId::parse("acme/tiny").unwrap());
        let plain = Flavor::plain("a", GpuType::parse("nvidia/h100").unwrap(), EngineKind::Vllm);
        assert_eq!(preview(&model, &plain, None), None, "it has no weights");
        let flavor = Flavor {
            weights: Some("/srv/tiny".to_owned()),
            options: EngineOptions { tool_parser: Some("hermes".to_owned()), ..EngineOptions::default() },
            ..plain
        };
        let shown = preview(&model, &flavor, None).unwrap();
        assert_eq!(
            shown.argv.join(" "),
            "vllm serve /srv/tiny --served-model-name dedicated/NAME --host 127.0.0.1 --port {port} \
             --tensor-parallel-size 1 --max-model-len 8192 --gpu-memory-utilization 0.90 --shutdown-timeout 25 \
             --enable-prompt-tokens-details --enable-auto-tool-choice --tool-call-parser hermes"
        );
        assert!(shown.environment.contains(&"PATH".to_owned()), "{shown:?}");
        for name in ["CUDA_VISIBLE_DEVICES", "VLLM_API_KEY"] {
            assert!(shown.environment.contains(&name.to_owned()), "{shown:?}");
        }
        assert_eq!(preview_pool(&model, None), None);
    }

    #[test]
    fn the_command_of_a_pool_has_its_arguments() {
        let args = vec!["--kv-cache-tokens".to_owned(), "65536".to_owned()];
        let pool = EnginePool { weights: "/srv/x.gguf".to_owned(), replicas: 2, parallel: Some(4), args, flavor: None };
        let model = Model { serving: Serving::Engine(pool), ..Model::plain(ModelId::parse("acme/tiny").unwrap()) };
        let shown = preview_pool(&model, None).unwrap();
        assert_eq!(
            shown.argv.join(" "),
            "forebay-engine --model /srv/x.gguf --model-name acme/tiny --ctx 8192 --parallel 4 --kv-cache-tokens 65536 \
             --listen 127.0.0.1:0 --stop-with-stdin --listen-file {dataDir}/engines/{engine}.address \
             --cache-dir {dataDir}/cache"
        );
        for name in ["PATH", "FOREBAY_ENGINE_API_KEY"] {
            assert!(shown.environment.contains(&name.to_owned()), "{shown:?}");
        }
    }
}
