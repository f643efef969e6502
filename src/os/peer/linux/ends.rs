//! Which processes hold the other ends of a process's standard input and output.
//!
//! Decides by inode: whoever has the write end of the pipe that is our input, the read end of the one that is our
//! output, or the socket that ours is connected to. For a terminal, a file or nothing, that is the parent in the same
//! session. A named pipe is refused: anybody may open it. Looks at a bounded number of processes and descriptors.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::diag;
use super::process::{Process, proc_folder, unmeasured};
use crate::base::limits::{DESCRIPTORS_MAX, PROCESSES_MAX};
use crate::os::OsRefusal;

/// Generations of parents that are preferred as the one shown to people.
const ANCESTORS_MAX: usize = 32;
const READ_ONLY: u32 = 0;
const WRITE_ONLY: u32 = 1;
const ACCESS_MODES: u32 = 3;

/// One thing to look for among the descriptors of all processes.
struct Wanted {
    /// How the kernel names it, such as `pipe:[1234]`.
    name: String,
    /// The access mode that would make a descriptor of it our own end; `None` where every descriptor is the other.
    not: Option<u32>,
}

enum End {
    Held(Wanted),
    Parent,
}

/// What one descriptor is: its kind, and the kernel's name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    kind: FileType,
    name: String,
}

/// Our own standard output as we were given it.
static OUTPUT: OnceLock<Stream> = OnceLock::new();

/// Keeps in mind what our standard output is, before its number is given to another file.
pub fn remember_output() {
    if let Ok(stream) = Process::own().and_then(|own| stream(&own, "fd/1")) {
        let _ = OUTPUT.set(stream);
    }
}

/// The holders, nearest ancestor first. Each end has at least one, or this is a refusal.
pub fn holders(process: &Process) -> Result<Vec<Process>, OsRefusal> {
    let (mut wanted, mut found) = (Vec::new(), Vec::<Process>::new());
    let (input, output) = (Some(stream(process, "fd/0")?), output(process)?);
    for (stream, own_mode) in [(input, READ_ONLY), (output, WRITE_ONLY)] {
        let Some(stream) = stream else { continue };
        match end(process, stream, own_mode)? {
            End::Held(end) => wanted.push(end),
            End::Parent if found.is_empty() => found.push(parent(process)?),
            End::Parent => {}
        }
    }
    search(process, &wanted, &mut found)?;
    let ancestors = ancestors(process);
    let rank = |process: &Process| ancestors.iter().position(|pid| *pid == process.pid());
    found.sort_by_key(|one| (rank(one).unwrap_or(usize::MAX), one.pid()));
    Ok(found)
}

fn stream(process: &Process, name: &str) -> Result<Stream, OsRefusal> {
    let refused = |error: Errno| unmeasured(process.pid(), &error.to_string());
    let flags = AtFlags::STATX_DONT_SYNC;
    let file = rustix::fs::statx(process.folder(), name, flags, StatxFlags::TYPE).map_err(refused)?;
    let kind = FileType::from_raw_mode(file.stx_mode.into());
    Ok(Stream { kind, name: process.link(name)?.to_string_lossy().into_owned() })
}

/// The output for which holders are looked for. Another process of ours whose output and log are one file has put its
/// output aside, as we do; then who speaks to it over its input must do.
fn output(process: &Process) -> Result<Option<Stream>, OsRefusal> {
    let seen = stream(process, "fd/1")?;
    if process.pid() == std::process::id() {
        Ok(Some(OUTPUT.get().cloned().unwrap_or(seen)))
    } else {
        let log = stream(process, "fd/2").ok();
        Ok(Some(seen).filter(|seen| log.as_ref() != Some(seen)))
    }
}

fn end(process: &Process, stream: Stream, own_mode: u32) -> Result<End, OsRefusal> {
    let Stream { kind, name: link } = stream;
    match kind {
        FileType::Fifo if link.starts_with("pipe:[") => {
            Ok(End::Held(Wanted { name: link, not: Some(own_mode) }))
        }
        FileType::Fifo => Err(no_client(&format!(
            "its standard streams use the named pipe {link:?}, which anybody may open"
        ))),
        FileType::Socket => {
            let inode = link.strip_prefix("socket:[").and_then(|link| link.strip_suffix(']')?.parse().ok());
            let inode = inode.ok_or_else(|| unmeasured(process.pid(), "its input is an unknown socket"))?;
            let peer = diag::peer_of(inode).map_err(|error| {
                no_client(&format!("the kernel does not say whose socket its standard streams use: {error}"))
            })?;
            let peer = peer.ok_or_else(|| no_client("nobody is at the other end of its standard streams"))?;
            Ok(End::Held(Wanted { name: format!("socket:[{peer}]"), not: None }))
        }
        FileType::CharacterDevice | FileType::RegularFile => Ok(End::Parent),
        FileType::Directory | FileType::Symlink | FileType::BlockDevice | FileType::Unknown => {
            Err(no_client(&format!("its standard streams are {link:?}, from which no program speaks")))
        }
    }
}

