# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For ~/.bashrc: eval "$(segue shell-init bash)". Offers the folder of this shell, and the session of tmux that it is
# in, for as long as the shell runs; `handoff` goes on with what another shell offers.
if [[ $- == *i* && -z ${__segue_host+set} ]]; then
  # The shell in whose place this one is, by exec, has left its program behind.
  if [[ ${SEGUE_SHELL_PIPE-} =~ ^$$:([0-9]+):([0-9]+)$ ]]; then
    eval "exec ${BASH_REMATCH[1]}>&-"
    kill "${BASH_REMATCH[2]}" 2>/dev/null
  fi

  # Sets REPLY to the text with all bytes percent-encoded but those that a path of a URL has.
  __segue_encode() {
    local LC_ALL=C index byte number
    REPLY=
    for ((index = 0; index < ${#1}; index++)); do
      byte=${1:index:1}
      case $byte in
        [a-zA-Z0-9/._~-]) REPLY+=$byte ;;
        *)
          printf -v number %d "'$byte"
          printf -v byte %%%02X $((number & 255))
          REPLY+=$byte
          ;;
      esac
    done
  }

  # Sets REPLY to the text inside of a string of JSON; to nothing if it is no text without controls.
  __segue_quote() {
    REPLY=
    [[ $1 != *[[:cntrl:]]* ]] && iconv -f UTF-8 -t UTF-8 <<<"$1" >/dev/null 2>&1 || return 0
    # In some charsets a byte and a backslash are one character.
    local LC_ALL=C
    REPLY=${1//\\/\\\\}
    REPLY=${REPLY//\"/\\\"}
  }

  # With the first prompt: a shell that runs one command has none, and is gone at once. The program ends with this
  # shell, which may have ended before setpriv had seen to that. Ctrl-C at the prompt is not for it.
  __segue_begin() {
    local terminal
    terminal=$(tty) && terminal="${terminal#/dev/}, " || terminal=
    exec {__segue_fd}> >(
      trap '' INT
      exec setpriv --pdeathsig TERM sh -c '[ "$PPID" = "$1" ] && exec "$0"' @PROGRAM@ "$$" >/dev/null 2>&1
    )
    export SEGUE_SHELL_PIPE="$$:$__segue_fd:$!"
    (
      printf '{"jsonrpc":"2.0","id":1,"method":"open","params":{"protocol":1,"bundleIdentifier":"org.gnu.bash","name":"bash","label":"%sprocess %d","save":false}}\n' \
        "$terminal" "$$"
    ) >&"$__segue_fd" 2>/dev/null
  }

  # In a process of its own: the program may have ended, and a write would end this shell.
  __segue_offer() {
    local status=$? url title session=
    [[ -n ${__segue_fd-} ]] || __segue_begin
    __segue_encode "$PWD" && url=$REPLY
    __segue_quote "${PWD##*/}" && title=$REPLY
    if [[ -n ${TMUX-} ]]; then
      __segue_quote "$(tmux display-message -p '#S' 2>/dev/null)"
      [[ -n $REPLY && $REPLY != -* ]] && session=",\"multiplexer\":\"tmux\",\"session\":\"$REPLY\""
    fi
    local here="\"activity\":\"shell\""
    (
      printf '{"jsonrpc":"2.0","method":"activity/set","params":{%s,"type":"SegueActivityTypeUsingTerminal","title":"%s","userInfo":{"url":"file://%s"%s%s}}}\n' \
        "$here" "$title" "$url" "$__segue_host" "$session"
      printf '{"jsonrpc":"2.0","method":"activity/current","params":{%s}}\n' "$here"
    ) >&"$__segue_fd" 2>/dev/null
    return "$status"
  }

  handoff() {
    local folder
    folder=$(SEGUE_SSH_HOST=${SEGUE_SSH_HOST-} @COMMAND@ terminal "$@") || return
    # Words for people, and JSON, are no folder.
    if [[ -d $folder ]]; then
      cd -- "$folder"
    elif [[ -n $folder ]]; then
      printf '%s\n' "$folder"
    fi
  }

  __segue_host=
  [[ ${SEGUE_SSH_HOST-} =~ ^[A-Za-z0-9][A-Za-z0-9.-]*$ ]] && __segue_host=",\"host\":\"$SEGUE_SSH_HOST\""
  PROMPT_COMMAND="__segue_offer${PROMPT_COMMAND:+;$PROMPT_COMMAND}"
fi
