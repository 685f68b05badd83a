/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Starting and stopping the software recorder of a running process
 *
 * A program with libfhook-record has a page, private memory with the name CONTROL_NAME in
 * /proc/PID/maps. The command fhook writes a request to it, which the program's next call of a
 * function obeys: no signal is sent, and no descriptor of the program is needed. A child that
 * is forked has a copy of the page, which is its own.
 */
#ifndef FHOOK_RECORD_CONTROL_H
#define FHOOK_RECORD_CONTROL_H

#include <limits.h>
#include "lib/base.h"

#define CONTROL_NAME	"fhook-record"
#define CONTROL_MAGIC	"fhook-record 1"

enum control_request {
	CONTROL_NONE,
	CONTROL_START,
	CONTROL_STOP,
};

/**
 * struct control - the page
 * @magic: CONTROL_MAGIC
 * @request: value of enum control_request; the program sets CONTROL_NONE when it has obeyed
 * @recording: the process is recorded
 * @snapshot_mb: with CONTROL_START: number of MiB of each thread to keep; 0 for all
 * @directory: with CONTROL_START: absolute path of the recording
 * @until: with CONTROL_START: conditions that end the recording, one on each line
 * @fault: sentence why the last CONTROL_START has failed; empty if it has not
 */
struct control {
	char magic[16];
	u32 request;
	u32 recording;
	u32 snapshot_mb;
	char directory[PATH_MAX];
	char until[2048];
	char fault[1024];
};

#endif /* FHOOK_RECORD_CONTROL_H */
