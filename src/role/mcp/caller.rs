//! Who asks, as far as it is known: the measured image of the parent process, and a name that the client gave
//! itself. The key separates this process's clients from all others; nothing a client says can choose it.

use rmcp::RoleServer;
use rmcp::service::RequestContext;

use crate::base::limits::CLIENT_NAME_CHARS_MAX;
use crate::base::shown::shown;
use crate::wire::bridge::Caller;

/// What stays the same for all calls of one server process.
pub struct Entrance {
    /// Random per process.
    pub key: String,
    /// Path of the parent's executable, as the kernel reports it; empty if it could not be measured.
    pub image: String,
}

impl Entrance {
    /// The caller of one request. Unverified: no list of paired clients exists yet.
    pub fn caller(&self, request: &RequestContext<RoleServer>) -> Caller {
        let name = request.client_info().map(|info| info.title.unwrap_or(info.name)).unwrap_or_default();
        Caller {
            key: self.key.clone(),
            name: shown(&name, CLIENT_NAME_CHARS_MAX),
            image: self.image.clone(),
            verified: false,
        }
    }
}
