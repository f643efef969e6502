//! Where a browser looks in folders: a script leads from the manifest to this program, because a manifest has no room for
//! arguments.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{FILE_BYTES_MAX, Standing};
use crate::os::files::Purpose;
use crate::os::runtime_dir::Environment;
use crate::os::{OsRefusal, files};

/// The script that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    wrapper: PathBuf,
    label: Option<&'static str>,
    program: PathBuf,
}

impl Way {
    /// The folder where this browser looks, and the script for it.
    pub fn of_browser(
        key: &'static str,
        place: &str,
        environment: &Environment,
        program: &Path,
    ) -> Result<(PathBuf, Self), OsRefusal> {
        let folder = environment.config_dir()?.join(place).join("NativeMessagingHosts");
        let wrapper = environment.wrapper_dir()?.join(format!("run-host-{key}.sh"));
        Ok((folder, Self { wrapper, label: Some(key), program: program.into() }))
    }

    /// The script for browsers that we do not know.
    pub fn of_folder(_folder: &Path, environment: &Environment, program: &Path) -> Result<Self, OsRefusal> {
        let wrapper = environment.wrapper_dir()?.join("run-host.sh");
        Ok(Self { wrapper, label: None, program: program.into() })
    }

    /// Its folder exists once it ran.
    pub fn browser_was_used(&self, manifest: &Path) -> bool {
        manifest.parent().and_then(Path::parent).is_some_and(Path::is_dir)
    }

    /// What the manifest must name.
    pub fn starts(&self) -> &Path {
        &self.wrapper
    }

    /// A manifest that names our script is ours, wherever this program lay when it was written.
    pub fn may_be_ours(&self, starts: Option<&Value>) -> bool {
        starts == Some(&json!(self.wrapper))
    }

    /// Compares the script with what we would write.
    pub fn examine(&self, _manifest: &Path) -> Standing {
        let wrapper = self.wrapper.display();
        match files::read(&self.wrapper, FILE_BYTES_MAX) {
            Err(refusal) => Standing::Unreadable(refusal.to_string()),
            Ok(None) => Standing::Stale(format!("its wrapper {wrapper} is missing")),
            Ok(Some(text)) if text != self.text() => {
                Standing::Stale(format!("its wrapper {wrapper} starts another program or version"))
            }
            Ok(Some(_)) if !is_ours_to_run(&self.wrapper) => {
                Standing::Stale(format!("its wrapper {wrapper} cannot be run, or others can change it"))
            }
            Ok(Some(_)) => Standing::Ok,
        }
    }

    /// Writes the script.
    pub fn write_what_it_starts(&self) -> Result<(), OsRefusal> {
        files::replace(&self.wrapper, &self.text(), Purpose::Run)
    }

    /// The folder itself leads to the manifest.
    pub fn write_what_names(&self, _manifest: &Path) -> Result<(), OsRefusal> {
        Ok(())
    }

    fn text(&self) -> Vec<u8> {
        let label = self.label.map(|label| format!(" --label {label}")).unwrap_or_default();
        let mut text = b"#!/bin/sh\nexec ".to_vec();
        text.extend(quoted(self.program.as_os_str()));
        text.extend(format!(" --native-host{label} \"$@\"\n").into_bytes());
        text
    }
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
