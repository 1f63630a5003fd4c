#include "cache/cache.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/mutex.h"
#include "cache/budget_limits.h"
#include "cache/disk_tier.h"
#include "cache/entry_form.h"
#include "cache/ram_tier.h"
#include "cache/seen_entries.h"
#include "forebay/stats/cache.h"
#include "runtime/fork_guard.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

/// The index memory of a disk tier, if there is one. None of it can be reclaimed.
class IndexMemory final : public ReclaimableMemory {
 public:
  explicit IndexMemory(std::shared_ptr<const DiskTier> disk) : disk_(std::move(disk)) {}
  uint64_t bytes() const override { return disk_ ? disk_->index_bytes() : 0; }
  uint64_t reclaim(uint64_t) override { return 0; }

 private:
  const std::shared_ptr<const DiskTier> disk_;
};

/// Sums of two sizes, from which a mean or a ratio is computed. Methods may be called from any
/// thread. A reader may see one sum without the other of a concurrent add(), which shifts a
/// statistic slightly.
class SumPair {
 public:
  struct Sums {
    uint64_t divisor = 0, dividend = 0;
  };
  void add(Sums more) {
    divisor_.fetch_add(more.divisor, std::memory_order_relaxed);
    dividend_.fetch_add(more.dividend, std::memory_order_relaxed);
  }
  Sums sums() const { return {divisor_.load(std::memory_order_relaxed), dividend_.load(std::memory_order_relaxed)}; }

 private:
  std::atomic<uint64_t> divisor_{0}, dividend_{0};
};

/// Mean size of the entries that were read or offered.
class MeanEntrySize {
 public:
  void add(uint64_t bytes) { sums_.add({.divisor = 1, .dividend = bytes}); }
  /// Returns 0 before the first entry.
  uint64_t bytes() const {
    const auto [entries, bytes] = sums_.sums();
    return entries == 0 ? 0 : bytes / entries;
  }

 private:
  SumPair sums_;
};

/// Ratio of the sizes of entries after and before compression.
class CompressionRatio {
 public:
  void add(uint64_t plain_bytes, uint64_t packed_bytes) {
    sums_.add({.divisor = plain_bytes, .dividend = packed_bytes});
  }
  /// Returns the expected size of an entry after compression; 0 before the first entry.
  uint64_t expected_bytes(uint64_t plain_bytes) const {
    const auto [plain, packed] = sums_.sums();
    if (plain == 0) return 0;
    return static_cast<uint64_t>(static_cast<double>(plain_bytes) * static_cast<double>(packed) /
                                 static_cast<double>(plain));
  }

 private:
  SumPair sums_;
};

/// A cache whose entries are in memory, on disk, or both: the tiers of this host.
class LocalCache final : public TieredCache {
 public:
  LocalCache(const CacheOptions& options, std::unique_ptr<DiskTier> disk, std::string disk_off_reason)
      : cache_id_(options.cache_id.to_string()), description_(options.description), compression_(options.compression),
        disk_off_reason_(std::move(disk_off_reason)), ram_(std::make_shared<RamTier>(options.ram_bytes)),
        disk_(std::move(disk)) {}

  ~LocalCache() override {
    if (!in_forked_child()) return;
    // Locks may be held by threads that are not in this process.
    new std::shared_ptr<RamTier>(std::move(ram_));
    new std::shared_ptr<DiskTier>(std::move(disk_));
  }

  std::optional<Found> find(const EntryRef& ref) override {
    const Hash128& entry = ref.key;
    if (in_forked_child()) return std::nullopt;
    seen_.add(entry);
    if (auto columns = ram_->find(entry)) return Found{std::move(columns), nullptr, {}};
    if (disk_) {
      if (auto found = disk_->find(entry)) return Found{nullptr, found->store, std::move(found->request)};
    }
    misses_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }

  std::shared_ptr<SingleFlight> flights() override { return in_forked_child() ? nullptr : flights_; }

