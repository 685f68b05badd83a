/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The streams written by software recorders: records in the machine's byte
 * order.
 */
#ifndef FHOOK_DECODE_SOFTWARE_H
#define FHOOK_DECODE_SOFTWARE_H

#include "lib/base.h"

/**
 * struct software_record - one event
 * @address: address of the corresponding stub; 0: records are missing
 * @time: time in cycles of the recording's clock, or the number of missing
 *	records
 */
struct software_record {
	u64 address;
	u64 time;
};

#endif /* FHOOK_DECODE_SOFTWARE_H */
