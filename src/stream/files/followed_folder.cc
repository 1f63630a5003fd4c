#include "stream/files/followed_folder.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace forebay {

namespace {

// Only the earliest files are stored. The next scan finds the others again, so that memory does not
// grow with the folder.
constexpr size_t kMaxWaiting = 1 << 16;
// An offset is a time and a key, and must be below 1 KB.
constexpr size_t kLongestKey = 900;
constexpr std::chrono::milliseconds kLookEvery{100};
constexpr int kShareOfLooking = 10;  ///< a pause is at least so many times as long as its scan

bool comes_before(const FollowedFolder::Found& a, const FollowedFolder::Found& b) { return a.place < b.place; }

constexpr int64_t ns_of(std::chrono::nanoseconds time) { return time.count(); }

}  // namespace

std::string FolderPlace::to_string() const { return fmt::format("{}/{}", changed_ns, key); }

std::optional<FolderPlace> FolderPlace::parse(std::string_view text) {
  FolderPlace place;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, place.changed_ns);
  if (error != std::errc() || end != text.data() + slash || place.changed_ns < 0) return std::nullopt;
  place.key = text.substr(slash + 1);
  // Each place has one form only: the time has no leading zeros.
  if (place.key.size() > kLongestKey || place.to_string() != text) return std::nullopt;
  return place;
}

bool is_unfinished_name(std::string_view path) { return path.ends_with(".tmp") || path.ends_with(".part"); }

Result<FolderPlace> last_settled(const FilePattern& pattern, const StreamClock& clock, const std::stop_token& stop) {
  const int64_t until = clock.wall_ns() - ns_of(FollowedFolder::kSettle);
  FolderPlace last;
  FOREBAY_RETURN_IF_ERROR(pattern.scan(stop, [&](SeenFile&& file) {
    if (is_unfinished_name(file.path) || file.changed_ns > until) return;
    last = std::max(last, FolderPlace{file.changed_ns, pattern.key(file.path)});
  }));
  return last;
}

Result<std::vector<FollowedFolder::Found>> FollowedFolder::next(size_t most, const std::stop_token& stop) {
  if (waiting_.empty() && clock_.now() >= next_scan_) FOREBAY_RETURN_IF_ERROR(scan_folder(stop));
  std::vector<Found> found;
  while (!waiting_.empty() && found.size() < most) {
    Found one = std::move(waiting_.back());
    waiting_.pop_back();
    after_ = one.place;
    // A file that was changed since the scan is returned later, in its new place. A file that is
    // gone is skipped.
    const auto now = FilePattern::look_at(one.file.path);
    if (now.ok() && now->changed_ns == one.file.changed_ns) found.push_back(std::move(one));
  }
  return found;
}

Status FollowedFolder::scan_folder(const std::stop_token& stop) {
  const Time begin = clock_.now();
  const int64_t until = settled_until(begin, clock_.wall_ns());
  int64_t latest = scans_.empty() ? -1 : scans_.back().latest_change_ns;
  Status too_long;
  FOREBAY_RETURN_IF_ERROR(pattern_.scan(stop, [&](SeenFile&& file) {
    if (is_unfinished_name(file.path)) return;
    latest = std::max(latest, file.changed_ns);
    if (file.changed_ns > until) return;
    Found found{{file.changed_ns, pattern_.key(file.path)}, std::move(file)};
    // No file settles before a file that was returned, so this one was returned before.
    if (found.place <= after_) return;
    if (found.place.key.size() > kLongestKey)
      too_long = unsupported(fmt::format("a name of more than {} bytes", kLongestKey)).with_key(found.file.path);
    remember(std::move(found));
  }));
  FOREBAY_RETURN_IF_ERROR(too_long);
  const Time end = clock_.now();
  // A scan that found nothing newer adds no information, so it is left out and the list stays
  // short.
  if (scans_.empty() || latest > scans_.back().latest_change_ns) scans_.push_back({end, latest});
  std::ranges::sort(waiting_, [](const Found& a, const Found& b) { return b.place < a.place; });
  const auto twice = std::ranges::unique(waiting_, {}, &Found::place);
  waiting_.erase(twice.begin(), twice.end());
  // After a scan of a large folder, which takes long, the pause is ten times as long.
  next_scan_ = end + std::max<Time::duration>(kLookEvery, (end - begin) * kShareOfLooking);
  return {};
}

void FollowedFolder::remember(Found&& found) {
  waiting_.push_back(std::move(found));
  std::ranges::push_heap(waiting_, comes_before);
  if (waiting_.size() <= kMaxWaiting) return;
  std::ranges::pop_heap(waiting_, comes_before);
  waiting_.pop_back();
}

int64_t FollowedFolder::settled_until(Time begin, int64_t now_ns) {
  // A change that an earlier scan saw was made before this scan began, by the file system's own
  // clock, and changes after the beginning are later. Since kSettle lies in between, times cannot
  // be equal.
  while (!scans_.empty() && scans_.front().end + kSettle <= begin) {
    settled_until_ = scans_.front().latest_change_ns;
    if (scans_.size() == 1) break;
    scans_.pop_front();
  }
  // Changes of the far past need no second scan. Changes of the last second have not settled in any
  // case.
  return std::min(std::max(settled_until_, now_ns - ns_of(kLongAgo)), now_ns - ns_of(kSettle));
}

}  // namespace forebay
