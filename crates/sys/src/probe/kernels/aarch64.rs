//! aarch64: the same work as on x86-64, instruction for instruction where that is possible. `state` in x0, `memory` in x1, `count` in
//! x2; ticks in x0, the state in x1.

use super::ProbeCode;
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

/// Reads the counter into x9. Fences as in [`crate::counter::fenced`].
macro_rules! begin {
    () => {
        "isb
         mrs x9, cntvct_el0
         isb
         "
    };
}

/// Reads it again and returns the difference; x0 is the state that follows.
macro_rules! end {
    () => {
        "isb
         mrs x10, cntvct_el0
         isb
         mov x1, x0
         sub x0, x10, x9
         ret
         .p2align 6
         "
    };
}

/// All kernels, from a page's start on: where they begin and end. First an entry of 16 bytes for each, in the order of
/// [`super::ProbeKernel`].
#[unsafe(naked)]
pub extern "C" fn all() -> ProbeCode {
    naked_asm!(
        "adr x0, 2f
         adr x1, 9f
         ret
         .p2align 12
         2:
         b 20f
         .p2align 4
         b 21f
         .p2align 4
         b 22f
         .p2align 4
         b 23f
         .p2align 4
         b 24f
         .p2align 4
         b 25f
         .p2align 4
         b 26f
         .p2align 4
         b 27f
         .p2align 4
         b 28f
         .p2align 4
         b 29f
         .p2align 6",
        // Latency: 800 dependent multiplications.
        "20:",
        begin!(),
        "mov x3, #3
         mov w4, #200
         .p2align 6
         3:
         mul x3, x3, x3
         mul x3, x3, x3
         mul x3, x3, x3
         mul x3, x3, x3
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // Issue: 6,000 additions in six independent chains.
        "21:",
        begin!(),
        "mov w4, #1000
         .p2align 6
         3:
         add x3, x3, #1
         add x5, x5, #1
         add x6, x6, #1
         add x7, x7, #1
         add x11, x11, #1
         add x12, x12, #1
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // Loads: 3,072 independent ones, all words of a page, six times.
        "22:",
        begin!(),
        "mov w4, #6
         .p2align 6
         3:
         mov x3, x1
         mov w5, #64
         4:
         ldr x6, [x3]
         ldr x7, [x3, #8]
         ldr x6, [x3, #16]
         ldr x7, [x3, #24]
         ldr x6, [x3, #32]
         ldr x7, [x3, #40]
         ldr x6, [x3, #48]
         ldr x7, [x3, #56]
         add x3, x3, #64
         subs w5, w5, #1
         b.ne 4b
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // Stores: 3,072, to all words of a page, six times.
        "23:",
        begin!(),
        "mov w4, #6
         .p2align 6
         3:
         mov x3, x1
         mov w5, #128
         4:
         str xzr, [x3]
         str xzr, [x3, #8]
         str xzr, [x3, #16]
         str xzr, [x3, #24]
         add x3, x3, #32
         subs w5, w5, #1
         b.ne 4b
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // Branches: 800, two by the bits of each number of a generator (xorshift64).
        "24:",
        begin!(),
        "mov w4, #400
         .p2align 6
         3:
         eor x0, x0, x0, lsl #13
         eor x0, x0, x0, lsr #7
         eor x0, x0, x0, lsl #17
         tbz x0, #0, 4f
         add x3, x3, x0
         b 5f
         4:
         eor x3, x3, x0
         5:
         tbz x0, #1, 6f
         sub x3, x3, #7
         6:
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // System calls: six of getppid. The kernel changes x0.
        "25:",
        begin!(),
        "mov x8, #{call}
         mov w4, #6
         .p2align 6
         3:
         svc #0
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // First level: the lines are fetched one after the other in memory, untimed; then as many dependent loads.
        "26:
         mov x3, x1
         mov x4, x2
         .p2align 6
         3:
         ldr x5, [x3]
         add x3, x3, #64
         subs w4, w4, #1
         b.ne 3b",
        begin!(),
        "mov x0, x1
         .p2align 6
         3:
         ldr x0, [x0]
         subs w2, w2, #1
         b.ne 3b",
        end!(),
        // Chase: so many dependent loads along a chain.
        "27:",
        begin!(),
        ".p2align 6
         3:
         ldr x0, [x0]
         subs w2, w2, #1
         b.ne 3b",
        end!(),
        // Scatter: 80 independent loads from lines that a generator chooses, with Knuth's constants of MMIX: 6364136223846793005 and
        // 1442695040888963407.
        "28:
         movz x5, #0x7f2d
         movk x5, #0x4c95, lsl #16
         movk x5, #0xf42d, lsl #32
         movk x5, #0x5851, lsl #48
         movz x6, #0x814f
         movk x6, #0xf767, lsl #16
         movk x6, #0x7b7e, lsl #32
         movk x6, #0x1405, lsl #48",
        begin!(),
        "mov w4, #80
         .p2align 6
         3:
         madd x0, x0, x5, x6
         and x3, x2, x0, lsr #33
         lsl x3, x3, #6
         ldr x7, [x1, x3]
         subs w4, w4, #1
         b.ne 3b",
        end!(),
        // Code: through all blocks.
        "29:",
        begin!(),
        "b 8f
         .p2align 6
         7:",
        end!(),
        // 256 blocks of a cache line each, in an order that jumps about: block i is followed by block (101 i + 57) mod 256, which
        // reaches all of them.
        ".p2align 12
         8:
         .set tare_probe_block, 0
         .rept 256
         .p2align 6
         add x3, x3, #513
         add x4, x4, x4, lsl #1
         eor x5, x5, x5
         .if (tare_probe_block * 101 + 57) % 256
         b 8b + ((tare_probe_block * 101 + 57) % 256) * 64
         .else
         b 7b
         .endif
         .set tare_probe_block, tare_probe_block + 1
         .endr
         .p2align 12
         9:",
        call = const libc::SYS_getppid,
    )
}
