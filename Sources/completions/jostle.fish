# Completes command lines of jostle and its daemons in fish: the programs say themselves what a word can be.

function __jostle_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    # The one that is installed is asked: what only stands in the line was not started yet, and is not started for that.
    set -l program (string replace --regex '.*/' '' -- $words[1])
    # Behind an open quote, too, candidates are plain words.
    set -l answer (command $program --complete $words[2..-1] (string trim --left --chars '"\'' -- "$token") 2>/dev/null)
    set -l option (string match --regex -- '^--[^=]*=' "$token")
    set -l value (string replace --regex -- '^--[^=]*=' '' "$token")
    switch "$answer[1]"
        case file
            printf '%s\n' "$option"(complete -C "'' $value")
        case directory
            printf '%s\n' "$option"(__fish_complete_directories "$value" '')
        case program
            complete -C "$token"
        case '*'
            printf '%s\n' $answer[2..-1]
    end
end

for program in jostle jostle-sensord jostle-brokerd jostle-fleet
    complete -c $program -f -a '(__jostle_complete)'
end
