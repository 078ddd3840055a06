//! `tare`: measures how long programs take; net time is gross time minus what the machine added.

fn main() -> std::process::ExitCode {
    tarebench_cli::main(std::env::args_os().collect()).into()
}
