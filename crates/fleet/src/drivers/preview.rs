//! The command of a flavor's replicas, as operators read it before one runs.

use super::kubernetes::{self, command_of};
use super::process::{ShimPolicy, environment_names, replica_drain};
use super::{ReplicaName, ReplicaSpec};
use crate::engine::{BuiltInEngine, Family};
use domain::model::{DriverKind, Flavor, Model};

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
    let name = domain::ModelId::parse("dedicated/NAME").ok()?;
    let spec = ReplicaSpec::of_flavor(replica, (name, model.modality), flavor, model.context_length, None);
    match flavor.driver {
        DriverKind::Process => {
            let built_in = BuiltInEngine { binary: "forebay-engine".into(), cache_dir: "{dataDir}/cache".into() };
            let drain = replica_drain(ShimPolicy::default());
            let invocation = spec.invocation(spec.weights.as_deref(), ("127.0.0.1", 0), drain);
            let mut argv = invocation.argv(&built_in).ok()?;
            let family = Family::of(&flavor.launch);
            let mut environment = environment_names();
            if family == Family::Sglang {
                argv.extend(["--config".to_owned(), "{dataDir}/replicas/{replica}/key.yaml".to_owned()]);
            } else {
                environment.push(family.key_variable().to_owned());
            }
            Some(CommandPreview { argv, environment })
        }
        DriverKind::Kubernetes => {
            let (argv, environment) = command_of(&spec, cluster?)?;
            Some(CommandPreview { argv, environment })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{EngineKind, EngineOptions};
    use domain::{GpuType, ModelId};

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
    }
}
