# Completes command lines of jostle and its daemons in bash: the programs say themselves what a word can be.

_jostle() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word blank kind
    # Bash cuts words at '=' and ':', too; for the programs they end at blanks.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD + 1}"; do
        blank=${rest%%[![:space:]]*}
        rest=${rest:${#blank}}
        [[ $rest == "$word"* ]] || word=$rest
        rest=${rest:${#word}}
        # Programs get words without the quotes around them; that of the last word may be open.
        case $word in
            \"*\" | \'*\') word=${word:1:${#word} - 2} ;;
            [\"\']*) word=${word:1} ;;
        esac
        if [[ -n $blank || ${#words[@]} -eq 0 ]]; then words+=("$word"); else words[-1]+=$word; fi
    done
    COMPREPLY=()
    [[ ${#words[@]} -ge 2 ]] || return
    word=${words[-1]}
    # The one that is installed is asked: what only stands in the line was not started yet, and is not started for that.
    {
        read -r kind
        mapfile -t COMPREPLY
    } < <(command "${1##*/}" --complete "${words[@]:1}" 2>/dev/null)
    case $kind in
        # Nothing of ours: then readline looks for files, and quotes them.
        file) compopt -o default ;;
        directory) compopt -o dirnames ;;
        program)
            compopt -o default
            while read -r word; do
                [[ $word == *[^a-zA-Z0-9._+-]* ]] || COMPREPLY+=("$word")
            done < <(compgen -c -- "$2")
            ;;
        *)
            # Bash puts the answer in the place of what stands behind its last cut.
            [[ $word == *"$2" ]] || COMPREPLY=()
            COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
            COMPREPLY=("${COMPREPLY[@]#"${word%"$2"}"}")
            # More of the one word that is left is to follow.
            [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace
            ;;
    esac
}

complete -F _jostle jostle jostle-sensord jostle-brokerd jostle-fleet
