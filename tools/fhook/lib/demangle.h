/* SPDX-License-Identifier: GPL-2.0 */
/* Names of C++ and Rust functions, by their symbols */
#ifndef FHOOK_DEMANGLE_H
#define FHOOK_DEMANGLE_H

/*
 * The name of a C++ or Rust function, to be freed; NULL if the symbol is not that of one, if the
 * name is very long, and without memory. Names of C++ have their parameters.
 */
char *demangle(const char *symbol);

#endif /* FHOOK_DEMANGLE_H */
