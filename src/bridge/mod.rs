//! The browser door's core: the catalogue of tools, the sessions with browsers, the order of gates for one call.

pub mod broker;
pub mod catalogue;
pub mod clients;
pub mod dispatch;
pub mod session;
pub mod target;
