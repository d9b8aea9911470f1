# Completion of worldpager's verbs, options and names for bash. It asks the program itself
# (`worldpager VERB --help`), so it knows what that version knows.

_worldpager_listed() { # the first words of the lines that help sets in by two spaces
	"$@" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

_worldpager_options() {
	"$@" --help 2>/dev/null | sed -n 's/^ *\(-[a-zA-Z?], *\)\{0,1\}\(--[a-z][a-z-]*=\{0,1\}\).*/\2/p'
}

# What help says of an option, on as many lines as it takes: "prefetch deadline [prefetch]".
_worldpager_about() { # OPTION COMMAND...
	local option=$1
	shift
	"$@" --help 2>/dev/null | awk -v option="$option=" '
		/^ +(-[a-zA-Z?], +)?--/ { found = index($0, " " option) }
		found && /^ / { sub(/^ +--[^ ]* */, ""); print }
		!/^ / { found = 0 }'
}

# Names that the program knows: it lists them when it is given one that it does not.
_worldpager_names() { # PROGRAM KIND
	case $2 in
	--trace) "$1" trace info '?' ;;
	--trajectory) "$1" trace make --trajectory '?' --out - ;;
	--model | --machine | --drive) "$1" plan "$2" '?' ;;
	experiment) "$1" sweep --dry-run --out /nonexistent '?' ;;
	esac 2>&1 >/dev/null | sed -n 's/.*(known: \(.*\); a path .*/\1/p' | tr -d ,
}

_worldpager_values() { # OPTION COMMAND...: names, or the choices that help spells out
	local option=$1
	shift
	case $option in
	--trace | --trajectory | --model | --machine | --drive) _worldpager_names "$1" "$option" ;;
	--arm | --codec | --eviction | --positions | --residency | --throttle | --world)
		# Other verbs describe them in sentences.
		_worldpager_about "$option" "$1" replay | tr -s ' \t,' '\n' |
			sed -n '/^\[/d; /^[a-z][a-z0-9_+-]*$/p' ;;
	esac
}

_worldpager() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command=("${COMP_WORDS[0]}") words='' value=''
	COMPREPLY=()
	[ "$COMP_CWORD" -lt 2 ] || command+=("${COMP_WORDS[1]}")
	[ "$COMP_CWORD" -lt 3 ] || [ "${COMP_WORDS[1]}" != trace ] || command+=("${COMP_WORDS[2]}")
	# Bash makes three words of --option=value.
	if [ "$word" = = ]; then
		value=$before word=''
	elif [ "$before" = = ]; then
		value=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $before == --* ]] && _worldpager_options "${command[@]}" | grep -qxe "$before="; then
		value=$before
	fi
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="$(_worldpager_listed "${command[@]}") --help --version"
	elif [ "$COMP_CWORD" -eq 2 ] && [ "${command[1]}" = trace ]; then
		words="$(_worldpager_listed "${command[0]}" trace) --help"
	elif [ -n "$value" ]; then
		words=$(_worldpager_values "$value" "${command[@]}")
	elif [[ $word == -* ]]; then
		words=$(_worldpager_options "${command[@]}")
	elif [ "${command[1]}" = sweep ]; then
		words=$(_worldpager_names "${command[0]}" experiment)
	elif [ "${command[1]}" = trace ]; then
		words=$(_worldpager_names "${command[0]}" --trace)
	fi
	# shellcheck disable=SC2207 # verbs, options and names hold no spaces
	COMPREPLY=($(compgen -W "$words" -- "$word"))
	case ${COMPREPLY[*]-} in
	*=) compopt -o nospace 2>/dev/null ;;
	'') compopt -o default 2>/dev/null ;;
	esac
	return 0
}

complete -F _worldpager worldpager
