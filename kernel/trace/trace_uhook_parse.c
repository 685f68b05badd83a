// SPDX-License-Identifier: GPL-2.0
/*
 * uhook events: parsing definitions, and printing them.
 *
 *	u[:[GRP/][EVENT]] PATH:OFFSET[%return][(REF)] [user=count] [pid=N] [FETCHARGS]
 *	u[:[GRP/][EVENT]] PATH:OFFSET[,OFFSET...]%exit[(REF)] ...
 *	u[:[GRP/][EVENT]] PATH:ENTRY,EXIT[,EXIT...]%span[(REF)] ...
 *
 *	user=count	count hits, in the program, until the event is removed
 *	user=record	record hits in the program, with registers as arguments
 *	user=PATH:OFFSET
 *			call a function of a file that the program has mapped
 *	vectors=0	the called function leaves vector registers alone
 *	stack=user	record the stack of the program as well
 *	pid=N		only in process N, a number in the writer's PID namespace; not in
 *			its children
 *	FETCHARGS	those of uprobe events: trace_probe.c parses them
 *
 * These options may be in any order, before the arguments, whose names therefore cannot be
 * those of options.
 *
 * dynamic_events also accepts definitions of user_events, which begin with "u:" as well. In
 * the position of a place, which contains '/' or ':', they have a type. uhook's parser is
 * called first, because it is registered first: see trace_uhook_events.c.
 *
 * Every failure except a lack of memory leaves a sentence and a caret in tracing/error_log.
 * dyn_event_ops_mutex, which the caller of ->create() holds, serializes the parser and that
 * log.
 */
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "trace_uhook.h"

/* The maximum length of a file's name in the name of an event. */
#define MAX_FILE_PART	40

/* A definition while it is being parsed. */
struct uhook_def {
	const char		*group;
	const char		*event;
	struct trace_uhook_place place;
	struct trace_uhook_place function;
	enum uhook_user		user;
	bool			no_vectors;
	bool			ustack;
	struct pid		*pid;
	char			group_buf[MAX_EVENT_NAME_LEN];
	char			event_buf[MAX_EVENT_NAME_LEN];
};

/* The word after user=, which the error message of UHOOK_USER lists. */
static const char *user_name(const struct trace_uhook *tuh)
{
	return uhook_user_name(tuh->ops.user) ?: tuh->function.text;
}

/* "u", "u:EVENT", "u:GRP/EVENT" or "u:GRP/" */
static int parse_head(struct uhook_def *def, const char *head)
{
	trace_probe_log_set_index(WORD_HEAD);
	def->group = UHOOK_EVENT_SYSTEM;
	def->event = NULL;
	if (!head[1])
		return 0;
	if (head[1] != ':') {
		trace_probe_log_err(1, UHOOK_HEAD);
		return -EINVAL;
	}
	def->event = head + 2;
	return traceprobe_parse_event_name(&def->event, &def->group,
					   def->group_buf, 2);
}

static int parse_function(struct uhook_def *def, const char *name, int pos)
{
	int ret = trace_uhook_parse_place(&def->function, name, pos);

	if (ret)
		return ret;
	if (def->function.kind != TRACE_UHOOK_POINT || def->function.ref_ctr_offset) {
		trace_probe_log_err(pos, UHOOK_USER);
		return -EINVAL;
	}
	def->user = UHOOK_USER_FUNCTION;
	return 0;
}

static int parse_user(struct uhook_def *def, const char *name, int pos)
{
	if (def->user != UHOOK_USER_NONE) {
		trace_probe_log_err(0, UHOOK_TWICE);
		return -EINVAL;
	}
	if (def->place.kind == TRACE_UHOOK_RETURN || def->place.kind == TRACE_UHOOK_SPAN) {
		trace_probe_log_err(0, UHOOK_USER_RETURN);
		return -EINVAL;
	}
	if (strchr(name, ':'))
		return parse_function(def, name, pos);
	def->user = uhook_user_named(name);
	if (def->user == UHOOK_USER_NONE) {
		trace_probe_log_err(pos, UHOOK_USER);
		return -EINVAL;
	}
	return 0;
}

static struct pid *get_process(int nr)
{
	struct task_struct *task;
	struct pid *pid;

	guard(rcu)();
	pid = find_vpid(nr);
	task = pid_task(pid, PIDTYPE_TGID);
	return task && !(task->flags & PF_KTHREAD) ? get_pid(pid) : NULL;
}

