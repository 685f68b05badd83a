// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: parsing definitions, and printing them.
 *
 *	h[:[GRP/][EVENT]] PATTERN[%return|%span] [FETCHARGS]
 *	h[:[GRP/][EVENT]] FUNCTION override=VALUE [FETCHARGS] [if FILTER]
 *
 *	PATTERN		NAME, GLOB, NAME:mod:MODULE, GLOB:mod:MODULE, :mod:MODULE
 *	%return		record when the function returns
 *	%span		the same, with the duration of the call
 *	FETCHARGS	those of fprobe events, at the entry or at the return:
 *			trace_probe.c parses them
 *	override=VALUE	return the value instead of calling the function, see
 *			trace_fhook_override.c
 *
 * PATTERN is fhook's own syntax, so fhook checks it. The probe keeps the pattern
 * and not its present matches: a module's functions are hooked whenever the
 * module is loaded, and the event holds no module.
 *
 * Every failure leaves a sentence and a caret in tracing/error_log.
 * dyn_event_ops_mutex, which the caller of ->create() holds, serializes the
 * parser and the log.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fhook.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "trace_fhook.h"

/* A definition while it is being parsed. */
struct fhook_def {
	const char	*group;
	const char	*event;
	enum trace_fhook_kind kind;
	/* Without suffix; later also without ":mod:", for look-ups in BTF */
	char		*pattern;
	char		*func;
	struct trace_fhook_override *override;
	/* Number of words before the arguments, and before their end */
	int		first;
	int		end;
	char		group_buf[MAX_EVENT_NAME_LEN];
	char		event_buf[MAX_EVENT_NAME_LEN];
};

/* "h", "h:EVENT", "h:GRP/EVENT" or "h:GRP/" */
static int parse_head(struct fhook_def *def, const char *head)
{
	trace_probe_log_set_index(WORD_HEAD);
	def->group = FHOOK_EVENT_SYSTEM;
	def->event = NULL;
	if (!head[1])
		return 0;
	if (head[1] != ':') {
		trace_probe_log_err(1, FHOOK_HEAD);
		return -EINVAL;
	}
	def->event = head + 2;
	return traceprobe_parse_event_name(&def->event, &def->group,
					   def->group_buf, 2);
}

/* Suffixes of a pattern, and of the name derived from it */
static const struct {
	const char		*suffix;
	const char		*name;
	enum probe_print_type	print;
} kinds[] = {
	[TRACE_FHOOK_ENTRY]	= { "", "", PROBE_PRINT_NORMAL },
	[TRACE_FHOOK_RETURN]	= { "%return", "__exit", PROBE_PRINT_RETURN },
	[TRACE_FHOOK_SPAN]	= { "%span", "__span", PROBE_PRINT_SPAN },
};

static int parse_suffix(struct fhook_def *def, const char *word)
{
	const char *suffix = strchrnul(word, '%');
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		if (strcmp(suffix, kinds[kind].suffix))
			continue;
		def->kind = kind;
		def->pattern = kmemdup_nul(word, suffix - word, GFP_KERNEL);
		return def->pattern ? 0 : -ENOMEM;
	}

	trace_probe_log_err(suffix - word, BAD_ADDR_SUFFIX);
	return -EINVAL;
}

static int parse_pattern(struct fhook_def *def, const char *word)
{
	struct fhook_report report = {};
	const char *mod;
	int ret;

	trace_probe_log_set_index(WORD_PATTERN);
	ret = parse_suffix(def, word);
	if (ret)
		return ret;

	ret = fhook_check_filter(def->pattern, &report);
	if (ret) {
		__trace_probe_log_err(report.offset,
				      trace_fhook_error(report.error));
		return ret;
	}

	/* BTF has no globs, and the error message says so. */
	mod = strstr(def->pattern, ":mod:");
	def->func = kmemdup_nul(def->pattern, mod ? mod - def->pattern :
						   strlen(def->pattern),
				GFP_KERNEL);
	return def->func ? 0 : -ENOMEM;
}