  bool has(const Hash128& entry) const override {
    return !in_forked_child() && (ram_->has(entry) || (disk_ && disk_->has(entry)));
  }

  Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) override {
    if (in_forked_child() || !disk_) return corrupt("there is no such entry");
    // Saved first, because adopt() takes the bytes.
    const bool read_failed = stored.empty();
    auto columns = adopt(entry, std::move(stored));
    if (columns.ok()) {
      disk_->count_hit();
      return columns;
    }
    // EntryStore returns no bytes if a read failed. report_unreadable() finds out whether the
    // device or the entry is at fault.
    if (read_failed)
      disk_->report_unreadable(entry);
    else
      disk_->report_damaged(entry);
    misses_.fetch_add(1, std::memory_order_relaxed);
    return columns;
  }

  Result<std::shared_ptr<const Columns>> adopt(const Hash128& entry, Buffer stored) override {
    if (in_forked_child()) return corrupt("there is no such entry");
    mean_entry_size_.add(stored.size());
    // Columns in memory own their memory, because `stored` belongs to a pool whose blocks may be
    // larger. The check adds an eighth, because the tier counts overhead, too; if that is too
    // little, put() declines.
    const bool promotes = ram_->free_for(stored.size() + stored.size() / 8);
    if (promotes) stored = copy_of(stored);
    // retained_bytes() needs it to find out which columns are views of these bytes.
    const Buffer packed = stored;
    FOREBAY_ASSIGN(Columns decoded, decode_entry(entry, std::move(stored)));
    auto columns = std::make_shared<const Columns>(std::move(decoded));
    if (promotes) {
      // Unpacked columns are views of the stored bytes, whatever compression this run uses; columns
      // that were packed own their memory. Zero seconds: losing the entry costs a read, so it is
      // evicted before entries that are in memory alone.
      (void)ram_->put(entry, columns, retained_bytes(*columns, packed), 0, /*on_disk=*/true);
    }
    return columns;
  }

  std::optional<Buffer> stored(const Hash128& entry) override {
    if (in_forked_child()) return std::nullopt;
    if (const auto columns = ram_->peek(entry)) {
      // Encoded in the form of the disk, the only one that the receiver's adopt() accepts.
      Result<Buffer> bytes = encode_entry(entry, *columns, Compression::kNone);
      if (bytes.ok()) return std::move(*bytes);
    }
    auto found = disk_ ? disk_->find(entry) : std::nullopt;
    if (!found) return std::nullopt;
    Result<Buffer> bytes = read_wait(*found->store, found->request, {});
    // Empty if the bytes could not be read.
    if (!bytes.ok() || bytes->empty()) return std::nullopt;
    return std::move(*bytes);
  }

  bool try_admit(const Hash128& /*entry*/, uint64_t bytes) const override {
    if (in_forked_child()) return false;
    mean_entry_size_.add(bytes);
    return ram_->fits(bytes) || (disk_ && disk_->try_admit(bytes_on_disk(bytes)));
  }

  void put(const EntryRef& ref, std::shared_ptr<const Columns> columns, double seconds, KeepIn where) override {
    const Hash128& entry = ref.key;
    if (in_forked_child() || !columns) return;
    Result<Buffer> plain = encode_entry(entry, *columns, Compression::kNone);
    // A row's error cannot be stored: the chunk is computed again each time.
    if (!plain.ok()) return;
    const bool on_disk = disk_ && where == KeepIn::kAnyTier && put_on_disk(entry, *columns, *plain, seconds);
    if (!ram_->fits(plain->size())) return;
    const uint64_t bytes = plain->size();
    // The given columns may share larger memory of others; the stored ones own one block.
    Result<Columns> own = decode_entry(entry, std::move(*plain));
    if (own.ok()) (void)ram_->put(entry, std::make_shared<const Columns>(std::move(*own)), bytes, seconds, on_disk);
  }

  CacheStats stats() const override {
    CacheStats stats;
    if (in_forked_child()) return stats;
    stats.place = cache_id_;
    stats.description = description_;
    stats.ram = ram_->stats();
    if (disk_) stats.disk = disk_->stats();
    if (!disk_off_reason_.empty()) stats.disk.off = disk_off_reason_;
    stats.index_bytes = disk_ ? disk_->index_bytes() : 0;
    stats.misses = misses_;
    const uint64_t hits = stats.ram.hits + stats.disk.hits;
    if (hits + stats.misses > 0) stats.hit_ratio = static_cast<double>(hits) / static_cast<double>(hits + stats.misses);
    // The size of an entry that was only looked up is unknown: the mean of those read or offered is
    // used.
    stats.seen_bytes = seen_.count() * mean_entry_size_.bytes();
    const uint64_t budget = stats.ram.budget_bytes + stats.disk.budget_bytes;
    if (stats.seen_bytes > 0)
      stats.optimum = std::min(1.0, static_cast<double>(budget) / static_cast<double>(stats.seen_bytes));
    return stats;
  }

  const Store* disk() const override { return in_forked_child() || !disk_ ? nullptr : &disk_->store(); }
  std::shared_ptr<ReclaimableMemory> entries() override { return ram_; }
  std::shared_ptr<ReclaimableMemory> index() override { return std::make_shared<IndexMemory>(disk_); }

  void raise_budgets(const CacheOptions& options) {
    ram_->raise_budget(options.ram_bytes);
    if (disk_ && options.disk_bytes != CacheOptions::kHalfOfDisk) disk_->raise_budget(options.disk_bytes);
  }

 private:
  bool in_forked_child() const { return process_generation() != generation_; }
  static Buffer copy_of(const Buffer& stored) {
    Buffer own = Buffer::allocate(stored.size());
    if (!stored.empty()) std::memcpy(own.data(), stored.data(), stored.size());
    return own;
  }
  bool put_on_disk(const Hash128& entry, const Columns& columns, const Buffer& plain, double seconds) {
    if (compression_ == Compression::kNone) return disk_->put(entry, plain.span(), seconds);
    const Result<Buffer> packed = encode_entry(entry, columns, compression_);
    if (!packed.ok()) return false;
    compression_ratio_.add(plain.size(), packed->size());
    return disk_->put(entry, packed->span(), seconds);
  }

  /// Estimates the size on disk. With compression the first entry counts as 0 bytes, so that it is
  /// always tried.
  uint64_t bytes_on_disk(uint64_t bytes) const {
    return compression_ == Compression::kNone ? bytes : compression_ratio_.expected_bytes(bytes);
  }

  const uint64_t generation_ = process_generation();
  const std::string cache_id_, description_;
  const Compression compression_;
  const std::string disk_off_reason_;
  std::shared_ptr<RamTier> ram_;
  std::shared_ptr<DiskTier> disk_;
  const std::shared_ptr<SingleFlight> flights_ = SingleFlight::make();
  SeenEntries seen_;
  std::atomic<uint64_t> misses_{0};
  CompressionRatio compression_ratio_;
  mutable MeanEntrySize mean_entry_size_;
};

