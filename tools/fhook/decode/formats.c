// SPDX-License-Identifier: GPL-2.0
/* The available decoders, one for each format of a recording. */
#include <stdlib.h>
#include "decoder.h"

struct decoder *decoder_open(const struct recording *recording, const struct map *map,
			     u32 stream, struct fault *fault)
{
	static const struct decoder_ops *const formats[FORMATS] = {
#ifdef HAVE_LIBIPT
		[FORMAT_INTEL_PT] = &decoder_pt,
#endif
		[FORMAT_ETMV4] = &decoder_etm,
		[FORMAT_SOFTWARE] = &decoder_software,
	};
	char *path = recording_stream_path(recording, stream);
	struct decoder *decoder = NULL;

	if (!formats[recording->format])
		fault_say(fault, "%s: this fhook was built without libipt, which reads Intel PT",
			  recording->directory);
	else if (path)
		decoder = formats[recording->format]->open(recording, map, path, fault);
	else
		fault_say(fault, "there is not enough memory to decode");
	free(path);
	return decoder;
}
