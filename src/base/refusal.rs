//! The closed set of reasons for which a call is refused or fails, with what a person and a program need to know.
//!
//! Codes are stable: clients decide by them. Messages are sentences for the model and the person; they name the remedy.

use alloc::string::String;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a refusal comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The request itself is wrong.
    Protocol,
    /// There is no way to the browser.
    Connection,
    /// A rule or an absent grant forbids it.
    Permission,
    /// The person said no, or nothing.
    User,
    /// The page or the browser could not do it.
    Execution,
    /// A defect of ours.
    Internal,
}

macro_rules! codes {
    ($($code:ident $text:literal $category:ident $retry:literal $message:literal)*) => {
        /// A stable code. Serialised as its upper-case name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $(#[doc = $message] #[serde(rename = $text)] $code,)*
        }

        /// One row per code.
        pub const ERROR_SPECS: &[ErrorSpec] = &[
            $(ErrorSpec { code: Code::$code, name: $text, category: Category::$category, retryable: $retry, message: $message },)*
        ];

        impl Code {
            /// The row of this code.
            pub const fn spec(self) -> ErrorSpec {
                match self {
                    $(Code::$code => ErrorSpec { code: Code::$code, name: $text, category: Category::$category, retryable: $retry, message: $message },)*
                }
            }
        }
    };
}

/// What is known about a code without a case at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorSpec {
    /// The code.
    pub code: Code,
    /// Its stable name.
    pub name: &'static str,
    /// Where it comes from.
    pub category: Category,
    /// Whether the same call may succeed later without anything being changed.
    pub retryable: bool,
    /// What happened and what to do, when nothing more exact is known.
    pub message: &'static str,
}

codes! {
    InvalidArgument "INVALID_ARGUMENT" Protocol false "The arguments do not fit this tool. Correct them as its schema says."
    NotConnected "NOT_CONNECTED" Connection true "No browser is connected. Open the browser with the genkan extension and try once more; its worker may have been asleep. `genkan doctor` shows what is missing."
    ProtocolMismatch "PROTOCOL_MISMATCH" Protocol false "The genkan program and the browser extension speak different versions. Update the older one, then reload the extension."
    ExtensionNotReady "EXTENSION_NOT_READY" Connection true "The extension does not offer this tool now. Update or reload the extension, then try again."
    SiteNotAllowed "SITE_NOT_ALLOWED" Permission false "This site is not approved. Ask the person to open it, press the genkan icon and allow the site."
    HostPermissionMissing "HOST_PERMISSION_MISSING" Permission false "The browser has not given genkan this permission. Ask the person to grant it in the genkan popup."
    ToolDisabled "TOOL_DISABLED" Permission false "This tool is switched off. The person can switch it on in the genkan options."
    UserDenied "USER_DENIED" User false "The person refused this act. Do not repeat it; ask them what to do instead."
    ConfirmationTimeout "CONFIRMATION_TIMEOUT" User true "Nobody answered the confirmation in time, so it was refused. Ask the person to watch the browser, then try again."
    TabNotFound "TAB_NOT_FOUND" Execution false "There is no such tab. List the tabs again and use an id from there."
    UnsupportedPage "UNSUPPORTED_PAGE" Execution false "genkan does not act on this kind of page: browser pages, extension pages, stores and genkan's own pages are out of reach by design."
    ExecutionFailed "EXECUTION_FAILED" Execution false "The page could not do this."
    PayloadTooLarge "PAYLOAD_TOO_LARGE" Protocol false "The data is larger than genkan passes on. Use a size argument to ask for less."
    ResponseTimeout "RESPONSE_TIMEOUT" Connection true "The browser did not answer in time. The act may or may not have happened; read the page before you repeat it."
    ConnectionLost "CONNECTION_LOST" Connection true "The browser went away during the call. The act may or may not have happened; read the page before you repeat it."
    BrowserAmbiguous "BROWSER_AMBIGUOUS" Protocol false "Several browsers fit. Call list_browsers and name one in `browser`."
    BrowserNotFound "BROWSER_NOT_FOUND" Connection true "No connected browser has that label. Call list_browsers."
    BridgeKilled "BRIDGE_KILLED" Permission false "The kill switch is on. Only the person can release it, with `genkan unkill`."
    InternalError "INTERNAL_ERROR" Internal false "genkan failed inside. Please report what you did."
    ClientNotAdmitted "CLIENT_NOT_ADMITTED" Permission false "This program is not on the list of paired clients. The person can pair it with `genkan pair-client`."
    ClientRevoked "CLIENT_REVOKED" Permission false "The person withdrew this program's access."
    ClientChanged "CLIENT_CHANGED" Permission false "This program's file changed since it was paired. The person must pair it again."
    ClientPaused "CLIENT_PAUSED" Permission true "The person paused this program."
    Cancelled "CANCELLED" User false "The call was cancelled."
    BrokerBusy "BROKER_BUSY" Connection true "Another program holds the browser door. Close it there, then try again."
}

/// A refused or failed call: the code, and the sentence for this case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// One or two sentences: what refused, why, and what to do.
    pub message: String,
}

impl Refusal {
    /// The code's own sentence.
    pub fn plain(code: Code) -> Self {
        Self { code, message: code.spec().message.into() }
    }

    /// A sentence for this case.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.code.spec().name, self.message)
    }
}

impl core::error::Error for Refusal {}
