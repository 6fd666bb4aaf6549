//! Rejects calls that need what a model is known to lack.

use crate::error::CallError;
use dialects::Dialect;
use domain::capabilities::{Capability, CapabilitySet};
use fleet::Pool;
use fleet::backend::Staleness;

/// Only what every replica has shown to lack is rejected. The engines are probed again then, since an operator may have
/// given them other options meanwhile.
pub(crate) fn check(pool: &Pool, needs: CapabilitySet, dialect: &Dialect) -> Result<(), CallError> {
    let Some(missing) = pool.lacking(needs).first() else { return Ok(()) };
    pool.replicas().iter().for_each(|replica| replica.mark_stale(Staleness::CallRejected));
    Err(CallError::Incapable { param: param_of(missing, dialect), missing, present: pool.capabilities().present() })
}

/// The member with which a client asks for it, as its API names it.
const fn param_of(missing: Capability, dialect: &Dialect) -> &'static str {
    match (missing, dialect) {
        (Capability::Tools, _) => "tools",
        (Capability::Images, Dialect::Chat | Dialect::Messages(_)) => "messages",
        (Capability::Images, Dialect::Responses(_)) => "input",
        (Capability::JsonSchema, Dialect::Chat) => "response_format",
        (Capability::JsonSchema, Dialect::Messages(_)) => "output_config.format",
        (Capability::JsonSchema, Dialect::Responses(_)) => "text.format",
        (Capability::Logprobs, Dialect::Chat | Dialect::Messages(_)) => "logprobs",
        (Capability::Logprobs, Dialect::Responses(_)) => "top_logprobs",
        _ => "model",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::capabilities::{Capabilities, Support};
    use domain::model::Upstream;
    use fleet::Backend;
    use fleet::backend::Health;
    use std::sync::Arc;

    fn replica(present: &[Capability], missing: &[Capability]) -> Arc<Backend> {
        let mut capabilities = Capabilities::default();
        present.iter().for_each(|one| capabilities.set(*one, Support::Yes));
        missing.iter().for_each(|one| capabilities.set(*one, Support::No));
        let backend = Backend::new("x", Upstream::plain("http://127.0.0.1:1/v1", "x")).unwrap();
        backend.set_capabilities(Arc::new(capabilities));
        Arc::new(backend)
    }

    #[test]
    fn a_call_is_rejected_only_for_what_every_replica_lacks() {
        use Capability::{Chat, Images, Tools};
        let needs = CapabilitySet::EMPTY.with(Chat).with(Tools);
        let lacking = || replica(&[Chat, Images], &[Tools]);
        let pool = Pool::new(vec![lacking()]);
        let check = |pool: &Pool, needs| super::check(pool, needs, &Dialect::Chat);
        let error = check(&pool, needs).unwrap_err();
        assert_eq!(error.to_string(), "this model does not support tools (`tools`); it supports: chat, images");
        assert_eq!((error.code(), error.param()), ("unsupported_parameter", "tools"));
        assert_eq!(pool.replicas()[0].take_staleness(), Some(Staleness::CallRejected), "it is probed again");
        assert!(check(&pool, CapabilitySet::EMPTY.with(Chat)).is_ok());
        for other in [replica(&[Chat, Tools], &[]), replica(&[], &[])] {
            assert!(check(&Pool::new(vec![lacking(), other]), needs).is_ok(), "another replica can, or may");
        }
        assert!(check(&Pool::new(Vec::new()), needs).is_ok());
    }

    #[test]
    fn what_an_engine_lacked_is_not_known_after_a_restart() {
        use Capability::{Chat, Tools};
        let needs = CapabilitySet::EMPTY.with(Tools);
        let pool = Pool::new(vec![replica(&[Chat], &[Tools])]);
        pool.replicas()[0].set_health(Health::Up);
        assert!(check(&pool, needs, &Dialect::Chat).is_err());
        pool.replicas()[0].set_health(Health::Down);
        assert!(check(&pool, needs, &Dialect::Chat).is_ok(), "it may have other options now");
        assert!(pool.replicas()[0].capabilities().present().contains(Chat), "what it could, it probably still can");
        assert_eq!(
            pool.replicas()[0].take_staleness(),
            Some(Staleness::Restarted),
            "which is more than a rejected call"
        );
        assert_eq!(pool.replicas()[0].take_staleness(), None);
    }
}
