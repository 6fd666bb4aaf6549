use domain::Timestamp;
use serde::Serialize;
use store::nodes::Node;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Node)]
pub struct NodeView {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    seen_at: Timestamp,
    catalogue_hash: String,
}

impl From<Node> for NodeView {
    fn from(node: Node) -> Self {
        let Node { id, started_at, seen_at, catalogue_hash } = node;
        Self { id, started_at, seen_at, catalogue_hash }
    }
}
