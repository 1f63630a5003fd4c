#include "loader/cache_place.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "codec/versions.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

/// Raised when an operator gives other bytes than before within one version of the library.
constexpr uint64_t kResults = 2;
/// These decide which samples there are and in which order, not what is in them.
constexpr std::array<std::string_view, 5> kNotContent = {"shuffle", "take", "filter", "batch", "cache"};
/// The same of a source: the key and version of each object is part of its entry's own identity.
constexpr std::array<std::string_view, 4> kWhere = {"root", "pattern_or_list", "pattern", "url"};

bool among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json content_args(const OpSpec& op, bool source) {
  Json args = Json::object();
  for (const auto& [name, value] : op.args.items()) {
    if (!value.is_null() && !(source && among(kWhere, name))) args[name] = value;
  }
  return args;
}

bool has_version(const OpSpec& op) {
  const auto found = op.args.find("version");
  return found != op.args.end() && found->is_string();
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

Hash128 place_identity(const Description& description, size_t step) {
  const std::vector<OpSpec>& steps = description.steps();
  Hasher hasher;
  hasher.update(fmt::format("forebay {} results {} {}\n", FOREBAY_VERSION, kResults, codec_versions()));
  for (size_t i = 0; i < step && i < steps.size(); ++i) {
    const OpSpec& op = steps[i];
    if (among(kNotContent, op.name)) continue;
    const bool function = i > 0 && (op.attachment || !op.attachment_name.empty());
    const std::string name = i > 0 ? op.attachment_name : "";
    hasher.update(fmt::format("{}({}){}\n", op.name, dumped(content_args(op, i == 0)), name));
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
    if (op.name == "cache" || op.name == "shuffle") continue;
    prefix = prefix.append(std::move(op));
  }
  return prefix.to_string();
}

}  // namespace forebay
