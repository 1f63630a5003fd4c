#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "forebay/result.h"
#include "pipeline/json_fwd.h"

namespace forebay {

class Catalog;
struct OpSpec;

/// "image" → {"image"}, ["a", "b"] → {"a", "b"}, nothing or null → {}.
std::vector<std::string> field_list(const Json& value);

/// A pipeline as the user wrote it: a source and the operators after it. Immutable; append()
/// returns a new one. It touches no storage.
class Description {
 public:
  Description();
  explicit Description(OpSpec source);

  Description append(OpSpec op) const;
  /// steps()[0] is the source.
  const std::vector<OpSpec>& steps() const { return *steps_; }

  /// One line per operator.
  std::string to_string() const;
  /// InvalidArgument, naming the step, if a step has an attachment.
  Result<std::string> to_json() const;
  static Result<Description> from_json(std::string_view text);
  /// Hash of all steps that decide which samples come in which order. Batches, caches and buffers
  /// are left out.
  Hash128 fingerprint(const Catalog& catalog) const;

 private:
  std::shared_ptr<const std::vector<OpSpec>> steps_;
};

}  // namespace forebay