/* An event without a name is named after its function. */
static void name_event(struct fhook_def *def)
{
	if (def->event)
		return;
	snprintf(def->event_buf, sizeof(def->event_buf), "%s%s%s",
		 isdigit(def->pattern[0]) ? "_" : "", def->pattern,
		 kinds[def->kind].name);
	trace_hook_clean_name(def->event_buf);
	def->event = def->event_buf;
}

/**
 * trace_fhook_free() - free a probe that was not added, or that was removed
 * @tfh: the probe
 */
void trace_fhook_free(struct trace_fhook *tfh)
{
	trace_hook_cleanup(&tfh->tp);
	trace_fhook_free_override(tfh->override);
	kfree(tfh->pattern);
	kfree(tfh->name);
	kfree(tfh);
}

/* Takes ownership of the override. */
static struct trace_fhook *alloc_probe(struct fhook_def *def, int nargs)
{
	struct trace_fhook *tfh;

	tfh = kzalloc(struct_size(tfh, tp.args, nargs), GFP_KERNEL);
	if (!tfh)
		return NULL;

	tfh->kind = def->kind;
	tfh->pattern = kstrdup(def->pattern, GFP_KERNEL);
	tfh->name = kasprintf(GFP_KERNEL, "%s/%s", def->group, def->event);
	if (!tfh->pattern || !tfh->name ||
	    trace_probe_init(&tfh->tp, def->event, def->group, false, nargs)) {
		trace_fhook_free(tfh);
		return NULL;
	}
	tfh->override = def->override;
	def->override = NULL;
	trace_fhook_set_event(tfh);
	return tfh;
}

/* Registers of a hook are available as arguments, and by no other name. */
static int check_registers(const char *arg)
{
	const char *reg = strchr(arg, '%');

	if (!reg || strchr(arg, '"') || (reg > arg && !strchr("=(", reg[-1])))
		return 0;

	trace_probe_log_err(reg - arg, FHOOK_REGISTER);
	return -EINVAL;
}

static int parse_fetch_arg(struct trace_fhook *tfh, int i, const char *arg,
			   struct traceprobe_parse_context *ctx)
{
	const char *symbol = strchr(arg, '@');
	int ret;

	ret = check_registers(arg);
	if (ret)
		return ret;
	ctx->offset = 0;
	ret = traceprobe_parse_probe_arg(&tfh->tp, i, arg, ctx);
	if (ret)
		return ret;

	if (tfh->kind == TRACE_FHOOK_SPAN &&
	    !strcmp(tfh->tp.args[i].name, FIELD_STRING_DURATION)) {
		trace_probe_log_err(0, USED_ARG_NAME);
		return -EINVAL;
	}

	if (trace_fhook_data_size(tfh) > FHOOK_MAX_DATA) {
		trace_probe_log_err(0, FHOOK_MANY_DATA);
		return -E2BIG;
	}

	/* Look up symbols now, while the word is known. */
	ret = traceprobe_update_arg(&tfh->tp.args[i]);
	if (ret)
		trace_probe_log_err(symbol ? symbol - arg : 0, BAD_MEM_ADDR);
	return ret;
}

static int parse_fetch_args(struct trace_fhook *tfh, int argc,
			    const char *argv[],
			    const struct trace_hook_words *words,
			    struct traceprobe_parse_context *ctx)
{
	int i, ret;

	for (i = 0; i < argc; i++) {
		trace_probe_log_set_index(trace_hook_word(words, i));
		ret = parse_fetch_arg(tfh, i, argv[i], ctx);
		if (ret)
			return ret;
	}
	return traceprobe_set_print_fmt(&tfh->tp, kinds[tfh->kind].print);
}

static struct trace_fhook *make_probe(struct fhook_def *def, int argc,
				      const char *argv[],
				      const struct trace_hook_words *words,
				      struct traceprobe_parse_context *ctx)
{
	struct trace_fhook *tfh;
	int ret;

	if (argc > MAX_TRACE_ARGS) {
		trace_probe_log_set_index(trace_hook_word(words, MAX_TRACE_ARGS));
		trace_probe_log_err(0, TOO_MANY_ARGS);
		return ERR_PTR(-E2BIG);
	}

