import SegueEngine
import SegueAgentCore
import SegueModel
import SegueWire

@testable import SegueFleet

/// The attachments that an agent of a fleet fetches from origins, one after the other; or copies, if apps have handed
/// them over.
final class InboxCollections: InboxTransfers {
  private struct Collection {
    let continuation: Identifier
    var rest: [Attachment]
    var found: [Attachment] = []
    /// The stream of the attachment that is being fetched.
    var stream: ScriptedStream?
    var isAnswered = false
  }

  private unowned let agent: InboxAgent
  private let perform: ((AgentEngine, Instant) -> Void) -> Void
  private var collections: [Collection] = []

  init(_ agent: InboxAgent, _ perform: @escaping ((AgentEngine, Instant) -> Void) -> Void) {
    (self.agent, self.perform) = (agent, perform)
  }

  func serve(_ request: StreamRequest, of offer: KeptParticipant?) { agent.serve(request, offer) }
  func close() { collections = [] }

  func collect(_ attachments: [Attachment], of continuation: Identifier, for account: Identifier?) {
    collections.append(Collection(continuation: continuation, rest: attachments))
    agent.later(0) { [unowned self] in next(continuation) }
  }

  func stop(_ continuation: Identifier) {
    guard let index = index(of: continuation) else { return }
    collections[index].rest = []
    collections[index].stream?.socket.close()
    collections[index].stream = nil
    agent.later(0) { [unowned self] in next(continuation) }
  }

  private func next(_ continuation: Identifier) {
    guard let index = index(of: continuation), collections[index].stream == nil else { return }
    guard let attachment = collections[index].rest.first else {
      let found = collections.remove(at: index).found
      return perform { $0.collected(continuation, found, $1) }
    }
    if attachment.source != nil {
      // Some were changed meanwhile.
      let (isWhole, time) = (agent.fleet.random.chance(0.7), agent.fleet.random.within(0, 200))
      return agent.later(time) { [unowned self] in copied(attachment, of: continuation, isWhole: isWhole) }
    }
    let (near, far) = agent.makeSockets()
    let id = agent.fleet.drawIdentifier()
    collections[index].stream = ScriptedStream(id, near, isRequester: true)
    collections[index].isAnswered = false
    perform {
      $0.ask(
        id, of: continuation, Message.AttachmentPart(name: attachment.name, offset: 0),
        otherEnd: FleetDescriptor(far), timeout: 5_000, $1)
    }
  }

  func answered(_ id: Identifier, _ error: SegueError?) {
    guard let index = collections.firstIndex(where: { $0.stream?.id == id }) else { return }
    let continuation = collections[index].continuation
    if error != nil { return ended(at: index, isComplete: false) }
    collections[index].isAnswered = true
    agent.later(1) { [unowned self] in read(id, of: continuation) }
  }

  /// Reads until the origin has closed the stream, or is gone.
  private func read(_ id: Identifier, of continuation: Identifier) {
    guard let index = index(of: continuation), let stream = collections[index].stream, stream.id == id else { return }
    agent.complain(stream.readAll())
    guard stream.hasReadEnd else { return agent.later(5) { [unowned self] in read(id, of: continuation) } }
    ended(at: index, isComplete: stream.isComplete)
  }

  private func ended(at index: Int, isComplete: Bool) {
    let (continuation, attachment) = (collections[index].continuation, collections[index].rest.removeFirst())
    collections[index].stream?.socket.close()
    collections[index].stream = nil
    if isComplete {
      collections[index].found.append(
        Attachment(
          name: attachment.name, size: attachment.size,
          source: CollectedBytes(CollectedBytes.content(of: attachment))))
    }
    agent.later(0) { [unowned self] in next(continuation) }
  }

  private func copied(_ attachment: Attachment, of continuation: Identifier, isWhole: Bool) {
    guard let index = index(of: continuation), collections[index].rest.first?.name == attachment.name else { return }
    ended(at: index, isComplete: isWhole)
  }

  private func index(of continuation: Identifier) -> Int? {
    collections.firstIndex { $0.continuation == continuation }
  }
}
