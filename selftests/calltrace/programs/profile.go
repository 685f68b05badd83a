// SPDX-License-Identifier: GPL-2.0
//
// A profiler's signals arrive everywhere in a function that begins with a short jump, and Go's
// runtime unwinds the stack from there.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
)

const (
	rate  = 1000
	calls = 500000000
)

//go:noinline
func odd(n int) int {
	for n&1 == 0 {
		n >>= 1
	}
	return n
}

func main() {
	sum := 0
	runtime.SetCPUProfileRate(rate)
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for n := 1; n < calls; n++ {
		sum += odd(n | 1)
	}
	pprof.StopCPUProfile()
	fmt.Println(sum)
}
