//! Whether this build was ever run on the system it is for.
//!
//! Decides that only a build for Linux starts unasked, because Linux is what runs and is tested. The code for macOS and
//! Windows is type-checked and was never run: whoever builds it says, with the feature `unverified-platforms`, that they
//! know.

/// Why this build does not start, if it does not.
pub fn unverified() -> Option<&'static str> {
    refusal(std::env::consts::OS, cfg!(feature = "unverified-platforms"))
}

fn refusal(system: &str, told: bool) -> Option<&'static str> {
    match (system, told) {
        ("linux", _) | (_, true) => None,
        (_, false) => Some(
            "genkan was never run on this system, only on Linux, so this build does not start; to try it all the same, \
             build it with `--features unverified-platforms`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_for_a_system_on_which_nothing_was_run_starts_only_where_its_maker_knows() {
        for system in ["macos", "windows", "freebsd", ""] {
            assert!(
                refusal(system, false).is_some_and(|why| why.contains("unverified-platforms")),
                "{system}"
            );
            assert_eq!(refusal(system, true), None, "{system}");
        }
        assert_eq!(refusal("linux", false), None);
        assert_eq!(unverified(), None, "this one was run");
    }
}
