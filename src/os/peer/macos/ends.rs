//! Which processes hold the other ends of a process's standard input and output.
//!
//! Decides by the kernel's name of each end of a pipe. For a socket of our own it is whoever last used the other end; the
//! kernel does not say it of another process's sockets, which are refused. For a terminal, a file or nothing, that is
//! the parent.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::FileType;

use super::kernel::{self, PipeEnd};
use super::process::{Process, unmeasured};
use crate::os::OsRefusal;

const STANDARD: [i32; 2] = [0, 1];

/// The holders. Each end has at least one, or this is a refusal.
pub fn holders(process: &Process) -> Result<Vec<Process>, OsRefusal> {
    let mut found: Vec<Process> = Vec::new();
    let mut pipes = Vec::new();
    for descriptor in STANDARD {
        match kernel::pipe_of(process.pid(), descriptor) {
            Ok(pipe) => pipes.push(pipe),
            Err(_) => add(&mut found, of_no_pipe(process, descriptor)?),
        }
    }
    search(process, &pipes, &mut found)?;
    Ok(found)
}

fn of_no_pipe(process: &Process, descriptor: i32) -> Result<Process, OsRefusal> {
    if process.pid() != std::process::id() {
        return Err(unmeasured(process.pid(), "the kernel does not say who speaks to it"));
    }
    let (input, output) = (std::io::stdin(), std::io::stdout());
    let end: BorrowedFd<'_> = if descriptor == 0 { input.as_fd() } else { output.as_fd() };
    let stat = rustix::fs::fstat(end).map_err(|error| unmeasured(process.pid(), &error.to_string()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Socket => Process::peer_of(&end),
        FileType::CharacterDevice | FileType::RegularFile => process.parent(),
        FileType::Fifo
        | FileType::Directory
        | FileType::Symlink
        | FileType::BlockDevice
        | FileType::Unknown => {
            Err(no_client("its standard streams are something from which no program speaks for certain"))
        }
    }
}

fn search(process: &Process, wanted: &[PipeEnd], found: &mut Vec<Process>) -> Result<(), OsRefusal> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut held = vec![false; wanted.len()];
    let pids = kernel::pids().map_err(|error| no_client(&error.to_string()))?;
    for pid in pids.into_iter().filter(|pid| *pid != process.pid()) {
        // What may not be looked at, or has ended meanwhile, is passed over: it is another user's.
        let Ok(candidate) = Process::pin(pid) else { continue };
        let Ok(pipes) = kernel::pipes(pid) else { continue };
        let mut any = false;
        for (wanted, held) in wanted.iter().zip(held.iter_mut()) {
            if pipes.iter().any(|pipe| pipe.own == wanted.peer) {
                (*held, any) = (true, true);
            }
        }
        if any && candidate.lives() {
            add(found, candidate);
        }
    }
    if held.contains(&false) {
        return Err(no_client("no program that you may look at holds the other end of its standard streams"));
    }
    Ok(())
}

fn add(found: &mut Vec<Process>, process: Process) {
    if !found.iter().any(|one| one.pid() == process.pid()) {
        found.push(process);
    }
}

fn no_client(why: &str) -> OsRefusal {
    OsRefusal::NoClient { why: why.into() }
}
