//! Calls of a server, which nothing interrupts: whoever blocks signals is told of them.

use std::sync::OnceLock;

/// What is to be done at the beginning and at the end of a call.
static AROUND: OnceLock<[fn(); 2]> = OnceLock::new();

/// Has `begin` called before each call of a server, and `end` after it. Calls may be made within each other.
pub fn around_calls(begin: fn(), end: fn()) {
    let _ = AROUND.set([begin, end]);
}

/// A call, as long as this exists.
pub(crate) struct ServerCall;

impl ServerCall {
    pub(crate) fn begin() -> ServerCall {
        if let Some([begin, _]) = AROUND.get() {
            begin();
        }
        ServerCall
    }
}

impl Drop for ServerCall {
    fn drop(&mut self) {
        if let Some([_, end]) = AROUND.get() {
            end();
        }
    }
}
