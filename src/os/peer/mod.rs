//! Who is on the other end, as far as the kernel says: user ids, running files, holders of our standard streams.
//!
//! Decides which user id is provably ours, which peer of the bridge is this very program ([`attest`]), and who our
//! client is ([`client`]). What cannot be measured is refused, never guessed. Whether a client may enter is not
//! decided here. The words of this page about other programs are worth as much as the user's account: a program of the
//! same user can run the genuine client, debug it, or write into its pipes.
//!
//! A platform is a `Process` that stays the one it was opened as (`peer_of`, `own`, `parent`, `other_ends`), says
//! what it runs (`running`) and with which arguments, plus `receive` for the bridge.

mod attested;
mod client;
mod image;
mod script;
#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod system;

use std::path::{Path, PathBuf};

pub use attested::{Attested, attest};
pub use client::client;
pub use image::{Own, own};
pub use system::{Sender, Sight, receive, sight};

use super::browsers;
use super::runtime_dir::our_uid;

/// The process that started us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its pid; `None` if it lies outside our view.
    pub pid: Option<u32>,
    /// The file it runs; `None` if it could not be measured or the parent is gone.
    pub image: Option<PathBuf>,
}

/// Measures our parent. The init process is never taken for a parent: it adopts orphans.
pub fn parent() -> Parent {
    let pid = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    let image = pid.filter(|pid| *pid != 1).and_then(image_of);
    // A parent that died meanwhile has handed us on; what was measured may then be a stranger with its number.
    let still = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()) == pid;
    Parent { pid, image: image.filter(|_| still) }
}

/// The browser's name for an unlabelled host, from the measured parent image.
pub fn label_of(image: Option<&Path>) -> &'static str {
    image.and_then(browsers::of_image).map_or("browser", |browser| browser.key)
}

/// Whether a peer's user id, as the kernel gave it, is provably ours.
///
/// In a user namespace every unmapped id appears as the overflow id, so that number proves something only where
/// nothing is unmapped.
pub fn same_user(uid: u32) -> bool {
    uid == our_uid() && (uid != overflow_uid() || every_uid_is_mapped())
}
#[cfg(target_os = "linux")]
fn image_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

#[cfg(not(target_os = "linux"))]
fn image_of(_pid: u32) -> Option<PathBuf> {
    None
}

fn overflow_uid() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

#[cfg(target_os = "linux")]
fn every_uid_is_mapped() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| covers_every_uid(&map))
}

#[cfg(not(target_os = "linux"))]
fn every_uid_is_mapped() -> bool {
    true
}

/// One row a range: first id inside, first id outside, count. 4,294,967,295 ids exist; the last number is no id.
#[cfg(target_os = "linux")]
fn covers_every_uid(map: &str) -> bool {
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    counts.sum::<u64>() >= u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_user_is_the_same_user_and_no_other_is() {
        assert!(same_user(our_uid()));
        assert!(!same_user(our_uid().wrapping_add(1)));
    }

    #[test]
    fn a_partial_map_leaves_the_overflow_id_ambiguous() {
        assert!(covers_every_uid("         0          0 4294967295\n"));
        assert!(!covers_every_uid("0 100000 65536\n"));
        assert!(!covers_every_uid("65534 1000 1\n"));
        assert!(!covers_every_uid(""));
    }

    #[test]
    fn the_label_comes_from_the_measured_image() {
        let labels = [
            ("/usr/lib/chromium/chromium", "chromium"),
            ("/opt/google/chrome/chrome", "chrome"),
            ("/opt/google/chrome/chrome (deleted)", "chrome"),
            ("/opt/brave.com/brave/brave", "brave"),
            ("/opt/microsoft/msedge/msedge", "edge"),
            ("/opt/vivaldi/vivaldi-bin", "vivaldi"),
            ("/usr/lib/x86_64-linux-gnu/opera/opera", "opera"),
            ("/usr/bin/python3", "browser"),
        ];
        for (image, label) in labels {
            assert_eq!(label_of(Some(Path::new(image))), label, "{image}");
        }
        assert_eq!(label_of(None), "browser");
    }
}
