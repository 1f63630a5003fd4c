#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/transport.h"

namespace forebay {

/// What ranks of a stream ask each other for. A key says it in full: what, who asks, of which run of the loader, and a number.
enum class RankQuestion : uint8_t {
  kChunk = 1,      ///< of rank 0: the chunk that begins with the record of that number
  kBeginning = 2,  ///< of rank 0: the offsets that the run begins behind
  kGoodbye = 3,    ///< nothing more will be asked for
  kKept = 4,       ///< the old record of that number
  kNotes = 5,      ///< what was read of a partition, from the so-many-th on (RecordShelf::notes())
  kRow = 6,        ///< a record of a partition (RecordShelf::row())
  kRun = 7,        ///< of rank 0: what the run is of (RunTerms)
};

struct RankKey {
  RankQuestion what = RankQuestion::kChunk;
  int rank = 0;        ///< who asks; up to 2^24
  uint64_t seeks = 0;  ///< how often all ranks have gone elsewhere: numbers of different runs are the same
  uint64_t number = 0;

  Hash128 key() const;
  /// Nothing for what key() does not make.
  static std::optional<RankKey> from(const Hash128& key);
};

/// The number of a kNotes: from which note on of which partition. Up to 2^24 and 2^40.
struct NotesPlace {
  size_t partition = 0;
  uint64_t from = 0;
  uint64_t number() const;
  static NotesPlace from_number(uint64_t number);
};

/// An answer of rank 0 to who asks for a chunk or a beginning of another run than it is in: how often it has gone elsewhere.
struct ElsewhereAnswer {
  static std::string text(uint64_t seeks);
  /// Nothing where it is another answer.
  static std::optional<uint64_t> from(std::string_view text);
};
/// And to who asks for a chunk that was forgotten, or that no chunk begins where it does.
inline constexpr std::string_view kNoSuchChunk = "none";

/// An element of a question says whether it can be waited for (KeySource::coming()).
inline constexpr int64_t kComesSoonerOrLater = 0, kThereOrNever = -1;
/// Of an old record: below both.
inline int64_t kept_element(int64_t number) { return -2 - number; }
inline std::optional<int64_t> kept_number(int64_t element) {
  return element <= -2 ? std::optional(-2 - element) : std::nullopt;
}

/// Of one question: what is lost is asked for again, and says the same.
inline constexpr std::chrono::milliseconds kRankDeadline{1000};

/// Transport::fetch(), waited for: at most for the deadline, and not after a stop.
Result<std::vector<AnsweredKey>> ask_rank(Transport& transport, const PeerHost& host, std::vector<WantedKey> wanted,
                                          const std::stop_token& stop,
                                          std::chrono::milliseconds deadline = kRankDeadline);

}  // namespace forebay
