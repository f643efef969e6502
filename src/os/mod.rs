//! The machine behind small interfaces: files, sockets, peers, standard streams. No decisions about calls live here.
//!
//! What a file, directory or peer must look like before we trust it is decided here and refused as [`OsRefusal`].
//! Linux is what runs and is tested; macOS and Windows stand behind the same interfaces and are type-checked.

pub mod audit_log;
pub mod browsers;
pub mod fail_point;
pub mod files;
pub mod lock;
pub mod log;
pub mod own_image;
pub mod peer;
pub mod platform;
pub mod private_dir;
mod private_file;
pub mod random;
pub mod records;
mod refusal;
#[cfg(windows)]
pub mod registry;
pub mod runtime_dir;
pub mod signals;
pub mod socket;
pub mod state_dir;
pub mod stdio;
pub mod terminal;
pub mod trust_store;
pub(crate) mod user;
#[cfg(windows)]
mod windows;

pub use refusal::OsRefusal;
