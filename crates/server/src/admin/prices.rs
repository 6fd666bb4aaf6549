//! `forebay admin prices …`

use super::context::AdminContext;
use super::output::Shown;
use control::prices;
use domain::{ModelId, NanoUsd, Timestamp};
use serde::Serialize;
use store::prices::PriceVersion;

#[derive(Debug, clap::Subcommand)]
pub(super) enum PriceCommand {
    /// List the price versions of models.
    List {
        /// Only this model.
        #[arg(long, value_name = "ID", value_parser = ModelId::parse)]
        model: Option<ModelId>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PriceRow {
    model: String,
    valid_from: Timestamp,
    /// The start of the next version; `None` for the current one.
    valid_until: Option<Timestamp>,
    input_per_1m: NanoUsd,
    cached_input_per_1m: NanoUsd,
    output_per_1m: NanoUsd,
}

impl Shown for PriceRow {
    const COLUMNS: &'static [&'static str] =
        &["model", "validFrom", "validUntil", "inputPer1m", "cachedInputPer1m", "outputPer1m"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: PriceCommand) -> anyhow::Result<String> {
    match command {
        PriceCommand::List { model } => {
            context.show_list(&views(&prices::history(context.store, model.as_ref()).await?))
        }
    }
}

/// `versions` must be ordered by model and time.
fn views(versions: &[PriceVersion]) -> Vec<PriceRow> {
    let followers = versions.iter().skip(1).map(Some).chain([None]);
    let view = |(version, follower): (&PriceVersion, Option<&PriceVersion>)| PriceRow {
        model: version.model.to_string(),
        valid_from: version.valid_from,
        valid_until: follower.filter(|next| next.model == version.model).map(|next| next.valid_from),
        input_per_1m: version.price.input_per_1m,
        cached_input_per_1m: version.price.cached_input_per_1m,
        output_per_1m: version.price.output_per_1m,
    };
    versions.iter().zip(followers).map(view).collect()
}
