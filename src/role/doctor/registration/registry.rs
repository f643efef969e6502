//! Where a browser looks in the registry: a key leads from the browser to the manifest, and the manifest names this program
//! itself. One manifest serves every browser, so the host measures its label.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Standing;
use crate::base::identity::NATIVE_HOST_ID;
use crate::os::runtime_dir::Environment;
use crate::os::{OsRefusal, registry};

/// The key that names a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    vendor: String,
    program: PathBuf,
}

impl Way {
    /// The folder of the one manifest, and the key where this browser looks.
    pub fn of_browser(
        _key: &'static str,
        place: &str,
        environment: &Environment,
        program: &Path,
    ) -> Result<(PathBuf, Self), OsRefusal> {
        let vendor = format!("Software\\{place}");
        Ok((environment.wrapper_dir()?, Self { vendor, program: program.into() }))
    }

    /// Refused: no browser looks in folders here.
    pub fn of_folder(folder: &Path, _environment: &Environment, _program: &Path) -> Result<Self, OsRefusal> {
        let why = "browsers on Windows look in the registry only; use --browser instead";
        Err(OsRefusal::io("register in", folder, std::io::Error::other(why)))
    }

    /// Its key exists once it ran.
    pub fn browser_was_used(&self, _manifest: &Path) -> bool {
        registry::has(&self.vendor)
    }

    /// What the manifest must name.
    pub fn starts(&self) -> &Path {
        &self.program
    }

    /// A manifest in our own folder that names a program called as ours was written by one of us.
    pub fn may_be_ours(&self, starts: Option<&Value>) -> bool {
        let named = starts.and_then(Value::as_str).map(Path::new).and_then(Path::file_name);
        named.is_some() && named == self.program.file_name()
    }

    /// Compares the key with what we would write.
    pub fn examine(&self, manifest: &Path) -> Standing {
        match registry::value(&self.key()) {
            Err(refusal) => Standing::Unreadable(refusal.to_string()),
            Ok(None) => Standing::Missing,
            Ok(Some(named)) if Path::new(&named) != manifest => {
                Standing::Foreign(format!("the registry names {named:?}"))
            }
            Ok(Some(_)) => Standing::Ok,
        }
    }

    /// This program is there.
    pub fn write_what_it_starts(&self) -> Result<(), OsRefusal> {
        Ok(())
    }

    /// Writes the key.
    pub fn write_what_names(&self, manifest: &Path) -> Result<(), OsRefusal> {
        let named = manifest.to_str().ok_or_else(|| {
            OsRefusal::io(
                "name",
                manifest,
                std::io::Error::other("the registry holds text, and this is none"),
            )
        })?;
        registry::set(&self.key(), named)
    }

    fn key(&self) -> String {
        format!("{}\\NativeMessagingHosts\\{NATIVE_HOST_ID}", self.vendor)
    }
}
