#include "loader/compile/cache_place.h"

#include <span>

#include <fmt/format.h>

#include "codec/versions.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

/// Raised when an operator gives other bytes than before within one version of the library.
constexpr uint64_t kResults = 2;

std::span<const ArgDef> args_of(const OpSpec& op, bool source) {
  if (source) {
    const SourceDef* const def = find_source(op.name);
    return def == nullptr ? std::span<const ArgDef>() : def->args;
  }
  const OpDef* const def = catalog().find(op.name);
  return def == nullptr ? std::span<const ArgDef>() : def->args;
}

/// Of a source without where it lies: the key and version of each object is part of its entry's own identity.
Json content_args(const OpSpec& op, bool source) {
  Json args = op.args;
  for (const ArgDef& arg : args_of(op, source)) {
    if (arg.use == ArgUse::kPlace) args.erase(arg.name);
  }
  Json given = Json::object();
  for (const auto& [name, value] : args.items()) {
    // What was not given is left out, so that an argument that a later version adds changes no identity until it is used.
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
  return def == nullptr || effect_of(def->role) == OpEffect::kContent;
}

/// Passwords and signatures are no part of what people need to know.
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
  // Both ways of passing over what is no UTF-8 give one text only where there is none.
  if (text == value.dump(-1, ' ', false, Json::error_handler_t::ignore)) return text;
  const std::vector<uint8_t> bytes = Json::to_cbor(value);  // what was replaced, as it is
  return text.append(bytes.begin(), bytes.end());
}

Hash128 place_identity(const Description& description, size_t step) {
  const std::vector<OpSpec>& steps = description.steps();
  Hasher hasher;
  hasher.update(fmt::format("forebay {} results {} {}\n", FOREBAY_VERSION, kResults, codec_versions()));
  for (size_t i = 0; i < step && i < steps.size(); ++i) {
    const OpSpec& op = steps[i];
    // Orders, batches and the like leave samples as they are: pipelines that differ in these share entries.
    if (i > 0 && !makes_content(op)) continue;
    // A source of the user's has an identity of its own for each sample (DatasetSource::identity()).
    const bool function = i > 0 && (op.attachment || !op.attachment_name.empty());
    const std::string name = i > 0 ? op.attachment_name : "";
    if (const OpDef* const def = catalog().find(op.name); def != nullptr && def->versions)
      hasher.update(def->versions());
    hasher.update(fmt::format("{}({}){}\n", op.name, identity_text(content_args(op, i == 0)), name));
    // Functions of one name may differ. Whoever keeps the results also keeps the description, so nobody else gets its address.
    if (function && !has_version(op)) hasher.update_value(reinterpret_cast<uintptr_t>(steps.data()));
  }
  return hasher.digest();
}

std::string place_description(const Description& description, size_t step) {
  Description prefix;
  const std::vector<OpSpec>& steps = description.steps();
  for (size_t i = 0; i < step && i < steps.size(); ++i) {
    OpSpec op = steps[i];
    op.attachment = nullptr;
    for (auto& [name, value] : op.args.items()) value = shown(value);
    if (catalog().has_role(op, OpRole::kKeep) || catalog().has_role(op, OpRole::kOrder)) continue;
    prefix = prefix.append(std::move(op));
  }
  return prefix.to_string();
}

}  // namespace forebay
