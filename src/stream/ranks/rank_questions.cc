#include "stream/ranks/rank_questions.h"

#include <charconv>
#include <future>
#include <utility>

namespace forebay {

namespace {
// Of a key's upper half.
constexpr int kWhatShift = 56, kRankShift = 32;
constexpr uint64_t kRankMask = 0xffffff, kSeeksMask = 0xffffffff;
constexpr int kPartitionShift = 40;
constexpr std::string_view kElsewhere = "elsewhere ";
constexpr uint64_t kFromMask = (uint64_t{1} << kPartitionShift) - 1;
}  // namespace

Hash128 RankKey::key() const {
  return {static_cast<uint64_t>(what) << kWhatShift | (static_cast<uint64_t>(rank) & kRankMask) << kRankShift |
              (seeks & kSeeksMask),
          number};
}

std::optional<RankKey> RankKey::from(const Hash128& key) {
  const auto what = static_cast<uint8_t>(key.high >> kWhatShift);
  if (what < static_cast<uint8_t>(RankQuestion::kChunk) || what > static_cast<uint8_t>(RankQuestion::kRun))
    return std::nullopt;
  return RankKey{static_cast<RankQuestion>(what), static_cast<int>(key.high >> kRankShift & kRankMask),
                 key.high & kSeeksMask, key.low};
}

uint64_t NotesPlace::number() const { return static_cast<uint64_t>(partition) << kPartitionShift | (from & kFromMask); }

NotesPlace NotesPlace::from_number(uint64_t number) {
  return {static_cast<size_t>(number >> kPartitionShift), number & kFromMask};
}

std::string ElsewhereAnswer::text(uint64_t seeks) { return std::string(kElsewhere) + std::to_string(seeks); }

std::optional<uint64_t> ElsewhereAnswer::from(std::string_view text) {
  if (!text.starts_with(kElsewhere)) return std::nullopt;
  uint64_t seeks = 0;
  const auto read = std::from_chars(text.data() + kElsewhere.size(), text.data() + text.size(), seeks);
  return read.ec == std::errc() ? std::optional(seeks) : std::nullopt;
}

Result<std::vector<AnsweredKey>> ask_rank(Transport& transport, const PeerHost& host, std::vector<WantedKey> wanted,
                                          const std::stop_token& stop, std::chrono::milliseconds deadline) {
  std::promise<Result<std::vector<AnsweredKey>>> answered;
  // It answers exactly once, after a stop too: nobody waits here for ever.
  transport.fetch(host, std::move(wanted), deadline, stop,
                  [&](Result<std::vector<AnsweredKey>> answer) { answered.set_value(std::move(answer)); });
  return answered.get_future().get();
}

}  // namespace forebay