/// The parent stands for streams that nobody else holds: only in the same session, where no daemon adopts orphans.
fn parent(process: &Process) -> Result<Process, OsRefusal> {
    let parent = process.parent()?;
    if parent.session()? == process.session()? {
        Ok(parent)
    } else {
        Err(no_client("its streams lead to no program, and whoever started it is gone or in another session"))
    }
}

fn ancestors(process: &Process) -> Vec<u32> {
    let mut line = Vec::new();
    let mut next = process.parent().ok();
    while let Some(one) = next.filter(|_| line.len() < ANCESTORS_MAX) {
        line.push(one.pid());
        next = one.parent().ok();
    }
    line
}

fn search(process: &Process, wanted: &[Wanted], found: &mut Vec<Process>) -> Result<(), OsRefusal> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut held = vec![false; wanted.len()];
    let mut left = DESCRIPTORS_MAX;
    for pid in pids()? {
        if pid == process.pid() {
            continue;
        }
        let Some((folder, descriptors)) = passable(descriptors(pid))? else { continue };
        let before = left;
        let mut any = look(descriptors, wanted, &mut held, &mut left)?;
        if left == before {
            any = look_by_thread(pid, &folder, wanted, &mut held, &mut left)?;
        }
        if any && !found.iter().any(|one| one.pid() == pid) {
            let holder = Process::pin(pid)?;
            // The folder in which it was found must still be the pinned process's.
            rustix::fs::statat(&folder, "stat", AtFlags::empty())
                .map_err(|error| unmeasured(pid, &error.to_string()))?;
            found.push(holder);
        }
    }
    if held.contains(&false) {
        return Err(no_client("no program that you may look at holds the other end of its standard streams"));
    }
    Ok(())
}

fn pids() -> Result<Vec<u32>, OsRefusal> {
    let path = Path::new("/proc");
    let refused = |error: std::io::Error| OsRefusal::io("read", path, error);
    let mut pids = Vec::new();
    for entry in std::fs::read_dir(path).map_err(refused)? {
        if let Some(pid) = entry.map_err(refused)?.file_name().to_str().and_then(|name| name.parse().ok()) {
            pids.push(pid);
        }
        if pids.len() > PROCESSES_MAX {
            return Err(no_client("there are too many processes to look through"));
        }
    }
    Ok(pids)
}

/// A process's folder, and in it the one of its descriptors.
fn descriptors(pid: u32) -> Result<(OwnedFd, OwnedFd), Errno> {
    let folder = proc_folder(pid)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let descriptors = rustix::fs::openat(&folder, "fd", flags, Mode::empty())?;
    Ok((folder, descriptors))
}

/// What may not be looked at, or has ended meanwhile, is passed over: it is another user's, or hides itself. Every other
/// failure is our own, such as too many open files, and would pass over a holder that can be seen.
fn passable<T>(looked: Result<T, Errno>) -> Result<Option<T>, OsRefusal> {
    match looked {
        Ok(seen) => Ok(Some(seen)),
        Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => Ok(None),
        Err(error) => Err(OsRefusal::io("read", Path::new("/proc"), std::io::Error::from(error))),
    }
}

/// A program whose first thread has ended shows its open files only through its others.
fn look_by_thread(
    pid: u32,
    folder: &OwnedFd,
    wanted: &[Wanted],
    held: &mut [bool],
    left: &mut usize,
) -> Result<bool, OsRefusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |name: &str| passable(rustix::fs::openat(folder, name, flags, Mode::empty()));
    let Some(threads) = open("task")? else { return Ok(false) };
    let Some(threads) = passable(Dir::read_from(&threads))? else { return Ok(false) };
    let mut any = false;
    for thread in threads {
        let Some(thread) = passable(thread)? else { break };
        let number = thread.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok());
        let Some(number) = number.filter(|number| *number != pid) else { continue };
        *left = left.checked_sub(1).ok_or_else(|| no_client("there are too many threads to look through"))?;
        if let Some(descriptors) = open(&format!("task/{number}/fd"))? {
            any |= look(descriptors, wanted, held, left)?;
        }
    }
    Ok(any)
}