static int parse_pid(struct uhook_def *def, const char *number, int pos)
{
	int nr;

	if (def->pid) {
		trace_probe_log_err(0, UHOOK_TWICE);
		return -EINVAL;
	}
	if (kstrtoint(number, 10, &nr) || nr <= 0) {
		trace_probe_log_err(pos, UHOOK_PID);
		return -EINVAL;
	}
	def->pid = get_process(nr);
	if (!def->pid) {
		trace_probe_log_err(pos, UHOOK_NO_PROCESS);
		return -ESRCH;
	}
	return 0;
}

static int parse_vectors(struct uhook_def *def, const char *value, int pos)
{
	if (strcmp(value, "0")) {
		trace_probe_log_err(0, UHOOK_VECTORS);
		return -EINVAL;
	}
	def->no_vectors = true;
	return 0;
}

static int parse_stack(struct uhook_def *def, const char *value, int pos)
{
	if (strcmp(value, "user")) {
		trace_probe_log_err(0, UHOOK_STACK);
		return -EINVAL;
	}
	def->ustack = true;
	return 0;
}

/* Options: words before the arguments */
static const struct {
	const char	*prefix;
	int		(*parse)(struct uhook_def *def, const char *value, int pos);
} options[] = {
	{ "user=", parse_user },
	{ "pid=", parse_pid },
	{ "vectors=", parse_vectors },
	{ "stack=", parse_stack },
};

/* Is this an argument with the name of an option, from before the option existed? */
static bool is_fetch_arg(const char *value)
{
	return *value && strchr("$%@+-\\", *value);
}

/* The index of an option, or the number of options */
static unsigned int find_option(const char *word)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		len = str_has_prefix(word, options[i].prefix);
		if (len && (options[i].parse != parse_stack || !is_fetch_arg(word + len)))
			break;
	}
	return i;
}

/* Check that options are compatible; @vectors and @stack are their positions, or 0. */
static int check_options(const struct uhook_def *def, int vectors, int stack)
{
	if (vectors && def->user != UHOOK_USER_FUNCTION) {
		trace_probe_log_set_index(vectors);
		trace_probe_log_err(0, UHOOK_VECTORS);
		return -EINVAL;
	}
	if (stack && def->user != UHOOK_USER_NONE) {
		trace_probe_log_set_index(stack);
		trace_probe_log_err(0, UHOOK_STACK);
		return -EINVAL;
	}
	return 0;
}

/* Return the position of the first word after the options. */
static int parse_options(struct uhook_def *def, int argc, const char *argv[])
{
	int i, ret, vectors = 0, stack = 0;
	unsigned int which;
	size_t len;

	for (i = WORD_OPTIONS; i < argc; i++) {
		which = find_option(argv[i]);
		if (which == ARRAY_SIZE(options))
			break;
		trace_probe_log_set_index(i);
		len = strlen(options[which].prefix);
		ret = options[which].parse(def, argv[i] + len, len);
		if (ret)
			return ret;
		if (def->no_vectors && !vectors)
			vectors = i;
		if (def->ustack && !stack)
			stack = i;
	}
	ret = check_options(def, vectors, stack);
	if (ret)
		return ret;
	if (i < argc && def->user != UHOOK_USER_NONE && def->user != UHOOK_USER_RECORD) {
		trace_probe_log_set_index(i);
		trace_probe_log_err(0, UHOOK_USER_ARGS);
		return -EINVAL;
	}
	return i;
}

/* Like uprobe events: the name of the file, without versions. */
static void name_event(struct uhook_def *def)
{
	const char *file = kbasename(def->place.text);
	int len = min_t(size_t, strcspn(file, ".-_:"), MAX_FILE_PART);
	static const char *const prefixes[] = {
		[TRACE_UHOOK_POINT]	= "u",
		[TRACE_UHOOK_RETURN]	= "ur",
		[TRACE_UHOOK_EXIT]	= "ux",
		[TRACE_UHOOK_SPAN]	= "us",
	};

	if (def->event)
		return;
	snprintf(def->event_buf, sizeof(def->event_buf), "%s_%.*s_0x%lx",
		 prefixes[def->place.kind], len, file, def->place.offset);
	trace_hook_clean_name(def->event_buf);
	def->event = def->event_buf;
}

