//! Our client: every process that can speak to us over our standard streams, measured.
//!
//! Decides who that is: the holders of the other ends, and where a holder is this very program (a gateway of ours), the
//! holders of its ends in turn. Refuses a client of another user, one that nobody can be found for, and one that ended
//! while it was measured. A shell or launcher in between holds our ends, not the other ones, and so is nobody's client.

use std::collections::VecDeque;
use std::time::Duration;

use super::image::{self, Own};
use super::script;
use super::system::Process;
use crate::base::limits::{CLIENT_PATH_BYTES_MAX, GATEWAYS_MAX, HOLDERS_MAX};
use crate::os::OsRefusal;
use crate::wire::client::{Client, Holder, Image};

/// A child of the client has all its descriptors between fork and exec. Seen just then, it becomes another program or
/// ends while it is measured; a moment later it is gone.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Measures our client now: at the start, and again at its first call. Hashing a large program takes its time; call it
/// where waiting is allowed.
pub fn client() -> Result<Client, OsRefusal> {
    let measure = || of_process(Process::own()?);
    let mut client = measure();
    for _ in 1..ATTEMPTS {
        if client.is_ok() {
            break;
        }
        std::thread::sleep(PAUSE);
        client = measure();
    }
    client
}

fn of_process(process: Process) -> Result<Client, OsRefusal> {
    let own = image::own()?;
    let mut seen = vec![process.pid()];
    let mut ours = VecDeque::from([(process, 0)]);
    let mut holders = Vec::new();
    while let Some((one, depth)) = ours.pop_front() {
        for end in one.other_ends()? {
            if seen.contains(&end.pid()) {
                continue;
            }
            seen.push(end.pid());
            if seen.len() > HOLDERS_MAX + GATEWAYS_MAX {
                return Err(no_client("too many programs hold the other ends of its standard streams"));
            }
            match measured(own, &end)? {
                Some(holder) => holders.push(holder),
                None if depth == GATEWAYS_MAX => {
                    return Err(no_client("too many genkan processes stand in a row"));
                }
                None => ours.push_back((end, depth + 1)),
            }
        }
    }
    Client::new(holders).map_err(|fault| no_client(&fault.to_string()))
}

/// A holder of another program; `None` if it runs ours.
fn measured(own: &Own, process: &Process) -> Result<Option<Holder>, OsRefusal> {
    let pid = process.pid();
    if !process.is_ours()? {
        return Err(no_client(&format!("process {pid}, which holds the other end, runs as another user")));
    }
    let (_, device, inode) = process.running_identity()?;
    if own.has_identity(device, inode) {
        return Ok(None);
    }
    let running = process.running()?;
    if running.path.as_os_str().len() > CLIENT_PATH_BYTES_MAX {
        return Err(no_client("the path of its client's program is too long"));
    }
    let image = Image { signer: process.signer(&running), ..image::measure(&running)? };
    let interpreter = script::is_interpreter(&running.path);
    let script = if interpreter { script::of(process, &running.path) } else { None };
    // Had it become another program while it was measured, image and script might not belong together.
    if process.running_identity()? != (running.path, image.device, image.inode) || !process.lives() {
        return Err(no_client(&format!("process {pid} became another program while it was measured")));
    }
    Ok(Some(Holder { pid, image, interpreter, script }))
}

fn no_client(why: &str) -> OsRefusal {
    OsRefusal::NoClient { why: why.into() }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// The child's client is this test: our own image, so that its own client stands behind it.
    #[test]
    fn our_own_image_is_walked_through_to_the_first_of_another_program() {
        let mut command = Command::new("/bin/sleep");
        command.arg("600").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let process = Process::pin(child.id()).unwrap();
        while process.link("exe").unwrap() == image::own().unwrap().path() {
            std::thread::yield_now();
        }
        let (through, direct) = (of_process(process), client());
        child.kill().unwrap();
        child.wait().unwrap();
        // How the test itself was started is not ours to say; both ways must come to the same.
        assert_eq!(through, direct);
        for holder in direct.iter().flat_map(Client::holders) {
            assert_ne!(holder.image.path, image::own().unwrap().path().to_str().unwrap());
        }
    }
}
