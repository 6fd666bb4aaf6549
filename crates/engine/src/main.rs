//! Entry point of `forebay-engine`; the implementation is in the library.

fn main() -> std::process::ExitCode {
    engine::cli::main()
}
