//! argv to role, nothing else.

use std::io::Write;
use std::process::ExitCode;

use genkan::os::{log, platform, runtime_dir::Environment, signals};
use genkan::role::argv::{self, Invocation, USAGE};
use genkan::role::{admin, doctor, mcp, native_host};

fn main() -> ExitCode {
    let code = start();
    log::flush();
    code
}

fn start() -> ExitCode {
    abort_on_panic();
    signals::outlive_file_limits();
    if let Some(why) = platform::unverified() {
        let _ = writeln!(std::io::stderr(), "{why}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match argv::parse(&arguments) {
        Ok(invocation) => run(invocation),
        Err(misuse) => {
            let _ = writeln!(
                std::io::stderr(),
                "genkan: {}. `genkan --help` lists the commands.",
                log::escape(&misuse.0)
            );
            ExitCode::from(2)
        }
    }
}

fn run(invocation: Invocation) -> ExitCode {
    let environment = Environment::of_this_process();
    match invocation {
        Invocation::Mcp => drive(async {
            match mcp::serve(environment).await {
                Ok(()) => ExitCode::SUCCESS,
                Err(refusal) => {
                    log::error(format_args!("{refusal}"));
                    ExitCode::FAILURE
                }
            }
        }),
        Invocation::NativeHost { label } => {
            drive(async { ExitCode::from(native_host::serve(environment, label).await.exit_code()) })
        }
        Invocation::Doctor(options) => {
            let examined = doctor::examine(&environment, &options);
            print(&examined.text);
            if examined.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Invocation::Command(command) => {
            if admin::run(&environment, &command) {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Invocation::Help => print(USAGE),
        Invocation::Version => print(concat!("genkan ", env!("CARGO_PKG_VERSION"), "\n")),
    }
}

fn drive(role: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(role),
        Err(error) => {
            log::error(format_args!("cannot start: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// For people. No protocol runs in a process that prints.
fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// A panic must reach neither standard output, which is protocol, nor a second thread, which would go on half broken.
/// SIGPIPE needs nothing: the runtime ignores it from the start, so a broken pipe is an error like any other.
fn abort_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        log::error(format_args!("this is a defect of genkan: {panic}"));
        log::flush();
        std::process::abort();
    }));
}
