//! aarch64: the same work as on x86-64, instruction for instruction where that is possible.

use core::arch::{asm, naked_asm};

/// Slowest counter, Hz, by which work of a microsecond can be timed: 1% of it.
const SLOWEST: u64 = 100_000_000;

/// Why there are no probes on this machine, if there are none.
pub fn missing() -> Option<String> {
    let hz: u64;
    // SAFETY: programs may read the counter's frequency wherever they may read the counter.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack)) };
    (hz < SLOWEST)
        .then(|| format!("the counter of this CPU, {} MHz, is too slow for work of a microsecond", hz / 1_000_000))
}

/// 800 dependent multiplications.
#[inline(never)]
pub fn latency() {
    // SAFETY: changes registers and flags only.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "subs {n:w}, {n:w}, #1", "b.ne 2b",
            x = inout(reg) 3_u64 => _, n = inout(reg) 200_u32 => _,
            options(nomem, nostack),
        );
    }
}

/// 3,000 additions in six independent chains.
#[inline(never)]
pub fn issue() {
    // SAFETY: as above.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "add {a}, {a}, #1", "add {b}, {b}, #1", "add {c}, {c}, #1",
            "add {d}, {d}, #1", "add {e}, {e}, #1", "add {f}, {f}, #1",
            "subs {n:w}, {n:w}, #1", "b.ne 2b",
            a = inout(reg) 0_u64 => _, b = inout(reg) 0_u64 => _, c = inout(reg) 0_u64 => _,
            d = inout(reg) 0_u64 => _, e = inout(reg) 0_u64 => _, f = inout(reg) 0_u64 => _,
            n = inout(reg) 500_u32 => _,
            options(nomem, nostack),
        );
    }
}

/// 3,072 independent loads: all words of a page, six times.
///
/// # Safety
/// `page` is 4 KiB that can be read.
#[inline(never)]
pub unsafe fn loads(page: *const u64) {
    // SAFETY: by the caller.
    unsafe {
        asm!(
            ".p2align 6", "2:", "mov {p}, {page}", "mov {i:w}, #64",
            "3:",
            "ldr {a}, [{p}]", "ldr {b}, [{p}, #8]", "ldr {a}, [{p}, #16]", "ldr {b}, [{p}, #24]",
            "ldr {a}, [{p}, #32]", "ldr {b}, [{p}, #40]", "ldr {a}, [{p}, #48]", "ldr {b}, [{p}, #56]",
            "add {p}, {p}, #64", "subs {i:w}, {i:w}, #1", "b.ne 3b",
            "subs {n:w}, {n:w}, #1", "b.ne 2b",
            page = in(reg) page, p = out(reg) _, i = out(reg) _, a = out(reg) _, b = out(reg) _,
            n = inout(reg) 6_u32 => _,
            options(readonly, nostack),
        );
    }
}

/// 3,072 stores: all words of a page, six times.
///
/// # Safety
/// `page` is 4 KiB that only the caller uses.
#[inline(never)]
pub unsafe fn stores(page: *mut u64) {
    // SAFETY: by the caller.
    unsafe {
        asm!(
            ".p2align 6", "2:", "mov {p}, {page}", "mov {i:w}, #128",
            "3:",
            "str xzr, [{p}]", "str xzr, [{p}, #8]", "str xzr, [{p}, #16]", "str xzr, [{p}, #24]",
            "add {p}, {p}, #32", "subs {i:w}, {i:w}, #1", "b.ne 3b",
            "subs {n:w}, {n:w}, #1", "b.ne 2b",
            page = in(reg) page, p = out(reg) _, i = out(reg) _,
            n = inout(reg) 6_u32 => _,
            options(nostack),
        );
    }
}

