#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command segue. The user waits for what is continued in another app, and Python takes longer to start than a browser
# to begin a page: segue-continue, of the package segue-agent, does what it can without.
command=/usr/libexec/segue/segue-command
starter=/usr/libexec/segue/segue-continue
case "$1 $2" in
  'continue --app'* | 'continue --launch' | 'continue --frontmost') [ -x $starter ] && exec $starter $command -- "$@" ;;
esac
exec $command "$@"
