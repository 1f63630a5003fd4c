#include "format/seen_versions.h"

#include <algorithm>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

std::optional<uint64_t> SeenVersions::find(int64_t id) const {
  const uint64_t seen = get(id);
  if (seen == kUnheard || seen == kInVain) return std::nullopt;
  return seen == kNone ? 0 : seen;
}

void SeenVersions::set(int64_t id, uint64_t version) {
  // The three lowest numbers are states; a version that is one of them, being a hash, counts as the first behind them.
  at(id).store(version == 0 ? uint64_t{kNone} : std::max<uint64_t>(version, kFirstVersion), std::memory_order_relaxed);
}

void SeenVersions::tell_of_none(std::string_view name) {
  if (told_.exchange(true)) return;
  log_warning(fmt::format(
      "cache: the server tells no version of '{}' to go by (no ETag, and no Last-Modified before this second): what is "
      "made of such objects is kept in memory only, and for this run",
      name));
}

uint64_t SeenVersions::next_number() {
  static std::atomic<uint64_t> last{0};
  // From 1 on, and of this process: such identities are never written anywhere.
  return ++last;
}

}  // namespace forebay
