//! The file that this process runs, and whether an update has put another one in its place.
//!
//! Decides by device and inode at the path from which we were started. It does not know whether the new file is genuine:
//! whoever starts it next decides that.

use std::path::PathBuf;

use super::files::Seen;

/// Taken once, at start: once the file is gone, the kernel no longer names its path.
#[derive(Clone, Debug)]
pub struct OwnImage {
    path: PathBuf,
    identity: (u64, u64),
}

impl OwnImage {
    /// Of this process; `None` if the system does not say where its file lies.
    pub fn of_this_process() -> Option<Self> {
        let path = std::env::current_exe().ok()?;
        let identity = Seen::at(&path).ok()?.file;
        Some(Self { path, identity })
    }

    /// Whether its path leads to another file now, or to none.
    pub fn is_replaced(&self) -> bool {
        Seen::at(&self.path).ok().map(|seen| seen.file) != Some(self.identity)
    }

    /// Where it lies, for people.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_moved_away_or_replaced_is_noticed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("genkan");
        std::fs::write(&path, "old").unwrap();
        let own = OwnImage { identity: Seen::at(&path).unwrap().file, path: path.clone() };
        assert!(!own.is_replaced());
        let new = temp.path().join("new");
        std::fs::write(&new, "new").unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert!(own.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(own.is_replaced());
        assert!(!OwnImage::of_this_process().unwrap().is_replaced());
    }
}
