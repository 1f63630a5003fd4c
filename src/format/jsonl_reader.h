#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Gets the members of the JSON objects of a JSONL text, in their order. The line is counted from 1.
class JsonlSink {
 public:
  virtual ~JsonlSink() = default;
  virtual Status value(std::string_view name, bool value, uint64_t line) = 0;
  virtual Status value(std::string_view name, int64_t value, uint64_t line) = 0;
  /// 2^63 or more.
  virtual Status value(std::string_view name, uint64_t value, uint64_t line) = 0;
  virtual Status value(std::string_view name, double value, uint64_t line) = 0;
  virtual Status value(std::string_view name, std::string_view text, uint64_t line) = 0;
  virtual Status end_of_object(uint64_t line) = 0;
};

/// Reads JSONL that comes in pieces: one flat object a line, empty lines passed over, lines capped in bytes. Lists,
/// objects and null inside an object are errors that name the line, and so are whole numbers that 64 bits do not hold; no tree
/// is ever built.
/// One thread. Corrupt, with the line, for what is no JSON; what the sink says ends the reading.
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
