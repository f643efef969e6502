//! Whose a user id is, and what a process runs, without opening anything.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::os::user::our_uid;

/// Whether a peer's user id, as the kernel gave it, is provably ours.
///
/// In a user namespace every unmapped id appears as the overflow id, so that number proves something only where
/// nothing is unmapped.
pub fn same_user(uid: u32) -> bool {
    uid == our_uid()
        && *OUR_ID_IS_OURS_ALONE.get_or_init(|| our_uid() != overflow_uid() || every_uid_is_mapped())
}

/// Asked once: a process keeps its user namespace's map, and every message of a peer is judged by it.
static OUR_ID_IS_OURS_ALONE: OnceLock<bool> = OnceLock::new();

/// The path of what a process runs, for people.
pub fn image_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

fn overflow_uid() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

fn every_uid_is_mapped() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| covers_every_uid(&map))
}

/// One row a range: first id inside, first id outside, count. 4,294,967,295 ids exist; the last number is no id.
fn covers_every_uid(map: &str) -> bool {
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    counts.sum::<u64>() >= u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_map_leaves_the_overflow_id_ambiguous() {
        assert!(covers_every_uid("         0          0 4294967295\n"));
        assert!(!covers_every_uid("0 100000 65536\n"));
        assert!(!covers_every_uid("65534 1000 1\n"));
        assert!(!covers_every_uid(""));
    }
}
