// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of functions that only C++ has: templates, inline functions that several files
 * have, virtual ones, operators, and functions of classes
 */
#include <cstdio>
#include "kinds.hh"

namespace t {

struct shape {
	virtual int area() const = 0;
	virtual ~shape();
};

TARGET shape::~shape()
{
	other(0);
}

struct square : shape {
	int side;

	TARGET explicit square(int n) : side(n) { }
	TARGET ~square() override { other(1); }
	TARGET int area() const override { return side * side; }
};

struct box : square {
	TARGET explicit box(int n) : square(n + 1) { }
	TARGET ~box() override { other(2); }
	TARGET int area() const override { return 6 * square::area(); }
};

struct number {
	int value;

	TARGET number operator+(const number &with) const { return { value + with.value }; }
	TARGET bool operator<(const number &with) const { return value < with.value; }
};

TARGET int both(const shape &a, const shape &b)
{
	int area = a.area();

	return area + b.area();
}

} /* namespace t */

int main()
{
	t::square small(3);
	t::box large(2);
	t::number one = { 1 }, two = { 2 };
	int sum = t::both(small, large);

	sum += t::other(5);
	sum += t::shared(4);
	sum += t::largest(3, 4);
	sum += t::largest(one, two).value;
	sum += (one + two).value;
	std::printf("%d %g\n", sum, t::largest(1.5, 2.5));
	return 0;
}
