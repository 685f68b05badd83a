/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of events on instructions of programs in error_log
 *
 * For the list of all probe events, trace_probe.h, which defines C().
 */
#ifndef _TRACE_UHOOK_ERRORS_H
#define _TRACE_UHOOK_ERRORS_H

#define UHOOK_ERRORS							\
	C(UHOOK_HEAD,		"A uhook event begins with 'u' or 'u:[GRP/][EVENT]'"), \
	C(UHOOK_NO_OFFSET,	"PATH is followed by ':' and an offset in the file"), \
	C(UHOOK_NO_SYMBOLS,						\
	  "Not a number: \"perf probe -x PATH -D FUNCTION\" shows a function's offset"), \
	C(UHOOK_LATE_SUFFIX,						\
	  "%return, %exit, %span and (REF_CTR_OFFSET) follow the offset without a space"), \
	C(UHOOK_MANY_OFFSETS,	"Several offsets need %exit or %span after the last one"), \
	C(UHOOK_SPAN_EXITS,						\
	  "%span takes an entry and its exits: PATH:ENTRY,EXIT[,EXIT...]%span"), \
	C(UHOOK_SPAN_GO,						\
	  "Go moves stacks, so calls can not be paired: use the entry, and %exit"), \
	C(UHOOK_EXIT_ARG,	"Memory of the file, @+OFFSET, can not be fetched at %exit"), \
	C(UHOOK_UNREADABLE,	"The file can not be read or not be mapped"), \
	C(UHOOK_BEYOND,		"The offset is beyond the end of the file"), \
	C(UHOOK_BAD_ELF,	"The program headers of the file can not be read"), \
	C(UHOOK_NO_CODE,	"The offset is in no executable segment of the file"), \
	C(UHOOK_TWICE,		"This word has been given already"),	\
	C(UHOOK_USER,		"user= takes count, record, or PATH:OFFSET of a function"), \
	C(UHOOK_USER_RETURN,	"user= is for instructions, not for %return or %span"), \
	C(UHOOK_USER_ARGS,	"Arguments need user=record, or no user= at all"), \
	C(UHOOK_RECORD_ARG,	"user=record takes registers, $stack and $stack0 to 3"), \
	C(UHOOK_RECORD_MANY,						\
	  "user=record and %span take six different registers at most"), \
	C(UHOOK_VECTORS,	"Only vectors=0 is allowed, and only with user=PATH:OFFSET"), \
	C(UHOOK_STACK,		"Only stack=user is allowed, and only without user="), \
	C(UHOOK_PID,		"pid= is followed by the number of a process"), \
	C(UHOOK_NO_PROCESS,	"There is no process with this number"), \
	C(UHOOK_LATE_WORD,	"Options, such as user= and pid=, come before the arguments"), \
	C(UHOOK_NOT_SUPPORTED,	"This instruction can not be hooked"),

#endif /* _TRACE_UHOOK_ERRORS_H */
