//! What every stored document has in common.

pub mod head;
pub mod progress;
