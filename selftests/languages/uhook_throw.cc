// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a C++ program whose exceptions pass through hooked functions.
 *
 * Prints how often the function returned, which it does not if it or its callee throws.
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern "C" __attribute__((noinline)) long throw_odd(long n)
{
	std::string text = std::to_string(n);	/* has to be destroyed */

	if (n % 2)
		throw std::runtime_error(text);
	return atol(text.c_str());
}

extern "C" __attribute__((noinline)) long pass_on(long n)
{
	return throw_odd(n) + 1;
}

int main()
{
	long returned = 0, caught = 0;

	for (long n = 0; n < 100; n++) {
		try {
			if (pass_on(n) != n + 1)
				return 1;
			returned++;
		} catch (const std::runtime_error &error) {
			if (atol(error.what()) != n)
				return 1;
			caught++;
		}
	}
	if (caught != 50)
		return 1;
	printf("%ld\n", returned);
	return 0;
}
