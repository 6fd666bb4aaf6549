//! Rejects calls that need what a model is known to lack.

use crate::error::CallError;
use domain::capabilities::{Capability, CapabilitySet};
use fleet::Pool;

/// Only what every replica has shown to lack is rejected. The engines are looked at again then, since an operator may have
/// given them other options meanwhile.
pub(crate) fn check(pool: &Pool, needs: CapabilitySet) -> Result<(), CallError> {
    let Some(missing) = pool.lacking(needs).first() else { return Ok(()) };
    pool.replicas().iter().for_each(|replica| replica.doubt_capabilities());
    let param = match missing {
        Capability::Tools => "tools",
        Capability::Images => "messages",
        Capability::JsonSchema => "response_format",
        Capability::Logprobs => "logprobs",
        _ => "model",
    };
    Err(CallError::Incapable { param, missing, present: pool.capabilities().present() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::capabilities::{Capabilities, Support};
    use domain::model::Upstream;
    use fleet::Backend;
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
        let error = check(&pool, needs).unwrap_err();
        assert_eq!(error.to_string(), "this model does not support tools (`tools`); it supports: chat, images");
        assert_eq!((error.code(), error.param()), ("unsupported_parameter", "tools"));
        assert!(pool.replicas()[0].take_doubt(), "it is looked at again");
        assert!(check(&pool, CapabilitySet::EMPTY.with(Chat)).is_ok());
        for other in [replica(&[Chat, Tools], &[]), replica(&[], &[])] {
            assert!(check(&Pool::new(vec![lacking(), other]), needs).is_ok(), "another replica can, or may");
        }
        assert!(check(&Pool::new(Vec::new()), needs).is_ok());
    }
}
