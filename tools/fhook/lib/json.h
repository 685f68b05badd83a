/* SPDX-License-Identifier: GPL-2.0 */
/* Strings in JSON */
#ifndef FHOOK_JSON_H
#define FHOOK_JSON_H

#include <stdio.h>

/* Print a string in quotation marks. Bytes that are not UTF-8 become replacement characters. */
void json_string(FILE *out, const char *string);

#endif /* FHOOK_JSON_H */
