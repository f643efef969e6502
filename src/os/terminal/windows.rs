//! The console of a process on Windows. Type-checked, never run.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::windows::io::AsRawHandle;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use windows_sys::Win32::System::Console::FlushConsoleInputBuffer;

use super::{PROMPT, TerminalRefusal};
use crate::base::limits::TERMINAL_LINE_BYTES_MAX;

/// The open console.
#[derive(Debug)]
pub struct Terminal {
    input: File,
    output: File,
}

impl Terminal {
    /// The console of this process.
    pub fn open() -> Result<Self, TerminalRefusal> {
        let open =
            |name| File::options().read(true).write(true).open(name).map_err(|_| TerminalRefusal::Absent);
        Ok(Self { input: open("CONIN$")?, output: open("CONOUT$")? })
    }

    /// Asks, and reads one line that is typed after the prompt stood there.
    pub fn ask(&self, question: &str, within: Duration) -> Result<String, TerminalRefusal> {
        let failed = |error: std::io::Error| TerminalRefusal::Io(error.to_string());
        (&self.output).write_all(question.as_bytes()).map_err(failed)?;
        // SAFETY: the handle is open for as long as `self` is.
        #[allow(unsafe_code, reason = "a console is emptied by no safe call")]
        let flushed = unsafe { FlushConsoleInputBuffer(self.input.as_raw_handle()) };
        if flushed == 0 {
            return Err(failed(std::io::Error::last_os_error()));
        }
        (&self.output).write_all(PROMPT.as_bytes()).map_err(failed)?;
        let input = self.input.try_clone().map_err(failed)?;
        let (sender, heard) = channel();
        // A console cannot be waited for with a deadline; the thread ends with the process.
        std::thread::spawn(move || {
            let mut line = String::new();
            let max = TERMINAL_LINE_BYTES_MAX as u64 + 1;
            let read = BufReader::new(input.take(max)).read_line(&mut line);
            let _ = sender.send(read.map(|_| line));
        });
        let line = match heard.recv_timeout(within) {
            Ok(Ok(line)) if line.is_empty() => return Err(TerminalRefusal::Closed),
            Ok(Ok(line)) => line,
            Ok(Err(_)) => return Err(TerminalRefusal::NotALine),
            Err(RecvTimeoutError::Timeout) => return Err(TerminalRefusal::Silent),
            Err(RecvTimeoutError::Disconnected) => return Err(TerminalRefusal::Closed),
        };
        let line = line.strip_suffix('\n').ok_or(TerminalRefusal::NotALine)?;
        Ok(line.strip_suffix('\r').unwrap_or(line).to_string())
    }

    /// Which terminal it is; Windows does not say which program made it.
    pub fn origin(&self) -> String {
        "the console".into()
    }
}

/// Columns of standard output are not asked for: lines are left whole.
pub fn columns() -> Option<usize> {
    None
}
