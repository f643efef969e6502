//! The attacker chooses the command line, as another extension does through the browser, or a typing mistake. The
//! argument reader must refuse what it does not know, and say nothing where protocol would run.

use assert_cmd::Command;

use crate::stage::Home;

fn genkan(home: &Home, arguments: &[&str]) -> Command {
    Command::from_std(home.command(arguments))
}

/// Layer: role/argv.
#[test]
fn t127_a_host_called_by_another_extension_refuses_before_it_speaks() {
    let home = Home::new();
    let other = "chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/";
    for arguments in [&[other][..], &["--native-host", other], &["--native-host", "--label", "chrome", other]]
    {
        let outcome = genkan(&home, arguments).assert().code(2).stdout("");
        let said = String::from_utf8_lossy(&outcome.get_output().stderr).into_owned();
        assert!(said.contains("not the genkan extension"), "{said}");
    }
}

/// Layer: role/argv.
#[test]
fn unknown_arguments_are_answered_in_one_sentence_that_names_the_usage() {
    let home = Home::new();
    for arguments in
        [&["serve"][..], &["--native-host", "--x"], &["doctor", "--fix", "--browser", "\u{1b}[2J"]]
    {
        let outcome = genkan(&home, arguments).assert().code(2).stdout("");
        let said = String::from_utf8_lossy(&outcome.get_output().stderr).into_owned();
        assert!(said.contains("genkan --help") && !said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn our_extensions_origin_alone_makes_a_host() {
    let home = Home::new();
    let outcome = genkan(&home, &[genkan::base::identity::PINNED_EXTENSION_ORIGIN]).assert().code(0);
    assert!(String::from_utf8_lossy(&outcome.get_output().stdout).contains("host_hello"));
}

#[test]
fn help_and_version_are_for_people() {
    let home = Home::new();
    let outcome = genkan(&home, &["--help"]).assert().code(0).stderr("");
    insta::assert_snapshot!(String::from_utf8_lossy(&outcome.get_output().stdout));
    genkan(&home, &["--version"]).assert().code(0).stdout(concat!(
        "genkan ",
        env!("CARGO_PKG_VERSION"),
        "\n"
    ));
}

#[test]
fn the_doctor_registers_where_it_is_told_and_reads_it_back() {
    let home = Home::new();
    genkan(&home, &["doctor"]).assert().code(1);
    let outcome = genkan(&home, &["doctor", "--fix", "--browser", "chromium"]).assert().code(0);
    let text = String::from_utf8_lossy(&outcome.get_output().stdout).into_owned();
    let known = [(home.path().to_str().unwrap(), "HOME"), (crate::stage::binary(), "PROGRAM")];
    let text = known.iter().fold(text, |text, (path, name)| text.replace(path, name));
    // Whether the extension was built beside this program is not this test's business.
    let (text, _) = text.split_once("extension").unwrap();
    insta::assert_snapshot!(text.trim_end_matches(['-', ' ', '\n', 'o', 'k']));
    genkan(&home, &["doctor"]).assert().code(0);
}

/// Layer: role/doctor. Nobody's registration is overwritten in silence.
#[test]
fn t225_a_foreign_manifest_stays_and_the_doctor_names_it() {
    let home = Home::new();
    let folder = home.path().join("NativeMessagingHosts");
    std::fs::create_dir(&folder).unwrap();
    let manifest = folder.join("com.vivswan.genkan.host.json");
    let theirs =
        r#"{"name":"com.vivswan.genkan.host","path":"/usr/bin/other","type":"stdio","allowed_origins":[]}"#;
    std::fs::write(&manifest, theirs).unwrap();
    let outcome =
        genkan(&home, &["doctor", "--fix", "--manifest-dir", folder.to_str().unwrap()]).assert().code(1);
    let text = String::from_utf8_lossy(&outcome.get_output().stdout).into_owned();
    assert!(text.contains("/usr/bin/other") && text.contains("remove"), "{text}");
    assert_eq!(std::fs::read_to_string(&manifest).unwrap(), theirs);
}
