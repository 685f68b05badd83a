/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that both files of the program have: the linker keeps one of each. */
#ifndef KINDS_HH
#define KINDS_HH

#include "traced.h"

namespace t {

TARGET inline int shared(int n)
{
	return n * 2 + 1;
}

template <typename type> TARGET type largest(type a, type b)
{
	return a < b ? b : a;
}

int other(int n);

} /* namespace t */

#endif /* KINDS_HH */
