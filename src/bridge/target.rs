//! How a client names a browser: by label, by the beginning of its instance id, or by both as `label#instance`.
//! It decides which names fit which browser and which name is enough. It never picks among several.

use alloc::{format, string::String, vec::Vec};

use crate::base::limits::INSTANCE_PREFIX_HEX_MIN;

/// What identifies a browser to the broker. Both parts come under the handshake's MAC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The kind of browser, for people.
    pub label: String,
    /// Random, one per browser profile.
    pub instance: String,
}

impl Identity {
    /// Whether `target` names this browser; no target names every browser.
    pub fn fits(&self, target: Option<&str>) -> bool {
        let Some(target) = target else { return true };
        match target.split_once('#') {
            Some((label, prefix)) => {
                label == self.label && !prefix.is_empty() && self.instance.starts_with(prefix)
            }
            None => {
                // Shorter prefixes are left to labels, so that a mistyped label does not hit an instance.
                target == self.label
                    || (target.len() >= INSTANCE_PREFIX_HEX_MIN && self.instance.starts_with(target))
            }
        }
    }
}

/// For each browser the shortest name that fits it alone: its label, else `label#` and the beginning of its instance.
pub fn names(browsers: &[&Identity]) -> Vec<String> {
    let alone = |name: &str| browsers.iter().filter(|b| b.fits(Some(name))).count() == 1;
    browsers
        .iter()
        .map(|b| {
            if alone(&b.label) {
                return b.label.clone();
            }
            let whole = format!("{}#{}", b.label, b.instance);
            let least = b.label.len() + 1 + INSTANCE_PREFIX_HEX_MIN;
            let short = (least..whole.len()).find_map(|n| whole.get(..n).filter(|name| alone(name)));
            short.map_or_else(|| whole.clone(), String::from)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn browser(label: &str, instance: &str) -> Identity {
        Identity { label: label.into(), instance: instance.into() }
    }

    #[test]
    fn a_browser_is_named_by_label_or_instance_or_both() {
        let b = browser("chromium", "ab12cd34");
        for good in ["chromium", "ab12", "ab12cd34", "chromium#a", "chromium#ab12cd34"] {
            assert!(b.fits(Some(good)), "{good}");
        }
        for bad in
            ["", "#", "chrom", "ab1", "ab13", "chromium#", "#ab12", "chrome#ab12", "Chromium", "ab12cd345"]
        {
            assert!(!b.fits(Some(bad)), "{bad}");
        }
        assert!(b.fits(None));
    }

    #[test]
    fn every_suggested_name_fits_one_browser_only() {
        let list = [
            browser("chromium", "ab12cd34"),
            browser("chromium", "ab12ce34"),
            browser("chrome", "00000000"),
            browser("beef", "11111111"),
            browser("x", "beef2222"),
        ];
        let refs: Vec<&Identity> = list.iter().collect();
        let names = names(&refs);
        assert_eq!(names, vec!["chromium#ab12cd", "chromium#ab12ce", "chrome", "beef#1111", "x"]);
        for (name, b) in names.iter().zip(&refs) {
            assert_eq!(refs.iter().filter(|o| o.fits(Some(name))).collect::<Vec<_>>(), vec![b]);
        }
    }
}
