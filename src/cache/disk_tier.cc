#include "cache/disk_tier.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "base/read_all.h"
#include "cache/budget_limits.h"
#include "cache/folder_use.h"
#include "forebay/stats/cache.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using std::chrono::milliseconds;
// Opening may wait while another process frees space. A put() delays the thread that computed the
// entry, and declining costs only that entry.
constexpr milliseconds kPatienceAtOpen{5000}, kPatienceAtPut{200};
constexpr int64_t kRefreshIntervalNs = 100'000'000;
// For a cache's folder, its lock, its claims and about.json: a block of 4 KiB each.
constexpr uint64_t kNewCacheSpace = 16 << 10;
constexpr uint64_t kUnlimited = UINT64_MAX;
constexpr uint64_t kDefaultBudget = uint64_t{50} << 30;
constexpr uint64_t kRetryEvery = 256;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

Status check_budget(uint64_t budget) {
  if (budget >= DiskTier::kLeastBudget) return {};
  return invalid_argument(fmt::format("disk={} holds no entry; give at least {}", format_byte_size(budget),
                                      format_byte_size(DiskTier::kLeastBudget)));
}

uint64_t within_disk(const CacheFolder& root, uint64_t budget) {
  return clamp_budget("disk", budget, max_disk_budget(root), "the disk at " + root.path());
}

// Space that the folder uses already counts as free, so that a later run has the same budget.
uint64_t half_of_disk(const CacheFolder& root) {
  const uint64_t spare = available_disk_space(root);
  if (spare == UINT64_MAX) return kDefaultBudget;  // the system does not tell
  return std::max((spare + measure_folder(root).bytes) / 2, DiskTier::kLeastBudget);
}

void write_about(const CacheFolder& folder, const std::string& description) {
  if (folder.stat(kAboutFile)) return;
  const std::string aside = std::string(kAboutFile) + ".new";
  const std::string text = nlohmann::json{{"forebay_cache", 1}, {"steps", description}}.dump(
                               1, ' ', false, nlohmann::json::error_handler_t::replace) +
                           '\n';
  const auto file = folder.open_file(aside, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.ok() || !write_all(file->get(), text.data(), text.size(), 0)) return;
  // Renamed into place, so that no reader sees half a text. open() holds the FolderLock, so no
  // other process writes `aside`.
  (void)::renameat(folder.fd(), aside.c_str(), folder.fd(), std::string(kAboutFile).c_str());
}

// make_room() removes the cache with the oldest such time first. Reading alone does not update it.
void touch(const FileDescriptor& lock) { (void)::futimens(lock.get(), nullptr); }

/// A lock on one byte of the claims file, held while an entry is written, so that two processes do
/// not both write it. Locks of open file descriptions (OFD) do not exclude threads of one process
/// from each other; entries_being_written_ does.
class Claim {
 public:
  // A quarter of the hash: offsets are signed, and the end of the range must be a valid offset,
  // too.
  Claim(int fd, const Hash128& id) : fd_(fd), at_(static_cast<off_t>(id.low >> 2)) { held_ = set(F_WRLCK); }
  ~Claim() {
    if (held_) (void)set(F_UNLCK);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool held() const { return held_; }

 private:
  bool set(int type) const {
    struct ::flock range{};
    range.l_type = static_cast<short>(type);
    range.l_whence = SEEK_SET;
    range.l_start = at_;
    range.l_len = 1;
    return ::fcntl(fd_, F_OFD_SETLK, &range) == 0;
  }
  const int fd_;
  const off_t at_;
  bool held_;
};

}  // namespace

