// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue
import SegueModel
import Testing

@testable import SegueABI

/// Values as a C program makes them and looks into them.
@Suite(.serialized) struct ValueTests {
  private let end = Int(bitPattern: UInt.max)  // SEGUE_NUL_TERMINATED

  private func withWriter(_ body: (OpaquePointer) -> Void) throws {
    var writer: OpaquePointer?
    #expect(segue_writer_create(&writer) == SEGUE_OK)
    body(try #require(writer))
    #expect(segue_release(writer) == SEGUE_OK)
  }

  private var lastMessage: String {
    var buffer = [CChar](repeating: 0, count: Int(SEGUE_MESSAGE_SIZE))
    _ = segue_last_error(&buffer, buffer.count)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private func withValue(_ cbor: [UInt8], _ body: (OpaquePointer) throws -> Void) throws {
    var value: OpaquePointer?
    #expect(segue_value_decode(cbor, cbor.count, &value) == SEGUE_OK, "\(lastMessage)")
    try body(try #require(value))
    #expect(segue_release(value) == SEGUE_OK)
  }

  /// {"": 8, "a/b": {"~": [false, 1.5]}, "tasks": [{"text": "milk", "due": 1(0)}, 37(...)], 1: 2}, and a set.
  private func withExample(_ body: (OpaquePointer) throws -> Void) throws {
    var value: OpaquePointer?
    try withWriter { writer in
      segue_writer_begin(writer, SEGUE_KIND_DICTIONARY)
      segue_writer_put_string(writer, "", end)
      segue_writer_put_int64(writer, 8)
      segue_writer_put_string(writer, "a/b", end)
      segue_writer_begin(writer, SEGUE_KIND_DICTIONARY)
      segue_writer_put_string(writer, "~", end)
      segue_writer_begin(writer, SEGUE_KIND_ARRAY)
      segue_writer_put_bool(writer, false)
      segue_writer_put_double(writer, 1.5)
      segue_writer_end(writer)
      segue_writer_end(writer)
      segue_writer_put_string(writer, "tasks", end)
      segue_writer_begin(writer, SEGUE_KIND_ARRAY)
      segue_writer_begin(writer, SEGUE_KIND_DICTIONARY)
      segue_writer_put_string(writer, "text", end)
      segue_writer_put_string(writer, "milk", end)
      segue_writer_put_string(writer, "due", end)
      segue_writer_put_date(writer, 0)
      segue_writer_end(writer)
      segue_writer_put_data(writer, [1, 2, 3], 3)
      segue_writer_end(writer)
      segue_writer_put_string(writer, "words", end)
      segue_writer_begin(writer, SEGUE_KIND_SET)
      segue_writer_put_string(writer, "two", end)
      segue_writer_put_string(writer, "one", end)
      segue_writer_end(writer)
      segue_writer_end(writer)
      #expect(segue_writer_finish(writer, &value) == SEGUE_OK, "\(lastMessage)")
    }
    try body(try #require(value))
    #expect(segue_release(value) == SEGUE_OK)
  }

  // MARK: Writers

  @Test func `the first error of a writer stays, and finish gives it`() throws {
    try withWriter { writer in
      var value: OpaquePointer?
      #expect(segue_writer_begin(writer, SEGUE_KIND_ARRAY) == SEGUE_OK)
      #expect(segue_writer_put_url(writer, "no url", end) == SEGUE_ERROR_INVALID_URL)
      let message = lastMessage
      #expect(segue_writer_put_bool(writer, true) == SEGUE_ERROR_INVALID_URL)
      #expect(segue_writer_put_string(writer, nil, end) == SEGUE_ERROR_INVALID_URL, "the first one")
      #expect(segue_writer_put_uuid(writer, nil) == SEGUE_ERROR_INVALID_URL)
      #expect(segue_writer_put_value(writer, nil) == SEGUE_ERROR_INVALID_URL)
      #expect(segue_writer_begin(writer, 99) == SEGUE_ERROR_INVALID_URL)
      #expect(segue_writer_end(writer) == SEGUE_ERROR_INVALID_URL)
      #expect(segue_writer_finish(writer, &value) == SEGUE_ERROR_INVALID_URL)
      #expect(lastMessage == message && value == nil)
    }
  }

  @Test func `a writer that was finished is empty, whatever came of it`() throws {
    try withWriter { writer in
      func finish() -> segue_status {
        var value: OpaquePointer?
        let status = segue_writer_finish(writer, &value)
        #expect(segue_release(value) == SEGUE_OK)
        return status
      }
      for key in ["a", "a"] {
        segue_writer_begin(writer, SEGUE_KIND_DICTIONARY)
        segue_writer_put_string(writer, key, end)
        segue_writer_put_null(writer)
      }
      #expect(finish() == SEGUE_ERROR_INVALID_STATE, "a container is open")
      #expect(finish() == SEGUE_ERROR_INVALID_STATE, "the writer holds no value")
      segue_writer_begin(writer, SEGUE_KIND_SET)
      segue_writer_put_null(writer)
      segue_writer_put_null(writer)
      segue_writer_end(writer)
      #expect(finish() == SEGUE_ERROR_INVALID_ARGUMENT, "twice the same")
      segue_writer_put_null(writer)
      #expect(segue_writer_finish(writer, nil) == SEGUE_ERROR_INVALID_ARGUMENT)
      segue_writer_put_bool(writer, true)
      #expect(finish() == SEGUE_OK)
    }
  }

  @Test func `without a writer nothing is written, and finish says so`() {
    segue_writer_begin(nil, SEGUE_KIND_ARRAY)
    var value: OpaquePointer?
    #expect(segue_writer_finish(nil, &value) == SEGUE_ERROR_INVALID_HANDLE)
    #expect(value == nil)
  }

  // MARK: Looking into values

  @Test func `each kind is found by its path`() throws {
    try withExample { value in
      var text: UnsafeMutablePointer<CChar>?
      var bytes: UnsafeMutablePointer<UInt8>?
      var length = 0
      var number: Int64 = 0
      var real = 0.0
      var bool = true
      #expect(segue_value_find_string(value, "tasks/0/text", end, &text, &length) == SEGUE_OK)
      #expect(text.map { String(cString: $0) } == "milk" && length == 4)
      segue_free(text)
      #expect(segue_value_find_date(value, "tasks/0/due", end, &real) == SEGUE_OK && real == 0)
      #expect(segue_value_find_data(value, "tasks/1", end, &bytes, &length) == SEGUE_OK && length == 3)
      segue_free(bytes)
      #expect(segue_value_find_bool(value, "a~1b/~0/0", end, &bool) == SEGUE_OK && !bool)
      #expect(segue_value_find_double(value, "a~1b/~0/1", end, &real) == SEGUE_OK && real == 1.5)
      var part: OpaquePointer?
      #expect(segue_value_find_value(value, "tasks", end, &part) == SEGUE_OK)
      #expect(segue_value_find_string(part, "0/text", 6, nil, nil) == SEGUE_OK)
      #expect(segue_release(part) == SEGUE_OK)
      #expect(segue_value_find_value(value, "", 0, &part) == SEGUE_OK)
      var isSame = false
      #expect(segue_value_is_equal(value, part, &isSame) == SEGUE_OK && isSame)
      #expect(segue_release(part) == SEGUE_OK)
      // A key of no bytes has a path below something, and by itself it is found by key.
      #expect(segue_dictionary_get_int64(value, "", 0, &number) == SEGUE_OK && number == 8)
    }
    try withValue([0x18, 0x2a]) { value in
      var number: Int64 = 0
      #expect(segue_value_find_int64(value, "", 0, &number) == SEGUE_OK && number == 42)
    }
    // The bytes of a UUID are data of 16.
    try withValue([0xd8, 0x25, 0x50] + [UInt8](1...16)) { value in
      var bytes: UnsafeMutablePointer<UInt8>?
      var length = 0
      #expect(segue_value_find_data(value, "", 0, &bytes, &length) == SEGUE_OK)
      #expect(Array(UnsafeBufferPointer(start: bytes, count: length)) == [UInt8](1...16))
      segue_free(bytes)
      #expect(segue_value_find_string(value, "", 0, nil, nil) == SEGUE_ERROR_WRONG_KIND)
    }
    // {"a": {"": 7}}
    try withValue([0xa1, 0x61, 0x61, 0xa1, 0x60, 0x07]) { value in
      var number: Int64 = 0
      #expect(segue_value_find_int64(value, "a/", end, &number) == SEGUE_OK && number == 7)
    }
  }

  @Test func `what is not there is named, and what is no path is refused`() throws {
    try withExample { value in
      func status(_ path: String) -> segue_status { segue_value_find_value(value, path, end, nil) }
      let nowhere = [
        "nothing", "tasks/2", "tasks/00", "tasks/-1", "tasks/x", "tasks/", "tasks/99999999999999999999", "1",
      ]
      for path in nowhere {
        #expect(status(path) == SEGUE_ERROR_NOT_FOUND, "\(path)")
      }
      #expect(status("tasks/0/more/deep") == SEGUE_ERROR_NOT_FOUND)
      #expect(lastMessage.contains("tasks/0/more") && !lastMessage.contains("deep"))
      #expect(status("tasks/0/text/0") == SEGUE_ERROR_WRONG_KIND)
      #expect(lastMessage.contains("tasks/0/text"))
      for path in ["a~2b", "a~", "~"] { #expect(status(path) == SEGUE_ERROR_INVALID_ARGUMENT, "\(path)") }
      #expect(segue_value_find_value(value, [-1], 1, nil) == SEGUE_ERROR_INVALID_ARGUMENT)
      #expect(segue_value_find_value(value, nil, 0, nil) == SEGUE_ERROR_INVALID_ARGUMENT)
      #expect(segue_value_find_bool(value, "tasks", end, nil) == SEGUE_ERROR_WRONG_KIND)
    }
    try withValue([0x01]) { value in
      #expect(segue_value_find_value(value, "0", end, nil) == SEGUE_ERROR_WRONG_KIND)
      #expect(lastMessage.contains("the value itself"))
    }
  }

  @Test func `elements are found by their index`() throws {
    // [true, -1, 1.5, "x", h'07', 1(0), [9]]
    let cbor: [UInt8] = [0x87, 0xf5, 0x20, 0xf9, 0x3e, 0x00, 0x61, 0x78, 0x41, 0x07, 0xc1, 0x00, 0x81, 0x09]
    try withValue(cbor) { array in
      var bool = false
      var number: Int64 = 0
      var real = 0.0
      var text: UnsafeMutablePointer<CChar>?
      var bytes: UnsafeMutablePointer<UInt8>?
      var length = 0
      var part: OpaquePointer?
      #expect(segue_value_find_bool(array, "0", end, &bool) == SEGUE_OK && bool)
      #expect(segue_value_find_int64(array, "1", end, &number) == SEGUE_OK && number == -1)
      #expect(segue_value_find_double(array, "1", end, &real) == SEGUE_OK && real == -1)
      #expect(segue_value_find_double(array, "2", end, &real) == SEGUE_OK && real == 1.5)
      #expect(segue_value_find_string(array, "3", end, &text, &length) == SEGUE_OK)
      #expect(text.map { String(cString: $0) } == "x" && length == 1)
      segue_free(text)
      #expect(segue_value_find_data(array, "4", end, &bytes, &length) == SEGUE_OK && bytes?.pointee == 7)
      segue_free(bytes)
      #expect(segue_value_find_date(array, "5", end, &real) == SEGUE_OK && real == 0)
      #expect(segue_array_get_value(array, 1, &part) == SEGUE_OK)
      #expect(segue_value_find_int64(part, "", 0, &number) == SEGUE_OK && number == -1)
      #expect(segue_release(part) == SEGUE_OK)
      #expect(segue_array_get_value(array, 6, &part) == SEGUE_OK)
      #expect(segue_value_find_int64(part, "0", end, &number) == SEGUE_OK && number == 9)
      #expect(segue_release(part) == SEGUE_OK)
      for index in [7, -1, Int.max] {
        #expect(segue_array_get_value(array, index, &part) == SEGUE_ERROR_NOT_FOUND, "\(index)")
      }
      #expect(segue_array_get_value(array, 0, nil) == SEGUE_OK)
      #expect(segue_value_find_int64(array, "0", end, &number) == SEGUE_ERROR_WRONG_KIND)
    }
    try withExample { value in
      #expect(segue_array_get_value(value, 0, nil) == SEGUE_ERROR_WRONG_KIND)
      var words: OpaquePointer?
      #expect(segue_value_find_value(value, "words", end, &words) == SEGUE_OK)
      var word: OpaquePointer?
      #expect(segue_array_get_value(words, 1, &word) == SEGUE_OK)
      var text: UnsafeMutablePointer<CChar>?
      #expect(segue_value_find_string(word, "", 0, &text, nil) == SEGUE_OK)
      #expect(text.map { String(cString: $0) } == "two", "in the order of the encoding")
      segue_free(text)
      #expect(segue_release(word) == SEGUE_OK)
      #expect(segue_release(words) == SEGUE_OK)
    }
  }
}
