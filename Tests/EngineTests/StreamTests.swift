// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueFleet

/// Streams in the engines: which app gets one (R7.1), and how the end becomes known (R7.3).
@Suite struct StreamTests {
  private func scene(supporting: Bool = true) throws -> Continued {
    try Continued { world, editor, id in
      world.tell(editor) { _, now in editor.change(id) { $0.setSupportsContinuationStreams(supporting) } }
    }
  }

  private func ask(_ scene: Continued, timeout: Int64? = nil) -> Identifier {
    let id = scene.world.identifier()
    scene.world.tell(scene.viewer) {
      $0.askStream(id, scene.from, otherEnd: scene.viewer.makeStream(), timeout: timeout, $1)
    }
    return id
  }

  /// A stream that is there at both ends.
  private func stream(_ scene: Continued) throws -> Identifier {
    let id = ask(scene)
    #expect(scene.viewer.streamAnswers.map { $0.error } == [nil])
    #expect(scene.editor.streamsThatCame == [id])
    return id
  }

  private func refusal(_ scene: Continued) -> Status? {
    #expect(scene.viewer.streamAnswers.count == 1)
    return scene.viewer.streamAnswers.first?.error?.status
  }

  @Test func `who continued an activity gets as many streams of it as it asks for (R7.1)`() throws {
    let scene = try scene()
    let asked = (0..<10).map { _ in ask(scene) }
    #expect(scene.editor.streamsThatCame == asked)
    #expect(scene.viewer.streamAnswers.map { $0.id } == asked)
    #expect(scene.viewer.streamAnswers.allSatisfy { $0.error == nil })
  }

  /// Neither app gets a callback: streams are for the apps, attachments for the libraries.
  @Test func `an attachment comes on a stream that no app hears of (R7.6)`() throws {
    let scene = try scene(supporting: false)
    scene.editor.takesStreams = false
    // As many as there may be streams, and more: none of them counts as one.
    for offset in 0..<1_030 as Range<UInt64> {
      let part = Message.AttachmentPart(name: "photo.jpg", offset: offset)
      scene.world.tell(scene.viewer) {
        $0.askStream(
          scene.world.identifier(), scene.from, attachment: part, otherEnd: scene.viewer.makeStream(), timeout: nil, $1)
      }
    }
    #expect(scene.viewer.streamAnswers.count == 1_030 && scene.viewer.streamAnswers.allSatisfy { $0.error == nil })
    #expect(scene.editor.attachmentsAsked.map { $0.offset } == Array(0..<1_030))
    #expect(scene.editor.attachmentsAsked.allSatisfy { $0.name == "photo.jpg" })
    #expect(scene.editor.streamsThatCame.isEmpty)
  }

  @Test func `only who continued an activity gets its attachments (R7.6)`() throws {
    let scene = try scene()
    let other = scene.world.open("other")
    let part = Message.AttachmentPart(name: "photo.jpg", offset: 0)
    scene.world.tell(other) {
      $0.askStream(
        scene.world.identifier(), scene.from, attachment: part, otherEnd: other.makeStream(), timeout: nil, $1)
    }
    #expect(other.streamAnswers.map { $0.error?.status } == [.handoffFailed])
    #expect(scene.editor.attachmentsAsked.isEmpty)
  }

  @Test func `a descriptor that came with a stream which the hub refuses is closed (R7.1)`() throws {
    let scene = try scene()
    scene.world.kill(scene.editor)
    let (near, far) = scene.viewer.process.makeSockets()
    scene.world.tell(scene.viewer) {
      $0.askStream(scene.world.identifier(), scene.from, otherEnd: FleetDescriptor(far), timeout: nil, $1)
    }
    #expect(refusal(scene) == .connectionUnavailable)
    #expect(near.isOtherEndClosed)
  }

