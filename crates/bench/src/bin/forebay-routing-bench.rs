//! `make bench-routing`: compares routers in front of simulated engines and prints a table.

fn main() -> std::process::ExitCode {
    bench::execute(bench::routing_bench::run)
}
