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

/// What a source is to those who compose a plan.
enum class SourceKind : uint8_t {
  kSamples,   ///< its samples are read one by one
  kTable,     ///< its samples come many at a time: a ChunkSource
  kUserCode,  ///< the user's own object gives them
};

/// A source: its one name in all faces, its arguments, and how it is judged and opened.
struct SourceDef {
  std::string name;
  std::string help;
  std::vector<ArgDef> args;
  SourceKind kind = SourceKind::kSamples;
  /// It has no end, whatever its arguments are: open() gives a StreamSource.
  bool unbounded = false;
  /// What it gives, without touching storage. Open-ended where that cannot be said.
  std::function<Schema(const OpSpec&)> announced;
  /// What is wrong with its arguments beyond their names and types; adds problems (leaving op empty: the caller fills it in).
  std::function<void(const OpSpec&, std::vector<Problem>&)> check = {};
  std::function<Result<std::shared_ptr<const Source>>(const OpSpec&, const OpenSourceOptions&)> open;
  /// Names of the classes in label order; empty where samples have none.
  std::function<Result<std::vector<std::string>>(const OpSpec&, const OpenSourceOptions&)> classes = {};
};

/// All of them.
std::span<const SourceDef> sources();
/// Null where there is none of that name.
const SourceDef* find_source(std::string_view name);
bool is_source(const OpSpec& step, SourceKind kind);

}  // namespace forebay
