# SPDX-License-Identifier: Apache-2.0
"""The command `segue`: a module for each group of verbs, on what the package offers to everybody."""
