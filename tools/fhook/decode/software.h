/* SPDX-License-Identifier: GPL-2.0 */
/* The streams that software writes: records of the machine's own byte order. */
#ifndef FHOOK_DECODE_SOFTWARE_H
#define FHOOK_DECODE_SOFTWARE_H

#include "lib/base.h"

/**
 * struct software_record - one event
 * @address: of the stub that would have been executed; 0: records are missing
 * @time: in cycles of the recording's clock; or how many are missing
 */
struct software_record {
	u64 address;
	u64 time;
};

#endif /* FHOOK_DECODE_SOFTWARE_H */
