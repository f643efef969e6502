//! The browser's host: a thin bridge between the extension's native-messaging link and the broker's socket.
//!
//! Decides nothing about calls. It speaks first, attaches once the extension has introduced itself, keeps the port open
//! while no broker runs, answers its own control frames either way, and ends when the browser closes the port, when its
//! output breaks, when a newer host has taken its place, or when the extension breaks the protocol. Before anything
//! else it tells the extension where the kill switch stands, and again whenever that changes; while it is on or
//! unreadable no request passes. It does not know tools, sites or permissions.

mod controls;
mod link;
mod relay;

use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::base::limits::{
    CALL_BUDGET_PROGRESS_MS, EXTENSION_HELLO_MS, LAST_LINES_MS, NM_IN_BYTES_MAX, NM_OUT_BYTES_MAX,
    TRUST_TICK_MS,
};
use crate::base::refusal::Code;
use crate::os::own_image::OwnImage;
use crate::os::runtime_dir::Environment;
use crate::os::stdio::{self, Outbox, StreamFault};
use crate::os::{fail_point, log, peer};
use crate::wire::bridge::BRIDGE_PROTOCOL_VERSION;
use crate::wire::control::{FromExtension, Link, ToExtension};
use crate::wire::framing::{NmFrames, nm_frame};
use crate::wire::json;
use controls::{Controls, Event};
use link::{BrokerLink, Claim, LinkEvent};
use relay::{BrokerLine, BrowserFrame, Relay};

type FromBrowser = mpsc::Receiver<Result<Vec<u8>, StreamFault>>;

/// Why the host ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The browser closed the port.
    PortClosed,
    /// A newer host of the same browser took our place.
    Superseded,
    /// Another program lies where ours did: the browser shall start that one.
    Replaced,
    /// The browser no longer reads what we write.
    OutputBroken,
    /// The extension did not introduce itself in time.
    Silence,
    /// The extension broke the protocol; the sentence says how.
    Broken(String),
    /// The standard streams could not be used; the system's words.
    NoStreams(String),
}

impl Ending {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::PortClosed | Self::Superseded | Self::Replaced | Self::OutputBroken => 0,
            Self::Silence | Self::Broken(_) | Self::NoStreams(_) => 1,
        }
    }
}

impl core::fmt::Display for Ending {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::PortClosed => f.write_str("the browser closed the port"),
            Self::Superseded => f.write_str("a newer host of this browser took our place"),
            Self::Replaced => f.write_str("the program was replaced, so the new one takes our place"),
            Self::OutputBroken => f.write_str("the browser no longer reads from us"),
            Self::Silence => f.write_str("the extension did not introduce itself in time"),
            Self::Broken(why) => write!(f, "the extension broke the protocol: {why}"),
            Self::NoStreams(error) => write!(f, "the standard streams cannot be used: {error}"),
        }
    }
}

/// Serves one browser until its port closes.
pub async fn serve(environment: Environment, label: Option<String>) -> Ending {
    let label = label.unwrap_or_else(|| peer::label_of(peer::parent().image.as_deref()).into());
    let (stdout, written) = match stdio::stdout_outbox() {
        Ok(opened) => opened,
        Err(error) => return Ending::NoStreams(error.to_string()),
    };
    let stdin = stdio::stdin_messages(NmFrames::new(NM_IN_BYTES_MAX));
    let controls = Controls::new(environment.clone());
    let relay = Relay::default();
    let image = OwnImage::of_this_process();
    let host =
        Host { stdout, label, link: Link::Waiting {}, broker: None, relay, controls, image, replaced: None };
    let ending = host.run(environment, stdin).await;
    match ending.exit_code() {
        0 => log::info(format_args!("{ending}")),
        _ => log::error(format_args!("{ending}")),
    }
    // What was said is written out, unless nobody reads it.
    let _ = tokio::time::timeout(Duration::from_millis(LAST_LINES_MS.into()), written).await;
    ending
}

struct Host {
    stdout: Outbox,
    label: String,
    link: Link,
    broker: Option<BrokerLink>,
    relay: Relay,
    controls: Controls,
    image: Option<OwnImage>,
    /// Since when our file is another one.
    replaced: Option<Instant>,
}

