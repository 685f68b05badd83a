// SPDX-License-Identifier: GPL-2.0
/* Places in the source, as outputs print them */
#include <string.h>
#include "sink.h"

void sink_print_place(const struct sink *sink, u32 function, const char *before,
		      const char *after)
{
	const struct place *place = sink_place(sink, function);

	if (place)
		fprintf(sink->out, "%s%s:%d%s", before, basename(place->file), place->line, after);
}
