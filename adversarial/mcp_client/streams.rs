//! T010, T011, T178: what is on standard output, whatever happens inside.

use serde_json::{Value, json};

use super::*;

#[test]
fn t178_stdout_holds_nothing_but_protocol_at_trace_level() {
    let settings = [("GENKAN_LOG", "trace"), ("RUST_LOG", "trace"), ("GENKAN_LOG_FORMAT", "json")];
    let mut server = Server::start(&settings);
    server.send_raw(b"junk\n");
    server.send(&initialize(1, "2025-11-25"));
    server.send(&call(2, "list_browsers", json!({})));
    server.send(&call(3, "tab_list", json!({})));
    let (_, said, _) = server.end();
    assert_protocol(&said);
    assert!(said.len() >= 3, "{said:?}");
}

/// A panic in any thread aborts; what was written before it is whole, and the report is on stderr.
#[test]
fn t010_t178_a_panic_in_any_thread_leaves_only_protocol_on_stdout() {
    if !crate::stage::fails_on_request() {
        return;
    }
    for place in ["reader", "writer", "mcp-call"] {
        let mut server = Server::start(&[("GENKAN_FAIL_POINT", place), ("GENKAN_LOG", "trace")]);
        server.send(&modern(1, "tools/list", json!({})));
        server.send(&call(2, "list_browsers", json!({})));
        let (status, said, logged) = server.wait();
        assert_eq!(status.signal(), Some(ABORTED), "{place}: {status} {logged}");
        assert!(logged.contains(place), "{place}: {logged}");
        assert_protocol(&said);
    }
}

#[test]
fn t010_t178_what_a_library_prints_goes_to_stderr() {
    if !crate::stage::fails_on_request() {
        return;
    }
    let mut server = Server::start(&[("GENKAN_FAIL_POINT", "mcp-print")]);
    assert_eq!(server.ask(&call(1, "list_browsers", json!({})))["id"], 1);
    let (_, said, logged) = server.end();
    assert!(said.is_empty(), "{said:?}");
    assert!(logged.contains("fail point mcp-print"), "{logged}");
}

fn assert_protocol(said: &[String]) {
    for line in said {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not protocol: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
}

#[test]
fn t011_a_client_that_stops_reading_ends_the_server() {
    let mut server = Server::start(&[]);
    let mut child = {
        serves(&mut server);
        server
    };
    // The reader thread owns the pipe; a server of our own here has none.
    let mut bare = Command::new(crate::stage::binary());
    let home = home();
    bare.env_clear().env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    let mut bare = bare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(bare.stdout.take());
    let mut stdin = bare.stdin.take().unwrap();
    let line = format!("{}\n", modern(1, "tools/list", json!({})));
    // Its end of the pipe breaks once it has gone.
    while stdin.write_all(line.as_bytes()).is_ok() {}
    assert!(bare.wait().unwrap().code().is_some(), "it leaves by itself, not by a signal");
    drop(child.stdin.take());
}
