//! The way from this server to the browsers: it becomes the broker, or says who is. A server whose door is closed
//! still answers; every call tries the door again, so the one that outlives the other takes over.

use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::base::refusal::Refusal;
use crate::os::runtime_dir::{Environment, RuntimeDir};
use crate::role::broker::Broker;

/// Opens on first use and stays open.
pub struct Door {
    environment: Environment,
    broker: OnceCell<Arc<Broker>>,
}

impl Door {
    /// A closed door.
    pub fn new(environment: Environment) -> Self {
        Self { environment, broker: OnceCell::new() }
    }

    /// The broker of this process, opened now if it is not yet.
    pub async fn broker(&self) -> Result<Arc<Broker>, Refusal> {
        let open = || async { Broker::open(RuntimeDir::resolve(&self.environment)?).await };
        self.broker.get_or_try_init(open).await.cloned()
    }
}
