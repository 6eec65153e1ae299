// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueManifests
import SegueModel

/// Nanoseconds of a processor that this process has used, in the kernel too: other processes do not count.
private func now() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

private func say(_ name: String, _ thousandths: Int64) {
  let fraction = String(1_000 + thousandths % 1_000).utf8.dropFirst()
  say(name + " " + String(thousandths / 1_000) + "." + String(decoding: Array(fraction), as: UTF8.self))
}

private func host(_ index: Int) -> String { "site" + String(index) + ".example" }

/// A router over `count` apps: four of them declare each type, as apps of a family do, and the user has used some. Each
/// claims a host, which lists it.
private func router(_ count: Int) -> Router {
  var apps: [(path: String, result: Result<AppDeclaration, SegueError>)] = []
  for index in 0..<count {
    let path = "/usr/share/segue/apps/org.example.app" + String(index) + ".plist"
    let app = AppDeclaration(
      path: path, bundleIdentifier: "org.example.app" + String(index), team: "TEAM" + String(index / 4),
      types: ["open", "edit", "browse"].map { "org.example.family" + String(index / 4) + "." + $0 },
      domains: [try? AssociatedDomain.read("activitycontinuation:" + host(index))].compactMap { $0 ?? nil },
      launch: .command(LaunchCommand(arguments: ["/usr/bin/app" + String(index)])))
    apps.append((path: path, result: .success(app)))
  }
  // Twenty apps run.
  let running = (0..<20).map { index in
    let number = index * (count / 20)
    return AppIdentity(
      secret: Identifier(high: 0, low: UInt64(index)), bundleIdentifier: "org.example.app" + String(number),
      name: "App", team: "TEAM" + String(number / 4), types: ["org.example.family" + String(number / 4) + ".edit"],
      isChooser: false)
  }
  let sites = SiteStatuses(
    (0..<count).map { index in
      let app = "TEAM" + String(index / 4) + ".org.example.app" + String(index)
      return (host: host(index), status: SiteStatus(answer: .apps([app])))
    })
  var router = Router(catalogue: Catalogue(apps), running: RunningApps(running), sites: sites)
  for index in stride(from: 0, to: count, by: 3) { router.preferences.markUsed("org.example.app" + String(index)) }
  for index in stride(from: 0, to: count, by: 8) {
    router.preferences.choose(
      "org.example.app" + String(index), for: "org.example.family" + String(index / 4) + ".edit")
  }
  return router
}

/// The median time of a choice, in nanoseconds, of 250 types that are spread over all apps; or of 250 pages.
private func routeTime(_ count: Int, ofPages: Bool = false) -> Int64 {
  let router = router(count)
  let queries = (0..<1_000).map { index in
    let number = index * 7_919 % 250 * (count / 1_000)
    let family = String(number)
    return RoutingQuery(
      type: ofPages ? Activity.browsingWeb : "org.example.family" + family + ".edit", team: "TEAM" + family,
      bundleIdentifier: "org.example.elsewhere",
      webOrigin: ofPages ? WebOrigin.of("https://" + host(4 * number) + "/") : nil)
  }
  var times: [Int64] = []
  var found = 0
  for _ in 0..<21 {
    let began = now()
    for query in queries where router.route(query).chosen != nil { found += 1 }
    times.append((now() - began) / Int64(queries.count))
  }
  guard found == 21 * queries.count else {
    say("a choice found no app")
    exit(1)
  }
  return times.sorted()[times.count / 2]
}

func bench(_ readings: Int) {
  var times: [Int64] = []
  var apps = 0
  for _ in 0..<max(1, readings) {
    let began = now()
    apps = ManifestReader(.fromEnvironment()).read().apps.count
    times.append(now() - began)
  }
  say("apps", Int64(apps) * 1_000)
  say("read_ms", times.sorted()[times.count / 2] / 1_000)
  let (few, many) = (routeTime(1_000), routeTime(10_000))
  say("route_1000_ns", few * 1_000)
  say("route_10000_ns", many * 1_000)
  say("route_page_ns", routeTime(1_000, ofPages: true) * 1_000)
}
