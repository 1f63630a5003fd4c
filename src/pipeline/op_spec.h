#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "pipeline/json_fwd.h"

namespace forebay {

class Source;

/// One step of a description: a name and its arguments. An argument that JSON cannot hold (a Python
/// function, an array in memory) is an attachment.
struct OpSpec {
  std::string name;
  Json args = Json::object();
  std::shared_ptr<void> attachment;
  /// Name of the attachment in states and messages ("<function augment>"). Part of the fingerprint.
  std::string attachment_name;
  /// The source, if it is open already. Not part of the description.
  std::shared_ptr<const Source> opened = nullptr;
};

}  // namespace forebay
