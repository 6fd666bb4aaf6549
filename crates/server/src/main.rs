//! `forebay`: the gateway, its control plane and its tools in one binary.

fn main() -> std::process::ExitCode {
    server::cli::main()
}
