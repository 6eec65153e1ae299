import SegueEngine
import SegueModel
import Testing

/// R3.15: an app has its own activity continued by another app of the device.
@Suite struct PushTests {
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp

  init() {
    agent = world.startAgent()
    editor = world.open("editor")
  }

  @Test func `R3.15: it is answered when the app is chosen, and the receipt says the end`() throws {
    let number = world.ask(agent, for: try world.offer("one", by: editor), isPush: true)
    #expect(agent.begun.map { $0.number } == [number] && agent.launches == ["com.example.viewer"])
    #expect(agent.answers.isEmpty && editor.receipts.isEmpty)
    let viewer = world.open("viewer")
    viewer.acceptDeliveries(true)
    world.settle()
    #expect(viewer.continued.map { $0.activity.title } == ["one"])
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    #expect(editor.receipts.map { $0.continuation } == agent.begun.map { $0.continuation })
  }

  @Test func `R3.15: what an app has made current just now may still be on its way to the agent`() throws {
    let id = world.identifier()
    world.ask(agent, for: id, isPush: true)
    #expect(agent.choices.isEmpty && agent.answers.isEmpty)
    world.wait(900)
    editor.add(try Activity(type: "com.example.note"), as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    #expect(agent.begun.count == 1 && agent.launches == ["com.example.viewer"])
  }

  @Test func `R3.15: what is not offered within a second is not found`() {
    world.ask(agent, for: world.identifier(), isPush: true)
    world.wait(1_000)
    #expect(agent.answers.count == 1 && agent.begun.isEmpty)
    guard case .failure(let error)? = agent.answers.first else { return }
    #expect(error.status == .notFound)
  }

  @Test func `R3.15: who gives up while the offer is awaited gets nothing`() {
    let number = world.ask(agent, for: world.identifier(), isPush: true)
    agent.engine.abandon(number, world.now)
    world.wait(2_000)
    #expect(agent.answers.isEmpty && agent.engine.leak == nil)
  }
}