  @Test func `there are 1,024 at a time (R7.1)`() throws {
    let scene = try scene()
    for _ in 0..<1_024 { _ = ask(scene) }
    #expect(scene.viewer.streamAnswers.count == 1_024 && scene.viewer.streamAnswers.allSatisfy { $0.error == nil })
    let last = ask(scene)
    #expect(scene.viewer.streamAnswers.last?.error?.status == .limitExceeded)
    #expect(scene.viewer.streamAnswers.last?.id == last)
    scene.world.tell(scene.viewer) { [asked = scene.viewer.streamAnswers[0].id] engine, _ in engine.forgetStream(asked)
    }
    _ = ask(scene)
    // The editor still has the other end of the released one.
    #expect(scene.viewer.streamAnswers.last?.error?.status == .limitExceeded)
  }

  @Test func `without support there is none, and the error says so (R7.1)`() throws {
    let scene = try scene(supporting: false)
    _ = ask(scene)
    #expect(refusal(scene) == .invalidState)
    let deaf = try self.scene()
    deaf.editor.takesStreams = false
    _ = ask(deaf)
    #expect(refusal(deaf) == .invalidState)
  }

  @Test func `whoever did not continue the activity gets none (R7.1)`() throws {
    let scene = try scene()
    let other = scene.world.open("other")
    scene.world.tell(other) {
      $0.askStream(scene.world.identifier(), scene.from, otherEnd: other.makeStream(), timeout: nil, $1)
    }
    #expect(other.streamAnswers.map { $0.error?.status } == [.handoffFailed])
    #expect(scene.editor.streamsThatCame.isEmpty)
  }

  @Test func `whoever declined the activity gets none (R7.1)`() throws {
    let world = World(hasHub: true)
    let editor = world.open("editor")
    let viewer = world.open("viewer")
    viewer.handles = false
    let id = try world.offer("Draft", by: editor)
    world.tell(editor) { _, now in editor.change(id) { $0.setSupportsContinuationStreams(true) } }
    _ = try world.continue(in: viewer)
    let from = try #require(viewer.continued.first?.from)
    world.tell(viewer) { $0.askStream(world.identifier(), from, otherEnd: viewer.makeStream(), timeout: nil, $1) }
    #expect(viewer.streamAnswers.map { $0.error?.status } == [.handoffFailed])
  }

  @Test func `of an activity that was invalidated there is none any more (R7.1)`() throws {
    let scene = try scene()
    scene.world.tell(scene.editor) { engine, now in
      scene.editor.invalidate(scene.activity)
      engine.invalidate(scene.activity, now)
    }
    _ = ask(scene)
    #expect(refusal(scene) == .handoffFailed)
  }

  @Test func `an origin that has gone, or does not answer, is an error (R7.1)`() throws {
    let gone = try scene()
    gone.world.kill(gone.editor)
    _ = ask(gone)
    #expect(refusal(gone) == .connectionUnavailable)
    let silent = try scene()
    silent.editor.process.stall()
    _ = ask(silent, timeout: 3_000)
    silent.world.wait(2_990)
    #expect(silent.viewer.streamAnswers.isEmpty)
    silent.world.wait(10)
    #expect(refusal(silent) == .remoteApplicationTimedOut)
  }

  @Test func `asked for without a hub it waits for the next, asked for before it is lost with the hub (R7.1)`() throws {
    let scene = try scene()
    scene.world.killHub()
    _ = ask(scene)
    #expect(scene.viewer.streamAnswers.isEmpty)
    scene.world.startHub()
    #expect(scene.viewer.streamAnswers.map { $0.error } == [nil])
    scene.editor.process.stall()
    _ = ask(scene)
    scene.world.killHub()
    #expect(scene.viewer.streamAnswers.last?.error?.status == .connectionUnavailable)
  }

