#include "format/reported_versions.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

std::optional<uint64_t> ReportedVersions::find(int64_t id) const {
  const uint64_t seen = get(id);
  if (seen == kUnknown || seen == kUnavailable) return std::nullopt;
  return seen;
}

void ReportedVersions::set(int64_t id, uint64_t version) {
  // Versions are hashes. One that looks like a number or a state is mapped to another one.
  const uint64_t reported = is_version(version) ? version : version & ~kNumbers;
  at(id).store(version == 0 ? number_ : std::max<uint64_t>(reported, kFirstVersion), std::memory_order_relaxed);
}

void ReportedVersions::set_if_unknown(int64_t id, uint64_t found) {
  uint64_t is_unknown = kUnknown;
  if (found >= kFirstVersion) at(id).compare_exchange_strong(is_unknown, found, std::memory_order_relaxed);
}

void ReportedVersions::warn_no_version(std::string_view name) {
  if (warned_.exchange(true)) return;
  log_warning(fmt::format(
      "cache: the server reports no version of '{}' (no ETag, and no Last-Modified before this second): what is "
      "made of such objects is kept in memory only, and for this run",
      name));
}

uint64_t ReportedVersions::random_number() {
  std::random_device random;
  return kNumbers | uint64_t{random()} << 16 | (random() & 0xffff);
}

}  // namespace forebay