impl Host {
    async fn run(mut self, environment: Environment, mut stdin: FromBrowser) -> Ending {
        fail_point::reach("loop");
        let claim = match self.greet(&mut stdin).await {
            Ok(claim) => claim,
            Err(ending) => return ending,
        };
        let standing = self.controls.standing();
        if let Err(ending) = self.say(&standing).await {
            return ending;
        }
        let (sender, events) = mpsc::channel(1);
        tokio::spawn(link::keep(environment, claim, sender));
        self.pump(stdin, events).await
    }

    /// Speaks first, and waits for the extension to say who it is.
    async fn greet(&mut self, stdin: &mut FromBrowser) -> Result<Claim, Ending> {
        let version = env!("CARGO_PKG_VERSION").into();
        self.say(&ToExtension::HostHello { bridge: BRIDGE_PROTOCOL_VERSION, host: version }).await?;
        let introduced = async {
            loop {
                match self.relay.judge_frame(&received(stdin.recv().await)?) {
                    BrowserFrame::Own(FromExtension::ExtensionHello {
                        bridge,
                        extension,
                        instance,
                        capabilities,
                    }) => {
                        let label = self.label.clone();
                        return Ok(Claim { label, instance, bridge, extension, capabilities });
                    }
                    BrowserFrame::OtherVersion { bridge } => {
                        return Claim::of_another_version(self.label.clone(), bridge)
                            .map_err(|refusal| Ending::Broken(refusal.to_string()));
                    }
                    BrowserFrame::Own(own) => self.on_own(own).await?,
                    BrowserFrame::Pass(_) | BrowserFrame::Late { .. } => {
                        return Err(Ending::Broken("it answered before it introduced itself".into()));
                    }
                    BrowserFrame::Broken(why) => return Err(Ending::Broken(why)),
                }
            }
        };
        let patience = Duration::from_millis(EXTENSION_HELLO_MS.into());
        tokio::time::timeout(patience, introduced).await.unwrap_or(Err(Ending::Silence))
    }

    async fn pump(&mut self, mut stdin: FromBrowser, mut events: mpsc::Receiver<LinkEvent>) -> Ending {
        let mut tick = tick();
        let mut step = self.report().await;
        loop {
            if let Err(ending) = step {
                return ending;
            }
            step = tokio::select! {
                frame = stdin.recv() => match received(frame) {
                    Ok(frame) => self.on_frame(&frame).await,
                    Err(ending) => Err(ending),
                },
                Some(event) = events.recv() => self.on_event(event).await,
                _ = tick.tick() => self.on_tick().await,
                () = self.stdout.closed() => Err(Ending::OutputBroken),
            };
        }
    }

    async fn on_frame(&mut self, frame: &[u8]) -> Result<(), Ending> {
        match self.relay.judge_frame(frame) {
            BrowserFrame::Own(own) => self.on_own(own).await,
            BrowserFrame::OtherVersion { .. } => Err(twice()),
            BrowserFrame::Pass(line) => {
                self.answer(line);
                Ok(())
            }
            BrowserFrame::Late { id } => {
                log::debug(format_args!("dropped an answer to call {id}, which nobody waits for"));
                Ok(())
            }
            BrowserFrame::Broken(why) => Err(Ending::Broken(why)),
        }
    }

    async fn on_own(&mut self, own: FromExtension) -> Result<(), Ending> {
        match own {
            FromExtension::HostStatus {} => self.report().await,
            FromExtension::ExtensionHello { .. } => Err(twice()),
            FromExtension::KillStatus {} => self.say(&self.controls.asked()).await,
            FromExtension::KillEngage {} => {
                let standing = self.controls.engage();
                self.say(&standing).await
            }
            FromExtension::AuditEvent { kind, outcome, tool, name, detail, cid } => {
                self.note(&Event { kind, outcome, tool, name, detail, cid })
            }
            FromExtension::AuditRead { limit } => self.say(&self.controls.records(limit)).await,
            FromExtension::ClientList {} => self.say(&self.controls.clients()).await,
        }
    }

