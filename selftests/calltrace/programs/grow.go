// SPDX-License-Identifier: GPL-2.0
//
// Goroutines whose stacks grow deeply, and a fault that is a panic. With an argument, nothing
// recovers from the fault.
package main

import (
	"fmt"
	"os"
)

const depth = 5000

type node struct{ next *node }

//go:noinline
func deep(n int, above *[64]int) int {
	var local [64]int

	local[n%64] = n
	if n == 0 {
		return above[1]
	}
	return deep(n-1, &local) + local[n%64]&1
}

//go:noinline
func load(n *node) *node { return n.next }

func recovers() (recovered bool) {
	defer func() { recovered = recover() != nil }()
	load(nil)
	return false
}

func main() {
	done := make(chan int)
	for i := 0; i < 3; i++ {
		go func() { done <- deep(depth, new([64]int)) }()
	}
	for i := 0; i < 3; i++ {
		fmt.Println(<-done)
	}
	fmt.Println(deep(depth, new([64]int)), recovers())
	if len(os.Args) > 1 {
		load(nil)
	}
}
