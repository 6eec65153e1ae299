// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

extension Status {
  /// The name in segue.h, without the prefix.
  var name: StaticString {
    switch self {
    case .ok: "OK"
    case .invalidArgument: "INVALID_ARGUMENT"
    case .invalidHandle: "INVALID_HANDLE"
    case .invalidURL: "INVALID_URL"
    case .invalidState: "INVALID_STATE"
    case .invalidated: "INVALIDATED"
    case .unsupportedValue: "UNSUPPORTED_VALUE"
    case .malformed: "MALFORMED"
    case .notFound: "NOT_FOUND"
    case .wrongKind: "WRONG_KIND"
    case .limitExceeded: "LIMIT_EXCEEDED"
    case .busy: "BUSY"
    case .forked: "FORKED"
    case .system: "SYSTEM"
    case .unsafeFolder: "UNSAFE_FOLDER"
    case .cancelled: "CANCELLED"
    case .declined: "DECLINED"
    case .unsupportedVersion: "UNSUPPORTED_VERSION"
    case .notThereYet: "NOT_THERE_YET"
    case .notAllowed: "NOT_ALLOWED"
    case .handoffFailed: "HANDOFF_FAILED"
    case .connectionUnavailable: "CONNECTION_UNAVAILABLE"
    case .remoteApplicationTimedOut: "REMOTE_APPLICATION_TIMED_OUT"
    case .userInfoTooLarge: "USER_INFO_TOO_LARGE"
    case .userCancelled: "USER_CANCELLED"
    }
  }
}
