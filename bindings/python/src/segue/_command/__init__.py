# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `segue`: a module for each group of verbs, on what the package offers to everybody."""
