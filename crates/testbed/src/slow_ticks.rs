//! Timer interrupts that take long, and when: a kernel program within them.

use aya::maps::Array;
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, Pod};

const OBJECT_SIZE: usize = include_bytes!("../../bpf/src/slow_tick.bpf.o").len();
/// An object must be aligned for the ELF reader.
#[repr(align(8))]
struct AlignedObject([u8; OBJECT_SIZE]);
static OBJECT: AlignedObject = AlignedObject(*include_bytes!("../../bpf/src/slow_tick.bpf.o"));

/// `struct order` of slow_tick.bpf.c.
#[derive(Clone, Copy)]
#[repr(C)]
struct SlowTickOrder {
    cpu: u64,
    every: u64,
    length: u64,
    seen: u64,
    done: u64,
}
// SAFETY: plain words without padding, for which any bytes are valid.
unsafe impl Pod for SlowTickOrder {}

/// One in `every` timer interrupts of a CPU takes `length_us` longer, until SIGTERM. Then it prints them, a line each:
/// begin and end in ns of CLOCK_MONOTONIC.
pub fn slow_ticks(cpu: u64, every: u64, length_us: u64) {
    crate::die_with_parent();
    crate::until_terminated();
    let mut ebpf = Ebpf::load(&OBJECT.0).expect("load slow_tick");
    let mut orders: Array<_, SlowTickOrder> = ebpf.take_map("orders").expect("its map").try_into().expect("an array");
    let spans: Array<_, [u64; 2]> = ebpf.take_map("spans").expect("its map").try_into().expect("an array");
    let order = |cpu| SlowTickOrder { cpu, every, length: length_us * 1_000, seen: 0, done: 0 };
    orders.set(0, order(cpu + 1), 0).expect("tell it what to do");
    let program: &mut BtfTracePoint =
        ebpf.program_mut("slow_tick").expect("its program").try_into().expect("of its kind");
    let types = Btf::from_sys_fs().expect("the kernel's types");
    program.load("hrtimer_expire_entry", &types).expect("load the program");
    program.attach().expect("attach the program");
    println!("ready");
    while !crate::terminated() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let done = orders.get(&0, 0).expect("what it did").done;
    orders.set(0, order(0), 0).expect("tell it to end");
    let span = |n| spans.get(&n, 0).expect("what it did");
    let lines: Vec<String> = (0..done as u32).map(span).map(|[began, ended]| format!("{began} {ended}\n")).collect();
    print!("{}", lines.concat());
}
