// SPDX-License-Identifier: GPL-2.0
/* The second file of the program: it has some functions of the first one too. */
#include "kinds.hh"

namespace t {

TARGET int other(int n)
{
	int twice = shared(n);

	return twice + largest(n, 2);
}

} /* namespace t */
