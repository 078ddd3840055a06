//! x86-64. Each function is the same instructions whatever the compiler: loops in assembly, aligned to a cache line.

use core::arch::{asm, naked_asm};

/// Why there are no probes on this machine, if there are none.
pub fn missing() -> Option<String> {
    None
}

/// 800 dependent multiplications: 2,400 cycles of the core where one takes three. Multiplications, as current cores execute several
/// dependent additions of an immediate in a cycle when they rename registers.
#[inline(never)]
pub fn latency() {
    // SAFETY: changes registers and flags only.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "sub {n:e}, 1", "jnz 2b",
            x = inout(reg) 3_u64 => _, n = inout(reg) 200_u32 => _,
            options(nomem, nostack),
        );
    }
}

/// 3,000 address computations in six independent chains.
#[inline(never)]
pub fn issue() {
    // SAFETY: as above.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "lea {a}, [{a} + 1]", "lea {b}, [{b} + 1]", "lea {c}, [{c} + 1]",
            "lea {d}, [{d} + 1]", "lea {e}, [{e} + 1]", "lea {f}, [{f} + 1]",
            "sub {n:e}, 1", "jnz 2b",
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
            ".p2align 6", "2:", "mov {p}, {page}", "mov {i:e}, 64",
            "3:",
            "mov {a}, [{p}]", "mov {b}, [{p} + 8]", "mov {a}, [{p} + 16]", "mov {b}, [{p} + 24]",
            "mov {a}, [{p} + 32]", "mov {b}, [{p} + 40]", "mov {a}, [{p} + 48]", "mov {b}, [{p} + 56]",
            "add {p}, 64", "sub {i:e}, 1", "jnz 3b",
            "sub {n:e}, 1", "jnz 2b",
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
            ".p2align 6", "2:", "mov {p}, {page}", "mov {i:e}, 128",
            "3:",
            "mov [{p}], {z}", "mov [{p} + 8], {z}", "mov [{p} + 16], {z}", "mov [{p} + 24], {z}",
            "add {p}, 32", "sub {i:e}, 1", "jnz 3b",
            "sub {n:e}, 1", "jnz 2b",
            page = in(reg) page, p = out(reg) _, i = out(reg) _, z = in(reg) 0_u64,
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
            "mov {t}, {x}", "shl {t}, 13", "xor {x}, {t}",
            "mov {t}, {x}", "shr {t}, 7", "xor {x}, {t}",
            "mov {t}, {x}", "shl {t}, 17", "xor {x}, {t}",
            "test {x:e}, 1", "jz 3f",
            "add {s}, {x}", "jmp 4f",
            "3:", "xor {s}, {x}",
            "4:", "sub {n:e}, 1", "jnz 2b",
            x = inout(reg) state => next, t = out(reg) _, s = inout(reg) 0_u64 => _, n = inout(reg) 200_u32 => _,
            options(nomem, nostack),
        );
    }
    next
}

/// Six system calls.
#[inline(never)]
pub fn system_calls() {
    // SAFETY: getppid touches no memory of the process; the kernel changes rax, rcx and r11.
    unsafe {
        asm!(
            ".p2align 6", "2:",
            "mov eax, {call}", "syscall",
            "sub {n:e}, 1", "jnz 2b",
            call = const libc::SYS_getppid, n = inout(reg) 6_u32 => _,
            out("rax") _, out("rcx") _, out("r11") _,
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
            ".p2align 6", "2:", "mov {a}, [{p}]", "add {p}, 64", "sub {n:e}, 1", "jnz 2b",
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
            ".p2align 6", "2:", "mov {p}, [{p}]", "sub {n:e}, 1", "jnz 2b",
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
            "imul {x}, {m}", "add {x}, {c}",
            "mov {t}, {x}", "shr {t}, 33", "and {t}, {mask}", "shl {t}, 6",
            "mov {a}, [{base} + {t}]",
            "sub {n:e}, 1", "jnz 2b",
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
        "jmp 2f",
        ".p2align 12",
        "2:",
        ".set tare_probe_block, 0",
        ".rept 256",
        ".p2align 6",
        "add rax, 0x30201",
        "lea rcx, [rcx + rcx + 5]",
        "xor rdx, rdx",
        ".if (tare_probe_block * 101 + 57) % 256",
        "jmp 2b + ((tare_probe_block * 101 + 57) % 256) * 64",
        ".else",
        "ret",
        ".endif",
        ".set tare_probe_block, tare_probe_block + 1",
        ".endr",
    )
}