	tfh = alloc_probe(def, argc);
	if (!tfh)
		return ERR_PTR(-ENOMEM);

	ret = parse_fetch_args(tfh, argc, argv, words, ctx);
	if (!ret && tfh->override && !trace_fhook_fits_condition(tfh)) {
		trace_probe_log_set_index(words->first);
		trace_probe_log_err(0, TOO_MANY_ARGS);
		ret = -E2BIG;
	}
	if (ret) {
		trace_fhook_free(tfh);
		return ERR_PTR(ret);
	}
	return tfh;
}

/* Expand $arg*, and the short forms for BTF and dentries. */
static struct trace_fhook *expand_and_make(struct fhook_def *def, int argc,
					   const char *argv[],
					   struct trace_hook_words *words)
{
	struct traceprobe_parse_context ctx = {
		.funcname = def->func,
		.flags = TPARG_FL_KERNEL | TPARG_FL_FPROBE |
			 (def->kind == TRACE_FHOOK_ENTRY ? TPARG_FL_FENTRY :
							   TPARG_FL_RETURN),
	};
	/* Counted, because the expansion reports errors at words from WORD_ARGS on. */
	int before = def->first - WORD_ARGS;
	char names[MAX_BTF_ARGS_LEN];
	const char **expanded;
	struct trace_fhook *tfh;
	char *dentries = NULL;
	int ret, new_argc = 0;

	words->first = def->first;
	expanded = traceprobe_expand_meta_args(argc + before, argv - before, &new_argc, names,
					       sizeof(names), &ctx);
	/* The log has the words of the user, and keeps them. */
	if (!expanded)
		expanded = kmemdup_array(argv - before, new_argc, sizeof(*argv), GFP_KERNEL) ?:
			   ERR_PTR(-ENOMEM);
	if (IS_ERR(expanded)) {
		tfh = ERR_CAST(expanded);
		goto out;
	}
	words->grown = new_argc - before - argc;
	while (words->meta < argc && strcmp(argv[words->meta], "$arg*"))
		words->meta++;
	argc += words->grown;
	argv = expanded + before;

	ret = traceprobe_expand_dentry_args(argc, argv, &dentries);
	tfh = ret ? ERR_PTR(ret) : make_probe(def, argc, argv, words, &ctx);
	kfree(dentries);
	kfree(expanded);
out:
	traceprobe_finish_parse(&ctx);
	return tfh;
}

/* The first "if" after the pattern, or the number of words. */
static int find_condition(int argc, const char *argv[])
{
	int i = WORD_ARGS;

	while (i < argc && strcmp(argv[i], "if"))
		i++;
	return i;
}

/* The words override=VALUE and "if FILTER" around the arguments */
static int parse_override(struct fhook_def *def, int argc, const char *argv[])
{
	int ret, end = find_condition(argc, argv);
	const char *value;

	def->first = WORD_ARGS;
	def->end = argc;
	value = argc > WORD_ARGS ? trace_fhook_is_override(argv[WORD_ARGS]) : NULL;
	if (!value)
		return 0;

	trace_probe_log_set_index(WORD_ARGS);
	if (def->kind != TRACE_FHOOK_ENTRY) {
		trace_probe_log_err(0, FHOOK_OVERRIDE_KIND);
		return -EINVAL;
	}
	if (end == argc - 1) {
		trace_probe_log_set_index(end);
		trace_probe_log_err(0, FHOOK_OVERRIDE_IF);
		return -EINVAL;
	}
	def->first++;
	def->end = end;
	def->override = trace_fhook_make_override(def->pattern, value, max(argc - end - 1, 0),
						  argv + end + 1);
	ret = PTR_ERR_OR_ZERO(def->override);
	if (ret)
		def->override = NULL;
	return ret;
}

