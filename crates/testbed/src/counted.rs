//! Work whose events are known exactly.

/// So many rounds of four instructions, one a branch, in a loop that no compiler has a say in.
pub fn instructions(rounds: u64) {
    assert!(rounds > 0, "at least one round");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: counts a register down to 0.
    unsafe {
        std::arch::asm!("2:", "nop", "nop", "dec {n}", "jnz 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: counts a register down to 0.
    unsafe {
        std::arch::asm!("2:", "nop", "nop", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    panic!("no exact loop of {rounds} rounds for this architecture");
}

/// Touches so many new pages: as many page faults, where the kernel gives no larger pages.
pub fn page_faults(pages: usize) {
    // SAFETY: a new private mapping, in which each page is written once.
    unsafe {
        let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap();
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let at = libc::mmap(std::ptr::null_mut(), pages * page, access, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED, "map {pages} pages");
        // A kernel that has no huge pages refuses it.
        let small = libc::madvise(at, pages * page, libc::MADV_NOHUGEPAGE) == 0;
        assert!(small || *libc::__errno_location() == libc::EINVAL, "small pages");
        for n in 0..pages {
            at.cast::<u8>().add(n * page).write_volatile(1);
        }
    }
}

/// Sleeps so many times: as many context switches at least.
pub fn sleeps(times: u64) {
    for _ in 0..times {
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
}
