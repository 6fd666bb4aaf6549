//! Starts the service: builds each part once, runs the loops and the surfaces, and stops them in reverse.

mod background;
mod build;
mod shutdown;
mod signals;
mod start;
mod waiting;

use background::Background;
use build::{Parts, Sockets};
use config::{Config, load};
use domain::model::Modality;
use node::data_dir;
use node::first_start;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use shutdown::LAST_MOMENT;
use signals::Signals;
use start::{Start, Started};
use std::path::Path;
use waiting::Waiting;

/// Threads for the store, the probes and the loops. Calls are served by threads of their own.
const BACKGROUND_THREADS: usize = 2;

/// Serves until SIGTERM or SIGINT.
pub(crate) fn serve(config_file: Option<&Path>, data_dir: &Path) -> anyhow::Result<()> {
    let config = load(config_file)?;
    let _claim = data_dir::claim(data_dir)?;
    hide_memory();
    fix_mapping_size();
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(BACKGROUND_THREADS)
        .thread_name("background")
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(config, config_file, data_dir));
    // Abandons what still blocks, such as a write to a standard output that no process reads.
    runtime.shutdown_timeout(LAST_MOMENT);
    result
}

/// A stream takes two descriptors, and many systems allow a process only 1,024 unless it raises the limit.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit on open files");
    }
}

/// Engines run as our user. Without this, one that was taken over could read our environment and memory, and with them
/// the secrets that it was not given.
fn hide_memory() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "engines of the same user can read the memory of this process");
    }
}

/// A buffer of this size is a mapping of its own.
const MAPPING_BYTES: libc::c_int = 1 << 20;
/// Free memory at the end of an arena is returned beyond this size, which takes less than half a millisecond.
const RETURNED_BYTES: libc::c_int = 4 * MAPPING_BYTES;

/// Keeps the allocator from raising these sizes: glibc does when a mapping is freed, such as that of a password's hash, up to
/// 32 and 64 MiB. A larger buffer would then be copied while it grows, and the end of an arena returned at once, which
/// takes many milliseconds, in which its core serves nothing.
#[expect(unsafe_code, reason = "only the C library sets them, or the environment of the process")]
fn fix_mapping_size() {
    // SAFETY: both are sizes that the allocator accepts, and threads may allocate meanwhile.
    let is_done = unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPING_BYTES) == 1
            && libc::mallopt(libc::M_TRIM_THRESHOLD, RETURNED_BYTES) == 1
    };
    if !is_done {
        tracing::warn!("large bodies may delay calls, because the allocator rejects its settings");
    }
}

async fn run(config: Config, config_file: Option<&Path>, data_dir: &Path) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let tls = config.server.tls.as_ref().map(edge::tls::acceptor).transpose()?;
    first_start::forget_listen(data_dir);
    let mut start = Start::new(&config, data_dir);
    let (started, waiting) = match start.attempt().await {
        Ok(started) => (started, None),
        Err(error) if waiting::is_away(&error, &config) => {
            let waiting = Waiting::start(&config, data_dir, start.sockets()?, tls.as_ref())?;
            tracing::warn!("the store is unreachable, calls get 503 until it responds: {error:#}");
            match waiting::retry(&mut start, &config, &mut signals).await {
                Ok(Some(started)) => (started, Some(waiting)),
                ended => {
                    waiting.stop(data_dir).await;
                    return ended.map(drop);
                }
            }
        }
        Err(error) => return Err(error),
    };
    let Sockets { public: listeners, ops: ops_listener } = start.into_sockets()?;
    let (public, ops) = (listeners[0].local_addr()?, ops_listener.local_addr()?);
    let Started { state, bootstrap } = started;
    let (parts, reader) = Parts::build(config, config_file, data_dir, state, public).await?;
    if let Some(waiting) = &waiting {
        waiting.leave_operations();
    }
    let background = Background::start(&parts, reader, ops_listener)?;
    let (workers, runner) = build::start_workers(&parts, background.tracer.as_ref(), listeners, tls.as_ref())?;
    if let Some(waiting) = waiting {
        background.loops.spawn(waiting.hand_over());
    }

    first_start::write_listen(data_dir, public, ops)?;
    tracing::info!(%public, %ops, workers = parts.cores, "forebay is serving");
    if let Some(bootstrap) = bootstrap {
        let catalogue = parts.routes.catalogue();
        let first_chat = catalogue.iter().find(|model| model.modality == Modality::Chat);
        bootstrap.show(data_dir, first_chat.map(|model| model.id.as_str()));
    }
    let end = signals.wait_for_end(&parts.catalogue, config_file).await;
    shutdown::stop(&parts, background, (workers, runner), end, &mut signals, data_dir).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_of_the_user_cannot_read_the_memory_of_the_gateway() {
        hide_memory();
        assert_eq!(rustix::process::dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
