#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command segue, in Python; /usr/bin/segue starts it."""

import sys

from segue_command import main

sys.argv[0] = "/usr/bin/segue"
sys.exit(main())
