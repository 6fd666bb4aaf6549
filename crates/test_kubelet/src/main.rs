//! Runs fake kubelets until interrupted, for trying out a control plane manually.

use std::path::PathBuf;

use clap::Parser;
use test_kubelet::{Kubelet, NodeOptions};

#[derive(Parser)]
struct Arguments {
    /// The kubeconfig printed by `tests/cluster/kubernetes-control-plane start DIR`.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Number of nodes.
    #[arg(long, default_value_t = 2)]
    nodes: u32,
    /// Capacity of each node, such as nvidia.com/gpu=4; repeatable.
    #[arg(long, value_parser = pair)]
    gpu: Vec<(String, u32)>,
    /// Label of every node, such as nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3; repeatable.
    #[arg(long, value_parser = label)]
    label: Vec<(String, String)>,
    /// Folders searched first for programs of Pods; default: the folder of this program.
    #[arg(long)]
    programs: Vec<PathBuf>,
    /// An image that cannot be pulled; repeatable.
    #[arg(long)]
    missing_image: Vec<String>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected name=value")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn pair(text: &str) -> Result<(String, u32), String> {
    let (name, count) = label(text)?;
    count.parse().map(|count| (name, count)).map_err(|_| "expected resource=count".to_owned())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let client = test_kubelet::client(&arguments.kubeconfig).await?;
    let folder = arguments.kubeconfig.parent().map(PathBuf::from).unwrap_or_default();
    let certificate = (folder.join("server.crt"), folder.join("server.key"));
    let mut programs = arguments.programs;
    programs.extend(std::env::current_exe()?.parent().map(PathBuf::from));
    let mut nodes = Vec::new();
    for number in 1..=arguments.nodes {
        let options = NodeOptions {
            name: format!("node-{number}"),
            labels: arguments.label.iter().cloned().collect(),
            capacity: arguments.gpu.iter().cloned().collect(),
            programs: programs.clone(),
            certificate: certificate.0.is_file().then(|| certificate.clone()),
        };
        let node = Kubelet::start(client.clone(), options).await?;
        arguments.missing_image.iter().for_each(|image| node.lose_image(image));
        nodes.push(node);
    }
    println!("{} nodes are ready; press Ctrl-C to stop", nodes.len());
    tokio::signal::ctrl_c().await?;
    for node in nodes {
        node.remove().await?;
    }
    Ok(())
}
