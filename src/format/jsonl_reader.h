#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Receives the members of each JSON object of a JSONL text, in order. Lines are counted from 1.
class JsonlSink {
 public:
  virtual ~JsonlSink() = default;
  virtual Status value(std::string_view name, bool value, uint64_t line) = 0;
  virtual Status value(std::string_view name, int64_t value, uint64_t line) = 0;
  /// Called only for values of 2^63 or more.
  virtual Status value(std::string_view name, uint64_t value, uint64_t line) = 0;
  virtual Status value(std::string_view name, double value, uint64_t line) = 0;
  virtual Status value(std::string_view name, std::string_view text, uint64_t line) = 0;
  /// A list or an object: its JSON without blanks.
  virtual Status tree(std::string_view name, std::string_view json, uint64_t line) = 0;
  virtual Status end_of_object(uint64_t line) = 0;
};

/// Parses JSONL that arrives in pieces: one object per line. Empty lines are skipped, and lines are
/// limited in bytes. No tree is built. A member that is null is an error that names the line, as are
/// integers that do not fit 64 bits. Invalid JSON is Corrupt, naming the line. An error from the sink
/// ends the reading. One thread.
class JsonlReader {
 public:
  static constexpr size_t kMaxLineBytes = 16 << 20;

  explicit JsonlReader(JsonlSink& sink) : sink_(sink) {}
  Status feed(std::string_view piece);
  Status finish();

 private:
  Status end_line();

  JsonlSink& sink_;
  std::string line_;
  uint64_t line_number_ = 1;
};

}  // namespace forebay
