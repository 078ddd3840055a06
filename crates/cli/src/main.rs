//! `tare`: measures how long programs take; net time is gross time minus what the machine added.

fn main() -> std::process::ExitCode {
    tarebench_cli::process(|arguments| tarebench_cli::main(arguments, &[]))
}
