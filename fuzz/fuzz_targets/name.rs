//! Names: any bytes, shown without control characters, read back exactly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::name::Name;

fuzz_target!(|data: &[u8]| {
    let name = Name::new(data);
    let text = name.to_string();
    assert!(!text.chars().any(char::is_control));
    assert_eq!(Name::parse(&text).as_ref(), Ok(&name));
    if let Some(read) = std::str::from_utf8(data).ok().and_then(|text| Name::parse(text).ok()) {
        assert_eq!(Name::parse(&read.to_string()), Ok(read));
    }
});
