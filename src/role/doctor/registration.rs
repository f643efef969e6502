//! Telling a browser how to start us: the manifest it reads and the wrapper script that the manifest names.
//!
//! Decides what both must hold, compares what is there, and writes them. A manifest has no room for arguments, so the
//! wrapper carries them. Refuses to overwrite a manifest that starts something other than our wrapper: somebody else put
//! it there, and only the person may take it away.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::identity::{NATIVE_HOST_ID, PINNED_EXTENSION_ORIGIN};
use crate::os::browsers::Browser;
use crate::os::runtime_dir::Environment;
use crate::os::{OsRefusal, files};
use crate::wire::json::parse;

/// Bytes of a manifest or wrapper.
const FILE_BYTES_MAX: usize = 65_536;

/// How a browser's registration stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Both files are what we write.
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
    wrapper: PathBuf,
    label: Option<&'static str>,
    program: PathBuf,
}

impl Registration {
    /// For one browser's own folder; `None` if we cannot register with it yet.
    pub fn of_browser(
        browser: &Browser,
        environment: &Environment,
        program: &Path,
    ) -> Result<Option<Self>, OsRefusal> {
        let Some(config) = browser.config else { return Ok(None) };
        Ok(Some(Self {
            manifest: manifest_in(&environment.config_dir()?.join(config).join("NativeMessagingHosts")),
            wrapper: environment.data_dir()?.join(format!("run-host-{}.sh", browser.key)),
            label: Some(browser.key),
            program: program.into(),
        }))
    }

    /// For a folder of manifests whose browser we do not know: the host measures its label itself.
    pub fn of_folder(folder: &Path, environment: &Environment, program: &Path) -> Result<Self, OsRefusal> {
        let wrapper = environment.data_dir()?.join("run-host.sh");
        Ok(Self { manifest: manifest_in(folder), wrapper, label: None, program: program.into() })
    }

    /// Whether the browser has ever run for this person.
    pub fn browser_was_used(&self) -> bool {
        self.manifest.parent().and_then(Path::parent).is_some_and(Path::is_dir)
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
            Ok(manifest) if manifest.get("path") != Some(&json!(self.wrapper)) => {
                let starts = manifest.get("path").map_or("nothing".into(), Value::to_string);
                Standing::Foreign(format!("it starts {starts}"))
            }
            Ok(manifest) if manifest != self.manifest_value() => {
                Standing::Stale("the manifest differs from what this program writes".into())
            }
            Ok(_) => self.examine_wrapper(),
        }
    }

    /// Writes both files, wrapper first, so that no manifest ever names a script that is not there.
    pub fn write(&self) -> Result<(), OsRefusal> {
        let text = serde_json::to_string_pretty(&self.manifest_value()).unwrap_or_default() + "\n";
        files::replace(&self.wrapper, &self.wrapper_text(), 0o700)?;
        files::replace(&self.manifest, text.as_bytes(), 0o600)
    }

    fn examine_wrapper(&self) -> Standing {
        let wrapper = self.wrapper.display();
        match files::read(&self.wrapper, FILE_BYTES_MAX) {
            Err(refusal) => Standing::Unreadable(refusal.to_string()),
            Ok(None) => Standing::Stale(format!("its wrapper {wrapper} is missing")),
            Ok(Some(text)) if text != self.wrapper_text() => {
                Standing::Stale(format!("its wrapper {wrapper} starts another program or version"))
            }
            Ok(Some(_)) if !is_ours_to_run(&self.wrapper) => {
                Standing::Stale(format!("its wrapper {wrapper} cannot be run, or others can change it"))
            }
            Ok(Some(_)) => Standing::Ok,
        }
    }

    fn manifest_value(&self) -> Value {
        json!({
            "name": NATIVE_HOST_ID,
            "description": "genkan: lets programs you approve act in this browser, under your eyes",
            "path": self.wrapper,
            "type": "stdio",
            "allowed_origins": [PINNED_EXTENSION_ORIGIN],
        })
    }

    fn wrapper_text(&self) -> Vec<u8> {
        let label = self.label.map(|label| format!(" --label {label}")).unwrap_or_default();
        let mut text = b"#!/bin/sh\nexec ".to_vec();
        text.extend(quoted(self.program.as_os_str()));
        text.extend(format!(" --native-host{label} \"$@\"\n").into_bytes());
        text
    }
}

fn manifest_in(folder: &Path) -> PathBuf {
    folder.join(format!("{NATIVE_HOST_ID}.json"))
}

fn is_ours_to_run(wrapper: &Path) -> bool {
    std::fs::metadata(wrapper).is_ok_and(|file| file.permissions().mode() & 0o122 == 0o100)
}

/// Single quotes keep every byte from the shell but the single quote itself.
fn quoted(path: &OsStr) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in path.as_bytes() {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            other => text.push(*other),
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
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
        std::fs::set_permissions(&ours.wrapper, std::fs::Permissions::from_mode(0o722)).unwrap();
        assert!(matches!(ours.examine(), Standing::Stale(_)));
        std::fs::remove_file(&ours.wrapper).unwrap();
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

    #[test]
    fn a_shell_reads_the_quoted_path_as_it_was() {
        for path in ["/a b", "/it's", "/$HOME/`id`", "/new\nline", "/\"q\"", "/-n"] {
            let mut script = b"printf %s ".to_vec();
            script.extend(quoted(OsStr::new(path)));
            let said = std::process::Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).output();
            assert_eq!(said.unwrap().stdout, path.as_bytes());
        }
    }
}
