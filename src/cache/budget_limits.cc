#include "cache/budget_limits.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/mutex.h"
#include "runtime/host.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

uint64_t reserve_of(uint64_t all) { return std::min<uint64_t>(all / 20, uint64_t{1} << 30); }

void warn_once(const std::string& line) {
  static Mutex mutex;
  static std::set<std::string> logged;
  {
    const Lock lock(mutex);
    // Bounded: there is at most one line for each root folder and budget.
    if (!logged.insert(line).second) return;
  }
  log_warning(line);
}

}  // namespace

uint64_t max_disk_budget(const CacheFolder& root) {
  struct ::statvfs disk;
  if (::fstatvfs(root.fd(), &disk) != 0) return UINT64_MAX;
  const uint64_t all = static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize;
  return all - reserve_of(all);
}

uint64_t available_disk_space(const CacheFolder& root) {
  struct ::statvfs disk;
  if (::fstatvfs(root.fd(), &disk) != 0) return UINT64_MAX;
  // f_bavail rather than f_bfree: blocks reserved for root cannot be used.
  const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  return free - std::min(free, reserve_of(static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize));
}

uint64_t default_memory_budget(int ranks) { return usable_memory() / 4 / static_cast<uint64_t>(std::max(ranks, 1)); }

uint64_t max_memory_budget() { return usable_memory() / 4 * 3; }

uint64_t clamp_budget(const std::string& argument, uint64_t budget, uint64_t limit, const std::string& where) {
  if (budget <= limit) return budget;
  warn_once(fmt::format("cache: {}={} is more than {} has for it; up to {} is used", argument, format_byte_size(budget),
                        where, format_byte_size(limit)));
  return limit;
}

}  // namespace forebay
