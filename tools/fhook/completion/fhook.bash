# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of the command fhook for bash. Words and options are read from the help, so
# that they are never older than the command.

# _fhook_words COMMAND...: the words below "Commands:" in its help
_fhook_words()
{
	"$@" --help 2> /dev/null | sed -n '/^Commands:/,$ s/^  \([a-z][a-z-]*\) .*/\1/p'
}

# _fhook_options COMMAND...: the options in its help
_fhook_options()
{
	"$@" --help 2> /dev/null | grep -oE -- '(^|[ ,])--?[a-z?][a-z-]*' | tr -d ' ,' | sort -u
}

# _fhook_program WORD...: "-p PROGRAM", if the words have it
_fhook_program()
{
	local i

	for ((i = 1; i < $#; i++)); do
		case ${!i} in
		-p | --program)
			i=$((i + 1))
			printf -- '-p\n%s\n' "${!i}"
			return ;;
		esac
	done
}

# _fhook_matching BEGINNING WORD...: the answers. Unlike compgen -W, this expands nothing,
# because names of functions may contain anything.
_fhook_matching()
{
	local beginning=$1 answer

	shift
	COMPREPLY=()
	for answer; do
		[[ $answer != "$beginning"* ]] || COMPREPLY+=("$(printf %q "$answer")")
	done
}

# After "--": the command that fhook runs, whose own completion may be installed.
_fhook_command()
{
	local i

	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		if [ "$(type -t _command_offset)" = function ]; then
			_command_offset $((i + 1))
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "${COMP_WORDS[COMP_CWORD]}" | sort -u)
		fi
		return 0
	done
	return 1
}

_fhook()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local -a command=("${COMP_WORDS[0]}") words program

	! _fhook_command || return 0
	if [ "$COMP_CWORD" -gt 1 ]; then
		command+=("${COMP_WORDS[1]}")
	fi
	if [ "${COMP_WORDS[1]}" = calltrace ] && [ "$COMP_CWORD" -gt 2 ]; then
		command+=("${COMP_WORDS[2]}")
		# They take files, and their -b and -p are other options than those below.
		if [ "${word#-}" = "$word" ]; then
			mapfile -t words < <(compgen -f -- "$word")
			_fhook_matching "$word" "${words[@]}"
			return
		fi
	fi
	case $previous in
	-p | --program)
		mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
		return ;;
	-o | --output | -F | --flame)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return ;;
	-b | --by)
		_fhook_matching "$word" comm pid cpu
		return ;;
	esac
	mapfile -t words < <(_fhook_words "${command[@]}")
	if [ "${word#-}" != "$word" ]; then
		mapfile -t words < <(_fhook_options "${command[@]}")
	elif [ "${COMP_WORDS[1]}" = report ] && [ "$COMP_CWORD" -gt 1 ]; then
		mapfile -t words < <(compgen -f -- "$word")
	elif [ "${#words[@]}" -eq 0 ] && [ -n "$word" ]; then
		mapfile -t program < <(_fhook_program "${COMP_WORDS[@]}")
		mapfile -t words < <("${COMP_WORDS[0]}" list --json "${program[@]}" "$word*" \
			2> /dev/null | sed -n 's/^{"function":"\([^" ]*\).*/\1/p')
	fi
	_fhook_matching "$word" "${words[@]}"
}

complete -F _fhook fhook
