//! `make bench-fairness`: measures how tenants, and classes of calls, share an engine that is full.

fn main() -> std::process::ExitCode {
    bench::execute(bench::fairness_bench::run)
}
