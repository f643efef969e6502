//! Telling a browser how to start us: the manifest that it reads, and what leads from the browser to the manifest and
//! from the manifest to this program.
//!
//! Decides what each must hold, compares what is there, and writes it. Refuses to overwrite what starts something other
//! than this program: somebody else put it there, and only the person may take it away.

#[cfg(unix)]
#[path = "registration/wrapper.rs"]
mod way;
#[cfg(windows)]
#[path = "registration/registry.rs"]
mod way;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::way::Way;
use crate::base::identity::{NATIVE_HOST_ID, PINNED_EXTENSION_ORIGIN};
use crate::os::browsers::Browser;
use crate::os::files::Purpose;
use crate::os::runtime_dir::Environment;
use crate::os::{OsRefusal, files};
use crate::wire::json::parse;

/// Bytes of a manifest or wrapper.
const FILE_BYTES_MAX: usize = 65_536;

/// How a browser's registration stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it is what we write.
    Ok,
    /// There is no manifest.
    Missing,
    /// Ours, but not as this program writes it now; what differs.
    Stale(String),
    /// Not ours; what it starts.
    Foreign(String),
    /// It cannot be read; why.
    Unreadable(String),
}

/// One place where a browser looks for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The manifest.
    pub manifest: PathBuf,
    way: Way,
}

impl Registration {
    /// For one browser's own place; `None` if we cannot register with it yet.
    pub fn of_browser(
        browser: &Browser,
        environment: &Environment,
        program: &Path,
    ) -> Result<Option<Self>, OsRefusal> {
        let Some(place) = browser.place else { return Ok(None) };
        let (folder, way) = Way::of_browser(browser.key, place, environment, program)?;
        Ok(Some(Self { manifest: manifest_in(&folder), way }))
    }

    /// For a folder of manifests whose browser we do not know: the host measures its label itself.
    pub fn of_folder(folder: &Path, environment: &Environment, program: &Path) -> Result<Self, OsRefusal> {
        let way = Way::of_folder(folder, environment, program)?;
        Ok(Self { manifest: manifest_in(folder), way })
    }

    /// Whether the browser has ever run for this person.
    pub fn browser_was_used(&self) -> bool {
        self.way.browser_was_used(&self.manifest)
    }

    /// Compares what is there with what we would write.
    pub fn examine(&self) -> Standing {
        let found = match files::read(&self.manifest, FILE_BYTES_MAX) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Standing::Missing,
            Err(refusal) => return Standing::Unreadable(refusal.to_string()),
        };
        match parse(&found) {
            Err(fault) => Standing::Unreadable(fault.to_string()),
            Ok(manifest) if !self.way.may_be_ours(manifest.get("path")) => {
                let starts = manifest.get("path").map_or("nothing".into(), Value::to_string);
                Standing::Foreign(format!("it starts {starts}"))
            }
            Ok(manifest) if manifest != self.manifest_value() => {
                Standing::Stale("the manifest differs from what this program writes".into())
            }
            Ok(_) => self.way.examine(&self.manifest),
        }
    }

    /// Writes everything, in an order in which nothing ever names what is not there.
    pub fn write(&self) -> Result<(), OsRefusal> {
        let text = serde_json::to_string_pretty(&self.manifest_value()).unwrap_or_default() + "\n";
        self.way.write_what_it_starts()?;
        files::replace(&self.manifest, text.as_bytes(), Purpose::Read)?;
        self.way.write_what_names(&self.manifest)
    }

    fn manifest_value(&self) -> Value {
        json!({
            "name": NATIVE_HOST_ID,
            "description": "genkan: lets programs you approve act in this browser, under your eyes",
            "path": self.way.starts(),
            "type": "stdio",
            "allowed_origins": [PINNED_EXTENSION_ORIGIN],
        })
    }
}

fn manifest_in(folder: &Path) -> PathBuf {
    folder.join(format!("{NATIVE_HOST_ID}.json"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::os::browsers;

    fn registration(home: &Path, program: &str) -> Registration {
        let environment = Environment { home: Some(home.into()), ..Environment::default() };
        let chromium = browsers::by_key("chromium").unwrap();
        Registration::of_browser(chromium, &environment, Path::new(program)).unwrap().unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_as_ok_and_writing_twice_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let ours = registration(home.path(), "/opt/genkan");
        assert_eq!(ours.examine(), Standing::Missing);
        ours.write().unwrap();
        assert_eq!(ours.examine(), Standing::Ok);
        let before = std::fs::read(&ours.manifest).unwrap();
        ours.write().unwrap();
        assert_eq!(std::fs::read(&ours.manifest).unwrap(), before);
        let folder = ".config/chromium/NativeMessagingHosts/com.vivswan.genkan.host.json";
        assert_eq!(ours.manifest, home.path().join(folder));
    }

    #[test]
    fn a_moved_program_an_edited_manifest_and_an_open_wrapper_are_stale() {
        let home = tempfile::tempdir().unwrap();
        registration(home.path(), "/old/genkan").write().unwrap();
        let ours = registration(home.path(), "/new/genkan");
        assert!(matches!(ours.examine(), Standing::Stale(_)));
        ours.write().unwrap();
        let text = std::fs::read_to_string(&ours.manifest).unwrap();
        let widened =
            text.replace("\"allowed_origins\": [", "\"allowed_origins\": [\"chrome-extension://x/\",");
        assert_ne!(text, widened);
        std::fs::write(&ours.manifest, widened).unwrap();
        assert!(matches!(ours.examine(), Standing::Stale(_)));
        ours.write().unwrap();
        std::fs::set_permissions(ours.way.starts(), std::fs::Permissions::from_mode(0o722)).unwrap();
        assert!(matches!(ours.examine(), Standing::Stale(_)));
        std::fs::remove_file(ours.way.starts()).unwrap();
        assert!(matches!(ours.examine(), Standing::Stale(_)));
    }

    #[test]
    fn a_manifest_that_starts_something_else_is_foreign_and_junk_is_unreadable() {
        let home = tempfile::tempdir().unwrap();
        let ours = registration(home.path(), "/opt/genkan");
        ours.write().unwrap();
        std::fs::write(&ours.manifest, r#"{"name":"x","path":"/usr/bin/other"}"#).unwrap();
        assert_eq!(ours.examine(), Standing::Foreign("it starts \"/usr/bin/other\"".into()));
        for junk in ["", "{", "{\"path\":1,\"path\":2}"] {
            std::fs::write(&ours.manifest, junk).unwrap();
            assert!(matches!(ours.examine(), Standing::Unreadable(_)), "{junk}");
        }
    }
}
