#include "brokers/redis/trim_watch.h"

#include <algorithm>
#include <utility>

namespace forebay {

std::optional<uint64_t> StreamInfo::first_number() const {
  // Trimming removes entries from the beginning, so the remaining ones are the last that were
  // added, unless XDEL removed others.
  if (!added || length == 0 || *added < length || latest_deleted >= first) return std::nullopt;
  return *added - length + 1;
}

std::optional<TrimWatch::Missing> TrimWatch::check_position(const StreamInfo& info, StreamId position) {
  const std::optional<uint64_t> known = std::exchange(number_, std::nullopt);
  // Nothing was read yet: reading begins with the first entry that exists.
  if (position == StreamId{}) return std::nullopt;
  if (!info.exists) return Missing{};
  if (info.length == 0) return check_empty(info, position, known);
  const std::optional<uint64_t> first = info.first_number();
  if (info.first <= position) {
    // The number of the entry read last, if it is the first one; otherwise the number counted so
    // far.
    number_ = info.first == position ? first : known;
    return std::nullopt;
  }
  // Entries deleted one by one do not count as trimmed if reading was in progress.
  if (known && info.latest_deleted >= position) return std::nullopt;
  if (!known || !first || *first <= *known) return Missing{{}, info.first};
  number_ = *first - 1;
  if (*first == *known + 1) return std::nullopt;
  return Missing{static_cast<int64_t>(*first - *known - 1), info.first};
}

std::optional<TrimWatch::Missing> TrimWatch::check_first(const StreamInfo& info) {
  if (!info.exists || info.length == 0) return Missing{};
  const std::optional<uint64_t> first = info.first_number();
  // Servers that do not count entries cannot tell. A caller that expects a certain first entry can
  // compare its id.
  if (!first || *first == 1) return std::nullopt;
  return Missing{static_cast<int64_t>(*first - 1), info.first};
}

std::optional<TrimWatch::Missing> TrimWatch::check_empty(const StreamInfo& info, StreamId position,
                                                         std::optional<uint64_t> known) {
  number_ = info.added;
  if (info.last <= position || (known && info.added == known)) return std::nullopt;
  if (known && info.added > known) return Missing{static_cast<int64_t>(*info.added - *known), {}};
  return Missing{};
}

std::optional<TrimWatch::Missing> TrimWatch::check_read(const StreamInfo& info, StreamId position,
                                                        std::span<const StreamId> read) {
  std::optional<uint64_t> before = std::exchange(number_, std::nullopt);
  // Numbers include deleted entries, which were not read.
  if (info.latest_deleted > position) before.reset();
  if (before) number_ = *before + read.size();
  if (!info.exists || !info.added) return std::nullopt;
  // Entries may have been trimmed since they were read. The first remaining one has a known number.
  const auto at = std::ranges::lower_bound(read, info.first);
  const std::optional<uint64_t> first = info.first_number();
  std::optional<Missing> missing;
  if (first && info.first > position && at != read.end() && *at == info.first) {
    const auto earlier = static_cast<uint64_t>(at - read.begin());
    // If reading began with the first existing entry, none was expected before it.
    if (before && position != StreamId{} && *first > *before + earlier + 1)
      missing = Missing{static_cast<int64_t>(*first - *before - earlier - 1), read.front()};
    number_ = *first + (read.size() - earlier) - 1;
  }
  if (info.last == read.back()) number_ = info.added;
  return missing;
}

EndWatch::EndState EndWatch::check(const StreamInfo& info, StreamId position, bool nothing_read,
                                   Clock::time_point now) {
  if (!info.exists || info.last >= position) {
    since_.reset();
    return EndState::kContinues;
  }
  if (!since_) {
    since_ = now;
    end_ = info.last;
  }
  const bool lasts = now - *since_ >= kConfirmAfter;
  return lasts && (nothing_read || info.last != end_) ? EndState::kRecreated : EndState::kEndsBeforePosition;
}

}  // namespace forebay
