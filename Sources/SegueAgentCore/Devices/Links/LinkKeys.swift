// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The keys with which a device makes and accepts links. They are renewed together.
struct LinkKeys {
  /// The certificate that this device shows, and what it accepts of others.
  let context: any SecurityContext
  /// The epochs of the account, newest first; not empty.
  let epochs: [EpochKeys]
}
