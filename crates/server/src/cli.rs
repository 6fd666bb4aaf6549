//! The command line: `serve`, `check-config`, `migrate`, `admin`, `completions`.

use crate::app;
use crate::surface::openapi;
use crate::version::VERSION;
use clap::{CommandFactory, Parser};
use clap_complete::Shell;
use config::{Config, load};
use fleet::drivers::process::shim;
use node::data_dir;
use node::doctor::{self, Finding};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::Store;
use tracing_subscriber::EnvFilter;

#[derive(Parser)]
#[command(name = "forebay", version = VERSION, about = "A self-hosted managed inference service", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Serve the API and the operations port until SIGTERM or SIGINT.
    Serve(Location),
    /// Check the configuration and list all its problems.
    CheckConfig(Location),
    /// Migrate the store to the current schema.
    Migrate(Location),
    /// Administer the store directly, also while a server is running.
    Admin(Box<admin::AdminArgs>),
    /// Print the completions of these commands for a shell.
    Completions { shell: Shell },
    /// Write the manual pages into a folder.
    #[command(hide = true)]
    ManualPages { dir: PathBuf },
    /// Print the description of all surfaces, as `/openapi.json` serves it.
    #[command(hide = true)]
    Openapi,
    /// Parent process of a replica's engine, started by the server.
    #[command(hide = true)]
    ReplicaShim(ReplicaShim),
}

#[derive(clap::Args)]
struct ReplicaShim {
    /// Folder of the replica, with its spec.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Set after detaching from the server's session.
    #[arg(long)]
    detached: bool,
}

#[derive(clap::Args)]
struct Location {
    /// Configuration file; without it, all settings have their defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory: journal, replicas, SQLite store, listening addresses and first credentials.
    #[arg(long, value_name = "DIR", default_value = "data")]
    data_dir: PathBuf,
}

/// Runs the command and returns the exit code.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    start_log();
    data_dir::keep_private();
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("forebay: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(location) => app::serve(location.config.as_deref(), &location.data_dir),
        Command::CheckConfig(location) => {
            let config = load(location.config.as_deref())?;
            config.server.tls.as_ref().map(edge::tls::acceptor).transpose()?;
            println!(
                "the configuration is valid: {} models, hash {}",
                config.catalogue.ids().count(),
                config.catalogue.hash
            );
            for Finding { what, remedy, .. } in doctor::missing_programs(&config.catalogue) {
                eprintln!("warning: {what}: {remedy}");
            }
            Ok(())
        }
        Command::Migrate(location) => with_store(location.config.as_deref(), &location.data_dir, async |_, store| {
            let migrated = store.migrate().await?;
            println!("schema version {} (was {})", migrated.to, migrated.from);
            Ok(())
        }),
        Command::Admin(arguments) if arguments.is_doctor() => runtime()?.block_on(admin::examine(&arguments)),
        Command::Admin(arguments) => {
            let (config, data_dir) = (arguments.config.clone(), arguments.data_dir.clone());
            with_store(config.as_deref(), &data_dir, async |config, store| {
                store.migrate().await?;
                admin::run(*arguments, &config, &store).await
            })
        }
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "forebay", &mut std::io::stdout());
            Ok(())
        }
        Command::ManualPages { dir } => Ok(clap_mangen::generate_to(Arguments::command(), dir)?),
        Command::Openapi => Ok(std::io::stdout().write_all(&openapi::document())?),
        Command::ReplicaShim(shim) if shim.detached => Ok(shim::run(&shim.dir)?),
        Command::ReplicaShim(_) => Ok(shim::detach()?),
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

fn with_store(
    config: Option<&Path>,
    data_dir: &Path,
    work: impl AsyncFnOnce(Config, Store) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let config = load(config)?;
    runtime()?.block_on(async {
        let store = Store::open(&config.store.url, data_dir).await?;
        work(config, store).await
    })
}

/// Logs to standard error, filtered by `RUST_LOG`. The access log goes to standard output.
fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}
