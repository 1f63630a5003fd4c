#include "cache/cache_maintenance.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/read_all.h"
#include "cache/cache_folder.h"
#include "cache/cache_index.h"
#include "cache/entry_form.h"
#include "cache/folder_use.h"
#include "cache/segment_format.h"

namespace forebay {

namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr size_t kMaxAboutBytes = 1 << 20;
constexpr size_t kRowsAtOnce = 4096;

std::string description_of(const CacheFolder& cache) {
  const auto file = cache.open_file(kAboutFile, O_RDONLY);
  struct ::stat info;
  if (!file.ok() || ::fstat(file->get(), &info) != 0 || static_cast<size_t>(info.st_size) > kMaxAboutBytes) return {};
  std::string text(static_cast<size_t>(info.st_size), '\0');
  if (!read_all(file->get(), text.data(), text.size(), 0)) return {};
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("steps") || !json["steps"].is_string()) return {};
  return json["steps"].get<std::string>();
}

uint64_t size_of(const FileDescriptor& file) {
  struct ::stat info;
  return ::fstat(file.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

/// Checks one segment, row by row.
class SegmentCheck {
 public:
  SegmentCheck(const CacheFolder& cache, std::string cache_name, uint32_t number, CacheReport& report)
      : cache_(cache), cache_name_(std::move(cache_name)), index_name_(segment_file(number, kIndexEnding)),
        data_name_(segment_file(number, kDataEnding)), report_(report) {}

  Status run(const std::stop_token& stop, const std::function<void(uint64_t)>& on_read) {
    FOREBAY_ASSIGN(const FileDescriptor index, cache_.open_file(index_name_, O_RDONLY));
    // A writer is active: its last row may be incomplete, which is not damage.
    const bool written_to = !try_flock(index.get(), LOCK_SH);
    const uint64_t end = whole_rows(size_of(index));
    SegmentHeader header;
    if (end == 0) return {};
    if (!read_all(index.get(), &header, sizeof header, 0) || !header.valid()) {
      add(index_name_, "its header is damaged: nothing in it can be used");
      return {};
    }
    const Result<FileDescriptor> data = cache_.open_file(data_name_, O_RDONLY);
    for (uint64_t at = kSegmentRowBytes; at < end; at += kSegmentRowBytes) {
      if (stop.stop_requested()) return cancelled("interrupted");
      SegmentRow row;
      if (!read_all(index.get(), &row, sizeof row, at)) break;
      if (row.dead() || (!row.valid() && written_to && at + kSegmentRowBytes == end)) continue;
      if (!row.valid()) {
        add(fmt::format("row {} of {}", at / kSegmentRowBytes, index_name_), "damaged (checksum)");
        continue;
      }
      check(row, data);
      if (on_read) on_read(report_.bytes);
    }
    return {};
  }

 private:
  void check(const SegmentRow& row, const Result<FileDescriptor>& data) {
    const std::string where = "entry " + row.id.to_string();
    ++report_.entries;
    report_.bytes += row.bytes;
    if (!data.ok() || row.offset + row.bytes > size_of(*data)) return add(where, data_name_ + " ends before it");
    // The line above ensures that this is no more than the file has.
    Buffer stored = Buffer::allocate(row.bytes);
    if (!read_all(data->get(), stored.data(), stored.size(), row.offset)) return add(where, "cannot be read");
    if (const auto decoded = decode_entry(row.id, std::move(stored)); !decoded.ok())
      add(where, decoded.status().message());
  }
  void add(std::string where, std::string what) {
    if (report_.damaged_count++ < CacheReport::kMaxDamage)
      report_.damaged.push_back({cache_name_, std::move(where), std::move(what)});
  }

  const CacheFolder& cache_;
  const std::string cache_name_, index_name_, data_name_;
  CacheReport& report_;
};

Status no_such_cache(const std::string& cache, const CacheFolder& root) {
  return not_found(fmt::format("there is no cache {} in {}; 'forebay cache ls' lists them", cache, root.path()));
}

}  // namespace

Result<std::vector<CacheInfo>> list_caches(const std::string& dir) {
  std::vector<CacheInfo> caches;
  const Result<CacheFolder> root = CacheFolder::open(dir, false);
  if (!root.ok() && root.status().code() == Code::kNotFound) return caches;
  if (!root.ok()) return root.status();
  FolderUse use;
  {
    FOREBAY_ASSIGN(const FolderLock lock, FolderLock::take(*root, kPatience));
    use = measure_folder(*root);
  }
  for (const CacheDiskUse& found : use.caches) {
    const Result<CacheFolder> cache = root->open_below(found.name, false);
    if (!cache.ok()) continue;
    CacheIndex index;
    index.refresh(*cache);
    CacheInfo info{found.name,  description_of(*cache), index.entries(), index.bytes(),
                   found.bytes, found.last_used_ns,     found.in_use,    {}};
    if (found.in_use) info.users = cache_users(*cache);
    caches.push_back(std::move(info));
  }
  std::ranges::sort(caches, {}, &CacheInfo::name);
  return caches;
}

Status verify_cache(const std::string& dir, const std::string& name, std::stop_token stop, CacheReport& report,
                    const std::function<void(uint64_t)>& on_read) {
  FOREBAY_ASSIGN(const CacheFolder root, CacheFolder::open(dir, false));
  const Result<CacheFolder> cache = root.open_below(name, false);
  if (!is_cache_name(name) || !cache.ok()) return no_such_cache(name, root);
  FOREBAY_ASSIGN(const FileDescriptor lock, cache->open_file(kLockFile, O_RDONLY));
  (void)try_flock(lock.get(), LOCK_SH);  // so that it is not removed while it is read
  for (const std::string& file : cache->names()) {
    const std::optional<uint32_t> number = segment_number(file, kIndexEnding);
    if (number) FOREBAY_RETURN_IF_ERROR(SegmentCheck(*cache, name, *number, report).run(stop, on_read));
  }
  return {};
}

Status clear_cache(const std::string& dir, const std::string& name) {
  FOREBAY_ASSIGN(const CacheFolder root, CacheFolder::open(dir, false));
  FOREBAY_ASSIGN(const FolderLock locked, FolderLock::take(root, kPatience));
  finish_removals(root);
  const Result<CacheFolder> cache = root.open_below(name, false);
  if (!is_cache_name(name) || !cache.ok()) return no_such_cache(name, root);
  if (const auto lock = cache->open_file(kLockFile, O_RDONLY); lock.ok() && !try_flock(lock->get(), LOCK_EX)) {
    const std::vector<int> users = cache_users(*cache);
    return invalid_argument(
        fmt::format("the cache {} is in use{}; try again when that has ended", name,
                    users.empty() ? "" : fmt::format(" by process {}", fmt::join(users, ", process "))));
  }
  if (!remove_cache(root, name)) return unavailable(fmt::format("the cache {} cannot be removed", name));
  return {};
}

}  // namespace forebay
