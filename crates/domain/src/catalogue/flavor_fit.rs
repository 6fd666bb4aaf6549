//! Whether replicas of a flavor have a place on the GPUs that nodes have.

/// GPUs of one type on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGpus {
    pub node: String,
    pub gpu_type: String,
    pub gpus: u32,
    /// Those that nothing uses.
    pub free: u32,
    /// Memory of a GPU; `None` if it is not known, and for slots.
    pub memory_bytes: Option<u64>,
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
    /// The most memory of a replica's GPUs together, if that is too little for its weights.
    pub too_little_memory: Option<u64>,
}

/// The hardware of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlavorNeed<'a> {
    pub gpu_type: &'a str,
    pub gpu_count: u32,
    /// Memory for the weights and for work; `None` if it is not known.
    pub memory_bytes: Option<u64>,
}

/// Counts the places for replicas. Memory that is not known is taken to be enough.
pub fn fit<'a>(need: FlavorNeed<'_>, nodes: impl IntoIterator<Item = &'a NodeGpus>) -> FlavorFit {
    let gpu_count = need.gpu_count.max(1);
    let mut fit = FlavorFit::default();
    for node in nodes.into_iter().filter(|node| node.gpu_type == need.gpu_type) {
        fit.largest_node = fit.largest_node.max(node.gpus);
        let memory = node.memory_bytes.map(|bytes| bytes.saturating_mul(u64::from(gpu_count)));
        if memory.zip(need.memory_bytes).is_some_and(|(has, needs)| has < needs) {
            fit.too_little_memory = fit.too_little_memory.max(memory);
            continue;
        }
        fit.replicas += u64::from(node.gpus / gpu_count);
        fit.free_replicas += u64::from(node.free / gpu_count);
    }
    fit
}

/// The fewest GPUs with which a replica has a place, if nothing else ran: a power of two, because engines divide the attention
/// heads of a model among the GPUs.
pub fn fewest_gpus(need: FlavorNeed<'_>, nodes: &[NodeGpus]) -> Option<u32> {
    let largest_node = fit(need, nodes).largest_node;
    let mut counts = (0..u32::BITS).map(|power| 1 << power).take_while(|&count| count <= largest_node);
    counts.find(|&gpu_count| fit(FlavorNeed { gpu_count, ..need }, nodes).replicas > 0)
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
            memory_bytes: (node == "a").then_some(80),
        };
        let nodes = [node("a", "nvidia/h100", 8, 3), node("b", "nvidia/h100", 4, 4), node("b", "nvidia/l4", 9, 9)];
        for (gpu_type, gpu_count, replicas, free_replicas, largest_node) in [
            ("nvidia/h100", 1, 12, 7, 8),
            ("nvidia/h100", 4, 3, 1, 8),
            ("nvidia/h100", 8, 1, 0, 8),
            ("nvidia/h100", 12, 0, 0, 8),
            ("nvidia/b200", 1, 0, 0, 0),
        ] {
            let expected = FlavorFit { replicas, free_replicas, largest_node, too_little_memory: None };
            let need = FlavorNeed { gpu_type, gpu_count, memory_bytes: None };
            assert_eq!(fit(need, &nodes), expected, "{gpu_count} {gpu_type}");
        }
        let two = FlavorNeed { gpu_type: "nvidia/h100", gpu_count: 2, memory_bytes: Some(160) };
        assert_eq!((fit(two, &nodes).replicas, fit(two, &nodes).too_little_memory), (6, None));
        let large = FlavorNeed { memory_bytes: Some(161), ..two };
        assert_eq!((fit(large, &nodes).replicas, fit(large, &nodes).too_little_memory), (2, Some(160)));
        assert_eq!(fit(large, &nodes[..1]).replicas, 0);
        let fewest = |bytes| fewest_gpus(FlavorNeed { memory_bytes: Some(bytes), ..two }, &nodes[..1]);
        assert_eq!([80, 81, 161, 640, 641].map(fewest), [Some(1), Some(2), Some(4), Some(8), None]);
    }
}
