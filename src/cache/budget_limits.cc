#include "cache/budget_limits.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/mutex.h"
#include "runtime/host.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr uint64_t kUnknownSpace = UINT64_MAX;  // no limit, because the system does not report it
constexpr uint64_t kMaxReserve = uint64_t{1} << 30;

// A twentieth of the disk, at most 1 GiB.
uint64_t reserved_for_others(uint64_t disk_bytes) { return std::min(disk_bytes / 20, kMaxReserve); }

std::optional<struct ::statvfs> disk_of(const CacheFolder& root) {
  struct ::statvfs disk;
  if (::fstatvfs(root.fd(), &disk) != 0) return std::nullopt;
  return disk;
}

uint64_t bytes_of(const struct ::statvfs& disk) { return static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize; }

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
  const auto disk = disk_of(root);
  return disk ? bytes_of(*disk) - reserved_for_others(bytes_of(*disk)) : kUnknownSpace;
}

uint64_t available_disk_space(const CacheFolder& root) {
  const auto disk = disk_of(root);
  if (!disk) return kUnknownSpace;
  // f_bavail rather than f_bfree: blocks reserved for root cannot be used.
  const uint64_t free = static_cast<uint64_t>(disk->f_bavail) * disk->f_frsize;
  return free - std::min(free, reserved_for_others(bytes_of(*disk)));
}

uint64_t default_memory_budget(int ranks) { return usable_memory() / 4 / static_cast<uint64_t>(std::max(ranks, 1)); }

uint64_t max_memory_budget() { return usable_memory() / 4 * 3; }

uint64_t clamp_budget(const std::string& budget_name, uint64_t budget, uint64_t limit, const std::string& resource) {
  if (budget <= limit) return budget;
  warn_once(fmt::format("cache: {}={} is more than {} allows; {} is used", budget_name, format_byte_size(budget),
                        resource, format_byte_size(limit)));
  return limit;
}

}  // namespace forebay