    /// The extension may report what it saw, and nothing in the host's name. What cannot be written is not lost in
    /// silence, but it happened in the browser: nothing here waits for it.
    fn note(&self, event: &Event) -> Result<(), Ending> {
        match self.controls.record(event) {
            Ok(()) => Ok(()),
            Err(refusal) if refusal.code == Code::InvalidArgument => Err(Ending::Broken(refusal.message)),
            Err(refusal) => {
                log::error(format_args!("an event of the extension is not recorded: {refusal}"));
                Ok(())
            }
        }
    }

    async fn on_tick(&mut self) -> Result<(), Ending> {
        if let Some(standing) = self.controls.news() {
            self.say(&standing).await?;
        }
        if self.is_replaced() { Err(Ending::Replaced) } else { Ok(()) }
    }

    /// Whether to make room for the new program: once no call is open, or none that was open then can be any more.
    fn is_replaced(&mut self) -> bool {
        let image = self.image.as_ref();
        let since = self.replaced.or_else(|| image?.is_replaced().then(Instant::now));
        self.replaced = since;
        let patience = Duration::from_millis(CALL_BUDGET_PROGRESS_MS.into());
        since.is_some_and(|since| self.relay.is_idle() || since.elapsed() >= patience)
    }

    async fn on_event(&mut self, event: LinkEvent) -> Result<(), Ending> {
        match event {
            LinkEvent::Attached { broker, door } => {
                self.broker = Some(broker);
                self.stand(Link::Attached { door }).await
            }
            LinkEvent::Line(line) => self.on_line(&line).await,
            LinkEvent::Lost => {
                self.broker = None;
                for cancel in self.relay.forget() {
                    self.say(&cancel).await?;
                }
                self.stand(Link::Waiting {}).await
            }
            LinkEvent::Standing(link) => self.stand(link).await,
            LinkEvent::Superseded => Err(Ending::Superseded),
        }
    }

    async fn on_line(&mut self, line: &[u8]) -> Result<(), Ending> {
        match self.relay.judge_line(line, || self.controls.may_pass()) {
            BrokerLine::Pass(texts) => {
                for text in texts {
                    self.write(text.as_bytes()).await?;
                }
            }
            BrokerLine::Answer(line) => self.answer(line),
            BrokerLine::Door(door) => self.stand(Link::Attached { door }).await?,
            BrokerLine::Nothing => {}
            BrokerLine::Injected { tag } => self.controls.note_injection(tag),
            BrokerLine::Broken(why) => {
                log::error(format_args!("the broker broke the protocol, so its link is cut: {why}"));
                self.broker = None;
            }
        }
        Ok(())
    }

    /// One reply to the broker. A broker that lets replies pile up is cut off rather than waited for.
    fn answer(&mut self, line: Vec<u8>) {
        if self.broker.as_ref().is_some_and(|broker| !broker.send(line)) {
            log::error(format_args!("the broker does not read, so its link is cut"));
            self.broker = None;
        }
    }

    async fn stand(&mut self, link: Link) -> Result<(), Ending> {
        if self.link == link {
            return Ok(());
        }
        self.link = link;
        self.report().await
    }

    async fn report(&self) -> Result<(), Ending> {
        self.say(&ToExtension::HostStatusResult { label: self.label.clone(), link: self.link.clone() }).await
    }

    async fn say(&self, frame: &impl Serialize) -> Result<(), Ending> {
        self.write(json::written(frame).as_bytes()).await
    }

    async fn write(&self, text: &[u8]) -> Result<(), Ending> {
        match nm_frame(text, NM_OUT_BYTES_MAX) {
            Ok(frame) => self.stdout.send(frame).await.map_err(|_| Ending::OutputBroken),
            Err(fault) => {
                log::error(format_args!("kept back a frame that the browser would not take: {fault}"));
                Ok(())
            }
        }
    }
}

/// A look that was missed is not made up for.
fn tick() -> Interval {
    let mut tick = interval(Duration::from_millis(TRUST_TICK_MS.into()));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

fn twice() -> Ending {
    Ending::Broken("it introduced itself twice".into())
}

fn received(frame: Option<Result<Vec<u8>, StreamFault>>) -> Result<Vec<u8>, Ending> {
    match frame {
        Some(Ok(frame)) => Ok(frame),
        Some(Err(fault)) => Err(Ending::Broken(fault.to_string())),
        None => Err(Ending::PortClosed),
    }
}
