#include "base/data_warnings.h"

#include <fmt/format.h>

namespace forebay {

void DataWarnings::add(const OmissionReason& kind, std::string_view name, int64_t count) {
  if (count <= 0) return;
  const Lock lock(mutex_);
  const auto [at, fresh] = entries_.try_emplace(std::string(kind.kind), Entry{kind, 0, std::string(name)});
  Entry& entry = at->second;
  entry.count += count;
  // Pages of a listing arrive in any order; the smallest name is the same on every run.
  if (!fresh && name < entry.first) entry.first = name;
}

std::vector<DataWarning> DataWarnings::list() const {
  const Lock lock(mutex_);
  std::vector<DataWarning> all;
  for (const auto& [name, entry] : entries_) {
    const bool one = entry.count == 1;
    std::string message = fmt::format("{} {} ({}'{}'); {}", entry.count, one ? entry.kind.one : entry.kind.many,
                                      one ? "" : "the first is ", entry.first, entry.kind.remedy);
    all.push_back({name, entry.count, entry.first, std::move(message)});
  }
  return all;
}

}  // namespace forebay
