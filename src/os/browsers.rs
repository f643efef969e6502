//! The browsers we know: how their processes are named and where they read native-messaging manifests.
//!
//! One row a browser. A browser that runs but cannot be registered yet has no folder here.

use std::path::Path;

/// A Chromium-family browser.
#[derive(Debug, PartialEq, Eq)]
pub struct Browser {
    /// Its key on the command line and its label.
    pub key: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// File names of its executables on Linux.
    pub images: &'static [&'static str],
    /// Its folder below the configuration directory on Linux, if we can register there.
    pub config: Option<&'static str>,
}

/// Every browser we know.
pub const BROWSERS: &[Browser] = &[
    Browser {
        key: "chrome",
        name: "Google Chrome",
        images: &["chrome", "google-chrome"],
        config: Some("google-chrome"),
    },
    Browser {
        key: "chromium",
        name: "Chromium",
        images: &["chromium", "chromium-browser"],
        config: Some("chromium"),
    },
    Browser { key: "brave", name: "Brave", images: &["brave", "brave-browser"], config: None },
    Browser { key: "edge", name: "Microsoft Edge", images: &["msedge", "microsoft-edge"], config: None },
    Browser { key: "vivaldi", name: "Vivaldi", images: &["vivaldi", "vivaldi-bin"], config: None },
    Browser { key: "opera", name: "Opera", images: &["opera"], config: None },
];

/// The browser with this key.
pub fn by_key(key: &str) -> Option<&'static Browser> {
    BROWSERS.iter().find(|browser| browser.key == key)
}

/// The browser that runs this image.
pub fn of_image(image: &Path) -> Option<&'static Browser> {
    let name = image.file_name()?.to_str()?;
    // The kernel adds this to the name of an image that an upgrade replaced.
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    BROWSERS.iter().find(|browser| browser.images.contains(&name))
}
