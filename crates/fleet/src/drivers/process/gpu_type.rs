//! GPU types, `<vendor>/<gpu-type>`, from the names that NVML reports.

/// Prefixes of NVML names; a longer one precedes its own prefix.
const KNOWN: &[(&str, &str)] = &[
    ("GB300", "gb300-288gb"),
    ("GB200", "gb200-192gb"),
    ("B300", "b300-sxm-288gb"),
    ("B200", "b200-sxm-180gb"),
    ("GH200 480GB", "gh200-96gb"),
    ("GH200 144G HBM3e", "gh200-144gb"),
    ("H200 NVL", "h200-nvl-141gb"),
    ("H200", "h200-sxm-141gb"),
    ("H100 80GB HBM3", "h100-sxm-80gb"),
    ("H100 NVL", "h100-nvl-94gb"),
    ("H100 PCIe", "h100-pcie-80gb"),
    ("H800 PCIe", "h800-pcie-80gb"),
    ("H800", "h800-sxm-80gb"),
    ("H20", "h20-sxm-96gb"),
    ("A100-SXM4-80GB", "a100-sxm-80gb"),
    ("A100-SXM4-40GB", "a100-sxm-40gb"),
    ("A100 80GB PCIe", "a100-pcie-80gb"),
    ("A100-PCIE-40GB", "a100-pcie-40gb"),
    ("L40S", "l40s-48gb"),
    ("L40", "l40-48gb"),
    ("L4", "l4-24gb"),
    ("A10G", "a10g-24gb"),
    ("A10", "a10-24gb"),
    ("Tesla T4", "t4-16gb"),
];

/// The GPU type of an NVML name, such as `nvidia/h100-sxm-80gb`. Unknown names become a slug.
pub(super) fn from_name(name: &str) -> String {
    let name = name.trim().trim_start_matches("NVIDIA ").trim();
    let matches = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let kind =
        KNOWN.iter().find(|(known, _)| matches(known)).map_or_else(|| slug(name), |(_, kind)| (*kind).to_owned());
    format!("nvidia/{kind}")
}

fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvml_names_become_gpu_types() {
        for (name, gpu_type) in [
            ("NVIDIA H100 80GB HBM3", "nvidia/h100-sxm-80gb"),
            ("NVIDIA H200", "nvidia/h200-sxm-141gb"),
            ("NVIDIA H200 NVL", "nvidia/h200-nvl-141gb"),
            ("NVIDIA H20", "nvidia/h20-sxm-96gb"),
            ("NVIDIA A100-SXM4-80GB", "nvidia/a100-sxm-80gb"),
            ("NVIDIA L40S", "nvidia/l40s-48gb"),
            ("NVIDIA L4", "nvidia/l4-24gb"),
            ("Tesla T4", "nvidia/t4-16gb"),
            ("NVIDIA RTX 6000 Ada Generation", "nvidia/rtx-6000-ada-generation"),
            ("NVIDIA GeForce RTX 4090", "nvidia/geforce-rtx-4090"),
        ] {
            assert_eq!(from_name(name), gpu_type);
        }
    }
}
