//! The `blockscope` program.

fn main() -> std::process::ExitCode {
    blockscope::cli::run()
}
