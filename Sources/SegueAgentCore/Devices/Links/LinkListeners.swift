// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The listeners of this device for connections of others: a TCP port, and commands of other devices.
struct LinkListeners {
  /// Nil before there is a port.
  private(set) var tcp: (any LinkListener)?
  /// Nil if the system refuses, or there are no commands.
  private var commands: (any LinkListener)?

  /// Takes the listener of another port, and closes the former one.
  mutating func take(tcp opened: any LinkListener) {
    let former = tcp
    tcp = opened
    former?.close()
  }

  /// Takes the listener for commands.
  mutating func take(commands opened: (any LinkListener)?) { commands = opened }

  /// Closes both.
  mutating func close() {
    tcp?.close()
    tcp = nil
    commands?.close()
    commands = nil
  }
}
