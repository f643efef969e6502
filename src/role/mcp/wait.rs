//! What accompanies one call until it ends: progress while the client wants it, and the two ways to give up,
//! the client's cancellation and the end of its connection. Giving up drops the call, which reaches the browser.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::base::limits::{CALL_BUDGET_MS, CALL_BUDGET_PROGRESS_MS, PROGRESS_EVERY_MS};
use crate::base::refusal::{Code, Refusal};
use crate::wire::bridge::ProgressState;

/// Milliseconds one call may take: more for a client that hears about progress, because others give up at 60 s.
pub fn budget_ms(token: Option<&ProgressToken>) -> u32 {
    if token.is_some() { CALL_BUDGET_PROGRESS_MS } else { CALL_BUDGET_MS }
}

/// Turns true when the client's side of the connection has ended.
pub type Hangup = watch::Receiver<bool>;

/// Runs `call` to its end, or drops it when the client cancels or hangs up.
pub async fn accompanied<T>(
    call: impl Future<Output = Result<T, Refusal>>,
    request: &RequestContext<RoleServer>,
    mut hangup: Hangup,
    states: mpsc::Receiver<ProgressState>,
) -> Result<T, Refusal> {
    let token = request.meta.get_progress_token();
    tokio::select! {
        biased;
        () = request.ct.cancelled() => Err(Refusal::plain(Code::Cancelled)),
        outcome = call => outcome,
        _ = hangup.wait_for(|gone| *gone) => Err(Refusal::plain(Code::Cancelled)),
        () = report(&request.peer, token, states) => Err(Refusal::plain(Code::InternalError)),
    }
}

/// Never ends: it is dropped with its call, so no report follows an answer.
async fn report(
    peer: &Peer<RoleServer>,
    token: Option<ProgressToken>,
    mut states: mpsc::Receiver<ProgressState>,
) {
    let every = Duration::from_millis(PROGRESS_EVERY_MS.into());
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut step, mut state) = (0_u32, None);
    loop {
        tokio::select! {
            Some(news) = states.recv() => state = Some(news),
            _ = ticks.tick() => if let Some(token) = &token {
                step += 1;
                let progress = ProgressNotificationParam::new(token.clone(), step.into());
                // A client that cannot be told still gets its answer.
                let _ = peer.notify_progress(progress.with_message(sentence(state))).await;
            },
        }
    }
}

fn sentence(state: Option<ProgressState>) -> &'static str {
    match state {
        None => "Waiting for the browser.",
        Some(ProgressState::Confirming) => "Waiting for the person's approval in the browser.",
        Some(ProgressState::Acting) => "The page is being worked on.",
    }
}
