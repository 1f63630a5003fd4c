#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "forebay/result.h"

namespace forebay {

using Json = nlohmann::ordered_json;
class Catalog;
class Source;

/// One step of a description: a name and its arguments. What cannot be written as JSON (a Python function, an array in
/// memory) rides along as an attachment.
struct OpSpec {
  std::string name;
  Json args = Json::object();
  std::shared_ptr<void> attachment;
  /// How a state or a message names the attachment ("<function augment>"); part of the fingerprint.
  std::string attachment_name;
  /// Of a source that somebody has opened already: itself. No part of what the user said.
  std::shared_ptr<const Source> opened = nullptr;
};

/// "image" → {"image"}, ["a", "b"] → {"a", "b"}, nothing or null → {}.
std::vector<std::string> field_list(const Json& value);

/// What the user said: a source and the operators after it. Immutable; append() gives a new one. Touches no storage.
class Description {
 public:
  Description() = default;
  explicit Description(OpSpec source);

  Description append(OpSpec op) const;
  /// steps()[0] is the source.
  const std::vector<OpSpec>& steps() const { return *steps_; }

  /// One line per operator.
  std::string to_string() const;
  /// InvalidArgument, naming the step, when it holds something that JSON cannot.
  Result<std::string> to_json() const;
  static Result<Description> from_json(std::string_view text);
  /// Of all steps but batches and caches, as the catalog's roles tell.
  Hash128 fingerprint(const Catalog& catalog) const;

 private:
  std::shared_ptr<const std::vector<OpSpec>> steps_ = std::make_shared<std::vector<OpSpec>>();
};

}  // namespace forebay
