#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command segue."""

import sys

from segue_command import main

sys.exit(main())
