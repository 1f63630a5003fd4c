#include "cluster/run_terms.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay {

std::string RunTerms::to_json() const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : terms) object[name] = value;
  return object.dump();
}

Status RunTerms::check_same(int rank, std::string_view json) const {
  const nlohmann::json object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object()) return {Code::kCorrupt, "rank 0 gave something else than what its run is of"};
  std::string differs;
  for (const auto& [name, value] : terms) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) continue;  // of another version, which does not tell
    if (*found != value)
      differs += fmt::format("{}{}={} ({} there)", differs.empty() ? "" : ", ", name, value, found->get<std::string>());
  }
  if (differs.empty()) return {};
  return {Code::kStateMismatch,
          fmt::format("rank {} has another run than rank 0: {}; give all ranks the same", rank, differs)};
}

}  // namespace forebay
