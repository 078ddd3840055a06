//! The caches of this machine: how large they are, and how to evict data from them (CS:APP section 9.4.2).

use crate::procfs::read_text_below;
use std::path::Path;

/// Size of the largest cache that holds data, in bytes, as the kernel reports it below
/// `sys/devices/system/cpu/cpu0/cache`. `None` where it does not, as on many arm64 machines.
pub fn largest(root: &Path) -> Option<u64> {
    (0..)
        .map(|i| format!("sys/devices/system/cpu/cpu0/cache/index{i}"))
        .map_while(|index| {
            let kind = read_text_below(root, &format!("{index}/type")).ok()?;
            // A size that is not reported does not end the list.
            let size = read_text_below(root, &format!("{index}/size")).ok().and_then(|s| size(s.trim()));
            Some(size.filter(|_| kind.trim() != "Instruction"))
        })
        .flatten()
        .max()
}

/// `48K`, `12M`, or bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (text.strip_suffix('K')?, 1 << 10),
        b'M' => (text.strip_suffix('M')?, 1 << 20),
        b'G' => (text.strip_suffix('G')?, 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|s| *s > 0)
}

/// Size of a cache line that is small enough for every CPU: a line is written back for each 32 bytes.
const LINE: usize = 32;

/// Writes these bytes back from all caches and drops them there (`clflush`, `dc civac`), so that the next access reads memory.
/// Does nothing on other architectures.
pub fn flush<T>(data: &[T]) {
    let bytes = size_of_val(data);
    let start = data.as_ptr().cast::<u8>();
    for at in (0..bytes).step_by(LINE).chain(bytes.checked_sub(1)) {
        line(start.wrapping_add(at));
    }
    fence();
}

/// The same for the first instructions of a function.
pub fn flush_code<T>(code: fn(&mut T)) {
    // Two lines of 64 bytes, which hold a short function wherever it starts; the bytes after it are code, too.
    let start = code as *const u8;
    for at in (0..2 * 64).step_by(LINE) {
        line(start.wrapping_add(at));
    }
    fence();
}

#[cfg(target_arch = "x86_64")]
fn line(at: *const u8) {
    // SAFETY: part of x86-64 (SSE2); the address is inside of a live slice, and its content is not changed.
    unsafe { core::arch::x86_64::_mm_clflush(at) }
}

#[cfg(target_arch = "x86_64")]
fn fence() {
    // SAFETY: part of x86-64, without preconditions.
    unsafe { core::arch::x86_64::_mm_mfence() }
}

#[cfg(target_arch = "aarch64")]
fn line(at: *const u8) {
    // SAFETY: Linux lets programs clean lines (SCTLR_EL1.UCI); the address is inside of a live slice, whose content stays.
    unsafe { core::arch::asm!("dc civac, {}", in(reg) at, options(nostack)) }
}

#[cfg(target_arch = "aarch64")]
fn fence() {
    // SAFETY: without preconditions.
    unsafe { core::arch::asm!("dsb sy", options(nostack)) }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn line(_: *const u8) {}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn fence() {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A fake root with caches (type, size) of CPU 0.
    fn root(caches: &[(&str, Option<&str>)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (i, (kind, size)) in caches.iter().enumerate() {
            let index = root.path().join(format!("sys/devices/system/cpu/cpu0/cache/index{i}"));
            fs::create_dir_all(&index).unwrap();
            fs::write(index.join("type"), format!("{kind}\n")).unwrap();
            if let Some(size) = size {
                fs::write(index.join("size"), format!("{size}\n")).unwrap();
            }
        }
        root
    }

    #[test]
    fn the_largest_that_holds_data() {
        // AMD EPYC 7543, per core complex, and Intel Core i7-1165G7, as their kernels report them.
        let epyc = root(&[
            ("Data", Some("32K")),
            ("Instruction", Some("32K")),
            ("Unified", Some("512K")),
            ("Unified", Some("32768K")),
        ]);
        assert_eq!(largest(epyc.path()), Some(32 << 20));
        let laptop = root(&[
            ("Data", Some("48K")),
            ("Instruction", Some("32K")),
            ("Unified", Some("1280K")),
            ("Unified", Some("12288K")),
        ]);
        assert_eq!(largest(laptop.path()), Some(12 << 20));
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        assert_eq!(largest(root(&[]).path()), None);
        assert_eq!(largest(root(&[("Data", None), ("Instruction", Some("64K"))]).path()), None);
        // A Raspberry Pi with one size missing.
        assert_eq!(
            largest(root(&[("Data", None), ("Instruction", None), ("Unified", Some("1M"))]).path()),
            Some(1 << 20)
        );
        for bad in ["", "K", "-1K", "0K", "99999999999999999999K", "18446744073709551615K", "12 K"] {
            assert_eq!(size(bad), None, "{bad:?}");
        }
        assert_eq!(size("4096"), Some(4096));
    }

    #[test]
    fn flushing_changes_nothing() {
        let data: Vec<u64> = (0..1000).collect();
        flush(&data);
        flush::<u8>(&[]);
        assert!(data.iter().copied().eq(0..1000));
    }
}
