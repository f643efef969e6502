//! The attacker writes into the host's standard input, as a compromised extension or any program that starts the genuine
//! host can. The host's framing, parser and router must refuse; what passes may never be more than answers to open
//! calls.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::stage::{ABORTED, Home, Host, binary, done, hello, request};

/// Layer: wire/framing. An allocation of the declared size would exceed the address space the host is given.
#[test]
fn t002_a_declared_length_above_the_limit_ends_the_host_before_memory_is_taken() {
    for length in [u32::MAX, 67_108_865] {
        let home = Home::new();
        let mut shell = home.command(&[]);
        let inner = format!("ulimit -v 1048576; exec '{}' --native-host", binary());
        let mut limited = Command::new("/bin/sh");
        limited.env_clear().envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.args(["-c", &inner]);
        shell.stdin(Stdio::null());
        let mut host = Host::run(limited);
        host.say_raw(&length.to_le_bytes());
        let (status, frames, log) = host.end();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("longer than 67108864 bytes"), "{log}");
        assert_eq!(frames.len(), 1, "only the host's hello");
    }
}

/// Layer: wire/framing.
#[test]
fn t003_an_empty_or_unfinished_frame_ends_the_host_and_reaches_nobody() {
    let unfinished = [&[0, 0, 0, 0][..], &[9, 0], &[9, 0, 0, 0], &[9, 0, 0, 0, b'{', b'"']];
    for bytes in unfinished {
        let home = Home::new();
        let mut host = Host::greeted(&home);
        host.say_raw(bytes);
        host.close_input();
        let (status, frames, log) = host.end();
        assert_eq!(status.code(), Some(1), "{bytes:?}: {log}");
        assert!(frames.is_empty(), "{frames:?}");
    }
}

/// Layer: wire/json. Nothing is repaired: no replacement characters, nothing skipped.
#[test]
fn t004_bytes_that_are_not_one_exact_json_text_end_the_host_and_reach_no_broker() {
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend_from_slice(done(1, "x").to_string().as_bytes());
    let texts: [&[u8]; 6] = [
        b"{\"id\":1,\"ok\":true,\"data\":{\"text\":\"\xff\"}}",
        &marked,
        b"{\"id\":1,\"ok\":true,\"data\":{\"text\":\"\\ud800\"}}",
        b"{\"id\":1,\"ok\":true,\0\"data\":{\"text\":\"x\"}}",
        b"{\"id\":1,\"ok\":true,\"data\":{\"text\":\"x\"}} {}",
        b"{\"id\":1,\n\"ok\":true,\"data\":{\"text\":\"x\"}}",
    ];
    for text in texts {
        let home = Home::new();
        let (mut host, mut link) = Host::attached(&home);
        link.say(&request(1));
        assert_eq!(host.hear()["id"], 1);
        host.say_bytes(text);
        let (status, _, log) = host.end();
        assert_eq!(status.code(), Some(1), "{log}");
        assert_eq!(link.hear_line(), None, "{}", String::from_utf8_lossy(text));
    }
}

/// Layer: wire/control.
#[test]
fn t006_unknown_members_and_key_variants_in_a_hello_end_the_host() {
    let with = |name: &str| {
        let mut frame = hello();
        frame.as_object_mut().unwrap().insert(name.into(), json!(1));
        frame
    };
    let mut nested = hello();
    nested["capabilities"] = json!([{ "tab_control": {} }]);
    for frame in [with("extra"), with("Type"), with("BRIDGE"), nested] {
        let home = Home::new();
        let mut host = Host::start(&home);
        assert_eq!(host.hear()["type"], "host_hello");
        host.say(&frame);
        let (status, frames, log) = host.end();
        assert_eq!(status.code(), Some(1), "{frame}: {log}");
        assert!(frames.is_empty(), "{frames:?}");
    }
}

/// Layer: wire/bridge. The call fails by name; the link and other calls live.
#[test]
fn t006_an_answer_with_unknown_members_at_any_depth_fails_its_call_alone() {
    let home = Home::new();
    let (mut host, mut link) = Host::attached(&home);
    let answers = [
        json!({ "id": 1, "ok": true, "data": { "text": "x" }, "extra": 1 }),
        json!({ "id": 2, "ok": true, "data": { "text": "x", "Text": "y" } }),
        json!({ "id": 3, "ok": true, "data": { "text": "x" }, "error": null }),
        json!({ "id": 4, "ok": false, "error": { "code": "USER_DENIED", "message": "m", "more": 1 } }),
    ];
    for answer in answers {
        let id = answer["id"].as_u64().unwrap();
        link.say(&request(id));
        assert_eq!(host.hear()["id"], id);
        host.say(&answer);
        let heard = link.hear();
        assert_eq!((heard["id"].as_u64(), &heard["error"]["code"]), (Some(id), &json!("EXECUTION_FAILED")));
    }
    link.say(&request(9));
    host.hear();
    host.say(&done(9, "fine"));
    assert_eq!(link.hear(), done(9, "fine"));
    host.close();
}

