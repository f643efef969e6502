//! The attacker wants a grant: it types for the person, moves files while the question stands open, puts old records back,
//! or runs its own program under a paired name. What must refuse is named a test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::other_user::running_as_root;
use crate::person::Person;
use crate::stage::{Home, binary};

/// A program of the attacker's or the person's own making: a copy of a small one, with bytes of its own at the end.
fn own_program(home: &Home, name: &str, mark: &str) -> PathBuf {
    let path = home.path().join(name);
    let mut bytes = std::fs::read("/bin/cat").unwrap();
    bytes.extend_from_slice(mark.as_bytes());
    let fresh = home.path().join("fresh");
    std::fs::write(&fresh, bytes).unwrap();
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&fresh, &path).unwrap();
    path
}

fn pair_words(name: &str, path: &Path) -> Vec<String> {
    ["pair-client", "--name", name, "--exec", path.to_str().unwrap()].map(str::to_string).to_vec()
}

fn command(home: &Home, words: &[String]) -> Command {
    home.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn agreed(home: &Home, words: &[&str]) -> (i32, String) {
    let mut person = Person::runs(&home.command(words));
    if person.asked_for().is_some() {
        person.agrees();
    }
    person.ends()
}

fn said(home: &Home, words: &[&str]) -> (Option<i32>, String) {
    let output = home.command(words).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn listed(home: &Home) -> Value {
    let (code, text) = said(home, &["list-clients", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The records of the log, oldest first.
fn audit(home: &Home) -> Vec<Value> {
    let (_, text) = said(home, &["audit", "--json"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn state(home: &Home) -> PathBuf {
    home.path().join(".local/state/genkan")
}

/// A client of its own: this test holds the pipes, so it is who speaks.
struct Client {
    child: Child,
    answers: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Client {
    fn starts(home: &Home, mut command: Command) -> Self {
        let log = home.path().join("log");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers, log }
    }

    fn calls(&mut self) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": "list_browsers", "arguments": {}, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        writeln!(self.child.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer:?}: {}", self.logged()))
    }

    fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// What a client is told that starts now.
fn call(home: &Home) -> Value {
    Client::starts(home, home.command(&[])).calls()
}

fn is_refused(answer: &Value, code: &str) {
    assert!(answer["result"]["isError"] == true && answer.to_string().contains(code), "{code}: {answer}");
}

fn is_allowed(answer: &Value) {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

/// Layer: os/trust_store. Nothing is released from an unknown state, and every sentence says the way out.
#[test]
fn t077_a_corrupt_record_allows_nothing_and_the_switch_is_engaged_beside_it() {
    let home = Home::new();
    assert_eq!(said(&home, &["kill"]).0, Some(0));
    let whole = std::fs::read(state(&home).join("trust.json")).unwrap();
    for bad in [&b""[..], b"{}", &whole[..whole.len() / 2], b"\0\0\0\0"] {
        std::fs::write(state(&home).join("trust.json"), bad).unwrap();
        let (code, text) = said(&home, &["kill"]);
        assert!(code == Some(0) && text.contains("by a stop file"), "{text}");
        assert!(text.contains("genkan recover-trust"), "{text}");
        for words in [&["unkill"][..], &["list-clients"], &["revoke-client", "a"]] {
            let (code, text) = said(&home, words);
            assert!(code == Some(1) && text.contains("genkan recover-trust"), "{words:?}: {text}");
        }
        is_refused(&call(&home), "BRIDGE_KILLED");
    }
    let (code, text) = agreed(&home, &["recover-trust"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(listed(&home)["killed"], true);
    assert_eq!(listed(&home)["clients"], json!([]));
}

/// Layer: os/trust_store. The record lies where no reboot clears it, and belongs to no one process or program file.
#[test]
fn t078_the_latch_outlives_a_restart_an_upgrade_a_copied_profile_and_a_cleared_runtime_folder() {
    let home = Home::new();
    assert_eq!(said(&home, &["kill"]).0, Some(0));
    is_refused(&call(&home), "BRIDGE_KILLED");
    // A reboot clears the runtime folder.
    let _ = std::fs::remove_dir_all(home.runtime());
    is_refused(&call(&home), "BRIDGE_KILLED");
    // An upgrade is another file of the program.
    let upgraded = home.path().join("genkan-upgraded");
    let mut bytes = std::fs::read(binary()).unwrap();
    bytes.push(0);
    std::fs::copy(binary(), &upgraded).unwrap();
    std::fs::write(&upgraded, bytes).unwrap();
    let mut newer = Command::new(&upgraded);
    newer.env_clear().env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    is_refused(&Client::starts(&home, newer).calls(), "BRIDGE_KILLED");
    // A home that was copied whole is as stopped as the one it was copied from.
    let copy = Home::new();
    for dir in [".local/state/genkan", ".local/share/genkan"] {
        std::fs::create_dir_all(copy.path().join(dir).parent().unwrap()).unwrap();
        let copied =
            Command::new("cp").arg("-a").arg(home.path().join(dir)).arg(copy.path().join(dir)).status();
        assert!(copied.unwrap().success());
    }
    is_refused(&call(&copy), "BRIDGE_KILLED");
}

/// Layer: trust/kill. The record's own times, and when its file was touched, decide nothing.
#[test]
fn t081_a_clock_that_moved_a_year_releases_nothing() {
    let home = Home::new();
    assert_eq!(said(&home, &["kill"]).0, Some(0));
    for when in ["1 year ago", "1 year", "@0"] {
        for file in ["trust.json", "audit.log"] {
            let touched = Command::new("touch").args(["-d", when]).arg(state(&home).join(file)).status();
            assert!(touched.unwrap().success());
        }
        is_refused(&call(&home), "BRIDGE_KILLED");
        assert_eq!(listed(&home)["killed"], true, "{when}");
    }
    if running_as_root() {
        // A year of the clocks that a process may wait by.
        let plain = home.command(&[]);
        let mut later = Command::new("/usr/bin/unshare");
        later.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        later.args(["--time", "--monotonic", "31536000", "--boottime", "31536000", binary()]);
        is_refused(&Client::starts(&home, later).calls(), "BRIDGE_KILLED");
    }
}

/// Layers: os/trust_store, trust/kill.
#[test]
fn t082_toggled_by_many_at_once_every_change_has_its_place_in_one_order() {
    use genkan::os::runtime_dir::Environment;
    use genkan::os::trust_store::TrustStore;
    use genkan::trust::kill::{engage, release};
    use genkan::trust::presence::Grant;

    const ACTORS: usize = 4;
    const TOGGLES: usize = 2_500;
    let temp = tempfile::Builder::new().tempdir_in("/dev/shm").unwrap();
    let place = |name: &str| Some(temp.path().join(name).into_os_string());
    let environment =
        Environment { home: place("home"), xdg_runtime_dir: place("run"), ..Environment::default() };
    let store = TrustStore::open(&environment).unwrap().with_patience(crate::stage::HANG);
    let seen: Vec<Vec<(u64, bool)>> = std::thread::scope(|scope| {
        let actors: Vec<_> = (0..ACTORS)
            .map(|_| {
                let store = store.clone();
                scope.spawn(move || {
                    let mut seen = vec![];
                    while seen.len() < TOGGLES {
                        let engaged = store.read().unwrap();
                        let changed = if engaged.killed {
                            let asked = Grant::Release { engaged: engaged.engaged };
                            let words = asked.phrase();
                            let present = asked.answered(&words).unwrap();
                            store.change(|state| release(state, &present))
                        } else {
                            store.change(|state| {
                                engage(state);
                                Ok(())
                            })
                        };
                        // Another engagement came first: this yes is not about it.
                        if let Ok(state) = changed {
                            seen.push((state.epoch, state.killed));
                        }
                    }
                    seen
                })
            })
            .collect();
        actors.into_iter().map(|actor| actor.join().unwrap()).collect()
    });
    assert!(seen.iter().all(|one| one.windows(2).all(|pair| pair[0].0 < pair[1].0)), "each sees it rise");
    let mut all: Vec<_> = seen.into_iter().flatten().collect();
    all.sort_unstable();
    let epochs: Vec<u64> = all.iter().map(|(epoch, _)| *epoch).collect();
    assert_eq!(epochs, (1..=(ACTORS * TOGGLES) as u64).collect::<Vec<_>>(), "each epoch was one change");
    assert_eq!(store.read().unwrap().killed, all.last().unwrap().1);
}

/// Layer: trust/admission, asked before every call. That the door stood open was said before.
#[test]
fn t083_the_first_pairing_cuts_off_a_client_that_came_through_the_open_door() {
    let home = Home::new();
    let mut client = Client::starts(&home, home.command(&[]));
    is_allowed(&client.calls());
    assert!(
        client.logged().contains("error") && client.logged().contains("genkan pair-client"),
        "{}",
        client.logged()
    );
    let other = own_program(&home, "other", "x");
    let mut person = Person::runs(&command(&home, &pair_words("other", &other)));
    person.agrees();
    let (code, text) = person.ends();
    assert!(code == 0 && text.contains("closes the door"), "{text}");
    is_refused(&client.calls(), "CLIENT_NOT_ADMITTED");
}

/// Layer: trust/admission, over the built program: this test holds the pipes, so it is the client.
#[test]
fn t084_an_empty_list_admits_nobody_and_no_list_admits_all() {
    let home = Home::new();
    is_allowed(&call(&home));
    let own = std::env::current_exe().unwrap();
    let mut person = Person::runs(&command(&home, &pair_words("suite", &own)));
    person.agrees();
    assert_eq!(person.ends().0, 0);
    is_allowed(&call(&home));
    assert_eq!(said(&home, &["revoke-client", "suite"]).0, Some(0));
    assert_eq!(listed(&home)["clients"], json!([]));
    is_refused(&call(&home), "CLIENT_NOT_ADMITTED");
    assert_eq!(listed(&home)["door"], "paired", "the list does not turn into none");
}

/// Layer: role/argv.
#[test]
fn t087_a_hash_in_another_spelling_pairs_nothing() {
    let home = Home::new();
    let digits = "ab".repeat(32);
    for hash in [digits.to_uppercase(), digits[..63].into(), format!("{digits}0"), format!("sha256:{digits}")]
    {
        let (code, text) = said(&home, &["pair-client", "--name", "n", "--hash", &hash]);
        assert!(code == Some(2) && text.contains("64 digits"), "{text}");
    }
    assert_eq!(listed(&home)["door"], "open");
}

/// Layer: os/terminal. Words in standard input are nobody's words, with a terminal or without.
#[test]
fn t088_words_from_a_pipe_or_a_heredoc_grant_nothing_and_leave_a_trace() {
    let home = Home::new();
    let client = own_program(&home, "client", "x");
    let hash = genkan::wire::client::Sha256(sha256(&client)).short();
    let phrase = format!("pair mine {hash}");
    let words = pair_words("mine", &client);

    // No terminal at all.
    let mut piped = Command::new("/usr/bin/setsid");
    let plain = command(&home, &words);
    piped.arg("--wait").arg(plain.get_program()).args(plain.get_args()).env_clear();
    piped.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let _ = writeln!(child.stdin.as_mut().unwrap(), "{phrase}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a person at a terminal"));

    // A terminal, and the words in a heredoc beside it.
    let heredoc = format!("exec \"$0\" \"$@\" <<END\n{phrase}\nEND");
    let mut person = Person::runs_as(&plain, &["/bin/sh", "-c", &heredoc]);
    assert_eq!(person.asked_for().as_deref(), Some(phrase.as_str()), "it still waits for the terminal");
    person.types("no");
    assert_eq!(person.ends().0, 1);

    assert_eq!(listed(&home)["door"], "open", "nobody was paired");
    let attempts = audit(&home);
    assert_eq!(attempts.len(), 2);
    // Where there was no terminal, none is named as what was asked.
    for (attempt, auth) in attempts.iter().zip([json!(null), json!("terminal")]) {
        let row = (&attempt["event_kind"], &attempt["outcome"], &attempt["auth"], &attempt["code"]);
        assert_eq!(row, (&json!("pair_client"), &json!("refused"), &auth, &json!("USER_DENIED")));
        assert!(attempt["detail"].as_str().unwrap().contains(client.to_str().unwrap()));
    }
    assert!(attempts[0]["detail"].as_str().unwrap().contains("no terminal, started by"));
}

/// Residual: a program that makes a terminal for itself can type the words. It is named in the question and the log.
#[test]
fn t088_a_terminal_that_a_program_made_is_named_by_that_program_in_the_log() {
    let home = Home::new();
    let client = own_program(&home, "client", "x");
    let mut person = Person::runs(&command(&home, &pair_words("mine", &client)));
    person.agrees();
    let (code, text) = person.ends();
    assert_eq!(code, 0, "{text}");
    let own = std::env::current_exe().unwrap().display().to_string();
    assert!(text.contains(&format!("made by {own:?} (process {})", std::process::id())), "{text}");
    let log = audit(&home);
    let begun = log.iter().find(|record| record["outcome"] == "begun").unwrap();
    assert!(begun["detail"].as_str().unwrap().starts_with("terminal /dev/pts/"), "{begun}");
    assert!(begun["detail"].as_str().unwrap().contains(&format!("made by {own:?}")), "{begun}");
    assert_eq!(log.last().unwrap()["outcome"], "done");
    assert_eq!(log.last().unwrap()["cid"], begun["cid"]);
}

/// Layer: role/admin/grant. The path of what is paired is the attacker's: neither its length nor its words hide who typed.
#[test]
fn t088_no_length_and_no_words_of_a_path_hide_the_terminal_in_the_log() {
    let home = Home::new();
    let forged = "prog; terminal /dev/pts/3, made by \"/usr/bin/terminal\" (process 812), ";
    let long = (0..6).fold(PathBuf::from(forged.replace('/', "-")), |path, _| path.join("x".repeat(200)));
    std::fs::create_dir_all(home.path().join(&long)).unwrap();
    let client = own_program(&home, long.join("client").to_str().unwrap(), "x");
    let mut person = Person::runs(&command(&home, &pair_words("mine", &client)));
    person.agrees();
    assert_eq!(person.ends().0, 0);
    let log = audit(&home);
    let begun = log.iter().find(|record| record["outcome"] == "begun").unwrap();
    let detail = begun["detail"].as_str().unwrap();
    let own = std::env::current_exe().unwrap();
    let (origin, granted) = detail.split_once("; ").unwrap();
    assert!(origin.starts_with("terminal /dev/pts/") && origin.contains(&format!("{own:?}")), "{detail}");
    assert!(granted.contains("prog; terminal"), "{detail}");
}

/// Layer: trust/pairing. What was shown is bound: path, bytes and script.
#[test]
fn t089_a_program_that_changes_while_the_question_stands_open_is_not_paired() {
    let home = Home::new();
    let client = own_program(&home, "client", "shown");
    let mut person = Person::runs(&command(&home, &pair_words("mine", &client)));
    assert!(person.asked_for().is_some());
    own_program(&home, "client", "swapped");
    person.agrees();
    let (code, text) = person.ends();
    assert!(code == 1 && text.contains("changed between the question and the entry"), "{text}");
    assert_eq!(listed(&home)["door"], "open");
    assert_eq!(audit(&home).last().unwrap()["outcome"], "failed");

    let script = home.path().join("run.sh");
    std::fs::write(&script, "shown").unwrap();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let mut words = pair_words("shell", &shell);
    words.extend(["--script".into(), script.display().to_string()]);
    let mut person = Person::runs(&command(&home, &words));
    assert!(person.asked_for().is_some(), "{}", person.text());
    std::fs::write(&script, "swapped").unwrap();
    person.agrees();
    assert_eq!(person.ends().0, 1);
    assert_eq!(listed(&home)["door"], "open");
}

/// Layer: role/admin. An interpreter by itself, a script in place of a program, and genkan itself are no clients.
#[test]
fn what_would_pair_more_or_less_than_it_says_is_refused_with_the_remedy() {
    let home = Home::new();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let script = home.path().join("tool");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let client = own_program(&home, "client", "x");
    let cases = [
        (pair_words("n", &shell), "--any-script if you mean all"),
        (pair_words("n", &script), "--exec INTERPRETER --script"),
        (pair_words("n", Path::new(binary())), "That is genkan itself"),
        (pair_words("n", &home.path().join("none")), "cannot be found"),
        (pair_words("n", home.path()), "name the program itself"),
        (
            [pair_words("n", &client), vec!["--any-script".into()]].concat(),
            "leave out --script and --any-script",
        ),
        (
            ["pair-client", "--name", "n", "--signer", "S"].map(str::to_string).to_vec(),
            "Linux has no signature",
        ),
    ];
    for (words, remedy) in cases {
        let (code, text) = Person::runs(&command(&home, &words)).ends();
        assert!(code == 1 && text.contains(remedy), "{remedy}: {text}");
    }
    assert_eq!(listed(&home)["door"], "open");
}

fn sha256(path: &Path) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(std::fs::read(path).unwrap()).into()
}

/// Layer: role/admin. Nothing stays allowed in silence.
#[test]
fn a_program_that_is_still_paired_under_another_name_is_named_when_one_is_revoked() {
    let home = Home::new();
    let hash = "07".repeat(32);
    for name in ["one", "two"] {
        let (code, text) = agreed(&home, &["pair-client", "--name", name, "--hash", &hash]);
        assert_eq!(code, 0, "{text}");
    }
    let (code, text) = said(&home, &["revoke-client", "one"]);
    assert!(code == Some(0) && text.contains("still paired as two"), "{text}");
    let (code, text) = said(&home, &["revoke-client", "two"]);
    assert!(code == Some(0) && !text.contains("still paired"), "{text}");
}
