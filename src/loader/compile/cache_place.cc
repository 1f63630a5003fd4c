#include "loader/compile/cache_place.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "codec/versions.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "loader/versions/build.h"
#include "pipeline/catalog.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

/// Incremented when an operator gives other bytes than before within one version of the library.
constexpr uint64_t kResults = 2;

std::span<const ArgDef> args_of(const OpSpec& op, bool source) {
  if (source) {
    const SourceDef* const def = find_source(op.name);
    return def == nullptr ? std::span<const ArgDef>() : def->args;
  }
  const OpDef* const def = catalog().find(op.name);
  return def == nullptr ? std::span<const ArgDef>() : def->args;
}

/// Arguments of a source without its place: each entry's own identity covers the key and the
/// version of its object.
Json content_args(const OpSpec& op, bool source) {
  Json args = op.args;
  for (const ArgDef& arg : args_of(op, source)) {
    if (arg.use == ArgUse::kPlace) args.erase(arg.name);
  }
  Json given = Json::object();
  for (const auto& [name, value] : args.items()) {
    // Arguments that are not given are left out, so that a later version can add an argument
    // without changing the identity of pipelines that do not use it.
    if (!value.is_null()) given[name] = value;
  }
  return given;
}

bool has_version(const OpSpec& op) {
  const OpDef* const def = catalog().find(op.name);
  return def != nullptr && def->given(op, ArgUse::kVersion).is_string();
}

bool makes_content(const OpSpec& op) {
  const OpDef* const def = catalog().find(op.name);
  return def == nullptr || def->effect == OpEffect::kContent;
}

/// People must not see passwords and signatures in messages.
Json shown(const Json& value) {
  if (value.is_string()) return url_for_messages(value.get<std::string>());
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (const Json& one : value) list.push_back(shown(one));
  return list;
}

}  // namespace

std::string identity_text(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Replacing and ignoring invalid UTF-8 give the same text only if there is none.
  if (text == value.dump(-1, ' ', false, Json::error_handler_t::ignore)) return text;
  const std::vector<uint8_t> bytes = Json::to_cbor(value);  // has the replaced bytes unchanged
  return text.append(bytes.begin(), bytes.end());
}

Hash128 prefix_identity(const Description& description, size_t step) {
  const std::vector<OpSpec>& steps = description.steps();
  Hasher hasher;
  hasher.update(fmt::format("forebay {} results {} {}\n", build().version, kResults, codec_versions()));
  for (size_t i = 0; i < step && i < steps.size(); ++i) {
    const OpSpec& op = steps[i];
    // Orders, batches and the like do not change samples: pipelines that differ in these share
    // entries.
    if (i > 0 && !makes_content(op)) continue;
    // A source that the user wrote has its own identity for each sample
    // (DatasetSource::identity()).
    const bool function = i > 0 && (op.attachment || !op.attachment_name.empty());
    const std::string name = i > 0 ? op.attachment_name : "";
    if (const OpDef* const def = catalog().find(op.name); def != nullptr && def->versions)
      hasher.update(def->versions());
    hasher.update(fmt::format("{}({}){}\n", op.shown_name(), identity_text(content_args(op, i == 0)), name));
    // Two functions may share a name. The address is unique, because whatever holds the results
    // also holds the description.
    if (function && !has_version(op)) hasher.update_value(reinterpret_cast<uintptr_t>(steps.data()));
  }
  return hasher.digest();
}

Hash128 prefix_identity_in_part(const Description& description, size_t step) {
  const std::vector<OpSpec>& steps = description.steps();
  const auto is_cache = [](const OpSpec& op) { return catalog().has_effect(op, OpEffect::kCaching); };
  int64_t caches = 0;  // of the part, up to the step
  for (size_t i = 1; i <= step; ++i) caches += steps[i].part == steps[step].part && is_cache(steps[i]) ? 1 : 0;
  const auto part = std::ranges::find(steps.front().parts, steps[step].part, &PipelinePart::name);
  const std::vector<OpSpec>& own = part->pipeline.steps();
  size_t end = 0;
  while (caches > 0) caches -= is_cache(own[++end]) ? 1 : 0;
  return prefix_identity(part->pipeline, end);
}

std::string prefix_description(const Description& description, size_t step) {
  Description prefix;
  const std::vector<OpSpec>& steps = description.steps();
  for (size_t i = 0; i < step && i < steps.size(); ++i) {
    OpSpec op = steps[i];
    op.attachment = nullptr;
    for (auto& [name, value] : op.args.items()) value = shown(value);
    const bool left_out = catalog().has_effect(op, OpEffect::kCaching) || catalog().has_effect(op, OpEffect::kOrder) ||
                          catalog().has_effect(op, OpEffect::kDrawing) ||
                          catalog().has_effect(op, OpEffect::kRepeating);
    if (left_out) continue;
    prefix = prefix.append(std::move(op));
  }
  return prefix.to_string();
}

}  // namespace forebay
