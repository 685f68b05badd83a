// SPDX-License-Identifier: GPL-2.0
//! uhook: a Rust program whose panics pass through hooked functions.
//!
//! Prints how often the function returned, which it does not if its callee panics.
use std::panic;
use std::process::exit;

#[inline(never)]
fn panic_odd(text: &str) -> i64 {
    let n: i64 = text.parse().unwrap();

    if n % 2 == 1 {
        panic!("{}", n);
    }
    n
}

#[inline(never)]
#[no_mangle]
fn pass_on(n: i64) -> i64 {
    let text = n.to_string(); // has to be dropped

    panic_odd(&text) + 1
}

fn main() {
    let (mut returned, mut caught) = (0, 0);

    panic::set_hook(Box::new(|_| {}));
    for n in 0..100 {
        match panic::catch_unwind(|| pass_on(n)) {
            Ok(result) if result == n + 1 => returned += 1,
            Ok(_) => exit(1),
            Err(_) => caught += 1,
        }
    }
    if caught != 50 {
        exit(1);
    }
    println!("{}", returned);
}
