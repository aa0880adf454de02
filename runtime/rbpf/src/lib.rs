// SPDX-License-Identifier: LGPL-2.1-only
//! The `rbpf` crate's interpreter behind a C interface: an engine that shares no code with LPN's own.
//!
//! Only what rbpf needs is here: it gets bytecode whose addresses are absolute already, the memory it may touch, and
//! the helpers. rbpf checks addresses but not access rights, and of memory other than packet and context only
//! the first byte of an access; it neither counts instructions nor ends endless loops.

use std::cell::RefCell;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::slice;

/// Helper `number` with r1 to r5, in the C engine: error in the upper half, r0 in the lower.
type Call = extern "C" fn(*mut u8, u32, *const u64) -> u64;

/// What helpers need; rbpf's helpers are plain functions, so it lies beside them.
#[derive(Default)]
struct Environment {
    call: Option<Call>,
    host: usize,
    now: u32,
    error: u32,
    traces: Vec<u64>,
}

thread_local!(static ENVIRONMENT: RefCell<Environment> = RefCell::new(Environment::default()));

const CLOCK_US: u32 = 2;
const TRACE: u32 = 3;

/// Any helper but two goes to the engine that the host gave; once one has failed, the others do nothing.
fn helper<const NUMBER: u32>(a: u64, b: u64, c: u64, d: u64, e: u64) -> u64 {
    let (call, host) = ENVIRONMENT.with(|env| {
        let env = env.borrow();
        (env.call.filter(|_| env.error == 0), env.host)
    });
    match NUMBER {
        CLOCK_US => return ENVIRONMENT.with(|env| u64::from(env.borrow().now)),
        TRACE => {
            ENVIRONMENT.with(|env| env.borrow_mut().traces.extend_from_slice(&[a, b]));
            return 0;
        }
        _ => {}
    }
    let registers = [a, b, c, d, e];
    let got = call.map_or(0, |call| call(host as *mut u8, NUMBER, registers.as_ptr()));
    if got >> 32 != 0 {
        ENVIRONMENT.with(|env| env.borrow_mut().error = (got >> 32) as u32);
    }
    got & 0xffff_ffff
}

/// rbpf tells a helper its arguments, not its number: one function a number.
macro_rules! helpers {
    ($($number:literal)*) => { [$(($number, helper::<$number> as rbpf::Helper)),*] };
}

const HELPERS: [(u32, rbpf::Helper); 255] = helpers! {
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24
    25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48
    49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72
    73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96
    97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120
    121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144
    145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168
    169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192
    193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216
    217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240
    241 242 243 244 245 246 247 248 249 250 251 252 253 254 255
};

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
        for (number, helper) in HELPERS {
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
pub extern "C" fn lpn_rbpf_environment(call: Option<Call>, host: *mut u8, now: u32) {
    ENVIRONMENT.with(|e| *e.borrow_mut() = Environment { call, host: host as usize, now, ..Environment::default() });
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

/// Run: r1 points to `ctx` when it has a size, else to `memory`. 0 with `r0`, an error of a helper (an lpn.h number), or -1 with `message`.
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