static void free_probe(struct trace_uhook *tuh)
{
	trace_hook_cleanup(&tuh->tp);
	trace_uhook_put_place(&tuh->place);
	trace_uhook_put_place(&tuh->function);
	put_pid(tuh->pid);
	kfree(tuh);
}

/**
 * trace_uhook_put() - drop a reference to a probe
 * @tuh: the probe
 */
void trace_uhook_put(struct trace_uhook *tuh)
{
	struct trace_uhook *keeps;

	/* A loop, not a recursion: an event may have thousands of probes. */
	for (; tuh && refcount_dec_and_test(&tuh->refs); tuh = keeps) {
		keeps = tuh->keeps;
		free_probe(tuh);
	}
}

/* Takes ownership of the objects that the definition holds. */
static struct trace_uhook *alloc_probe(struct uhook_def *def, int nargs)
{
	struct trace_uhook *tuh;

	tuh = kzalloc(struct_size(tuh, tp.args, nargs), GFP_KERNEL);
	if (!tuh)
		return NULL;

	if (trace_probe_init(&tuh->tp, def->event, def->group, true, nargs)) {
		kfree(tuh);
		return NULL;
	}
	refcount_set(&tuh->refs, 1);
	tuh->disabled = get_completed_synchronize_rcu();
	tuh->place = def->place;
	tuh->function = def->function;
	tuh->pid = def->pid;
	tuh->ops.user = def->user;
	if (def->no_vectors)
		tuh->ops.flags |= UHOOK_FL_NO_VECTORS;
	tuh->ustack = def->ustack;
	def->place = (struct trace_uhook_place){};
	def->function = (struct trace_uhook_place){};
	def->pid = NULL;

	return tuh;
}

/* Keep another register, unless it is kept already. */
static int add_register(struct uhook_ops *ops, unsigned int offset)
{
	unsigned int i;

	for (i = 0; i < ops->nr_regs; i++)
		if (ops->regs[i] == offset)
			return 0;
	if (ops->nr_regs == ARRAY_SIZE(ops->regs)) {
		trace_probe_log_err(0, UHOOK_RECORD_MANY);
		return -E2BIG;
	}
	ops->regs[ops->nr_regs++] = offset;
	return 0;
}

/*
 * Does an argument need memory other than the top of the stack, which cannot be recorded?
 */
static bool needs_memory(const struct fetch_insn *code)
{
	for (; code->op != FETCH_OP_END; code++) {
		switch (code->op) {
		case FETCH_OP_NOP:
		case FETCH_OP_REG:
		case FETCH_OP_STACK:
		case FETCH_OP_STACKP:
		case FETCH_OP_IMM:
		case FETCH_OP_ST_RAW:
		case FETCH_OP_MOD_BF:
			break;
		default:
			return true;
		}
	}
	return false;
}

static int choose_registers(struct trace_uhook *tuh, int arg)
{
	const struct fetch_insn *code = tuh->tp.args[arg].code;

	if (needs_memory(code) ||
	    (code->op == FETCH_OP_STACK && code->param >= UHOOK_RECORD_STACK) ||
	    (code->op == FETCH_OP_REG && uhook_register_number(code->param) < 0)) {
		trace_probe_log_err(0, UHOOK_RECORD_ARG);
		return -EINVAL;
	}
	if (code->op == FETCH_OP_STACK)
		tuh->ops.flags |= UHOOK_FL_STACK;

	return code->op == FETCH_OP_REG ? add_register(&tuh->ops, code->param) : 0;
}

/*
 * The return value at an exit is in a register like any other. Which of the instructions was
 * hit is not known, so the file cannot be found in memory.
 */
static int finish_exit_arg(struct fetch_insn *code)
{
	if (code->op == FETCH_OP_FOFFS) {
		trace_probe_log_err(0, UHOOK_EXIT_ARG);
		return -EINVAL;
	}
	if (code->op == FETCH_OP_RETVAL) {
		code->op = FETCH_OP_REG;
		code->param = regs_query_register_offset(IS_ENABLED(CONFIG_X86) ? "ax" : "x0");
	}
	return 0;
}

/* Keep the register that an argument needs from the entry until the exit. */
static int keep_register(struct trace_uhook *tuh, const struct fetch_insn *code)
{
	return code->op == FETCH_OP_REG ? add_register(&tuh->entry, code->param) : 0;
}

