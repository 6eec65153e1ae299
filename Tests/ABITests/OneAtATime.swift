// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

/// The suites count the handles of the whole process, so no two tests may run at a time.
@Suite(.serialized) enum OneAtATime {}
