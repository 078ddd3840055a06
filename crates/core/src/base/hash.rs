//! FNV-1a: stable over versions, which std's hasher does not promise; no protection against forged data.

/// 64 bits.
pub fn fnv64(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// 128 bits.
pub fn fnv128(data: &[u8]) -> u128 {
    let basis = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    data.iter().fold(basis, |h: u128, b| (h ^ u128::from(*b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// <http://www.isthe.com/chongo/tech/comp/fnv/>: its own test vectors.
    #[test]
    fn the_hashes_are_fnv() {
        assert_eq!(fnv64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv128(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
