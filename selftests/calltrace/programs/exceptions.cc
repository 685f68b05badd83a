// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions through functions with and without destructors, caught and thrown again,
 * and caught by a function that goes on
 */
#include <cstdio>
#include <stdexcept>
#include "traced.h"

namespace t {

int destroyed;

struct guard {
	int by;

	TARGET guard(int n);
	TARGET ~guard();
};

guard::guard(int n) : by(n)
{
	destroyed += n & 1;
}

guard::~guard()
{
	destroyed += by;
}

TARGET int thrower(int n)
{
	if (n % 3 == 0)
		throw std::runtime_error("three");
	if (n % 3 == 1)
		throw n;
	return n;
}

TARGET int plain(int n)
{
	return thrower(n) + 1;
}

TARGET int guarded(int n)
{
	guard one(n);

	return plain(n) + one.by;
}

TARGET int rethrower(int n)
{
	try {
		return guarded(n);
	} catch (int) {
		destroyed++;
		throw;
	}
}

TARGET int catcher(int n)
{
	int result = 0;

	for (int i = 0; i < 4; i++) {
		try {
			result += rethrower(n + i);
		} catch (const std::exception &) {
			result += plain(2);
		} catch (int caught) {
			guard two(caught);

			result += caught;
		}
	}
	return result;
}

TARGET void never() noexcept(false)
{
	guard three(3);

	throw 1L;
}

} /* namespace t */

int main()
{
	int result = t::catcher(1);

	try {
		t::never();
	} catch (...) {
		result += t::catcher(5);
	}
	std::printf("%d %d\n", result, t::destroyed);
	return 0;
}