/// The caches that are open in this process.
struct OpenCaches {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<LocalCache>> by_name FOREBAY_GUARDED_BY(mutex);
};

Status check_limits(const CacheOptions& options) {
  const bool in_memory = options.ram_bytes > options.disk_bytes;
  const uint64_t larger = std::max(options.ram_bytes, options.disk_bytes);
  if (larger == 0 || larger >= options.entry_bytes) return {};
  return invalid_argument(fmt::format("cache: {}={} is less than one entry takes, {}; give more, or leave .cache() out",
                                      in_memory ? "ram" : "disk", format_byte_size(larger),
                                      format_byte_size(options.entry_bytes)));
}

Result<std::shared_ptr<LocalCache>> make_local_cache(const CacheOptions& options, const std::string& dir) {
  std::unique_ptr<DiskTier> disk;
  std::string off;
  if (options.disk_bytes > 0) {
    const bool half = options.disk_bytes == CacheOptions::kHalfOfDisk;
    Result<std::unique_ptr<DiskTier>> opened =
        DiskTier::open({dir, half ? 0 : options.disk_bytes, options.cache_id, options.description, half});
    if (opened.ok()) {
      disk = std::move(*opened);
    } else if (opened.status().code() == Code::kInvalidArgument) {
      return invalid_argument("cache: " + opened.status().message());
    } else {
      off = opened.status().message();
      log_warning(fmt::format("the disk cache at {} is off ({}); the run continues without it", dir, off));
    }
  }
  return std::make_shared<LocalCache>(options, std::move(disk), std::move(off));
}

}  // namespace

Result<std::shared_ptr<TieredCache>> open_cache(const CacheOptions& given) {
  FOREBAY_RETURN_IF_ERROR(check_limits(given));
  CacheOptions options = given;
  // DiskTier applies the disk's limit, because it needs the folder, which may have to be made
  // first.
  options.ram_bytes = clamp_budget("ram", given.ram_bytes, max_memory_budget(), "this machine");
  std::string dir = options.dir;
  if (dir.empty() && options.disk_bytes > 0) {
    FOREBAY_ASSIGN(dir, default_cache_folder());
  }
  const std::string name = fmt::format("{} {} {}", options.cache_id.to_string(), static_cast<int>(options.compression),
                                       options.disk_bytes > 0 ? dir : "");
  auto& caches = of_this_process<OpenCaches>();
  // Held while a tier is opened, which may wait for the FolderLock, so that two loaders do not open
  // the same cache twice.
  const Lock lock(caches.mutex);
  if (auto known = caches.by_name[name].lock()) {
    known->raise_budgets(options);
    return std::shared_ptr<TieredCache>(std::move(known));
  }
  std::erase_if(caches.by_name, [](const auto& each) { return each.second.expired(); });
  FOREBAY_ASSIGN(std::shared_ptr<LocalCache> made, make_local_cache(options, dir));
  caches.by_name[name] = made;
  return std::shared_ptr<TieredCache>(std::move(made));
}

}  // namespace forebay
