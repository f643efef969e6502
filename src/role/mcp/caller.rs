//! Who asks: the programs that hold the other ends of our standard streams, by the kernel's word.
//!
//! Decides that every measurement counts, the one at start, the one at the first call and those at later calls: a program
//! that started us and then became another, handed our input to another, or was joined by one, is as much the client as
//! what came after it. Between two looks a program may come and go unseen. The name that a client gives itself is a label
//! only. It does not know who is admitted.

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};

use crate::base::limits::{CLIENT_NAME_CHARS_MAX, HOLDERS_FRESH_MS};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::wire::client::{Client, Holder};

/// A look walks the descriptors of every process of the user, which takes some milliseconds.
const FRESH: Duration = Duration::from_millis(HOLDERS_FRESH_MS as u64);

/// Measures whoever holds the other ends now.
pub type Measure = fn() -> Result<Client, Refusal>;

/// Who stands in the entrance of this process.
pub struct Entrance {
    measure: Measure,
    measured: Mutex<Measured>,
}

#[derive(Default)]
struct Measured {
    client: Option<Client>,
    at_a_call: Option<Instant>,
}

impl Entrance {
    /// Nobody was measured yet.
    pub fn new(measure: Measure) -> Self {
        Self { measure, measured: Mutex::default() }
    }

    /// The client as it was at start.
    pub async fn at_start(&self) -> Result<Client, Refusal> {
        let mut measured = self.measured.lock().await;
        match &measured.client {
            Some(client) => Ok(client.clone()),
            None => Ok(measured.client.insert(self.measure().await?).clone()),
        }
    }

    /// The client as it was at start and at every call that looked again, and whether this one has shown more of it. The
    /// holders are looked for again once the last look is [`HOLDERS_FRESH_MS`] old.
    pub async fn at_call(&self) -> Result<(Client, bool), Refusal> {
        self.at_start().await?;
        let mut measured = self.measured.lock().await;
        // Those who waited for this look see what it saw.
        let before = measured.client.clone().ok_or_else(|| Refusal::plain(Code::InternalError))?;
        if measured.at_a_call.is_some_and(|when| when.elapsed() < FRESH) {
            return Ok((before, false));
        }
        let all = joined(&before, &self.measure().await?)?;
        let more = all != before;
        *measured = Measured { client: Some(all.clone()), at_a_call: Some(Instant::now()) };
        Ok((all, more))
    }

    /// Images are read and hashed, which takes a while.
    async fn measure(&self) -> Result<Client, Refusal> {
        let measure = self.measure;
        let failed = |error: tokio::task::JoinError| Refusal::new(Code::InternalError, error.to_string());
        tokio::task::spawn_blocking(measure).await.map_err(failed)?
    }
}

/// What the client calls itself, made fit to show; empty if it did not say.
pub fn name(request: &RequestContext<RoleServer>) -> String {
    let name = request.client_info().map(|info| info.title.unwrap_or(info.name)).unwrap_or_default();
    let mut name = shown(&name, CLIENT_NAME_CHARS_MAX);
    // What is spelt out may be longer than what was there.
    if let Some((end, _)) = name.char_indices().nth(CLIENT_NAME_CHARS_MAX) {
        name.truncate(end);
    }
    name
}

/// Every program of either measurement, the first one's first.
fn joined(first: &Client, second: &Client) -> Result<Client, Refusal> {
    let same = |one: &Holder, other: &Holder| one.image == other.image && one.script == other.script;
    let mut holders = first.holders().to_vec();
    for holder in second.holders() {
        if !holders.iter().any(|known| same(known, holder)) {
            holders.push(holder.clone());
        }
    }
    Client::new(holders).map_err(|_| {
        Refusal::new(
            Code::ClientNotAdmitted,
            "Too many programs hold the streams of this genkan process. Start genkan from the client itself.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::client::{Image, Sha256};
    use std::sync::atomic::{AtomicU8, Ordering};

    fn holder(pid: u32, n: u8) -> Holder {
        let (path, sha256) = (format!("/opt/{n}"), Sha256([n; 32]));
        let image =
            Image { path, device: 1, inode: n.into(), sha256, package: false, signer: None, replaced: false };
        Holder { pid, image, interpreter: false, script: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_becomes_another_by_any_call_is_all_of_them() {
        static TIMES: AtomicU8 = AtomicU8::new(1);
        let entrance = Entrance::new(|| {
            let n = TIMES.fetch_add(1, Ordering::SeqCst);
            Ok(Client::new(vec![holder(n.into(), n)]).unwrap())
        });
        let images =
            |client: &Client| client.holders().iter().map(|h| h.image.path.clone()).collect::<Vec<_>>();
        assert_eq!(images(&entrance.at_start().await.unwrap()), ["/opt/1"]);
        let (client, more) = entrance.at_call().await.unwrap();
        assert!(more && images(&client) == ["/opt/1", "/opt/2"]);
        let (client, more) = entrance.at_call().await.unwrap();
        assert!(!more && client.holders().len() == 2, "it is not measured at every call");
        tokio::time::advance(FRESH).await;
        let (client, more) = entrance.at_call().await.unwrap();
        assert!(more && images(&client) == ["/opt/1", "/opt/2", "/opt/3"]);
        assert!(!entrance.at_call().await.unwrap().1);
    }

    #[test]
    fn another_process_of_the_same_program_adds_nothing() {
        let (one, two) = (Client::new(vec![holder(1, 1)]).unwrap(), Client::new(vec![holder(2, 1)]).unwrap());
        assert_eq!(joined(&one, &two).unwrap(), one);
    }
}
