//! `make test-memory`: attacks the gateway under a memory limit and prints how it and its other callers fare.

fn main() -> std::process::ExitCode {
    bench::execute(bench::memory_test::run)
}
