/* SPDX-License-Identifier: GPL-2.0 */
/* Strings and numbers in JSON */
#ifndef FHOOK_JSON_H
#define FHOOK_JSON_H

#include <stdio.h>
#include "base.h"

/* Print a string in quotation marks. Bytes that are not UTF-8 become replacement characters. */
void json_string(FILE *out, const char *string);

/* Print an integer, which is a string if it is above 2^53. */
void json_number(FILE *out, u64 number, bool is_signed);

#endif /* FHOOK_JSON_H */
