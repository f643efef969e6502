//! Whether this build was ever run on the system it is for.
//!
//! Linux is what runs and is tested. The code for macOS and Windows is type-checked and was never run: a build for them
//! does not start unless whoever made it said, with the feature `unverified-platforms`, that they know.

const VERIFIED: bool = cfg!(any(target_os = "linux", feature = "unverified-platforms"));

/// Why this build does not start, if it does not.
pub fn unverified() -> Option<&'static str> {
    const WHY: &str = "genkan was never run on this system, only on Linux, so this build does not start; to try it all \
                       the same, build it with `--features unverified-platforms`";
    if VERIFIED { None } else { Some(WHY) }
}