Result<std::unique_ptr<DiskTier>> DiskTier::open(DiskTierOptions options) {
  if (!options.half_of_disk) FOREBAY_RETURN_IF_ERROR(check_budget(options.budget_bytes));
  FOREBAY_ASSIGN(CacheFolder root, CacheFolder::open(options.dir, true));
  if (!options.half_of_disk) options.budget_bytes = within_disk(root, options.budget_bytes);
  FOREBAY_ASSIGN(const FolderLock locked, FolderLock::take(root, kPatienceAtOpen));
  if (options.half_of_disk) options.budget_bytes = half_of_disk(root);
  finish_removals(root);
  const std::string name = options.cache_id.to_string();
  if (!root.stat(name)) {
    const uint64_t free = make_room(root, options.budget_bytes, kNewCacheSpace);
    if (free < kNewCacheSpace) {
      if (available_disk_space(root) < kNewCacheSpace) return unavailable("the disk is full, but for a reserve");
      return unavailable(fmt::format("caches that are in use take all of the {} at {}",
                                     format_byte_size(options.budget_bytes), root.path()));
    }
  }
  FOREBAY_ASSIGN(CacheFolder folder, root.open_below(name, true));
  FOREBAY_ASSIGN(FileDescriptor lock, folder.open_file(kLockFile, O_RDWR | O_CREAT));
  FOREBAY_ASSIGN(FileDescriptor claims, folder.open_file(kClaimsFile, O_RDWR | O_CREAT));
  // Processes lock it exclusively, to measure or to remove, only under the FolderLock, which is
  // held here. So only another program can hold it.
  if (!try_flock(lock.get(), LOCK_SH))
    return unavailable(fmt::format("{} is locked by another program", folder.path()));
  touch(lock);
  write_about(folder, options.description);
  std::unique_ptr<DiskTier> tier(
      new DiskTier(std::move(options), std::move(root), std::move(folder), std::move(lock), std::move(claims)));
  tier->index_.refresh(tier->folder_);
  return tier;
}

DiskTier::DiskTier(DiskTierOptions options, CacheFolder root, CacheFolder folder, FileDescriptor lock,
                   FileDescriptor claims)
    : options_(std::move(options)), cache_name_(options_.cache_id.to_string()), root_(std::move(root)),
      folder_(std::move(folder)), lock_(std::move(lock)), claims_(std::move(claims)),
      store_(std::make_unique<EntryStore>(root_.path())), budget_bytes_(options_.budget_bytes),
      largest_admitted_(kUnlimited) {}

DiskTier::~DiskTier() { touch(lock_); }

std::optional<DiskTier::Found> DiskTier::find(const Hash128& id) {
  if (disabled_.load(std::memory_order_relaxed)) return std::nullopt;
  auto found = index_.find(id);
  if (!found) {
    int64_t due = next_refresh_ns_.load(std::memory_order_relaxed);
    const int64_t now = now_ns();
    // One thread looks; the others treat it as a miss. A miss costs work, and a look at the folder
    // for each miss would cost more.
    if (now < due || !next_refresh_ns_.compare_exchange_strong(due, now + kRefreshIntervalNs)) return std::nullopt;
    index_.try_refresh(folder_);
    found = index_.find(id);
  }
  if (!found) return std::nullopt;
  ReadRequest request;
  request.key = fmt::format("{}/{}", cache_name_, segment_file(found->segment, kDataEnding));
  request.range = ByteRange{found->data_offset, found->data_bytes};
  return Found{store_.get(), std::move(request)};
}

bool DiskTier::try_admit(uint64_t bytes) const {
  if (writes_disabled_.load(std::memory_order_relaxed)) return false;
  const bool could_fit = bytes <= budget_bytes_.load(std::memory_order_relaxed);
  if (could_fit && bytes <= largest_admitted_.load(std::memory_order_relaxed)) return true;
  // Tried now and then nevertheless: other processes may have ended and freed their space.
  const bool again = declined_.fetch_add(1, std::memory_order_relaxed) % kRetryEvery == kRetryEvery - 1;
  return again && could_fit;
}

bool DiskTier::put(const Hash128& id, std::span<const uint8_t> entry, double seconds) {
  if (disabled_ || has(id)) return !disabled_;
  if (writes_disabled_) return false;
  {
    const Lock lock(write_mutex_);
    // Another thread writes the same bytes; waiting for it would gain nothing.
    if (!entries_being_written_.insert(id).second) return false;
  }
  const bool written = write(id, entry, seconds);
  const Lock lock(write_mutex_);
  entries_being_written_.erase(id);
  return written;
}

bool DiskTier::write(const Hash128& id, std::span<const uint8_t> entry, double seconds) {
  const Claim claim(claims_.get(), id);
  if (!claim.held() || !verify_folder()) return false;
  index_.refresh(folder_);  // after the claim, to see what another process wrote meanwhile
  if (has(id)) return true;
  uint64_t offset = 0;
  SegmentWriter* writer = nullptr;
  {
    const Lock lock(write_mutex_);
    if (!(writer_ && writer_->fits(entry.size())) && !reserve_disk_space(entry.size())) return false;
    // Data is written concurrently and without the lock. A row follows its data, so that no reader
    // finds an entry that is not there.
    writer = writer_.get();
    offset = writer->allocate(entry.size());
  }
  const SegmentRow row = SegmentRow::of(id, offset, entry.size(), seconds);
  bool written = writer->write_data(offset, entry);
  if (written) {
    const Lock lock(write_mutex_);
    written = writer->write_row(row);
  }
  if (!written) {
    disable_writes(std::strerror(errno));
    return false;
  }
  index_.refresh(folder_);
  return true;
}

