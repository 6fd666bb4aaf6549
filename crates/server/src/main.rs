//! `forebay`: the gateway, its control plane and its tools in one binary.

/// Many small buffers live and die with every call; the system's allocator costs a tenth of it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    server::cli::main()
}
