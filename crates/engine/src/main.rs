//! The model server as a program; everything is in the library.

fn main() -> std::process::ExitCode {
    engine::cli::main()
}
