//! `tare-lab`: all of tare, with its lab and stores on PostgreSQL servers.

fn main() -> std::process::ExitCode {
    tarebench_cli::process(tarebench_lab::main)
}
