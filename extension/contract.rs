//! Writes the TypeScript side of the contract into a folder. Rust is the only source; the files are never tracked.
//!
//! It refuses to write anything at all when one file cannot be made as strict as the Rust parser, when the pinned
//! extension id does not follow from the key, or when a bound is not exact in both languages.
#![allow(clippy::print_stderr)]

#[path = "contract/frames.rs"]
mod frames;
#[path = "contract/ops.rs"]
mod ops;
#[path = "contract/probes.rs"]
mod probes;
#[path = "contract/shape.rs"]
mod shape;
#[path = "contract/tables.rs"]
mod tables;
#[cfg(test)]
#[path = "contract/tests.rs"]
mod tests;
#[path = "contract/zod.rs"]
mod zod;

use std::path::Path;
use std::process::ExitCode;

const BANNER: &str = "// Written by extension/contract.rs from the Rust types. Do not edit: change Rust, then `npm run contract`.\n\n";

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("contract: name the folder to write to");
        return ExitCode::FAILURE;
    };
    match contract().and_then(|files| write(Path::new(&folder), &files)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("contract: nothing usable was written: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Every file with its text, or why there is none.
fn contract() -> Result<Vec<(&'static str, String)>, String> {
    let mut files = vec![
        ("audit", tables::audit()?),
        ("errors", tables::errors()?),
        ("frames", frames::frames()?),
        ("identity", tables::identity()?),
        ("limits", tables::limits()?),
        ("ops", ops::ops()?),
        ("protocol", tables::protocol()?),
    ];
    let index = files.iter().map(|(name, _)| format!("export * from './{name}';\n")).collect();
    files.push(("index", index));
    files.push(("primitives", zod::PRIMITIVES.into()));
    files.push(("probes", probes::probes()));
    files.push(("exceptions", frames::exceptions()));
    Ok(files)
}

fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), String> {
    let fault = |e: std::io::Error| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(folder).map_err(fault)?;
    for (name, text) in files {
        std::fs::write(folder.join(format!("{name}.ts")), format!("{BANNER}{text}")).map_err(fault)?;
    }
    Ok(())
}
