// SPDX-License-Identifier: LGPL-2.1-only
//! The `rbpf` crate's interpreter behind a C interface: an engine that shares no code with LPN's own.
//!
//! Only what rbpf needs is here: it gets bytecode whose addresses are absolute already, the memory it may touch, and
//! the three helpers. rbpf checks addresses but not access rights, and of memory other than packet and context only
//! the first byte of an access; it neither counts instructions nor ends endless loops.

use std::cell::RefCell;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::slice;

/// Helper `lookup` in the C engine: error in the upper half, action number in the lower.
type Lookup = extern "C" fn(*mut u8, u64, *const u8, u64, *mut u8, u64) -> u64;

/// What helpers need; rbpf's helpers are plain functions, so it lies beside them.
#[derive(Default)]
struct Environment {
    lookup: Option<Lookup>,
    host: usize,
    now: u32,
    error: u32,
    traces: Vec<u64>,
}

thread_local!(static ENVIRONMENT: RefCell<Environment> = RefCell::new(Environment::default()));

fn lookup(table: u64, key: u64, key_size: u64, data: u64, data_size: u64) -> u64 {
    ENVIRONMENT.with(|e| {
        let mut e = e.borrow_mut();
        let call = match e.lookup {
            Some(call) => call,
            None => return 0,
        };
        let got = call(e.host as *mut u8, table, key as *const u8, key_size, data as *mut u8, data_size);
        if got >> 32 != 0 {
            e.error = (got >> 32) as u32;
        }
        got & 0xffff_ffff
    })
}

fn clock_us(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    ENVIRONMENT.with(|e| u64::from(e.borrow().now))
}

fn trace(a: u64, b: u64, _: u64, _: u64, _: u64) -> u64 {
    ENVIRONMENT.with(|e| e.borrow_mut().traces.extend_from_slice(&[a, b]));
    0
}

/// A program and the addresses it may touch.
pub struct Vm {
    vm: rbpf::EbpfVmMbuff<'static>,
    text: *mut [u8],
}

impl Drop for Vm {
    fn drop(&mut self) {
        // The borrow that `vm` holds is not used any more.
        drop(unsafe { Box::from_raw(self.text) });
    }
}

/// Without its `std` feature, rbpf's error has a `Debug` form only: the text is what stands between the quotes.
fn describe<E: std::fmt::Debug>(error: E) -> String {
    let text = format!("{:?}", error);
    match (text.find('"'), text.rfind('"')) {
        (Some(from), Some(to)) if from < to => text[from + 1..to].to_string(),
        _ => text,
    }
}

fn report(room: *mut c_char, size: usize, text: &str) {
    if size > 0 {
        let n = text.len().min(size - 1);
        let out = unsafe { slice::from_raw_parts_mut(room as *mut u8, size) };
        out[..n].copy_from_slice(&text.as_bytes()[..n]);
        out[n] = 0;
    }
}

/// A VM for `text`, or null with `message` filled in.
///
/// # Safety
/// `text` and `message` are readable and writable for their sizes.
#[no_mangle]
pub unsafe extern "C" fn lpn_rbpf_new(text: *const u8, size: usize, message: *mut c_char, room: usize) -> *mut Vm {
    std::panic::set_hook(Box::new(|_| {}));
    let text = Box::into_raw(slice::from_raw_parts(text, size).to_vec().into_boxed_slice());
    let made = catch_unwind(|| {
        let mut vm = rbpf::EbpfVmMbuff::new(Some(&*text)).map_err(describe)?;
        for (number, helper) in [(1, lookup as rbpf::Helper), (2, clock_us), (3, trace)] {
            vm.register_helper(number, helper).map_err(describe)?;
        }
        Ok(vm)
    });
    let error = match made {
        Ok(Ok(vm)) => return Box::into_raw(Box::new(Vm { vm, text })),
        Ok(Err(error)) => error,
        Err(_) => String::from("rbpf panicked"),
    };
    drop(Box::from_raw(text));
    report(message, room, &error);
    std::ptr::null_mut()
}

/// Free a VM.
///
/// # Safety
/// `vm` is from `lpn_rbpf_new` and not used again.
#[no_mangle]
pub unsafe extern "C" fn lpn_rbpf_free(vm: *mut Vm) {
    if !vm.is_null() {
        drop(Box::from_raw(vm));
    }
}

/// Let the program touch `size` bytes at `address`.
///
/// # Safety
/// `vm` is from `lpn_rbpf_new`; the memory outlives it.
#[no_mangle]
pub unsafe extern "C" fn lpn_rbpf_allow(vm: *mut Vm, address: u64, size: u64) {
    let addresses: Vec<u64> = (address..address + size).collect();
    (*vm).vm.register_allowed_memory(&addresses);
}

/// What the helpers of this thread's next runs use; also forgets traces and errors.
#[no_mangle]
pub extern "C" fn lpn_rbpf_environment(lookup: Option<Lookup>, host: *mut u8, now: u32) {
    ENVIRONMENT.with(|e| *e.borrow_mut() = Environment { lookup, host: host as usize, now, ..Environment::default() });
}

/// Copy up to `room` numbers given to helper `trace`, two a call; returns how many there are.
///
/// # Safety
/// `out` has room for `room` numbers.
#[no_mangle]
pub unsafe extern "C" fn lpn_rbpf_traces(out: *mut u64, room: usize) -> usize {
    ENVIRONMENT.with(|e| {
        let e = e.borrow();
        let n = e.traces.len().min(room);
        slice::from_raw_parts_mut(out, n).copy_from_slice(&e.traces[..n]);
        n
    })
}

/// Run: r1 points to `ctx` when it has a size, else to `memory`. 0 with `r0`, an error of helper `lookup` (an lpn.h
/// number), or -1 with `message`.
///
/// # Safety
/// All pointers are valid for their sizes.
#[no_mangle]
pub unsafe extern "C" fn lpn_rbpf_run(
    vm: *const Vm, ctx: *const u8, ctx_size: usize, memory: *const u8, memory_size: usize, r0: *mut u64,
    message: *mut c_char, room: usize,
) -> i32 {
    let (ctx, memory) = (slice::from_raw_parts(ctx, ctx_size), slice::from_raw_parts(memory, memory_size));
    match catch_unwind(AssertUnwindSafe(|| (*vm).vm.execute_program(memory, ctx))) {
        Ok(Ok(value)) => {
            *r0 = value;
            return ENVIRONMENT.with(|e| e.borrow().error) as i32;
        }
        Ok(Err(error)) => report(message, room, &describe(error)),
        Err(_) => report(message, room, "rbpf panicked"),
    }
    -1
}
