//! The controlling terminal of a process on Unix.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{InputModes, LocalModes, OptionalActions, QueueSelector};

use super::{PROMPT, TerminalRefusal};
use crate::base::limits::TERMINAL_LINE_BYTES_MAX;

const TTY: &str = "/dev/tty";

impl From<Errno> for TerminalRefusal {
    fn from(error: Errno) -> Self {
        Self::Io(error.to_string())
    }
}

/// The open controlling terminal.
#[derive(Debug)]
pub struct Terminal {
    fd: OwnedFd,
}

impl Terminal {
    /// The controlling terminal of this process, if it stands in front there.
    pub fn open() -> Result<Self, TerminalRefusal> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(TTY, flags, Mode::empty()).map_err(|_| TerminalRefusal::Absent)?;
        // A plain file planted at the name is no terminal.
        if !rustix::termios::isatty(&fd) {
            return Err(TerminalRefusal::Absent);
        }
        if rustix::termios::tcgetpgrp(&fd)? != rustix::process::getpgrp() {
            return Err(TerminalRefusal::Background);
        }
        Ok(Self { fd })
    }

    /// Shows text. The caller has made it fit to show.
    fn say(&self, text: &str) -> Result<(), TerminalRefusal> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(&self.fd, rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Asks, and reads one line that is typed after the prompt stood there, as the person sees it while typing.
    pub fn ask(&self, question: &str, within: Duration) -> Result<String, TerminalRefusal> {
        self.use_lines()?;
        self.say(question)?;
        rustix::termios::tcflush(&self.fd, QueueSelector::IFlush)?;
        self.say(PROMPT)?;
        let end = Instant::now() + within;
        let mut line = Vec::new();
        loop {
            self.wait(end)?;
            let mut piece = [0; TERMINAL_LINE_BYTES_MAX];
            match rustix::io::read(&self.fd, &mut piece) {
                Ok(0) => return Err(TerminalRefusal::Closed),
                Ok(length) => line.extend_from_slice(piece.get(..length).unwrap_or_default()),
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(_) => return Err(TerminalRefusal::Closed),
            }
            if line.ends_with(b"\n") {
                line.pop();
                return String::from_utf8(line).map_err(|_| TerminalRefusal::NotALine);
            }
            if line.len() > TERMINAL_LINE_BYTES_MAX {
                return Err(TerminalRefusal::NotALine);
            }
        }
    }

    /// Whole lines, shown while typed, whatever ran at the terminal before.
    fn use_lines(&self) -> Result<(), TerminalRefusal> {
        let mut modes = rustix::termios::tcgetattr(&self.fd)?;
        modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ISIG;
        modes.input_modes |= InputModes::ICRNL;
        Ok(rustix::termios::tcsetattr(&self.fd, OptionalActions::Now, &modes)?)
    }

    fn wait(&self, end: Instant) -> Result<(), TerminalRefusal> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TerminalRefusal::Silent);
            }
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
            match rustix::event::poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&left)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Which terminal it is, and which program made it, as far as this user may look.
    pub fn origin(&self) -> String {
        origin::of_this_process()
    }
}

/// Columns of standard output, if a person looks at it there.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(target_os = "linux")]
mod origin {
    use std::path::Path;

    use crate::base::shown::quoted;

    /// First device number of the terminals that programs make.
    const PTS_MAJOR: u32 = 136;
    const PTS_MAJORS: u32 = 8;
    /// Characters of a maker's path, and makers by name: all of them fit into one record of the log, before what is granted.
    const MAKER_CHARS_MAX: usize = 96;
    const MAKERS_MAX: usize = 4;
    /// Generations in which the maker is looked for.
    const ANCESTORS_MAX: usize = 32;

    pub fn of_this_process() -> String {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        match number(&stat) {
            Some((major, minor)) if (PTS_MAJOR..PTS_MAJOR + PTS_MAJORS).contains(&major) => {
                let index = (major - PTS_MAJOR) * 256 + minor;
                let made = makers(index);
                let by = if made.is_empty() { "a program out of sight".into() } else { list(&made) };
                format!("/dev/pts/{index}, made by {by}")
            }
            Some((major, minor)) => format!("device {major}:{minor}"),
            None => "unknown".into(),
        }
    }

    /// Major and minor of the controlling terminal: the fifth field after the name, which may hold anything.
    pub fn number(stat: &str) -> Option<(u32, u32)> {
        let packed: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(4)?.parse().ok()?;
        (packed != 0).then_some(((packed >> 8) & 0xfff, (packed & 0xff) | ((packed >> 12) & 0xf_ff00)))
    }

    /// Who holds the other end of this terminal; who started this process comes first, as decoys seldom did.
    fn makers(index: u32) -> Vec<String> {
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut makers: Vec<u32> =
            pids.filter(|pid| *pid != std::process::id() && holds(*pid, index)).collect();
        let ancestors = ancestors();
        makers.sort_by_key(|pid| ancestors.iter().position(|one| one == pid).unwrap_or(usize::MAX));
        makers.into_iter().map(image).collect()
    }

    fn ancestors() -> Vec<u32> {
        let parent = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
        };
        std::iter::successors(Some(std::process::id()), parent).take(ANCESTORS_MAX).collect()
    }

    fn image(pid: u32) -> String {
        let image = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        format!("{} (process {pid})", quoted(&image.to_string_lossy(), MAKER_CHARS_MAX))
    }

    /// The first few, and how many there are beside them: a maker that hides among others is at least counted.
    fn list(made: &[String]) -> String {
        let shown = made.iter().take(MAKERS_MAX).cloned().collect::<Vec<_>>().join(", ");
        match made.len().saturating_sub(MAKERS_MAX) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }

    fn holds(pid: u32, index: u32) -> bool {
        let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        open.flatten().any(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|file| is_maker(&file)) && {
                let info = Path::new("/proc").join(pid.to_string()).join("fdinfo").join(entry.file_name());
                std::fs::read_to_string(info).is_ok_and(|info| is_index(&info, index))
            }
        })
    }

    fn is_maker(file: &Path) -> bool {
        file.file_name().is_some_and(|name| name == "ptmx")
    }

    fn is_index(info: &str, index: u32) -> bool {
        info.lines().filter_map(|line| line.strip_prefix("tty-index:")).any(|n| n.trim().parse() == Ok(index))
    }
}

#[cfg(not(target_os = "linux"))]
mod origin {
    pub fn of_this_process() -> String {
        "unknown".into()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::origin::number;

    #[test]
    fn the_number_of_a_terminal_is_read_past_any_name() {
        assert_eq!(number("1 (a) b) S 1 1 1 34819 1"), Some((136, 3)));
        assert_eq!(number("1 (sh) S 1 1 1 1025 1"), Some((4, 1)));
        assert_eq!(number("1 (sh) S 1 1 1 0 -1"), None);
        assert_eq!(number(""), None);
    }
}
