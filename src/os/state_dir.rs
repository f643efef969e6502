//! Where records lie that must outlive a restart: the trust record and the audit log.
//!
//! Decides the directory: `$XDG_STATE_HOME/genkan`, else `~/.local/state/genkan`; on macOS
//! `~/Library/Application Support/genkan`. A runtime directory is memory, and a kill switch that a reboot clears is
//! none. Refuses a directory that is not private, one that is the runtime directory too, because the broker keeps that
//! one locked for life, and one that is the folder of the mark too, because who puts back an older folder would put back
//! its mark. Does not know what the files mean.

use std::path::PathBuf;

use super::OsRefusal;
use super::private_dir::PrivateDir;
use super::runtime_dir::{Environment, RuntimeDir};
use crate::base::identity::DIR_NAME;

/// The open state directory.
#[derive(Debug)]
pub struct StateDir {
    dir: PrivateDir,
}

impl StateDir {
    /// Chooses, makes and checks the directory.
    pub fn open(environment: &Environment) -> Result<Self, OsRefusal> {
        let path = Self::locate(environment)?;
        let others = [RuntimeDir::locate(environment), environment.data_dir()];
        if others.into_iter().flatten().any(|other| other == path) {
            return Err(OsRefusal::Shared { path });
        }
        Ok(Self { dir: PrivateDir::below(&environment.state_parent()?, true)? })
    }

    /// Where the directory is or would be; makes nothing.
    pub fn locate(environment: &Environment) -> Result<PathBuf, OsRefusal> {
        Ok(environment.state_parent()?.join(DIR_NAME))
    }
}

impl core::ops::Deref for StateDir {
    type Target = PrivateDir;

    fn deref(&self) -> &PrivateDir {
        &self.dir
    }
}
