pub mod self_check;
pub mod session;
