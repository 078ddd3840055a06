//! x86-64, by the calling convention of the System V ABI: `state` in rdi, `memory` in rsi, `count` in rdx; ticks in rax, the state in rdx.

use super::ProbeCode;
use core::arch::naked_asm;

/// Why there are no probes on this machine, if there are none.
pub fn missing() -> Option<String> {
    None
}

/// Reads the counter into r8; `count` is in r9 then. Fences as in [`crate::counter::fenced`].
macro_rules! begin {
    () => {
        "mov r9, rdx
         lfence
         rdtsc
         shl rdx, 32
         or rax, rdx
         mov r8, rax
         lfence
         "
    };
}

/// Reads it again and returns the difference; rdi is the state that follows.
macro_rules! end {
    () => {
        "lfence
         rdtsc
         shl rdx, 32
         or rax, rdx
         lfence
         sub rax, r8
         mov rdx, rdi
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
        "lea rax, [rip + 2f]
         lea rdx, [rip + 9f]
         ret
         .p2align 12
         2:
         jmp 20f
         .p2align 4
         jmp 21f
         .p2align 4
         jmp 22f
         .p2align 4
         jmp 23f
         .p2align 4
         jmp 24f
         .p2align 4
         jmp 25f
         .p2align 4
         jmp 26f
         .p2align 4
         jmp 27f
         .p2align 4
         jmp 28f
         .p2align 4
         jmp 29f
         .p2align 6",
        // Latency: 800 dependent multiplications, 2,400 cycles of the core where one takes three. Multiplications, as current cores
        // execute several dependent additions of an immediate in a cycle when they rename registers.
        "20:",
        begin!(),
        "mov eax, 3
         mov ecx, 200
         .p2align 6
         3:
         imul rax, rax
         imul rax, rax
         imul rax, rax
         imul rax, rax
         sub ecx, 1
         jnz 3b",
        end!(),
        // Issue: 6,000 address computations in six independent chains.
        "21:",
        begin!(),
        "mov edi, 1000
         .p2align 6
         3:
         lea rax, [rax + 1]
         lea rcx, [rcx + 1]
         lea rdx, [rdx + 1]
         lea rsi, [rsi + 1]
         lea r10, [r10 + 1]
         lea r11, [r11 + 1]
         sub edi, 1
         jnz 3b",
        end!(),
        // Loads: 3,072 independent ones, all words of a page, six times.
        "22:",
        begin!(),
        "mov ecx, 6
         .p2align 6
         3:
         mov rdi, rsi
         mov edx, 64
         4:
         mov rax, [rdi]
         mov r10, [rdi + 8]
         mov rax, [rdi + 16]
         mov r10, [rdi + 24]
         mov rax, [rdi + 32]
         mov r10, [rdi + 40]
         mov rax, [rdi + 48]
         mov r10, [rdi + 56]
         add rdi, 64
         sub edx, 1
         jnz 4b
         sub ecx, 1
         jnz 3b",
        end!(),
        // Stores: 3,072, to all words of a page, six times.
        "23:",
        begin!(),
        "xor eax, eax
         mov ecx, 6
         .p2align 6
         3:
         mov rdi, rsi
         mov edx, 128
         4:
         mov [rdi], rax
         mov [rdi + 8], rax
         mov [rdi + 16], rax
         mov [rdi + 24], rax
         add rdi, 32
         sub edx, 1
         jnz 4b
         sub ecx, 1
         jnz 3b",
        end!(),
        // Branches: 800, two by the bits of each number of a generator (xorshift64).
        "24:",
        begin!(),
        "mov ecx, 400
         .p2align 6
         3:
         mov rax, rdi
         shl rax, 13
         xor rdi, rax
         mov rax, rdi
         shr rax, 7
         xor rdi, rax
         mov rax, rdi
         shl rax, 17
         xor rdi, rax
         test edi, 1
         jz 4f
         add rsi, rdi
         jmp 5f
         4:
         xor rsi, rdi
         5:
         test edi, 2
         jz 6f
         sub rsi, 7
         6:
         sub ecx, 1
         jnz 3b",
        end!(),
        // System calls: six of getppid. The kernel changes rax, rcx and r11.
        "25:",
        begin!(),
        "mov r10d, 6
         .p2align 6
         3:
         mov eax, {call}
         syscall
         sub r10d, 1
         jnz 3b",
        end!(),
        // First level: the lines are fetched one after the other in memory, untimed; then as many dependent loads.
        "26:
         mov rcx, rdx
         mov r10, rsi
         .p2align 6
         3:
         mov rax, [r10]
         add r10, 64
         sub ecx, 1
         jnz 3b",
        begin!(),
        "mov rdi, rsi
         .p2align 6
         3:
         mov rdi, [rdi]
         sub r9d, 1
         jnz 3b",
        end!(),
        // Chase: so many dependent loads along a chain.
        "27:",
        begin!(),
        ".p2align 6
         3:
         mov rdi, [rdi]
         sub r9d, 1
         jnz 3b",
        end!(),
        // Scatter: 80 independent loads from lines that a generator chooses, with Knuth's constants of MMIX.
        "28:
         movabs r10, 6364136223846793005
         movabs r11, 1442695040888963407",
        begin!(),
        "mov ecx, 80
         .p2align 6
         3:
         imul rdi, r10
         add rdi, r11
         mov rax, rdi
         shr rax, 33
         and rax, r9
         shl rax, 6
         mov rdx, [rsi + rax]
         sub ecx, 1
         jnz 3b",
        end!(),
        // Code: through all blocks.
        "29:",
        begin!(),
        "jmp 8f
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
         add rax, 0x30201
         lea rcx, [rcx + rcx + 5]
         xor rdx, rdx
         .if (tare_probe_block * 101 + 57) % 256
         jmp 8b + ((tare_probe_block * 101 + 57) % 256) * 64
         .else
         jmp 7b
         .endif
         .set tare_probe_block, tare_probe_block + 1
         .endr
         .p2align 12
         9:",
        call = const libc::SYS_getppid,
    )
}
