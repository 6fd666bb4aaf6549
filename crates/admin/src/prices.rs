//! `forebay admin prices …`

use super::context::AdminContext;
use super::output::Shown;
use control::prices;
use domain::ModelId;
use view::PriceVersionView;

#[derive(Debug, clap::Subcommand)]
pub(super) enum PriceCommand {
    /// List the price versions of models.
    List {
        /// Only this model.
        #[arg(long, value_name = "ID", value_parser = ModelId::parse)]
        model: Option<ModelId>,
    },
}

impl Shown for PriceVersionView {
    const COLUMNS: &'static [&'static str] =
        &["model", "validFrom", "validUntil", "inputPer1m", "cachedInputPer1m", "outputPer1m"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: PriceCommand) -> anyhow::Result<String> {
    match command {
        PriceCommand::List { model } => {
            let versions = prices::history(context.store, model.as_ref()).await?;
            context.show_list(&PriceVersionView::list(&versions))
        }
    }
}
