//! `make bench`: measures this machine and prints the results as a table.

fn main() -> std::process::ExitCode {
    bench::execute(bench::proxy_bench::run)
}
