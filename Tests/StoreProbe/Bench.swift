// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSQLite
import SegueAgentCore
import SegueModel
import SegueStore

/// Measures in a folder that does not exist yet.
/// - Parameter entries: how many entries are put into the inbox.
/// - Parameter saved: how many activities are saved before they are searched.
func bench(_ folder: String, _ entries: Int, _ saved: Int) throws(SegueError) {
  let state = try StateFolder.open(folder, on: machine)
  try benchInbox(state, folder, entries)
  try benchSearch(state, saved)
}

private func microseconds(_ clock: clockid_t = CLOCK_MONOTONIC) -> Double {
  var time = timespec()
  clock_gettime(clock, &time)
  return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

private func percentile(_ times: [Double], _ share: Double) -> Double {
  let sorted = times.sorted()
  return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

private func report(_ name: String, _ value: Double) { say("\(name) \(Int(value * 1000))e-3") }

/// An entry into the inbox and a bare insert of the same bytes, in turns, both with an fsync.
private func benchInbox(_ state: StateFolder, _ folder: String, _ count: Int) throws(SegueError) {
  let inbox = try Inbox.open(in: state)
  var bare: OpaquePointer?
  var insert: OpaquePointer?
  let schema = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (id BLOB PRIMARY KEY, document BLOB)"
  guard sqlite3_open("\(folder)/bare.db", &bare) == SQLITE_OK,
    sqlite3_exec(bare, schema, nil, nil, nil) == SQLITE_OK,
    sqlite3_prepare_v2(bare, "INSERT INTO t VALUES (?1, ?2)", -1, &insert, nil) == SQLITE_OK, let insert
  else { throw SegueError(.system, "bare SQLite: cannot be opened") }
  let document = Sample.bytes(1, 2048)
  var (ours, theirs): ([Double], [Double]) = ([], [])
  for index in 0..<count {
    let id = Identifier(high: UInt64(index) &* 0x9e37_79b9_7f4a_7c15, low: UInt64(index))
    // Several apps: one has a quarter of the inbox.
    let entry = IncomingEntry(
      continuation: id, app: Sample.app(index % 4), offer: Sample.offer(index, expires: nil), isStale: false,
      document: document)
    let start = microseconds()
    _ = try inbox.put(entry, at: 1_800_000_000)
    let middle = microseconds()
    let bytes = id.bytes
    bytes.withUnsafeBytes { _ = sqlite_bind_blob(insert, 1, $0.baseAddress, UInt64($0.count)) }
    document.withUnsafeBytes { _ = sqlite_bind_blob(insert, 2, $0.baseAddress, UInt64($0.count)) }
    guard sqlite3_step(insert) == SQLITE_DONE else { throw SegueError(.system, "bare SQLite: cannot insert") }
    sqlite3_reset(insert)
    ours.append(middle - start)
    theirs.append(microseconds() - middle)
  }
  sqlite3_finalize(insert)
  sqlite3_close(bare)
  report("inbox_p50_us", percentile(ours, 0.5))
  report("inbox_p99_us", percentile(ours, 0.99))
  report("bare_p50_us", percentile(theirs, 0.5))
}

/// Titles and keywords as people have them: words by Zipf's law, one in half of the titles, and Chinese characters in a
/// third of them.
private func benchSearch(_ state: StateFolder, _ count: Int) throws(SegueError) {
  let saved = try SavedActivities.open(in: state)
  var random = Workload(seed: 7)
  func word() -> String {
    // 1/x by halving the range again and again.
    var range = 4096
    while range > 2, random.below(8) != 0 { range /= 2 }
    var letters = Workload(seed: UInt64(random.below(range) + range))
    return String(decoding: (0..<4 + letters.below(6)).map { _ in UInt8(97 + letters.below(26)) }, as: UTF8.self)
  }
  func character() -> Unicode.Scalar { Unicode.Scalar(UInt32(0x4e00 + random.below(1 << (4 + random.below(8)))))! }
  for index in 0..<count {
    var title = index % 2 == 0 ? "everywhere \(word()) \(word())" : "\(word()) \(word())"
    if index % 3 == 0 { for _ in 0..<8 { title.unicodeScalars.append(character()) } }
    try saved.save(
      SavedActivity(
        app: Sample.app(index % 20), team: "T", activity: Identifier(high: 1, low: UInt64(index)),
        persistentIdentifier: "document \(index)", type: Sample.type(0), title: title, keywords: [word(), word()],
        document: Sample.bytes(index, 200)),
      at: 1_800_000_000)
  }
  for (name, query) in [
    ("two_words", { "\(word()) \(word())" }), ("one_character", { String(Character(character())) }),
    ("half", { "everywhere" }), ("prefix", { "\(word().prefix(3))*" }),
  ] {
    var times: [Double] = []
    var found = 0
    for _ in 0..<500 {
      let query = query()
      // The time of the processor: all of the database is in memory by now.
      let start = microseconds(CLOCK_THREAD_CPUTIME_ID)
      found += try saved.search(query, at: 1_800_000_001).count
      times.append(microseconds(CLOCK_THREAD_CPUTIME_ID) - start)
    }
    report("\(name)_p50_ms", percentile(times, 0.5) / 1000)
    report("\(name)_p99_ms", percentile(times, 0.99) / 1000)
    report("\(name)_found", Double(found) / 500)
  }
}
