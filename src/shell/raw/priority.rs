//! Threads that compute give way to those that draw: with as many kernels as cores, a window would else wait for its
//! turn at every frame.

/// How much computing threads give way, of 19.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Starts the threads of kernels, once for the process, below the priority of the window's own. Where the system has
/// no priority for a thread, they are like all others.
pub(in super::super) fn calm() {
    let threads = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("kernels {i}"));
    // Started already: nothing to do.
    drop(threads.start_handler(|_| give_way()).build_global());
}

#[cfg(target_os = "linux")]
fn give_way() {
    use std::ffi::{c_int, c_uint};
    // As POSIX declares it; the standard library links the C library.
    unsafe extern "C" {
        fn setpriority(which: c_int, who: c_uint, priority: c_int) -> c_int;
    }
    const THIS: (c_int, c_uint) = (0, 0);
    // SAFETY: no pointers; on Linux this names the calling thread. A refusal changes nothing.
    unsafe { setpriority(THIS.0, THIS.1, NICE) };
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}
