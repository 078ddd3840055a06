//! The shared library's name, so that programs find the version that they were linked with.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtare.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
