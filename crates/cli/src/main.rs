//! `tare`: measures how long programs take; net time is gross time minus what the machine added.

/// As much as Linux gives by default.
const STACK_BYTES: usize = 8 << 20;

fn main() -> std::process::ExitCode {
    tarebench::sys::limits::prepare();
    let measure = || tarebench_cli::main(std::env::args_os().collect()).into();
    // On a stack of its own, as another thread would not be the one whose CPUs and signals are set.
    if tarebench::sys::limits::has_small_stack() { stacker::grow(STACK_BYTES, measure) } else { measure() }
}
