//! The vocabulary of the audit log. Records join it with admission; until then it fixes names for both languages.

/// Kinds that only the host writes.
pub const HOST_AUDIT_KINDS: &[&str] = &[
    "tool_call",
    "harness_admit",
    "harness_refuse",
    "attach_refuse",
    "browser_attach",
    "browser_refuse",
    "pair_client",
    "revoke_client",
    "host_key_revoke",
    "kill_engage",
    "kill_release",
    "presence_sign",
    "policy_write",
];

/// Kinds that the extension may report; anything else from there is refused.
pub const EXTENSION_AUDIT_KINDS: &[&str] = &[
    "confirm_shown",
    "confirm_allowed",
    "confirm_denied",
    "enroll_approved",
    "enroll_rejected",
    "enroll_revoked",
];
