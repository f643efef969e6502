//! What anybody can bring about is logged a few times in a while, and then counted.

use tokio::time::{Duration, Instant};

use crate::base::limits::{REFUSALS_LOGGED_MAX, REFUSALS_LOGGED_MS};

/// Lets the first few of a while through.
#[derive(Debug, Default)]
pub struct Throttle {
    begun: Option<Instant>,
    passed: u32,
    held: u64,
}

impl Throttle {
    /// Whether one more may pass now; if so, how many were held back before it.
    pub fn pass(&mut self, now: Instant) -> Option<u64> {
        let while_lasts = Duration::from_millis(REFUSALS_LOGGED_MS.into());
        if self.begun.is_none_or(|begun| now.duration_since(begun) >= while_lasts) {
            (self.begun, self.passed) = (Some(now), 0);
        }
        if self.passed >= REFUSALS_LOGGED_MAX {
            self.held = self.held.saturating_add(1);
            return None;
        }
        self.passed += 1;
        Some(std::mem::take(&mut self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_passes_a_few_at_a_time_and_is_counted() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        for _ in 0..REFUSALS_LOGGED_MAX {
            assert_eq!(throttle.pass(start), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(throttle.pass(start), None);
        }
        let later = |ms| start + Duration::from_millis(ms);
        assert_eq!(throttle.pass(later(u64::from(REFUSALS_LOGGED_MS) - 1)), None);
        assert_eq!(throttle.pass(later(REFUSALS_LOGGED_MS.into())), Some(8));
        assert_eq!(throttle.pass(later(REFUSALS_LOGGED_MS.into())), Some(0));
    }
}