static int parse_words(struct fhook_def *def, int argc, const char *argv[])
{
	int i, ret;

	ret = parse_head(def, argv[WORD_HEAD]);
	if (ret)
		return ret;
	if (argc <= WORD_PATTERN) {
		/* After the last word */
		trace_probe_log_set_index(WORD_PATTERN);
		trace_probe_log_err(0, FHOOK_NO_PATTERN);
		return -EINVAL;
	}
	ret = parse_pattern(def, argv[WORD_PATTERN]);
	if (ret)
		return ret;
	ret = parse_override(def, argc, argv);
	if (ret)
		return ret;
	/* Check this first, because expanding $arg* reports words such as $arg1>2. */
	for (i = def->first; i < def->end; i++) {
		trace_probe_log_set_index(i);
		ret = trace_hook_check_arg(argv[i]);
		if (ret)
			return ret;
	}
	name_event(def);
	return 0;
}

/**
 * trace_fhook_parse() - make a probe from a definition
 * @argc: number of words
 * @argv: words of the definition
 * @words: set to the positions of the arguments, for the caret
 *
 * Called from ->create(), with the words in trace_probe's log.
 *
 * Return: the probe, which has not been added, and whose event is not set up; or a negative
 * error, with the reason in error_log unless it is -ENOMEM.
 */
struct trace_fhook *trace_fhook_parse(int argc, const char *argv[],
				      struct trace_hook_words *words)
{
	struct fhook_def def = {};
	struct trace_fhook *tfh;
	int ret;

	ret = parse_words(&def, argc, argv);
	tfh = ret ? ERR_PTR(ret) :
		    expand_and_make(&def, def.end - def.first, argv + def.first, words);
	trace_fhook_free_override(def.override);
	kfree(def.func);
	kfree(def.pattern);
	return tfh;
}

/**
 * trace_fhook_show() - write the definition of a probe
 * @m: output
 * @ev: link of the probe in the list of dynamic events
 *
 * The output can be written back as a definition.
 *
 * Return: 0.
 */
int trace_fhook_show(struct seq_file *m, struct dyn_event *ev)
{
	struct trace_fhook *tfh = to_trace_fhook(ev);
	int i;

	seq_printf(m, "h:%s %s%s", tfh->name, tfh->pattern,
		   kinds[tfh->kind].suffix);
	if (tfh->override)
		seq_printf(m, " override=%ld", tfh->override->value);
	for (i = 0; i < tfh->tp.nr_args; i++)
		seq_printf(m, " %s=%s", tfh->tp.args[i].name,
			   tfh->tp.args[i].comm);
	if (tfh->override && tfh->override->condition)
		seq_printf(m, " if %s", tfh->override->condition);
	seq_putc(m, '\n');
	return 0;
}

/* An event with an override has one definition: its arguments need not be compared. */
static bool match_override(const struct trace_fhook *tfh, int argc, const char **argv)
{
	const char *value = argc > 1 ? trace_fhook_is_override(argv[1]) : NULL;
	long number;

	return !strcmp(tfh->pattern, argv[0]) &&
	       (argc == 1 || (value && !kstrtol(value, 0, &number) &&
			      number == tfh->override->value));
}

/**
 * trace_fhook_match() - check whether words select a probe
 * @system: name of the group, or NULL
 * @event: name of the event, or ""
 * @argc: number of other words
 * @argv: other words, as in the definition of the probe
 * @ev: link of the probe in the list of dynamic events
 *
 * Return: true if they do.
 */
bool trace_fhook_match(const char *system, const char *event, int argc,
		       const char **argv, struct dyn_event *ev)
{
	struct trace_fhook *tfh = to_trace_fhook(ev);
	size_t len = strlen(tfh->pattern);

	if (*event && strcmp(trace_probe_name(&tfh->tp), event))
		return false;
	if (system && strcmp(trace_probe_group_name(&tfh->tp), system))
		return false;
	/* Words after the name select one probe of an event that has several. */
	if (!argc)
		return true;
	if (tfh->override)
		return match_override(tfh, argc, argv);
	return !strncmp(tfh->pattern, argv[0], len) &&
	       !strcmp(kinds[tfh->kind].suffix, argv[0] + len) &&
	       trace_probe_match_command_args(&tfh->tp, argc - 1, argv + 1);
}
