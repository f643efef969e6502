//! Every bound of the program, with its unit. A loop, queue or buffer elsewhere takes its bound from here.

// One block, so that a bound cannot be declared without reaching the contract with the extension.
macro_rules! limits {
    ($($(#[doc = $doc:literal])+ pub const $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: $type = $value;)+

        /// Every bound: name, what it says, value. All are exact in a double.
        pub const ALL: &[(&str, &str, f64)] = &[
            $((stringify!($name), concat!($($doc),+), $name as f64),)+
        ];
    };
}

limits! {
/// Bytes of JSON in one native-messaging frame to the browser. The browser drops the port above it.
pub const NM_OUT_BYTES_MAX: usize = 1_048_576;
/// Bytes of JSON in one native-messaging frame from the browser.
pub const NM_IN_BYTES_MAX: usize = 67_108_864;
/// Bytes of one bridge line without its LF: the largest frame from the browser plus its envelope.
pub const BRIDGE_LINE_BYTES_MAX: usize = NM_IN_BYTES_MAX + 65_536;
/// Bytes of one MCP line without its LF.
pub const MCP_LINE_BYTES_MAX: usize = 16 * 1_048_576;
/// Bytes of one line from a relay without its LF: the largest line of its client plus its envelope.
pub const RELAY_LINE_BYTES_MAX: usize = MCP_LINE_BYTES_MAX + 65_536;
/// Requests of one MCP client that have no answer yet.
pub const MCP_OPEN_REQUESTS_MAX: usize = 128;
/// Bytes of a progress token that is text: it comes back in every report.
pub const PROGRESS_TOKEN_BYTES_MAX: usize = 256;
/// Characters of a protocol version that its refusal echoes.
pub const PROTOCOL_VERSION_CHARS_MAX: usize = 32;
/// Characters of the name that a client gives itself, and of an unknown tool's name that its refusal echoes.
pub const CLIENT_NAME_CHARS_MAX: usize = 64;
/// Bytes of one handshake line: a relay's client may be several programs with long paths.
pub const HANDSHAKE_LINE_BYTES_MAX: usize = 262_144;
/// Levels of nested arrays and objects in any JSON we read.
pub const JSON_DEPTH_MAX: usize = 64;
/// Values (elements, members, containers) in one JSON text: memory for them is many times their text.
pub const JSON_VALUES_MAX: usize = 100_000;
/// Largest integer that both ends hold exactly (2^53 − 1).
pub const SAFE_INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// Bytes of the reassembled frame that chunks may carry to the browser.
pub const CHUNK_TOTAL_BYTES_MAX: usize = 16 * 1_048_576;
/// Bytes of text in one chunk; escaped as JSON it stays under [`NM_OUT_BYTES_MAX`] even if every byte is escaped.
pub const CHUNK_TEXT_BYTES_MAX: usize = 160 * 1024;

/// Bytes of a JSON-RPC string id.
pub const RPC_ID_BYTES_MAX: usize = 256;
/// Bytes of a version as a peer names it.
pub const VERSION_BYTES_MAX: usize = 64;

/// Milliseconds that one call may take in all: waiting for a browser, confirming, acting.
pub const CALL_BUDGET_MS: u32 = 55_000;
/// Milliseconds for a call whose client asked for progress.
pub const CALL_BUDGET_PROGRESS_MS: u32 = 120_000;
/// Milliseconds to wait for a browser while a host is known.
pub const CONNECT_WAIT_MS: u32 = 12_000;
/// Milliseconds to wait while no host is known at all: a sleeping worker wakes at its next 30 s alarm.
pub const CONNECT_WAIT_ASLEEP_MS: u32 = 35_000;
/// Milliseconds between two progress notifications of one call.
pub const PROGRESS_EVERY_MS: u32 = 5_000;
/// States of one call that may wait to be reported.
pub const PROGRESS_STATES_MAX: usize = 8;
/// Milliseconds for the last lines or frames to reach a peer whose input has ended.
pub const LAST_LINES_MS: u32 = 1_000;
/// Milliseconds for a peer of the bridge socket to finish its handshake.
pub const HANDSHAKE_MS: u32 = 5_000;
/// Milliseconds for the extension to answer the host's hello.
pub const EXTENSION_HELLO_MS: u32 = 10_000;
/// Milliseconds between two attempts of a host to reach an absent broker, first and last.
pub const REDIAL_MS_MIN: u32 = 100;
/// See [`REDIAL_MS_MIN`].
pub const REDIAL_MS_MAX: u32 = 2_000;
/// Milliseconds after a broker began in which a browser that is not there yet may still be on its way: hosts redial.
pub const SETTLING_MS: u32 = REDIAL_MS_MAX + 500;
/// Milliseconds until the extension opens its port again after it closed.
pub const PORT_RETRY_MS: u32 = 2_000;
/// Minutes between the extension's wake-up alarms (half a minute is the floor browsers keep for packed extensions).
pub const ALARM_MINUTES: f64 = 0.5;

/// Milliseconds between two looks at whether the trust record changed, while anything is attached.
pub const TRUST_TICK_MS: u32 = 250;
/// Milliseconds after the host was asked whether the kill switch is off in which an act may begin, whatever stood still
/// meanwhile. Engaging waits at least as long before it says that nothing happens any more.
pub const ACT_FRESH_MS: u32 = 250;
/// Milliseconds for the host to answer a question of the extension.
pub const EXCHANGE_MS: u32 = 5_000;
/// Milliseconds that a call waits for another client's call on the same tab.
pub const TAB_TURN_MS: u32 = 10_000;
/// Bytes of one text in an audit event.
pub const AUDIT_TEXT_BYTES_MAX: usize = 256;
/// Records that one reading of the audit log may ask for.
pub const AUDIT_ENTRIES_MAX: u32 = 1_000;
/// Records of one reading that names no number.
pub const AUDIT_ENTRIES_DEFAULT: u32 = 200;
/// Events that the extension itself keeps.
pub const AUDIT_RING_MAX: usize = 200;

/// Milliseconds a confirmation for a click, fill or tab close stays open; then it denies.
pub const CONFIRM_CLICK_MS: u32 = 30_000;
/// Milliseconds after a confirmation window opens or regains focus in which input is ignored.
pub const CONFIRM_GUARD_MS: u32 = 500;
/// Milliseconds that one approval also covers the same kind of act by the same client on the same tab and origin.
pub const CONFIRM_GRACE_MS: u32 = 60_000;
/// Confirmations that may wait at once; the rest are denied.
pub const CONFIRM_QUEUE_MAX: usize = 4;

/// Browsers attached to one broker at once.
pub const BROWSERS_MAX: usize = 16;
/// Peers of the bridge socket that have not finished their handshake.
pub const HALF_OPEN_MAX: usize = 8;
/// Calls in flight in one broker.
pub const CALLS_MAX: usize = 64;
/// Clients attached to one broker at once, its own among them.
pub const ATTACHED_CLIENTS_MAX: usize = 64;
/// Calls of one client in flight; more wait for its own to end, so that it cannot take all places.
pub const CLIENT_CALLS_MAX: usize = 16;
/// Calls of one client that have no answer yet, in flight or waiting: what its server lets in.
pub const CLIENT_OPEN_CALLS_MAX: usize = MCP_OPEN_REQUESTS_MAX;
/// Bytes of the arguments of one client's calls that no browser has yet: two of the longest lines.
pub const CLIENT_OPEN_BYTES_MAX: usize = 2 * MCP_LINE_BYTES_MAX;
/// Bytes of the arguments of all calls in one broker that no browser has yet.
pub const OPEN_BYTES_MAX: usize = 4 * CLIENT_OPEN_BYTES_MAX;
/// Milliseconds for dispatched calls to end while a broker hands over.
pub const HAND_OVER_MS: u32 = 3_000;
/// Milliseconds between two attempts to become the broker or to reach one, within one call.
pub const ELECT_PAUSE_MS: u32 = 20;
/// Milliseconds for one call to find or become a broker.
pub const ELECT_MS: u32 = 10_000;
/// Frames waiting to be written to one browser.
pub const OUTBOX_FRAMES_MAX: usize = 128;
/// Bytes waiting to be written to one peer of the bridge socket; a peer that reads too slowly is cut.
pub const OUTBOX_BYTES_MAX: usize = 64 * 1_048_576;
/// Milliseconds for which a peer of the bridge socket may take in nothing of what is being written to it.
pub const SLOW_READER_MS: u32 = 10_000;
/// Bytes of a browser label.
pub const LABEL_BYTES_MAX: usize = 32;
/// Hex digits of a per-profile instance id.
pub const INSTANCE_HEX: usize = 32;
/// Hex digits from which on the beginning of an instance id names a browser.
pub const INSTANCE_PREFIX_HEX_MIN: usize = 4;
/// Milliseconds for which a browser refused for its version makes calls to it fail at once. Its host retries sooner.
pub const MISMATCH_RECENT_MS: u32 = 60_000;
/// Bytes of the per-run secret and of a nonce.
pub const SECRET_BYTES: usize = 32;
/// Bytes of `run.lock`.
pub const LOCK_FILE_BYTES_MAX: usize = 4_096;
/// Processes that may hold the other ends of one server's standard streams: a client, its workers, a few that inherited.
pub const HOLDERS_MAX: usize = 16;
/// Bytes of the path of a client's image or script.
pub const CLIENT_PATH_BYTES_MAX: usize = 4_096;
/// Bytes of the name under which an image is signed.
pub const SIGNER_BYTES_MAX: usize = 256;
/// Processes that are looked at in search of the other ends.
pub const PROCESSES_MAX: usize = 65_536;
/// Open descriptors that are looked at in search of the other ends, in all processes together.
pub const DESCRIPTORS_MAX: usize = 1_048_576;
/// Programs of ours in a row, each the client of the next, before a client of another program must come.
pub const GATEWAYS_MAX: usize = 4;
/// Bytes of an image or script that is measured: above it nobody is a client.
pub const IMAGE_FILE_BYTES_MAX: u64 = 2_147_483_648;
/// Bytes of a process's arguments that are read in search of its script.
pub const ARGUMENTS_BYTES_MAX: usize = 131_072;
/// Bytes of `trust.json`.
pub const TRUST_FILE_BYTES_MAX: usize = 2 * 1_048_576;
/// Milliseconds for which it stands who holds the other ends of a server's streams; a later call looks again.
pub const HOLDERS_FRESH_MS: u32 = 1_000;
/// Bytes of the mark of the newest trust record.
pub const EPOCH_MARK_BYTES_MAX: usize = 128;
/// Milliseconds to wait for another process to let go of the lock on records.
pub const RECORD_LOCK_MS: u32 = 5_000;
/// The same while the kill switch is engaged, which holds without it.
pub const ENGAGE_LOCK_MS: u32 = 1_000;
/// Lines of the log that wait for a writer who is held up; those after them are lost and counted.
pub const LOG_QUEUE_LINES_MAX: usize = 256;
/// Refused connections that are told one by one within [`REFUSALS_LOGGED_MS`]; the rest are counted.
pub const REFUSALS_LOGGED_MAX: u32 = 20;
/// Milliseconds.
pub const REFUSALS_LOGGED_MS: u32 = 10_000;
/// Bytes of `audit.log`.
pub const AUDIT_BYTES_MAX: usize = 4 * 1_048_576;
/// Bytes of the newest lines that each class (grants, refusals, traffic) keeps when the log is full.
pub const AUDIT_CLASS_BYTES_MAX: usize = 1_048_576;

/// Characters of a text result when the caller names no size.
pub const RESULT_CHARS_DEFAULT: u32 = 24_000;
/// Characters of a text result, ever: below the limits of known clients.
pub const RESULT_CHARS_MAX: u32 = 45_000;
/// Bytes of a text result with its boundaries and our own words: what [`RESULT_CHARS_MAX`] comes to at worst, and some.
pub const RESULT_BYTES_MAX: usize = 262_144;
/// Bytes of a screenshot before base64.
pub const IMAGE_BYTES_MAX: usize = 700_000;
/// Bytes of a URL.
pub const URL_BYTES_MAX: usize = 8_192;
/// Bytes of a selector.
pub const SELECTOR_BYTES_MAX: usize = 2_048;
/// Bytes of a value to fill.
pub const FILL_BYTES_MAX: usize = 4 * 1_048_576;
/// Rows in a tab list.
pub const TABS_MAX: u32 = 500;
/// Milliseconds an acting tool may take in the page.
pub const ACT_MS: u32 = 20_000;
/// Milliseconds page_wait_for waits, default and most.
pub const WAIT_MS_DEFAULT: u32 = 10_000;
/// See [`WAIT_MS_DEFAULT`].
pub const WAIT_MS_MAX: u32 = 50_000;
/// Minutes that a popup's unanswered request for a site stays valid.
pub const INTENT_MS: u32 = 120_000;
/// Milliseconds for which a client may keep tool definitions.
pub const TOOLS_TTL_MS: u32 = 3_600_000;

/// Milliseconds for a person to type the words of a grant.
pub const TERMINAL_WAIT_MS: u32 = 120_000;
/// Bytes of a line typed at the terminal.
pub const TERMINAL_LINE_BYTES_MAX: usize = 512;
/// Paired clients.
pub const CLIENTS_MAX: usize = 64;
/// Milliseconds that any field of the policy may say: one day.
pub const POLICY_MS_MAX: u64 = 86_400_000;
/// Tools that the policy may switch off by name.
pub const POLICY_TOOLS_MAX: usize = 256;
/// Bytes of the name of a tool in the policy.
pub const POLICY_TOOL_BYTES_MAX: usize = 128;
/// Bytes of a policy document: every name at its longest, and escaped.
pub const POLICY_BYTES_MAX: usize = 262_144;
/// Characters of a path that a sentence shows.
pub const PATH_SHOWN_CHARS_MAX: usize = 256;
/// Characters of the words in one record of the audit log.
pub const AUDIT_DETAIL_CHARS_MAX: usize = 1_024;
/// Bytes of one line of the audit log without its LF.
pub const AUDIT_LINE_BYTES_MAX: usize = 8_192;
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn every_bound_of_this_file_is_in_the_list() {
        let declared = include_str!("limits.rs")
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("pub const ")?.split_once(':'))
            .map(|(name, _)| name)
            .filter(|name| *name != "$name" && *name != "ALL")
            .collect::<Vec<_>>();
        let listed: Vec<_> = ALL.iter().map(|(name, ..)| *name).collect();
        assert_eq!(declared, listed);
    }

    #[test]
    fn every_bound_is_exact_in_both_languages() {
        for (name, _, value) in ALL {
            assert!(*value > 0.0 && *value <= super::SAFE_INTEGER_MAX as f64, "{name} is {value}");
        }
    }
}
