//! Empties the caches of data (CS:APP section 9.4.2): writes and reads a buffer that is larger than the largest of them.

use crate::KbestError;
use std::hint::black_box;
use std::path::Path;
use tarebench_sys::cache::largest;

/// Size of the buffer where the machine does not report its caches: twice the largest of most current CPUs.
const UNTOLD: u64 = 64 << 20;
/// One access for each 32 bytes: no cache line is shorter.
const STEP: usize = 32;

/// A buffer that pushes everything else out of the caches.
pub(crate) struct Clear(Vec<u8>);

/// A quarter more than the largest cache, as no cache evicts strictly the least recently used line.
pub(crate) fn size(root: &Path) -> u64 {
    largest(root).map_or(UNTOLD, |l| l.saturating_add(l / 4))
}

impl Clear {
    pub(crate) fn new(bytes: u64) -> Result<Clear, KbestError> {
        let none = || KbestError::Memory(bytes);
        let room = usize::try_from(bytes).map_err(|_| none())?;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(room).map_err(|_| none())?;
        buffer.resize(room, 1);
        Ok(Clear(buffer))
    }

    /// Writes and reads all of it, as the book does: whether writing alone would bring it into a cache depends on the cache.
    pub(crate) fn clear(&mut self) {
        for line in self.0.chunks_mut(STEP) {
            line.iter_mut().take(1).for_each(|b| *b = b.wrapping_add(3));
        }
        let sum = self.0.iter().step_by(STEP).fold(0_u8, |sum, b| sum.wrapping_add(*b));
        black_box(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn larger_than_the_largest_cache() {
        let machine = |size: &str| {
            let root = tempfile::tempdir().unwrap();
            let index = root.path().join("sys/devices/system/cpu/cpu0/cache/index0");
            fs::create_dir_all(&index).unwrap();
            fs::write(index.join("type"), "Unified\n").unwrap();
            fs::write(index.join("size"), size).unwrap();
            root
        };
        assert_eq!(super::size(machine("32768K\n").path()), 40 << 20);
        assert_eq!(super::size(machine("12288K\n").path()), 15 << 20);
        assert_eq!(super::size(machine("?\n").path()), UNTOLD);
    }

    #[test]
    fn too_large_is_refused() {
        assert!(matches!(Clear::new(u64::MAX), Err(KbestError::Memory(u64::MAX))));
        let mut none = Clear::new(0).unwrap();
        none.clear();
    }
}
