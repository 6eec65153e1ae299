# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For ~/.config/fish/config.fish: segue shell-init fish | source. Offers the folder of this shell, and the session of
# tmux that it is in, for as long as the shell runs; `handoff` goes on with what another shell offers.
if status is-interactive; and not set -q __segue_host
    # The shell in whose place this one is, by exec, has left its program and its pipe behind.
    set -l former (string split : -- "$SEGUE_SHELL_PROGRAM")
    if test "$former[1]" = $fish_pid
        kill $former[2] 2>/dev/null
        rm -f $former[3]
    end

    # Prints the text inside of a string of JSON; nothing if it is no text without controls.
    function __segue_quote
        string match -qr '[[:cntrl:]]' -- $argv[1]; and return
        printf %s $argv[1] | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1; or return
        # In some charsets a byte and a backslash are one character.
        printf %s $argv[1] | LC_ALL=C sed 's/[\\\\"]/\\\\&/g'
    end

    # Opened for both, the pipe is never waited for, whatever has become of the program.
    function __segue_tell
        sh -c 'printf "%s\n" "$@" 1<>"$0"' $__segue_pipe $argv 2>/dev/null
    end

    # With the first prompt: a shell that runs one command has none, and is gone at once. The program ends with this
    # shell, which may have ended before setpriv had seen to that. Ctrl-C at the prompt is not for it.
    function __segue_begin
        set -l terminal (tty); and set terminal (string replace /dev/ '' -- $terminal)', '; or set terminal ''
        set -g __segue_pipe (mktemp -u)
        mkfifo -m 600 $__segue_pipe
        sh -c 'trap "" INT
            exec setpriv --pdeathsig TERM sh -c \'[ "$PPID" = "$1" ] && exec "$0"\' "$0" "$1" <>"$2" >/dev/null 2>&1' \
            @PROGRAM@ $fish_pid $__segue_pipe &
        set -g __segue_program $last_pid
        set -gx SEGUE_SHELL_PROGRAM $fish_pid:$last_pid:$__segue_pipe
        disown $last_pid
        # Opened for writing alone, it is waited for: the program has it then. For 2 s at most, since it may have ended.
        timeout --foreground 2 sh -c 'printf "%s\n" "$1" >"$0"' $__segue_pipe '{"jsonrpc":"2.0","id":1,"method":"open","params":{"protocol":1,"bundleIdentifier":"com.fishshell.fish","name":"fish","label":"'"$terminal"process' '"$fish_pid"'","save":false}}'
    end

    function __segue_offer --on-event fish_prompt
        set -q __segue_pipe; or __segue_begin
        set -l session
        if set -q TMUX
            set -l name (__segue_quote (tmux display-message -p '#S' 2>/dev/null))
            string match -qr '^[^-]' -- $name; and set session ,\"multiplexer\":\"tmux\",\"session\":\"$name\"
        end
        set -l title (__segue_quote (string replace -r '.*/' '' -- $PWD))
        set -l url (string escape --style=url -- $PWD)
        __segue_tell \
            '{"jsonrpc":"2.0","method":"activity/set","params":{"activity":"shell","type":"SegueActivityTypeUsingTerminal","title":"'"$title"'","userInfo":{"url":"file://'"$url"'"'"$__segue_host$session"'}}}' \
            '{"jsonrpc":"2.0","method":"activity/current","params":{"activity":"shell"}}'
    end

    function __segue_end --on-event fish_exit
        set -q __segue_pipe; or return
        kill $__segue_program 2>/dev/null
        rm -f $__segue_pipe
    end

    function handoff
        set -l folder (SEGUE_SSH_HOST="$SEGUE_SSH_HOST" @COMMAND@ terminal $argv); or return
        # Words for people, and JSON, are no folder.
        if test -d "$folder"
            cd -- $folder
        else if set -q folder[1]
            printf '%s\n' $folder
        end
    end

    set -g __segue_host ''
    string match -qr '^[A-Za-z0-9][A-Za-z0-9.-]*$' -- "$SEGUE_SSH_HOST"; and set -g __segue_host ,\"host\":\"$SEGUE_SSH_HOST\"
end
