//! Names of the system.

/// What `uname` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uname {
    pub node: String,
    pub release: String,
    pub version: String,
    pub machine: String,
}

/// Asks the kernel; never fails on Linux.
pub fn uname() -> Uname {
    // SAFETY: all-zero is a valid utsname, and the call only writes to it.
    let u = unsafe {
        let mut u: libc::utsname = std::mem::zeroed();
        libc::uname(&mut u);
        u
    };
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Uname { node: text(&u.nodename), release: text(&u.release), version: text(&u.version), machine: text(&u.machine) }
}
