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
mod program;
mod script;
#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(target_os = "macos", path = "macos/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
mod system;

#[cfg(unix)]
pub use std::os::fd::AsFd as End;
#[cfg(windows)]
pub use std::os::windows::io::AsHandle as End;

use std::path::{Path, PathBuf};

pub use attested::{Attested, attest};
pub use client::client;
pub use image::{Own, own};
pub use program::{Program, program, script_at};
#[cfg(unix)]
pub use system::same_user;
#[cfg(target_os = "linux")]
pub use system::{Sender, Sight, receive, remember_output, sight};

use super::browsers;

/// The process that started us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its pid; `None` if it lies outside our view.
    pub pid: Option<u32>,
    /// The file it runs; `None` if it could not be measured or the parent is gone.
    pub image: Option<PathBuf>,
}

/// Measures our parent. The init process is never taken for a parent: it adopts orphans.
#[cfg(unix)]
pub fn parent() -> Parent {
    let pid = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    let image = pid.filter(|pid| *pid != 1).and_then(system::image_of);
    // A parent that died meanwhile has handed us on; what was measured may then be a stranger with its number.
    let still = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()) == pid;
    Parent { pid, image: image.filter(|_| still) }
}

/// Measures whoever made the pipe that is our input: a process may say there that another was its parent.
#[cfg(windows)]
pub fn parent() -> Parent {
    let maker = system::Process::maker_of_input().ok();
    let image = maker.as_ref().and_then(|maker| maker.running_path().ok());
    Parent { pid: maker.map(|maker| maker.pid()), image }
}

/// The browser's name for an unlabelled host, from the measured parent image.
pub fn label_of(image: Option<&Path>) -> &'static str {
    image.and_then(browsers::of_image).map_or("browser", |browser| browser.key)
}

#[cfg(test)]
mod tests {
    use super::super::user::our_uid;
    use super::*;

    #[test]
    fn our_own_user_is_the_same_user_and_no_other_is() {
        assert!(same_user(our_uid()));
        assert!(!same_user(our_uid().wrapping_add(1)));
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
