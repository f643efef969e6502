//! How the doctor's findings read: aligned lines for people, one JSON object for programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::os::log::escape;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    subject: String,
    level: Level,
    state: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Note,
    Problem,
}

impl Finding {
    /// As it should be.
    pub fn ok(subject: &str, detail: &str) -> Self {
        Self::new(subject, Level::Ok, "ok", detail)
    }

    /// Not set up, and fine so.
    pub fn note(subject: &str, state: &'static str, detail: &str) -> Self {
        Self::new(subject, Level::Note, state, detail)
    }

    /// Something to mend.
    pub fn problem(subject: &str, state: &'static str, detail: &str) -> Self {
        Self::new(subject, Level::Problem, state, detail)
    }

    /// Where it lies.
    pub fn at(self, location: &Path) -> Self {
        Self { location: Some(location.into()), ..self }
    }

    /// What to do about it.
    pub fn remedy(self, remedy: &str) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Whether it is as it should be.
    pub fn is_ok(&self) -> bool {
        self.level == Level::Ok
    }

    /// Whether it must be mended.
    pub fn is_problem(&self) -> bool {
        self.level == Level::Problem
    }

    fn new(subject: &str, level: Level, state: &'static str, detail: &str) -> Self {
        Self { subject: subject.into(), level, state, detail: detail.into(), location: None, remedy: None }
    }
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// This program's file.
    pub program: PathBuf,
    /// In the order of a call's way to the browser.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing must be mended.
    pub fn healthy(&self) -> bool {
        !self.findings.iter().any(Finding::is_problem)
    }

    /// For programs.
    pub fn json(&self) -> String {
        let report = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "program": self.program,
            "healthy": self.healthy(),
            "findings": self.findings,
        });
        format!("{report:#}\n")
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("genkan {}  {}\n\n", env!("CARGO_PKG_VERSION"), shown(&self.program));
        let width = self.findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
        for finding in &self.findings {
            finding.write(&mut text, width);
        }
        let problems = self.findings.iter().filter(|finding| finding.is_problem()).count();
        let _ = match problems {
            0 => writeln!(text, "\nNothing to mend."),
            1 => writeln!(text, "\nOne problem."),
            many => writeln!(text, "\n{many} problems."),
        };
        text
    }
}

impl Finding {
    fn write(&self, text: &mut String, width: usize) {
        let mark = match self.level {
            Level::Ok => "ok     ",
            Level::Note => "-      ",
            Level::Problem => "PROBLEM",
        };
        let _ = writeln!(text, "{mark}  {:width$}  {}", self.subject, escape(&self.detail));
        let indent = mark.len() + width + 4;
        if let Some(location) = &self.location {
            let _ = writeln!(text, "{:indent$}{}", "", shown(location));
        }
        if let Some(remedy) = &self.remedy {
            let _ = writeln!(text, "{:indent$}-> {}", "", escape(remedy));
        }
    }
}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            program: "/opt/genkan/genkan".into(),
            findings: vec![
                Finding::ok("runtime directory", "private to you").at(Path::new("/run/user/1000/genkan")),
                Finding::note("broker", "missing", "no MCP client runs genkan now"),
                Finding::problem("chrome", "stale", "its wrapper is missing")
                    .remedy("run `genkan doctor --fix --browser chrome`")
                    .at(Path::new("/home/p/evil\u{1b}[2J.json")),
            ],
        }
    }

    #[test]
    fn the_text_is_aligned_and_names_one_remedy_per_problem() {
        insta::assert_snapshot!(report().text());
    }

    #[test]
    fn the_json_holds_the_same() {
        let value: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(value["healthy"], false);
        assert_eq!(value["findings"][2]["state"], "stale");
        assert_eq!(value["findings"][0]["location"], "/run/user/1000/genkan");
    }
}
