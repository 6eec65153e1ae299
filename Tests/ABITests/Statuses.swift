// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The statuses of segue.h that the tests tell apart.
let ok: Int32 = 0
let invalidArgument: Int32 = 1
let invalidHandle: Int32 = 2
let invalidURL: Int32 = 3
let invalidState: Int32 = 4
let malformed: Int32 = 7
let notFound: Int32 = 8
let limitExceeded: Int32 = 10
let busy: Int32 = 11
let userCancelled: Int32 = 24
