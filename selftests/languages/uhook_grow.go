// SPDX-License-Identifier: GPL-2.0

// uhook: a Go program whose stacks grow, and move, while hooked functions run.
//
// Prints how often the function returned. Each goroutine begins with a small stack.
package main

import (
	"fmt"
	"sync"
)

const (
	goroutines = 20
	depth      = 500
)

//go:noinline
func grow(n int, sum *int) int {
	var page [256]byte

	page[n%len(page)] = byte(n)
	*sum++
	if n == 0 {
		return int(page[0])
	}
	return grow(n-1, sum) + int(page[n%len(page)])
}

//go:noinline
func panics(n int) int {
	if n == 0 {
		panic("as intended")
	}
	return panics(n-1) + 1
}

func recovers() (caught bool) {
	defer func() { caught = recover() != nil }()
	panics(10)
	return false
}

func main() {
	var all sync.WaitGroup
	var lock sync.Mutex
	total := 0

	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			returned := 0
			if grow(depth, &returned) < 0 || !recovers() {
				panic("wrong result")
			}
			lock.Lock()
			total += returned
			lock.Unlock()
		}()
	}
	all.Wait()
	fmt.Println(total)
}