/// Lets the writer's segment grow by a step that holds the entry. Steps are small compared to the
/// budget, so that concurrent writers leave little unused.
bool DiskTier::reserve_disk_space(uint64_t bytes) {
  const auto locked = FolderLock::take(root_, kPatienceAtPut);
  if (!locked.ok()) {
    declined_.fetch_add(1, std::memory_order_relaxed);
    if (verify_folder() && locked.status().code() != Code::kCancelled) disable_writes(locked.status().message());
    return false;
  }
  touch(lock_);
  if (!writer_) {
    Result<std::unique_ptr<SegmentWriter>> acquired = SegmentWriter::acquire(folder_);
    if (!acquired.ok()) {
      disable_writes(acquired.status().message());
      return false;
    }
    writer_ = std::move(*acquired);
  }
  if (!writer_->files_exist()) {
    disable("its files are gone");
    return false;
  }
  const uint64_t budget = budget_bytes_.load();
  const uint64_t step = std::clamp<uint64_t>(budget / 64, 64 << 10, 64 << 20);
  const uint64_t least = writer_->extra_disk_space(bytes, kSegmentRowBytes);
  const uint64_t free = make_room(root_, budget, std::min(least + step, budget));
  // Tries the whole step, an eighth of it, and just this entry.
  for (const uint64_t more : {step, step / 8, uint64_t{0}}) {
    // An eighth for rows of 64 bytes suffices for entries of 512 bytes. With smaller entries the
    // index is full sooner.
    const uint64_t data = bytes + more, index = kSegmentRowBytes + more / 8;
    if (writer_->extra_disk_space(data, index) > free) continue;
    if (!writer_->grow(data, index)) {
      disable_writes(std::strerror(errno));
      return false;
    }
    largest_admitted_ = kUnlimited;
    return true;
  }
  if (free < least && available_disk_space(root_) < least) {
    disable_writes("the disk is full, but for a reserve");
    return false;
  }
  // The rest of the last step may hold smaller entries, which try_admit() accepts.
  largest_admitted_ = writer_->data_left();
  declined_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void DiskTier::report_damaged(const Hash128& id) {
  damaged_.fetch_add(1, std::memory_order_relaxed);
  if (verify_folder()) index_.remove(folder_, id);
}

void DiskTier::report_unreadable(const Hash128& id) {
  const Status failure = store_->take_failure();
  // No read has failed here. The empty bytes came from a peer that lacks the entry, which was
  // stored here in the meantime.
  if (failure.ok()) return;
  if (!verify_folder()) return;
  // The device is at fault, not the entry.
  if (failure.code() == Code::kUnavailable) return disable(failure.message());
  report_damaged(id);
}

bool DiskTier::verify_folder() {
  if (disabled_) return false;
  if (folder_.exists_in(root_, cache_name_)) return true;
  disable("the folder is gone");
  return false;
}

void DiskTier::disable_writes(std::string_view why) {
  if (!writes_disabled_.exchange(true)) warn_once("keeps nothing more", why);
}

void DiskTier::disable(std::string_view why) {
  writes_disabled_ = true;
  if (!disabled_.exchange(true)) warn_once("is off", why);
}

void DiskTier::warn_once(std::string_view what, std::string_view why) {
  const Lock lock(reason_mutex_);
  if (!disabled_reason_.empty()) return;
  disabled_reason_ = why;
  log_warning(fmt::format("the disk cache at {} {} ({}); the run continues without it", root_.path(), what, why));
}

void DiskTier::raise_budget(uint64_t bytes) {
  bytes = within_disk(root_, bytes);
  uint64_t before = budget_bytes_.load();
  while (before < bytes && !budget_bytes_.compare_exchange_weak(before, bytes)) {
  }
  if (before < bytes) largest_admitted_ = kUnlimited;
}

TierStats DiskTier::stats() const {
  TierStats stats;
  stats.hits = hits_;
  stats.entries = index_.entries();
  stats.bytes = index_.bytes();
  stats.budget_bytes = budget_bytes_;
  stats.declined = declined_;
  stats.damaged = damaged_;
  const Lock lock(reason_mutex_);
  stats.off = disabled_reason_;
  return stats;
}

}  // namespace forebay
