//! Where the CPU time of a call goes, and how many instructions it takes.
//!
//! Instructions are counted by Valgrind's Callgrind, which needs no rights and no counters of the processor, and whose
//! result hardly depends on the machine: it stops a slow growth that no timed run shows. Where `perf` works, a second run
//! at full speed samples the CPU time of the threads and of the kernel by system call.

mod callgrind;
mod components;
mod load;
mod perf;
mod record;
mod table;

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Parser;

use crate::proxy_bench::setup::host;
use load::{Workload, Workloads};
use record::Record;

/// Counts the instructions of a call, and shows where its CPU time goes.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-profile")]
pub struct Options {
    /// Forebay's binary, with line tables.
    #[arg(long)]
    pub forebay: PathBuf,
    /// The fake engine's binary; by default the one in the folder of this program.
    #[arg(long)]
    pub fake_engine: Option<PathBuf>,
    /// Fail if a call takes over 3 % more instructions than this file says.
    #[arg(long)]
    pub check: Option<PathBuf>,
    /// Write the counted instructions into this file.
    #[arg(long)]
    pub write: Option<PathBuf>,
    /// Sample the CPU time with perf as well, and print every component.
    #[arg(long)]
    pub sample: bool,
}

/// Counts, prints, and compares.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let cores = host::pin_cores();
    let scratch = tempfile::Builder::new().prefix("forebay-profile-").tempdir()?;
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        Record::read(&text)
    };
    let expected = options.check.as_ref().map(read).transpose()?;
    let workloads = Workloads::start(&options, cores, scratch.path()).await?;
    let (mut counted, mut unexplained) = (Vec::new(), Vec::new());
    for workload in Workload::ALL {
        let enough = expected.as_ref().and_then(|expected| expected.most(workload.name()));
        let counts = workloads.count(workload, enough).await.with_context(|| workload.name().to_owned())?;
        println!("{}", table::summary(workload, &counts));
        if options.sample {
            let samples = workloads.sample(workload).await?;
            println!("{}", table::by_component(&counts, &samples));
            if samples.is_some_and(|samples| !samples.add_up()) {
                unexplained.push(workload.name());
            }
        }
        counted.push((workload, counts.serving));
    }
    let measured = Record::new(&counted);
    if let Some(file) = &options.write {
        std::fs::write(file, measured.render()).with_context(|| file.display().to_string())?;
    }
    let grown = expected.map(|expected| measured.grown_over(&expected)).unwrap_or_default();
    if !grown.is_empty() {
        bail!("{}\nIf this is worth it, `make instructions-update` writes the new numbers.", grown.join("\n"));
    }
    if !unexplained.is_empty() {
        bail!("the parts of {} differ from its CPU time by more than 10 %", unexplained.join(", "));
    }
    Ok(())
}
