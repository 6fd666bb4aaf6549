//! Whether replicas of a flavor have a place on the GPUs that nodes have.

/// GPUs of one type on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGpus {
    pub node: String,
    pub gpu_type: String,
    pub gpus: u32,
    /// Those that no replica holds.
    pub free: u32,
}

/// How many replicas have a place. All GPUs of a replica are on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlavorFit {
    /// If nothing else ran.
    pub replicas: u64,
    /// On the GPUs that are free.
    pub free_replicas: u64,
    /// The most GPUs of the type on one node; 0 if no node has the type.
    pub largest_node: u32,
}

/// Counts the places for replicas with `gpu_count` GPUs of a type, which is at least one.
pub fn fit<'a>(gpu_type: &str, gpu_count: u32, nodes: impl IntoIterator<Item = &'a NodeGpus>) -> FlavorFit {
    let gpu_count = gpu_count.max(1);
    let mut fit = FlavorFit::default();
    for node in nodes.into_iter().filter(|node| node.gpu_type == gpu_type) {
        fit.replicas += u64::from(node.gpus / gpu_count);
        fit.free_replicas += u64::from(node.free / gpu_count);
        fit.largest_node = fit.largest_node.max(node.gpus);
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpus_of_a_replica_are_on_one_node() {
        let node = |node: &str, gpu_type: &str, gpus, free| NodeGpus {
            node: node.to_owned(),
            gpu_type: gpu_type.to_owned(),
            gpus,
            free,
        };
        let nodes = [node("a", "nvidia/h100", 8, 3), node("b", "nvidia/h100", 4, 4), node("b", "nvidia/l4", 9, 9)];
        for (gpu_type, gpu_count, replicas, free_replicas, largest_node) in [
            ("nvidia/h100", 1, 12, 7, 8),
            ("nvidia/h100", 4, 3, 1, 8),
            ("nvidia/h100", 8, 1, 0, 8),
            ("nvidia/h100", 12, 0, 0, 8),
            ("nvidia/b200", 1, 0, 0, 0),
        ] {
            let expected = FlavorFit { replicas, free_replicas, largest_node };
            assert_eq!(fit(gpu_type, gpu_count, &nodes), expected, "{gpu_count} {gpu_type}");
        }
    }
}
