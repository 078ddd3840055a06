pub mod self_check;
pub mod session;
pub mod shell_start;
