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

	for ((i = 1; i <= $#; i++)); do
		case ${!i} in
		-p | --program)
			i=$((i + 1))
			printf -- '-p\n%s\n' "${!i}"
			return ;;
		--program=*)
			printf -- '-p\n%s\n' "${!i#*=}"
			return ;;
		esac
	done
}

# _fhook_join WORD...: set "joined" to the words up to the last one as the user has typed them:
# bash splits at '=' and ':', as in --by=comm and name::function
_fhook_join()
{
	local word open=

	joined=()
	for word; do
		if [[ ${#joined[@]} -gt 1 && ($word == [=:]* || $open) ]]; then
			joined[-1]+=$word
		else
			joined+=("$word")
		fi
		[[ $word == *[=:] ]] && open=y || open=
	done
}

# _fhook_matching BEGINNING WORD...: the answers, without what bash does not replace. Unlike
# compgen -W, this expands nothing, because names of functions may contain anything.
_fhook_matching()
{
	local beginning=$1 answer kept=${1%"$replaced"}

	shift
	COMPREPLY=()
	for answer; do
		[[ $answer != "$beginning"* ]] || COMPREPLY+=("$(printf %q "${answer#"$kept"}")")
	done
}

# _fhook_files ACTION...: names that compgen finds for "word", in the same way
_fhook_files()
{
	mapfile -t COMPREPLY < <(compgen "$@" -- "$word")
	COMPREPLY=("${COMPREPLY[@]#"${word%"$replaced"}"}")
	# Names are quoted. This fails if bash completes nothing, as in a test.
	compopt -o filenames 2> /dev/null || :
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
	local replaced=${COMP_WORDS[COMP_CWORD]##*[=:]} word previous
	local -a command=("${COMP_WORDS[0]}") joined words program

	! _fhook_command || return 0
	_fhook_join "${COMP_WORDS[@]:0:COMP_CWORD + 1}"
	word=${joined[-1]}
	previous=${joined[-2]}
	if [[ $word == --*=* ]]; then
		previous=${word%%=*}
		word=${word#*=}
	fi
	if [ "${#joined[@]}" -gt 2 ]; then
		command+=("${joined[1]}")
	fi
	if [ "${joined[1]}" = calltrace ] && [ "${#joined[@]}" -gt 3 ]; then
		command+=("${joined[2]}")
		# They take files, and their -b and -p are other options than those below.
		if [ "${word#-}" = "$word" ]; then
			_fhook_files -f
			return
		fi
	fi
	case $previous in
	-p | --program)
		_fhook_files -c -f
		return ;;
	-o | --output | -F | --flame)
		_fhook_files -f
		return ;;
	-b | --by)
		_fhook_matching "$word" comm pid cpu
		return ;;
	esac
	mapfile -t words < <(_fhook_words "${command[@]}")
	if [ "${word#-}" != "$word" ]; then
		mapfile -t words < <(_fhook_options "${command[@]}")
	elif [ "${joined[1]}" = report ] && [ "${#joined[@]}" -gt 2 ]; then
		_fhook_files -f
		return
	elif [ "${#words[@]}" -eq 0 ] && [ -n "$word" ]; then
		_fhook_join "${COMP_WORDS[@]}"
		mapfile -t program < <(_fhook_program "${joined[@]}")
		mapfile -t words < <("${COMP_WORDS[0]}" list --json "${program[@]}" "$word*" \
			2> /dev/null | sed -n 's/^{"function":"\([^" ]*\).*/\1/p')
	fi
	_fhook_matching "$word" "${words[@]}"
}

complete -F _fhook fhook
