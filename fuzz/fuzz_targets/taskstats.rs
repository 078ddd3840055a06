//! The parsers of netlink datagrams: the family's number and taskstats records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_sys::taskstats::{parse_family, parse_records};

fuzz_target!(|data: &[u8]| {
    let mut records = 0;
    parse_records(data, |record| {
        records += 1;
        assert!(record.cpu.0 >= 0 && record.elapsed.0 >= 0 && record.interval_counted.0 >= 0 && record.began.0 >= 0);
        assert!(record.comm.as_bytes().len() <= 32 && !record.comm.as_bytes().contains(&0));
    });
    // The shortest record that is accepted holds ac_stime, which ends at byte 168.
    assert!(records <= data.len() / 168);
    let _ = parse_family(data);
});
