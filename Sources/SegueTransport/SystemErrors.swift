// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Modules that import this one have the errors of the system, too.
@_exported import SegueSystem
