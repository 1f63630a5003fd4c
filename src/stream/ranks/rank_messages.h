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

/// Requests from rank 0 the decision that begins with record `first`. The response is a
/// LeaderResponse.
struct DecisionWanted {
  int64_t first = 0;
};
/// Requests from rank 0 the offsets after which the run begins. The response is a LeaderResponse.
struct BeginningWanted {};
/// Reports to rank 0 that this rank is alive. The response is empty.
struct SignOfLife {};
/// Reports to a rank that this one will request nothing more. The response is empty.
struct Goodbye {};
/// Requests records of a rank's replay buffer, by number. The items are ReplayRecords::bytes_of().
struct RecordsWanted {
  std::vector<int64_t> numbers;
};
/// A partition, and the number of the first note of it that is requested.
struct NotesPlace {
  size_t partition = 0;
  uint64_t from = 0;
};
/// Requests notes of the records that a rank has read. The items are RecordShelf::notes(): kComing
/// if there are none yet, kAbsent if they were dropped.
struct NotesWanted {
  std::vector<NotesPlace> places;
};
/// A record, named by its partition and RecordShelf::hash_of() its offset.
struct SharedRow {
  size_t partition = 0;
  uint64_t offset_hash = 0;
};
/// Requests records that a rank has read for all ranks. The items are RecordShelf::row().
struct RowsWanted {
  std::vector<SharedRow> rows;
};

/// A request from one rank of a stream to another.
struct RankRequest {
  int rank = 0;  ///< the rank that sends the request
  /// How many runs all ranks have begun. Record numbers alone do not tell runs apart.
  uint64_t run = 0;
  std::variant<DecisionWanted, BeginningWanted, SignOfLife, Goodbye, RecordsWanted, NotesWanted, RowsWanted> what;
};

Buffer encode_rank_request(const RankRequest& request);
/// Corrupt for bytes that encode_rank_request() does not make.
Result<RankRequest> parse_rank_request(std::span<const uint8_t> bytes);

struct NotYet {};      ///< the decision is not made yet
struct InAnotherRun {  ///< rank 0 is in another run
  uint64_t run = 0;
};
struct NoSuchDecision {};  ///< no decision begins there, or it was dropped
struct StreamEnd {};       ///< the stream ends there
struct StreamBeginning {
  std::vector<std::string> after;  ///< an offset for each partition
};
/// The response of rank 0 to a DecisionWanted or a BeginningWanted.
using LeaderResponse = std::variant<NotYet, InAnotherRun, NoSuchDecision, StreamEnd, StreamBeginning, Decision>;

Buffer encode_leader_response(const LeaderResponse& response);
/// Corrupt if the message was damaged in transfer, or is of another kind.
Status check_leader_response(std::span<const uint8_t> bytes);
/// Corrupt for bytes that encode_leader_response() does not make for a log of `partitions`
/// partitions. Offsets are not checked here, but by the log.
Result<LeaderResponse> parse_leader_response(std::span<const uint8_t> bytes, size_t partitions);

/// The response to a RecordsWanted, NotesWanted or RowsWanted. `most_bytes`: the limit of one item.
Response encode_rank_items(uint64_t most_bytes, std::vector<FoundItem> found);
Result<std::vector<ResponseItem>> parse_rank_items(size_t count, uint64_t most_bytes, const Buffer& response);
uint64_t most_rank_items_bytes(size_t count, uint64_t most_bytes);

/// The maximal number of records, partitions or rows of one request.
inline constexpr size_t kMostRankItems = 1024;
inline constexpr uint64_t kMostRecordBytes = uint64_t{1} << 30;
/// The notes of one item: about a thousand, with offsets below 1 KB.
inline constexpr uint64_t kMostNoteBytes = uint64_t{4} << 20;
/// A decision takes tens of bytes for each partition, and a topic may have thousands of partitions.
inline constexpr uint64_t kMostLeaderBytes = uint64_t{16} << 20;

/// The deadline of one call. A lost call is repeated; a repeated call has the same answer.
inline constexpr std::chrono::milliseconds kRankDeadline{1000};

}  // namespace forebay
