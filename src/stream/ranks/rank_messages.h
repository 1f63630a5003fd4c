#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/items.h"
#include "cluster/transport.h"
#include "stream/decision.h"

namespace forebay {

/// The name under which a rank serves the others of its stream.
inline constexpr std::string_view kStreamServiceName = "stream";

/// Asks rank 0 for the decision that begins with that record. The response is a LeaderResponse.
struct DecisionWanted {
  int64_t first = 0;
};
/// Asks rank 0 for the offsets that the run begins behind. The response is a LeaderResponse.
struct BeginningWanted {};
/// Tells rank 0 that this rank is there. The response is empty.
struct SignOfLife {};
/// Tells a rank that this one will ask for nothing more. The response is empty.
struct Goodbye {};
/// Asks for old records that a rank keeps. The items are ReplayRecords::bytes_of().
struct RecordsWanted {
  std::vector<int64_t> numbers;
};
/// Asks for what was read of partitions, from the so-many-th note on. The items are
/// RecordShelf::notes(): kComing where there are none yet, kAbsent where they were forgotten.
struct NotesPlace {
  size_t partition = 0;
  uint64_t from = 0;
};
struct NotesWanted {
  std::vector<NotesPlace> places;
};
/// Asks for records that were read, each by its partition and RecordShelf::hash_of() its offset.
/// The items are RecordShelf::row().
struct SharedRow {
  size_t partition = 0;
  uint64_t offset_hash = 0;
};
struct RowsWanted {
  std::vector<SharedRow> rows;
};

/// The request of a rank of a stream to another one.
struct RankRequest {
  int rank = 0;      ///< who asks
  uint64_t run = 0;  ///< how often all ranks have gone elsewhere: record numbers of different runs are the same
  std::variant<DecisionWanted, BeginningWanted, SignOfLife, Goodbye, RecordsWanted, NotesWanted, RowsWanted> what;
};

Buffer encode_rank_request(const RankRequest& request);
/// Corrupt for what encode_rank_request() does not make.
Result<RankRequest> parse_rank_request(std::span<const uint8_t> bytes);

struct NotYet {};      ///< it is not decided
struct InAnotherRun {  ///< rank 0 is in another run
  uint64_t run = 0;
};
struct NoSuchDecision {};  ///< no decision begins there, or it was forgotten
struct StreamEnd {};       ///< nothing comes behind what is there
struct StreamBeginning {
  std::vector<std::string> after;  ///< an offset for each partition
};
/// The response of rank 0 to a DecisionWanted or BeginningWanted.
using LeaderResponse = std::variant<NotYet, InAnotherRun, NoSuchDecision, StreamEnd, StreamBeginning, Decision>;

Buffer encode_leader_response(const LeaderResponse& response);
/// Corrupt where the message was damaged on the way, or is another one.
Status check_leader_response(std::span<const uint8_t> bytes);
/// Corrupt for what encode_leader_response() does not make for a log of so many partitions. Offsets
/// are texts: the log checks them.
Result<LeaderResponse> parse_leader_response(std::span<const uint8_t> bytes, size_t partitions);

/// The response about records, notes or rows. `most_bytes` is that of each.
Response encode_rank_items(uint64_t most_bytes, std::vector<FoundItem> found);
Result<std::vector<ResponseItem>> parse_rank_items(size_t count, uint64_t most_bytes, const Buffer& response);
uint64_t most_rank_items_bytes(size_t count, uint64_t most_bytes);

/// The most records, notes or rows of one request.
inline constexpr size_t kMostRankItems = 1024;
inline constexpr uint64_t kMostRecordBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMostNoteBytes = uint64_t{4} << 20;  ///< of some hundreds, with offsets below 1 KB
/// A decision is tens of bytes a partition, and a topic may have thousands of these.
inline constexpr uint64_t kMostLeaderBytes = uint64_t{16} << 20;

/// How long one call may take: a lost one is repeated, and says the same.
inline constexpr std::chrono::milliseconds kRankDeadline{1000};

}  // namespace forebay