/// Layers: wire/framing, wire/json. A frame may be 64 MiB, but its parts may not be anything, and memory comes back.
#[test]
fn t007_a_huge_string_fails_its_call_and_memory_stays_flat() {
    let home = Home::new();
    let (mut host, mut link) = Host::attached(&home);
    let text = "x".repeat(60_000_000);
    let mut peaks = Vec::new();
    for id in 1..=4 {
        link.say(&request(id));
        assert_eq!(host.hear()["id"], id);
        host.say(&done(id, &text));
        assert_eq!(link.hear()["error"]["code"], "EXECUTION_FAILED");
        peaks.push(host.peak_kib());
    }
    assert!(peaks[3] < 400_000, "{peaks:?} KiB");
    assert!(peaks[3] <= peaks[1] + 16_384, "repeating it costs nothing more: {peaks:?} KiB");
    host.close();
}

/// Layer: wire/json.
#[test]
fn t007_depth_and_number_of_values_are_refused_without_building_them() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let wide = format!("[{}0]", "0,".repeat(1_000_000));
    for text in [deep, wide] {
        let home = Home::new();
        let mut host = Host::greeted(&home);
        let before = host.peak_kib();
        host.say_bytes(format!("{{\"id\":1,\"ok\":true,\"data\":{text}}}").as_bytes());
        host.say_raw(&[0; 64]);
        let (status, _, log) = host.end();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(status.signal().is_none() && before < 100_000, "no stack overflow");
        assert!(log.contains("deeper") || log.contains("more than"), "{log}");
    }
}

/// Layer: os/stdio. Answers and the host's own frames share one writer a stream.
#[test]
fn t009_fifty_calls_at_once_stay_whole_on_both_streams() {
    let home = Home::new();
    let (mut host, mut link) = Host::attached(&home);
    for id in 0..50 {
        link.say(&request(id));
        host.say(&json!({ "type": "host_status" }));
    }
    let frames: Vec<_> = (0..100).map(|_| host.hear()).collect();
    let ids: Vec<_> = frames.iter().filter_map(|frame| frame["id"].as_u64()).collect();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "host_status_result").count(), 50);
    for id in (0..50).rev() {
        let size = usize::try_from(id).unwrap() * 1_000 + 1;
        host.say(&done(id, &"y".repeat(size)));
    }
    for id in (0..50).rev() {
        let size = usize::try_from(id).unwrap() * 1_000 + 1;
        assert_eq!(link.hear(), done(id, &"y".repeat(size)));
    }
    host.close();
}

/// Layer: main. The hook writes to standard error and aborts, whichever thread it was.
#[test]
fn t010_a_panic_in_any_thread_aborts_and_standard_output_holds_frames_only() {
    if !crate::stage::fails_on_request() {
        return;
    }
    for place in ["reader", "writer", "loop"] {
        let home = Home::new();
        let mut command = home.command(&["--native-host"]);
        command.env("GENKAN_FAIL_POINT", place).env("GENKAN_LOG", "trace");
        let (status, frames, log) = Host::run(command).end();
        assert_eq!(status.signal(), Some(ABORTED), "{place}: {log}");
        assert!(log.contains(&format!("fail point {place}")), "{log}");
        assert!(frames.iter().all(|frame| frame["type"] == "host_hello"), "{frames:?}");
    }
}

/// Layer: os/stdio. SIGPIPE is ignored, so the broken stream is seen as an error and the broker's link ends with it.
#[test]
fn t011_a_browser_that_stops_reading_ends_the_host_and_severs_the_broker() {
    let home = Home::new();
    let broker = home.broker();
    let mut command = home.command(&["--native-host"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let hello = hello().to_string();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &u32::try_from(hello.len()).unwrap().to_le_bytes()).unwrap();
    std::io::Write::write_all(&mut stdin, hello.as_bytes()).unwrap();
    let mut link = broker.attach();
    drop(child.stdout.take());
    for id in 0..8 {
        link.say(&request(id));
    }
    assert_eq!(link.hear_line(), None);
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    drop(stdin);
}

/// Layer: role/native_host/relay. Only answers to open calls pass, each once.
#[test]
fn t026_answers_nobody_waits_for_do_not_reach_the_broker() {
    let home = Home::new();
    let (mut host, mut link) = Host::attached(&home);
    link.say(&request(1));
    host.hear();
    host.say(&done(77, "forged"));
    host.say(&done(1, "first"));
    host.say(&done(1, "again"));
    link.say(&request(2));
    host.hear();
    host.say(&done(2, "second"));
    assert_eq!(link.hear(), done(1, "first"));
    assert_eq!(link.hear(), done(2, "second"));
    host.close();
}