static int finish_arg(struct trace_uhook *tuh, int i)
{
	struct fetch_insn *code = tuh->tp.args[i].code;

	if (tuh->place.kind == TRACE_UHOOK_EXIT)
		return finish_exit_arg(code);
	if (tuh->place.kind == TRACE_UHOOK_SPAN)
		return keep_register(tuh, code);
	return 0;
}

/* Do records have a field of this name, in addition to those that trace_probe knows? */
static bool has_field(const struct trace_uhook *tuh, const char *name)
{
	return (tuh->ops.user == UHOOK_USER_RECORD && !strcmp(name, FIELD_STRING_TIME)) ||
	       (tuh->place.kind == TRACE_UHOOK_SPAN && !strcmp(name, FIELD_STRING_DURATION)) ||
	       (tuh->ustack && !strcmp(name, FIELD_STRING_USTACK));
}

static int parse_fetch_arg(struct trace_uhook *tuh, int i, const char *arg)
{
	struct traceprobe_parse_context ctx = {
		.flags = TPARG_FL_USER |
			 (tuh->place.kind != TRACE_UHOOK_POINT ? TPARG_FL_RETURN : 0),
	};
	int ret;

	if (find_option(arg) < ARRAY_SIZE(options)) {
		trace_probe_log_err(0, UHOOK_LATE_WORD);
		return -EINVAL;
	}
	/* No argument begins with a brace. */
	if (arg[0] == '(') {
		trace_probe_log_err(0, UHOOK_LATE_SUFFIX);
		return -EINVAL;
	}
	ret = traceprobe_parse_probe_arg(&tuh->tp, i, arg, &ctx);
	traceprobe_finish_parse(&ctx);
	if (!ret)
		ret = finish_arg(tuh, i);
	if (ret)
		return ret;
	if (has_field(tuh, tuh->tp.args[i].name)) {
		trace_probe_log_err(0, USED_ARG_NAME);
		return -EINVAL;
	}
	return tuh->ops.user == UHOOK_USER_RECORD ? choose_registers(tuh, i) : 0;
}

static enum probe_print_type print_type(const struct trace_uhook *tuh)
{
	if (tuh->ops.user == UHOOK_USER_RECORD)
		return PROBE_PRINT_TIMED;
	if (tuh->place.kind == TRACE_UHOOK_SPAN)
		return PROBE_PRINT_SPAN;
	return tuh->place.kind == TRACE_UHOOK_RETURN ? PROBE_PRINT_RETURN : PROBE_PRINT_NORMAL;
}

/* Parse the arguments, which begin at word @first. */
static int parse_fetch_args(struct trace_uhook *tuh, int first, const char *argv[])
{
	int i, ret;

	for (i = 0; i < tuh->tp.nr_args; i++) {
		trace_probe_log_set_index(first + i);
		ret = trace_hook_check_arg(argv[first + i]) ?:
		      parse_fetch_arg(tuh, i, argv[first + i]);
		if (ret)
			return ret;
	}
	return traceprobe_set_print_fmt(&tuh->tp, print_type(tuh));
}

static struct trace_uhook *make_probe(struct uhook_def *def, int first, int argc,
				      const char *argv[])
{
	struct trace_uhook *tuh;
	int ret;

	if (argc - first > MAX_TRACE_ARGS) {
		trace_probe_log_set_index(first + MAX_TRACE_ARGS);
		trace_probe_log_err(0, TOO_MANY_ARGS);
		return ERR_PTR(-E2BIG);
	}

	tuh = alloc_probe(def, argc - first);
	if (!tuh)
		return ERR_PTR(-ENOMEM);

	ret = parse_fetch_args(tuh, first, argv);
	if (ret) {
		trace_uhook_put(tuh);
		return ERR_PTR(ret);
	}
	return tuh;
}

/* Returns the position of the first argument. */
static int parse_words(struct uhook_def *def, int argc, const char *argv[])
{
	int ret;

	ret = parse_head(def, argv[WORD_HEAD]);
	if (ret)
		return ret;
	trace_probe_log_set_index(WORD_PLACE);
	ret = trace_uhook_parse_place(&def->place, argv[WORD_PLACE], 0);
	if (ret)
		return ret;
	name_event(def);
	return parse_options(def, argc, argv);
}

