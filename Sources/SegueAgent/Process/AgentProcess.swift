import CLinux
import SegueModel
import SegueRuntime
import SegueTransport

/// The life of an agent, from its folders to its last goodbye. Its main thread waits for signals; all else happens on
/// the loop.
final class AgentProcess {
  private let options: AgentOptions
  private let signals = EndingSignals()

  init(_ options: AgentOptions) { self.options = options }

  func run() -> Agent.Status {
    do throws(AgentSeat.Refusal) {
      try serve()
    } catch {
      switch error {
      case .occupied(let holder):
        Log.write(.error, holder)
        return .occupied
      case .failed(let error):
        Log.write(.error, "\(error.message)")
        return .failure
      }
    }
    return signals.failure == nil ? .success : .failure
  }

  private func serve() throws(AgentSeat.Refusal) {
    // Before any thread starts: it inherits the mask.
    signals.block()
    Descriptors.raiseLimit()
    let (folder, state) = try folders()
    let seat = try AgentSeat.take(in: [folder.path, state.path], replaces: options.replaces)
    defer { withExtendedLifetime(seat) {} }
    do throws(SegueError) { try carryHub(in: folder) } catch { throw .failed(error) }
  }

  private func folders() throws(AgentSeat.Refusal) -> (RuntimeFolder, StateFolder) {
    do throws(SegueError) { return (try RuntimeFolder(nil), try StateFolder()) } catch { throw .failed(error) }
  }

  /// Returns when a signal has asked for the end.
  private func carryHub(in folder: RuntimeFolder) throws(SegueError) {
    let loop = try Loop()
    defer { loop.stop() }
    let device = try Device(
      folder, on: loop, agent: AgentDescription(version: AgentOptions.version, capabilities: 0)
    ) { [signals] in signals.end(because: "the runtime folder was removed") }
    var failure: SegueError?
    loop.perform { do throws(SegueError) { try device.carryHub() } catch { failure = error } }
    defer { loop.perform { device.end() } }
    if let failure { throw failure }
    let cause = signals.wait()
    Log.info("ends: \(cause)")
  }
}
