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

/// Most levels of parts within parts.
constexpr size_t kDeepestParts = 16;

/// "image" → {"image"}, ["a", "b"] → {"a", "b"}, nothing or null → {}.
std::vector<std::string> field_list(const Json& value);

/// A pipeline as the user wrote it: a source and the operators after it. Immutable; append()
/// returns a new one. It touches no storage.
///
/// The parts of a source (OpSpec::parts) are pipelines, too, so that a description is a tree. Its
/// steps are numbered depth first: those of the first part, those of the next ones, the source that
/// has the parts, the steps after it. Without parts, a step's number is its index in steps().
class Description {
 public:
  Description();
  explicit Description(OpSpec source);

  static Description of(std::vector<OpSpec> steps);

  Description append(OpSpec op) const;
  /// steps()[0] is the source.
  const std::vector<OpSpec>& steps() const { return *steps_; }
  /// Number of steps, including those of all parts.
  size_t step_count() const;
  /// Levels of parts within parts; 0 without parts.
  size_t depth() const;

  /// One line per operator. Parts are indented below their names.
  std::string to_string() const;
  /// InvalidArgument, naming the step, if a step has an attachment.
  Result<std::string> to_json() const;
  static Result<Description> from_json(std::string_view text);
  /// Hash of all steps that decide which samples come in which order, with the names of parts.
  /// Batches, caches and buffers are left out.
  Hash128 fingerprint(const Catalog& catalog) const;

 private:
  std::shared_ptr<const std::vector<OpSpec>> steps_;
};

}  // namespace forebay
