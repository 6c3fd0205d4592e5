//! The exported functions, and the texts that cross.
//!
//! A text is UTF-8 in the module's memory, named by its address and its length in bytes. The host asks for room
//! ([`lanewise_alloc`]), writes a request there and calls a verb with the address; the verb takes the request away. It answers with a
//! text, as `length << 32 | address`, which the host reads and gives back ([`lanewise_free`]). Texts are kept in a list,
//! so an address that was never handed out does no harm.
//!
//! A panic ends in a trap, as does memory that runs out; the instance may be in any state then. [`lanewise_fault`] says what
//! happened, if it was a panic, and every other call traps from then on.
#![allow(
    unsafe_code,
    reason = "names of exported functions have to be unique, which the compiler does not check"
)]

use crate::session::Sessions;
use crate::{answer, door, traced};
use std::cell::{Cell, RefCell};
use std::sync::Once;

thread_local! {
    /// Texts that the host has or is writing.
    static TEXTS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    /// What is left after a panic; 0 before.
    static FAULT: Cell<u64> = const { Cell::new(0) };
    static SESSIONS: RefCell<Sessions> = RefCell::new(Sessions::default());
}

/// Room for a text of so many bytes: its address.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_alloc(length: u32) -> u32 {
    alive();
    (keep(vec![0; length as usize]) & u64::from(u32::MAX)) as u32
}

/// Gives the text at an address back. One that is not there is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_free(address: u32) {
    alive();
    drop(taken(address));
}

/// Runs the scenario of a request.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_run(request: u32) -> u64 {
    answered(request, door::run)
}

/// Resolves the scenario of a request: every parameter with its provenance.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_explain(request: u32) -> u64 {
    answered(request, door::explain)
}

/// Resolves the scenario of a request: its mistakes.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_check(request: u32) -> u64 {
    answered(request, door::check)
}

/// What goes over the links of the scenario of a request, in a window of its run.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_trace(request: u32) -> u64 {
    answered(request, traced::trace)
}

/// The scenario of the benchmark whose name is the request.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_benchmark(request: u32) -> u64 {
    answered(request, door::benchmark)
}

/// The rungs of the link of a request.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_ladder(request: u32) -> u64 {
    answered(request, door::ladder)
}

/// What a wire carries of the packets of a request.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_wire(request: u32) -> u64 {
    answered(request, door::wire)
}

/// A session on the scenario of a request.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_session_new(request: u32) -> u64 {
    answered(request, |request| SESSIONS.with_borrow_mut(|sessions| sessions.open(request)))
}

/// Lets a session go on.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_session_step(request: u32) -> u64 {
    answered(request, |request| SESSIONS.with_borrow_mut(|sessions| sessions.step(request)))
}

/// What is there in a session now.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_session_state(request: u32) -> u64 {
    answered(request, |request| SESSIONS.with_borrow_mut(|sessions| sessions.state(request)))
}

/// Results of a session so far.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_session_results(request: u32) -> u64 {
    answered(request, |request| SESSIONS.with_borrow_mut(|sessions| sessions.results(request)))
}

/// Changes a parameter of a session from now on.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_session_change(request: u32) -> u64 {
    answered(request, |request| SESSIONS.with_borrow_mut(|sessions| sessions.change(request)))
}

/// Forgets a session.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_session_close(request: u32) -> u64 {
    answered(request, |request| SESSIONS.with_borrow_mut(|sessions| sessions.close(request)))
}

/// Lists the catalog.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_parts() -> u64 {
    alive();
    keep(door::parts().into_bytes())
}

/// The JSON Schema of scenario files.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_scenario_schema() -> u64 {
    alive();
    keep(door::scenario_schema().into_bytes())
}

/// The version of the simulator.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_version() -> u64 {
    alive();
    keep(door::version().into_bytes())
}

/// What a panic said, as the JSON of an error; 0 when there was none.
#[unsafe(no_mangle)]
pub extern "C" fn lanewise_fault() -> u64 {
    FAULT.get()
}

fn answered(request: u32, verb: impl FnOnce(&str) -> String) -> u64 {
    alive();
    let answer = match taken(request).map(String::from_utf8) {
        Some(Ok(text)) => verb(&text),
        Some(Err(_)) => answer::wrong_request("the request is not in UTF-8"),
        None => answer::wrong_request("there is no request at that address"),
    };
    keep(answer.into_bytes())
}

/// Keeps a text for the host: its length and address.
fn keep(text: Vec<u8>) -> u64 {
    let place = (text.len() as u64) << 32 | text.as_ptr().expose_provenance() as u64;
    TEXTS.with_borrow_mut(|texts| texts.push(text));
    place
}

fn taken(address: u32) -> Option<Vec<u8>> {
    TEXTS.with_borrow_mut(|texts| {
        let at = texts.iter().position(|text| text.as_ptr().expose_provenance() == address as usize)?;
        Some(texts.swap_remove(at))
    })
}

/// Sees to it that a panic leaves word, and that nothing is done after one.
fn alive() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            if FAULT.get() == 0 {
                let said = answer::internal(&panic.to_string(), true).leak();
                FAULT.set((said.len() as u64) << 32 | said.as_ptr().expose_provenance() as u64);
            }
        }));
    });
    assert!(FAULT.get() == 0, "nothing is done after a panic");
}