/// 200 branches by the bits of a generator (xorshift64), which is in `state` from one call to the next, so that no predictor can
/// learn them. `state` is not zero.
#[inline(never)]
pub fn branches(state: u64) -> u64 {
    let next: u64;
    // SAFETY: changes registers and flags only.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "eor {x}, {x}, {x}, lsl #13", "eor {x}, {x}, {x}, lsr #7", "eor {x}, {x}, {x}, lsl #17",
            "tbz {x}, #0, 3f",
            "add {s}, {s}, {x}", "b 4f",
            "3:", "eor {s}, {s}, {x}",
            "4:", "subs {n:w}, {n:w}, #1", "b.ne 2b",
            x = inout(reg) state => next, s = inout(reg) 0_u64 => _, n = inout(reg) 200_u32 => _,
            options(nomem, nostack),
        );
    }
    next
}

/// Six system calls.
#[inline(never)]
pub fn system_calls() {
    // SAFETY: getppid touches no memory of the process; the kernel changes x0.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "svc #0",
            "subs {n:w}, {n:w}, #1", "b.ne 2b",
            in("x8") libc::SYS_getppid, out("x0") _, n = inout(reg) 6_u32 => _,
            options(nostack),
        );
    }
}

/// Reads the first word of each of so many lines, one after the other in memory.
///
/// # Safety
/// `lines` is at least one, and there are so many from `first` on.
#[inline(never)]
pub unsafe fn fetch(first: *const u64, lines: u32) {
    // SAFETY: by the caller.
    unsafe {
        asm!(
            ".p2align 6", "2:", "ldr {a}, [{p}]", "add {p}, {p}, #64", "subs {n:w}, {n:w}, #1", "b.ne 2b",
            p = inout(reg) first => _, a = out(reg) _, n = inout(reg) lines => _,
            options(readonly, nostack),
        );
    }
}

/// So many dependent loads along a chain; returns where it is then.
///
/// # Safety
/// `steps` is at least one; `from` begins an endless chain of pointers.
#[inline(never)]
pub unsafe fn chase(from: *const u64, steps: u32) -> *const u64 {
    let mut at = from;
    // SAFETY: by the caller.
    unsafe {
        asm!(
            ".p2align 6", "2:", "ldr {p}, [{p}]", "subs {n:w}, {n:w}, #1", "b.ne 2b",
            p = inout(reg) at, n = inout(reg) steps => _,
            options(readonly, nostack),
        );
    }
    at
}

/// 80 independent loads from lines that a generator chooses; returns its state.
///
/// # Safety
/// There are `mask` + 1 lines from `base` on, a power of two.
#[inline(never)]
pub unsafe fn scatter(base: *const u64, mask: u64, state: u64) -> u64 {
    let next: u64;
    // SAFETY: by the caller.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            // Knuth's constants of MMIX.
            "madd {x}, {x}, {m}, {c}",
            "and {t}, {mask}, {x}, lsr #33", "lsl {t}, {t}, #6",
            "ldr {a}, [{base}, {t}]",
            "subs {n:w}, {n:w}, #1", "b.ne 2b",
            x = inout(reg) state => next, t = out(reg) _, a = out(reg) _, n = inout(reg) 80_u32 => _,
            m = in(reg) 6_364_136_223_846_793_005_u64, c = in(reg) 1_442_695_040_888_963_407_u64,
            mask = in(reg) mask, base = in(reg) base,
            options(readonly, nostack),
        );
    }
    next
}

/// 256 blocks of a cache line each, in an order that jumps about: block i is followed by block (101 i + 57) mod 256, which reaches
/// all of them, and the last one returns.
#[unsafe(naked)]
pub extern "C" fn code() {
    naked_asm!(
        "b 2f",
        ".p2align 12",
        "2:",
        ".set tare_probe_block, 0",
        ".rept 256",
        ".p2align 6",
        "add x9, x9, #513",
        "add x10, x10, x10, lsl #1",
        "eor x11, x11, x11",
        ".if (tare_probe_block * 101 + 57) % 256",
        "b 2b + ((tare_probe_block * 101 + 57) % 256) * 64",
        ".else",
        "ret",
        ".endif",
        ".set tare_probe_block, tare_probe_block + 1",
        ".endr",
    )
}
