//! Named places where a debug build panics on request (`GENKAN_FAIL_POINT=name`), so that tests can show what a panic
//! in any thread does to the streams. A release build holds none of it.

/// Panics here if the environment names this place.
#[cfg(debug_assertions)]
#[allow(clippy::panic, reason = "panicking is the whole purpose, and only debug builds hold it")]
pub fn reach(place: &str) {
    if std::env::var_os("GENKAN_FAIL_POINT").is_some_and(|named| named == place) {
        panic!("fail point {place}");
    }
}

/// Nothing, in a release build.
#[cfg(not(debug_assertions))]
pub fn reach(_place: &str) {}

/// Prints to standard output here if the environment names this place, as a careless library would.
#[cfg(debug_assertions)]
#[allow(clippy::print_stdout, reason = "printing is the whole purpose, and only debug builds hold it")]
pub fn print(place: &str) {
    if std::env::var_os("GENKAN_FAIL_POINT").is_some_and(|named| named == place) {
        println!("fail point {place}");
    }
}

/// Nothing, in a release build.
#[cfg(not(debug_assertions))]
pub fn print(_place: &str) {}
