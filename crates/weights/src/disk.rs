//! The space on the disk of a download.

use rustix::fs::statvfs;
use std::path::Path;

/// Space that a download leaves free: the journal and the store are on the same disk.
pub const DISK_RESERVE: u64 = 1 << 30;

/// The free space at a folder, or at the nearest one above it that exists.
pub fn free_disk(folder: &Path) -> Option<u64> {
    let place = folder.ancestors().find(|folder| folder.exists())?;
    let found = statvfs(place).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// The space that a download of an engine leaves free on the volume of a folder: [`DISK_RESERVE`], or a fiftieth of a smaller
/// volume, which may have been made for these weights.
pub fn engine_reserve(folder: &Path) -> u64 {
    let place = folder.ancestors().find(|folder| folder.exists());
    let found = place.and_then(|place| statvfs(place).ok());
    let size = found.map_or(0, |found| found.f_blocks.saturating_mul(found.f_frsize));
    DISK_RESERVE.min(size / 50)
}

/// A size with one decimal.
pub fn rough(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        const GIB: u64 = 1 << 30;
        for (bytes, shown) in [
            (GIB * 3 / 2, "1.5 GiB"),
            (700 << 20, "700.0 MiB"),
            (64 << 10, "64KiB"),
            (10, "10B"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(rough(bytes), shown);
        }
    }
}
