//! `make test-isolation`: measures how far one tenant's attacks move the latency of another one's calls.

fn main() -> std::process::ExitCode {
    bench::execute(bench::isolation_test::run)
}
