#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "loader/describe/open_source.h"
#include "pipeline/operator.h"

namespace forebay {

/// How the samples of a source are read.
enum class SourceKind : uint8_t {
  kSamples,   ///< one by one
  kTable,     ///< many at a time: it is a ChunkSource
  kUserCode,  ///< by calling an object of the user
  kParts,     ///< by branches: it is made of other pipelines, and a PartedSource
};

/// Definition of a source: its name in all languages, its arguments, and how to check and open it.
struct SourceDef {
  std::string name;
  std::string help;
  std::vector<ArgDef> args;
  SourceKind kind = SourceKind::kSamples;
  /// For the kind kParts: tells whether it mixes its parts. If not, they follow each other.
  bool mixes_parts = false;
  /// Whether it has no end, whatever its arguments: open() then returns a StreamSource.
  bool unbounded = false;
  /// Returns its schema without touching storage; open-ended if the schema depends on storage.
  std::function<Schema(const OpSpec&)> announced;
  /// Adds problems with the arguments, beyond names and types. The caller fills in Problem::op.
  std::function<void(const OpSpec&, std::vector<Problem>&)> check = {};
  std::function<Result<std::shared_ptr<const Source>>(const OpSpec&, const OpenSourceOptions&)> open;
  /// Returns the class names in label order; empty if samples have no classes.
  std::function<Result<std::vector<std::string>>(const OpSpec&, const OpenSourceOptions&)> classes = {};
  /// For the kind kParts: its parts lie side by side, and its source is not a PartedSource.
  bool joins_parts = false;
};

/// Returns all sources in the order of the documentation.
std::span<const SourceDef> sources();
/// Returns null if there is no source of that name.
const SourceDef* find_source(std::string_view name);
bool is_source(const OpSpec& step, SourceKind kind);

}  // namespace forebay
