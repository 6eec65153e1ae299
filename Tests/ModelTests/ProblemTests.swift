// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Glibc
import SegueModel
import Testing

/// `validate` (R1.14).
@Suite struct ProblemTests {
  private func problems(_ activity: Activity, at now: Double = 0) -> [String] {
    activity.problems(at: now).map { "\($0.path): \($0.status)" }
  }

  @Test func `a good activity has no problems (R1.14)`() throws {
    var activity = try Activity(type: "com.example.editing")
    #expect(problems(activity).isEmpty)
    try activity.setTitle("Shopping")
    activity.setEligible(.search, true)
    try activity.setUserInfo(Value.dictionary([(.string("line"), .integer(1)), (.string("row"), .null)]), limit: 100)
    try activity.setRequiredUserInfoKeys(.set([.string("line"), .string("row")]))
    try activity.setExpirationDate(10)
    #expect(problems(activity, at: 9).isEmpty)
  }

  @Test func `all problems are reported at once, each with its path (R1.14, R1.3, R1.6)`() throws {
    var activity = try Activity(type: "com.example.editing")
    try activity.setExpirationDate(10)
    activity.setEligible(.search, true)
    try activity.setRequiredUserInfoKeys(.set([.string("line"), .string("row")]))
    let file = try Value.url("file:///home/anna/x")
    let nested = try Value.array([.url("https://example.com/"), .dictionary([(file, .set([file]))])])
    try activity.setUserInfo(
      Value.dictionary([(.string("row"), .data([UInt8](repeating: 0, count: 3_072))), (.string("list"), nested)]),
      limit: 10_000)
    let file0 = "user_info/\"list\"/1"
    #expect(
      problems(activity, at: 10) == [
        "expiration_date: invalidArgument", "user_info/\"line\": notFound", "title: invalidArgument",
        "user_info: limitExceeded", "\(file0): invalidURL", "\(file0)/\(file.diagnostic)/0: invalidURL",
      ])
    #expect(activity.problems(at: 10).allSatisfy { !$0.message.isEmpty })
  }

  @Test func `each required key that is absent is reported, wherever it would stand (R1.14, R1.3)`() throws {
    let all = ["a", "b", "c", "d", "e", "aa", "bb", "\u{e9}", "e\u{301}", ""]
    // Every half of them is there.
    for present in 0..<(1 << all.count) where present.nonzeroBitCount == all.count / 2 {
      var activity = try Activity(type: "com.example.editing")
      let there = all.indices.filter { present & 1 << $0 != 0 }
      try activity.setUserInfo(.dictionary(there.map { (.string(all[$0]), .integer(1)) }), limit: 1_000)
      try activity.setRequiredUserInfoKeys(.set(all.map { .string($0) }))
      let absent = all.indices.filter { present & 1 << $0 == 0 }.map { Value.string(all[$0]).diagnostic }
      #expect(Set(problems(activity)) == Set(absent.map { "user_info/\($0): notFound" }))
    }
    var activity = try Activity(type: "com.example.editing")
    try activity.setRequiredUserInfoKeys(.set([.string("a"), .string("b")]))
    #expect(problems(activity).count == 2)
  }

  /// The least processor time of three runs, in nanoseconds.
  private func cost(_ body: () -> Void) -> UInt64 {
    (0..<3).map { _ in
      let start = clock_gettime_nsec(CLOCK_THREAD_CPUTIME_ID)
      body()
      return clock_gettime_nsec(CLOCK_THREAD_CPUTIME_ID) - start
    }.min() ?? 0
  }

  private func clock_gettime_nsec(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// A look-up from the start for each key would cost 256 times as much for 16 times as many.
  @Test(arguments: [true, false])
  func `required keys are looked for in one pass (R1.14)`(areThere: Bool) throws {
    func activity(_ count: Int) throws -> Activity {
      var activity = try Activity(type: "com.example.editing")
      let keys = (1_000_000..<1_000_000 + count).map { Value.string("\($0)") }
      // A key that is absent comes after all that are there.
      try activity.setUserInfo(.dictionary(keys.map { ($0, .null) }), limit: Limits.value)
      try activity.setRequiredUserInfoKeys(.set(areThere ? keys : keys.map { .string("x\($0.diagnostic)") }))
      return activity
    }
    let (few, many) = (try activity(1_000), try activity(16_000))
    let ratio = Double(cost { _ = many.problems(at: 0) }) / Double(max(1, cost { _ = few.problems(at: 0) }))
    #expect(ratio < 64)
  }

  @Test func `of problems without end the last one says how many more there are (R1.14)`() throws {
    let count = 14_000
    var nested = try Value.array((0..<count).map { _ in try .url("file:///a?b") })
    for _ in 0..<40 { nested = try .dictionary([(.string(String(repeating: "k", count: 800)), nested)]) }
    var activity = try Activity(type: "com.example.editing")
    try activity.setUserInfo(nested, limit: Limits.value)
    var problems: [Problem] = []
    let time = cost { problems = activity.problems(at: 0) }
    let size = problems.reduce(0) { $0 + $1.path.utf8.count + $1.message.utf8.count }
    #expect(size < 1_200_000 && time < 1_000_000_000, "\(size) bytes, \(time) ns")
    let last = try #require(problems.last)
    // Besides them, user_info has more than the advised 3 KiB.
    let listed = problems.count { $0.status == .invalidURL }
    #expect(listed > 20 && problems.count == listed + 2 && last.status == .limitExceeded)
    #expect(last.message.contains("\(count - listed) more"))
    #expect(problems[1].path.hasSuffix("/0") && problems[listed].path.hasSuffix("/\(listed - 1)"))
  }

  @Test(arguments: ["test?file", "C#.txt"])
  func `R5.3: a file: URL with a query or a fragment is reported, also inside a container`(name: String) throws {
    var containers = Containers()
    try containers.add(Container(identifier: "S", folder: "/S", realFolder: nil))
    var activity = try Activity(type: "com.example.editing")
    try activity.setUserInfo(.dictionary([(.string("u"), .url("file:///S/\(name)"))]), limit: 1_000)
    let problems = activity.problems(at: 0, containers)
    #expect(problems.map { "\($0.path) \($0.status)" } == ["user_info/\"u\" invalidURL"])
    #expect(problems.allSatisfy { $0.message.contains("%3F") })
  }

  @Test func `more than the advised 3 KiB is said, and not one byte less (section 9)`() throws {
    var activity = try Activity(type: "com.example.editing")
    func info(_ size: Int) throws -> Value {
      let value = try Value.dictionary([(.string("a"), .data([UInt8](repeating: 0, count: size)))])
      return try Value.dictionary([(.string("a"), .data([UInt8](repeating: 0, count: 2 * size - value.encoding.count)))]
      )
    }
    try activity.setUserInfo(info(3_072), limit: 10_000)
    #expect(activity.userInfo?.encoding.count == 3_072 && problems(activity).isEmpty)
    try activity.setUserInfo(info(3_073), limit: 10_000)
    #expect(problems(activity) == ["user_info: limitExceeded"])
  }
}
