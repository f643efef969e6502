//! Every relative link on a page leads to a file that exists.

use crate::Faults;
use crate::diagram::links;
use crate::repo::{Repo, resolve};

pub fn check(repo: &Repo) -> Faults {
    let mut faults = Faults::new();
    for (page, text) in repo.pages() {
        for (_, target) in links(text) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains(':') && !repo.has(&resolve(page, file)) {
                faults.push(format!("{page}: the link to {target} leads nowhere"));
            }
        }
    }
    faults
}
