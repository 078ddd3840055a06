//! `tare-papers`: tare, with the papers' studies.

fn main() -> std::process::ExitCode {
    tarebench_cli::process(tarebench_papers::main)
}
