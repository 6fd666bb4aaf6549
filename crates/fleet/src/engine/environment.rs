//! Environment variables of an engine: an allowlist of the gateway's, so that it gets none of its secrets.
//!
//! Replicas of endpoints and engines of serverless pools are started with the same list.

use std::ffi::{OsStr, OsString};

const NAMES: &[&str] = &[
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "RUST_LOG",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];
const PREFIXES: &[&str] = &[
    "CONDA_",
    "CUDA_",
    "GGML_",
    "HF_",
    "HIP_",
    "HSA_",
    "HUGGING_FACE_",
    "LC_",
    "LD_",
    "LLAMA_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "PYTHON",
    "PYTORCH_",
    "ROCM_",
    "ROCR_",
    "SGLANG_",
    "SGL_",
    "TORCH",
    "TRITON_",
    "VLLM_",
    "XDG_",
];
/// Endings of names that hold secrets: a key such as `VLLM_API_KEY` may be that of an upstream.
const SECRET_SUFFIXES: &[&str] = &["_KEY", "_PASSWORD", "_SECRET", "_TOKEN"];
/// The token that engines download weights with.
const HUB_TOKENS: &[&str] = &["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];

/// The variables of `ours` that an engine gets.
pub(crate) fn allowed(ours: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (OsString, OsString)> {
    ours.filter(|(name, _)| is_allowed(name))
}

/// The names of this process's variables that an engine gets.
pub(crate) fn allowed_names() -> impl Iterator<Item = String> {
    allowed(std::env::vars_os()).map(|(name, _)| name.to_string_lossy().into_owned())
}

fn is_allowed(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    let is_secret = SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) && !HUB_TOKENS.contains(&name);
    let is_listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_listed && !is_secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_do_not_get_the_secrets_of_the_gateway() {
        let ours =
            ["PATH", "HF_TOKEN", "FOREBAY_STORE_URL", "TINY_KEY", "VLLM_API_KEY", "VLLM_USE_V1", "GW_REPLICA_ID"];
        let passed = allowed(ours.iter().map(|&name| (name.into(), "ours".into())));
        let names: Vec<_> = passed.map(|(name, _)| name.into_string().unwrap()).collect();
        assert_eq!(names, ["PATH", "HF_TOKEN", "VLLM_USE_V1"]);
    }
}
