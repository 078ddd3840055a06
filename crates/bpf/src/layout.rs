//! Numbers of the account that the kernel's side and this one share, generated from its header.

/// From `account.h`.
#[allow(missing_docs, reason = "they are explained in account.h")]
pub mod account {
    include!("account_layout.rs");
}
