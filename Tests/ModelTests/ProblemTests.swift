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
