//! What an engine sees of our environment: what engines read, and none of the gateway's secrets.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Which replica a process belongs to.
pub(super) const REPLICA_MARK: &str = "GW_REPLICA_ID";
/// And whose: another gateway on this machine has other folders.
pub(super) const DIRECTORY_MARK: &str = "GW_REPLICA_DIR";

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
const BEGINNINGS: &[&str] = &[
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

/// The part of `ours` that a replica gets, and its marks.
pub(super) fn for_replica(
    ours: impl Iterator<Item = (OsString, OsString)>,
    replica: &str,
    directory: &Path,
) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsStr| {
        let name = name.to_str().unwrap_or_default();
        NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    };
    let marks = [(REPLICA_MARK.into(), replica.into()), (DIRECTORY_MARK.into(), directory.into())];
    ours.filter(|(name, _)| passes(name)).chain(marks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_gateway_do_not_pass() {
        let ours = ["PATH", "HF_TOKEN", "FOREBAY_STORE_URL", "TINY_KEY", "GW_REPLICA_ID"];
        let ours = ours.iter().map(|&name| (name.into(), "ours".into()));
        let passed = for_replica(ours, "rep_1", Path::new("/data/replicas/rep_1"));
        let shown: Vec<_> =
            passed.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        assert_eq!(shown, ["PATH=ours", "HF_TOKEN=ours", "GW_REPLICA_ID=rep_1", "GW_REPLICA_DIR=/data/replicas/rep_1"]);
    }
}
