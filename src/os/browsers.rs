//! The browsers we know: how their programs are named and where they look for native-messaging hosts.
//!
//! One row a browser. A browser that runs but cannot be registered yet has no place here.

use std::path::Path;

/// A Chromium-family browser.
#[derive(Debug, PartialEq, Eq)]
pub struct Browser {
    /// Its key on the command line and its label.
    pub key: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// How the paths of its programs end on this system.
    pub images: &'static [&'static str],
    /// Where it looks for hosts, if we can register there: its folder below the one of configurations, or on Windows its
    /// key below that of software.
    pub place: Option<&'static str>,
}

/// Every browser we know.
pub const BROWSERS: &[Browser] = &[
    Browser {
        key: "chrome",
        name: "Google Chrome",
        images: here(
            &["chrome", "google-chrome"],
            &["Google Chrome"],
            &["Google\\Chrome\\Application\\chrome.exe"],
        ),
        place: Some(here("google-chrome", "Google/Chrome", "Google\\Chrome")),
    },
    Browser {
        key: "chromium",
        name: "Chromium",
        images: here(
            &["chromium", "chromium-browser"],
            &["Chromium"],
            &["Chromium\\Application\\chrome.exe"],
        ),
        place: Some(here("chromium", "Chromium", "Chromium")),
    },
    Browser {
        key: "brave",
        name: "Brave",
        images: here(&["brave", "brave-browser"], &["Brave Browser"], &["brave.exe"]),
        place: None,
    },
    Browser {
        key: "edge",
        name: "Microsoft Edge",
        images: here(&["msedge", "microsoft-edge"], &["Microsoft Edge"], &["msedge.exe"]),
        place: None,
    },
    Browser {
        key: "vivaldi",
        name: "Vivaldi",
        images: here(&["vivaldi", "vivaldi-bin"], &["Vivaldi"], &["vivaldi.exe"]),
        place: None,
    },
    Browser {
        key: "opera",
        name: "Opera",
        images: here(&["opera"], &["Opera"], &["opera.exe"]),
        place: None,
    },
];

/// What holds on this system.
const fn here<T: Copy>(linux: T, macos: T, windows: T) -> T {
    if cfg!(target_os = "macos") {
        macos
    } else if cfg!(windows) {
        windows
    } else {
        linux
    }
}

/// The browser with this key.
pub fn by_key(key: &str) -> Option<&'static Browser> {
    BROWSERS.iter().find(|browser| browser.key == key)
}

/// The browser that runs this image.
pub fn of_image(image: &Path) -> Option<&'static Browser> {
    let image = image.to_string_lossy();
    // The kernel adds this to the name of an image that an upgrade replaced.
    let image = Path::new(image.strip_suffix(" (deleted)").unwrap_or(&image));
    BROWSERS.iter().find(|browser| browser.images.iter().any(|end| image.ends_with(end)))
}
