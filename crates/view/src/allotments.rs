use control::allotments::AllotmentLine;
use serde::Serialize;
use utoipa::ToSchema;

/// Allotted and committed GPUs of a type in an organization.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Allotment)]
pub struct AllotmentView {
    #[schema(example = "nvidia/h100-sxm-80gb")]
    gpu_type: String,
    allotment: u64,
    committed: u64,
    /// Negative after a cap was lowered.
    headroom: i64,
    /// The committed share of the cap, a fraction.
    utilization: f64,
}

impl From<AllotmentLine> for AllotmentView {
    fn from(line: AllotmentLine) -> Self {
        Self {
            gpu_type: line.gpu_type.to_string(),
            allotment: line.allotment,
            committed: line.committed,
            headroom: line.headroom,
            utilization: line.utilization,
        }
    }
}