/// Whether one of the descriptors is wanted. Only their names are read: files on somebody's own file system stay untouched.
fn look(
    descriptors: OwnedFd,
    wanted: &[Wanted],
    held: &mut [bool],
    left: &mut usize,
) -> Result<bool, OsRefusal> {
    let mut any = false;
    let mut name = Vec::new();
    let Some(entries) = passable(Dir::read_from(&descriptors))? else { return Ok(false) };
    for entry in entries {
        let Some(entry) = passable(entry)? else { break };
        if entry.file_name().to_bytes().starts_with(b".") {
            continue;
        }
        *left =
            left.checked_sub(1).ok_or_else(|| no_client("there are too many open files to look through"))?;
        let link = rustix::fs::readlinkat(&descriptors, entry.file_name(), std::mem::take(&mut name));
        let Some(link) = passable(link)? else { continue };
        for (wanted, held) in wanted.iter().zip(held.iter_mut()) {
            if link.as_bytes() == wanted.name.as_bytes()
                && wanted.not.is_none_or(|own| mode(&descriptors, entry.file_name()) != Some(own))
            {
                (*held, any) = (true, true);
            }
        }
        name = link.into_bytes();
    }
    Ok(any)
}

/// The access mode of a descriptor, as its link's permission bits show it: r for reading, w for writing.
fn mode(descriptors: &OwnedFd, name: &CStr) -> Option<u32> {
    let link = rustix::fs::statat(descriptors.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match link.st_mode & 0o600 {
        0o400 => Some(READ_ONLY),
        0o200 => Some(WRITE_ONLY),
        _ => Some(ACCESS_MODES),
    }
}

fn no_client(why: &str) -> OsRefusal {
    OsRefusal::NoClient { why: why.into() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command, Stdio};

    use super::*;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn sleeper(input: impl Into<Stdio>, output: impl Into<Stdio>) -> Ended {
        Ended(Command::new("/bin/sleep").arg("600").stdin(input).stdout(output).spawn().unwrap())
    }

    fn holders_of(child: &Ended) -> Result<Vec<u32>, OsRefusal> {
        let process = Process::pin(child.0.id()).unwrap();
        // Between fork and exec a process still has all our descriptors, whichever test began it.
        let is_fork = |pid: u32| {
            let image = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
            pid != us() && image.is_none_or(|image| image == std::env::current_exe().unwrap())
        };
        loop {
            let found = holders(&process).map(|all| all.iter().map(Process::pid).collect::<Vec<_>>());
            if !is_fork(process.pid()) && !found.iter().flatten().copied().any(is_fork) {
                return found;
            }
            std::thread::yield_now();
        }
    }

    fn us() -> u32 {
        std::process::id()
    }

    #[test]
    fn whoever_has_the_other_end_of_a_pipe_is_the_client() {
        let child = sleeper(Stdio::piped(), Stdio::piped());
        assert_eq!(holders_of(&child).unwrap(), [us()]);
    }

    #[test]
    fn every_holder_is_found_and_a_copy_of_our_own_end_makes_nobody_one() {
        let child = sleeper(Stdio::piped(), Stdio::piped());
        let (writer, reader) = (child.0.stdin.as_ref().unwrap(), child.0.stdout.as_ref().unwrap());
        let writes = sleeper(Stdio::null(), writer.as_fd().try_clone_to_owned().unwrap());
        let reads = sleeper(reader.as_fd().try_clone_to_owned().unwrap(), Stdio::null());
        let (_, mut copies) = (holders_of(&writes), [writes.0.id(), reads.0.id()]);
        let _ = holders_of(&reads);
        copies.sort_unstable();
        assert_eq!(
            holders_of(&child).unwrap(),
            [vec![us()], copies.to_vec()].concat(),
            "the parent comes first"
        );

        let (input, kept) = std::io::pipe().unwrap();
        let same_end = sleeper(input.try_clone().unwrap(), Stdio::null());
        let child = sleeper(input, Stdio::piped());
        let _ = holders_of(&same_end);
        assert_eq!(holders_of(&child).unwrap(), [us()], "who reads the same input is no client");
        drop(kept);
    }

    #[test]
    fn the_other_end_of_a_socket_pair_is_the_client() {
        let (near, far) = UnixStream::pair().unwrap();
        let near = OwnedFd::from(near);
        let child = sleeper(near.try_clone().unwrap(), near);
        assert_eq!(holders_of(&child).unwrap(), [us()]);
        let other = sleeper(Stdio::null(), OwnedFd::from(far.try_clone().unwrap()));
        let _ = holders_of(&other);
        assert_eq!(holders_of(&child).unwrap(), [us(), other.0.id()]);
        drop((far, other));
        assert!(matches!(holders_of(&child), Err(OsRefusal::NoClient { .. })), "nobody is there");
    }

    #[test]
    fn a_pipe_without_another_end_has_no_client() {
        let (input, writer) = std::io::pipe().unwrap();
        let child = sleeper(input, Stdio::piped());
        drop(writer);
        assert!(matches!(holders_of(&child), Err(OsRefusal::NoClient { .. })));
    }

    #[test]
    fn a_holder_whose_first_thread_has_ended_is_found_by_the_others() {
        let temp = tempfile::tempdir().unwrap();
        let (source, program) = (temp.path().join("headless.c"), temp.path().join("headless"));
        let code = "#include <pthread.h>\n#include <unistd.h>\nstatic void *stay(void *x) { for (;;) pause(); return x; }\n\
                    int main(void) { pthread_t t; pthread_create(&t, 0, stay, 0); pthread_exit(0); }\n";
        std::fs::write(&source, code).unwrap();
        assert!(
            Command::new("cc")
                .arg("-pthread")
                .arg("-o")
                .arg(&program)
                .arg(&source)
                .status()
                .unwrap()
                .success()
        );
        let child = sleeper(Stdio::piped(), Stdio::null());
        let writer = child.0.stdin.as_ref().unwrap().as_fd().try_clone_to_owned().unwrap();
        let headless = Ended(Command::new(&program).stdin(Stdio::null()).stdout(writer).spawn().unwrap());
        let stat = format!("/proc/{}/stat", headless.0.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        let found = holders(&Process::pin(child.0.id()).unwrap()).unwrap();
        assert!(found.iter().any(|one| one.pid() == headless.0.id()), "it speaks and is not seen");
    }

    #[test]
    fn what_is_not_ours_to_see_is_passed_over_and_our_own_shortage_is_not() {
        for hidden in [Errno::NOENT, Errno::SRCH, Errno::ACCESS, Errno::PERM] {
            assert_eq!(passable::<()>(Err(hidden)).unwrap(), None);
        }
        for own in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert!(passable::<()>(Err(own)).is_err(), "{own}");
        }
    }

    #[test]
    fn an_output_that_was_put_aside_for_the_log_is_not_looked_at() {
        let (reader, log) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new("/bin/sleep");
        command.arg("600").stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = Ended(command.spawn().unwrap());
        drop(command);
        assert_eq!(holders_of(&child).unwrap(), [us()]);
    }

    #[test]
    fn a_named_pipe_and_a_folder_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let open = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
        let child = sleeper(open, Stdio::null());
        assert!(holders_of(&child).unwrap_err().to_string().contains("named pipe"));
        let child = sleeper(std::fs::File::open("/").unwrap(), Stdio::null());
        assert!(matches!(holders_of(&child), Err(OsRefusal::NoClient { .. })));
    }

    #[test]
    fn t045_without_a_pipe_it_is_the_parent_in_the_same_session_and_nobody_else() {
        let child = sleeper(Stdio::null(), Stdio::null());
        assert_eq!(holders_of(&child).unwrap(), [us()]);

        let mut command = Command::new("setsid");
        command.args(["/bin/sleep", "600"]).stdin(Stdio::null()).stdout(Stdio::null());
        let child = Ended(command.spawn().unwrap());
        let process = Process::pin(child.0.id()).unwrap();
        while !process.link("exe").is_ok_and(|path| path.ends_with("sleep")) {
            std::thread::yield_now();
        }
        assert_ne!(process.session().unwrap(), Process::own().unwrap().session().unwrap());
        assert!(matches!(holders_of(&child), Err(OsRefusal::NoClient { .. })));
    }
}
