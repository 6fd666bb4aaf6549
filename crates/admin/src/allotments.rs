//! `forebay admin allotments …`

use super::context::{AdminContext, whole_list};
use super::output::Shown;
use control::allotments::{self, AllotmentLine};
use control::organizations;
use domain::allotment::Defaults;
use domain::{GpuType, OrganizationId};
use serde::Serialize;

#[derive(Debug, clap::Subcommand)]
pub(super) enum AllotmentCommand {
    /// Set how many GPUs of a type an organization may commit. Lowering it does not stop running endpoints.
    Set {
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// GPU type, such as nvidia/h100-sxm-80gb or local/cpu.
        #[arg(long, value_name = "TYPE", value_parser = GpuType::parse)]
        gpu_type: GpuType,
        /// Number of GPUs, or `default` to follow the configuration.
        #[arg(long, value_name = "N", value_parser = parse_gpus)]
        gpus: Gpus,
    },
    /// List allotments and commitments of one organization, or of all.
    List {
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: Option<OrganizationId>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Gpus {
    Own(u64),
    Default,
}

fn parse_gpus(text: &str) -> Result<Gpus, &'static str> {
    if text == "default" {
        return Ok(Gpus::Default);
    }
    text.parse().map(Gpus::Own).map_err(|_| "neither a whole number nor `default`")
}

/// As `/api/organizations/{id}/allotments` shows it, with the organization.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AllotmentRow {
    organization_id: OrganizationId,
    #[serde(flatten)]
    line: AllotmentLine,
}

impl Shown for AllotmentRow {
    const COLUMNS: &'static [&'static str] =
        &["organizationId", "gpuType", "allotment", "committed", "headroom", "utilization"];
}

pub(super) async fn run(
    context: &AdminContext<'_>,
    defaults: &Defaults,
    command: AllotmentCommand,
) -> anyhow::Result<String> {
    let store = context.store;
    match command {
        AllotmentCommand::Set { organization, gpu_type, gpus } => {
            let own = match gpus {
                Gpus::Own(gpus) => Some(gpus),
                Gpus::Default => None,
            };
            let line = allotments::set(context.command(), &organization, &gpu_type, own, defaults).await?;
            context.show(&AllotmentRow { organization_id: organization, line })
        }
        AllotmentCommand::List { organization } => {
            let named = match organization {
                Some(id) => vec![organizations::show(store, &id).await?],
                None => {
                    let read = async |page: store::Page<'_>| organizations::list(store, page).await;
                    whole_list(read, |organization| organization.id.as_str()).await?
                }
            };
            let mut views = Vec::new();
            for organization in named {
                for line in allotments::list(store, &organization.id, defaults).await? {
                    views.push(AllotmentRow { organization_id: organization.id.clone(), line });
                }
            }
            context.show_list(&views)
        }
    }
}
