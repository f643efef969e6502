//! One broker: its clients, its browsers, and what the person's record says about both.
//!
//! Decides that a browser is attached only while the record allows calls at all, and that a record which stops
//! everything cuts every browser. It does not know how the record is read or how lines travel.

use crate::base::refusal::Refusal;
use crate::bridge::clients::{Clients, Cord};
use crate::bridge::session::{Browser, Link, Session};
use crate::trust::state::TrustState;
use crate::wire::bridge::Door;

/// Clients and browsers of one broker. Clones share them.
pub struct Core<L, C> {
    /// Browsers and their calls.
    pub session: Session<L>,
    /// Clients and theirs.
    pub clients: Clients<C>,
}

impl<L, C> Clone for Core<L, C> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone(), clients: self.clients.clone() }
    }
}

impl<L: Link, C: Cord> Core<L, C> {
    /// Nobody is attached; `known` is the record as it is now.
    pub fn new(known: TrustState) -> Self {
        Self { session: Session::default(), clients: Clients::new(known) }
    }

    /// Takes note of the record as it was just read, or of why it cannot be read. What it forbids has ended, and where
    /// it stops everything every browser is cut, when this returns.
    pub fn learn(&self, read: Result<TrustState, Refusal>) -> Result<(), Refusal> {
        match &read {
            Ok(state) => self.clients.learn(state),
            Err(why) => self.clients.distrust(why),
        }
        if self.clients.standing().is_err() {
            self.session.detach_all();
        }
        read.map(drop)
    }

    /// Attaches a browser, unless the record stops everything.
    pub fn attach(&self, browser: Browser, link: L, now: u64) -> Result<(u64, Door), Refusal> {
        self.clients.standing()?;
        let generation = self.session.attach(browser, link, now)?;
        // A record learnt in between may not have met this browser yet.
        match self.clients.standing() {
            Ok(door) => Ok((generation, door)),
            Err(why) => {
                self.session.detach(generation);
                Err(why)
            }
        }
    }
}
