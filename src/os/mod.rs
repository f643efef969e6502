//! The machine behind small interfaces: files, sockets, peers, standard streams. No decisions about calls live here.
//!
//! What a file, directory or peer must look like before we trust it is decided here and refused as [`OsRefusal`].
//! Linux is what runs and is tested; macOS differs where a `cfg` says so.

pub mod browsers;
pub mod fail_point;
pub mod files;
pub mod lock;
pub mod log;
pub mod peer;
pub mod random;
mod refusal;
pub mod runtime_dir;
pub mod socket;
pub mod stdio;

pub use refusal::OsRefusal;
