//! `forebay admin nodes …`

use super::context::{AdminContext, whole_list};
use super::output::Shown;
use control::nodes;
use store::nodes::Node;
use view::NodeView;

#[derive(Debug, clap::Subcommand)]
pub(super) enum NodeCommand {
    /// List the nodes that serve from this store.
    List,
    /// Remove a node that will not come back.
    Forget(NodeSelector),
}

/// Selects a node.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct NodeSelector {
    /// Id of the node.
    #[arg(value_name = "ID")]
    positional: Option<String>,
    /// The id as an option.
    #[arg(long, visible_alias = "id", value_name = "ID")]
    node: Option<String>,
}

impl Shown for NodeView {
    const COLUMNS: &'static [&'static str] = &["id", "startedAt", "seenAt", "catalogueHash"];
}

pub(super) async fn run(context: &AdminContext<'_>, command: NodeCommand) -> anyhow::Result<String> {
    match command {
        NodeCommand::List => {
            let read = async |page: store::Page<'_>| nodes::list(context.store, page).await;
            let found = whole_list(read, |node: &Node| node.id.as_str()).await?;
            context.show_list(&found.into_iter().map(NodeView::from).collect::<Vec<_>>())
        }
        NodeCommand::Forget(selector) => {
            let id = selector.positional.or(selector.node).unwrap_or_default();
            nodes::forget(context.command(), &id).await?;
            context.show_deleted(&id)
        }
    }
}