  @Test(arguments: [StreamStatus.ended, .aborted(7)])
  func `what the other side has said is how it ended (R7.3)`(word: StreamStatus) throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.world.tell(scene.editor) { engine, _ in engine.reportEnd(word, of: id) }
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    #expect(scene.viewer.streamEnds == [word])
  }

  @Test(arguments: [[StreamStatus.ended, .aborted(7)], [.aborted(7), .ended], [.aborted(7), .aborted(8)]])
  func `what was finished and then given up has not ended, and an abort is the last word (R7.3)`(
    words: [StreamStatus]
  ) throws {
    let scene = try scene()
    let id = try stream(scene)
    for word in words { scene.world.tell(scene.editor) { engine, _ in engine.reportEnd(word, of: id) } }
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    #expect(scene.viewer.streamEnds == [.aborted(7)])
  }

  @Test func `who has been told that it ended is told nothing else (R7.3)`() throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.world.tell(scene.editor) { engine, _ in engine.reportEnd(.ended, of: id) }
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    scene.world.tell(scene.editor) { engine, _ in engine.reportEnd(.aborted(7), of: id) }
    #expect(scene.viewer.streamEnds == [.ended])
  }

  @Test func `what it said is known when it has let go of the stream, and the hub has changed (R7.3)`() throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.world.killHub()
    scene.world.tell(scene.editor) { engine, _ in
      engine.reportEnd(.aborted(9), of: id)
      engine.forgetStream(id)
    }
    scene.world.startHub()
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    #expect(scene.viewer.streamEnds == [.aborted(9)])
  }

  @Test func `unsaid, what can be seen of its end counts: open is shut down, closed is aborted (R7.3)`() throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    scene.editor.end = .aborted(0)
    let closed = ask(scene)
    scene.world.tell(scene.viewer) { $0.askHowEnded(closed, $1) }
    let forgotten = ask(scene)
    scene.world.tell(scene.editor) { engine, _ in engine.forgetStream(forgotten) }
    scene.world.tell(scene.viewer) { $0.askHowEnded(forgotten, $1) }
    #expect(scene.viewer.streamEnds == [.ended, .aborted(0), .aborted(0)])
  }

  @Test func `the other way round it is the same (R7.3)`() throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.world.tell(scene.viewer) { engine, _ in engine.reportEnd(.aborted(3), of: id) }
    scene.world.tell(scene.editor) { $0.askHowEnded(id, $1) }
    let forgotten = ask(scene)
    scene.world.tell(scene.viewer) { engine, _ in engine.forgetStream(forgotten) }
    scene.world.tell(scene.editor) { $0.askHowEnded(forgotten, $1) }
    #expect(scene.editor.streamEnds == [.aborted(3), .aborted(0)])
  }

  @Test(arguments: [0, 2_000])
  func `if its process is gone it is broken, at once, however young the hub (R7.3)`(age: Int64) throws {
    let scene = try scene()
    scene.world.wait(age)
    let id = try stream(scene)
    scene.world.kill(scene.editor)
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    #expect(scene.viewer.streamEnds == [.broken])
  }

  @Test func `if nobody answers, or there is no hub, it is broken within a second (R7.3)`() throws {
    for isHubGone in [false, true] {
      let scene = try scene()
      let id = try stream(scene)
      scene.editor.process.stall()
      if isHubGone { scene.world.killHub() }
      scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
      scene.world.wait(950)
      #expect(scene.viewer.streamEnds.isEmpty)
      scene.world.wait(50)
      #expect(scene.viewer.streamEnds == [.broken])
    }
  }

  @Test func `an origin that has yet to come to a new hub does not count as gone (R7.3)`() throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.world.killHub()
    scene.editor.process.stall()
    scene.world.startHub()
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    scene.world.wait(500)
    #expect(scene.viewer.streamEnds.isEmpty)
    scene.world.resume(scene.editor)
    scene.editor.end = .aborted(0)
    scene.world.wait(500)
    #expect(scene.viewer.streamEnds == [.aborted(0)])
  }

  @Test func `an app that closes hears of all that it waits for (R3.14, R7.3)`() throws {
    let scene = try scene()
    let id = try stream(scene)
    scene.editor.process.stall()
    scene.world.tell(scene.viewer) { $0.askHowEnded(id, $1) }
    _ = ask(scene)
    scene.world.close(scene.viewer)
    #expect(scene.viewer.streamEnds == [.broken])
    #expect(scene.viewer.streamAnswers.last?.error?.status == .cancelled)
  }
}