/**
 * trace_uhook_parse() - make a probe from a definition
 * @argc: number of words
 * @argv: words of the definition
 * @words: set to the positions of the arguments, for the caret
 *
 * Called from ->create(), with the words in trace_probe's log. May sleep.
 *
 * Return: the probe, with one reference, which has not been added, and whose event is not
 * set up; or a negative error: -ECANCELED if this is a definition of another type, otherwise
 * with the reason in error_log unless it is -ENOMEM.
 */
struct trace_uhook *trace_uhook_parse(int argc, const char *argv[],
				      struct trace_hook_words *words)
{
	struct trace_uhook *tuh;
	struct uhook_def *def;
	int first;

	def = kzalloc(sizeof(*def), GFP_KERNEL);
	if (!def)
		return ERR_PTR(-ENOMEM);

	first = parse_words(def, argc, argv);
	words->first = first;
	tuh = first < 0 ? ERR_PTR(first) : make_probe(def, first, argc, argv);
	trace_uhook_put_place(&def->place);
	trace_uhook_put_place(&def->function);
	put_pid(def->pid);
	kfree(def);
	return tuh;
}

/*
 * The output can be written back: "#" begins a comment. A file that was replaced, for example
 * by an upgrade, has a new inode, in which nothing is hooked.
 */
static void show_if_gone(struct seq_file *m, const struct trace_uhook *tuh)
{
	if (trace_uhook_place_is_gone(&tuh->place))
		seq_puts(m, " # the file was deleted or replaced");
	if (trace_uhook_place_is_gone(&tuh->function))
		seq_puts(m, " # the function's file was deleted or replaced");
}

/**
 * trace_uhook_show() - write the definition of a probe
 * @m: output
 * @ev: link of the probe in the list of dynamic events
 *
 * Return: 0.
 */
int trace_uhook_show(struct seq_file *m, struct dyn_event *ev)
{
	struct trace_uhook *tuh = to_trace_uhook(ev);
	struct trace_probe *tp = &tuh->tp;
	int i;

	seq_printf(m, "u:%s/%s %s", trace_probe_group_name(tp), trace_probe_name(tp),
		   tuh->place.text);
	if (tuh->ops.user != UHOOK_USER_NONE)
		seq_printf(m, " user=%s", user_name(tuh));
	if (tuh->ops.flags & UHOOK_FL_NO_VECTORS)
		seq_puts(m, " vectors=0");
	if (tuh->ustack)
		seq_puts(m, " stack=user");
	if (tuh->pid)
		seq_printf(m, " pid=%d", pid_vnr(tuh->pid));
	for (i = 0; i < tp->nr_args; i++)
		seq_printf(m, " %s=%s", tp->args[i].name, tp->args[i].comm);
	show_if_gone(m, tuh);
	seq_putc(m, '\n');
	return 0;
}

/* Does an option match the probe? */
static bool match_option(const struct trace_uhook *tuh, const char *word)
{
	const char *value = strchr(word, '=') + 1;
	int nr;

	if (str_has_prefix(word, "user="))
		return tuh->ops.user != UHOOK_USER_NONE && !strcmp(value, user_name(tuh));
	if (str_has_prefix(word, "vectors="))
		return tuh->ops.flags & UHOOK_FL_NO_VECTORS;
	if (str_has_prefix(word, "stack="))
		return tuh->ustack && !strcmp(value, "user");
	return tuh->pid && !kstrtoint(value, 10, &nr) && nr == pid_vnr(tuh->pid);
}

/**
 * trace_uhook_match() - check whether words select a probe
 * @system: name of the group, or NULL
 * @event: name of the event, or ""
 * @argc: number of other words
 * @argv: other words, as in the definition of the probe
 * @ev: link of the probe in the list of dynamic events
 *
 * Return: true if they do.
 */
bool trace_uhook_match(const char *system, const char *event, int argc, const char **argv,
		       struct dyn_event *ev)
{
	struct trace_uhook *tuh = to_trace_uhook(ev);
	int i;

	if (*event && strcmp(trace_probe_name(&tuh->tp), event))
		return false;
	if (system && strcmp(trace_probe_group_name(&tuh->tp), system))
		return false;
	/* Words after the name select one probe of an event that has several. */
	if (!argc)
		return true;
	if (strcmp(tuh->place.text, argv[0]))
		return false;
	for (i = 1; i < argc && find_option(argv[i]) < ARRAY_SIZE(options); i++)
		if (!match_option(tuh, argv[i]))
			return false;
	return trace_probe_match_command_args(&tuh->tp, argc - i, argv + i);
}
