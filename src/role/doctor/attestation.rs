//! What attestation sees: this program's own file, what the kernel offers to measure others by, and who speaks to us.

use crate::os::peer;
use crate::wire::client::Holder;

use super::refused;
use super::report::Finding;

/// Our file, our means, and the client as it would be measured had it started an MCP server here.
pub fn findings() -> Vec<Finding> {
    vec![program(), means(), client()]
}

fn program() -> Finding {
    let subject = "program";
    let own = match peer::own() {
        Ok(own) => own,
        Err(refusal) => return refused(subject, &refusal),
    };
    let owner = if own.is_package() { "a system package" } else { "your own file" };
    let detail = format!("sha256 {}…, {owner}", own.sha256().short());
    if own.replaced() {
        Finding::problem(subject, "stale", &format!("{detail}; another file lies at its path now"))
            .remedy("restart your MCP clients and the browser")
    } else {
        Finding::ok(subject, &detail)
    }
    .at(own.path())
}

#[cfg(target_os = "linux")]
fn means() -> Finding {
    let sight = peer::sight();
    let subject = "attestation";
    let peers =
        if sight.peer_descriptor { "peers by descriptor" } else { "peers by number (before Linux 6.5)" };
    let debugging = match sight.ptrace_scope {
        None | Some(0) => "any program of yours may debug genkan",
        Some(1) => "programs of yours may debug what they start",
        Some(_) => "no program of yours may debug another",
    };
    let typing = if sight.terminal_injection {
        "programs in a terminal's session may type there"
    } else {
        "no program may type into a terminal it did not make"
    };
    if !sight.dumpable {
        Finding::problem(subject, "hidden", "genkan's own processes cannot measure each other")
            .remedy("make the program's file readable for you (chmod u+r)")
    } else if !sight.socket_diagnosis {
        Finding::problem(subject, "blind", "the kernel does not say whose socket a client uses")
            .remedy("have root load the kernel module unix_diag")
    } else {
        Finding::ok(subject, &format!("{peers}; {debugging}; {typing}"))
    }
}

/// The same on every machine: nothing there can be switched on or off.
#[cfg(not(target_os = "linux"))]
fn means() -> Finding {
    Finding::note(
        "attestation",
        "partial",
        "peers by the path of their file; who sends a message is not told here",
    )
}

fn client() -> Finding {
    let subject = "client";
    match peer::client() {
        Ok(client) => {
            let holders: Vec<String> = client.holders().iter().map(described).collect();
            Finding::ok(subject, &holders.join("; "))
        }
        Err(refusal) => Finding::note(subject, "unknown", &refusal.to_string()),
    }
}

fn described(holder: &Holder) -> String {
    let script = match (&holder.script, holder.interpreter) {
        (Some(script), _) => format!(" with the script {}", script.path),
        (None, true) => ", an interpreter, with an unknown script".into(),
        (None, false) => String::new(),
    };
    let image = &holder.image;
    let replaced = if image.replaced { ", replaced since" } else { "" };
    format!("process {} runs {}{script} (sha256 {}…{replaced})", holder.pid, image.path, image.sha256.short())
}
