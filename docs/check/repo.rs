//! The repository as text: every file the rules may read, by its path. It leaves out what is built or fetched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Files by path from the root, and the names of the tests that ran.
#[derive(Clone, Default)]
pub struct Repo {
    pub files: BTreeMap<String, String>,
    /// `None`: nobody asked what ran.
    pub ran: Option<Vec<String>>,
}

/// Folders that are built, fetched or made to be broken.
const SKIPPED: [&str; 9] =
    [".git", ".wxt", "artifacts", "build", "contract", "corpus", "fixtures", "node_modules", "target"];

impl Repo {
    /// Reads the repository at `root`; with `ran`, also what the runners noted in target/ran.
    pub fn load(root: &Path, ran: bool) -> Self {
        let mut repo = Self::default();
        read(root, "", &mut repo.files);
        if ran {
            let mut lists = BTreeMap::new();
            read(&root.join("target/ran"), "", &mut lists);
            repo.ran = Some(lists.values().flat_map(|list| list.lines()).map(String::from).collect());
        }
        repo
    }

    pub fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
            || self.files.keys().any(|f| f.starts_with(&format!("{}/", path.trim_end_matches('/'))))
    }

    /// Files below a folder whose name ends so.
    pub fn below<'a>(&'a self, folder: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files =
            self.files.iter().filter(move |(path, _)| path.starts_with(folder) && path.ends_with(end));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Every page.
    pub fn pages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.below("", ".md")
    }

    /// Whether a test ran whose name satisfies; true if nobody asked.
    pub fn has_run(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.ran.as_ref().is_none_or(|names| names.iter().any(|name| fits(name)))
    }
}

fn read(folder: &Path, at: &str, files: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // The generator's own folder is source; the folder it writes is not.
            if !SKIPPED.contains(&name.as_str()) || path == "extension/contract" {
                read(&entry.path(), &path, files);
            }
        } else {
            // What is not text (an icon) only has to exist.
            files.insert(path, fs::read_to_string(entry.path()).unwrap_or_default());
        }
    }
}

/// Where a relative link on a page leads.
pub fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Whether `name` stands in `text` as a whole word.
pub fn has_word(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|t| t.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
