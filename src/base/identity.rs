//! Who we are to a browser, to a client and to our own other processes. The only definition of the host id, of the
//! extension's pinned key, and of the names under which processes find each other.

/// Name of the native messaging host, as registered with browsers and asked for by the extension.
pub const NATIVE_HOST_ID: &str = "com.vivswan.genkan.host";

/// Public half of the RSA key that fixes the extension's id (base64 DER, as the browser manifest wants it).
/// The private half was discarded when the key was made: it could only sign packed extensions, which we do not ship.
pub const EXTENSION_MANIFEST_KEY: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAjefbrRySZSqMp+2iZQsvQ55z9SCvKZlb0pEicfM0sKQZljm0i6JbdQvXqRnfmM0ks44kOtwG7sZaCjmVTjsrh3jd5a1iXXy4XHK87LXB3oHDA5KwTAlrWCpIlrzTQXGAwW8k1tIg2WQkczmf8/JGc48bfLiodgzFgdzzQrrQXZW8dek8DH+s8waUcww6EZvxf7nKNb8vMVGx+kUpDl2pXRK0w5BfnV6Ojr02vrkXGv01wg1v37uPlR6opFHq+zaDTBMnhtC6eYDVg654ZGZCEe0SRJLUV/nJl96miQ4ZNBo/p9BjDWz3RHSiTygOIYEgFadn7XH+Jw6TWaOT3abq5QIDAQAB";

/// The id that browsers derive from [`EXTENSION_MANIFEST_KEY`]: the first 32 hex digits of its SHA-256, 0–f as a–p.
pub const PINNED_EXTENSION_ID: &str = "fhfbdalnecakiolkelkaididjlheojno";

/// The caller origin that a browser puts into the host's argv. Exactly this selects host mode.
pub const PINNED_EXTENSION_ORIGIN: &str = "chrome-extension://fhfbdalnecakiolkelkaididjlheojno/";

/// Newest MCP revision we serve; not the bridge protocol's version and not the release.
pub const MCP_PROTOCOL_VERSION: &str = "2026-07-28";

/// Folder of ours below the system's runtime, cache and state folders.
pub const DIR_NAME: &str = "genkan";
/// Lock file of the runtime folder: the broker's pid and the secret of its run.
pub const LOCK_FILE: &str = "run.lock";
/// Bridge socket of the runtime folder.
pub const SOCKET_FILE: &str = "bridge.sock";
/// Trust record of the state folder.
pub const TRUST_FILE: &str = "trust.json";
/// Mark of the newest trust record, in the data folder: where that record does not lie.
pub const EPOCH_MARK_FILE: &str = "trust.epoch";
/// Audit log of the state folder.
pub const AUDIT_FILE: &str = "audit.log";
/// Beside the trust record: engages the kill switch as long as it is there.
pub const STOP_FILE: &str = "stop";
/// Environment variable that sets how much is logged to stderr.
pub const LOG_ENV: &str = "GENKAN_LOG";
/// Environment variable that sets the form of the log: `text` or `json`.
pub const LOG_FORMAT_ENV: &str = "GENKAN_LOG_FORMAT";
